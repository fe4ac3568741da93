//! Every format and order gives the same answers, and so does every number of threads.

mod common;
use approx::relative_eq;
use common::{bitgraph, file, result, with_file};
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
                assert!(relative_eq!(a, b, max_relative = 1e-9), "{format} {order}: {a} {b}");
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

/// Whole weights up to the end of their type: exact in every layout, or told to overflow. Floats beyond 32 bits are computed in 64.
#[test]
fn weights_at_the_limits() {
    let directory = tempfile::tempdir().unwrap();
    let matrix = |field: &str, weights: [&str; 2]| {
        let text = format!("%%MatrixMarket matrix coordinate {field} general\n3 3 2\n1 2 {}\n2 3 {}\n", weights[0], weights[1]);
        file(&directory, "limits.mtx", text)
    };
    for layout in FORMATS.iter().flat_map(|f| ORDERS.map(|o| format!("--format {f} --reorder {o}"))) {
        let run = |path: &std::path::Path| with_file(&format!("sssp {{}} --source 0 --json {layout}"), path);
        let odd = run(&matrix("integer", ["9007199254740993", "2"])).json();
        assert_eq!(odd["result"]["max_distance"], 9_007_199_254_740_995u64, "{layout}");
        let most = run(&matrix("integer", ["9223372036854775807", "9223372036854775807"])).json();
        assert_eq!(most["result"]["max_distance"], u64::MAX - 1, "{layout}");
        run(&matrix("unsigned-integer", ["18446744073709551615", "1"])).fails(1, "overflows u64");
        let wide = run(&matrix("real", ["1e30", "1e39"])).json();
        assert_eq!((&wide["result"]["reached"], &wide["result"]["max_distance"]), (&3.into(), &(1e30 + 1e39).into()), "{layout}");
    }
}

/// Where the columns of all vertices are written, a target ends no search.
#[test]
fn a_target_cuts_no_column() {
    let directory = tempfile::tempdir().unwrap();
    let column = |line: &str| {
        let path = directory.path().join("column.npy");
        assert_eq!(with_file(&format!("{line} kron:9 --weights hash:99 --output {{}}"), &path).code, Some(0));
        std::fs::read(&path).unwrap()
    };
    for extra in ["", " --parents", " --format b2sr-8"] {
        assert_eq!(column(&format!("sssp --target 5{extra}")), column(&format!("sssp{extra}")), "{extra}");
    }
}
