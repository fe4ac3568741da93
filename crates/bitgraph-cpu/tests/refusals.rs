//! Every operand of every vector operation one too short and one too long, and every weight that shortest paths have no use for:
//! refused with the numbers, the output as it was.

use bitgraph_backend::ops::{apply, assign, assign_value, ewise_add, ewise_mult, extract, mxv, select, vxm};
use bitgraph_backend::{Algorithm, Backend, Error, Graph, NoAccum, PlanRequest, VectorMask, Workload};
use bitgraph_cpu::{Cpu, CpuMatrix};
use bitgraph_semiring::{AdditiveInverse, Min, PlusTimes, ValueNonZero};
use bitgraph_sparse::{Coo, Csr, Descriptor, Duplicates, FormatKind, Values, Vector};

/// A matrix of 5 rows and 7 columns.
fn matrix() -> CpuMatrix {
    let csr = Coo::pattern(5, 7, vec![0, 1, 4], vec![6, 2, 0]).into_csr(Duplicates::First).unwrap().0;
    Cpu::new().matrix(&csr, Some(&Values::from_vec(vec![1f32, 2.0, 3.0])), FormatKind::Csr).unwrap()
}

/// Calls an operation with operands of these lengths: the output, the mask, the inputs. What is wrong must be said to be wrong.
fn each(
    operation: &str,
    lengths: &[usize],
    call: impl Fn(&mut Vector<f32>, Option<VectorMask<'_, Cpu>>, &[Vector<f32>]) -> Result<(), Error>,
) {
    let run = |lengths: &[usize]| {
        let mut output = Vector::filled(lengths[0], 9f32);
        let mask = Vector::filled(lengths[1], true);
        let inputs: Vec<Vector<f32>> = lengths[2..].iter().map(|&len| Vector::filled(len, 1f32)).collect();
        for mask in [VectorMask::value(&mask), VectorMask::structure(&mask).complement()] {
            let result = call(&mut output, Some(mask), &inputs);
            if result.is_err() {
                assert_eq!(output, Vector::filled(lengths[0], 9f32), "{operation} {lengths:?}");
                return result;
            }
        }
        Ok(())
    };
    assert_eq!(run(lengths), Ok(()), "{operation}");
    for at in 0..lengths.len() {
        for wrong in [lengths[at] - 1, lengths[at] + 1, 0] {
            let mut lengths = lengths.to_vec();
            let right = std::mem::replace(&mut lengths[at], wrong);
            match run(&lengths) {
                Err(Error::Shape { operation: named, expected, found, .. }) => {
                    assert!(named == operation || operation == "vxm", "{named} for {operation}");
                    assert!(
                        [expected, found].contains(&(wrong as u64)) && [expected, found].contains(&(right as u64)),
                        "{operation} {lengths:?}"
                    );
                }
                other => panic!("{operation} of lengths {lengths:?}: {other:?}"),
            }
        }
    }
}

#[test]
fn operands_of_another_length_are_refused() {
    let (cpu, a, plain) = (Cpu::new(), matrix(), Descriptor::DEFAULT);
    let ring = PlusTimes::<f32>::new();
    each("mxv", &[5, 5, 7], |w, m, u| mxv(&cpu, w, m, NoAccum, ring, &a, &u[0], plain));
    each("mxv", &[7, 7, 5], |w, m, u| mxv(&cpu, w, m, NoAccum, ring, &a, &u[0], Descriptor::TRANSPOSE_A));
    each("vxm", &[7, 7, 5], |w, m, u| vxm(&cpu, w, m, NoAccum, ring, &u[0], &a, plain));
    each("ewise_add", &[6, 6, 6, 6], |w, m, u| ewise_add(&cpu, w, m, NoAccum, Min, &u[0], &u[1], plain));
    each("ewise_mult", &[6, 6, 6, 6], |w, m, u| ewise_mult(&cpu, w, m, NoAccum, Min, &u[0], &u[1], plain));
    each("apply", &[6, 6, 6], |w, m, u| apply(&cpu, w, m, NoAccum, AdditiveInverse, &u[0], plain));
    each("select", &[6, 6, 6], |w, m, u| select(&cpu, w, m, NoAccum, ValueNonZero, &u[0], plain));
    each("assign_value", &[6, 6], |w, m, _| assign_value(&cpu, w, m, NoAccum, 3f32, plain));
    each("extract", &[3, 3], |w, m, _| extract(&cpu, w, m, NoAccum, &Vector::filled(9, 1f32), &[8, 0, 8], plain));
    // The output of an assignment may be of any length that its indices are below.
    let assigned = |mask: usize, part: usize| {
        let (mut w, mask) = (Vector::filled(6, 0f32), Vector::filled(mask, true));
        assign(&cpu, &mut w, Some(VectorMask::value(&mask)), NoAccum, &Vector::filled(part, 1f32), &[5, 0], plain)
    };
    assert_eq!(assigned(6, 2), Ok(()));
    for (mask, part) in [(5, 2), (7, 2), (6, 1), (6, 3)] {
        assert!(matches!(assigned(mask, part), Err(Error::Shape { operation: "assign", .. })), "mask {mask}, part {part}");
    }
}

#[test]
fn weights_that_no_path_has_are_refused() {
    let csr = || -> Csr { Coo::pattern(3, 3, vec![0, 1, 2], vec![1, 2, 0]).into_csr(Duplicates::First).unwrap().0 };
    let build = |values: Values, algorithm: Algorithm, format: FormatKind| {
        let request = PlanRequest::forced(Workload::once(algorithm), format, bitgraph_sparse::ordering::Ordering::None);
        Graph::build(Cpu::new(), csr(), Some(values), false, &request).map(drop)
    };
    for format in FormatKind::ALL {
        for (values, at) in [
            (Values::from_vec(vec![f32::NAN, 1.0, 1.0]), 0),
            (Values::from_vec(vec![1.0, f64::NAN, -1.0]), 1),
            (Values::from_vec(vec![1.0, 0.0, -f64::NAN]), 2),
            (Values::from_vec(vec![1.0, 0.0, -1e-300]), 2),
            (Values::from_vec(vec![1.0f32, f32::NEG_INFINITY, 1.0]), 1),
            (Values::from_vec(vec![1, 2, -3i32]), 2),
            (Values::from_vec(vec![1, i64::MIN, -3]), 1),
        ] {
            let weight = values.get_f64(at);
            match build(values, Algorithm::Sssp, format) {
                Err(Error::Weight { row, column, weight: found, .. }) => {
                    assert_eq!((row as usize, column as usize), (at, (at + 1) % 3), "{format}");
                    assert!(found == weight || found.is_nan() && weight.is_nan());
                }
                other => panic!("{format}: weight {weight} of entry {at}: {other:?}"),
            }
        }
        // Zero of either sign is a weight, and who takes no weights does not look at them.
        assert_eq!(build(Values::from_vec(vec![0.0, -0.0, 1.0]), Algorithm::Sssp, format), Ok(()));
        assert_eq!(build(Values::from_vec(vec![f64::NAN; 3]), Algorithm::Bfs, format), Ok(()));
    }
}
