//! Partitions on disk, so that the next run need not take the graph apart again.
//!
//! The file is named by a hash of the pattern, the number of parts and the version of how parts are made: a mark, that hash, the number of
//! parts, the number of nodes, 32 bits for each node, and a checksum of all before it; numbers have the lowest byte first.
//!
//! Invariant: a file that is not whole, or of something else, is not used, and replaced by a whole one.

use super::partition::partition;
use crate::Error;
use bitgraph_generate::mix64;
use bitgraph_io::WriteOptions;
use bitgraph_sparse::Csr;
use std::path::{Path, PathBuf};

const MARK: &[u8; 8] = b"bgparts1";
/// What changes when the same settings would give other parts.
const VERSION: u64 = 1;
/// Mark, hash, parts, nodes.
const HEADER: usize = 8 + 8 + 8 + 8;

/// Something about a partition's file that is no error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartsRemark {
    /// A file that could not be used; the graph is taken apart again.
    #[error("{}: {why}; the graph is taken apart again", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The partition could not be written; it is used all the same.
    #[error("{}: the parts were not kept: {why}", file.display())]
    NotKept {
        /// The file.
        file: PathBuf,
        /// Why not.
        why: String,
    },
}

/// The part of every node, from the file of `folder` if it is there, and into it otherwise. O(entries), or METIS's time.
///
/// # Errors
/// As [`partition`].
pub(super) fn parts(pattern: &Csr, parts: u32, folder: Option<&Path>, mut tell: impl FnMut(&PartsRemark)) -> Result<Vec<u32>, Error> {
    let Some(folder) = folder else { return partition(pattern, parts) };
    let key = key(pattern, parts);
    let file = folder.join(format!("parts-{key:016x}.bin"));
    match std::fs::read(&file) {
        Ok(bytes) => match decode(&bytes, (key, parts), pattern.nrows()) {
            Ok(found) => return Ok(found),
            Err(why) => tell(&PartsRemark::Damaged { file: file.clone(), why: why.to_owned() }),
        },
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
        Err(e) => tell(&PartsRemark::Damaged { file: file.clone(), why: e.to_string() }),
    }
    let found = partition(pattern, parts)?;
    let made = std::fs::create_dir_all(folder).map_err(|e| e.to_string());
    let written = made
        .and_then(|()| bitgraph_io::write_bytes(&file, &encode(&found, (key, parts)), &WriteOptions::default()).map_err(|e| e.to_string()));
    if let Err(why) = written {
        tell(&PartsRemark::NotKept { file, why });
    }
    Ok(found)
}

/// A hash of all that parts depend on. O(entries).
fn key(pattern: &Csr, parts: u32) -> u64 {
    let mut hash = mix64(VERSION ^ u64::from(parts) << 32);
    let mut add = |x: u64| hash = mix64(hash ^ x);
    add(pattern.nrows() as u64);
    for i in 0..pattern.nrows() {
        add(pattern.degree(i) as u64);
        pattern.row(i).iter().for_each(|&j| add(j.into()));
    }
    hash
}

fn encode(found: &[u32], (key, parts): (u64, u32)) -> Vec<u8> {
    let mut bytes = MARK.to_vec();
    [key, parts.into(), found.len() as u64].iter().for_each(|n| bytes.extend(n.to_le_bytes()));
    found.iter().for_each(|p| bytes.extend(p.to_le_bytes()));
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    bytes
}

/// The parts of a file; what is wrong with it.
fn decode(bytes: &[u8], (key, parts): (u64, u32), nodes: usize) -> Result<Vec<u32>, &'static str> {
    let (content, sum) = bytes.split_last_chunk::<4>().ok_or("the file is too short")?;
    if !content.starts_with(MARK) {
        return Err("the file does not hold parts of a graph");
    }
    if content.len() != HEADER + 4 * nodes || crc32fast::hash(content) != u32::from_le_bytes(*sum) {
        return Err("the file is damaged");
    }
    let header = encode(&[], (key, parts));
    if content[..HEADER - 8] != header[..HEADER - 8] || content[HEADER - 8..HEADER] != (nodes as u64).to_le_bytes() {
        return Err("the file is of another graph");
    }
    let found: Vec<u32> = content[HEADER..].as_chunks::<4>().0.iter().map(|p| u32::from_le_bytes(*p)).collect();
    if found.iter().all(|p| *p < parts) { Ok(found) } else { Err("the file names a part that there is not") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitgraph_generate::Control;

    #[test]
    fn a_damaged_file_is_replaced_with_a_remark() {
        let set = crate::data::open(Path::new("planted:300:4:8"), &Control::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let run = |graph: &Csr, n: u32| {
            let mut remarks = Vec::new();
            let found = parts(graph, n, Some(&folder.path().join("inner")), |r| remarks.push(r.to_string())).unwrap();
            (found, remarks)
        };
        let graph = set.graph();
        let (first, none) = run(graph, 10);
        assert!(none.is_empty());
        let file = std::fs::read_dir(folder.path().join("inner")).unwrap().next().unwrap().unwrap().path();
        let whole = std::fs::read(&file).unwrap();
        assert_eq!(run(graph, 10), (first.clone(), vec![]));
        assert_eq!(std::fs::read_dir(folder.path().join("inner")).unwrap().count(), 1);
        // What the file says is used: another partition of the same key comes back.
        let other: Vec<u32> = first.iter().map(|p| 9 - p).collect();
        std::fs::write(&file, encode(&other, (key(graph, 10), 10))).unwrap();
        assert_eq!(run(graph, 10), (other, vec![]));
        for at in [3, 12, 20, 28, 60, whole.len() - 1] {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            std::fs::write(&file, &flipped).unwrap();
            let (found, remarks) = run(graph, 10);
            assert!(found == first && remarks.len() == 1 && remarks[0].contains("taken apart again"), "{at}: {remarks:?}");
            assert_eq!(std::fs::read(&file).unwrap(), whole);
        }
        for short in [0, 3, 31, whole.len() - 4] {
            std::fs::write(&file, &whole[..short]).unwrap();
            assert_eq!(run(graph, 10).1.len(), 1);
        }
        run(graph, 11);
        let (fewer, _) = graph.filter_with_positions(|i, _| i != 5);
        run(&fewer, 10);
        assert_eq!(
            std::fs::read_dir(folder.path().join("inner")).unwrap().count(),
            3,
            "each graph and number of parts has a file of its own"
        );
    }
    #[test]
    fn where_nothing_can_be_written_parts_are_used_all_the_same() {
        let set = crate::data::open(Path::new("planted:100:4:8"), &Control::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "x").unwrap();
        let mut remarks = Vec::new();
        let found = parts(set.graph(), 4, Some(&file.join("inner")), |r| remarks.push(r.to_string())).unwrap();
        assert!(found.len() == 100 && remarks.iter().any(|r| r.contains("not kept")), "{remarks:?}");
    }
}
