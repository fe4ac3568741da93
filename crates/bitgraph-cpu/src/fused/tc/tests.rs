//! Every form and instruction set against a plain count.

use super::*;
use bitgraph_sparse::{Csr, Offsets};
use bitgraph_testkit::graphs::{shifted, undirected};
use bitgraph_testkit::reference::triangles as plain;

fn graphs() -> Vec<(&'static str, Csr)> {
    let complete = |n: u32| (0..n).flat_map(move |a| (0..a).map(move |b| (a, b))).collect::<Vec<_>>();
    let mut uniform = shifted(1, 700);
    let uniform: Vec<_> = (0..9000).map(|_| (uniform(), uniform())).collect();
    let mut skewed = shifted(2, 1 << 20);
    let skewed: Vec<_> = (0..9000)
        .map(|_| {
            let mut end = || ((u64::from(skewed()) * u64::from(skewed()) * u64::from(skewed())) >> 48) as u32 % 3000;
            (end(), end())
        })
        .collect();
    let grid: Vec<_> = (0..40u32)
        .flat_map(|r| (0..50u32).map(move |c| (r, c)))
        .flat_map(|(r, c)| {
            [(r * 50 + c, r * 50 + (c + 1) % 50), (r * 50 + c, (r + 1) % 40 * 50 + c), (r * 50 + c, (r + 1) % 40 * 50 + (c + 1) % 50)]
        })
        .collect();
    // One hub over a sparse rest of more than 16384 vertices, and a clique of the last ones.
    let mut large: Vec<_> = (1..20_000u32).map(|v| (500, v)).collect();
    let mut pick = shifted(3, 20_000);
    large.extend((0..30_000).map(|_| (pick(), pick())));
    large.extend((19_880..20_000).flat_map(|a| (19_880..a).map(move |b| (a, b))));
    vec![
        ("no vertices", undirected(0, [])),
        ("one vertex", undirected(1, [])),
        ("one loop", undirected(1, [(0, 0)])),
        ("no edges", undirected(100, [])),
        ("a triangle with loops", undirected(3, [(0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2)])),
        ("complete 5", undirected(5, complete(5))),
        ("complete 150", undirected(150, complete(150))),
        ("complete 600 among isolated", undirected(1000, complete(600))),
        ("uniform", undirected(700, uniform)),
        ("skewed", undirected(3000, skewed)),
        ("grid with diagonals", undirected(2000, grid)),
        ("a hub and a clique", undirected(20_000, large)),
    ]
}

#[test]
fn every_form_counts_alike() {
    let pools: Vec<_> = [1, 2].map(|k| rayon::ThreadPoolBuilder::new().num_threads(k).build().expect("a pool")).into_iter().collect();
    let layout = TcLayout::default();
    for (name, g) in graphs() {
        let expected = plain(&g);
        for isa in Isa::ALL.into_iter().filter(|&isa| isa <= Isa::detect()) {
            for pool in &pools {
                for form in TcForm::ALL {
                    if form == TcForm::Low && g.nnz() > 100_000 {
                        continue;
                    }
                    let found = pool.install(|| layout.run_isa(&g, &TcConfig::default(), form, isa));
                    assert_eq!(found, Ok(Tc { triangles: expected }), "{name}, {form:?}, {}", isa.name());
                }
            }
        }
    }
}

#[test]
fn refuses_what_it_cannot_count() {
    let wide = Csr::new(3, 3, Offsets::U64(vec![0; 4].into()), Vec::new().into()).expect("a valid pattern");
    assert!(!supports(&wide));
    assert!(matches!(count(&wide, &TcConfig::default()), Err(Error::Unsupported { .. })));
    let oblong = Csr::empty(3, 4).expect("a valid pattern");
    assert!(matches!(count(&oblong, &TcConfig::default()), Err(Error::NotSquare { .. })));
    let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let config = TcConfig { control: bitgraph_backend::Control::default().with_cancel(flag) };
    assert_eq!(count(&undirected(3, [(0, 1)]), &config), Err(Error::Cancelled));
}
