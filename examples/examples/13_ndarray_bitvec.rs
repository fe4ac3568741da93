//! How do I go between dense arrays, bit sets and sparse types? With the features `ndarray` and `bitvec` of `bitgraph-sparse`;
//! vectors and words of bits are moved.

use bitgraph::prelude::*;
use bitgraph::sparse::Vector as HostVector;
use bitvec::prelude::{BitVec, Lsb0, bitvec};
use ndarray::{Array1, array};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dense = array![[0u8, 1, 1], [1, 0, 0], [0, 0, 1]];
    let (pattern, _) = Csr::from_dense(dense.view())?;
    let cpu = Cpu::new();
    let matrix = Matrix::new(&cpu, &pattern, None, FormatKind::B2sr8)?;

    // Sums over the neighbours, where a set of bits allows them.
    let wanted: BitVec<u64, Lsb0> = bitvec![u64, Lsb0; 1, 0, 1];
    let mask = Vector::from_host(&cpu, HostVector::<bool>::from_parts(BitVector::from(wanted), None)?)?;
    let input = Vector::from_host(&cpu, HostVector::<f32>::from(array![1.0, 2.0, 4.0]))?;
    let sums = mxv(PlusSecond, &matrix, &input).mask_values(&mask).eval()?;

    let sums: Array1<f32> = sums.to_host()?.into_array(0.0);
    println!("{sums}");
    assert_eq!(sums, array![6.0, 0.0, 4.0]);
    assert_eq!(pattern.to_dense::<u8>(None)?, dense);
    Ok(())
}
