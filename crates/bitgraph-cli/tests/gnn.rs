//! `gnn train` and `gnn infer`: what they say, what they save, and what they refuse.

mod common;
use common::{bitgraph, command, file};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A set that is learnt in a few epochs.
const SMALL: &str = "--data planted:300:3:8 --hidden 16 --epochs 60";

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

fn sorted(mut names: Vec<&str>) -> Vec<&str> {
    names.sort_unstable();
    names
}

/// The runs of a report without their times.
fn runs(report: &Value) -> Vec<Value> {
    let mut runs = report["runs"].as_array().unwrap().clone();
    runs.iter_mut().for_each(|run| drop(run.as_object_mut().unwrap().remove("train_s")));
    runs
}

#[test]
fn the_report_has_the_documented_keys() {
    let run = bitgraph(&format!("gnn train {SMALL} --runs 3 --seed 7 --json"));
    let report = run.json();
    let outer = "schema model precision data backend runs test_accuracy std peak_bytes infer_s";
    assert_eq!(keys(&report), sorted(outer.split(' ').collect()));
    let at = |key: &str| run.out.find(&format!("\"{key}\":")).unwrap();
    assert!(outer.split(' ').take(6).is_sorted_by_key(at), "{}", run.out);
    let inner = "seed test_accuracy val_accuracy best_epoch epochs train_s";
    assert_eq!(keys(&report["runs"][0]), sorted(inner.split(' ').collect()));
    let accuracies: Vec<f64> = report["runs"].as_array().unwrap().iter().map(|r| r["test_accuracy"].as_f64().unwrap()).collect();
    let mean = accuracies.iter().sum::<f64>() / 3.0;
    let deviation = (accuracies.iter().map(|a| (a - mean).powi(2)).sum::<f64>() / 2.0).sqrt();
    approx::assert_abs_diff_eq!(report["test_accuracy"].as_f64().unwrap(), mean, epsilon = 1e-12);
    approx::assert_abs_diff_eq!(report["std"].as_f64().unwrap(), deviation, epsilon = 1e-12);
    assert_eq!(
        (&report["schema"], &report["model"], &report["precision"], &report["backend"]),
        (&1.into(), &"gcn".into(), &"f32".into(), &"cpu".into())
    );
    assert_eq!((report["runs"][2]["seed"].as_u64(), report["data"].as_str()), (Some(9), Some("planted:300:3:8")));
    assert!(mean > 0.8 && mean <= 1.0, "{mean}");
}

#[test]
fn every_model_trains_in_every_float() {
    for model in ["gcn", "sage", "graphconv", "gin", "gat", "gatv2", "transformer", "agnn"] {
        for precision in ["f32", "f16", "bf16"] {
            let run = bitgraph(&format!("gnn train --data planted:300:3:8 --epochs 60 --model {model} --precision {precision} --json"));
            if (model, precision) == ("agnn", "f16") {
                run.fails(2, "agnn cannot be trained in f16; it can in f32 and bf16");
                continue;
            }
            let accuracy = run.json()["test_accuracy"].as_f64().unwrap();
            assert!(accuracy > 0.7, "{model} in {precision}: {accuracy}");
        }
    }
}

#[test]
fn the_built_in_set_is_trained_without_options() {
    let run = bitgraph("gnn train --epochs 40");
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.err.contains("planted:2500:7:6: 2500 nodes") && run.out.contains("test accuracy 0.9"), "{}{}", run.err, run.out);
    let silent = bitgraph(&format!("gnn train {SMALL} --quiet"));
    assert_eq!((silent.code, silent.out.as_str(), silent.err.as_str()), (Some(0), "", ""));
}

#[test]
fn a_seed_gives_the_same_numbers_whatever_the_threads() {
    let line = format!("gnn train {SMALL} --model sage --runs 2 --json --deterministic");
    let [one, two] = [1, 2].map(|threads| bitgraph(&format!("{line} --threads {threads}")).json());
    assert_eq!(runs(&one), runs(&two));
}

#[test]
fn runs_side_by_side_give_the_numbers_of_one_after_the_other() {
    for line in [
        format!("gnn train {SMALL} --runs 5 --json --threads 4"),
        format!("gnn train {SMALL} --runs 3 --json --threads 3 --precision bin --epochs 30 --stale-epochs 5"),
        format!("gnn train {SMALL} --runs 3 --json --threads 2 --model gat --precision bf16 --epochs 11"),
    ] {
        let line = line.replace("--epochs 60 ", if line.matches("--epochs").count() > 1 { "" } else { "--epochs 60 " });
        let [one, several, default] = ["--abreast 1", "--abreast 4", ""].map(|how| bitgraph(&format!("{line} {how}")).json());
        assert_eq!(runs(&one), runs(&several));
        assert_eq!(runs(&one), runs(&default));
    }
    let dir = tempfile::tempdir().unwrap();
    let train = |how: &str, name: &str| {
        bitgraph(&within(
            &dir,
            &format!("gnn train {SMALL} --runs 4 --quiet --threads 4 --abreast {how} --save {{}}/{name} --plot {{}}/{name}.svg"),
        ));
        let infer = bitgraph(&within(&dir, &format!("gnn infer --model-file {{}}/{name} --json"))).json();
        (infer["test_accuracy"].clone(), std::fs::read_to_string(dir.path().join(format!("{name}.svg"))).unwrap())
    };
    assert_eq!(train("1", "a.safetensors"), train("3", "b.safetensors"));
    bitgraph("gnn train --abreast 0").fails(2, "--abreast");
}

