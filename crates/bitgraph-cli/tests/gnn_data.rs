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
    let folds = |how: &str| {
        let mut report = bitgraph(&format!("{line} --threads 3 --abreast {how}")).json();
        report["runs"].as_array_mut().unwrap().iter_mut().for_each(|run| drop(run.as_object_mut().unwrap().remove("train_s")));
        report["runs"].clone()
    };
    assert_eq!(folds("1"), folds("3"));
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
        ("--resume m.safetensors", "--resume is of training on one graph"),
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

#[test]
fn graphs_are_classified_by_few_bits() {
    let dir = rings_and_stars();
    let data = dir.path().display().to_string();
    let model = dir.path().join("m.safetensors").display().to_string();
    for (precision, words) in [("bin", "BMM.IBB"), ("bi-full", "BSpMM.FFF"), ("bits:4,4", "bit GEMM of 4 x 4 planes")] {
        let line = format!("gnn train --data {data} --folds 2 --epochs 10 --batch-graphs 16 --hidden 32 --precision {precision} --json");
        let trained = bitgraph(&format!("{line} --save {model}")).json();
        assert_eq!((&trained["precision"], &trained["model"]), (&precision.into(), &"gin".into()));
        assert!(trained["test_accuracy"].as_f64().unwrap() > 0.8, "{trained}");
        let run = bitgraph(&format!("gnn infer --model-file {model} --json --explain"));
        assert!(run.err.contains(words) && run.err.contains("readouts.4: sum"), "{}", run.err);
        assert_eq!(run.json()["test_accuracy"], trained["runs"][0]["test_accuracy"], "{precision}");
    }
    bitgraph(&format!("gnn train --data {data} --model gcn --precision bin")).fails(2, "gin alone is trained in bi-full, bin and bits:W,A");
    bitgraph(&format!("gnn train --data {data} --precision bin --residual")).fails(1, "residuals around layers of few bits");
    bitgraph(&format!("gnn train --data {data} --precision bits:0,4")).fails(2, "bits:W,A");
}

#[test]
fn a_model_of_graphs_is_saved_and_infers() {
    let dir = rings_and_stars();
    let data = dir.path().display().to_string();
    let file = |name: &str| dir.path().join(name).display().to_string();
    for (options, rule) in [("--rule validation --readout mean --precision f16", "validation"), ("--hidden 16", "one-epoch")] {
        let line = format!("gnn train --data {data} --folds 4 --epochs 8 --batch-graphs 16 --json {options}");
        let alone = bitgraph(&line).json();
        let trained = bitgraph(&format!("{line} --save {}", file("m.safetensors"))).json();
        assert_eq!((&trained["test_accuracy"], &trained["rule"]), (&alone["test_accuracy"], &rule.into()));
        let infer = format!("gnn infer --model-file {} --output {} --explain --json", file("m.safetensors"), file("c.csv"));
        let run = bitgraph(&infer);
        assert!(run.err.contains("readouts.4: ") && run.err.contains("batch norm, ReLU") && run.err.contains("in all"), "{}", run.err);
        let inferred = run.json();
        // The fold that was kept, by what it says of its own graphs.
        let runs = trained["runs"].as_array().unwrap();
        let of = |r: &Value| r["val_accuracy"].as_f64().unwrap_or_default();
        let best = runs.iter().map(of).fold(0.0, f64::max);
        let kept = runs.iter().find(|r| of(r) == best).unwrap();
        assert_eq!((&inferred["test_accuracy"], &inferred["val_accuracy"]), (&kept["test_accuracy"], &kept["val_accuracy"]));
        let classes = std::fs::read_to_string(file("c.csv")).unwrap();
        assert_eq!(classes.lines().count(), 81);
        let words = bitgraph(&format!("gnn infer --model-file {}", file("m.safetensors"))).out;
        assert!(words.contains("80 graphs by gin in"), "{words}");
    }
    // Graphs of another set are all for test, whose classes it has never seen.
    let other = tempfile::tempdir().unwrap();
    for (name, text) in graphs::rings_and_stars(50) {
        std::fs::write(other.path().join(format!("RS_{name}.txt")), text).unwrap();
    }
    let line = format!("gnn infer --model-file {} --data {}", file("m.safetensors"), other.path().display());
    let inferred = bitgraph(&format!("{line} --json")).json();
    assert!(inferred["test_accuracy"].as_f64().unwrap() > 0.9 && inferred["val_accuracy"].is_null(), "{inferred}");
    bitgraph(&format!("{line} --split 0")).fails(2, "--split: a model of graphs has folds");
    bitgraph(&format!("{line} --memory-limit 1K")).fails(1, "fewer hidden columns may fit");
    let model = file("m.safetensors");
    bitgraph(&format!("gnn infer --model-file {model} --data planted:100:2:8")).fails(1, "the model classifies graphs");
    bitgraph(&format!("gnn train --resume {model}")).fails(2, "a model that classifies graphs, which gnn infer alone takes");
    bitgraph(&format!("gnn train --data planted:100:2:8 --precision bin --teacher {model}")).fails(2, "a model that classifies graphs");
    bitgraph(&format!("gnn train --data planted:100:2:8 --epochs 3 --quiet --save {}", file("n.safetensors")));
    bitgraph(&format!("gnn infer --model-file {} --data {data}", file("n.safetensors")))
        .fails(1, "its graphs are classified, not its nodes");
    let nodes = std::fs::read_to_string(other.path().join("RS_graph_indicator.txt")).unwrap().lines().count();
    std::fs::write(other.path().join("RS_node_labels.txt"), (0..nodes).map(|v| format!("{}\n", v % 2)).collect::<String>()).unwrap();
    bitgraph(&line).fails(1, "the model takes 1 features and knows 2 classes");
    // As many labels of nodes, but others: their columns would be taken for each other.
    let tagged = |of: &TempDir, shift: usize| {
        let nodes = std::fs::read_to_string(of.path().join("RS_graph_indicator.txt")).unwrap().lines().count();
        let text = (0..nodes).map(|v| format!("{}\n", v % 2 + shift)).collect::<String>();
        std::fs::write(of.path().join("RS_node_labels.txt"), text).unwrap();
    };
    tagged(&dir, 0);
    bitgraph(&format!("gnn train --data {data} --folds 2 --epochs 1 --quiet --save {}", file("t.safetensors")));
    let tags = format!("gnn infer --json --model-file {} --data {}", file("t.safetensors"), other.path().display());
    tagged(&other, 1);
    bitgraph(&tags).fails(1, "the model knows other labels of nodes");
    tagged(&other, 0);
    bitgraph(&tags).json();
    let bytes = std::fs::read(&model).unwrap();
    for at in [40, bytes.len() / 2, bytes.len() - 1] {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        std::fs::write(file("f.safetensors"), &flipped).unwrap();
        bitgraph(&format!("gnn infer --model-file {}", file("f.safetensors"))).fails(1, "f.safetensors: the checkpoint is damaged");
    }
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
