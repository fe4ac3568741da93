//! What is written: exact numbers, types that do not depend on what was found, whose file is replaced, and what is left when a signal comes.

mod common;
use common::{bitgraph, command, file, with_file, with_input};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// The type and the bytes of a `.npy` file.
fn npy(path: &Path) -> (String, Vec<u8>) {
    let bytes = std::fs::read(path).unwrap();
    let header = usize::from(u16::from_le_bytes([bytes[8], bytes[9]])) + 10;
    let words = String::from_utf8_lossy(&bytes[10..header]).into_owned();
    (words.split('\'').nth(3).unwrap().to_string(), bytes[header..].to_vec())
}

#[test]
fn numbers_of_64_bits_are_written_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let list = file(&dir, "u.el", "18446744073709551615 5\n5 7\n9 9\n");
    let csv = dir.path().join("p.csv");
    let run = |line: &str, out: &Path| with_file(&format!("{line} --relabel --quiet --output {}", out.display()), &list);
    assert_eq!(run("bfs {} --source 18446744073709551615 --parents", &csv).code, Some(0));
    assert_eq!(text(&csv), "node,value\n5,18446744073709551615\n7,5\n9,-1\n18446744073709551615,18446744073709551615\n");
    assert_eq!(run("sssp {} --source 18446744073709551615 --parents", &csv).code, Some(0));
    assert_eq!(text(&csv), "node,value\n5,18446744073709551615\n7,5\n9,-1\n18446744073709551615,18446744073709551615\n");
    assert_eq!(run("cc {}", &csv).code, Some(0));
    assert_eq!(text(&csv), "node,value\n5,5\n7,5\n9,9\n18446744073709551615,5\n");
    let array = dir.path().join("p.npy");
    assert_eq!(run("cc {}", &array).code, Some(0));
    assert_eq!(npy(&array), ("<u8".into(), [5u64, 5, 9, 5].map(u64::to_le_bytes).concat()));
    run("bfs {} --source 5 --parents", &array).fails(1, "cannot be told from none in .npy; write .csv");
    let list = file(&dir, "v.el", "9223372036854775808 5\n9 9\n");
    let line = format!("bfs {} --relabel --source 5 --symmetrize --parents --quiet --output {{}}", list.display());
    assert_eq!(with_file(&line, &array).code, Some(0));
    assert_eq!(npy(&array), ("<u8".into(), [5u64, u64::MAX, 5].map(u64::to_le_bytes).concat()));
    let list = file(&dir, "w.el", "70 5\n9 9\n");
    let line = format!("bfs {} --relabel --source 5 --symmetrize --parents --quiet --output {{}}", list.display());
    assert_eq!(with_file(&line, &array).code, Some(0));
    assert_eq!(npy(&array), ("<i8".into(), [5i64, -1, 5].map(i64::to_le_bytes).concat()));
}

#[test]
fn whole_distances_are_exact_in_text_and_of_one_type_in_arrays() {
    let dir = tempfile::tempdir().unwrap();
    let (csv, array) = (dir.path().join("d.csv"), dir.path().join("d.npy"));
    let exact = file(&dir, "w.el", "0 1 9007199254740993\n1 2 2\n3 3 1\n");
    let line = format!("sssp {} --source 0 --quiet --output {{}}", exact.display());
    assert_eq!(with_file(&line, &csv).code, Some(0));
    assert_eq!(text(&csv), "node,value\n0,0\n1,9007199254740993\n2,9007199254740995\n3,inf\n");
    // Weights decide, however large the distances are.
    for (graph, options, descr) in [
        (file(&dir, "small.el", "0 1 1\n"), "", "<f8"),
        (file(&dir, "large.el", "0 1 1000000000\n"), "", "<f8"),
        (file(&dir, "real.el", "0 1 1.5\n"), "", "<f4"),
        (file(&dir, "real.el", "0 1 1.5\n"), " --precision f64", "<f8"),
        (file(&dir, "none.el", "0 1\n"), "", "<f4"),
        (file(&dir, "none.el", "0 1\n"), " --precision f64", "<f8"),
        (file(&dir, "none.el", "0 1\n"), " --weights hash:5", "<f8"),
        (file(&dir, "wide.el", "0 1 3e38\n1 2 1e30\n"), "", "<f4"),
    ] {
        for sources in ["--source 0", "--sources 1"] {
            let line = format!("sssp {} {sources} --quiet --output {}{options}", graph.display(), array.display());
            let run = bitgraph(&line);
            assert_eq!((run.code, npy(&array).0.as_str()), (Some(0), descr), "{line}: {}", run.err);
        }
    }
    let over = file(&dir, "over.el", "0 1 3e38\n1 2 3e38\n");
    let line = format!("sssp {} --source 0 --quiet --output {{}}", over.display());
    with_file(&line, &array).fails(1, "distance 600000000000000000000000000000000000000 does not fit f32; take --precision f64");
    assert_eq!(with_file(&line, &csv).code, Some(0));
    assert!(text(&csv).ends_with("\n2,6e38\n"), "{}", text(&csv));
    assert_eq!(with_file(&format!("{line} --precision f64"), &array).code, Some(0));
}