/// The words of a line that names files of a folder by `{}/`.
fn within(folder: &TempDir, line: &str) -> String {
    line.replace("{}", folder.path().to_str().unwrap())
}

#[test]
fn features_are_multiplied_where_neighbourhoods_are_alike() {
    const DENSE: &str = "--data planted:600:3:150 --hidden 8 --epochs 20";
    let dir = TempDir::new().unwrap();
    let run = |line: &str| bitgraph(&within(&dir, line));
    let said = run(&format!("gnn train {DENSE} --explain --save {{}}/m.safetensors --json"));
    assert!(said.err.contains("features times 4.0"), "{}", said.err);
    // What a model was trained with, it is asked with.
    let inferred = run("gnn infer --model-file {}/m.safetensors --json").json();
    assert_eq!(inferred["test_accuracy"], said.json()["test_accuracy"]);
    // What the caller asks for is what is used.
    let asked = run(&format!("gnn train {DENSE} --explain --normalise column-row"));
    assert_eq!(asked.code, Some(0), "{}", asked.err);
    assert!(!asked.err.contains("features times"), "{}", asked.err);
}

#[test]
fn a_saved_model_infers_and_is_trained_further() {
    let dir = tempfile::tempdir().unwrap();
    let run = |line: &str| bitgraph(&within(&dir, line));
    let whole = run("gnn train --data planted:300:3:8 --epochs 60 --json").json();
    run("gnn train --data planted:300:3:8 --epochs 25 --json --save {}/m.safetensors").json();
    let further = run("gnn train --resume {}/m.safetensors --epochs 60 --json").json();
    assert_eq!(runs(&whole), runs(&further));
    let over = run("gnn train --resume {}/m.safetensors --json");
    assert!(over.err.contains("nothing was left to train") && runs(&over.json()) == runs(&whole), "{}", over.err);
    let inferred = run("gnn infer --model-file {}/m.safetensors --json --output {}/classes.csv").json();
    assert_eq!((&inferred["test_accuracy"], &inferred["val_accuracy"]), (&whole["test_accuracy"], &whole["runs"][0]["val_accuracy"]));
    assert!(inferred["infer_s"].as_f64().unwrap() > 0.0);
    let classes = std::fs::read_to_string(dir.path().join("classes.csv")).unwrap();
    assert_eq!((classes.lines().count(), classes.lines().next()), (301, Some("node,value")));
    // Communities are of consecutive nodes: most of the first hundred are of class 0.
    assert!(classes.lines().skip(1).take(100).filter(|line| line.ends_with(",0")).count() > 80);
    for (line, words) in [
        ("gnn train --resume {}/m.safetensors --model gat", "the checkpoint is of gcn in f32, not of gat in f32"),
        ("gnn train --resume {}/m.safetensors --precision f16", "not of gcn in f16"),
        ("gnn train --resume {}/m.safetensors --lr 0.1", "--lr"),
        ("gnn train --resume {}/m.safetensors --runs 2", "--runs"),
        ("gnn infer --model-file {}/m.safetensors --output x.txt", ".npy"),
        ("gnn infer --model-file {}/m.safetensors --split 1", "there is no split 1"),
    ] {
        run(line).fails(2, words);
    }
    run("gnn infer --model-file {}/m.safetensors --data planted:300:4:8").fails(1, "the model takes 96 features and knows 3 classes");
}

#[test]
fn what_is_no_checkpoint_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let run = |line: &str| bitgraph(&within(&dir, line));
    run(&format!("gnn train {SMALL} --quiet --save {{}}/m.safetensors"));
    let bytes = std::fs::read(dir.path().join("m.safetensors")).unwrap();
    for at in [40, bytes.len() / 2, bytes.len() - 1] {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        file(&dir, "flipped.safetensors", &flipped);
        for command in ["infer --model-file", "train --quiet --resume"] {
            run(&format!("gnn {command} {{}}/flipped.safetensors")).fails(1, "flipped.safetensors: the checkpoint is damaged");
        }
    }
    file(&dir, "short.safetensors", &bytes[..bytes.len() - 4]);
    file(&dir, "other.safetensors", "no tensors");
    run("gnn infer --model-file {}/short.safetensors").fails(1, "damaged");
    run("gnn infer --model-file {}/other.safetensors").fails(1, "no checkpoint of bitgraph");
    run("gnn infer --model-file {}/none.safetensors").fails(1, "none.safetensors");
}

