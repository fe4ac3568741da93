//! The JSON object of every algorithm: its keys in their order, and what they hold.

mod common;
use approx::assert_abs_diff_eq;
use common::{bitgraph, result};
use serde_json::json;

/// The keys of an object in the order of the text.
fn keys(text: &str) -> Vec<String> {
    let (mut keys, mut depth, mut rest) = (Vec::new(), 0, text);
    while let Some(i) = rest.find(['{', '}', '[', ']', '"']) {
        let (found, tail) = (rest.as_bytes()[i], &rest[i + 1..]);
        rest = tail;
        match found {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {
                let end = tail.find('"').unwrap();
                if depth == 1 && tail[end + 1..].starts_with(':') {
                    keys.push(tail[..end].to_string());
                }
                rest = &tail[end + 1..];
            }
        }
    }
    keys
}

#[test]
fn every_algorithm_has_the_documented_keys() {
    let outer = [
        "schema",
        "algorithm",
        "graph",
        "nodes",
        "edges",
        "backend",
        "format",
        "reorder",
        "precision",
        "threads",
        "load_s",
        "build_s",
        "seconds",
        "peak_bytes",
        "result",
    ];
    for (algorithm, inner) in [
        ("bfs", &["source", "reached", "depth", "edges_traversed"][..]),
        ("sssp", &["source", "reached", "max_distance", "sum_distance"]),
        ("pagerank", &["iterations", "residual", "converged", "sum", "top"]),
        ("cc", &["components", "largest"]),
        ("tc", &["triangles"]),
    ] {
        let run = bitgraph(&format!("{algorithm} kron:8:16:1 --json --repeat 3 --threads 1"));
        let report = run.json();
        assert_eq!(keys(&run.out), outer);
        assert_eq!(keys(&run.out[run.out.find("\"result\":").unwrap() + 9..]), inner);
        assert_eq!(report["schema"], 1);
        assert_eq!(report["algorithm"], algorithm);
        assert_eq!(report["graph"], "kron:8:16:1");
        assert_eq!((&report["nodes"], &report["threads"]), (&json!(256), &json!(1)));
        assert_eq!((&report["backend"], &report["precision"]), (&json!("cpu"), &json!("f32")));
        let seconds = report["seconds"].as_array().unwrap();
        assert!(seconds.len() == 3 && seconds.iter().all(|s| s.as_f64().unwrap() >= 0.0));
        assert!(report["peak_bytes"].as_u64().unwrap() > 1000 && report["load_s"].as_f64().unwrap() > 0.0);
        assert_eq!(run.err, "");
    }
}

#[test]
fn answers_on_a_grid() {
    let source = json!({"source": 0, "reached": 12, "depth": 5, "edges_traversed": 34});
    assert_eq!(result("bfs grid:3x4 --source 0"), source);
    // All inner vertices have four neighbours: the smallest is 5.
    assert_eq!(result("bfs grid:4x4")["source"], 5);
    assert_eq!(result("cc grid:3x4"), json!({"components": 1, "largest": 12}));
    assert_eq!(result("tc grid:3x4"), json!({"triangles": 0}));
    assert_eq!(result("tc mycielskian:4"), json!({"triangles": 0}));
    assert_eq!(result("sssp grid:3x4 --source 0"), json!({"source": 0, "reached": 12, "max_distance": 5, "sum_distance": 30}));
    let ranks = result("pagerank grid:3x4 --precision f64 --tolerance 1e-12 --max-iterations 1000");
    assert_eq!((&ranks["converged"], &ranks["top"][0][0]), (&json!(true), &json!(5)));
    assert_abs_diff_eq!(ranks["sum"].as_f64().unwrap(), 1.0, epsilon = 1e-9);
    assert_eq!(ranks["top"].as_array().unwrap().len(), 10);
}

