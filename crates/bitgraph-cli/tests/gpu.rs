//! `doctor` and `bench` with the CUDA backend: without a GPU, and on the host shim where there is one.

mod common;
use common::{bitgraph, command, with_file};
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
    // Six formats and the planner's choice of seven operations, and the product in the layout for many passes.
    assert_eq!(results.len(), 7 * 7 + 1);
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
    for (model, precision) in [("gcn", "f32"), ("sage", "bf16"), ("gin", "f16"), ("gat", "f32")] {
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
