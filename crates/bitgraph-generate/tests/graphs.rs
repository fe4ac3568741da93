//! Golden sizes, facts known from elsewhere, and the properties that every generator promises.

use bitgraph_generate::{Control, Error, Generator};
use bitgraph_sparse::Csr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

fn generate(text: &str) -> Csr {
    text.parse::<Generator>().unwrap().generate(&Control::default()).unwrap()
}

/// A digest of the whole pattern.
fn digest(a: &Csr) -> u64 {
    (0..a.nrows())
        .fold(0, |h, i| a.row(i).iter().fold(bitgraph_generate::mix64(h ^ i as u64), |h, &c| bitgraph_generate::mix64(h ^ u64::from(c))))
}

#[test]
fn golden_sizes() {
    for (text, nodes, entries) in [
        // By formula: 2 (2 r c - r - c).
        ("grid:1x1", 1, 0),
        ("grid:7x9", 63, 220),
        ("grid:1000x1000", 1_000_000, 3_996_000),
        ("grid:0x5", 0, 0),
        ("grid:1x6", 6, 10),
        // The stencil's count is part of the command line's contract.
        ("mesh:50x50x80", 200_000, 4_633_794),
        ("mesh:1x1x1", 1, 0),
        ("mesh:4x5x6", 120, 1840),
        ("mesh:0x3x3", 0, 0),
        ("mesh:32339x99900011823711x0", 0, 0),
        ("grid:0x18446744073709551615", 0, 0),
        // networkx: mycielski_graph(k).
        ("mycielskian:1", 1, 0),
        ("mycielskian:2", 2, 2),
        ("mycielskian:3", 5, 10),
        ("mycielskian:5", 23, 142),
        ("mycielskian:8", 191, 4_720),
        ("mycielskian:12", 3_071, 407_200),
        // A count over all words.
        ("debruijn:0", 1, 0),
        ("debruijn:1", 2, 2),
        ("debruijn:2", 4, 10),
        ("debruijn:3", 8, 26),
        ("debruijn:6", 64, 250),
        ("debruijn:16", 65_536, 262_138),
    ] {
        let generator: Generator = text.parse().unwrap();
        let a = generate(text);
        assert_eq!((a.nrows(), a.nnz()), (nodes, entries), "{text}");
        assert_eq!(generator.size().unwrap(), (nodes as u64, entries as u64), "{text}: size");
    }
}

#[test]
fn benchmark_graphs_have_their_sizes() {
    for (text, nodes, entries) in [("kron:18", 262_144, 7_609_718), ("urand:18", 262_144, 8_388_110), ("mycielskian:14", 12_287, 3_695_512)]
    {
        let a = generate(text);
        assert_eq!((a.nrows(), a.nnz()), (nodes, entries), "{text}");
    }
}

