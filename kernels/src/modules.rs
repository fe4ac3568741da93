//! The modules whose kernels are written out: fused algorithms, conversions, fixed operations. What is generated of operations and
//! semirings is in [`crate::SYMBOLS`].
//!
//! Invariant: every `.cu` file but that of the instances is here, and every kernel here is in its file.

/// The kernels of names in two parts, each with every type of features between them.
macro_rules! of_features {
    ($($kernel:literal $tail:literal),+ $(,)?) => {
        &[$(concat!($kernel, "_f32", $tail), concat!($kernel, "_f16", $tail), concat!($kernel, "_bf16", $tail)),+]
    };
    ($($kernel:literal $tail:literal),+ ; halves $($half:literal $end:literal),+ $(,)?) => {
        &[
            $(concat!($kernel, "_f32", $tail), concat!($kernel, "_f16", $tail), concat!($kernel, "_bf16", $tail)),+,
            $(concat!($half, "_f16", $end), concat!($half, "_bf16", $end)),+
        ]
    };
}

mod bits;
mod formats;
mod graph;
mod ops;
mod tensor;

/// A source file and the kernels that it defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The module: the file's path without its ending.
    pub name: &'static str,
    /// The `extern "C"` names.
    pub kernels: &'static [&'static str],
}

/// The modules and their kernels.
pub fn listed_modules() -> impl Iterator<Item = &'static Listed> {
    [ops::MODULES, graph::MODULES, formats::MODULES, tensor::MODULES, bits::MODULES].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_module_has_its_source_and_every_kernel_its_entry() {
        for module in listed_modules() {
            let file = crate::source(&format!("{}.cu", module.name)).unwrap_or_else(|| panic!("{} has no source", module.name));
            let texts: String = std::iter::once(*file).chain(crate::includes(file.text)).map(|s| s.text).collect();
            // A kernel made by a macro is named in its call.
            for kernel in module.kernels {
                assert!(texts.contains(kernel), "{kernel} is not in {}", module.name);
            }
        }
    }
}
