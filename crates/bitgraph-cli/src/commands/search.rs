//! What searches share: many sources, paths, and parents as an array.

use crate::failure::{Failure, Result};
use crate::run::{CommandBackend, Run};
use crate::system;
use bitgraph::algorithms::UNREACHED;
use bitgraph::generate::Stream;
use bitgraph::sparse::Values;
use std::path::Path;

/// The numbers on the lines of a file: up to `most` fields each; lines of a comment (`#` or `%`) and empty ones are skipped. A failure of
/// `field` is told with the line.
pub fn read_lines(path: &Path, most: usize, mut field: impl FnMut(&[&str]) -> Result<()>) -> Result<()> {
    let bytes = std::fs::read(path).map_err(|e| Failure::other(format_args!("{}: {e}", path.display())))?;
    for (i, line) in String::from_utf8_lossy(&bytes).lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', '%']) {
            continue;
        }
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let outcome = match fields.get(most) {
            Some(extra) => Err(Failure::other(format_args!("'{extra}' follows the last field"))),
            None => field(&fields),
        };
        outcome.map_err(|failure| failure.at(format_args!("{}, line {}", path.display(), i + 1)))?;
    }
    Ok(())
}

/// A vertex number in a file.
pub fn number(text: &str) -> Result<u64> {
    text.parse().map_err(|_| Failure::other(format_args!("'{text}' is not a vertex number")))
}

/// The sources that `--sources` names: those of a file, or as many as asked for, drawn without repetition among the vertices
/// with arcs (with repetition if there are fewer of them). Each of them is to need so many bytes: more of them than there is memory
/// for are refused.
pub fn sources<B: CommandBackend>(run: &Run<B>, asked: &str, bytes_each: u64, degrees: impl Fn(u32) -> bool) -> Result<Vec<u32>> {
    let fits = |count: usize| {
        let (wanted, free) = (u128::from(bytes_each) * count as u128, system::free_memory());
        match free {
            Some(free) if wanted > free.into() => Err(Failure::other(format_args!(
                "--sources {asked}: a search from {count} sources on {} vertices needs {wanted} bytes of memory, {free} are free",
                run.graph.nodes()
            ))),
            _ => Ok(()),
        }
    };
    let Ok(count) = asked.parse::<usize>() else {
        let mut sources = Vec::new();
        read_lines(Path::new(asked), 1, |fields| {
            sources.push(run.vertex(number(fields[0])?)?);
            Ok(())
        })?;
        if sources.is_empty() {
            return Err(Failure::other(format_args!("{asked}: the file names no vertices")));
        }
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

/// Parents as `--output` writes them: -1 where unreached.
pub fn parents_column<B: CommandBackend>(run: &Run<B>, parents: &[u32]) -> Values {
    if run.original_ids.is_some() {
        return Values::from_vec(parents.iter().map(|&p| if p == UNREACHED { -1 } else { run.number(p) as i64 }).collect::<Vec<i64>>());
    }
    // A vertex number above i32::MAX wraps around, as it does in the unsigned view of the same bits.
    Values::from_vec(parents.iter().map(|&p| p as i32).collect::<Vec<i32>>())
}
