//! The same operation called through the front of tensors, with a matrix whose layout is there: what a call adds on the device and on the
//! host.

use anyhow::Result;
use bitgraph::cuda::device::Device;
use bitgraph_measure::{Clock, Launches, median};
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

type Work<'a> = &'a dyn Fn() -> bitgraph::cuda::Result<()>;

/// Microseconds of the host for a call that returns before its work is done.
fn host_us(device: &Device, repeat: usize, work: Work<'_>) -> Result<f64> {
    let mut all = Vec::new();
    for _ in 0..repeat.clamp(3, 15) {
        device.synchronize()?;
        let start = Instant::now();
        for _ in 0..CALLS {
            work()?;
        }
        all.push(start.elapsed().as_secs_f64() * 1e6 / CALLS as f64);
        device.synchronize()?;
    }
    Ok(median(&all))
}

/// Times `front`, which has been called before, beside the form itself.
pub(crate) fn timed(device: &Device, clock: &Clock, repeat: usize, form: String, front: Work<'_>, own: Work<'_>) -> Result<Front> {
    let single = || clock.seconds_of::<bitgraph::cuda::Error>(Launches::One, front);
    for _ in 0..3 {
        single()?;
    }
    let all = (0..repeat.max(1)).map(|_| single()).collect::<std::result::Result<Vec<_>, _>>()?;
    Ok(Front { form, ms: 1e3 * median(&all), host_us: host_us(device, repeat, front)?, form_host_us: host_us(device, repeat, own)? })
}

/// Two columns of a table: milliseconds of the device, microseconds of the host for a call and for the form's own.
pub(crate) fn columns(front: Option<&Front>) -> String {
    front.map_or_else(
        || format!("{:>8} {:>12}", "-", "-"),
        |f| format!("{:>8.4} {:>12}", f.ms, format!("{:.1} / {:.1}", f.host_us, f.form_host_us)),
    )
}
/// Their headings.
pub(crate) const HEADER: &str = "   front      host us";
