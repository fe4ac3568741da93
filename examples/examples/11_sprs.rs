//! How do I run the algorithms on a matrix of `sprs`, and use `sprs` on a graph of mine? With the feature `sprs` of
//! `bitgraph-sparse`; arrays are moved or borrowed, not copied.

use bitgraph::prelude::*;
use bitgraph_sparse::Csr;
use sprs::{CsMatI, TriMatI};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A one-way street from 0 to 2, and a slower direct road.
    let mut streets = TriMatI::<f32, u32>::new((3, 3));
    streets.add_triplet(0, 1, 2.0);
    streets.add_triplet(1, 2, 2.5);
    streets.add_triplet(0, 2, 7.0);
    let matrix: CsMatI<f32, u32> = streets.to_csr();

    let (pattern, lengths) = Csr::from_sprs(matrix)?;
    let graph = Graph::try_from((pattern.clone(), lengths.clone()))?;
    let paths = graph.sssp(0).run::<f32>()?;
    assert_eq!(paths.distances, [0.0, 2.0, 4.5]);

    // The other way round: a view that borrows both arrays.
    let view = pattern.as_sprs(lengths.expect::<f32>()?)?;
    let out_of = &view * &ndarray::array![1.0f32, 1.0, 1.0];
    println!("lengths of the streets out of every corner: {out_of}");
    assert_eq!(out_of, ndarray::array![9.0, 2.5, 0.0]);
    Ok(())
}
