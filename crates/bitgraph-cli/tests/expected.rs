//! Real graphs with known answers, where `BITGRAPH_DATA` names a directory that holds them and `expected.json`. Small ones only:
//! the verification tool does them all.

mod common;
use approx::relative_eq;
use common::result;
use serde_json::Value;
use std::path::Path;

const LARGEST: u64 = 120_000;

#[test]
fn small_graphs_of_the_data_directory() {
    let Some(data) = std::env::var_os("BITGRAPH_DATA") else {
        eprintln!("skipped: BITGRAPH_DATA is not set");
        return;
    };
    let data = Path::new(&data);
    let expected: Value = serde_json::from_str(&std::fs::read_to_string(data.join("expected.json")).unwrap()).unwrap();
    let mut seen = 0;
    for (name, answers) in expected.as_object().unwrap() {
        let file = ["mtx", "mtx.gz"].iter().map(|e| data.join(format!("{name}.{e}"))).find(|f| f.exists());
        let Some(file) = file else {
            eprintln!("skipped: {name} is not there");
            continue;
        };
        if answers["stored_entries"].as_u64().is_none_or(|e| e > LARGEST) {
            continue;
        }
        seen += 1;
        let graph = file.display();
        for search in answers["bfs"].as_array().into_iter().flatten() {
            let found = result(&format!("bfs {graph} --source {}", search["source"]));
            assert_eq!((&found["reached"], &found["depth"]), (&search["reached"], &search["depth"]), "{name}");
            let sum = &result(&format!("sssp {graph} --weights unit --source {}", search["source"]))["sum_distance"];
            assert_eq!(sum, &search["sum_levels"], "{name}");
        }
        if let Some(cc) = answers.get("cc") {
            assert_eq!(&result(&format!("cc {graph}")), cc, "{name}");
        }
        if let Some(tc) = answers.get("tc_undirected_no_loops") {
            assert_eq!(&result(&format!("tc {graph} --symmetrize")), tc, "{name}");
        }
        if let Some(pagerank) = answers.get("pagerank_d0.85_tol1e-10") {
            let found = result(&format!("pagerank {graph} --precision f64 --tolerance 1e-10 --max-iterations 1000"));
            for (a, b) in pagerank["top"].as_array().unwrap().iter().zip(found["top"].as_array().unwrap()) {
                let (a, b) = (a[1].as_f64().unwrap(), b[1].as_f64().unwrap());
                assert!(relative_eq!(a, b, max_relative = 1e-6), "{name}: {a} {b}");
            }
        }
        if let Some(sssp) = answers.get("sssp") {
            for search in sssp.as_array().into_iter().flatten() {
                let found = result(&format!("sssp {graph} --source {}", search["source"]));
                for key in ["reached", "max_distance", "sum_distance"] {
                    assert_eq!(found[key], search[key], "{name} {key}");
                }
            }
        }
    }
    assert!(seen > 0, "no small graph was found");
}
