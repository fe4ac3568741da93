//! Files in and out: standard input, every writable format, outputs per vertex, numbering.

mod common;
use approx::assert_abs_diff_eq;
use common::{bitgraph, file, result, with_file, with_input};
use serde_json::json;

#[test]
fn standard_input() {
    let run = with_input("bfs - --json", b"# a comment\n0 1\n1\t2\n\n2 3\n");
    assert_eq!(run.json()["result"], json!({"source": 0, "reached": 4, "depth": 3, "edges_traversed": 3}));
    let weighted = with_input("sssp - --source 0 --json", b"0 1 5\n1 2 7\n");
    assert_eq!(weighted.json()["result"]["max_distance"], 12);
    let floats = with_input("sssp - --source 0 --json --precision f64", b"0 1 0.5\n1 2 0.25\n");
    assert_eq!(floats.json()["result"]["max_distance"], 0.75);
    let nodes = with_input("cc - --nodes 10 --json", b"0 1\n");
    assert_eq!(nodes.json()["result"], json!({"components": 9, "largest": 2}));
    assert_eq!(with_input("cc - --one-based --json", b"1 2\n").json()["nodes"], 2);
    let both = with_input("sssp - --source 2 --symmetrize --duplicates min --json", b"0 1 5\n1 2 7\n1 0 3\n");
    assert_eq!(both.json()["result"]["max_distance"], 10);
}

#[test]
fn relabelled_vertices_keep_their_numbers() {
    let edges = b"9000000000 70\n70 5\n";
    let run = with_input("bfs - --relabel --source 9000000000 --target 5 --json", edges);
    assert_eq!(run.json()["result"]["path"], json!([9_000_000_000u64, 70, 5]));
    with_input("bfs - --relabel --source 6", edges).fails(2, "vertex 6");
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("labels.npy");
    let line = format!("cc - --relabel --json --output {}", out.display());
    assert_eq!(with_input(&line, edges).json()["result"]["largest"], 3);
    assert!(out.exists());
    // They are called by them in every text, and in every file that has room for them.
    let text = |path: &std::path::Path| std::fs::read_to_string(path).unwrap();
    let csv = dir.path().join("levels.csv");
    let bgr = dir.path().join("g.bgr");
    assert_eq!(with_input(&format!("convert - --relabel {} --quiet", bgr.display()), edges).code, Some(0));
    let el = dir.path().join("h.el");
    assert_eq!(bitgraph(&format!("convert {} {} --quiet", bgr.display(), el.display())).code, Some(0));
    assert_eq!(text(&el), "# Nodes: 3 Edges: 2\n70\t5\n9000000000\t70\n");
    for graph in [bgr.display().to_string(), format!("{} --relabel", el.display())] {
        let run = bitgraph(&format!("bfs {graph} --source 9000000000 --quiet --output {}", csv.display()));
        assert_eq!((run.code, text(&csv).as_str()), (Some(0), "node,value\n5,2\n70,1\n9000000000,0\n"), "{}", run.err);
        assert_eq!(bitgraph(&format!("bfs {graph} --source 9000000000 --parents --quiet --output {}", csv.display())).code, Some(0));
        assert_eq!(text(&csv), "node,value\n5,70\n70,9000000000\n9000000000,9000000000\n");
    }
    let mtx = dir.path().join("g.mtx");
    let run = bitgraph(&format!("convert {} {}", bgr.display(), mtx.display()));
    assert!(run.code == Some(0) && run.err.contains("g.mtx: ") && run.err.contains("their rank"), "{}", run.err);
    with_input("bfs - --relabel --duplicates error", b"9 70\n5 7\n9 70\n").fails(1, "entry (9, 70)");
}

