//! Every format and order gives the same answers, and so does every number of threads.

mod common;
use common::{bitgraph, result};
use serde_json::Value;

const FORMATS: [&str; 7] = ["auto", "csr", "b2sr-4", "b2sr-8", "b2sr-16", "b2sr-32", "hybrid"];
const ORDERS: [&str; 5] = ["auto", "none", "degree", "rcm", "community"];

/// Scores rank by rank.
fn scores(result: &Value) -> Vec<f64> {
    result["top"].as_array().unwrap().iter().map(|t| t[1].as_f64().unwrap()).collect()
}

#[test]
fn all_layouts_agree() {
    for graph in ["kron:7", "grid:9x11@3"] {
        for line in ["bfs", "sssp --weights hash:50", "cc", "tc", "bfs --sources 9"] {
            let expected = result(&format!("{line} {graph}"));
            for format in FORMATS {
                for order in ORDERS {
                    let run = bitgraph(&format!("{line} {graph} --format {format} --reorder {order} --json")).json();
                    assert_eq!(run["result"], expected, "{line} {graph} {format} {order}");
                    assert!(format == "auto" || run["format"] == format);
                    assert!(order == "auto" || run["reorder"] == order);
                }
            }
        }
    }
}

#[test]
fn scores_agree_rank_by_rank() {
    let line = "pagerank kron:7 --precision f64 --tolerance 1e-12 --max-iterations 1000";
    let expected = scores(&result(line));
    for format in FORMATS {
        for order in ORDERS {
            let found = scores(&result(&format!("{line} --format {format} --reorder {order}")));
            for (a, b) in expected.iter().zip(&found) {
                assert!((a - b).abs() <= 1e-9 * a, "{format} {order}: {a} {b}");
            }
        }
    }
}

#[test]
fn shortest_paths_are_the_same_in_every_order() {
    for line in ["sssp grid:20x20 --weights hash:3 --source 0 --target 399", "sssp kron:9 --weights hash:2 --target 5"] {
        let path = result(&format!("{line} --reorder none"))["path"].clone();
        assert!(path.as_array().unwrap().len() > 2);
        for (order, format) in [("degree", "csr"), ("rcm", "csr"), ("community", "csr"), ("rcm", "hybrid"), ("degree", "b2sr-8")] {
            let other = result(&format!("{line} --reorder {order} --format {format}"));
            assert_eq!(other["path"], path, "{line}, {order}, {format}");
        }
    }
}

#[test]
fn threads_and_amortisation_change_nothing() {
    for line in ["bfs", "sssp --weights hash:255", "cc", "tc"] {
        let expected = result(&format!("{line} kron:10 --threads 1"));
        for threads in [2, 3] {
            assert_eq!(result(&format!("{line} kron:10 --threads {threads}")), expected, "{line}");
        }
        assert_eq!(result(&format!("{line} kron:10 --amortize 100")), expected, "{line}");
    }
}
