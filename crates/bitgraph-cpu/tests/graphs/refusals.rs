//! Every operand of every vector operation one too short and one too long, and every weight that shortest paths have no use for:
//! refused with the numbers, the output as it was.

use bitgraph_algorithms::{BfsConfig, SsspConfig, Typed};
use bitgraph_b2sr::Layout;
use bitgraph_backend::ops::{
    Computation, Operation, VectorSelector, Writes, apply, assign, assign_at, ewise_add, ewise_mult, extract, mxv, select, vxm,
};
use bitgraph_backend::{Error, Graph, GraphData, Matrix, Request, Symmetry, Vector};
use bitgraph_cpu::Cpu;
use bitgraph_semiring::{AdditiveInverse, Min, PlusTimes, ValueNonZero};
use bitgraph_sparse::ordering::Ordering;
use bitgraph_sparse::{Coo, Csr, Duplicates, FormatKind, Values, Vector as HostVector};

/// A matrix of 5 rows and 7 columns.
fn matrix(cpu: &Cpu) -> Matrix<Cpu> {
    let csr = Coo::pattern(5, 7, vec![0, 1, 4], vec![6, 2, 0]).into_csr(Duplicates::First).unwrap().0;
    Matrix::new(cpu, &csr, Some(&Values::from_vec(vec![1f32, 2.0, 3.0])), FormatKind::Csr).unwrap()
}

fn filled(len: usize, value: f32) -> Vector<Cpu, f32> {
    Vector::filled(&Cpu::new(), len, value).unwrap()
}

/// Where an operation writes: an output, under a mask.
struct Place {
    output: Vector<Cpu, f32>,
    mask: Vector<Cpu, bool>,
    unless: bool,
}

impl Place {
    fn write<F>(&mut self, operation: Operation<F>) -> Result<(), Error>
    where
        F: Computation<Backend = Cpu, Mask = VectorSelector<Cpu>> + Writes<Output = Vector<Cpu, f32>>,
    {
        let masked = if self.unless { operation.unless(&self.mask) } else { operation.mask_values(&self.mask) };
        masked.into(&mut self.output)
    }
}

/// Calls an operation with operands of these lengths: the output, the mask, the inputs. What is wrong must be said to be wrong.
fn each(operation: &str, lengths: &[usize], call: impl Fn(&mut Place, &[Vector<Cpu, f32>]) -> Result<(), Error>) {
    let run = |lengths: &[usize]| {
        let mut place =
            Place { output: filled(lengths[0], 9.0), mask: Vector::filled(&Cpu::new(), lengths[1], true).unwrap(), unless: false };
        let inputs: Vec<Vector<Cpu, f32>> = lengths[2..].iter().map(|&len| filled(len, 1.0)).collect();
        for unless in [false, true] {
            place.unless = unless;
            let result = call(&mut place, &inputs);
            if result.is_err() {
                assert_eq!(place.output.to_host().unwrap(), HostVector::filled(lengths[0], 9f32), "{operation} {lengths:?}");
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
                    assert_eq!(named, operation, "{lengths:?}");
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
    let cpu = Cpu::new();
    let a = matrix(&cpu);
    let ring = PlusTimes::<f32>::new();
    each("mxv", &[5, 5, 7], |w, u| w.write(mxv(ring, &a, &u[0])));
    each("mxv", &[7, 7, 5], |w, u| w.write(mxv(ring, &a, &u[0]).transpose_a()));
    each("vxm", &[7, 7, 5], |w, u| w.write(vxm(&u[0], ring, &a)));
    each("ewise_add", &[6, 6, 6, 6], |w, u| w.write(ewise_add(Min, &u[0], &u[1])));
    each("ewise_mult", &[6, 6, 6, 6], |w, u| w.write(ewise_mult(Min, &u[0], &u[1])));
    each("apply", &[6, 6, 6], |w, u| w.write(apply(AdditiveInverse, &u[0])));
    each("select", &[6, 6, 6], |w, u| w.write(select(ValueNonZero, &u[0])));
    each("assign", &[6, 6], |w, _| w.write(assign(3f32)));
    each("extract", &[3, 3], |w, _| w.write(extract(&filled(9, 1.0), &[8, 0, 8])));
    // The output of an assignment may be of any length that its indices are below.
    let assigned = |mask: usize, part: usize| {
        let (mut w, mask) = (filled(6, 0.0), Vector::filled(&cpu, mask, true).unwrap());
        let result = assign_at(&filled(part, 1.0), &[5, 0]).mask_values(&mask).into(&mut w);
        let expected = if result.is_ok() { vec![1f32, 0.0, 0.0, 0.0, 0.0, 1.0] } else { vec![0.0; 6] };
        assert_eq!(w.to_host().unwrap(), HostVector::from_vec(expected));
        result
    };
    assert_eq!(assigned(6, 2), Ok(()));
    for (mask, part) in [(5, 2), (7, 2), (6, 1), (6, 3)] {
        assert!(matches!(assigned(mask, part), Err(Error::Shape { operation: "assign_at", .. })), "mask {mask}, part {part}");
    }
}

#[test]
fn weights_that_no_path_has_are_refused() {
    let csr = || -> Csr { Coo::pattern(3, 3, vec![0, 1, 2], vec![1, 2, 0]).into_csr(Duplicates::First).unwrap().0 };
    let graph = |values: Values, format: FormatKind| {
        let data = GraphData::new(Layout::from_csr(&csr(), format), Some(values), Symmetry::Find, None).unwrap();
        (Graph::new(Cpu::new(), data), Request::forced(format, Ordering::None))
    };
    let paths = |values: Values, format: FormatKind| {
        let (graph, request) = graph(values, format);
        let result = graph.prepare(&Typed::<_, f64>::new(SsspConfig::default()), &request).map(drop);
        assert!(result.is_ok() || graph.bytes() == 0);
        result
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
            match paths(values, format) {
                Err(Error::Weight { row, column, weight: found, .. }) => {
                    assert_eq!((row as usize, column as usize), (at, (at + 1) % 3), "{format}");
                    assert!(found == weight || found.is_nan() && weight.is_nan());
                }
                other => panic!("{format}: weight {weight} of entry {at}: {other:?}"),
            }
        }
        // Zero of either sign is a weight, and who takes no weights does not look at them.
        assert_eq!(paths(Values::from_vec(vec![0.0, -0.0, 1.0]), format), Ok(()));
        let (graph, request) = graph(Values::from_vec(vec![f64::NAN; 3]), format);
        assert_eq!(graph.prepare(&BfsConfig::default(), &request).map(drop), Ok(()));
    }
}
