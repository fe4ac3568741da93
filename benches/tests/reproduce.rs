//! The tables of Bit-GraphBLAS at tiny size: without a GPU, on the CPU, and on the host shim where there is one.

use bitgraph_benches::reproduce::{Options, Place, run};
use std::fmt::Write;
use std::path::Path;

/// A ring with chords, as a Matrix Market file of a name from the paper.
fn write_matrix(folder: &Path, name: &str) {
    let n = 40;
    let mut entries = std::collections::BTreeSet::new();
    for v in 0..n {
        for u in [(v + 1) % n, (v + 2) % n, (v * 7 + 3) % n] {
            if u != v {
                entries.insert((u.max(v) + 1, u.min(v) + 1));
            }
        }
    }
    let mut text = format!("%%MatrixMarket matrix coordinate pattern symmetric\n{n} {n} {}\n", entries.len());
    for (row, column) in entries {
        let _ = writeln!(text, "{row} {column}");
    }
    std::fs::write(folder.join(format!("{name}.mtx")), text).unwrap();
}

fn options(folder: &Path, backend: Place) -> Options {
    Options {
        data: Some(folder.into()),
        backend,
        graphs: vec!["jagmesh6".into(), "jagmesh2".into()],
        repeat: 1,
        source: 0,
        without_kernels: false,
        json: Some(folder.join("report.json")),
    }
}

#[test]
fn a_paper_beside_ours() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["jagmesh6", "jagmesh2"] {
        write_matrix(folder.path(), name);
    }
    let report = run(&options(folder.path(), Place::Cpu)).unwrap();
    assert_eq!((report.compression.len(), report.algorithms.len(), report.kernels.len()), (2, 5, 0));
    let text = report.describe().unwrap();
    assert!(text.contains("left out: the speed-up of the kernels") && text.contains("B2SR-32"), "{text}");
    let json = std::fs::read_to_string(folder.path().join("report.json")).unwrap();
    assert!(json.contains("\"published_times\"") && json.contains("\"titanv\""));

    // Where there is no such device the rest is said to be left out.
    let report = run(&options(folder.path(), Place::Cuda(4095))).unwrap();
    assert!(report.algorithms.is_empty() && report.left_out[0].starts_with("algorithms and kernels on the GPU: "));
    assert!(report.describe().unwrap().contains("6.69"));

    if std::env::var_os("BITGRAPH_CUDA_EMULATOR").is_none() {
        println!("skipped: the tables on the host shim (BITGRAPH_CUDA_EMULATOR is not set)");
        return;
    }
    let report = run(&options(folder.path(), Place::Cuda(0))).unwrap();
    // Bfs, sssp, pr and cc of one, tc of the other; seven schemes on four tile sizes of both.
    assert_eq!((report.algorithms.len(), report.kernels.len()), (5, 2 * 7 * 4));
    assert!(report.kernels.iter().all(|k| k.peer_single.is_none()));
    assert!(report.describe().unwrap().contains("cuSPARSE is not at hand"));
}
