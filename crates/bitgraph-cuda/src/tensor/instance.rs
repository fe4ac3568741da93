//! The kernels of a combination of element types: compiled ahead where they are listed, else at their first use from a text that names them.
//!
//! Invariant: a text depends on the names of its kernels alone. Under the host shim a text has all kernels of an element type, since starting
//! a compiler costs more there than compiling.

use crate::device::{Device, Kernel, Mode, Parameters, Shape};
use crate::primitives;
use crate::{Error, Result};
use bitgraph_kernels::listed_modules;
use std::collections::HashSet;
use std::sync::OnceLock;

/// Kernels that one macro makes.
pub(super) struct Instance {
    /// Their names.
    pub names: Vec<String>,
    /// The macro with its arguments.
    pub text: String,
}

impl Instance {
    /// A macro with its arguments, after which come the names of the kernels that it makes.
    pub fn new(with: &str, arguments: &str, names: &[String]) -> Self {
        Self { text: format!("{with}({arguments}, {})", names.join(", ")), names: names.to_vec() }
    }
}

/// The names of the kernels that are compiled ahead.
fn listed() -> &'static HashSet<&'static str> {
    static NAMES: OnceLock<HashSet<&str>> = OnceLock::new();
    NAMES.get_or_init(|| listed_modules().filter(|m| m.name.starts_with("tensor/")).flat_map(|m| m.kernels).copied().collect())
}

/// The kernel `name` of a module of general kernels; `all` makes those that the module's header makes for the same element types.
///
/// # Errors
/// [`Error::NoKernel`] for a name that is not among `all`; whatever the compiler says.
pub(super) fn kernel<P: Parameters>(
    device: &Device,
    module: &'static str,
    name: &str,
    all: impl FnOnce() -> Vec<Instance>,
) -> Result<Kernel<P>> {
    if listed().contains(name) {
        return device.kernel(module, name);
    }
    let missing = || Error::NoKernel { kernel: name.into(), module: module.into(), compute: device.properties().compute };
    let mut all = all();
    let one = all.iter().position(|i| i.names.iter().any(|n| n == name)).ok_or_else(missing)?;
    if !device.properties().emulated {
        all = vec![all.swap_remove(one)];
    }
    let first = all.iter().flat_map(|i| &i.names).next().map_or("", |name| name);
    device.compiled(&format!("{module} {first}"), name, || {
        let lines: String = all.iter().map(|i| format!("{}\n", i.text)).collect();
        format!("#include \"{module}.cuh\"\n{lines}")
    })
}

/// Threads of a block.
pub(super) fn threads(device: &Device) -> u32 {
    primitives::threads(device, primitives::THREADS)
}

/// A launch of so many warps.
///
/// # Errors
/// More than a grid can have.
pub(super) fn warps(device: &Device, warps: u64) -> Result<Shape> {
    let block = threads(device);
    Ok(Shape { grid: primitives::blocks(warps, u64::from(block / 32))?, block, shared: 0, mode: Mode::Plain })
}

/// Launches a kernel whose threads stride over `n` elements; nothing if there are none.
///
/// # Safety
/// As of [`Device::launch`].
pub(super) unsafe fn strided<P: Parameters>(device: &Device, kernel: &Kernel<P>, n: u64, params: &P) -> Result<()> {
    let block = threads(device);
    let most = u64::from(device.properties().sms) * 16;
    let shape = Shape { grid: n.div_ceil(u64::from(block)).min(most) as u32, block, shared: 0, mode: Mode::Plain };
    // SAFETY: the caller's promises.
    unsafe { device.launch(kernel, shape, params) }
}
