//! What a file or standard input is taken for: by its contents, its name, or as told; and what is said about it.

mod common;
use common::{bitgraph, command, file, with_file, with_input};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const WEIGHTED: &str = "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 5\n2 3 6\n";

fn packed(text: &[u8]) -> Vec<u8> {
    let path = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&path, text).unwrap();
    let out = std::process::Command::new("gzip").arg("-c").arg(path.path()).output().unwrap();
    assert!(out.status.success());
    out.stdout
}

fn reached(run: &common::Ran) -> Value {
    run.json()["result"]["reached"].clone()
}

/// Up to what a type of distances holds, its largest number stands for what is not reached.
#[test]
fn distances_on_both_sides_of_what_fits_32_bits() {
    for weight in [u64::from(u32::MAX) - 1, u64::from(u32::MAX), 1 << 32, (1 << 32) + 1] {
        let run = with_input("sssp - --source 0 --json", format!("0 1 {weight}\n").as_bytes());
        let result = &run.json()["result"];
        assert_eq!((&result["reached"], &result["max_distance"]), (&json!(2), &json!(weight)), "{weight}");
    }
}

#[test]
fn matrix_market_is_never_an_edge_list() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(reached(&with_input("sssp - --source 0 --json", WEIGHTED.as_bytes())), 3);
    assert_eq!(reached(&with_input("sssp - --source 0 --json", &packed(WEIGHTED.as_bytes()))), 3);
    for name in ["g.txt", "g.el", "g", "out.g", "g.dat"] {
        let path = file(&dir, name, WEIGHTED);
        assert_eq!(reached(&with_file("sssp {} --source 0 --json", &path)), 3, "{name}");
        with_file("sssp {} --input-format edges", &path).fails(1, "line 1: the file begins with '%%MatrixMarket");
    }
    with_input("bfs - --input-format edges", WEIGHTED.as_bytes()).fails(1, "standard input, line 1: the file begins with");
}

#[test]
fn every_format_comes_in_by_standard_input_and_under_any_name() {
    let dir = tempfile::tempdir().unwrap();
    let expected = bitgraph("bfs kron:7 --json").json()["result"].clone();
    for format in ["mtx", "edges", "metis", "npz", "bgr"] {
        let written = command(&["generate", "kron:7", "-", "--output-format", format]).output().unwrap();
        assert!(written.status.success() && written.stderr.is_empty(), "{}", String::from_utf8_lossy(&written.stderr));
        // Only a METIS file looks like something else.
        let told = if format == "metis" { " --input-format metis" } else { "" };
        for bytes in [written.stdout.clone(), packed(&written.stdout)] {
            let run = with_input(&format!("bfs - --json --nodes 128{told}"), &bytes);
            assert_eq!(run.json()["result"], expected, "{format}");
            let path = file(&dir, "graph", &bytes);
            assert_eq!(with_file(&format!("bfs {{}} --json --nodes 128{told}"), &path).json()["result"], expected, "{format}");
        }
    }
}

#[test]
fn names_without_a_known_ending() {
    let dir = tempfile::tempdir().unwrap();
    let list = "0 1\n1 2\n";
    for name in ["kron:18", "list", "g.unheard", "out.network", "g.edges", "g.edgelist", "g.dat", "g.edges.gz", "noise.gz"] {
        file(&dir, name, if name.ends_with(".gz") { packed(list.as_bytes()) } else { list.into() });
        let out = command(&["bfs", &format!("./{name}"), "--source", "0", "--json"]).current_dir(dir.path()).output().unwrap();
        let text = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{name}: {text}");
        assert_eq!(serde_json::from_slice::<Value>(&out.stdout).unwrap()["result"]["reached"], 3, "{name}");
    }
    with_file("bfs {}", &file(&dir, "x.unheard", "hello\n")).fails(2, "--input-format");
    with_file("bfs {}", &dir.path().join("nothing")).fails(1, "nothing: No such file");
}

