//! What runs beside the formats on a GPU: cuSPARSE.
//!
//! Invariant: a peer that is not installed takes no part, and that is no error.

use super::contender::{Contender, ITERATIONS, bits, floats};
use crate::choice::{Operation, Precision};
use crate::failure::Result;
use bitgraph::cuda::DeviceCsr;
use bitgraph::cuda::device::Device;
use bitgraph::sparse::Csr;
use bitgraph_measure::contender::{Answer, Layout, Outcome, Purpose};
use bitgraph_measure::cusparse::CusparseSpmv;
use bitgraph_measure::{Clock, Launches};
use std::time::Instant;

/// All that have something to show for an operation, in single precision where it sums.
pub fn all(device: &Device, clock: &Clock, operation: Operation, precision: Precision, csr: &Csr) -> Result<Vec<Contender>> {
    let lists = || DeviceCsr::upload(device, csr);
    Ok(match operation {
        Operation::MxvFloat | Operation::PageRank if precision != Precision::F32 => Vec::new(),
        Operation::MxvFloat | Operation::MxvBool | Operation::PageRank => {
            cusparse(device, clock, &lists()?, operation)?.into_iter().collect()
        }
        _ => Vec::new(),
    })
}

/// The product of float CSR by cuSPARSE; for `PageRank` as many in a row as it has iterations.
fn cusparse(device: &Device, clock: &Clock, lists: &DeviceCsr, operation: Operation) -> Result<Option<Contender>> {
    let n = lists.columns;
    let x = if operation == Operation::MxvBool { bits(n).into_iter().map(|b| f32::from(u8::from(b))).collect() } else { floats(n) };
    let start = Instant::now();
    let Some(peer) = CusparseSpmv::new(device, lists, &x)? else { return Ok(None) };
    device.synchronize()?;
    let build_s = start.elapsed().as_secs_f64();
    let nnz = lists.nnz as u64;
    let clock = clock.clone();
    let run = move |purpose: Purpose| {
        let several = (Launches::Row(ITERATIONS as usize), ITERATIONS as usize);
        let (launches, products) = if operation == Operation::PageRank { several } else { (purpose.launches(), 1) };
        let seconds = peer.seconds(&clock, launches)? * products as f64;
        let answer = match operation {
            _ if purpose != Purpose::Check => None,
            Operation::MxvFloat => Some(Answer::Sums(peer.result()?.into_iter().map(f64::from).collect())),
            Operation::MxvBool => Some(Answer::Exact(peer.result()?.into_iter().map(|s| u64::from(s != 0.0)).collect())),
            _ => None,
        };
        Ok(Outcome { seconds, answer, edges: nnz * products as u64 })
    };
    Ok(Some(Contender::new("cusparse", build_s, run).with_layout(Layout { format: "csr with f32", order: "none", bytes: 0 })))
}