#[test]
fn divergence_keeps_the_last_good_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    let run = |line: &str| bitgraph(&within(&dir, line));
    run(&format!("gnn train {SMALL} --quiet --save {{}}/m.safetensors"));
    let before = std::fs::read(dir.path().join("m.safetensors")).unwrap();
    run("gnn train --data planted:300:3:8 --lr 1e30 --quiet --save {}/m.safetensors").fails(1, "diverged in epoch 1");
    assert_eq!(std::fs::read(dir.path().join("m.safetensors")).unwrap(), before);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_the_old_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("m.safetensors");
    bitgraph(&within(&dir, &format!("gnn train {SMALL} --quiet --save {{}}/m.safetensors")));
    let before = std::fs::read(&out).unwrap();
    let line = "ulimit -f 8; exec \"$0\" gnn train --data planted:300:3:8 --epochs 5 --quiet --save \"$1\"";
    let run = Command::new("sh").args(["-c", line, env!("CARGO_BIN_EXE_bitgraph")]).arg(&out).output().unwrap();
    let err = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(1), "{err}");
    assert!(err.contains("m.safetensors: it was not saved") && err.contains("File too large") && err.lines().count() == 1, "{err}");
    assert_eq!(std::fs::read(&out).unwrap(), before);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing half written stays");
}

