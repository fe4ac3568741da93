//! How do I use the GraphBLAS operations themselves, with masks? Here: breadth-first search, written by hand.

use bitgraph::backend::{NoAccum, VectorMask, ops};
use bitgraph::prelude::*;
use bitgraph::semiring::{LorLand, Plus};
use bitgraph::sparse::Descriptor;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let loaded = "mycielskian:6".parse::<GraphSource>()?.load(&LoadOptions::default())?;
    let (cpu, n) = (Cpu::new(), loaded.csr.nrows());
    let a = cpu.matrix(&loaded.csr, None, FormatKind::B2sr8)?;

    // Boolean vectors are packed bits. `levels` has an entry at each vertex seen so far.
    let mut frontier = cpu.vector(Vector::from_entries(n, [(0, true)])?)?;
    let mut levels = cpu.vector(Vector::<i32>::empty(n))?;
    let mut seen = cpu.vector(Vector::<bool>::empty(n))?;
    let mut reached = 0;
    for level in 0.. {
        // Write the level where the frontier is; entries outside the mask stay as they are.
        let here = Some(VectorMask::structure(&frontier));
        ops::assign_value(&cpu, &mut levels, here, NoAccum, level, Descriptor::DEFAULT)?;
        ops::assign_value(&cpu, &mut seen, here, NoAccum, true, Descriptor::DEFAULT)?;
        // Step to the neighbours that were not seen. With replace, nothing of the old frontier is left.
        let (mask, from) = (VectorMask::structure(&seen).complement(), frontier.clone());
        let step = Descriptor { transpose_a: true, ..Descriptor::REPLACE };
        ops::mxv(&cpu, &mut frontier, Some(mask), NoAccum, LorLand::<bool>::new(), &a, &from, step)?;
        reached = cpu.vector_to_host(&levels)?.nvals();
        if cpu.vector_to_host(&frontier)?.nvals() == 0 {
            break;
        }
    }
    let sum = cpu.read(&ops::reduce(&cpu, Plus, &levels)?)?;
    println!("{reached} of {n} vertices reached; the levels sum to {sum}");

    // The library's own search agrees.
    let search = loaded.on(cpu)?.bfs(0).run()?;
    assert_eq!(search.levels, Some(cpu.vector_to_host(&levels)?.to_vec_or(-1)));
    Ok(())
}