#[test]
fn values_of_many_sources_name_the_source() {
    let dir = tempfile::tempdir().unwrap();
    let arcs = file(&dir, "g.el", "0 1\n1 2\n");
    let sources = file(&dir, "s.txt", "1\n0\n");
    for command in ["bfs", "sssp"] {
        let csv = dir.path().join("x.csv");
        let run = |out: &std::path::Path| {
            bitgraph(&format!("{command} {} --sources {} --quiet --output {}", arcs.display(), sources.display(), out.display()))
        };
        assert_eq!(run(&csv).code, Some(0));
        let found = std::fs::read_to_string(&csv).unwrap().replace(".0", "");
        let none = if command == "bfs" { "-1" } else { "inf" };
        assert_eq!(found, format!("source,node,value\n1,0,{none}\n1,1,0\n1,2,1\n0,0,0\n0,1,1\n0,2,2\n"));
        let npy_file = dir.path().join("x.npy");
        assert_eq!(run(&npy_file).code, Some(0));
        assert!(npy::<4>(&npy_file).0.contains("'shape': (2, 3)"));
    }
}

/// Triangles are those of the pattern, whatever the weights are and wherever they are stored.
#[test]
fn weights_do_not_direct_a_pattern() {
    let dir = tempfile::tempdir().unwrap();
    let arcs = file(&dir, "w.el", "0 1 1\n1 0 2\n1 2 3\n2 1 4\n0 2 5\n2 0 6\n");
    for name in ["w.bgr", "w.mtx", "w.npz", "w2.el"] {
        let path = dir.path().join(name);
        assert_eq!(bitgraph(&format!("convert {} {} --quiet", arcs.display(), path.display())).code, Some(0));
        assert_eq!(with_file("tc {} --json", &path).json()["result"]["triangles"], 1, "{name}");
        assert_eq!(with_file("convert {} --check --json", &path).json()["symmetric"], false, "{name}");
    }
    for format in ["csr", "b2sr-8", "hybrid"] {
        let path = dir.path().join("f.bgr");
        assert_eq!(bitgraph(&format!("convert {} {} --quiet --to {format}", arcs.display(), path.display())).code, Some(0));
        assert_eq!(with_file("tc {} --json", &path).json()["result"]["triangles"], 1, "{format}");
    }
}

/// The elements of a `.npy` file of one dimension, as little-endian words of `N` bytes, and its header.
fn npy<const N: usize>(path: &std::path::Path) -> (String, Vec<[u8; N]>) {
    let bytes = std::fs::read(path).unwrap();
    assert_eq!(&bytes[..6], b"\x93NUMPY");
    let header = usize::from(u16::from_le_bytes([bytes[8], bytes[9]])) + 10;
    let data = bytes[header..].chunks_exact(N).map(|c| c.try_into().unwrap()).collect();
    (String::from_utf8_lossy(&bytes[10..header]).into_owned(), data)
}

#[test]
fn one_value_per_vertex() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("x.npy");
    let two_paths = file(&dir, "g.el", "0 1\n1 2\n3 4\n");
    let run = |line: &str| {
        let line = line.replace("OUT", out.to_str().unwrap());
        assert_eq!(with_file(&format!("{line} --quiet"), &two_paths).code, Some(0));
    };
    let ints = |out: &std::path::Path| {
        let (header, words) = npy::<4>(out);
        assert!(header.contains("<i4") || header.contains("<u4"), "{header}");
        words.into_iter().map(i32::from_le_bytes).collect::<Vec<_>>()
    };
    run("bfs {} --source 0 --output OUT");
    assert_eq!(ints(&out), [0, 1, 2, -1, -1]);
    run("bfs {} --source 0 --parents --output OUT");
    assert_eq!(ints(&out), [0, 0, 1, -1, -1]);
    run("sssp {} --source 1 --parents --output OUT");
    assert_eq!(ints(&out), [-1, 1, 1, -1, -1]);
    run("cc {} --output OUT");
    assert_eq!(ints(&out), [0, 0, 0, 3, 3]);
    run("bfs {} --sources 1 --output OUT");
    assert_eq!(ints(&out).len(), 5);
    run("sssp {} --source 0 --output OUT");
    let (header, words) = npy::<4>(&out);
    assert!(header.contains("<f4"), "{header}");
    let distances: Vec<f32> = words.into_iter().map(f32::from_le_bytes).collect();
    assert_eq!(distances, [0.0, 1.0, 2.0, f32::INFINITY, f32::INFINITY]);
    run("sssp {} --source 0 --precision f64 --output OUT");
    assert_eq!(f64::from_le_bytes(npy::<8>(&out).1[3]), f64::INFINITY);
    run("pagerank {} --output OUT");
    let sum: f32 = npy::<4>(&out).1.into_iter().map(f32::from_le_bytes).sum();
    assert_abs_diff_eq!(sum, 1.0, epsilon = 1e-5);
    for ending in ["csv", "tsv"] {
        let text = dir.path().join(format!("x.{ending}"));
        assert_eq!(with_file("cc grid:2x2 --quiet --output {}", &text).code, Some(0));
        let lines = std::fs::read_to_string(&text).unwrap();
        assert!(lines.lines().count() >= 4, "{lines}");
    }
}

