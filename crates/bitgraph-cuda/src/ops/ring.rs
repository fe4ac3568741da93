//! The kernels of a semiring: compiled ahead if it is listed, else from its expressions at first use.
//!
//! Invariant: a family of kernels (those of lists, of tiles of all sizes, of matrix products) is one module. Under the host shim all
//! families of a semiring are, since starting a compiler costs more there than compiling.

use super::operator::unsupported;
use super::source;
use crate::Result;
use crate::device::{Device, Kernel, Parameters};
use bitgraph_backend::StorableSemiring;
use bitgraph_kernels::{LISTED_MODULE, SYMBOLS};
use bitgraph_semiring::{DeviceExpr, DeviceMonoid, Monoid, builtin_name};
use std::collections::HashSet;
use std::sync::OnceLock;

/// Kernels that are compiled together: what they are named (`{operation}_{format}_...`), and the macro of `kernels/ops` that makes them.
pub(crate) struct Family {
    name: &'static str,
    include: &'static str,
    text: fn(&str) -> String,
}

#[cfg(test)]
impl Family {
    /// The text that makes the kernels of a semiring whose names end in `tail`.
    pub fn text_for(&self, tail: &str) -> String {
        (self.text)(tail)
    }
}

pub(crate) static CSR: Family = Family {
    name: "csr",
    include: "ops/mxv.cuh",
    text: |t| {
        format!(
            "BG_MXV_CSR(Semiring, mxv_csr_{t})\nBG_MXV_CSR_VALUES(Semiring, mxv_values_csr_{t})\nBG_MXV_CSR_LONG(Semiring, mxv_chunk_csr_{t}, mxv_finish_csr_{t})\n"
        )
    },
};
pub(crate) static TILES: Family = Family {
    name: "tiles",
    include: "ops/mxv_tiles.cuh",
    text: |t| [4, 8, 16, 32].map(|size| format!("BG_MXV_TILES(Semiring, {size}, mxv_b2sr{size}_{t}, mxv_long_b2sr{size}_{t})\n")).concat(),
};
pub(crate) static MXM: Family = Family {
    name: "mxm",
    include: "ops/mxm.cuh",
    text: |t| {
        format!("BG_MXM(Semiring, mxm_sum_csr_{t}, mxm_entries_csr_{t}, mxm_dots_csr_{t}, mxm_products_csr_{t}, mxm_finish_csr_{t})\n")
    },
};

fn listed() -> &'static HashSet<String> {
    static NAMES: OnceLock<HashSet<String>> = OnceLock::new();
    NAMES.get_or_init(|| SYMBOLS.iter().map(ToString::to_string).collect())
}

/// The device forms of a semiring and of its sums.
fn forms<S: StorableSemiring>() -> Result<(DeviceExpr, DeviceMonoid)> {
    let Some(expr) = S::DEVICE else {
        return Err(unsupported("a product", format!("the semiring {}, which has no device expression", S::NAME)));
    };
    let Some(sum) = <S::Add as Monoid<S::Acc>>::DEVICE else {
        let name = <S::Add as Monoid<S::Acc>>::NAME;
        return Err(unsupported("a product", format!("the monoid {name} of the semiring {}, which has no device expression", S::NAME)));
    };
    Ok((expr, sum))
}

/// The kernel `operation` (such as `mxv_csr`) of a family for the semiring S.
///
/// # Errors
/// `Unsupported` if S has no device form; whatever the compiler says.
pub(crate) fn kernel<S: StorableSemiring, P: Parameters>(device: &Device, family: &Family, operation: &str) -> Result<Kernel<P>> {
    let (expr, sum) = forms::<S>()?;
    let tail = source::ring_tail::<S>();
    let name = format!("{operation}_{tail}");
    // A user's semiring may have a built-in one's name without being that one.
    if builtin_name::<S>().is_some() && listed().contains(&name) {
        return device.kernel(LISTED_MODULE, &name);
    }
    let together = device.properties().emulated;
    let part = if together { "all" } else { family.name };
    let module = format!("{part} {tail} {} | {expr:?} | {sum:?}", std::any::type_name::<S>());
    device.compiled(&module, &name, || {
        let families = [&CSR, &TILES, &MXM];
        text::<S>(&expr, &sum, families.into_iter().filter(|f| together || f.name == family.name))
    })
}

/// The text of a module.
fn text<'a, S: StorableSemiring>(expr: &DeviceExpr, sum: &DeviceMonoid, families: impl Iterator<Item = &'a Family>) -> String {
    let tail = source::ring_tail::<S>();
    let (mut includes, mut kernels) = (String::new(), String::new());
    for family in families {
        includes += &format!("#include \"{}\"\n", family.include);
        kernels += &(family.text)(&tail);
    }
    format!("{includes}namespace {{\n{}}}\n{kernels}", source::ring::<S>("Semiring", expr, sum))
}
