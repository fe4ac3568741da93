//! Results beyond the length of a block, with one thread and with several; and masks whose values and presence differ.

use bitgraph_backend::ops::{apply, assign, ewise_add, mxm, mxv, reduce, reduce_rows};
use bitgraph_backend::{Matrix, Vector};
use bitgraph_cpu::Cpu;
use bitgraph_semiring::{Identity, LorLand, Max, Min, Plus, PlusSecond, PlusTimes};
use bitgraph_sparse::{BitVector, Coo, Csr, Duplicates, FormatKind, Values, Vector as HostVector};

/// More than three blocks of the longest kind, and not a multiple of any.
const LONG: usize = 3 * 65_536 + 4_321;

/// With one thread and with three, on the fast backend and on the reference.
fn everywhere(f: impl Fn(Cpu) + Sync) {
    for threads in [1, 3] {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| f(Cpu::new()));
    }
    f(Cpu::reference());
}

fn csr(n: usize, entries: impl IntoIterator<Item = (u32, u32)>) -> Csr {
    let (rows, columns) = entries.into_iter().unzip();
    Coo::pattern(n, n, rows, columns).into_csr(Duplicates::First).unwrap().0
}

/// Every element is in the sum, and the extremes are found wherever they are.
#[test]
fn reductions_of_vectors() {
    let values: Vec<u64> = (0..LONG as u64).map(|i| 1_000 + i * i % 1_009).collect();
    everywhere(|cpu| {
        let full = Vector::from_vec(&cpu, values.clone()).unwrap();
        assert_eq!(reduce(Plus, &full).eval().unwrap().read().unwrap(), values.iter().sum::<u64>());
        for at in [0, 4_095, 4_096, 8_192, 65_536, LONG - 1] {
            let mut one = values.clone();
            one[at] = 7;
            let vector = Vector::from_vec(&cpu, one.clone()).unwrap();
            assert_eq!(reduce(Min, &vector).eval().unwrap().read().unwrap(), 7, "{at}");
            one[at] = 1 << 40;
            let vector = Vector::from_vec(&cpu, one).unwrap();
            assert_eq!(reduce(Max, &vector).eval().unwrap().read().unwrap(), 1 << 40, "{at}");
        }
        let third: Vec<(u32, u64)> = (0..LONG as u32).step_by(3).map(|i| (i, u64::from(i))).collect();
        let sparse = Vector::from_entries(&cpu, LONG, third.iter().copied()).unwrap();
        assert_eq!(reduce(Plus, &sparse).eval().unwrap().read().unwrap(), third.iter().map(|e| e.1).sum::<u64>());
    });
}

#[test]
fn reductions_of_matrices() {
    let n = 30_000u32;
    let pattern = csr(n as usize, (0..n).flat_map(|i| [(i, (i + 1) % n), (i, (i * 7 + 3) % n)]));
    let values: Vec<i64> = (0..pattern.nnz() as i64).map(|k| k * k % 1_013).collect();
    everywhere(|cpu| {
        let a = Matrix::new(&cpu, &pattern, Some(&Values::from(values.clone())), FormatKind::Csr).unwrap();
        assert_eq!(reduce(Plus, a.typed::<i64>()).eval().unwrap().read().unwrap(), values.iter().sum::<i64>());
        let rows = reduce_rows(Plus, a.typed::<i64>()).eval().unwrap();
        assert_eq!(reduce(Plus, &rows).eval().unwrap().read().unwrap(), values.iter().sum::<i64>());
    });
}

/// A vector built from two, neither of which has every position, is full only if one of them is at each.
#[test]
fn presence_of_long_vectors() {
    everywhere(|cpu| {
        let every = |from: usize, step: usize| {
            let entries = (from as u32..LONG as u32).step_by(step).map(|i| (i, 1u32));
            Vector::from_entries(&cpu, LONG, entries).unwrap()
        };
        let holes = ewise_add(Plus, &every(0, 2), &every(1, 4)).eval().unwrap().to_host().unwrap();
        assert!((0..LONG).all(|i| holes.get(i) == if i % 4 == 3 { None } else { Some(1) }));
        let whole = ewise_add(Plus, &every(0, 2), &every(1, 2)).eval().unwrap().to_host().unwrap();
        assert!((0..LONG).all(|i| whole.get(i) == Some(1)));
        // Only one position is missing, in a block in the middle.
        let entries = (0..LONG as u32).filter(|&i| i != 100_000).map(|i| (i, 1u32));
        let one = apply(Identity, &Vector::from_entries(&cpu, LONG, entries).unwrap()).eval().unwrap().to_host().unwrap();
        assert_eq!((one.get(99_999), one.get(100_000), one.get(100_001)), (Some(1), None, Some(1)));
    });
}

