//! Files as such: what fails leaves nothing behind; cancellation; compressed data; real graphs.

use bitgraph_io::{
    Container, Control, Error, Listener, Naming, ReadMode, ReadOptions, Temporary, WriteOptions, WriteSource, read, write, write_vector,
};
use bitgraph_sparse::{Coo, Csr, Duplicates};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

fn path_graph(n: u32) -> Csr {
    let mut coo = Coo::pattern(n as usize, n as usize, (1..n).collect(), (0..n - 1).collect());
    coo.mirrored = true;
    coo.into_csr(Duplicates::First).unwrap().0
}

fn names(dir: &Path) -> Vec<String> {
    let mut all: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    all.sort();
    all
}

/// What a buffer held before is not read as more of the last line, wherever in the buffer that ends.
#[test]
fn the_last_line_of_a_stream_may_lack_its_newline() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.el.gz");
    let lines: String = (0..60_000u32).map(|k| format!("{} {}\n", k % 977, k * 7 % 1009)).collect();
    for more in 0..12 {
        // What is left of the buffer begins anywhere within a line.
        let text = format!("{lines}#{}\n5 2345", " ".repeat(more));
        let mut gz = flate2::write::GzEncoder::new(std::fs::File::create(&path).unwrap(), flate2::Compression::fast());
        gz.write_all(text.as_bytes()).and_then(|()| gz.finish()).unwrap();
        let read = read(&path, &ReadOptions::default()).unwrap();
        assert_eq!((read.csr.nrows(), read.csr.row(5).last()), (2346, Some(&2345)), "{more} bytes more");
    }
}

#[test]
fn nothing_is_left_behind() {
    let dir = tempfile::tempdir().unwrap();
    let graph = path_graph(2000);
    let control = Control::default().with_cancel(Arc::new(AtomicBool::new(true)));
    let cancelled = WriteOptions { control, ..WriteOptions::default() };
    for name in ["a.mtx", "a.el.gz", "a.npz", "a.bgr"] {
        let path = dir.path().join(name);
        std::fs::write(&path, "old").unwrap();
        assert!(matches!(write(&path, &WriteSource::new(&graph), &cancelled), Err(Error::Cancelled)), "{name}");
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
    }
    assert_eq!(names(dir.path()), ["a.bgr", "a.el.gz", "a.mtx", "a.npz"]);
    let path = dir.path().join("a.mtx");
    write(&path, &WriteSource::new(&graph), &WriteOptions::default()).unwrap();
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("%%MatrixMarket matrix coordinate pattern symmetric\n2000 2000 1999\n"));
    assert!(matches!(
        write(&dir.path().join("no/such/a.mtx"), &WriteSource::new(&graph), &WriteOptions::default()),
        Err(Error::Folder { .. })
    ));
    assert!(matches!(write(dir.path(), &WriteSource::new(&graph), &WriteOptions::default()), Err(Error::UnknownEnding { .. })));
    assert_eq!(names(dir.path()).len(), 4);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["f.npy", "f.csv", "f.mtx", "f.bgr"] {
        let link = dir.path().join(name);
        std::os::unix::fs::symlink("/dev/full", &link).unwrap();
        let e = match name {
            "f.npy" | "f.csv" => write_vector(&link, &[1i32; 1000][..], &Naming::default(), &WriteOptions::default()),
            _ => write(&link, &WriteSource::new(&path_graph(1000)), &WriteOptions::default()),
        };
        assert!(matches!(e, Err(Error::Io { ref source, .. }) if source.raw_os_error() == Some(28)), "{name}: {e:?}");
    }
    assert_eq!(names(dir.path()).len(), 4);
}

