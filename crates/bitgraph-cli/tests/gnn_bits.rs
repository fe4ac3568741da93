//! `gnn train`, `gnn infer` and `gnn tune` with few bits: teachers, checkpoints, plans, and the choice of a precision.

mod common;
use common::{bitgraph, file};
use serde_json::Value;
use tempfile::TempDir;

const DATA: &str = "--data planted:300:3:8";

/// The words of a line that names files of a folder by `{}/`.
fn within(folder: &TempDir, line: &str) -> String {
    line.replace("{}", folder.path().to_str().unwrap())
}

/// The runs of a report without their times.
fn runs(report: &Value) -> Vec<Value> {
    let mut runs = report["runs"].as_array().unwrap().clone();
    runs.iter_mut().for_each(|run| drop(run.as_object_mut().unwrap().remove("train_s")));
    runs
}

#[test]
fn every_precision_of_few_bits_trains_is_saved_and_infers_the_same() {
    let dir = tempfile::tempdir().unwrap();
    for (precision, epochs) in [("bi-full", 200), ("bin", 150), ("bits:8,8", 60), ("bits:4,4", 60), ("bits:2,2", 60), ("bits:1,3", 60)] {
        // Signs start far from their labels: a higher rate shortens the way.
        let rate = if precision == "bi-full" { "--lr 0.01" } else { "" };
        let train =
            format!("gnn train {DATA} --hidden 32 --precision {precision} --epochs {epochs} {rate} --json --save {{}}/m.safetensors");
        let trained = bitgraph(&within(&dir, &train)).json();
        let accuracy = trained["test_accuracy"].as_f64().unwrap();
        assert!(accuracy > 0.7, "{precision}: {accuracy}");
        assert_eq!((trained["precision"].as_str(), trained["model"].as_str()), (Some(precision), Some("gcn")));
        // The plan classifies as the model did in training.
        let run = bitgraph(&within(&dir, "gnn infer --model-file {}/m.safetensors --json --explain"));
        let (err, inferred) = (run.err.clone(), run.json());
        assert_eq!(inferred["test_accuracy"], trained["test_accuracy"], "{precision}");
        assert_eq!(inferred["val_accuracy"], trained["runs"][0]["val_accuracy"], "{precision}");
        let words = match precision {
            "bin" => "one operation: lists of",
            "bi-full" => "operation by operation: sums of floats",
            _ => "bit SpMM",
        };
        assert!(err.contains(words) && err.contains("in all"), "{err}");
    }
}

#[test]
fn runs_of_few_bits_go_on_with_their_teacher() {
    let dir = tempfile::tempdir().unwrap();
    let run = |line: &str| bitgraph(&within(&dir, line));
    let line = format!("gnn train {DATA} --hidden 16 --precision bin --seed 4 --json");
    let whole = run(&format!("{line} --epochs 30")).json();
    run(&format!("{line} --epochs 11 --save {{}}/m.safetensors")).json();
    let further = run("gnn train --resume {}/m.safetensors --epochs 30 --json").json();
    assert_eq!(runs(&whole), runs(&further));
    run("gnn train --resume {}/m.safetensors --precision bi-full").fails(2, "not of gcn in bi-full");
    run("gnn train --resume {}/m.safetensors --teacher none").fails(2, "--teacher");
    // Another teacher gives other numbers; the same one in a file gives them again.
    let alone = run(&format!("{line} --epochs 30 --teacher none")).json();
    assert_ne!(runs(&whole), runs(&alone));
    run(&format!("gnn train {DATA} --seed 4 --json --save {{}}/t.safetensors")).json();
    let taught = run(&format!("{line} --epochs 30 --teacher {{}}/t.safetensors")).json();
    assert_eq!(runs(&whole), runs(&taught), "the teacher of a seed is the model of that seed");
    run(&format!("{line} --teacher {{}}/none.safetensors")).fails(1, "none.safetensors");
    run("gnn train --data planted:300:4:8 --precision bin --teacher {}/t.safetensors").fails(1, "knows 3 classes");

    let bytes = std::fs::read(dir.path().join("m.safetensors")).unwrap();
    for at in [40, bytes.len() / 2, bytes.len() - 1] {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        file(&dir, "flipped.safetensors", &flipped);
        run("gnn infer --model-file {}/flipped.safetensors").fails(1, "flipped.safetensors: the checkpoint is damaged");
    }
}

