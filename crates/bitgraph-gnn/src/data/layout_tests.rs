//! OGB's and TU's layouts, folders of many graphs, labels of several classes: read as they are meant, and refused with the file.

use super::tests::{floats, ints, npy};
use super::*;
use crate::Nodes;
use std::fs;
use std::path::Path;

/// Puts files into a new folder, some of them replaced or left out.
fn folder(files: &[(&str, &str)], changed: &[(&str, Option<&str>)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let text = changed.iter().find(|(n, _)| n == name).map_or(Some(*text), |(_, text)| *text);
        if let Some(text) = text {
            put(folder.path(), name, text.as_bytes());
        }
    }
    folder
}

fn put(folder: &Path, name: &str, bytes: &[u8]) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// What is said, with the folder's path shortened.
fn told(folder: &tempfile::TempDir) -> String {
    let error = open_any(folder.path(), &Control::default()).unwrap_err();
    error.to_string().replace(&folder.path().display().to_string(), "F")
}

const OGB: [(&str, &str); 7] = [
    ("raw/edge.csv", "0,1\n1,2\n3,2\n2,1\n"),
    ("raw/node-feat.csv", "1.5,0\n0,-2\n0.25,1e-1\n0,0\n"),
    ("raw/node-label.csv", "0\n2\nnan\n1\n"),
    ("raw/num-node-list.csv", "4\n"),
    ("split/time/train.csv", "0\n"),
    ("split/time/valid.csv", "3\n"),
    ("split/time/test.csv", "1\n"),
];

#[test]
fn tables_of_ogb() {
    let set = open(folder(&OGB, &[]).path(), &Control::default()).unwrap();
    assert_eq!((set.nodes(), set.graph().nnz(), set.features().shape(), set.labels().classes()), (4, 6, (4, 2), 3));
    assert!(set.graph().is_symmetric());
    assert_eq!((set.features().values()[0], set.features().values()[3], set.labels().of()), (1.5, -2.0, &[0, 2, -1, 1][..]));
    assert_eq!(set.splits(), [Nodes { train: vec![0], validation: vec![3], test: vec![1] }]);
    let with = |name, text| told(&folder(&OGB, &[(name, text)]));
    for (name, text, wanted) in [
        ("raw/edge.csv", Some("0,1\n1,4\n"), "F/raw/edge.csv: element 3 is 4; it must be a node of the graph"),
        ("raw/edge.csv", Some("0,1,2\n"), "F/raw/edge.csv: the array has the shape [1, 3]; an edge is of two nodes"),
        ("raw/edge.csv", Some("0,1\n1,x\n"), "F/raw/edge.csv, line 2: 'x' is not a whole number"),
        ("raw/node-feat.csv", None, "F: there is no raw/node-feat.csv.gz"),
        ("raw/node-feat.csv", Some("1\nnan\n2\n3\n"), "F/raw/node-feat.csv: feature 0 of node 1 is not a finite number"),
        ("raw/node-feat.csv", Some("1\n2\n3\n4\n5\n"), "F/raw/node-feat.csv: rows of the features: 5 where 4 are needed"),
        ("raw/num-node-list.csv", Some("4\n5\n"), "F/raw/num-node-list.csv: a set of many graphs in OGB's layout"),
        ("raw/num-node-list.csv", Some("-1\n"), "F/raw/node-feat.csv: rows of the features: 4 where 0 are needed"),
        ("raw/node-label.csv", Some("0\n2\n"), "F/raw/node-label.csv: rows of the labels: 2 where 4 are needed"),
        ("raw/node-label.csv", Some("0\n2\n1\n0.5\n"), "F/raw/node-label.csv: element 3 is 0.5; a label must be a whole number"),
        ("raw/node-label.csv", Some("0\n2\n1\n70000\n"), "F/raw/node-label.csv: element 3 is 70000; a label must be from 0 to 65535"),
        ("split/time/valid.csv", Some("0\n"), "F: split 0: node 0 is both in training and in validation"),
        ("split/time/valid.csv", Some(""), "F: split 0 selects no nodes"),
        ("split/time/test.csv", Some("2\n"), "F: the label of node 2 is -1"),
        ("split/time/test.csv", Some("9\n"), "F/split/time/test.csv: element 0 is 9; it must be a node of the graph"),
        ("split/time/test.csv", None, "F/split/time: there is no test.csv.gz"),
    ] {
        let found = with(name, text);
        assert!(found.starts_with(wanted), "{name}: {found}");
    }
    let two = folder(&OGB, &[]);
    put(two.path(), "split/other/train.csv", b"0\n");
    assert_eq!(told(&two), "F: there is no single folder below split/");
}