#[test]
fn every_file_format_holds_the_graph() {
    let dir = tempfile::tempdir().unwrap();
    let expected = result("bfs kron:8");
    for name in ["g.mtx", "g.mtx.gz", "g.el", "g.el.gz", "g.txt", "g.npz", "g.graph", "g.bgr"] {
        let path = dir.path().join(name);
        let written = with_file("generate kron:8 {} --json", &path).json();
        assert!(written["bytes"].as_u64().unwrap() > 0);
        assert_eq!(with_file("bfs {} --nodes 256 --json", &path).json()["result"], expected, "{name}");
        assert_eq!(with_file("convert {} --check --nodes 256 --json", &path).json()["symmetric"], true, "{name}");
    }
    let weighted = file(&dir, "w.el", "0 1 2.5\n1 2 0.5\n2 0 8\n");
    for name in ["w.mtx", "w.npz", "w.bgr", "w2.el"] {
        let path = dir.path().join(name);
        assert_eq!(with_file(&format!("convert {} {{}}", weighted.display()), &path).code, Some(0));
        assert_eq!(with_file("sssp {} --source 0 --json", &path).json()["result"]["max_distance"], 3.0, "{name}");
    }
}

#[test]
fn containers_in_every_format_and_order() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("g.bgr");
    let arcs = file(&dir, "w.el", "0 1 2\n1 2 5\n2 0 8\n4 3 9\n3 1 1\n");
    let search = with_file("sssp {} --source 4 --json", &arcs).json()["result"].clone();
    let undirected = with_file("sssp {} --source 4 --symmetrize --json", &arcs).json()["result"].clone();
    let sources = with_file("sssp {} --sources 3 --json", &arcs).json()["result"].clone();
    for format in ["auto", "csr", "b2sr-4", "b2sr-8", "b2sr-16", "b2sr-32", "hybrid"] {
        for order in ["auto", "none", "degree", "rcm", "community"] {
            let line = format!("convert {} {{}} --to {format} --reorder {order} --quiet", arcs.display());
            assert_eq!(with_file(&line, &path).code, Some(0));
            assert_eq!(with_file("convert {} --check", &path).code, Some(0));
            assert_eq!(with_file("sssp {} --source 4 --json", &path).json()["result"], search, "{format} {order}");
            assert_eq!(with_file("sssp {} --sources 3 --json", &path).json()["result"], sources, "{format} {order}");
            let both = with_file("sssp {} --source 4 --symmetrize --json", &path).json()["result"].clone();
            assert_eq!(both, undirected, "{format} {order}");
            // As it is stored, and in a layout that it is not stored in.
            for layout in [format!("--format {format} --reorder {order}"), "--format b2sr-16 --reorder degree".into()] {
                let run = with_file(&format!("sssp {{}} --source 4 --json {layout}"), &path).json();
                assert_eq!(run["result"], search, "{format} {order} {layout}");
            }
        }
    }
}

