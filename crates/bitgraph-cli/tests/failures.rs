//! Exit codes and the one sentence, for everything that can be wrong with a command line or a file.

mod common;
use common::{bitgraph, command, file, with_file, with_input};
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn usage_errors() {
    for (line, words) in [
        ("frobnicate", "frobnicate"),
        ("bfs", "GRAPH"),
        ("bfs grid:3x3 --frobnicate", "--frobnicate"),
        ("bfs grid:3x3 --format csc", "csc"),
        ("bfs grid:3x3 --reorder sorted", "sorted"),
        ("bfs grid:3x3 --precision f128", "f128"),
        ("bfs grid:3x3 --threads 0", "--threads"),
        ("bfs grid:3x3 --threads x", "--threads"),
        ("bfs grid:3x3 --repeat 0", "--repeat"),
        ("bfs grid:3x3 --backend tpu", "cpu, cuda"),
        ("bfs grid:3x3 --source 9", "9"),
        ("bfs grid:3x3 --source -1", "a vertex is a whole number"),
        ("sssp grid:3x3 --target x", "a vertex is a whole number"),
        ("bfs grid:3x3 --source 99999999999", "99999999999"),
        ("bfs grid:3x3 --target 9", "vertex 9"),
        ("bfs grid:0x0 --source 0", "vertex 0"),
        ("sssp grid:3x3 --weights heavy", "heavy"),
        ("sssp grid:3x3 --weights hash:0", "hash:0"),
        ("sssp grid:3x3 --delta 0", "--delta"),
        ("pagerank grid:3x3 --damping 1.5", "damping"),
        ("pagerank grid:3x3 --tolerance -1", "tolerance"),
        ("pagerank grid:3x3 --dangling keep", "keep"),
        ("bfs kron:", "SCALE"),
        ("bfs kron:99", "vertices"),
        ("bfs grid:3", "grid:ROWSxCOLUMNS"),
        ("bfs grid:3x3 --output levels.txt", ".npy"),
        ("tc grid:3x3 --output x.npy", "--output"),
        ("bfs graph.xyz", "graph.xyz"),
        ("convert grid:3x3 out.xyz", "out.xyz"),
        ("convert grid:3x3 out.mtx --to b2sr-8", ".bgr"),
        ("convert grid:3x3", "OUT"),
        ("generate graph.mtx out.mtx", "generator"),
        ("info grid:3x3 --plot p.png", ".svg"),
        // Names are looked at before anything is read.
        ("info nowhere.mtx --plot p.png", ".svg"),
        ("convert nowhere.mtx out.xyz", "out.xyz"),
        ("bfs nowhere.mtx --output levels.txt", ".npy"),
    ] {
        bitgraph(line).fails(2, words);
    }
    let none = bitgraph("");
    assert_eq!(none.code, Some(2));
}

#[test]
fn other_errors() {
    for (line, words) in [
        ("bfs nowhere/graph.mtx", "nowhere/graph.mtx"),
        ("bfs grid:3x3 --backend cuda", "NVIDIA GPU"),
        ("sssp grid:3x3 --weights file", "no weights"),
        ("bfs grid:3x3 --output nowhere/x.npy", "nowhere/x.npy"),
        ("generate grid:3x3 nowhere/x.mtx", "nowhere/x.mtx"),
        ("pagerank grid:3x3 --personalize nowhere.txt", "nowhere.txt"),
        ("bfs grid:3x3 --sources nowhere.txt", "nowhere.txt"),
    ] {
        bitgraph(line).fails(1, words);
    }
}

const HEADER: &str = "%%MatrixMarket matrix coordinate";

