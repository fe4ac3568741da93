//! `doctor` and `bench` with the CUDA backend: without a GPU, and on the host shim where there is one.

mod common;
use common::{bitgraph, command, file, with_file};
use serde_json::Value;

/// The JSON of a run on the host shim; nothing without one.
fn on_shim(line: &str) -> Option<Value> {
    let Some(folder) = std::env::var_os("BITGRAPH_CUDA_EMULATOR") else {
        println!("skipped: {line} on the host shim (BITGRAPH_CUDA_EMULATOR is not set)");
        return None;
    };
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let output = command(&arguments).env("BITGRAPH_CUDA_EMULATOR", folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn doctor_without_a_gpu() {
    let report = bitgraph("doctor --json").json();
    let cuda = &report["cuda"];
    assert_eq!((&report["backends"][1]["name"], &report["backends"][1]["available"]), (&"cuda".into(), &false.into()));
    let why = cuda["why"].as_str().unwrap();
    assert!(!why.is_empty() && !why.contains('\n'));
    assert_eq!(cuda["oldest_driver"], "13.0");
    assert!(cuda["kernels"]["modules"].as_u64().unwrap() > 10);
    assert_eq!(cuda["cache"]["folder_variable"], "BITGRAPH_KERNEL_CACHE");
    let text = bitgraph("doctor");
    assert_eq!(text.code, Some(0));
    assert_eq!(text.out.matches(why).count(), 1, "{}", text.out);
    assert!(text.out.contains("BITGRAPH_KERNEL_CACHE_BYTES") && text.out.contains("the lowest that works"), "{}", text.out);
}

#[test]
fn doctor_on_the_shim() {
    let Some(report) = on_shim("doctor --json") else { return };
    let device = &report["cuda"]["devices"][0];
    assert_eq!((&device["name"], &device["compute"]), (&"host shim".into(), &"9.0".into()));
    assert!(device["memory_free_bytes"].as_u64().unwrap() > 0 && report["cuda"]["emulator"].is_string());
}

#[test]
fn operations_can_be_chosen() {
    let report = bitgraph("bench grid:6x7 --format csr --operations mxv_bool,cc --json").json();
    let operations: Vec<&str> = report["results"].as_array().unwrap().iter().map(|r| r["operation"].as_str().unwrap()).collect();
    assert_eq!(operations, ["mxv_bool", "cc"]);
    assert!(report["results"][1]["edges_per_s"].as_f64().unwrap() > 0.0 && report["device"].is_null());
    bitgraph("bench grid:6x7 --operations sorting").fails(2, "sorting");
}

#[test]
fn bench_on_the_shim() {
    let Some(report) = on_shim("bench grid:6x7 --backend cuda --repeat 2 --json") else { return };
    assert_eq!((&report["backend"], &report["device"]["name"]), (&"cuda".into(), &"host shim".into()));
    assert!(report["device"]["copy_gb_per_s"].as_f64().unwrap() > 0.0);
    let results = report["results"].as_array().unwrap();
    // Six formats and the planner's choice of seven operations; for many passes of so small a graph it chooses the same.
    assert_eq!(results.len(), 7 * 7);
    for r in results {
        assert_eq!(r["seconds"].as_array().unwrap().len(), 2);
        assert!(r["of_limit"].as_f64().unwrap() > 0.0, "{r}");
        assert_eq!(r["mean_s"].is_null(), !r["operation"].as_str().unwrap().starts_with("mxv"));
    }
}

#[test]
fn stored_layouts_on_the_shim() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("g.bgr");
    for graph in ["kron:6", "grid:9x7"] {
        for stored in ["b2sr-4", "b2sr-8", "b2sr-16", "b2sr-32", "hybrid"] {
            assert_eq!(with_file(&format!("convert {graph} {{}} --to {stored} --reorder degree"), &path).code, Some(0));
            for line in ["bfs", "sssp --weights unit", "cc", "tc"] {
                let expected = bitgraph(&format!("{line} {graph} --json")).json();
                for layout in ["", "--format STORED", "--format csr --reorder none"] {
                    let layout = layout.replace("STORED", stored);
                    let Some(run) = on_shim(&format!("{line} {} --backend cuda --json {layout}", path.display())) else { return };
                    assert_eq!(run["result"], expected["result"], "{line} {graph} {stored} {layout}");
                    assert!(!layout.ends_with(stored) || (run["format"] == stored && run["reorder"] == "degree"));
                }
            }
        }
    }
}

#[test]
fn models_train_on_the_shim_as_on_the_host() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.safetensors");
    for (model, precision) in [("gcn", "f32"), ("sage", "bf16"), ("gin", "f16"), ("gat", "f32"), ("gatv2", "f16"), ("transformer", "f32")] {
        let line = format!("gnn train --data planted:120:3:6 --hidden 8 --epochs 10 --model {model} --precision {precision} --json");
        let line = format!("{line} --save {}", path.display());
        let host = bitgraph(&line).json();
        let Some(device) = on_shim(&format!("{line} --backend cuda")) else { return };
        let accuracies = |report: &Value| ["test_accuracy", "val_accuracy"].map(|key| report["runs"][0][key].as_f64().unwrap());
        for (a, b) in accuracies(&host).into_iter().zip(accuracies(&device)) {
            // Sums of another order may turn a node between two classes.
            assert!((a - b).abs() < 0.06, "{model} in {precision}: {a} and {b}");
        }
        assert_eq!(device["backend"], "cuda");
        let inferred = bitgraph(&format!("gnn infer --model-file {} --json", path.display())).json();
        assert!((inferred["test_accuracy"].as_f64().unwrap() - accuracies(&device)[0]).abs() < 0.06);
    }
}