#[test]
fn an_interrupt_saves_after_the_step() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("m.safetensors");
    let path = out.to_str().unwrap();
    let arguments = ["gnn", "train", "--data", "planted:300:3:8", "--epochs", "1000000", "--verbose", "--save", path];
    let mut child = command(&arguments).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut told = std::io::BufReader::new(child.stderr.take().unwrap());
    let (mut text, begun) = (String::new(), Instant::now());
    while !text.contains("epoch 3:") && begun.elapsed() < Duration::from_secs(60) {
        std::io::BufRead::read_line(&mut told, &mut text).unwrap();
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    std::io::Read::read_to_string(&mut told, &mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{text}");
    assert!(text.contains("stopped after epoch") && text.contains(&format!("--resume {path}")), "{text}");
    assert!(text.ends_with("bitgraph: error: interrupted\n"), "{text}");
    bitgraph(&format!("gnn infer --model-file {path} --json")).json();
}

#[test]
fn memory_is_predicted_and_refused() {
    let run = bitgraph(&format!("gnn train {SMALL} --explain"));
    for words in
        ["layers.0.weight (96 x 16)", "adjacency with loops", "memory of the optimiser", "in all", "trained operation by operation"]
    {
        assert!(run.err.contains(words), "{} lacks {words}", run.err);
    }
    for (line, words) in [
        ("--memory-limit 1200K", "in bf16 it takes"),
        ("--memory-limit 900K --precision f16", "hidden columns it takes"),
        ("--memory-limit 10K", "no number of hidden columns fits"),
    ] {
        bitgraph(&format!("gnn train --data planted:1000:3:8 {line}")).fails(1, words);
    }
}

#[test]
fn predictions_are_near_what_is_taken() {
    for model in ["gcn", "gat"] {
        let run = bitgraph(&format!("gnn train --data planted:20000:4:12 --model {model} --epochs 2 --json --explain"));
        let predicted =
            run.err.lines().find(|line| line.ends_with("in all")).unwrap().split_whitespace().next().unwrap().parse::<f64>().unwrap();
        let taken = run.json()["peak_bytes"].as_f64().unwrap();
        assert!((0.6..1.7).contains(&(predicted / taken)), "{model}: predicted {predicted}, taken {taken}");
    }
}

#[test]
fn curves_are_drawn() {
    let dir = tempfile::tempdir().unwrap();
    bitgraph(&within(&dir, &format!("gnn train {SMALL} --runs 2 --quiet --plot {{}}/curve.svg")));
    let svg = std::fs::read_to_string(dir.path().join("curve.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("epoch") && svg.contains("validation") && svg.matches("<polyline").count() >= 8);
    bitgraph("gnn train --plot curve.png").fails(2, ".svg");
}

#[test]
fn settings_out_of_range_are_refused() {
    for (options, words) in [
        ("--model mlp", "mlp"),
        ("--precision f64", "'f64' is no precision"),
        ("--precision bits:0,4", "bits:W,A"),
        ("--precision bits:4,4 --model gin", "gin cannot be trained in bits:4,4"),
        ("--lr -1", "the learning rate is -1"),
        ("--lr nan", "the learning rate is NaN"),
        ("--hidden 0", "hidden columns is 0"),
        ("--layers 0", "the number of layers is 0"),
        ("--dropout 1", "dropout is 1"),
        ("--epochs 0", "--epochs"),
        ("--runs 0", "--runs"),
        ("--schedule linear", "schedules are"),
        ("--schedule step:0:0.5", "the factor of a step"),
        ("--weight-decay x", "weight decay is a number"),
        ("--weight-decay -1", "weight decay is -1"),
        ("--split 1", "there is no split 1"),
        ("--memory-limit lots", "a size is"),
        ("--data planted:10", "planted:"),
        ("--data nowhere", "'nowhere' is no data set"),
        ("--backend tpu", "cpu, cuda"),
    ] {
        bitgraph(&format!("gnn train --epochs 2 {options}").replace("--epochs 2 --epochs", "--epochs")).fails(2, words);
    }
    bitgraph("gnn train --backend cuda").fails(1, "NVIDIA GPU");
}

/// An `.npy` file.
fn npy(folder: &Path, name: &str, descr: &str, shape: &str, data: &[u8]) {
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16 + 1).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.push(b'\n');
    bytes.extend(data);
    std::fs::write(folder.join(name), bytes).unwrap();
}

/// A folder of eight nodes in two classes, in which something may be changed.
fn folder(dir: &TempDir) -> PathBuf {
    let path = dir.path().join("set");
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(path.join("graph.el"), "0 1\n1 0\n2 3\n3 2\n4 5\n5 4\n6 7\n7 6\n").unwrap();
    let features: Vec<u8> = (0..24).flat_map(|i| (if i % 3 == (i / 3) % 2 { 1f32 } else { 0.25 }).to_le_bytes()).collect();
    npy(&path, "features.npy", "<f4", "8, 3", &features);
    npy(&path, "labels.npy", "<i8", "8,", &[0i64, 1, 0, 1, 0, 1, 0, 1].map(i64::to_le_bytes).concat());
    for (name, nodes) in [("train", [0, 1]), ("val", [2, 3]), ("test", [4, 5])] {
        let mask: Vec<u8> = (0..8).map(|v| u8::from(nodes.contains(&v))).collect();
        npy(&path, &format!("{name}_mask.npy"), "|b1", "8,", &mask);
    }
    path
}

/// A name, words of the sentence, and what is changed.
type Case<'a> = (&'a str, &'a str, &'a dyn Fn(&Path));

#[test]
fn folders_that_contradict_themselves_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let line = |path: &Path| format!("gnn train --epochs 3 --json --data {}", path.display());
    let report = bitgraph(&line(&folder(&dir))).json();
    assert_eq!(report["runs"][0]["epochs"], 3);
    let cases: [Case<'_>; 8] = [
        ("graph", "there is no graph.mtx", &|p| std::fs::remove_file(p.join("graph.el")).unwrap()),
        ("mask", "mask", &|p| std::fs::remove_file(p.join("val_mask.npy")).unwrap()),
        ("overlap", "node 1 is both in training and in test", &|p| npy(p, "test_mask.npy", "|b1", "8,", &[0, 1, 0, 0, 0, 0, 0, 1])),
        ("nothing", "selects no nodes", &|p| npy(p, "val_mask.npy", "|b1", "8,", &[0; 8])),
        ("labels", "labels", &|p| npy(p, "labels.npy", "<i8", "8,", &[0i64, 1, -7, 1, 0, 1, 0, 1].map(i64::to_le_bytes).concat())),
        ("few", "labels", &|p| npy(p, "labels.npy", "<i8", "7,", &[0i64; 7].map(i64::to_le_bytes).concat())),
        ("rows", "7", &|p| npy(p, "features.npy", "<f4", "7, 3", &[0; 84])),
        ("NaN", "feature 0 of node 0", &|p| npy(p, "features.npy", "<f4", "8, 3", &f32::NAN.to_le_bytes().repeat(24))),
    ];
    for (name, words, change) in cases {
        let path = folder(&dir);
        change(&path);
        let run = bitgraph(&line(&path));
        assert!(run.err.contains("set"), "{name}: {} does not name the file", run.err);
        run.fails(1, words);
    }
}

#[test]
fn rows_of_zeros_train_in_halves() {
    let dir = tempfile::tempdir().unwrap();
    let path = folder(&dir);
    let features: Vec<u8> = (0..24).flat_map(|i| (if i < 6 { 0f32 } else { 1.0 }).to_le_bytes()).collect();
    npy(&path, "features.npy", "<f4", "8, 3", &features);
    for model in ["gcn", "gin", "gat"] {
        bitgraph(&format!("gnn train --epochs 5 --model {model} --precision f16 --json --data {}", path.display())).json();
    }
}