#[test]
fn what_few_bits_have_not_is_refused() {
    for (options, words) in [
        ("--precision bin --model gat", "gat cannot be trained in bin; it can in f32, f16 and bf16"),
        ("--precision bits:4,4 --normalise row", "rounds the features by a rule of its own"),
        ("--precision bin --layers 0", "the number of layers is 0"),
        ("--precision bin --dropout 1", "dropout is 1"),
    ] {
        bitgraph(&format!("gnn train {DATA} --epochs 2 {options}")).fails(2, words);
    }
    bitgraph(&format!("gnn train {DATA} --epochs 2 --precision bi-full --residual")).fails(1, "layers of few bits");
    for precision in ["bin", "bits:4,4"] {
        let line = format!("gnn train --data planted:1000:3:8 --precision {precision} --memory-limit");
        bitgraph(&format!("{line} 1200K")).fails(1, "hidden columns it takes");
        bitgraph(&format!("{line} 10K")).fails(1, "no number of hidden columns fits");
    }
}

#[test]
fn the_front_of_precisions_has_no_dominated_point_and_the_choice_infers() {
    let dir = tempfile::tempdir().unwrap();
    let run = |line: &str| bitgraph(&within(&dir, line));
    let line = format!("gnn tune {DATA} --hidden 16 --epochs 40 --repeat 5 --save {{}}/m.safetensors --plot {{}}/front.svg --within 5");
    let report = run(&format!("{line} --json --precisions f32 bits:4,4 bin bi-full")).json();
    let all = report["candidates"].as_array().unwrap();
    assert_eq!(all.len(), 4);
    let at = |c: &Value, key: &str| c[key].as_f64().unwrap();
    let dominates = |a: &Value, b: &Value| {
        let (x, y) =
            ([-at(a, "val_accuracy"), at(a, "infer_s"), at(a, "bytes")], [-at(b, "val_accuracy"), at(b, "infer_s"), at(b, "bytes")]);
        x.iter().zip(&y).all(|(a, b)| a <= b) && x != y
    };
    for one in all {
        assert_eq!(one["on_front"].as_bool().unwrap(), !all.iter().any(|other| dominates(other, one)), "{all:?}");
    }
    let chosen: Vec<&Value> = all.iter().filter(|c| c["chosen"].as_bool().unwrap()).collect();
    assert_eq!((chosen.len(), &chosen[0]["precision"]), (1, &report["chosen"]));
    let best = all.iter().map(|c| at(c, "val_accuracy")).fold(0.0, f64::max);
    assert!(at(chosen[0], "val_accuracy") >= best - 0.05 - 1e-12 && chosen[0]["on_front"].as_bool().unwrap());
    let inferred = run("gnn infer --model-file {}/m.safetensors --json").json();
    assert_eq!((&inferred["precision"], &inferred["test_accuracy"]), (&report["chosen"], &chosen[0]["test_accuracy"]));
    let svg = std::fs::read_to_string(dir.path().join("front.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("bi-full") && svg.matches("<circle").count() == 4);
    let report = run(&format!("{} --json --precisions chains bin", line.replace("--within 5", "--within 100"))).json();
    let all = report["candidates"].as_array().unwrap();
    // All chains of two layers but the one that bin is.
    assert_eq!((all.len(), all.iter().filter(|c| c["precision"].as_str().unwrap().starts_with("chain:")).count()), (16, 15));
    for one in all {
        let ways = one["ways"].as_array().unwrap();
        let smallest = ways.iter().map(|way| at(way, "infer_s")).fold(f64::INFINITY, f64::min);
        let taken = ways.iter().find(|way| way["way"] == one["way"]).unwrap();
        assert_eq!((at(taken, "infer_s"), &taken["bytes"]), (smallest, &one["bytes"]), "{one}");
        assert_eq!(at(one, "infer_s"), smallest);
        let summing = one["precision"].as_str().unwrap();
        let wanted = match summing {
            "bin" => 3,
            _ => 1 + summing.split([':', ',']).skip(1).filter(|link| &link[1..2] == "b").count(),
        };
        assert!(ways.len() >= wanted, "{one}");
    }
    let chosen = all.iter().find(|c| c["chosen"].as_bool().unwrap()).unwrap();
    let inferred = run("gnn infer --model-file {}/m.safetensors --json --explain");
    let way = chosen["way"].as_str().unwrap();
    if way.starts_with("steps:") && way.contains("branch") {
        assert!(inferred.err.contains("by branch"), "{}", inferred.err);
    }
    let inferred = inferred.json();
    assert_eq!((&inferred["precision"], &inferred["test_accuracy"]), (&report["chosen"], &chosen["test_accuracy"]));
    let told = run(&format!("gnn tune {DATA} --hidden 8 --epochs 5 --repeat 1 --precisions f32 bf16"));
    assert!(told.out.contains("is the fastest within 1 points") && told.out.contains("<- chosen"), "{}", told.out);
    run("gnn tune --within -1").fails(2, "points of accuracy are from 0 to 100");
    run("gnn tune --precisions f64").fails(2, "f64");
    run("gnn tune --precisions chain:bbb,fff").fails(2, "a layer reads what the one before it gives");
    run(&format!("gnn train {DATA} --precision chain:bbb,bff --layers 3")).fails(1, "layers of the chain");
}