#[test]
fn graphs_and_several_classes_train_on_the_shim_as_on_the_host() {
    let dir = tempfile::tempdir().unwrap();
    // Rings of class 0 and paths of class 1.
    let (mut edges, mut indicator, mut labels) = (String::new(), String::new(), String::new());
    for g in 0..12 {
        for i in 0..6 {
            if g % 2 == 0 || i < 5 {
                edges += &format!("{}, {}\n", 6 * g + i + 1, 6 * g + (i + 1) % 6 + 1);
            }
            indicator += &format!("{}\n", g + 1);
        }
        labels += &format!("{}\n", g % 2);
    }
    for (name, text) in [("A", edges), ("graph_indicator", indicator), ("graph_labels", labels)] {
        file(&dir, &format!("RP_{name}.txt"), text);
    }
    let close = |line: &str| {
        let host = bitgraph(line).json();
        let Some(device) = on_shim(&format!("{line} --backend cuda")) else { return };
        let [a, b] = [&host, &device].map(|report| report["test_accuracy"].as_f64().unwrap());
        assert!((a - b).abs() < 0.1, "{line}: {a} and {b}");
    };
    for (readout, precision) in [("sum", "f32"), ("mean", "f16"), ("max", "bf16")] {
        let line = format!("gnn train --data {} --folds 2 --epochs 3 --hidden 8 --layers 2 --readout {readout}", dir.path().display());
        close(&format!("{line} --precision {precision} --batch-graphs 4 --json"));
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("raw")).unwrap();
    std::fs::create_dir_all(folder.path().join("split/random")).unwrap();
    let rows = |of: &dyn Fn(usize) -> String| (0..24).map(|v| of(v) + "\n").collect::<String>();
    file(&folder, "raw/edge.csv", rows(&|v| format!("{v},{}", v / 12 * 12 + (v + 1) % 12)));
    file(&folder, "raw/node-feat.csv", rows(&|v| format!("{},{},0.5", 1 - v / 12, v / 12)));
    file(&folder, "raw/node-label.csv", rows(&|v| if v < 12 { "1,0,1".into() } else { "0,1,1".into() }));
    file(&folder, "raw/num-node-list.csv", "24\n");
    for (name, nodes) in [("train", "0\n12\n1\n13\n"), ("valid", "2\n14\n"), ("test", "3\n4\n5\n15\n16\n17\n")] {
        file(&folder, &format!("split/random/{name}.csv"), nodes);
    }
    for precision in ["f32", "f16"] {
        close(&format!("gnn train --data {} --epochs 8 --hidden 8 --precision {precision} --json", folder.path().display()));
    }
}
