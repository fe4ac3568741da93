//! The same operation called through the front of tensors, with a matrix whose layout is there: what a call adds on the device and on the
//! host.

use crate::timing::{Bench, Work};
use anyhow::Result;
use bitgraph_measure::median;
use serde::Serialize;
use std::time::Instant;

/// Calls that are given to the device without waiting: fewer than its queue holds.
const CALLS: usize = 64;

/// What calls through the front take.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Front {
    /// What runs.
    pub form: String,
    /// The median of single calls by the device's clock.
    pub ms: f64,
    /// Microseconds of the host for a call, and for a call of the form itself: the medians of means of calls that follow each other.
    pub host_us: f64,
    pub form_host_us: f64,
}

/// Microseconds of the host for a call that returns before its work is done.
fn host_us(bench: &Bench<'_>, work: Work<'_>) -> Result<f64> {
    let mut all = Vec::new();
    // On the host shim a call is the work itself.
    let (means, calls) = if bench.device.properties().emulated { (1, 1) } else { (bench.options.repeat.clamp(3, 15), CALLS) };
    for _ in 0..means {
        bench.device.synchronize()?;
        let start = Instant::now();
        for _ in 0..calls {
            work()?;
        }
        all.push(start.elapsed().as_secs_f64() * 1e6 / calls as f64);
        bench.device.synchronize()?;
    }
    Ok(median(&all))
}

/// Times `front`, which has been called before, beside the form itself.
pub(crate) fn timed(bench: &Bench<'_>, form: String, front: Work<'_>, own: Work<'_>) -> Result<Front> {
    Ok(Front { form, ms: 1e3 * bench.single(front)?, host_us: host_us(bench, front)?, form_host_us: host_us(bench, own)? })
}

/// Two columns of a table: milliseconds of the device, microseconds of the host for a call and for the form's own.
pub(crate) fn columns(front: Option<&Front>) -> String {
    front.map_or_else(
        || format!("{:>8} {:>12}", "-", "-"),
        |f| format!("{:>8.4} {:>12}", f.ms, format!("{:.1} / {:.1}", f.host_us, f.form_host_us)),
    )
}
/// Their headings.
pub(crate) const HEADER: &str = "    front      host us";
