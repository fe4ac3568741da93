//! `gnn train` on batches: the samplers, what is kept on disk, features that are streamed, and what is refused.

mod common;
use common::{bitgraph, command};
use serde_json::Value;
use std::path::Path;

const SMALL: &str = "--data planted:300:3:8 --hidden 16 --epochs 20";

/// The runs of a report without their times.
fn runs(report: &Value) -> Vec<Value> {
    let mut runs = report["runs"].as_array().unwrap().clone();
    runs.iter_mut().for_each(|run| drop(run.as_object_mut().unwrap().remove("train_s")));
    runs
}

#[test]
fn every_sampler_trains_and_reports_as_before() {
    let whole = bitgraph(&format!("gnn train {SMALL} --sampler none --json")).json();
    assert_eq!(runs(&whole), runs(&bitgraph(&format!("gnn train {SMALL} --json")).json()));
    for options in [
        "--sampler neighbours:8,5 --batch 30 --model sage",
        "--sampler saint-node:150 --model sage",
        "--sampler saint-edge:100",
        "--sampler saint-walk:60:2 --precision bf16",
        "--sampler clusters:16:4 --evaluate-every 3 --precision f16",
    ] {
        let report = bitgraph(&format!("gnn train --data planted:300:3:8 --hidden 16 --epochs 40 {options} --json")).json();
        assert_eq!(report.as_object().unwrap().keys().collect::<Vec<_>>(), whole.as_object().unwrap().keys().collect::<Vec<_>>());
        let accuracy = report["test_accuracy"].as_f64().unwrap();
        assert!(accuracy > 0.8 && accuracy <= 1.0, "{options}: {accuracy}");
    }
    let told = bitgraph(&format!("gnn train {SMALL} --sampler clusters:16:4"));
    assert!(told.err.contains("4 batches an epoch by clusters:16:4"), "{}", told.err);
}

#[test]
fn threads_and_resumption_change_no_number() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("m.safetensors").display().to_string();
    let line = "gnn train --data planted:300:3:8 --hidden 16 --sampler neighbours:8,5 --batch 30 --json";
    let whole = bitgraph(&format!("{line} --epochs 8 --threads 1 --deterministic")).json();
    assert_eq!(runs(&whole), runs(&bitgraph(&format!("{line} --epochs 8 --threads 3")).json()));
    bitgraph(&format!("{line} --epochs 3 --save {file}")).json();
    let further = bitgraph(&format!("gnn train --resume {file} --epochs 8 --json")).json();
    assert_eq!(runs(&whole), runs(&further));
    bitgraph(&format!("gnn train --resume {file} --sampler saint-node:10")).fails(2, "--sampler");
    bitgraph(&format!("gnn infer --model-file {file} --json")).json();
}

#[test]
fn settings_that_have_no_meaning_are_refused() {
    for (options, words) in [
        ("--sampler everything", "'everything' is no sampler; it is one of neighbours:F1,F2.."),
        ("--sampler neighbours:5", "the number of fan-outs is 1; it must be the number of layers"),
        ("--sampler neighbours:5,0", "a fan-out is 0"),
        ("--sampler saint-walk:5", "saint-walk:ROOTS:LENGTH"),
        ("--sampler clusters:4:5", "at most the number of parts"),
        ("--sampler saint-node:50 --batch 3", "it is for the sampler of neighbours"),
        ("--sampler none --batch 3", "--batch: the whole graph is trained on"),
        ("--batch 3", "--sampler"),
        ("--sampler none --evaluate-every 3", "--evaluate-every: the whole graph"),
        ("--sampler saint-node:50 --evaluate-every 0", "--evaluate-every"),
        ("--stream", "--stream: the whole graph is trained on"),
    ] {
        bitgraph(&format!("gnn train {SMALL} {options}")).fails(2, words);
    }
    bitgraph(&format!("gnn train {SMALL} --sampler clusters:301:1")).fails(1, "300 nodes");
    bitgraph(&format!("gnn train {SMALL} --sampler saint-node:50 --stream --normalise column")).fails(1, "column");
}

/// Sixty nodes in two classes, with dense features in a file of their own.
fn folder(path: &Path) {
    std::fs::create_dir_all(path).unwrap();
    let edges: String =
        (0..60).flat_map(|v| [1, 2, 7].map(|by| (v, (v + 2 * by) % 60))).map(|(a, b)| format!("{a} {b}\n{b} {a}\n")).collect();
    std::fs::write(path.join("graph.el"), edges).unwrap();
    let npy = |name: &str, about: &str, data: &[u8]| {
        let header = format!("{:<117}\n", format!("{{'descr': {about}, }}"));
        std::fs::write(path.join(name), [b"\x93NUMPY\x01\x00\x76\x00", header.as_bytes(), data].concat()).unwrap();
    };
    let feature = |v: usize, j: usize| if (v + j).is_multiple_of(2) { 1f32 } else { ((v * 7 + j) % 5) as f32 / 4.0 };
    let features: Vec<u8> = (0..60).flat_map(|v| (0..8).flat_map(move |j| feature(v, j).to_le_bytes())).collect();
    npy("features.npy", "'<f4', 'fortran_order': False, 'shape': (60, 8)", &features);
    let labels: Vec<u8> = (0..60i64).flat_map(|v| (v % 2).to_le_bytes()).collect();
    npy("labels.npy", "'<i8', 'fortran_order': False, 'shape': (60,)", &labels);
}