/// What an absent position last held is no value: masks by value look at presence first.
#[test]
fn masks_by_value_of_vectors() {
    let length = 130;
    let mut present = BitVector::ones(length);
    (0..length).filter(|i| i % 3 == 0).for_each(|i| present.set(i, false));
    let mut values = BitVector::ones(length);
    (0..length).filter(|i| i % 2 == 0).for_each(|i| values.set(i, false));
    let mask = HostVector::<bool>::from_parts(values, Some(present)).unwrap();
    let selects = |i: usize| !i.is_multiple_of(3) && !i.is_multiple_of(2);
    let pattern = csr(length, (0..length as u32).map(|i| (i, i)));
    everywhere(|cpu| {
        let mask = Vector::from_host(&cpu, mask.clone()).unwrap();
        let ones = Vector::from_vec(&cpu, vec![1u32; length]).unwrap();
        let a = Matrix::new(&cpu, &pattern, None, FormatKind::Csr).unwrap();
        let mut assigned = Vector::<_, u32>::empty(&cpu, length).unwrap();
        assign(1).mask_values(&mask).into(&mut assigned).unwrap();
        let mut others = Vector::<_, u32>::empty(&cpu, length).unwrap();
        assign(1).unless_values(&mask).into(&mut others).unwrap();
        let product = mxv(PlusSecond::<u32>::new(), &a, &ones).mask_values(&mask).eval().unwrap();
        let rest = mxv(PlusSecond::<u32>::new(), &a, &ones).unless_values(&mask).eval().unwrap();
        let [assigned, others, product, rest] = [&assigned, &others, &product, &rest].map(|v| v.to_host().unwrap());
        for i in 0..length {
            let (there, elsewhere) = (selects(i).then_some(1), (!selects(i)).then_some(1));
            assert_eq!([assigned.get(i), others.get(i), product.get(i), rest.get(i)], [there, elsewhere, there, elsewhere], "{i}");
        }
        // Tiles are multiplied under a bit vector of the rows.
        for format in [FormatKind::B2sr4, FormatKind::B2sr8, FormatKind::B2sr16, FormatKind::B2sr32, FormatKind::Hybrid] {
            let a = Matrix::new(&cpu, &pattern, None, format).unwrap();
            let frontier = Vector::from_vec(&cpu, vec![true; length]).unwrap();
            let scores = Vector::from_vec(&cpu, vec![1f32; length]).unwrap();
            let reached = mxv(LorLand, &a, &frontier).mask_values(&mask).eval().unwrap().to_host().unwrap();
            let missed = mxv(LorLand, &a, &frontier).unless_values(&mask).eval().unwrap().to_host().unwrap();
            let sums = mxv(PlusSecond::<f32>::new(), &a, &scores).unless_values(&mask).eval().unwrap().to_host().unwrap();
            for i in 0..length {
                let (there, elsewhere) = (selects(i).then_some(true), (!selects(i)).then_some(true));
                assert_eq!((reached.get(i), missed.get(i)), (there, elsewhere), "{format:?} {i}");
                assert_eq!(sums.get(i), elsewhere.map(|_| 1.0), "{format:?} {i}");
            }
        }
    });
}

/// An entry of a mask that is zero selects nothing by value, and does by structure.
#[test]
fn masks_by_value_of_matrices() {
    let n = 5u32;
    let pattern = csr(n as usize, (0..n).flat_map(|i| (0..n).map(move |j| (i, j))));
    let zero_on_diagonal: Vec<i32> = (0..n * n).map(|k| i32::from(k % (n + 1) != 0)).collect();
    everywhere(|cpu| {
        let mask = Matrix::new(&cpu, &pattern, Some(&Values::from(zero_on_diagonal.clone())), FormatKind::Csr).unwrap();
        let a = Matrix::new(&cpu, &pattern, Some(&Values::from(vec![1i64; 25])), FormatKind::Csr).unwrap();
        let by_value = mxm(PlusTimes::<i64>::new(), &a, &a).mask_values(&mask).eval().unwrap();
        let by_structure = mxm(PlusTimes::<i64>::new(), &a, &a).mask(&mask).eval().unwrap();
        let diagonal = mxm(PlusTimes::<i64>::new(), &a, &a).unless_values(&mask).eval().unwrap();
        let [by_value, by_structure, diagonal] = [&by_value, &by_structure, &diagonal].map(|m| m.to_csr());
        assert_eq!([by_value.nnz(), by_structure.nnz(), diagonal.nnz()], [20, 25, 5]);
        assert!((0..n).all(|i| diagonal.row(i as usize) == [i]));
    });
}