#[test]
fn golden_random_graphs() {
    let mut wrong = Vec::new();
    for (text, nodes, entries, expected) in GOLDEN {
        let a = generate(text);
        if (a.nrows(), a.nnz(), digest(&a)) != (nodes, entries, expected) {
            wrong.push(format!("(\"{text}\", {}, {}, {:#018x}),", a.nrows(), a.nnz(), digest(&a)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const GOLDEN: [(&str, usize, usize, u64); 12] = [
    ("kron:0", 1, 0, 0xe220a8397b1dcdaf),
    ("kron:8", 256, 4312, 0x51819f6414c4e734),
    ("kron:14", 16384, 425354, 0x329f8b0c10cbb754),
    ("kron:12:4:9", 4096, 28790, 0x98eca1b9079a62b0),
    ("urand:1", 2, 2, 0xfaa6282a95da9f89),
    ("urand:14", 16384, 523774, 0x11fe19a94963f1ad),
    ("urand:1000:5:3", 1000, 9924, 0x269569e4e621d0e3),
    ("skew:5000:60000", 5000, 119410, 0x09b07154e8fd5f08),
    ("planted:4000:40:12", 4000, 45236, 0x0f6df988c793579e),
    ("grid:50x60@1", 3000, 11780, 0xe0c7d17cd0e0dfb9),
    ("mycielskian:7@2", 95, 1510, 0x19f9ffea87e3c8fb),
    ("kron:10@5", 1024, 21054, 0x5e59ff069d3ef035),
];

#[test]
fn symmetric_without_loops_and_within_the_bounds() {
    for (text, _, _, _) in GOLDEN {
        let generator: Generator = text.parse().unwrap();
        let a = generate(text);
        let (nodes, most) = generator.size().unwrap();
        assert!(a.is_symmetric() && a.count_loops() == 0, "{text}");
        assert!(a.nrows() as u64 == nodes && a.nnz() as u64 <= most, "{text}");
        assert!(generator.estimated_bytes() >= a.bytes(), "{text}");
        // Construction from outside checks ascending columns.
        Csr::new(a.nrows(), a.ncols(), a.offsets().clone(), a.indices_buffer().clone()).unwrap();
    }
    for text in ["mesh:3x4x5", "debruijn:7", "mycielskian:6", "grid:5x1"] {
        let a = generate(text);
        assert!(a.is_symmetric() && a.count_loops() == 0, "{text}");
    }
}

#[test]
fn independent_of_threads() {
    for text in ["kron:13", "urand:70000:8", "skew:3000:90000", "planted:5000:5:30", "grid:300x200@3", "mesh:20x20x20"] {
        let with = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| digest(&generate(text)));
        let one = with(1);
        assert!([2, 3, 5].into_iter().all(|t| with(t) == one), "{text}");
    }
}

#[test]
fn mycielskian_has_the_numbering_of_networkx() {
    let a = generate("mycielskian:5");
    // Sums over networkx's mycielski_graph(5).
    let sum: u32 = (0..23u32).flat_map(|u| a.row(u as usize).iter().map(move |&v| (u * 31 + v * 17) % 1009)).sum();
    assert_eq!(sum, 66_237);
    assert_eq!(a.row(0), [1, 3, 6, 8, 12, 14, 17, 19]);
    assert_eq!(a.row(22), (11..22).collect::<Vec<u32>>());
}

#[test]
fn mesh_rows_follow_the_stencil() {
    let a = generate("mesh:3x3x3");
    // The centre sees everything but itself and two opposite corners.
    assert_eq!(a.row(13), (1..26).filter(|&v| v != 13).collect::<Vec<u32>>());
    // A corner of the left-out diagonal has the seven others of its cube but the opposite corner.
    assert_eq!((a.degree(0), a.degree(26), a.degree(2)), (6, 6, 7));
}

#[test]
fn a_renumbering_keeps_the_degrees_and_moves_the_vertices() {
    let (plain, moved) = (generate("grid:40x50"), generate("grid:40x50@1"));
    let degrees = |a: &Csr| {
        let mut d: Vec<usize> = (0..a.nrows()).map(|i| a.degree(i)).collect();
        d.sort_unstable();
        d
    };
    assert_eq!(degrees(&plain), degrees(&moved));
    assert_ne!(plain, moved);
    assert_ne!(moved, generate("grid:40x50@2"));
}

#[test]
fn cancellation_progress_and_memory() {
    let kron: Generator = "kron:12".parse().unwrap();
    let cancelled = Control::default().with_cancel(Arc::new(AtomicBool::new(true)));
    assert_eq!(kron.generate(&cancelled), Err(Error::Cancelled));
    let done = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&done);
    let control = Control::default().with_progress(move |p| {
        assert!(p.total.is_some_and(|total| p.done <= total));
        seen.fetch_max(p.done, Ordering::Relaxed);
    });
    kron.generate(&control).unwrap();
    assert!(done.load(Ordering::Relaxed) > 0);
    // A terabyte and more: refused before anything is allocated.
    let huge: Generator = "urand:4000000000:64".parse().unwrap();
    assert!(matches!(huge.generate(&control), Err(Error::OutOfMemory { wanted, free, .. }) if wanted > free));
}