#[test]
fn reading_reports_and_stops() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("g.el");
    write(&path, &WriteSource::new(&path_graph(5000)), &WriteOptions::default()).unwrap();
    let seen = Arc::new(AtomicU64::new(0));
    let copy = Arc::clone(&seen);
    let control = Control::default().with_progress(move |progress| {
        copy.fetch_max(progress.done, Ordering::Relaxed);
    });
    read(&path, &ReadOptions { control, ..ReadOptions::default() }).unwrap();
    assert_eq!(seen.load(Ordering::Relaxed), std::fs::metadata(&path).unwrap().len());
    let control = Control::default().with_cancel(Arc::new(AtomicBool::new(true)));
    assert!(matches!(read(&path, &ReadOptions { control, ..ReadOptions::default() }), Err(Error::Cancelled)));
}

#[test]
fn temporary_files_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&told);
    let temporary = Listener::new(move |event: &Temporary| list.lock().unwrap().push(event.clone()));
    let options = WriteOptions { temporary, ..WriteOptions::default() };
    write(&dir.path().join("g.el"), &WriteSource::new(&path_graph(9)), &options).unwrap();
    let told = told.lock().unwrap();
    assert!(matches!(&told[..], [Temporary::Made(path), Temporary::Gone] if path.parent() == Some(dir.path()) && !path.exists()));
}

#[test]
fn gzip_of_several_members_and_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("g.el.gz");
    let pack = |text: &str| {
        let mut e = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        e.write_all(text.as_bytes()).unwrap();
        e.finish().unwrap()
    };
    let both = [pack("0 1\n1 "), pack("2\n")].concat();
    std::fs::write(&path, &both).unwrap();
    assert_eq!(read(&path, &ReadOptions::default()).unwrap().csr.nnz(), 2);
    // The ending does not have to say it.
    let plain = dir.path().join("g.el");
    std::fs::write(&plain, &both).unwrap();
    assert_eq!(read(&plain, &ReadOptions::default()).unwrap().csr.nnz(), 2);
    std::fs::write(&path, &both[..both.len() - 5]).unwrap();
    assert!(matches!(read(&path, &ReadOptions::default()), Err(Error::Gzip { .. })));
    assert!(matches!(read(&dir.path().join("none.mtx"), &ReadOptions::default()), Err(Error::Io { .. })));
    assert!(matches!(read(&dir.path().join("g.xyz"), &ReadOptions::default()), Err(Error::UnknownEnding { .. })));
}

/// The graphs in the directory that `BITGRAPH_DATA` names have the sizes that were counted with other tools.
#[test]
fn real_graphs() {
    let Some(data) = std::env::var_os("BITGRAPH_DATA") else {
        println!("skipped: BITGRAPH_DATA names no directory of real graphs");
        return;
    };
    let data = Path::new(&data);
    let expected: serde_json::Value = serde_json::from_slice(&std::fs::read(data.join("expected.json")).unwrap()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    for (name, wanted) in expected.as_object().unwrap() {
        let file = [format!("{name}.mtx"), format!("{name}.mtx.gz")].iter().map(|f| data.join(f)).find(|p| p.exists());
        let Some(file) = file else {
            println!("skipped: {name} is not there");
            continue;
        };
        for mode in [ReadMode::Map, ReadMode::MapUnguarded, ReadMode::Copy] {
            let l = read(&file, &ReadOptions { mode, ..ReadOptions::default() }).unwrap();
            assert_eq!(l.csr.nrows() as u64, wanted["nodes"].as_u64().unwrap(), "{name}");
            if let Some(entries) = wanted["stored_entries"].as_u64() {
                assert_eq!(l.csr.nnz() as u64, entries, "{name}");
            }
            if let Some(loops) = wanted["self_loops"].as_u64() {
                assert_eq!(l.csr.count_loops() as u64, loops, "{name}");
            }
            if wanted["symmetric"].as_bool() == Some(true) {
                assert!(l.csr.is_symmetric(), "{name}");
            }
            let bgr = dir.path().join("g.bgr");
            write(&bgr, &WriteSource::new(&l.csr).with_values(l.values.as_ref()), &WriteOptions::default()).unwrap();
            Container::open(&bgr, mode).unwrap().check().unwrap();
            assert_eq!(read(&bgr, &ReadOptions { mode, ..ReadOptions::default() }).unwrap().csr, l.csr);
        }
    }
}
