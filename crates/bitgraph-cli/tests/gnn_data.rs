//! `gnn train` on other layouts of data: many graphs, OGB's tables, labels of several classes.

mod common;
use bitgraph_testkit::graphs;
use common::{bitgraph, file};
use serde_json::Value;
use tempfile::TempDir;

/// Forty rings and forty stars.
fn rings_and_stars() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in graphs::rings_and_stars(80) {
        file(&dir, &format!("RS_{name}.txt"), text);
    }
    dir
}

#[test]
fn graphs_are_cross_validated() {
    let dir = rings_and_stars();
    let line = format!("gnn train --data {} --folds 4 --epochs 8 --batch-graphs 16 --json", dir.path().display());
    let report = bitgraph(&line).json();
    assert_eq!((&report["model"], &report["folds"], &report["rule"]), (&"gin".into(), &4.into(), &"one-epoch".into()));
    assert!(report["test_accuracy"].as_f64().unwrap() > 0.9, "{report}");
    let runs = report["runs"].as_array().unwrap();
    assert_eq!((runs.len(), &runs[3]["fold"], &runs[0]["val_accuracy"]), (4, &3.into(), &Value::Null));
    assert!(runs.iter().all(|r| r["best_epoch"] == runs[0]["best_epoch"] && r["epochs"] == 8));
    let held = bitgraph(&format!(
        "{line} --rule validation --readout mean --model gatv2 --precision bf16 --hidden 4 --plot {}/c.svg",
        dir.path().display()
    ))
    .json();
    assert!(held["runs"][1]["val_accuracy"].is_f64() && held["rule"] == "validation" && dir.path().join("c.svg").is_file(), "{held}");
    let text = bitgraph(&line.replace("--json", "--explain --threads 1"));
    assert!(text.out.contains("over 4 folds, at epoch") && text.err.contains("readouts.4.weight (32 x 2)"), "{}{}", text.out, text.err);
    let data = dir.path().display();
    for (options, words) in [
        ("--save m.safetensors", "--save is of training on one graph"),
        ("--runs 2", "--runs is of training on one graph"),
        ("--folds 1", "the number of folds is 1"),
        ("--folds 81", "the number of folds is 81"),
        ("--batch-graphs 0", "--batch-graphs"),
        ("--model agnn", "AGNN over graphs of their own"),
        ("--rule best", "'best' is no rule of cross validation"),
        ("--readout median", "'median' is no read-out"),
    ] {
        let run = bitgraph(&format!("gnn train --data {data} {options}"));
        assert!(run.err.contains(words) && matches!(run.code, Some(1 | 2)), "{options}: {}", run.err);
    }
    bitgraph(&format!("gnn train --data {data} --memory-limit 10K")).fails(1, "fewer hidden columns, or fewer graphs a batch");
    bitgraph("gnn train --folds 5").fails(2, "for data sets of many graphs");
    file(&dir, "RS_A.txt", "1, 2\n1, 400\n");
    bitgraph(&format!("gnn train --data {data}")).fails(1, "are of different graphs");
}

/// Two groups of ten nodes in OGB's layout, each a ring.
fn ogb(labels: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for folder in ["raw", "split/random"] {
        std::fs::create_dir_all(dir.path().join(folder)).unwrap();
    }
    let lines = |of: &dyn Fn(usize) -> String, nodes: std::ops::Range<usize>| nodes.map(|v| of(v) + "\n").collect::<String>();
    file(&dir, "raw/edge.csv", lines(&|v| format!("{v},{}", v / 10 * 10 + (v + 1) % 10), 0..20));
    file(&dir, "raw/node-feat.csv", lines(&|v| format!("{},{}", 1 - v / 10, v / 10), 0..20));
    file(&dir, "raw/node-label.csv", lines(&|v| labels.split(' ').nth(v / 10).unwrap().into(), 0..20));
    file(&dir, "raw/num-node-list.csv", "20\n");
    for (name, of) in [("train", [0, 1, 10, 11]), ("valid", [2, 3, 12, 13]), ("test", [4, 5, 14, 15])] {
        file(&dir, &format!("split/random/{name}.csv"), of.map(|v: usize| format!("{v}\n")).concat());
    }
    dir
}

#[test]
fn tables_of_ogb_and_labels_of_several_classes() {
    let dir = ogb("0 1");
    let report = bitgraph(&format!("gnn train --data {} --epochs 60 --json", dir.path().display())).json();
    assert_eq!((&report["test_accuracy"], report.get("score")), (&1.0.into(), None));
    let dir = ogb("1,0,1 0,1,1");
    let model = dir.path().join("m.safetensors");
    let line = format!("gnn train --data {} --epochs 60 --save {}", dir.path().display(), model.display());
    let report = bitgraph(&format!("{line} --json")).json();
    assert_eq!((&report["test_accuracy"], &report["score"], &report["label_accuracy"]), (&1.0.into(), &"micro-f1".into(), &1.0.into()));
    assert!(bitgraph(&line).out.contains("accuracies are micro-F1; of the decisions over test nodes and classes 1.0000 are right"));
    let infer = format!("gnn infer --model-file {}", model.display());
    assert_eq!(bitgraph(&format!("{infer} --json")).json()["test_accuracy"], 1.0);
    bitgraph(&format!("{infer} --output {}/c.csv", dir.path().display())).fails(2, "may be of several classes");
    file(&dir, "raw/num-node-list.csv", "21\n");
    bitgraph(&format!("gnn train --data {}", dir.path().display())).fails(1, "rows of the features: 20 where 21 are needed");
}
