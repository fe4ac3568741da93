//! The instances of generic operations that are compiled ahead, and the one place where the symbol of an instance is built.

use std::fmt;

/// Names one instance of an operation: over a format and a semiring, with the types of storage, accumulator and output.
///
/// Its [`Display`](fmt::Display) form is the `extern "C"` name in the machine code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Symbol {
    /// The operation, such as `mxv`.
    pub operation: &'static str,
    /// The format of the matrix, such as `b2sr8`.
    pub format: &'static str,
    /// The semiring, such as `plus_times`.
    pub semiring: &'static str,
    /// The type that operands are stored in, such as `f16`.
    pub input: &'static str,
    /// The type that sums are kept in, such as `f32`.
    pub accumulator: &'static str,
    /// The type of the result, such as `f16`.
    pub output: &'static str,
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, format, semiring, input, accumulator, output } = self;
        write!(f, "{operation}_{format}_{semiring}_{input}_{accumulator}_{output}")
    }
}

/// The module that holds the kernels of [`SYMBOLS`].
pub const LISTED_MODULE: &str = "ops/listed";

/// The instances of generic operations that are compiled ahead; every other one is compiled at run time.
pub const SYMBOLS: &[Symbol] = &[
    listed("mxm_dots", "csr", "plus_pair", "u64", "u64", "u64"),
    listed("mxm_entries", "csr", "plus_pair", "u64", "u64", "u64"),
    listed("mxm_dots", "csr", "plus_times", "f32", "f32", "f32"),
    listed("mxm_entries", "csr", "plus_times", "f32", "f32", "f32"),
    listed("mxm_finish", "csr", "plus_pair", "u64", "u64", "u64"),
    listed("mxm_finish", "csr", "plus_times", "f32", "f32", "f32"),
    listed("mxm_products", "csr", "plus_pair", "u64", "u64", "u64"),
    listed("mxm_products", "csr", "plus_times", "f32", "f32", "f32"),
    listed("mxm_sum", "csr", "plus_pair", "u64", "u64", "u64"),
    listed("mxm_sum", "csr", "plus_times", "f32", "f32", "f32"),
    listed("mxv", "b2sr16", "any_second", "u32", "u32", "u32"),
    listed("mxv", "b2sr16", "lor_land", "bool", "bool", "bool"),
    listed("mxv", "b2sr16", "min_plus", "u32", "u32", "u32"),
    listed("mxv", "b2sr16", "min_second", "u32", "u32", "u32"),
    listed("mxv", "b2sr16", "plus_second", "f32", "f32", "f32"),
    listed("mxv", "b2sr16", "plus_second", "f64", "f64", "f64"),
    listed("mxv", "b2sr32", "any_second", "u32", "u32", "u32"),
    listed("mxv", "b2sr32", "lor_land", "bool", "bool", "bool"),
    listed("mxv", "b2sr32", "min_plus", "u32", "u32", "u32"),
    listed("mxv", "b2sr32", "min_second", "u32", "u32", "u32"),
    listed("mxv", "b2sr32", "plus_second", "f32", "f32", "f32"),
    listed("mxv", "b2sr32", "plus_second", "f64", "f64", "f64"),
    listed("mxv", "b2sr4", "any_second", "u32", "u32", "u32"),
    listed("mxv", "b2sr4", "lor_land", "bool", "bool", "bool"),
    listed("mxv", "b2sr4", "min_plus", "u32", "u32", "u32"),
    listed("mxv", "b2sr4", "min_second", "u32", "u32", "u32"),
    listed("mxv", "b2sr4", "plus_second", "f32", "f32", "f32"),
    listed("mxv", "b2sr4", "plus_second", "f64", "f64", "f64"),
    listed("mxv", "b2sr8", "any_second", "u32", "u32", "u32"),
    listed("mxv", "b2sr8", "lor_land", "bool", "bool", "bool"),
    listed("mxv", "b2sr8", "min_plus", "u32", "u32", "u32"),
    listed("mxv", "b2sr8", "min_second", "u32", "u32", "u32"),
    listed("mxv", "b2sr8", "plus_second", "f32", "f32", "f32"),
    listed("mxv", "b2sr8", "plus_second", "f64", "f64", "f64"),
    listed("mxv_chunk", "csr", "any_second", "u32", "u32", "u32"),
    listed("mxv_chunk", "csr", "lor_land", "bool", "bool", "bool"),
    listed("mxv_chunk", "csr", "min_plus", "f32", "f32", "f32"),
    listed("mxv_chunk", "csr", "min_plus", "f64", "f64", "f64"),
    listed("mxv_chunk", "csr", "min_plus", "u32", "u32", "u32"),
    listed("mxv_chunk", "csr", "min_plus", "u64", "u64", "u64"),
    listed("mxv_chunk", "csr", "min_second", "u32", "u32", "u32"),
    listed("mxv_chunk", "csr", "plus_second", "bf16", "f32", "bf16"),
    listed("mxv_chunk", "csr", "plus_second", "f16", "f32", "f16"),
    listed("mxv_chunk", "csr", "plus_second", "f32", "f32", "f32"),
    listed("mxv_chunk", "csr", "plus_second", "f64", "f64", "f64"),
    listed("mxv_chunk", "csr", "plus_times", "bf16", "f32", "bf16"),
    listed("mxv_chunk", "csr", "plus_times", "f16", "f32", "f16"),
    listed("mxv_chunk", "csr", "plus_times", "f32", "f32", "f32"),
    listed("mxv_chunk", "csr", "plus_times", "f64", "f64", "f64"),
    listed("mxv", "csr", "any_second", "u32", "u32", "u32"),
    listed("mxv", "csr", "lor_land", "bool", "bool", "bool"),
    listed("mxv", "csr", "min_plus", "f32", "f32", "f32"),
    listed("mxv", "csr", "min_plus", "f64", "f64", "f64"),
    listed("mxv", "csr", "min_plus", "u32", "u32", "u32"),
    listed("mxv", "csr", "min_plus", "u64", "u64", "u64"),
    listed("mxv", "csr", "min_second", "u32", "u32", "u32"),
    listed("mxv", "csr", "plus_second", "bf16", "f32", "bf16"),
    listed("mxv", "csr", "plus_second", "f16", "f32", "f16"),
    listed("mxv", "csr", "plus_second", "f32", "f32", "f32"),
    listed("mxv", "csr", "plus_second", "f64", "f64", "f64"),
    listed("mxv", "csr", "plus_times", "bf16", "f32", "bf16"),
    listed("mxv", "csr", "plus_times", "f16", "f32", "f16"),
    listed("mxv", "csr", "plus_times", "f32", "f32", "f32"),
    listed("mxv", "csr", "plus_times", "f64", "f64", "f64"),
    listed("mxv_finish", "csr", "any_second", "u32", "u32", "u32"),
    listed("mxv_finish", "csr", "lor_land", "bool", "bool", "bool"),
    listed("mxv_finish", "csr", "min_plus", "f32", "f32", "f32"),
    listed("mxv_finish", "csr", "min_plus", "f64", "f64", "f64"),
    listed("mxv_finish", "csr", "min_plus", "u32", "u32", "u32"),
    listed("mxv_finish", "csr", "min_plus", "u64", "u64", "u64"),
    listed("mxv_finish", "csr", "min_second", "u32", "u32", "u32"),
    listed("mxv_finish", "csr", "plus_second", "bf16", "f32", "bf16"),
    listed("mxv_finish", "csr", "plus_second", "f16", "f32", "f16"),
    listed("mxv_finish", "csr", "plus_second", "f32", "f32", "f32"),
    listed("mxv_finish", "csr", "plus_second", "f64", "f64", "f64"),
    listed("mxv_finish", "csr", "plus_times", "bf16", "f32", "bf16"),
    listed("mxv_finish", "csr", "plus_times", "f16", "f32", "f16"),
    listed("mxv_finish", "csr", "plus_times", "f32", "f32", "f32"),
    listed("mxv_finish", "csr", "plus_times", "f64", "f64", "f64"),
    listed("mxv_long", "b2sr16", "any_second", "u32", "u32", "u32"),
    listed("mxv_long", "b2sr16", "lor_land", "bool", "bool", "bool"),
    listed("mxv_long", "b2sr16", "min_plus", "u32", "u32", "u32"),
    listed("mxv_long", "b2sr16", "min_second", "u32", "u32", "u32"),
    listed("mxv_long", "b2sr16", "plus_second", "f32", "f32", "f32"),
    listed("mxv_long", "b2sr16", "plus_second", "f64", "f64", "f64"),
    listed("mxv_long", "b2sr32", "any_second", "u32", "u32", "u32"),
    listed("mxv_long", "b2sr32", "lor_land", "bool", "bool", "bool"),
    listed("mxv_long", "b2sr32", "min_plus", "u32", "u32", "u32"),
    listed("mxv_long", "b2sr32", "min_second", "u32", "u32", "u32"),
    listed("mxv_long", "b2sr32", "plus_second", "f32", "f32", "f32"),
    listed("mxv_long", "b2sr32", "plus_second", "f64", "f64", "f64"),
    listed("mxv_long", "b2sr4", "any_second", "u32", "u32", "u32"),
    listed("mxv_long", "b2sr4", "lor_land", "bool", "bool", "bool"),
    listed("mxv_long", "b2sr4", "min_plus", "u32", "u32", "u32"),
    listed("mxv_long", "b2sr4", "min_second", "u32", "u32", "u32"),
    listed("mxv_long", "b2sr4", "plus_second", "f32", "f32", "f32"),
    listed("mxv_long", "b2sr4", "plus_second", "f64", "f64", "f64"),
    listed("mxv_long", "b2sr8", "any_second", "u32", "u32", "u32"),
    listed("mxv_long", "b2sr8", "lor_land", "bool", "bool", "bool"),
    listed("mxv_long", "b2sr8", "min_plus", "u32", "u32", "u32"),
    listed("mxv_long", "b2sr8", "min_second", "u32", "u32", "u32"),
    listed("mxv_long", "b2sr8", "plus_second", "f32", "f32", "f32"),
    listed("mxv_long", "b2sr8", "plus_second", "f64", "f64", "f64"),
    listed("mxv_values", "csr", "min_plus", "f32", "f32", "f32"),
    listed("mxv_values", "csr", "min_plus", "f64", "f64", "f64"),
    listed("mxv_values", "csr", "min_plus", "u32", "u32", "u32"),
    listed("mxv_values", "csr", "min_plus", "u64", "u64", "u64"),
    listed("mxv_values", "csr", "plus_times", "bf16", "f32", "bf16"),
    listed("mxv_values", "csr", "plus_times", "f16", "f32", "f16"),
    listed("mxv_values", "csr", "plus_times", "f32", "f32", "f32"),
    listed("mxv_values", "csr", "plus_times", "f64", "f64", "f64"),
];

const fn listed(
    operation: &'static str,
    format: &'static str,
    semiring: &'static str,
    input: &'static str,
    accumulator: &'static str,
    output: &'static str,
) -> Symbol {
    Symbol { operation, format, semiring, input, accumulator, output }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listed_modules;
    use std::collections::HashSet;

    #[test]
    fn names_are_built_from_all_parts() {
        let symbol = Symbol { operation: "mxv", format: "b2sr8", semiring: "plus_second", input: "f16", accumulator: "f32", output: "f16" };
        assert_eq!(symbol.to_string(), "mxv_b2sr8_plus_second_f16_f32_f16");
    }

    #[test]
    fn names_are_distinct() {
        let names: Vec<String> = listed_modules()
            .flat_map(|m| m.kernels.iter().map(ToString::to_string))
            .chain(SYMBOLS.iter().map(ToString::to_string))
            .collect();
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
    }
}
