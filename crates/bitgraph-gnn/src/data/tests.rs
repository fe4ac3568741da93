//! Data sets that are refused, made and read back.

use super::*;
use crate::Nodes;
use bitgraph_io::{WriteOptions, WriteSource, write};
use bitgraph_sparse::{Buffer, Csr, Offsets, Permutation};
use std::fs;
use std::path::PathBuf;

/// A ring of six nodes.
const RING: &str = "%%MatrixMarket matrix coordinate pattern symmetric\n6 6 6\n2 1\n3 2\n4 3\n5 4\n6 5\n6 1\n";

pub(super) fn npy(descr: &str, shape: &str, bytes: &[u8]) -> Vec<u8> {
    let dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut all = b"\x93NUMPY\x01\x00".to_vec();
    all.extend_from_slice(&(dict.len() as u16).to_le_bytes());
    [all, dict.into_bytes(), bytes.to_vec()].concat()
}

pub(super) fn ints(values: &[i32]) -> Vec<u8> {
    npy("<i4", &format!("({},)", values.len()), &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
}

pub(super) fn floats(shape: &str, values: &[f32]) -> Vec<u8> {
    npy("<f4", shape, &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
}

/// A folder that is right, but for what a test replaces in it.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: Vec<u8>| fs::write(folder.path().join(name), bytes).unwrap();
    put("features.npy", floats("(6, 2)", &[1.0, 0.0, 0.0, 2.0, 1.0, 1.0, 0.0, 0.0, 3.0, 1.0, 4.0, 0.0]));
    put("graph.mtx", RING.into());
    put("labels.npy", ints(&[0, 1, 2, 0, 1, 2]));
    put("train_mask.npy", npy("|b1", "(6,)", &[1, 1, 1, 0, 0, 0]));
    put("val_mask.npy", npy("|b1", "(6,)", &[0, 0, 0, 1, 0, 0]));
    put("test_mask.npy", npy("|b1", "(6,)", &[0, 0, 0, 0, 1, 1]));
    folder
}

/// What is said of the folder with a file replaced, or removed.
fn told(file: &str, bytes: Option<Vec<u8>>) -> String {
    let folder = folder();
    let path = folder.path().join(file);
    match bytes {
        Some(bytes) => fs::write(path, bytes).unwrap(),
        None => fs::remove_file(path).unwrap(),
    }
    let told = open(folder.path(), &Control::default()).unwrap_err().to_string();
    assert!(told.starts_with(&folder.path().display().to_string()), "{told}");
    told[folder.path().display().to_string().len()..].to_string()
}

#[test]
fn a_folder_is_read() {
    let folder = folder();
    let set = open(folder.path(), &Control::default()).unwrap();
    assert_eq!((set.nodes(), set.graph().nnz(), set.features().shape(), set.labels().classes()), (6, 12, (6, 2), 3));
    assert_eq!(set.labels().of(), [0, 1, 2, 0, 1, 2]);
    assert_eq!(set.splits(), [Nodes { train: vec![0, 1, 2], validation: vec![3], test: vec![4, 5] }]);
    assert_eq!(set.features().to_dense()[..4], [1.0, 0.0, 0.0, 2.0]);
    // Without masks one is drawn.
    ["train", "val", "test"].iter().for_each(|part| fs::remove_file(folder.path().join(format!("{part}_mask.npy"))).unwrap());
    assert_eq!(open(folder.path(), &Control::default()).unwrap().splits()[0].train.len(), 3);
    // Rows of masks are splits, and a node without a label is none of a class.
    let rows = |rows: [[u8; 6]; 2]| npy("|b1", "(2, 6)", rows.as_flattened());
    fs::write(folder.path().join("train_masks.npy"), rows([[1, 0, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0]])).unwrap();
    fs::write(folder.path().join("val_masks.npy"), rows([[0, 1, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0]])).unwrap();
    fs::write(folder.path().join("test_masks.npy"), rows([[0, 0, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0]])).unwrap();
    fs::write(folder.path().join("unlabelled_nodes.npy"), ints(&[5])).unwrap();
    let set = open(folder.path(), &Control::default()).unwrap();
    assert_eq!(set.splits()[1], Nodes { train: vec![2, 3], validation: vec![1], test: vec![0] });
    assert_eq!(set.labels().of()[5], Labels::NONE);
    // What stands for such a node is no label and makes no class.
    for stored in [99, -7, 1 << 20] {
        fs::write(folder.path().join("labels.npy"), ints(&[0, 1, 2, 0, 1, stored])).unwrap();
        assert_eq!(*open(folder.path(), &Control::default()).unwrap().labels(), *set.labels(), "{stored}");
    }
}

#[test]
fn graphs_of_other_forms_keep_the_numbers_of_features_and_labels() {
    let plain = folder();
    let wanted = open(plain.path(), &Control::default()).unwrap().graph().clone();
    let with = |name: &str, put: &dyn Fn(&std::path::Path)| {
        let folder = folder();
        fs::remove_file(folder.path().join("graph.mtx")).unwrap();
        put(&folder.path().join(name));
        open(folder.path(), &Control::default()).map_err(|e| e.to_string())
    };
    // A container may hold the graph in other numbers.
    let order = Permutation::from_new_of_old(vec![3, 1, 5, 0, 2, 4]).unwrap();
    let (renumbered, _) = order.apply_with(&wanted, None).unwrap();
    assert_ne!(renumbered, wanted);
    let set = with("graph.bgr", &|path| {
        let mut source = WriteSource::new(&renumbered);
        source.permutation = Some(&order);
        write(path, &source, &WriteOptions::default()).unwrap();
    });
    assert_eq!(*set.unwrap().graph(), wanted);
    // An edge list says nothing of nodes 3 to 5, and may not have a node 6.
    let set = with("graph.el", &|path| fs::write(path, "0 1\n1 0\n2 1\n").unwrap()).unwrap();
    assert_eq!((set.nodes(), set.graph().nnz(), set.graph().row(2)), (6, 3, &[1][..]));
    let told = with("graph.el", &|path| fs::write(path, "0 1\n1 6\n").unwrap()).unwrap_err();
    assert!(told.contains("graph.el") && told.contains('6'), "{told}");
}

#[test]
fn features_given_twice_are_added() {
    let folder = folder();
    fs::remove_file(folder.path().join("features.npy")).unwrap();
    let shape = npy("<i8", "(2,)", &[6u64.to_le_bytes(), 2u64.to_le_bytes()].concat());
    let arrays = [
        ("data", floats("(3,)", &[1.0, 2.0, 4.0])),
        ("indices", ints(&[1, 1, 0])),
        ("indptr", ints(&[0, 2, 3, 3, 3, 3, 3])),
        ("shape", shape),
        ("format", npy("|S3", "()", b"csr")),
    ];
    fs::write(folder.path().join("features.npz"), npz(&arrays)).unwrap();
    let set = open(folder.path(), &Control::default()).unwrap();
    assert_eq!(set.features().to_dense()[..4], [0.0, 3.0, 4.0, 0.0]);
}

#[test]
fn bad_folders_are_refused_with_the_file() {
    let is = |file: &str, bytes: Option<Vec<u8>>, wanted: &str| assert_eq!(told(file, bytes), wanted);
    is("graph.mtx", None, ": there is no graph.mtx, graph.mtx.gz, graph.npz, graph.bgr or graph.el");
    is("features.npy", None, ": there is no features.npz or features.npy");
    is("labels.npy", None, ": there is no labels.npy");
    assert!(told("val_mask.npy", None).starts_with(": there is no mask for each of"));
    is("labels.npy", Some(ints(&[0, 1, 2, 0, -2, 2])), "/labels.npy: element 4 is -2; a label must be from 0 to 65535, or -1 for none");
    is("labels.npy", Some(ints(&[0, 1])), "/labels.npy: labels: 2 where 6 are needed");
    is("labels.npy", Some(floats("(6,)", &[0.5; 6])), "/labels.npy: element 0 is 0.5; it must be a whole number of at most 53 bits");
    is(
        "labels.npy",
        Some(npy("|O", "(6,)", b"")),
        "/labels.npy: array: the array holds Python objects, which are not read: that would execute what the file says",
    );
    is("labels.npy", Some(ints(&[0, 1, 2, -1, 1, 2])), ": the label of node 3 is -1; classes are 0 to 2");
    let mut values = [1.0; 12];
    values[7] = f32::NAN;
    is("features.npy", Some(floats("(6, 2)", &values)), "/features.npy: feature 1 of node 3 is not a finite number");
    is("features.npy", Some(floats("(7, 2)", &[1.0; 14])), "/features.npy: rows of the features: 7 where 6 are needed");
    assert!(told("features.npy", Some(floats("(12,)", &[1.0; 12]))).contains("the array has the shape [12]"));
    let mask = |bits: &[u8]| Some(npy("|b1", &format!("({},)", bits.len()), bits));
    is("test_mask.npy", mask(&[0; 6]), "/test_mask.npy: split 0 selects no nodes");
    is("test_mask.npy", mask(&[0, 0, 1, 0, 1, 1]), ": split 0: node 2 is both in training and in test");
    assert!(told("test_mask.npy", mask(&[0, 1])).contains("/test_mask.npy: the array has the shape [2]"));
    is("test_mask.npy", Some(ints(&[0, 0, 0, 0, 0, 7])), "/test_mask.npy: element 5 is 7; a mask is of 0 and 1");
    let two = npy("|b1", "(2, 6)", &[0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1]);
    is("test_mask.npy", Some(two), ": splits of the masks: 2 where 1 are needed");
    is("unlabelled_nodes.npy", Some(ints(&[6])), "/unlabelled_nodes.npy: element 0 is 6; it must be a node of the graph");
    is("unlabelled_nodes.npy", Some(ints(&[5, -1])), "/unlabelled_nodes.npy: element 1 is -1; it must be a node of the graph");
    assert!(told("test_mask.npy", Some(npy("|b1", "(0, 6)", b""))).contains("/test_mask.npy: the array has the shape [0, 6]"));
    let wide = b"%%MatrixMarket matrix coordinate pattern general\n6 7 1\n1 7\n".to_vec();
    is("graph.mtx", Some(wide), ": columns of the adjacency: 7 where 6 are needed");
    assert!(open("nothing".as_ref(), &Control::default()).unwrap_err().to_string().starts_with("'nothing' is no data set"));
}

#[test]
fn features_are_normalised_alike_in_both_forms() {
    let folder = folder();
    let dense = open(folder.path(), &Control::default()).unwrap().features().clone();
    let all = dense.to_dense();
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in all.chunks(2) {
        (0..2).filter(|&j| row[j] != 0.0).for_each(|j| {
            columns.push(j as u32);
            values.push(row[j]);
        });
        offsets.push(columns.len());
    }
    let pattern = Csr::new(6, 2, Offsets::from_usizes(&offsets), Buffer::from(columns)).unwrap();
    let sparse = Features::sparse(pattern.clone(), values.clone()).unwrap();
    for how in [Normalise::None, Normalise::Row, Normalise::ColumnMeanNonzero, Normalise::ColumnThenRow] {
        assert_eq!(sparse.normalised(how).to_dense(), dense.normalised(how).to_dense(), "{how:?}");
    }
    assert_eq!(dense.normalised(Normalise::Row).to_dense()[4..10], [0.5, 0.5, 0.0, 0.0, 0.75, 0.25]);
    // The first column's mean is 9 / 4, the second one's 4 / 3.
    let columns = dense.normalised(Normalise::ColumnMeanNonzero);
    assert_eq!(dense.normalised(Normalise::ColumnThenRow).to_dense(), columns.normalised(Normalise::Row).to_dense());
    assert_eq!(dense.normalised(Normalise::ColumnMeanNonzero).to_dense()[..4], [1.0 / 2.25, 0.0, 0.0, 1.5]);
    values[4] = f32::INFINITY;
    assert_eq!(Features::sparse(pattern, values).unwrap_err().to_string(), "feature 0 of node 4 is not a finite number");
}

#[test]
fn splits_follow_from_the_seed() {
    let labels = Labels::new((0..5000).map(|v| if v % 50 == 0 { Labels::NONE } else { v % 7 }).collect(), 7).unwrap();
    let split = seeded(&labels, Sizes::fitting(&labels), 3).unwrap();
    assert_eq!((split.train.len(), split.validation.len(), split.test.len()), (140, 500, 1000));
    assert_eq!(split, seeded(&labels, Sizes::CITATION, 3).unwrap());
    assert_ne!(split, seeded(&labels, Sizes::CITATION, 4).unwrap());
    (0..7).for_each(|c| assert_eq!(split.train.iter().filter(|&&v| labels.of()[v as usize] == c).count(), 20));
    split::check(0, &mut split.clone(), &labels).unwrap();
    let shares = seeded(&labels, Sizes::Shares { train: 0.5, validation: 0.25 }, 3).unwrap();
    assert_eq!((shares.train.len(), shares.validation.len(), shares.test.len()), (2450, 1225, 1225));
    // Every part has its share of every class, those of few nodes included.
    let rare = Labels::new((0..1000).map(|v| i32::from(v % 100 == 0)).collect(), 2).unwrap();
    let parts = seeded(&rare, Sizes::Shares { train: 0.5, validation: 0.2 }, 9).unwrap();
    let ones = |part: &[u32]| part.iter().filter(|v| **v % 100 == 0).count();
    assert_eq!([ones(&parts.train), ones(&parts.validation), ones(&parts.test)], [5, 2, 3]);
    let few = Labels::new(vec![0, 1, 0], 2).unwrap();
    assert!(matches!(seeded(&few, Sizes::CITATION, 1), Err(Error::Few { labelled: 3, .. })));
    assert!(seeded(&few, Sizes::Shares { train: 0.9, validation: 0.9 }, 1).is_err());
    assert!(seeded(&few, Sizes::Shares { train: 1.0, validation: 0.0 }, 1).is_err());
}

#[test]
fn the_built_in_set_is_the_same_twice_and_its_features_tell_of_the_class() {
    let make = |name: &str| open(name.as_ref(), &Control::default());
    let set = make("planted:2000:5:8").unwrap();
    assert_eq!((set.nodes(), set.labels().classes(), set.features().shape()), (2000, 5, (2000, 160)));
    assert_eq!((set.splits().len(), set.name()), (1, "planted:2000:5:8"));
    let again = make("planted:2000:5:8:1").unwrap();
    assert_eq!((set.features().pattern(), set.splits()), (again.features().pattern(), again.splits()));
    assert_ne!(set.splits(), make("planted:2000:5:8:2").unwrap().splits());
    let pattern = set.features().pattern().unwrap();
    let own = |v: usize| pattern.row(v).iter().filter(|&&w| w / 32 == set.labels().of()[v] as u32).count();
    let share = (0..2000).map(own).sum::<usize>() as f64 / pattern.nnz() as f64;
    // A quarter of the draws, and a fifth of the others.
    assert!((0.37..0.43).contains(&share), "{share}");
    assert!(make("planted:10:11:3").is_err());
    assert!(make("planted:0:1:1").is_err());
    assert!(make("planted:2000:5").is_err());
}

/// An archive of stored arrays.
fn npz(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut all, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in arrays {
        let (name, at, size) = (format!("{name}.npy"), all.len() as u32, bytes.len() as u32);
        let common =
            [&[20, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &crc32fast::hash(bytes).to_le_bytes(), &size.to_le_bytes(), &size.to_le_bytes()];
        let lengths = [name.len() as u8, 0, 0, 0];
        all.extend([b"PK\x03\x04", &common.concat()[..], &lengths, name.as_bytes(), bytes].concat());
        let tail = [&[0u8; 10][..], &at.to_le_bytes(), name.as_bytes()].concat();
        directory.extend([b"PK\x01\x02\x14\x00", &common.concat()[..], &lengths, &tail].concat());
    }
    let (count, start, size) = (arrays.len() as u16, all.len() as u32, directory.len() as u32);
    let counts = [count.to_le_bytes(), count.to_le_bytes()].concat();
    let end = [b"PK\x05\x06\0\0\0\0", &counts[..], &size.to_le_bytes(), &start.to_le_bytes(), &[0, 0]].concat();
    [all, directory, end].concat()
}

#[test]
fn archives_of_the_benchmark_collection() {
    // Edges of a path of six from one side, and one feature for each node.
    let arrays = || {
        vec![
            ("adj_data", floats("(5,)", &[1.0; 5])),
            ("adj_indices", ints(&[1, 2, 3, 4, 5])),
            ("adj_indptr", ints(&[0, 1, 2, 3, 4, 5, 5])),
            ("adj_shape", ints(&[6, 6])),
            ("attr_data", floats("(6,)", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])),
            ("attr_indices", ints(&[0, 1, 2, 0, 1, 2])),
            ("attr_indptr", ints(&[0, 1, 2, 3, 4, 5, 6])),
            ("attr_shape", ints(&[6, 3])),
            ("labels", ints(&[0, 1, 0, 1, 0, 1])),
        ]
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.npz");
    let open_with = |name: &str, bytes: Option<Vec<u8>>| {
        let mut arrays = arrays();
        arrays.retain(|(n, _)| *n != name);
        arrays.extend(bytes.map(|b| (name, b)));
        fs::write(&path, npz(&arrays)).unwrap();
        open(&path, &Control::default())
    };
    let set = open_with("labels", Some(ints(&[0, 1, 0, 1, 0, 1]))).unwrap();
    assert_eq!((set.name(), set.graph().nnz(), set.features().shape(), set.labels().classes()), ("small", 10, (6, 3), 2));
    assert_eq!(set.features().to_dense()[12..], [0.0, 5.0, 0.0, 0.0, 0.0, 6.0]);
    let told = |name: &str, bytes: Option<Vec<u8>>| open_with(name, bytes).unwrap_err().to_string();
    assert!(told("attr_data", Some(npy("|O", "(1,)", b""))).contains("array 'attr_data': the array holds Python objects"));
    assert!(told("labels", None).ends_with("array 'labels': the archive has no such array"));
    assert!(told("adj_indices", Some(ints(&[1, 2, 3, 4, 6]))).ends_with("element 4 is 6; an index must be a column of the matrix"));
    assert!(told("adj_indptr", Some(ints(&[0, 1, 2, 1, 4, 5, 5]))).contains("offsets of rows must rise"));
    assert!(told("adj_indptr", Some(ints(&[0, 1, 2, 3]))).ends_with("offsets of the rows: 4 where 7 are needed"));
    assert!(told("attr_matrix", Some(floats("(7, 1)", &[1.0; 7]))).ends_with("rows of the features: 7 where 6 are needed"));
    assert!(told("labels", Some(ints(&[0, 1]))).ends_with("labels: 2 where 6 are needed"));
}

#[test]
fn real_sets_have_the_counts_of_their_descriptions() {
    let Some(data) = std::env::var_os("BITGRAPH_DATA") else {
        eprintln!("skipped: BITGRAPH_DATA is not set");
        return;
    };
    let sets = PathBuf::from(data).join("../gnn");
    for name in ["cora", "citeseer", "pubmed", "actor", "amazon_photo", "blogcatalog_attr", "coauthor_cs", "minesweeper"] {
        let folder = sets.join(name);
        if !folder.is_dir() {
            eprintln!("skipped: {} is no folder", folder.display());
            continue;
        }
        let set = open(&folder, &Control::default()).unwrap();
        let meta: serde_json::Value = serde_json::from_slice(&fs::read(folder.join("meta.json")).unwrap()).unwrap();
        let is = |key: &str, found: usize| assert_eq!(meta[key].as_u64(), Some(found as u64), "{name}: {key}");
        is("nodes", set.nodes());
        is("edges", (set.graph().nnz() + set.graph().count_loops()) / 2);
        is("feature_dim", set.features().shape().1);
        is("feature_nnz", set.features().values().len());
        is("classes", set.labels().classes());
        // The descriptions count the nodes without a label among the labelled ones.
        let unlabelled = bitgraph_io::read_array(&folder.join("unlabelled_nodes.npy"), bitgraph_io::ReadMode::Copy);
        let unlabelled = unlabelled.map_or(0, |array| array.values.len());
        is("labelled_nodes", set.labels().labelled().count() + unlabelled);
        assert!(set.graph().is_symmetric(), "{name}");
        let sum = |part: fn(&Nodes) -> usize| set.splits().iter().map(part).sum::<usize>() as u64;
        let sums = [("train", sum(|s| s.train.len())), ("val", sum(|s| s.validation.len())), ("test", sum(|s| s.test.len()))];
        match meta["masks"].as_object() {
            None => assert_eq!(sums.map(|(_, n)| n), [20 * set.labels().classes() as u64, 500, 1000], "{name}"),
            Some(masks) => {
                for (part, found) in sums {
                    let mask = masks.get(&format!("{part}_mask")).or_else(|| masks.get(&format!("{part}_masks"))).unwrap();
                    assert_eq!(mask[1].as_u64(), Some(found), "{name}: {part}");
                }
            }
        }
    }
}
