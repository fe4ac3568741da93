//! What is wrong with a file is told with the array or line, the place and the value.

use bitgraph_io::{Loaded, ReadOptions, Result, read};

/// A zip archive of stored members, as numpy writes it.
fn archive(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in members {
        let name = format!("{name}.npy");
        let mut common = Vec::new();
        common.extend_from_slice(&[20, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        common.extend_from_slice(&crc32fast::hash(bytes).to_le_bytes());
        common.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        common.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        common.extend_from_slice(&(name.len() as u16).to_le_bytes());
        common.extend_from_slice(&[0, 0]);
        let at = out.len() as u32;
        out.extend_from_slice(b"PK\x03\x04");
        out.extend_from_slice(&common);
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(bytes);
        directory.extend_from_slice(b"PK\x01\x02\x14\x00");
        directory.extend_from_slice(&common);
        directory.extend_from_slice(&[0; 10]);
        directory.extend_from_slice(&at.to_le_bytes());
        directory.extend_from_slice(name.as_bytes());
    }
    let (start, size) = (out.len() as u32, directory.len() as u32);
    out.append(&mut directory);
    let count = (members.len() as u16).to_le_bytes();
    out.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    out.extend_from_slice(&count);
    out.extend_from_slice(&count);
    out.extend_from_slice(&size.to_le_bytes());
    out.extend_from_slice(&start.to_le_bytes());
    out.extend_from_slice(&[0, 0]);
    out
}

/// An array of numpy's.
fn array(descr: &str, fortran: &str, shape: &str, bytes: &[u8]) -> Vec<u8> {
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
    header.extend(std::iter::repeat_n(' ', (64 - (11 + header.len()) % 64) % 64));
    header.push('\n');
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend_from_slice(&(header.len() as u16).to_le_bytes());
    out.extend_from_slice(header.as_bytes());
    out.extend_from_slice(bytes);
    out
}

fn words(values: &[i64]) -> Vec<u8> {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    array("<i8", "False", &format!("({},)", values.len()), &bytes)
}

fn load(name: &str, bytes: &[u8], as_pattern: bool) -> Result<Loaded> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    read(&path, &ReadOptions { as_pattern, ..ReadOptions::default() })
}

#[test]
fn arrays_of_an_archive() {
    let floats = |n: usize| array("<f8", "False", &format!("({n},)"), &vec![0; 8 * n]);
    let csr = |change: &str, with: Vec<u8>| {
        let mut members = vec![
            ("indices", words(&[1, 2, 0])),
            ("indptr", words(&[0, 2, 2, 3])),
            ("format", array("|S3", "False", "()", b"csr")),
            ("shape", words(&[3, 3])),
            ("data", floats(3)),
        ];
        for (name, bytes) in &mut members {
            if *name == change {
                *bytes = with.clone();
            }
        }
        archive(&members)
    };
    let loaded = load("ok.npz", &csr("", Vec::new()), false).unwrap();
    assert_eq!((loaded.csr.nnz(), loaded.values.map(|v| v.len())), (3, Some(3)));
    let big = array(">f8", "True", "(3,)", &[1.5f64, -2.0, 0.25].map(f64::to_be_bytes).concat());
    let values = load("big.npz", &csr("data", big), false).unwrap().values.unwrap();
    assert_eq!(values.as_slice::<f64>(), Some(&[1.5, -2.0, 0.25][..]));
    for (name, bytes, told) in [
        ("indices", words(&[1, -7, 0]), "array 'indices': element 1 is -7"),
        ("indices", words(&[1, 2, 1 << 40]), "array 'indices': element 2 is 1099511627776"),
        ("indptr", words(&[0, 3, 2, 3]), "array 'indptr': element 2 is 2"),
        ("indptr", words(&[1, 2, 2, 3]), "array 'indptr': element 0 is 1"),
        ("indptr", words(&[0, 2, 2, 9]), "array 'indptr': element 3 is 9"),
        ("indptr", words(&[0, 3]), "4 elements of array 'indptr' are announced and 2 found"),
        ("shape", words(&[-3, 3]), "array 'shape': element 0 is -3"),
        ("shape", words(&[3, 3, 3]), "array 'shape'"),
        ("indices", floats(3), "array 'indices'"),
        // What holds the values is looked at even where they are not asked for.
        ("data", floats(2), "3 elements of array 'data' are announced and 2 found"),
        ("indices", array("<i8", "False", "(2305843009213693953,)", &[0; 8]), "elements of 8 bytes in the shape (2305843009213693953)"),
        ("data", array("|O", "False", "(3,)", &[0; 24]), "array 'data'"),
        ("data", array("<c16", "False", "(3,)", &[0; 48]), "array 'data'"),
        ("data", array("<f8", "True", "(3, 1)", &[0; 24]), "array 'data'"),
    ] {
        for as_pattern in [false, true] {
            let error = load("bad.npz", &csr(name, bytes.clone()), as_pattern).unwrap_err().to_string();
            assert!(error.contains("bad.npz") && error.contains(told), "{error} lacks {told}");
        }
    }
    let coo = archive(&[
        ("row", words(&[0, 1])),
        ("col", words(&[2])),
        ("format", array("<U3", "False", "()", &"coo".bytes().flat_map(|b| [b, 0, 0, 0]).collect::<Vec<_>>())),
        ("shape", words(&[3, 3])),
        ("data", floats(2)),
    ]);
    let error = load("coo.npz", &coo, false).unwrap_err().to_string();
    assert!(error.contains("2 elements of array 'col' are announced and 1 found"), "{error}");
}

#[test]
fn loops_change_the_number_of_edges_by_themselves_alone() {
    let read = |edges: u64, first: &str| load("m.graph", format!("3 {edges}\n{first}\n1 3\n2\n").as_bytes(), false);
    // A loop that is listed once is an edge, and so is one that is listed twice.
    assert_eq!(read(3, "1 2").unwrap().csr.nnz(), 5);
    assert_eq!(read(3, "1 1 2").unwrap().csr.nnz(), 5);
    for (edges, first) in [(2, "1 2"), (4, "1 2"), (9, "1 2"), (2, "1 1 2"), (5, "1 1 2")] {
        let error = read(edges, first).unwrap_err().to_string();
        assert!(error.ends_with(&format!("{edges} edges are announced and 3 found")), "{error}");
    }
}

#[test]
fn an_edge_of_one_side_is_named_before_edges_are_counted() {
    let error = |text: &str| load("m.graph", text.as_bytes(), false).unwrap_err().to_string();
    assert!(error("3 2\n2\n3\n2\n").ends_with("edge 1 -> 2 has no equal counterpart 2 -> 1"));
    assert!(error("3 5\n2\n1 3\n2\n").ends_with("5 edges are announced and 2 found"));
}
