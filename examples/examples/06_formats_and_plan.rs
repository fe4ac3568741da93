//! How large is a graph in each format, and which layout does the planner choose, and why?

use bitgraph::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for name in ["grid:100x100", "kron:12"] {
        let loaded = name.parse::<GraphSource>()?.load(&LoadOptions::default())?;
        let cpu = Cpu::new();
        println!("{name}: {} vertices, {} entries", loaded.csr.nrows(), loaded.csr.nnz());
        for kind in FormatKind::ALL {
            let matrix = Matrix::new(&cpu, &loaded.csr, None, kind)?;
            assert_eq!(matrix.to_host()?.0, loaded.csr, "every format holds the same pattern");
            println!("{:>10} {:>9} bytes", kind.name(), matrix.bytes());
        }
        // A layout that costs more to build than it saves is not chosen: the number of runs decides. Where it is not said, it is learnt.
        let graph = loaded.on(cpu)?;
        let algorithm = Typed::<_, f32>::new(PageRankConfig::default());
        for runs in [1, 1000] {
            print!("{}", graph.plan(&algorithm, &Request::runs(runs))?);
        }
    }
    Ok(())
}