#[test]
fn bad_files_are_named_with_their_line() {
    let dir = tempfile::tempdir().unwrap();
    for (name, contents, words) in [
        ("empty.mtx", String::new(), "empty"),
        ("banner.mtx", "hello\n".into(), "hello"),
        ("complex.mtx", format!("{HEADER} complex general\n1 1 1\n1 1 1 1\n"), "complex"),
        ("short.mtx", format!("{HEADER} pattern general\n3 3 2\n1 2\n"), "2"),
        ("long.mtx", format!("{HEADER} pattern general\n3 3 1\n1 2\n2 3\n"), "line 4"),
        ("range.mtx", format!("{HEADER} pattern general\n3 3 1\n1 4\n"), "line 3"),
        ("huge.mtx", format!("{HEADER} pattern general\n3 3 99999999999999\n1 2\n"), "99999999999999"),
        ("wide.mtx", format!("{HEADER} pattern general\n99999999999 3 1\n1 2\n"), "99999999999"),
        ("text.el", "0 1\n1 x\n".into(), "line 2"),
        ("negative.el", "0 1\n-1 2\n".into(), "line 2"),
        ("binary.el", "\0\u{1}\u{2}\n".into(), "line 1"),
        ("noise.bgr", "not a container".into(), "noise.bgr"),
        ("noise.npz", "not an archive".into(), "noise.npz"),
        ("noise.graph", "x y\n".into(), "noise.graph"),
        ("noise.mtx.gz", "\u{1f}\u{8b} not gzip".into(), "noise.mtx.gz"),
    ] {
        let path = file(&dir, name, &contents);
        with_file("bfs {}", &path).fails(1, words);
        with_file("convert {} --check", &path).fails(1, name);
    }
    let wide = file(&dir, "wide.mtx", format!("{HEADER} pattern general\n2 3 1\n1 3\n"));
    for algorithm in ["bfs", "cc", "tc", "pagerank", "sssp"] {
        with_file(&format!("{algorithm} {{}}"), &wide).fails(1, "wide.mtx: ");
    }
    assert_eq!(with_file("info {} --json", &wide).json()["columns"], 3);
    let loss = file(&dir, "loss.mtx", format!("{HEADER} integer general\n3 3 2\n1 2 5\n2 3 -7\n"));
    with_file("sssp {} --source 0", &loss).fails(1, "loss.mtx: edge 1 -> 2 has weight -7");
    assert_eq!(with_file("bfs {} --source 0 --json", &loss).json()["result"]["reached"], 3);
    let nan = file(&dir, "nan.mtx", format!("{HEADER} real general\n2 2 1\n1 2 nan\n"));
    with_file("sssp {}", &nan).fails(1, "nan");
    let twice = file(&dir, "twice.el", "0 1\n0 1\n");
    with_file("bfs {} --duplicates error", &twice).fails(1, "(0, 1)");
    with_input("bfs -", b"0 x\n").fails(1, "standard input, line 1");
}

#[test]
fn directed_input_has_no_triangles_unasked() {
    let dir = tempfile::tempdir().unwrap();
    let arcs = file(&dir, "arcs.el", "0 1\n1 2\n2 0\n");
    with_file("tc {}", &arcs).fails(2, "--symmetrize");
    assert_eq!(with_file("tc {} --symmetrize --json", &arcs).json()["result"]["triangles"], 1);
}

/// The checksum of zip, gzip and the container, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, &b| (0..8).fold(crc ^ u32::from(b), |crc, _| step(crc)))
}

#[test]
fn damaged_containers() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("g.bgr");
    assert_eq!(with_file("generate kron:8 {}", &path).code, Some(0));
    let good = std::fs::read(&path).unwrap();
    for at in [9, 20, good.len() / 2, good.len() - 70] {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        std::fs::write(&path, &bad).unwrap();
        with_file("convert {} --check", &path).fails(1, "g.bgr");
    }
    for len in [0, 10, good.len() / 2, good.len() - 1] {
        std::fs::write(&path, &good[..len]).unwrap();
        with_file("bfs {}", &path).fails(1, "g.bgr");
    }
    // Directed, and said to be symmetric, with the right checksum: it is not believed.
    let arcs = file(&dir, "arcs.el", "0 1 5\n1 2 6\n2 0 7\n");
    let out = dir.path().join("out.mtx");
    for options in ["--to csr --reorder none", "--to csr --reorder degree", "--to b2sr-8", "--to b2sr-32", "--to hybrid"] {
        assert_eq!(with_file(&format!("convert {} {{}} {options} --quiet", arcs.display()), &path).code, Some(0));
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[68] = 3;
        let sum = crc32(&bytes[..124]).to_le_bytes();
        bytes[124..128].copy_from_slice(&sum);
        std::fs::write(&path, &bytes).unwrap();
        for line in ["convert {} --check", "tc {}", "cc {}", "bfs {}", "sssp {}", "pagerank {}", "info {}"] {
            with_file(line, &path).fails(1, "g.bgr: header: it says that the matrix is symmetric");
        }
        with_file(&format!("convert {{}} {}", out.display()), &path).fails(1, "g.bgr: header: it says that the matrix is symmetric");
        assert!(!out.exists());
    }
}

#[test]
fn outputs_that_cannot_be_written_leave_nothing() {
    let full = command(&["bfs", "grid:3x3"]).stdout(std::fs::File::create("/dev/full").unwrap()).output().unwrap();
    assert_eq!(full.status.code(), Some(1));
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("taken.npy");
    std::fs::create_dir(&target).unwrap();
    with_file("bfs grid:3x3 --output {}", &target).fails(1, "taken.npy");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_closed_pipe_ends_quietly() {
    for arguments in [&["info", "kron:8"][..], &["--help"], &["completions", "bash"], &["cc", "kron:8", "--json"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command(arguments).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""), "{arguments:?}");
    }
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command(&["bfs"]).stderr(writer).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

/// Starts something that would run for hours, sends a signal, and waits.
fn signalled(name: &str) -> (Option<i32>, String) {
    let endless = ["pagerank", "grid:300x300", "--tolerance", "0", "--max-iterations", "4000000000", "--explain"];
    let mut child = command(&endless).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    // The plan is printed once the handlers are there and the graph is built.
    let mut first = [0];
    child.stderr.as_mut().unwrap().read_exact(&mut first).unwrap();
    assert!(Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap().success());
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "the signal was ignored");
        std::thread::sleep(Duration::from_millis(10));
    };
    let mut text = String::new();
    child.stderr.unwrap().read_to_string(&mut text).unwrap();
    (status.code(), text)
}

