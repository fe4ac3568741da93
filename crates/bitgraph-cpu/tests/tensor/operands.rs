//! Graphs and features whose sums are exact in every type, so that two forms must agree bit by bit.

use bitgraph_backend::{Error, Matrix};
use bitgraph_cpu::{Cpu, Isa};
use bitgraph_generate::Stream;
use bitgraph_sparse::{Csr, FormatKind, Stored, Values};
use bitgraph_tensor::{Dense, DenseMut, Element, Tensor};
use bitgraph_testkit::cases;

/// Both forms of the backend: the reference first.
pub const FORMS: [Cpu; 2] = [Cpu::reference(), Cpu::new()];

/// Column counts around those of vectors and blocks.
pub const WIDTHS: [usize; 12] = [0, 1, 3, 7, 16, 31, 33, 64, 127, 128, 256, 602];

/// Patterns with every awkward shape: name and pattern.
pub fn patterns() -> Vec<(String, Csr)> {
    let square = bitgraph_testkit::corpus().into_iter().map(|g| (g.name, g.csr));
    square.chain(bitgraph_testkit::rectangular()).collect()
}

/// A pattern or a weighted matrix, the weights small whole numbers.
pub fn matrix<T: Stored>(cpu: &Cpu, csr: &Csr, weighted: bool, format: FormatKind) -> Matrix<Cpu> {
    let values = weighted.then(|| Values::from_vec(cases::values::<T>(csr, 11)));
    Matrix::new(cpu, csr, values.as_ref(), format).unwrap()
}

/// Small whole numbers.
pub fn dense<T: Element>(cpu: &Cpu, rows: usize, columns: usize, seed: u64) -> Dense<Cpu, T> {
    Dense::from_vec(cpu, rows, columns, elements(rows * columns, seed)).unwrap()
}

pub fn elements<T: Element>(len: usize, seed: u64) -> Vec<T> {
    cases::vector::<T>(len, 1.0, seed).0.into_iter().flatten().collect()
}

/// Powers of two, so that products with them are exact.
pub fn powers<T: Element>(cpu: &Cpu, rows: usize, columns: usize, seed: u64) -> Dense<Cpu, T> {
    let s = Stream::new(seed, 7);
    let data = (0..(rows * columns) as u64).map(|k| T::from_f64(f64::powi(2.0, s.below(k, 4) as i32 - 2))).collect();
    Dense::from_vec(cpu, rows, columns, data).unwrap()
}

/// The same elements as rows that are further apart than they are long, with something else between.
pub fn spread<T: Element>(x: &Dense<Cpu, T>) -> Dense<Cpu, T> {
    let (rows, columns) = x.shape();
    let elements = x.to_host().unwrap();
    let mut wide = vec![T::from_f64(77.0); rows * (columns + 5)];
    (0..rows).for_each(|i| wide[i * (columns + 5) + 2..][..columns].copy_from_slice(&elements[i * columns..(i + 1) * columns]));
    Dense::from_vec(x.backend(), rows, columns + 5, wide).unwrap().columns(2..columns + 2).unwrap()
}

/// Asserts that an operation writes what is wanted into the middle of the columns of a wider matrix, and nothing beside it.
pub fn fills_a_window<T: Element>(wanted: &Dense<Cpu, T>, write: impl FnOnce(DenseMut<'_, Cpu, T>) -> Result<(), Error>) {
    let ((rows, columns), around) = (wanted.shape(), T::from_f64(7.0));
    let mut y = Dense::filled(wanted.backend(), rows, columns + 5, around).unwrap();
    write(y.columns_mut(2..columns + 2).unwrap()).unwrap();
    let (found, wanted) = (y.to_host().unwrap(), wanted.to_host().unwrap());
    for (i, row) in found.chunks_exact(columns + 5).enumerate() {
        assert_eq!(row[2..columns + 2], wanted[columns * i..][..columns], "row {i}");
        assert!(row[..2].iter().chain(&row[columns + 2..]).all(|&v| v == around), "row {i}");
    }
}

/// Asserts that both forms give the same, by value, all NaN being equal.
pub fn same<T: Element>(what: impl Fn() -> String, run: impl FnMut(&Cpu) -> Result<Dense<Cpu, T>, Error>) {
    near(what, 0.0, run);
}

/// As [`same`], up to a share of each element of the reference, or of 1 where that is less.
pub fn near<T: Element>(what: impl Fn() -> String, share: f64, mut run: impl FnMut(&Cpu) -> Result<Dense<Cpu, T>, Error>) {
    let [reference, fast] = FORMS.map(|cpu| run(&cpu).unwrap_or_else(|e| panic!("{}: {e}", what())));
    assert_eq!(reference.shape(), fast.shape(), "{}", what());
    let (a, b) = (reference.to_host().unwrap(), fast.to_host().unwrap());
    for (k, (x, y)) in a.iter().zip(&b).enumerate() {
        let (p, q) = (x.to_f64(), y.to_f64());
        let equal = x == y || (p.is_nan() && q.is_nan()) || (p - q).abs() <= share * p.abs().max(1.0);
        assert!(equal, "{}: element {k} of {:?}: {x:?} in the reference, {y:?} in the fast form", what(), reference.shape());
    }
}

/// Runs `f` on every instruction set of this CPU, and on one and on three threads. Tests share the process's instruction set, so they take
/// turns.
pub fn everywhere(f: impl Fn() + Sync + Send) {
    static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    for isa in Isa::ALL.into_iter().filter(|&isa| isa <= Isa::detect()) {
        assert_eq!(Isa::limit(isa), isa);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        pool.install(&f);
    }
    Isa::limit(Isa::Avx512);
    f();
}

/// A backend's arrays are what they were made of.
#[test]
fn arrays() {
    let cpu = Cpu::new();
    let x = dense::<f32>(&cpu, 5, 7, 1);
    let spread = spread(&x);
    assert_eq!(spread.to_host().unwrap(), x.to_host().unwrap());
    let pointer = x.raw().as_slice().as_ptr();
    let elements = x.into_vec().unwrap();
    assert_eq!(elements.as_ptr(), pointer, "moved, not copied");
    assert_eq!(cpu.array_len(Dense::zeros(&cpu, 3, 4).map(|d: Dense<Cpu, f64>| d).unwrap().raw()), 12);
}