#[test]
fn distances_that_no_float_holds_are_an_error() {
    let list = b"0 1 1e308\n1 2 1e308\n2 3 1e308\n5 4 1e308\n";
    for options in ["--source 0", "--sources 40", "--source 0 --target 3", "--source 0 --precision f64"] {
        with_input(&format!("sssp - {options}"), list).fails(1, "a distance overflows f64");
    }
    // Nothing on the way to the target does.
    let near = with_input("sssp - --source 0 --target 1 --json", list);
    assert_eq!(near.json()["result"]["distance"], 1e308);
    // One of them alone is no path.
    assert_eq!(with_input("sssp - --source 5 --json", list).json()["result"]["reached"], 2);
}

#[test]
fn a_graph_goes_to_standard_output() {
    let written = bitgraph("convert grid:1x3 - --output-format mtx");
    assert_eq!((written.code, written.err.as_str()), (Some(0), ""));
    assert_eq!(written.out, "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n");
    let container = command(&["convert", "grid:4x4", "-", "--to", "b2sr-8"]).output().unwrap();
    assert!(container.status.success() && container.stdout.starts_with(b"\x93BGR"));
    for (line, words) in [
        ("convert grid:3x3 -", "--output-format"),
        ("generate grid:3x3 -", "--output-format"),
        ("convert grid:3x3 - --output-format gr", "gr"),
        ("convert grid:3x3 - --output-format mtx --json", "--json"),
        ("convert grid:3x3 - --output-format mtx --to csr", "--to"),
        ("convert grid:3x3 out.mtx --to csr", "--to"),
        ("convert grid:3x3 out.el.gz --to hybrid", "--to"),
    ] {
        bitgraph(line).fails(2, words);
    }
    let dir = tempfile::tempdir().unwrap();
    let odd = dir.path().join("list.unheard");
    assert_eq!(with_file("convert grid:1x2 {} --output-format edges --quiet", &odd).code, Some(0));
    assert_eq!(text(&odd), "# Nodes: 2 Edges: 2\n0\t1\n1\t0\n");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let closed = command(&["convert", "kron:12", "-", "--output-format", "edges"]).stdout(writer).output().unwrap();
    assert_eq!((closed.status.code(), closed.stderr.len()), (Some(0), 0));
}

#[test]
fn an_output_never_replaces_what_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let list = file(&dir, "in.csv", "0,1\n1,2\n");
    symlink(&list, dir.path().join("link.csv")).unwrap();
    std::fs::hard_link(&list, dir.path().join("hard.csv")).unwrap();
    for out in ["in.csv", "link.csv", "hard.csv"] {
        let out = dir.path().join(out);
        let svg = out.with_extension("svg");
        symlink(&list, &svg).unwrap();
        with_file(&format!("info {{}} --plot {}", svg.display()), &list).fails(2, "the output would replace");
        for line in ["cc {} --output", "bfs {} --output", "sssp {} --output", "pagerank {} --output"] {
            with_file(&format!("{line} {}", out.display()), &list).fails(2, "the output would replace");
        }
        with_file(&format!("bfs grid:1x3 --sources {{}} --output {}", out.display()), &list).fails(2, "the output would replace");
        with_file(&format!("pagerank grid:1x3 --personalize {{}} --output {}", out.display()), &list).fails(2, "the output would replace");
    }
    assert_eq!(text(&list), "0,1\n1,2\n");
    // A graph that is converted in place is still there.
    assert_eq!(with_file("convert {} {} --quiet", &list).code, Some(0));
    assert_eq!(text(&list), "# Nodes: 3 Edges: 2\n0,1\n1,2\n");
}

