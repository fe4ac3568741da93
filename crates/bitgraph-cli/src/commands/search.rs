//! What searches share: many sources, paths, and parents as an array.

use crate::failure::{Failure, Result};
use crate::options::{CommonArgs, SearchArgs};
use crate::report::PathResult;
use crate::run::{CommandBackend, Run};
use crate::{files, ids, system};
use bitgraph::algorithms::UNREACHED;
use bitgraph::generate::Stream;
use bitgraph::io::VectorData;
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::Path;

/// Refuses an output that is the file of sources.
pub fn check_output(common: &CommonArgs, search: &SearchArgs) -> Result<()> {
    match (&common.output, &search.sources) {
        (Some(out), Some(sources)) => files::check_target(out, &[sources]),
        _ => Ok(()),
    }
}

/// The sources that `--sources` names: those of a file, or as many as asked for, drawn without repetition among the vertices
/// with arcs (with repetition if there are fewer of them). Each of them is to need so many bytes: more of them than there is memory
/// for are refused.
pub fn sources<B: CommandBackend>(run: &Run<B>, asked: &OsStr, bytes_each: u64, degrees: impl Fn(u32) -> bool) -> Result<Vec<u32>> {
    let fits = |count: usize| {
        let (wanted, free) = (u128::from(bytes_each) * count as u128, system::free_memory());
        match free {
            Some(free) if wanted > free.into() => Err(Failure::other(format_args!(
                "--sources {}: a search from {count} sources on {} vertices needs {wanted} bytes of memory, {free} are free",
                asked.display(),
                run.graph.nodes()
            ))),
            _ => Ok(()),
        }
    };
    let Some(count) = asked.to_str().and_then(|text| text.parse::<usize>().ok()) else {
        let sources = ids::vertices(Path::new(asked), &mut |number| run.vertex(number))?;
        fits(sources.len())?;
        return Ok(sources);
    };
    if count == 0 {
        return Err(Failure::usage("--sources 0: at least one source is needed"));
    }
    fits(count)?;
    let mut candidates: Vec<u32> = (0..run.graph.nodes() as u32).filter(|&v| degrees(v)).collect();
    if candidates.is_empty() {
        candidates = (0..run.graph.nodes() as u32).collect();
    }
    if candidates.is_empty() {
        return Err(Failure::usage("--sources: the graph has no vertices"));
    }
    let draws = Stream::new(run.general.seed, 0x50_55_52_43);
    let distinct = count.min(candidates.len());
    // The first steps of a Fisher-Yates shuffle.
    for i in 0..distinct {
        let j = i + draws.below(i as u64, (candidates.len() - i) as u64) as usize;
        candidates.swap(i, j);
    }
    candidates.truncate(distinct);
    Ok((0..count).map(|i| candidates[i % distinct]).collect())
}

/// The vertices from the source to `target`; empty if it is unreached.
pub fn path(parents: &[u32], target: u32) -> Vec<u32> {
    let mut path = Vec::new();
    let mut at = target;
    while parents[at as usize] != UNREACHED {
        path.push(at);
        let parent = parents[at as usize];
        if parent == at || path.len() > parents.len() {
            break;
        }
        at = parent;
    }
    path.reverse();
    path
}

/// A path for people.
pub fn describe(summary: &mut String, path: &PathResult<impl std::fmt::Display>) {
    let _ = match &path.distance {
        None => writeln!(summary, "vertex {} is not reached", path.target),
        Some(distance) => {
            let vertices: Vec<String> = path.path.iter().map(u64::to_string).collect();
            writeln!(summary, "vertex {} at distance {distance}: {}", path.target, vertices.join(" "))
        }
    };
}

/// Writes parents: -1 where unreached.
pub fn write_parents<B: CommandBackend>(file: &Path, run: &Run<B>, parents: &[u32]) -> Result<()> {
    let (narrow, wide): (Vec<i32>, Vec<i64>);
    let data = match &run.original_ids {
        Some(names) => VectorData::Vertices { values: parents, names },
        None if i32::try_from(run.graph.nodes()).is_err() => {
            wide = parents.iter().map(|&p| if p == UNREACHED { -1 } else { p.into() }).collect();
            VectorData::I64(&wide)
        }
        None => {
            // Unreached wraps around to -1, and no vertex does.
            narrow = parents.iter().map(|&p| p as i32).collect();
            VectorData::I32(&narrow)
        }
    };
    files::write_vector(file, data, &run.naming(), &run.reporter)
}