#[test]
fn names_that_are_no_text_or_as_long_as_a_name_can_be() {
    let dir = tempfile::tempdir().unwrap();
    let mut long = vec![b'x'; 251];
    long.extend_from_slice(b".npy");
    for name in [&b"g\xff\xfe.el"[..], &[&b"g"[..], &[b'y'; 250], b".el"].concat()] {
        let path = dir.path().join(OsStr::from_bytes(name));
        std::fs::write(&path, "0 1\n1 2\n").unwrap();
        let sources = dir.path().join(OsStr::from_bytes(b"s\xf0.txt"));
        std::fs::write(&sources, "0\n").unwrap();
        for out in [&b"o\xff.npy"[..], &long] {
            let out = dir.path().join(OsStr::from_bytes(out));
            let run = command(&["bfs"]).arg(&path).arg("--output").arg(&out).arg("--sources").arg(&sources).arg("--json").output().unwrap();
            assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
            assert_eq!(serde_json::from_slice::<Value>(&run.stdout).unwrap()["result"]["reached"], 3);
            assert!(out.exists());
        }
    }
}

#[test]
fn tables_as_other_programs_write_them() {
    let dir = tempfile::tempdir().unwrap();
    for text in [
        "source,target,weight\n0,1,5\n1,2,6\n",
        "\u{feff}0,1,5\n1,2,6\n",
        "\"from\";\"to\";\"weight\"\r\n\"0\";\"1\";\"5\"\r\n1;2;6\r\n",
        "from\tto\tw\n0\t1\t5\n1\t2\t6\n",
        "# c\n\nu, v, w\n 0 , 1 , 5\n1,2,6",
    ] {
        let run = with_file("sssp {} --source 0 --json", &file(&dir, "t.csv", text)).json();
        assert_eq!((&run["nodes"], &run["result"]["max_distance"]), (&json!(3), &json!(11)), "{text:?}");
    }
    for (text, words) in [
        (",3,4,6\n", "t.csv, line 1: column 1 is empty"),
        ("5,6\n0,,1\n", "t.csv, line 2: column 2 is empty"),
        ("0,1,\n", "t.csv, line 1: column 3 is empty"),
        ("0;\"\";1\n", "t.csv, line 1: column 2 is empty"),
        ("0;1;2,5\n", "t.csv, line 1: '2,5' is not a number"),
        ("a,b\n", "t.csv, line 1: 'a' is not a whole number"),
        ("a,b\nc,d\n", "t.csv, line 2: 'c' is not a whole number"),
        ("a b\n1 2\n", "t.csv, line 1: 'a' is not a whole number"),
    ] {
        with_file("sssp {}", &file(&dir, "t.csv", text)).fails(1, words);
    }
}

#[test]
fn a_fourth_column_is_left_out_and_said() {
    let dir = tempfile::tempdir().unwrap();
    let konect = file(&dir, "out.x", "% asym positive\n% 2 3 3\n1 2 5 1082040961\n2 3 6 1082155839\n");
    let run = with_file("sssp {} --one-based --source 0 --json", &konect);
    assert_eq!(run.json()["result"]["max_distance"], 11);
    assert!(
        run.err.starts_with("bitgraph: ") && run.err.contains("out.x: the fourth column") && run.err.lines().count() == 1,
        "{}",
        run.err
    );
    assert_eq!(with_file("sssp {} --one-based --source 0 --quiet", &konect).err, "");
    with_file("bfs {}", &file(&dir, "f.el", "1 2 5 6\n1 2 5\n")).fails(1, "line 2: the line has 3 fields, and those before it have 4");
    with_file("bfs {}", &file(&dir, "f.el", "1 2 5 x\n")).fails(1, "line 1: 'x' is not a number");
    with_file("bfs {}", &file(&dir, "f.el", "1 2 5 6 7\n")).fails(1, "line 1: '7' follows the last field");
    with_file("bfs {}", &file(&dir, "out.b", "% bip unweighted\n1 1\n2 1\n")).fails(1, "'bip' is not a known KONECT network");
}

#[test]
fn a_list_that_counts_from_one_is_said_to() {
    let said = |text: &str, options: &str| {
        let run = with_input(&format!("cc - --json{options}"), text.as_bytes());
        (run.json()["nodes"].clone(), run.err.contains("--one-based"))
    };
    assert_eq!(said("1 2\n2 3\n", ""), (json!(4), true));
    assert_eq!(said("# Nodes: 3 Edges: 2\n1 2\n2 3\n", ""), (json!(4), true));
    assert_eq!(said("# Nodes: 4 Edges: 2\n1 2\n2 3\n", ""), (json!(4), false));
    assert_eq!(said("1 2\n2 3\n", " --one-based"), (json!(3), false));
    assert_eq!(said("1 2\n2 3\n", " --nodes 4"), (json!(4), false));
    assert_eq!(said("0 2\n2 3\n", ""), (json!(4), false));
    assert_eq!(said("1 2\n2 3\n", " --relabel"), (json!(3), false));
}