#[test]
fn links_are_followed_to_where_nothing_is_yet() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("there")).unwrap();
    symlink("there/real.csv", dir.path().join("second")).unwrap();
    symlink("second", dir.path().join("first.csv")).unwrap();
    let link = dir.path().join("first.csv");
    for _ in 0..2 {
        assert_eq!(with_file("cc grid:1x2 --quiet --output {}", &link).code, Some(0));
        assert!(link.is_symlink() && dir.path().join("second").is_symlink());
        assert_eq!(text(&dir.path().join("there/real.csv")), "node,value\n0,0\n1,0\n");
    }
    symlink("round.csv", dir.path().join("round.csv")).unwrap();
    with_file("cc grid:1x2 --quiet --output {}", &dir.path().join("round.csv")).fails(1, "round.csv");
}

/// As somebody who may not do everything.
fn as_nobody(dir: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let binary = dir.join("bitgraph");
    if !binary.exists() && std::fs::hard_link(env!("CARGO_BIN_EXE_bitgraph"), &binary).is_err() {
        std::fs::copy(env!("CARGO_BIN_EXE_bitgraph"), &binary).unwrap();
    }
    let mut command = Command::new(binary);
    command.args(arguments).current_dir(dir).env("CUDA_VISIBLE_DEVICES", "").stdin(Stdio::null());
    let root = String::from_utf8_lossy(&Command::new("id").arg("-u").output().unwrap().stdout).trim() == "0";
    if root {
        command.uid(65534).gid(65534);
    }
    let out = command.output().unwrap();
    (out.status.code(), String::from_utf8_lossy(&out.stderr).into_owned())
}

#[test]
fn what_may_not_be_written_to_is_not_replaced_and_a_folder_is_called_one() {
    let dir = tempfile::tempdir().unwrap();
    let mode = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(dir.path(), 0o777);
    let kept = file(&dir, "kept.csv", "precious\n");
    mode(&kept, 0o444);
    let (code, err) = as_nobody(dir.path(), &["cc", "grid:1x2", "--output", "kept.csv"]);
    assert_eq!((code, text(&kept).as_str()), (Some(1), "precious\n"), "{err}");
    assert!(err.contains("kept.csv: Permission denied"), "{err}");
    let closed = dir.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    mode(&closed, 0o555);
    let (code, err) = as_nobody(dir.path(), &["cc", "grid:1x2", "--output", "closed/x.csv"]);
    assert_eq!(code, Some(1));
    assert!(err.contains("closed/x.csv: no file can be made in the folder closed: Permission denied"), "{err}");
    bitgraph("cc grid:1x2 --output nowhere/x.csv").fails(1, "nowhere/x.csv: no file can be made in the folder nowhere: No such file");
    mode(&closed, 0o755);
}

#[test]
fn a_pipe_whose_reader_leaves_ends_quietly() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("p.csv");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut child = command(&["cc", "grid:700x700", "--quiet", "--output", pipe.to_str().unwrap()]).stderr(Stdio::piped()).spawn().unwrap();
    let mut reader = std::fs::File::open(&pipe).unwrap();
    reader.read_exact(&mut [0; 10]).unwrap();
    drop(reader);
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!((child.wait().unwrap().code(), err.as_str()), (Some(0), ""));
}

fn files(dir: &Path) -> Vec<String> {
    std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

/// Whether this process ignores the signal that a terminal sends when it is closed, and with it what it starts: under nohup.
fn ignores_hangups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).map(|mask| u64::from_str_radix(mask.trim(), 16));
    ignored.is_some_and(|mask| mask.is_ok_and(|mask| mask & 1 != 0))
}

