//! Matrix Market reading: what is accepted, and the sentence for what is not.

use crate::{Error, FileFormat, Loaded, ReadOptions, Result, read_from};
use bitgraph_sparse::Values;

fn load(text: &str) -> Result<Loaded> {
    read_from(text.as_bytes(), "t.mtx", &ReadOptions { format: Some(FileFormat::Mtx), ..ReadOptions::default() })
}

fn message(text: &str) -> String {
    load(text).map(|l| format!("{l:?}")).unwrap_err().to_string()
}

#[test]
fn reads_every_kind() {
    let l = load("%%MatrixMarket matrix coordinate pattern general\n% c\n\n3 4 3\n1 2\n3 4\r\n  2\t 1 \n\n").unwrap();
    assert_eq!((l.csr.nrows(), l.csr.ncols(), l.csr.indices()), (3, 4, &[1u32, 0, 3][..]));
    assert_eq!((l.symmetric, l.values), (None, None));
    let l = load("%%MatrixMarket MATRIX Coordinate Integer Symmetric\n3 3 2\n2 1 -5\n3 3 7").unwrap();
    assert_eq!((l.csr.indices(), l.symmetric), (&[1u32, 0, 2][..], Some(true)));
    assert_eq!(l.values, Some(Values::from_vec(vec![-5i32, -5, 7])));
    let l = load("%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 1 4\n2 2 -3000000000\n").unwrap();
    assert_eq!(l.values, Some(Values::from_vec(vec![4i64, -3_000_000_000])));
    let l = load("%%MatrixMarket matrix coordinate unsigned-integer general\n1 1 1\n1 1 18446744073709551615\n").unwrap();
    assert_eq!(l.values, Some(Values::from_vec(vec![u64::MAX])));
    let l = load("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 1.5e1\n").unwrap();
    assert_eq!((l.values, l.symmetric), (Some(Values::from_vec(vec![-15.0f64, 15.0])), Some(false)));
    let l = load("%%MatrixMarket matrix array real general\n2 2\n1\n0\n.5\n-2\n").unwrap();
    assert_eq!((l.csr.indices(), l.values), (&[0u32, 1, 1][..], Some(Values::from_vec(vec![1.0f64, 0.5, -2.0]))));
    let l = load("%%MatrixMarket matrix array integer symmetric\n2 2\n1\n3\n0\n").unwrap();
    assert_eq!((l.csr.indices(), l.values), (&[0u32, 1, 0][..], Some(Values::from_vec(vec![1i32, 3, 3]))));
    let l = load("%%MatrixMarket matrix coordinate pattern general\n0 0 0\n").unwrap();
    assert_eq!((l.csr.nrows(), l.csr.nnz()), (0, 0));
    let options = ReadOptions { as_pattern: true, symmetrize: true, ..ReadOptions::default() };
    let text = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 .5\n2 1 1\n";
    let l = read_from(text.as_bytes(), "t", &options).unwrap();
    assert_eq!((l.csr.indices(), l.values, l.symmetric), (&[1u32, 0][..], None, Some(true)));
}

#[test]
fn arrays_go_column_by_column_from_where_their_symmetry_begins() {
    let numbers = |count: usize| (1..=count).map(|k| format!("{k}\n")).collect::<String>();
    let cell = |l: &Loaded, i: usize, j: u32| {
        let values = l.values.as_ref().unwrap();
        l.csr.position(i, j).map_or(0.0, |k| values.get_f64(k))
    };
    for (symmetry, count, sign) in [("general", 25, 0.0), ("symmetric", 15, 1.0), ("skew-symmetric", 10, -1.0)] {
        let l = load(&format!("%%MatrixMarket matrix array integer {symmetry}\n5 5\n{}", numbers(count))).unwrap();
        let mut next = 0.0;
        for j in 0..5u32 {
            let first = match symmetry {
                "general" => 0,
                "symmetric" => j,
                _ => j + 1,
            };
            for i in first..5 {
                next += 1.0;
                assert_eq!(cell(&l, i as usize, j), next, "{symmetry}: ({i}, {j})");
                assert!(sign == 0.0 || cell(&l, j as usize, i) == sign * next || i == j, "{symmetry}: ({j}, {i})");
            }
        }
        assert_eq!(next, count as f64);
        assert!(message(&format!("%%MatrixMarket matrix array integer {symmetry}\n5 5\n{}", numbers(count + 1))).contains("entry number"));
    }
}