#[test]
fn what_is_not_read_is_named() {
    let dir = tempfile::tempdir().unwrap();
    for (name, contents, words) in [
        ("g.graphml", &b"<?xml version=\"1.0\"?>\n<graphml>"[..], "this is GraphML"),
        ("g.gml", b"graph [\n  node [ id 0 ]\n]\n", "this is GML"),
        ("g.net", b"*Vertices 2\n1 \"a\"\n", "this is a Pajek network"),
        ("g.dot", b"digraph { a -> b }\n", "this is a DOT graph"),
        ("g.el.zst", b"\x28\xb5\x2f\xfd\x04\x00", "zstd -dc"),
        ("g.mtx.xz", b"\xfd7zXZ\0\0", "xz -dc"),
        ("g.txt.bz2", b"BZh91AY&SY", "bzip2 -dc"),
    ] {
        with_file("bfs {}", &file(&dir, name, contents)).fails(1, words);
        with_input("bfs -", contents).fails(1, words);
    }
}

/// GAP's serialized form of the undirected path 0 - 1 - 2.
fn serialized(weights: Option<[i32; 4]>) -> Vec<u8> {
    let mut out = vec![0];
    for word in [4i64, 3, 0, 1, 3, 4] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    for (k, v) in [1i32, 0, 2, 1].into_iter().enumerate() {
        out.extend_from_slice(&v.to_le_bytes());
        if let Some(w) = weights {
            out.extend_from_slice(&w[k].to_le_bytes());
        }
    }
    out
}

#[test]
fn dimacs_and_gap() {
    let dir = tempfile::tempdir().unwrap();
    let road = "c roads\np sp 3 2\na 1 2 5\na 2 3 6\n";
    for name in ["g.gr", "g.txt", "g"] {
        let path = file(&dir, name, road);
        assert_eq!(with_file("sssp {} --source 0 --json", &path).json()["result"]["max_distance"], 11, "{name}");
    }
    assert_eq!(with_input("bfs - --source 0 --json", road.as_bytes()).json()["result"]["reached"], 3);
    with_input("bfs -", b"p sp 3 2\na 1 2 5\n").fails(1, "2 arcs are announced and 1 found");
    let plain = file(&dir, "g.sg", serialized(None));
    assert_eq!(with_file("bfs {} --source 0 --json", &plain).json()["result"]["depth"], 2);
    assert_eq!(with_file("convert {} --check --json", &plain).json()["symmetric"], true);
    let weighted = file(&dir, "g.wsg", serialized(Some([5, 5, 6, 6])));
    assert_eq!(with_file("sssp {} --source 0 --json", &weighted).json()["result"]["max_distance"], 11);
    let other = file(&dir, "x.bin", serialized(None));
    assert_eq!(with_file("bfs {} --input-format sg --source 0 --json", &other).json()["result"]["depth"], 2);
    // Undirected, with two weights for an edge.
    with_file("sssp {}", &file(&dir, "f.wsg", serialized(Some([5, 4, 6, 6])))).fails(1, "symmetric, which it is not");
}

#[test]
fn weights_that_are_no_numbers_matter_where_weights_do() {
    let dir = tempfile::tempdir().unwrap();
    for weight in ["inf", "-inf", "nan", "1e999"] {
        for (name, text) in [
            ("w.el", format!("0 1 {weight}\n1 2 .5\n")),
            ("w.mtx", format!("%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 {weight}\n2 3 .5\n")),
        ] {
            let path = file(&dir, name, text);
            assert_eq!(reached(&with_file("bfs {} --source 0 --json", &path)), 3, "{name} {weight}");
            assert_eq!(with_file("cc {} --json", &path).json()["result"]["components"], 1, "{name} {weight}");
            assert_eq!(reached(&with_file("sssp {} --source 0 --weights unit --json", &path)), 3, "{name} {weight}");
            with_file("sssp {}", &path).fails(1, weight);
        }
    }
}

