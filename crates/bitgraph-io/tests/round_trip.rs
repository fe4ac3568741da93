//! Whatever is written comes back: every format, shapes and values at random.

use bitgraph_io::{Naming, ReadMode, ReadOptions, VectorData, WriteOptions, WriteSource, read, read_vector, write, write_vector};
use bitgraph_sparse::{Coo, Csr, Duplicates, Values};
use proptest::prelude::*;

/// A matrix with its values: any square or oblong one, or a symmetric one.
fn matrix() -> impl Strategy<Value = (Csr, Option<Values>)> {
    let shape = (0usize..30, 0usize..30, any::<bool>(), 0u8..5);
    shape.prop_flat_map(|(n, m, symmetric, kind)| {
        let m = if symmetric { n } else { m };
        let most = if n == 0 || m == 0 { 0 } else { 80 };
        let entry = (0..n.max(1) as u32, 0..m.max(1) as u32, any::<i32>(), -1e30f64..1e30);
        prop::collection::vec(entry, 0..=most).prop_map(move |entries| {
            let mut coo = Coo::pattern(n, m, entries.iter().map(|e| e.0).collect(), entries.iter().map(|e| e.1).collect());
            coo.mirrored = symmetric;
            coo.values = match kind {
                0 => None,
                1 => Some(entries.iter().map(|e| e.2).collect::<Vec<i32>>().into()),
                2 => Some(entries.iter().map(|e| e.3).collect::<Vec<f64>>().into()),
                3 => Some(entries.iter().map(|e| e.3 as f32).collect::<Vec<f32>>().into()),
                _ => Some(entries.iter().map(|e| i64::from(e.2) << 20 | 1 << 40).collect::<Vec<i64>>().into()),
            };
            coo.into_csr(Duplicates::First).unwrap()
        })
    })
}

/// Equal once converted to the type that was written: text knows 32-bit and 64-bit integers and doubles only.
fn same(written: &Option<Values>, found: &Option<Values>) -> bool {
    match (written, found) {
        (None, None) => true,
        (Some(w), Some(f)) => {
            (0..w.len()).all(|k| w.get_f64(k) == f.get_f64(k) || w.get_f64(k) == f64::from(f.get_f64(k) as f32)) && w.len() == f.len()
        }
        // Without any entry a list cannot show that it has weights.
        (Some(w), None) => w.is_empty(),
        (None, Some(_)) => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn every_format((csr, values) in matrix()) {
        let dir = tempfile::tempdir().unwrap();
        for name in ["g.mtx", "g.mtx.gz", "g.el", "g.csv", "g.tsv.gz", "g.npz", "g.bgr", "g.graph"] {
            let path = dir.path().join(name);
            let source = WriteSource::new(&csr).with_values(values.as_ref());
            if let Err(e) = write(&path, &source, &WriteOptions::default()) {
                let oblong = !csr.is_square();
                let unfit = name.ends_with(".graph");
                prop_assert!(oblong || unfit, "{}", e);
                continue;
            }
            for mode in [ReadMode::Map, ReadMode::Copy] {
                let found = read(&path, &ReadOptions { mode, ..ReadOptions::default() }).unwrap();
                prop_assert_eq!(&found.csr, &csr, "{}", name);
                prop_assert!(same(&values, &found.values), "{} {:?} {:?}", name, values, found.values);
            }
            let pattern = read(&path, &ReadOptions { as_pattern: true, ..ReadOptions::default() }).unwrap();
            prop_assert!(pattern.csr == csr && pattern.values.is_none());
        }
    }

    #[test]
    fn symmetrizing_is_the_union((csr, values) in matrix()) {
        prop_assume!(csr.is_square());
        let dir = tempfile::tempdir().unwrap();
        let both = csr.symmetrized().unwrap();
        for name in ["g.mtx", "g.el", "g.npz", "g.bgr"] {
            let path = dir.path().join(name);
            write(&path, &WriteSource::new(&csr).with_values(values.as_ref()), &WriteOptions::default()).unwrap();
            let found = read(&path, &ReadOptions { symmetrize: true, ..ReadOptions::default() }).unwrap();
            prop_assert_eq!(&found.csr, &both, "{}", name);
            prop_assert_eq!(found.symmetric, Some(true));
        }
    }

    #[test]
    fn vectors(floats in prop::collection::vec(any::<f64>().prop_filter("NaN", |x| !x.is_nan()), 0..50), ints in prop::collection::vec(any::<i32>(), 0..50)) {
        let dir = tempfile::tempdir().unwrap();
        let longs: Vec<i64> = ints.iter().map(|&x| i64::from(x) << 30).collect();
        let singles: Vec<f32> = floats.iter().map(|&x| x as f32).collect();
        let units: Vec<u32> = ints.iter().map(|&x| x as u32).collect();
        let all: [(VectorData<'_>, Values); 5] = [
            (floats[..].into(), floats.clone().into()),
            (singles[..].into(), singles.clone().into()),
            (ints[..].into(), ints.clone().into()),
            (longs[..].into(), longs.clone().into()),
            (units[..].into(), units.clone().into()),
        ];
        for (data, wanted) in all {
            let path = dir.path().join("v.npy");
            write_vector(&path, data, &Naming::default(), &WriteOptions::default()).unwrap();
            prop_assert_eq!(&read_vector(&path, ReadMode::Map).unwrap(), &wanted);
            for name in ["v.csv", "v.tsv"] {
                let path = dir.path().join(name);
                write_vector(&path, data, &Naming::default(), &WriteOptions::default()).unwrap();
                let found = read_vector(&path, ReadMode::Copy).unwrap();
                prop_assert_eq!(found.len(), wanted.len());
                prop_assert!((0..found.len()).all(|k| found.get_f64(k) as f32 == wanted.get_f64(k) as f32));
            }
        }
    }
}

#[test]
fn a_table_says_what_its_elements_are_of() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("classes.csv");
    let naming = Naming { item: bitgraph_io::Item::Graph, ..Naming::default() };
    write_vector(&path, &[2i32, 0][..], &naming, &WriteOptions::default()).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "graph,value\n0,2\n1,0\n");
    assert_eq!(read_vector(&path, ReadMode::Copy).unwrap().len(), 2);
}