#[test]
fn labels_of_several_classes() {
    let several = [("raw/node-label.csv", Some("0,1,1\n1,0,0\nnan,0,0\n0,0,0\n"))];
    let set = open(folder(&OGB, &several).path(), &Control::default()).unwrap();
    assert_eq!((set.labels().classes(), set.labels().of()), (3, &[0, 0, -1, 0][..]));
    assert_eq!(set.labels().matrix(), Some(&[0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0][..]));
    let two = [("raw/node-label.csv", Some("0,1\n1,0\n0,2\n0,0\n"))];
    assert_eq!(told(&folder(&OGB, &two)), "F/raw/node-label.csv: element 5 is 2; labels in a matrix are 0 and 1");

    // The same in a folder of arrays; without masks the split has shares.
    let plain = folder(&[("graph.el", "0 1\n1 0\n")], &[]);
    put(plain.path(), "features.npy", &floats("(10, 1)", &[1.0; 10]));
    let bits: Vec<u8> = (0..30).map(|e| u8::from(e % 7 < 2)).collect();
    put(plain.path(), "labels.npy", &npy("|u1", "(10, 3)", &bits));
    put(plain.path(), "unlabelled_nodes.npy", &ints(&[4]));
    let set = open(plain.path(), &Control::default()).unwrap();
    assert_eq!((set.labels().classes(), set.labels().of()[4], &set.labels().matrix().unwrap()[12..15]), (3, -1, &[0, 0, 0][..]));
    assert_eq!((set.splits()[0].train.len(), set.splits()[0].validation.len(), set.splits()[0].test.len()), (4, 3, 2));
    put(plain.path(), "labels.npy", &npy("|u1", "(9, 3)", &bits[..27]));
    assert_eq!(told(&plain), "F/labels.npy: rows of the labels: 9 where 10 are needed");
    put(plain.path(), "labels.npy", &npy("<f4", "(10, 3)", &f32::NAN.to_le_bytes().repeat(30)));
    assert_eq!(told(&plain), "F/labels.npy: element 0 is NaN; labels in a matrix are 0 and 1");
}

/// A triangle of classes -1, and two nodes of class 5 without an edge.
const TU: [(&str, &str); 5] = [
    ("X_A.txt", "1, 2\n2, 1\n2, 3\n3, 1\n"),
    ("X_graph_indicator.txt", "1\n1\n1\n2\n2\n"),
    ("X_graph_labels.txt", "5\n-1\n"),
    ("X_node_labels.txt", "7\n3\n7\n3\n3\n"),
    ("X_node_attributes.txt", "0.5, 1\n0, 0\n2, 2\n0, 1\n1, 0\n"),
];

fn graphs(folder: &Path) -> GraphSet {
    match open_any(folder, &Control::default()).unwrap() {
        Set::Graphs(set) => set,
        Set::Nodes(_) => panic!("a set of one graph"),
    }
}