#[test]
fn faults_name_line_and_value() {
    const P: &str = "%%MatrixMarket matrix coordinate pattern general\n% comment\n";
    for (text, wanted) in [
        (format!("{P}3 3 2\n1 2\n1 4\n"), "t.mtx, line 5: column 4 is not in 1..=3"),
        (format!("{P}3 3 2\n1 2\n0 1\n"), "t.mtx, line 5: row 0 is not in 1..=3"),
        (format!("{P}3 3 2\n1 2 7\n1 1\n"), "t.mtx, line 4: '7' follows the last field"),
        (format!("{P}3 3 2\n1 x\n1 1\n"), "t.mtx, line 4: 'x' is not a whole number"),
        (format!("{P}3 3 2\n1\n1 1\n"), "t.mtx, line 4: the line ends where a column should be"),
        (format!("{P}3 3 2\n1 99999999999999999999\n"), "t.mtx, line 3: 2 entries are announced"),
        (format!("{P}3 3 1\n1 99999999999999999999\n"), "t.mtx, line 4: 99999999999999999999 does not fit 64 bits"),
        (format!("{P}3 3 3\n1 2\n1 1\n"), "t.mtx: 3 entries are announced and 2 found"),
        (format!("{P}3 3 1\n1 2\n\n% c\n1 1\n"), "t.mtx, line 7: entry number 2 begins here, and the header announces 1"),
        (format!("{P}3 3\n1 2\n"), "t.mtx, line 3: the line ends where the number of entries should be"),
        (format!("{P}3 3 1 1\n1 2\n"), "t.mtx, line 3: '1' follows the last field"),
        (format!("{P}5000000000 3 1\n1 2\n"), "t.mtx, line 3: a matrix of 5000000000 x 3 has more"),
        (P.to_string(), "t.mtx, line 3: the line ends where the size line"),
        ("%%MatrixMarket matrix coordinate complex general\n".into(), "t.mtx: field 'complex' is not supported"),
        ("%%MatrixMarket matrix coordinate real hermitian\n".into(), "t.mtx: symmetry 'hermitian' is not supported"),
        ("%%MatrixMarket matrix coordinate real symmetric\n3 4 1\n".into(), "t.mtx, line 2: a symmetric matrix must be square"),
        ("%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 1\n1 2 3\n".into(), "t.mtx, line 3: entry (1, 2) lies on or above"),
        (
            "%%MatrixMarket matrix coordinate unsigned-integer skew-symmetric\n3 3 1\n2 1 3\n".into(),
            "t.mtx, line 1: 'unsigned-integer' is not a known field of a skew-symmetric matrix",
        ),
        (
            "%%MatrixMarket matrix coordinate pattern skew-symmetric\n3 3 1\n2 1\n".into(),
            "t.mtx, line 1: 'pattern' is not a known field of a skew-symmetric matrix",
        ),
        ("%%MatrixMarket matrix array pattern general\n3 3\n".into(), "t.mtx, line 1: 'pattern' is not a known field of an array"),
        ("%%MatrixMarket matrix coordinate real general\n3 3 1\n1 2 nan\n".into(), "t.mtx, line 3: the value 'nan' is not finite"),
        ("%%MatrixMarket matrix coordinate real general\n3 3 1\n1 2 1e999\n".into(), "t.mtx, line 3: 1e999 does not fit a 64-bit float"),
        ("%%MatrixMarket matrix coordinate integer general\n3 3 1\n1 2 1.5\n".into(), "t.mtx, line 3: '1.5' is not a whole number"),
        ("%%MatrixMarket matrix coordinate real general\n3 3 1\n1 2\n".into(), "t.mtx, line 3: the line ends where a value should be"),
        ("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n".into(), "t.mtx: 4 entries are announced and 3 found"),
        ("\u{1}\u{2}\n".into(), "t.mtx, line 1: the file begins with '\\x01\\x02' where '%%MatrixMarket matrix' should be"),
        (String::new(), "t.mtx: the file is empty"),
    ] {
        let found = message(&text);
        // A stream has no size to hold the announced number of entries against.
        if !wanted.contains("2 entries are announced") {
            assert!(found.starts_with(wanted), "{text:?}: {found}");
        }
    }
    let sparse = load(&format!("{P}4000000000 4000000000 0\n")).unwrap_err();
    assert!(matches!(sparse, Error::TooSparse { vertices: 4_000_000_000, .. }));
    assert!(sparse.to_string().ends_with("taken on trust; confirm it with --nodes 4000000000"), "{sparse}");
}

#[test]
fn line_numbers_far_into_a_file() {
    let mut text = String::from("%%MatrixMarket matrix coordinate pattern general\n9 9 100001\n");
    for k in 0..100_000 {
        text += &format!("{} {}\n", k % 9 + 1, k / 9 % 9 + 1);
    }
    let good = text.clone() + "9 9\n";
    assert_eq!(load(&good).unwrap().csr.nnz(), 81);
    assert!(message(&(text + "9 0\n")).starts_with("t.mtx, line 100003: column 0"));
}