#[test]
fn stored_layouts_are_used_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("g.bgr");
    assert_eq!(with_file("convert kron:9 {} --to b2sr-8 --reorder degree", &path).code, Some(0));
    for line in ["bfs {} --json", "pagerank {} --json", "cc {} --json", "tc {} --json", "bfs {} --sources 20 --json"] {
        let expected = bitgraph(&line.replace("{}", "kron:9")).json();
        for layout in ["", "--format b2sr-8", "--reorder degree", "--format b2sr-8 --reorder degree", "--format csr --reorder none"] {
            let run = with_file(&format!("{line} {layout}"), &path).json();
            assert_eq!(run["reorder"], if layout.ends_with("none") { "none" } else { "degree" }, "{line} {layout}");
            assert!(!layout.contains("b2sr-8") || run["format"] == "b2sr-8");
            if line.starts_with("pagerank") {
                assert_eq!(run["result"]["top"][0][0], expected["result"]["top"][0][0]);
            } else {
                assert_eq!(run["result"], expected["result"], "{line} {layout}");
            }
        }
    }
    let explained = with_file("bfs {} --format b2sr-8 --explain", &path);
    assert!(explained.err.contains("stored as b2sr-8 in order degree: used as it is"), "{}", explained.err);
    let explained = with_file("bfs {} --explain", &path);
    assert!(explained.err.contains("stored as b2sr-8 in order degree: converted"), "{}", explained.err);
}

#[test]
fn plots_are_xml() {
    let dir = tempfile::tempdir().unwrap();
    for graph in ["kron:8", "grid:1x1", "grid:0x0", "grid:30x40"] {
        let path = dir.path().join("p.svg");
        assert_eq!(with_file(&format!("info {graph} --quiet --plot {{}}"), &path).code, Some(0));
        let svg = std::fs::read_to_string(&path).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }
}

#[test]
fn personalised_scores() {
    let dir = tempfile::tempdir().unwrap();
    let weights = file(&dir, "p.txt", "# vertex weight\n0 3\n5\n");
    let run = with_file("pagerank grid:3x4 --personalize {} --json", &weights).json();
    assert_eq!(run["result"]["top"][0][0], 0);
    let bad = file(&dir, "bad.txt", "0 1\n99 1\n");
    with_file("pagerank grid:3x4 --personalize {}", &bad).fails(2, "vertex 99");
    let bad = file(&dir, "worse.txt", "0 1\n\n1 x\n");
    with_file("pagerank grid:3x4 --personalize {}", &bad).fails(1, "line 3");
    for (text, code, words) in [
        ("0 1\n5 -1\n", 1, "q.txt, line 2: '-1' is no weight"),
        ("# none\n0 nan\n", 1, "q.txt, line 2: 'nan' is no weight"),
        ("0 1e999\n", 1, "q.txt, line 1: '1e999' is no weight"),
        ("0 0\n", 1, "q.txt: sum of the personalization weights is 0;"),
        ("\n", 1, "q.txt: sum of the personalization weights is 0;"),
        ("0 1\n\n12 1\n", 2, "q.txt, line 3: vertex 12"),
    ] {
        with_file("pagerank grid:3x4 --personalize {}", &file(&dir, "q.txt", text)).fails(code, words);
    }
    with_file("pagerank grid:3x4 --personalize {}", &file(&dir, "r.txt", b"0 1\n\xff\xfe 2\n")).fails(1, "r.txt, line 2");
    with_file("bfs grid:3x4 --sources {}", &file(&dir, "t.txt", "3\n12\n")).fails(2, "t.txt, line 2: vertex 12");
    with_file("bfs grid:3x4 --sources {}", &file(&dir, "t.txt", "3\nx\n")).fails(1, "t.txt, line 2: 'x'");
    let sources = file(&dir, "s.txt", "3\n4\n");
    assert_eq!(with_file("bfs grid:3x4 --sources {} --json", &sources).json()["result"]["source"], json!([3, 4]));
    assert_eq!(bitgraph("bfs grid:3x4 --sources 0").code, Some(2));
}