#[test]
fn opposite_arcs_of_two_weights_are_duplicates_that_differ() {
    let dir = tempfile::tempdir().unwrap();
    let line = "convert {} --check --symmetrize --duplicates error";
    for name in ["g.el", "g.bgr", "t.bgr"] {
        let list = file(&dir, "g.el", "0 1 4\n1 0 4\n1 2 5\n2 1 6\n");
        let agree = file(&dir, "a.el", "0 1 4\n1 0 4\n2 1 6\n");
        let to = if name == "t.bgr" { " --to b2sr-8" } else { "" };
        let made = |from: &Path, name: &str| {
            let out = dir.path().join(name);
            if name.ends_with(".bgr") {
                let run = bitgraph(&format!("convert {} {} --quiet --reorder degree{to}", from.display(), out.display()));
                assert_eq!(run.code, Some(0), "{}", run.err);
            }
            out
        };
        with_file(line, &made(&list, name)).fails(1, "entry (1, 2) and its opposite are given with two values");
        let good = if name == "g.el" { agree.clone() } else { made(&agree, "a.bgr") };
        assert_eq!(with_file(line, &good).code, Some(0), "{name}");
    }
    with_input("sssp - --relabel --symmetrize --duplicates error", b"70 90 1\n90 70 2\n").fails(1, "entry (70, 90) and its opposite");
}

/// One value per vertex of an earlier run, and arrays, name vertices.
#[test]
fn own_outputs_name_vertices() {
    let dir = tempfile::tempdir().unwrap();
    let csv = dir.path().join("p.csv");
    assert_eq!(with_file("pagerank grid:3x4 --quiet --output {}", &csv).code, Some(0));
    let own = with_file("pagerank grid:3x4 --json --personalize {}", &csv);
    let sum = own.json()["result"]["sum"].as_f64().unwrap();
    assert!((sum - 1.0).abs() < 1e-5);
    let all: Vec<u64> = (0..12).collect();
    assert_eq!(with_file("bfs grid:3x4 --json --sources {}", &csv).json()["result"]["source"], json!(all));
    let tsv = dir.path().join("p.tsv");
    assert_eq!(with_file("cc grid:3x4 --quiet --output {}", &tsv).code, Some(0));
    assert_eq!(with_file("bfs grid:3x4 --json --sources {}", &tsv).json()["result"]["source"], json!(all));
    let npy = dir.path().join("c.npy");
    assert_eq!(with_file("bfs grid:1x3 --source 0 --quiet --output {}", &npy).code, Some(0));
    assert_eq!(with_file("bfs grid:3x4 --json --sources {}", &npy).json()["result"]["source"], json!([0, 1, 2]));
    let reals = dir.path().join("r.npy");
    assert_eq!(with_file("pagerank grid:1x3 --quiet --output {}", &reals).code, Some(0));
    with_file("bfs grid:3x4 --sources {}", &reals).fails(1, "f32 elements are no vertex numbers");
    let lone = file(&dir, "lone.el", "0 1\n2 2\n");
    assert_eq!(with_file(&format!("bfs {} --source 0 --quiet --output {{}}", lone.display()), &npy).code, Some(0));
    with_file("bfs grid:3x4 --sources {}", &npy).fails(1, "element 2: '-1' is not a vertex number");
    with_file("bfs grid:1x2 --sources {}", &csv).fails(2, "line 4: vertex 2");
}

#[test]
fn info_tells_how_a_container_holds_its_graph() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("g.bgr");
    assert_eq!(with_file("convert kron:6 {} --to b2sr-8 --reorder degree --quiet", &path).code, Some(0));
    assert_eq!(with_file("info {} --json", &path).json()["stored"], json!({"format": "b2sr-8", "reorder": "degree"}));
    let text = with_file("info {}", &path).out;
    assert!(text.contains("stored    as b2sr-8 in order degree\n"), "{text}");
    assert_eq!(bitgraph("info kron:6 --json").json().get("stored"), None);
}

/// A pipe is read once.
#[test]
fn a_pipe_under_a_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("g.bgr");
    assert_eq!(with_file("generate kron:6 {} --quiet", &path).code, Some(0));
    let pipe = dir.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for line in ["bfs {} --json", "info {} --json"] {
        let bytes = std::fs::read(&path).unwrap();
        let to = pipe.clone();
        let writer = std::thread::spawn(move || std::fs::File::options().write(true).open(to).unwrap().write_all(&bytes));
        assert_eq!(with_file(line, &pipe).code, Some(0), "{line}");
        writer.join().unwrap().unwrap();
    }
}
