//! How do I use the GraphBLAS operations themselves, with masks? Here: breadth-first search, written by hand.

use bitgraph::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let loaded = "mycielskian:6".parse::<GraphSource>()?.load(&LoadOptions::default())?;
    let (cpu, n) = (Cpu::new(), loaded.csr.nrows());
    let a = Matrix::new(&cpu, &loaded.csr, None, FormatKind::B2sr8)?;

    // Boolean vectors are packed bits. `levels` has an entry at each vertex seen so far.
    let mut frontier = Vector::from_indices(&cpu, n, &[0], true)?;
    let mut levels = Vector::<_, i32>::empty(&cpu, n)?;
    for level in 0.. {
        // Write the level where the frontier is; entries outside the mask stay as they are.
        assign(level).mask(&frontier).into(&mut levels)?;
        // Step to the neighbours without a level. With replace, nothing of the old frontier is left.
        vxm(&frontier, LorLand, &a).unless(&levels).replace().into(&mut frontier)?;
        if frontier.is_empty()? {
            break;
        }
    }
    let sum = reduce(Plus, &levels).eval()?.read()?;
    println!("{} of {n} vertices reached; the levels sum to {sum}", levels.nvals()?);

    // The library's own search agrees.
    let search = loaded.on(cpu)?.bfs(0).run()?;
    assert_eq!(search.levels, Some(levels.to_host()?.to_vec_or(-1)));
    Ok(())
}