#[test]
fn parts_are_kept_beside_the_data_and_made_again_where_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("set");
    folder(&data);
    let line = format!("gnn train --data {} --epochs 3 --sampler clusters:6:2", data.display());
    let first = bitgraph(&format!("{line} --json")).json();
    let file = std::fs::read_dir(data.join("partitions")).unwrap().next().unwrap().unwrap().path();
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let again = bitgraph(&format!("{line} --json"));
    assert!(again.err.contains("is damaged; the graph is taken apart again"), "{}", again.err);
    assert_eq!(runs(&first), runs(&again.json()));
    assert_eq!(std::fs::read(&file).unwrap(), whole);
    let silent = bitgraph(&format!("{line} --json"));
    assert!(silent.err.is_empty(), "{}", silent.err);
    let other = dir.path().join("kept");
    bitgraph(&format!("{line} --json --cache {}", other.display())).json();
    assert_eq!(std::fs::read(other.join(file.file_name().unwrap())).unwrap(), whole);
}

/// A recipe's factor is that of the features, wherever they are: of those that are 0 and 1, rows are what both ways divide by.
#[test]
fn streamed_features_are_multiplied_as_those_in_memory() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("m.safetensors").display().to_string();
    let line = "gnn train --data planted:600:3:150 --hidden 8 --epochs 6 --sampler clusters:16:4 --explain --json";
    let (memory, streamed) = (bitgraph(line), bitgraph(&format!("{line} --stream --save {file}")));
    for run in [&memory, &streamed] {
        assert!(run.err.contains("features times 4.0"), "{}", run.err);
    }
    assert_eq!(runs(&memory.json()), runs(&streamed.json()));
    // A run that goes on has the factor that it began with.
    let further = |options: &str| runs(&bitgraph(&format!("gnn train --resume {file} --epochs 9 --json {options}")).json());
    assert_eq!(further(""), further("--stream"));
    // What the caller asks for is what is used.
    let asked = bitgraph(&format!("{line} --stream --normalise row"));
    assert!(!asked.err.contains("features times"), "{}", asked.err);
    assert_ne!(runs(&memory.json()), runs(&asked.json()));
}

/// Batches of neighbours are drawn where the features are, on the host shim where there is one, and their numbers are those of the host's.
#[test]
fn batches_are_drawn_on_the_device() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("set");
    folder(&data);
    let line = format!("gnn train --data {} --epochs 4 --model sage --sampler neighbours:3,2 --batch 8 --explain --json", data.display());
    let on_cpu = bitgraph(&line);
    assert!(on_cpu.err.contains("batches are made in host memory: the backend draws no batches"), "{}", on_cpu.err);
    let Some(shim) = std::env::var_os("BITGRAPH_CUDA_EMULATOR") else {
        println!("skipped: the device (BITGRAPH_CUDA_EMULATOR is not set)");
        return;
    };
    let shim_of = |line: &str, options: &str| {
        let line = format!("{line} --backend cuda {options}");
        let arguments: Vec<&str> = line.split_whitespace().collect();
        let output = command(&arguments).env("BITGRAPH_CUDA_EMULATOR", &shim).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{told}");
        (serde_json::from_slice::<Value>(&output.stdout).unwrap(), told)
    };
    let on_shim = |options: &str| shim_of(&line, options);
    let ((drawn, told), (made, why)) = (on_shim(""), on_shim("--draw-on-host"));
    assert!(told.contains("batches are drawn on the device") && told.contains("a sampler: numbers for every node"), "{told}");
    assert!(why.contains("batches are made in host memory: this was asked for"), "{why}");
    assert_eq!(runs(&drawn), runs(&made));
    let (_, streamed) = on_shim("--stream");
    assert!(streamed.contains("batches are made in host memory: features are divided or multiplied as they are gathered"), "{streamed}");
    // Sparse features are gathered there, too.
    let sparse = format!("gnn train {SMALL} --model sage --sampler neighbours:3,2 --batch 30 --explain --json");
    let ((drawn, told), (made, _)) = (shim_of(&sparse, ""), shim_of(&sparse, "--draw-on-host"));
    assert!(told.contains("batches are drawn on the device"), "{told}");
    assert_eq!(runs(&drawn), runs(&made));
}

#[test]
fn features_are_streamed_from_their_file() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("set");
    folder(&data);
    let line = format!("gnn train --data {} --epochs 10 --sampler saint-walk:15:2 --json", data.display());
    let (whole, streamed) = (bitgraph(&line).json(), bitgraph(&format!("{line} --stream")).json());
    assert_eq!(runs(&whole), runs(&streamed));
}

#[test]
fn a_batch_takes_less_memory_than_the_graph() {
    let predicted = |options: &str| {
        let run = bitgraph(&format!("gnn train --data planted:20000:4:12 --epochs 1 --explain --quiet {options}"));
        let all = run.err.lines().find(|line| line.ends_with("in all")).unwrap_or_else(|| panic!("{}", run.err)).to_string();
        all.split_whitespace().next().unwrap().parse::<u64>().unwrap()
    };
    let (whole, batches) = (predicted(""), predicted("--sampler clusters:64:1"));
    let streamed = predicted("--sampler clusters:64:1 --stream");
    assert!(batches < whole && streamed < whole, "{whole}, {batches}, {streamed}");
}