#[test]
fn lists_of_tu() {
    let files = folder(&TU, &[]);
    assert!(holds_graphs(files.path()) && !holds_graphs("planted:10:2:3".as_ref()));
    let set = graphs(files.path());
    assert_eq!((set.len(), set.graph().nnz(), set.labels().of(), set.nodes_of(1)), (2, 6, &[1, 0][..], 3..5));
    let log = 3f32.ln();
    assert_eq!(set.features().values()[..10], [0.0, 1.0, 0.5, 1.0, log, 1.0, 0.0, 0.0, 0.0, log]);
    let (pattern, values, sizes) = set.side_by_side(&[1, 0]).unwrap();
    assert_eq!((sizes, pattern.nrows(), pattern.row(2), &values[..5]), (vec![2, 3], 5, &[3, 4][..], &[1.0, 0.0, 0.0, 1.0, 0.0][..]));
    assert!(open(files.path(), &Control::default()).unwrap_err().to_string().contains("its graphs are classified"));
    let none = folder(&TU, &[("X_node_labels.txt", None), ("X_node_attributes.txt", None)]);
    assert_eq!(graphs(none.path()).features().shape(), (5, 1));
    for (name, text, wanted) in [
        ("X_A.txt", None, "F: there is no NAME_A.txt"),
        ("X_A.txt", Some("1, 2\n3, 4\n"), "F: nodes 2 and 3, counted from 0, are of different graphs"),
        ("X_A.txt", Some("0, 1\n"), "F/X_A.txt: element 0 is -1; it must be a node of the graph"),
        ("X_graph_indicator.txt", Some("1\n1\n2\n1\n2\n"), "F/X_graph_indicator.txt: element 3 is 1; the graph of a node must be"),
        ("X_graph_indicator.txt", Some("1\n1\n1\n3\n3\n"), "F/X_graph_indicator.txt: element 3 is 3; the graph of a node must be"),
        (
            "X_graph_labels.txt",
            Some("5\n-1\n5\n"),
            "F/X_graph_indicator.txt: graphs that nodes are of, for the labels of graphs,: 2 where 3",
        ),
        ("X_graph_labels.txt", None, "F: there is no NAME_graph_labels.txt"),
        ("X_node_labels.txt", Some("7\n3\n"), "F/X_node_labels.txt: lines, one for each node,: 2 where 5 are needed"),
        ("X_node_attributes.txt", Some("1\n2\nnan\n4\n5\n"), "F: feature 2 of node 2 is not a finite number"),
        ("X_node_attributes.txt", Some("1\n2\n3, 4\n4\n5\n"), "F/X_node_attributes.txt, line 3: the line has 2 fields"),
    ] {
        let found = told(&folder(&TU, &[(name, text)]));
        assert!(found.starts_with(wanted), "{name}: {found}");
    }
    let two = folder(&TU, &[]);
    put(two.path(), "Y_graph_indicator.txt", b"1\n");
    assert_eq!(told(&two), "F: there is no single file NAME_graph_indicator.txt");
}

#[test]
fn folders_of_many_graphs() {
    let files = folder(&[("graph.el", "0 1\n1 0\n2 3\n3 2\n")], &[]);
    put(files.path(), "graph_indicator.npy", &ints(&[4, 4, 5, 5, 6]));
    put(files.path(), "graph_labels.npy", &ints(&[1, 0, 1]));
    let set = graphs(files.path());
    assert_eq!((set.len(), set.features().shape(), set.nodes_of(2)), (3, (5, 1), 4..5));
    put(files.path(), "node_labels.npy", &ints(&[0, 1, 0, 1, 2]));
    put(files.path(), "features.npy", &floats("(5, 2)", &[0.5; 10]));
    assert_eq!(graphs(files.path()).features().values()[..6], [1.0, 0.0, 0.0, 0.5, 0.5, 2f32.ln()]);
    put(files.path(), "features.npy", &floats("(4, 2)", &[0.5; 8]));
    assert_eq!(told(&files), "F/features.npy: rows of the features: 4 where 5 are needed");
    put(files.path(), "features.npy", &floats("(5, 2)", &[0.5; 10]));
    put(files.path(), "node_labels.npy", &ints(&[0, 1]));
    assert_eq!(told(&files), "F: labels of nodes: 2 where 5 are needed");
    put(files.path(), "node_labels.npy", &npy("|O", "(5,)", b""));
    assert!(told(&files).contains("Python objects, which are not read"));
    put(files.path(), "node_labels.npy", &ints(&[0, 1, 0, 1, 2]));
    put(files.path(), "graph.el", b"0 1\n1 2\n");
    assert!(told(&files).contains("are of different graphs"));
}

#[test]
fn columns_that_a_header_claims_are_no_reason_to_allocate() {
    use bitgraph_sparse::{Buffer, Csr, Offsets};
    let wide = Csr::new(1, u32::MAX as usize, Offsets::from_usizes(&[0, 1]), Buffer::from(vec![7u32])).unwrap();
    let told = Features::sparse(wide, vec![1.0]).unwrap_err().to_string();
    assert!(told.contains("columns of the features is 4294967295"), "{told}");
}