#[test]
fn signals_leave_nothing_behind() {
    for (signal, words) in [("TERM", "bitgraph: error: terminated\n"), ("HUP", "bitgraph: error: the terminal was closed\n")] {
        if signal == "HUP" && ignores_hangups() {
            eprintln!("skipped: hangups are ignored here, as under nohup");
            continue;
        }
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("g.el.gz");
        let mut child =
            command(&["generate", "kron:16", out.to_str().unwrap()]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let start = Instant::now();
        while files(dir.path()).is_empty() {
            assert!(start.elapsed() < Duration::from_secs(60) && child.try_wait().unwrap().is_none(), "nothing is written");
        }
        assert!(Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap().success());
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!((child.wait().unwrap().code(), err.as_str(), files(dir.path()).len()), (Some(1), words, 0));
    }
    // What nohup starts goes on.
    let line = "trap '' HUP; exec \"$0\" pagerank grid:300x300 --tolerance 0 --max-iterations 300 --explain";
    let mut child =
        Command::new("sh").args(["-c", line, env!("CARGO_BIN_EXE_bitgraph")]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    child.stderr.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    assert!(Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
}

#[test]
fn a_limit_of_file_sizes_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("y.mtx");
    let line = "ulimit -f 64; exec \"$0\" convert kron:12 \"$1\"";
    let run = Command::new("sh").args(["-c", line, env!("CARGO_BIN_EXE_bitgraph")]).arg(&out).output().unwrap();
    let err = String::from_utf8_lossy(&run.stderr);
    assert_eq!((run.status.code(), files(dir.path()).len()), (Some(1), 0), "{err}");
    assert!(err.starts_with("bitgraph: error: ") && err.contains("y.mtx: File too large") && err.lines().count() == 1, "{err}");
}

/// A mapped container under a writer's hands: the writer waits until the run, which is told, has ended with a sentence.
#[cfg(target_os = "linux")]
#[test]
fn a_container_that_is_overwritten_while_in_use() {
    let dir = tempfile::tempdir().unwrap();
    for (format, command_line) in [
        ("csr", "pagerank PATH --tolerance 0 --max-iterations 4000000000 --explain"),
        ("csr", "sssp PATH --repeat 100000000 --explain"),
        ("b2sr-8", "bfs PATH --repeat 100000000 --format b2sr-8 --explain"),
    ] {
        let path = dir.path().join("g.bgr");
        assert_eq!(with_file(&format!("convert kron:10 {{}} --quiet --to {format}"), &path).code, Some(0));
        let line = command_line.replace("PATH", path.to_str().unwrap());
        let arguments: Vec<&str> = line.split(' ').collect();
        let mut child = command(&arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        // The plan is told once the graph is built.
        let mut err = vec![0];
        child.stderr.as_mut().unwrap().read_exact(&mut err).unwrap();
        let length = std::fs::metadata(&path).unwrap().len();
        let mut writer = std::fs::File::options().write(true).open(&path).unwrap();
        writer.seek(SeekFrom::Start(length / 2)).unwrap();
        writer.write_all(&vec![0xff; (length / 2) as usize]).unwrap();
        child.stderr.take().unwrap().read_to_end(&mut err).unwrap();
        let err = String::from_utf8_lossy(&err).into_owned();
        assert_eq!(child.wait().unwrap().code(), Some(1), "{err}");
        let last = err.lines().last().unwrap();
        assert!(
            last.starts_with("bitgraph: error: ")
                && last.ends_with("g.bgr: another program opened the file for writing while it was in use"),
            "{err}"
        );
    }
}

/// While somebody has it open for writing there is no lease: it is read into memory instead.
#[test]
fn a_container_that_is_open_for_writing_is_copied() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("g.bgr");
    assert_eq!(with_file("convert kron:8 {} --quiet", &path).code, Some(0));
    let expected = bitgraph("bfs kron:8 --json").json()["result"].clone();
    let _writer = std::fs::File::options().write(true).open(&path).unwrap();
    assert_eq!(with_file("bfs {} --json", &path).json()["result"], expected);
}

/// The first thing on a terminal says what is done.
#[cfg(target_os = "linux")]
#[test]
fn no_empty_bar_comes_first() {
    let Ok(script) = Command::new("script").arg("--version").output() else {
        println!("skipped: there is no program 'script' to make a terminal");
        return;
    };
    assert!(script.status.success());
    let line = format!("{} bfs grid:1500x1500", env!("CARGO_BIN_EXE_bitgraph"));
    let shown = Command::new("script").args(["-qec", &line, "/dev/null"]).stdin(Stdio::null()).env("TERM", "xterm").output().unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    let words = shown.split(['\r', '\n']).map(|l| l.trim_start_matches("\u{1b}[2K")).find(|l| !l.trim().is_empty()).unwrap();
    assert!(["loading", "building", "bfs", "grid:1500x1500"].iter().any(|w| words.contains(w)), "{shown:?}");
}