#[test]
fn signals() {
    let (code, text) = signalled("INT");
    assert_eq!(code, Some(130));
    assert!(text.ends_with("bitgraph: error: interrupted\n"), "{text}");
    let (code, text) = signalled("BUS");
    assert_eq!(code, Some(1));
    assert!(text.contains("bitgraph: error: a mapped file"), "{text}");
}

/// The second one ends it at once, and even then nothing of the file is left.
#[test]
fn interrupts_leave_nothing_behind() {
    for (name, graph) in [("g.el.gz", "kron:15"), ("g.mtx", "kron:15")] {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join(name);
        let mut child = command(&["generate", graph, out.to_str().unwrap()]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let start = Instant::now();
        let files = || std::fs::read_dir(dir.path()).unwrap().count();
        while files() == 0 && child.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < Duration::from_secs(60), "nothing is written");
        }
        let twice = format!("kill -INT {0}; kill -INT {0}", child.id());
        let _ = Command::new("sh").args(["-c", &twice]).stderr(Stdio::null()).status().unwrap();
        let mut text = String::new();
        child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        match child.wait().unwrap().code() {
            // It was done already.
            Some(0) => assert!(out.exists()),
            code => assert_eq!((code, text.as_str(), files()), (Some(130), "bitgraph: error: interrupted\n", 0), "{name}"),
        }
    }
}

/// Nothing polls while standard input keeps quiet.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_ends_a_wait_for_standard_input() {
    let mut child = command(&["bfs", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    let caught = |status: &str| {
        let mask = status.lines().find_map(|l| l.strip_prefix("SigCgt:")).map(|m| u64::from_str_radix(m.trim(), 16).unwrap());
        mask.is_some_and(|m| m & 2 != 0)
    };
    while !caught(&std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap()) {
        assert!(start.elapsed() < Duration::from_secs(60), "no handler");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    while child.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < Duration::from_secs(60), "the signal was ignored");
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!((child.wait().unwrap().code(), text.as_str()), (Some(130), "bitgraph: error: interrupted\n"));
}

/// An order of vertices that there are not.
#[test]
fn an_order_of_a_matrix_that_is_not_square_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let wide = file(&dir, "wide.mtx", format!("{HEADER} pattern general\n2 3 2\n1 3\n2 1\n"));
    let out = dir.path().join("wide.bgr");
    with_file(&format!("convert {{}} {} --reorder rcm", out.display()), &wide).fails(2, "2 x 3");
    assert_eq!(with_file(&format!("convert {{}} {} --reorder none --quiet", out.display()), &wide).code, Some(0));
    with_file(&format!("convert {{}} {} --reorder degree", out.display()), &out).fails(2, "leave out --reorder");
}

/// More sources than there is memory for.
#[cfg(target_os = "linux")]
#[test]
fn too_many_sources_are_refused_by_size() {
    for line in
        ["bfs kron:6 --sources 4000000000000", "sssp kron:6 --sources 4000000000000", "bfs kron:6 --sources 99999999999 --output x.npy"]
    {
        bitgraph(line).fails(1, " bytes of memory, ");
    }
}

/// More vertices than there is memory for, confirmed.
#[cfg(target_os = "linux")]
#[test]
fn memory_that_runs_out_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "two.el", "0 1\n");
    let line = "ulimit -v 8000000 && exec \"$0\" bfs \"$1\" --nodes 4294967295 --threads 1";
    let output = Command::new("sh").args(["-c", line, env!("CARGO_BIN_EXE_bitgraph")]).arg(&path).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), text.lines().count()), (Some(1), 1), "{text}");
    assert!(text.starts_with("bitgraph: error: out of memory: ") && text.contains(" bytes wanted"), "{text}");
}

#[test]
fn an_unknown_level_of_instructions_is_refused() {
    let output = command(&["bfs", "kron:4"]).env("BITGRAPH_SIMD", "avx").output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), text.lines().count()), (Some(2), 1), "{text}");
    assert!(text.contains("BITGRAPH_SIMD is 'avx'; it must be portable, avx2 or avx512"), "{text}");
    // Empty is as good as not there.
    let output = command(&["bfs", "kron:4"]).env("BITGRAPH_SIMD", "").output().unwrap();
    assert_eq!(output.status.code(), Some(0));
}