#[test]
fn options_change_what_they_say() {
    let many = result("bfs grid:3x4 --sources 5 --seed 7");
    assert_eq!((&many["sources"], &many["reached"]), (&json!(5), &json!(60)));
    assert_eq!(many["source"].as_array().unwrap().len(), 5);
    assert_eq!(many, result("bfs grid:3x4 --sources 5 --seed 7 --threads 1"));
    assert_ne!(many["source"], result("bfs grid:3x4 --sources 5 --seed 8")["source"]);
    assert_eq!(result("sssp grid:3x4 --sources 2 --weights hash:9")["reached_by_source"], json!([12, 12]));
    let path = result("bfs grid:3x4 --source 0 --target 11");
    assert_eq!((&path["distance"], path["path"].as_array().unwrap().len()), (&json!(5), 6));
    let path = result("sssp grid:1x4 --source 0 --target 2");
    assert_eq!((&path["distance"], &path["path"]), (&json!(2), &json!([0, 1, 2])));
    assert_eq!(path["reached"], 3);
    let few = result("pagerank kron:8 --max-iterations 2");
    assert_eq!((&few["iterations"], &few["converged"]), (&json!(2), &json!(false)));
    let lost = result("pagerank kron:8 --dangling drop");
    assert!(lost["sum"].as_f64().unwrap() < 0.99);
    let explained = bitgraph("cc grid:3x4 --json --explain");
    explained.json();
    assert!(explained.err.contains("plan for cc"));
    let verbose = bitgraph("cc grid:3x4 --verbose");
    assert!(verbose.code == Some(0) && verbose.err.contains("load"));
    let quiet = bitgraph("cc grid:3x4 --quiet");
    assert_eq!((quiet.code, &quiet.out[..], &quiet.err[..]), (Some(0), "", ""));
}

#[test]
fn hashed_weights_are_the_documented_ones() {
    // A path of two vertices: one edge, of weight 1 + mix64(0 << 32 | 1) mod 255.
    let mix = |x: u64| {
        let z = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    assert_eq!(result("sssp grid:1x2 --weights hash:255")["sum_distance"], 1 + mix(1) % 255);
}

#[test]
fn tiny_graphs() {
    assert_eq!(result("bfs grid:1x1"), json!({"source": 0, "reached": 1, "depth": 0, "edges_traversed": 0}));
    assert_eq!(result("bfs grid:0x0"), json!({"source": null, "reached": 0, "depth": 0, "edges_traversed": 0}));
    assert_eq!(result("cc grid:0x0"), json!({"components": 0, "largest": 0}));
    assert_eq!(result("tc grid:0x0"), json!({"triangles": 0}));
    assert_eq!(result("sssp grid:0x0")["reached"], 0);
    assert_eq!(result("sssp grid:1x1")["reached"], 1);
    assert_eq!(result("pagerank grid:1x1")["top"], json!([[0, 1.0]]));
    assert_eq!(result("pagerank grid:0x0")["top"], json!([]));
}

#[test]
fn the_other_commands_report_too() {
    let info = bitgraph("info kron:8 --json").json();
    assert_eq!(info["rows"], 256);
    assert_eq!(info["formats"].as_array().unwrap().len(), 6);
    assert!(info["plans"].as_array().unwrap().iter().any(|p| p["algorithm"] == "bfs"));
    let doctor = bitgraph("doctor --json").json();
    assert!(doctor["read_gb_per_s"].as_f64().unwrap() > 0.0);
    assert_eq!(doctor["backends"][0]["name"], "cpu");
    for line in ["doctor", "info grid:5x5", "--version", "--help", "bfs --help", "completions bash", "completions fish"] {
        let run = bitgraph(line);
        assert!(run.code == Some(0) && !run.out.is_empty(), "{line}: {}", run.err);
    }
}

#[test]
fn bench_options_are_heeded() {
    let run = bitgraph("bench grid:6x7 --operations mxv_float,pagerank --precision f64 --repeat 1 --amortize 2 --explain --json");
    let bench = run.json();
    assert_eq!((&bench["precision"], &bench["runs"], &bench["amortize"]), (&json!("f64"), &json!(1), &json!(2)));
    let results = bench["results"].as_array().unwrap();
    // Two operations in six formats and in the planned layout.
    assert_eq!(results.len(), 14);
    assert!(results.iter().all(|r| r["seconds"].as_array().unwrap().len() == 1));
    assert!(run.err.contains("plan for mxv_float (2 runs)") && run.err.contains("plan for pagerank (2 runs)"), "{}", run.err);
    let bench = bitgraph("bench grid:6x7 --operations cc --format csr --json").json();
    assert_eq!((&bench["precision"], &bench["runs"], &bench["amortize"]), (&json!("f32"), &json!(5), &json!(100)));
}
