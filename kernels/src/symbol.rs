//! The table of kernels that are compiled ahead, and the one place where a kernel's symbol is built.

use std::fmt;

/// A source file and the kernels that it defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The module: the file's path without its ending.
    pub name: &'static str,
    /// The `extern "C"` names.
    pub kernels: &'static [&'static str],
}

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

/// The modules whose kernels are written out: fused algorithms, conversions, fixed operations.
pub const MODULES: &[Listed] = &[
    Listed {
        name: "ops/bits",
        kernels: &[
            "bits_bin_4",
            "bits_bin_8",
            "bits_bin_16",
            "bits_bin_32",
            "bits_count_4",
            "bits_count_8",
            "bits_count_16",
            "bits_count_32",
            "bits_sum_4_f32",
            "bits_sum_8_f32",
            "bits_sum_16_f32",
            "bits_sum_32_f32",
            "bits_sum_4_f64",
            "bits_sum_8_f64",
            "bits_sum_16_f64",
            "bits_sum_32_f64",
            "bits_product_4",
            "bits_product_8",
            "bits_product_16",
            "bits_product_32",
        ],
    },
    Listed { name: "ops/limits", kernels: &["limit_copy", "limit_gather", "limit_atomic"] },
    Listed {
        name: "ops/elementwise",
        kernels: &[
            "ewise_bool",
            "apply_bool",
            "filter_bool",
            "test_bool",
            "fold_bool",
            "fold_finish_bool",
            "fold_rows_bool",
            "ewise_i8",
            "apply_i8",
            "filter_i8",
            "test_i8",
            "fold_i8",
            "fold_finish_i8",
            "fold_rows_i8",
            "ewise_i16",
            "apply_i16",
            "filter_i16",
            "test_i16",
            "fold_i16",
            "fold_finish_i16",
            "fold_rows_i16",
            "ewise_i32",
            "apply_i32",
            "filter_i32",
            "test_i32",
            "fold_i32",
            "fold_finish_i32",
            "fold_rows_i32",
            "ewise_i64",
            "apply_i64",
            "filter_i64",
            "test_i64",
            "fold_i64",
            "fold_finish_i64",
            "fold_rows_i64",
            "ewise_u8",
            "apply_u8",
            "filter_u8",
            "test_u8",
            "fold_u8",
            "fold_finish_u8",
            "fold_rows_u8",
            "ewise_u16",
            "apply_u16",
            "filter_u16",
            "test_u16",
            "fold_u16",
            "fold_finish_u16",
            "fold_rows_u16",
            "ewise_u32",
            "apply_u32",
            "filter_u32",
            "test_u32",
            "fold_u32",
            "fold_finish_u32",
            "fold_rows_u32",
            "ewise_u64",
            "apply_u64",
            "filter_u64",
            "test_u64",
            "fold_u64",
            "fold_finish_u64",
            "fold_rows_u64",
            "ewise_f16",
            "apply_f16",
            "filter_f16",
            "test_f16",
            "fold_f16",
            "fold_finish_f16",
            "fold_rows_f16",
            "ewise_bf16",
            "apply_bf16",
            "filter_bf16",
            "test_bf16",
            "fold_bf16",
            "fold_finish_bf16",
            "fold_rows_bf16",
            "ewise_f32",
            "apply_f32",
            "filter_f32",
            "test_f32",
            "fold_f32",
            "fold_finish_f32",
            "fold_rows_f32",
            "ewise_f64",
            "apply_f64",
            "filter_f64",
            "test_f64",
            "fold_f64",
            "fold_finish_f64",
            "fold_rows_f64",
        ],
    },
    Listed {
        name: "ops/structure",
        kernels: &[
            "merge_flags",
            "merge_scatter",
            "expand_counts",
            "expand",
            "segment_heads",
            "segment_places",
            "kronecker_counts",
            "kronecker_fill",
            "relabel_keys",
            "pair_sources",
            "kept_offsets",
            "last_slots",
            "long_rows",
        ],
    },
    Listed { name: "graph/sssp_tile", kernels: &["sssp_tile_short", "sssp_tile_2", "sssp_tile_4"] },
    Listed {
        name: "graph/sssp_partition",
        kernels: &[
            "sssp_cell_seeds",
            "sssp_cells",
            "sssp_cell_links",
            "sssp_tile_count",
            "sssp_tile_keys",
            "sssp_tile_places",
            "sssp_tile_marks",
            "sssp_tile_fill",
        ],
    },
    Listed { name: "graph/sssp_prepare", kernels: &["sssp_summary", "sssp_convert", "sssp_heaviest", "sssp_result"] },
    Listed { name: "graph/sssp_rows", kernels: &["sssp_row_sizes", "sssp_row_keys", "sssp_row_places", "sssp_row_arcs"] },
    Listed { name: "graph/sssp_sweep", kernels: &["sssp_sweep", "sssp_sweep_single"] },
    Listed { name: "graph/sssp_general", kernels: &["sssp_general_u32", "sssp_general_u64", "sssp_general_f32", "sssp_general_f64"] },
    Listed {
        name: "graph/sssp_parents",
        kernels: &["sssp_parents_u32", "sssp_parents_u64", "sssp_parents_f32", "sssp_parents_f64", "sssp_stuck_u64", "sssp_farthest"],
    },
    Listed { name: "graph/pagerank", kernels: &["pagerank_inverse", "pagerank_f32", "pagerank_f64"] },
    Listed {
        name: "graph/pagerank_build",
        kernels: &[
            "tiles_widest",
            "tiles_keys",
            "tiles_deal",
            "tiles_count",
            "tiles_cold_count",
            "tiles_cold_fill",
            "tiles_readers",
            "tiles_plan",
            "tiles_fill",
            "tiles_order",
        ],
    },
    Listed { name: "graph/pagerank_core", kernels: &["pagerank_core"] },
    Listed {
        name: "graph/pagerank_shared",
        kernels: &["pagerank_window", "pagerank_window_streamed", "pagerank_grid", "pagerank_grid_streamed"],
    },
    Listed { name: "graph/pagerank_small", kernels: &["pagerank_block", "pagerank_cluster"] },
    Listed {
        name: "ops/spmv",
        kernels: &[
            "spmv_rows_pattern_f32",
            "spmv_rows_values_f32",
            "spmv_rows_pattern_f64",
            "spmv_rows_values_f64",
            "spmv_columns_count",
            "spmv_columns_most",
            "spmv_columns_keys",
            "spmv_columns_order",
            "spmv_diagonals_probe",
            "spmv_diagonals_count",
            "spmv_diagonals_fill",
            "spmv_diagonals_pattern",
            "spmv_diagonals_values",
            "spmv_diagonals_few",
        ],
    },
    Listed { name: "ops/row_bins", kernels: &["row_bins_count", "row_bins_scan", "row_bins_place", "row_bins_cut"] },
    Listed {
        name: "formats/basic",
        kernels: &[
            "fill_u32",
            "fill_u64",
            "iota_u32",
            "gather_1",
            "gather_2",
            "gather_4",
            "gather_8",
            "invert_u32",
            "compact_u32",
            "reduce_u32",
            "histogram_u32",
        ],
    },
    Listed {
        name: "formats/csr",
        kernels: &[
            "csr_degrees",
            "csr_rows",
            "csr_relabel",
            "csr_bounds",
            "split_u64",
            "pairs_both_ways",
            "pairs_distinct",
            "orient_count",
            "orient_fill",
        ],
    },
    Listed { name: "formats/hybrid", kernels: &["hybrid_tiles", "hybrid_list"] },
    Listed { name: "formats/order", kernels: &["order_levels"] },
    Listed { name: "formats/profile", kernels: &["profile_distances", "profile_degrees", "profile_sample"] },
    Listed { name: "formats/scan", kernels: &["scan_u32", "scan_u64"] },
    Listed {
        name: "formats/sort",
        kernels: &[
            "sort_count_u32",
            "sort_count_u64",
            "sort_places",
            "sort_sweep_u32",
            "sort_sweep_u32_u32",
            "sort_sweep_u32_u64",
            "sort_sweep_u64",
            "sort_sweep_u64_u32",
            "sort_sweep_u64_u64",
        ],
    },
    Listed {
        name: "formats/tiles",
        kernels: &[
            "tiles_light_4",
            "tiles_light_8",
            "tiles_light_16",
            "tiles_light_32",
            "tiles_light_hybrid",
            "tiles_heavy_4",
            "tiles_heavy_8",
            "tiles_heavy_16",
            "tiles_heavy_32",
            "tiles_heavy_hybrid",
            "tiles_gather_4",
            "tiles_gather_8",
        ],
    },
    Listed { name: "formats/untile", kernels: &["untile_4", "untile_8", "untile_16", "untile_32"] },
    Listed { name: "graph/bfs", kernels: &["bfs_grid_levels", "bfs_grid_parents"] },
    Listed {
        name: "graph/bfs_slices",
        kernels: &["bfs_slices_4x1", "bfs_slices_4x2", "bfs_slices_8x1", "bfs_slices_8x2", "bfs_slices_24x1"],
    },
    Listed { name: "graph/bfs_slices_build", kernels: &["bfs_bandwidth", "bfs_slices_count", "bfs_slices_fill"] },
    Listed {
        name: "graph/bfs_block",
        kernels: &["bfs_block_8", "bfs_block_16", "bfs_block_24", "bfs_cluster_8", "bfs_cluster_16", "bfs_cluster_24", "bfs_arcs"],
    },
    Listed { name: "graph/msbfs", kernels: &["msbfs_128", "msbfs_512", "msbfs_hubs", "msbfs_count_pieces", "msbfs_fill_pieces"] },
    Listed { name: "graph/bfs_order", kernels: &["bfs_farthest"] },
    Listed { name: "graph/bfs_prepare", kernels: &["bfs_isolated", "bfs_first", "bfs_parents_of_levels"] },
    Listed { name: "graph/cc_ascent", kernels: &["cc_ascent", "cc_heaviest", "cc_reach"] },
    Listed { name: "graph/cc_block", kernels: &["cc_arcs", "cc_block"] },
    Listed { name: "graph/cc_general", kernels: &["cc_general"] },
    Listed { name: "graph/cc_hook", kernels: &["cc_hook_shared", "cc_hook_memory"] },
    Listed { name: "graph/cc_probe", kernels: &["cc_near", "cc_probe"] },
    Listed { name: "graph/cc_sizes", kernels: &["cc_sizes"] },
    Listed { name: "graph/tc_general", kernels: &["tc_general"] },
    Listed { name: "graph/tc_orient", kernels: &["tc_orient_count", "tc_orient_fill", "tc_classes"] },
    Listed { name: "graph/tc_hubs", kernels: &["tc_hubs_matrix", "tc_hubs_high_count", "tc_hubs_high_fill", "tc_hubs"] },
    Listed { name: "graph/tc_short", kernels: &["tc_short_thread4", "tc_short_thread8", "tc_short_warp"] },
];

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

/// The entry of [`SYMBOLS`] whose name is `name`. O(entries).
#[must_use]
pub fn find(name: &str) -> Option<&'static Symbol> {
    SYMBOLS.iter().find(|symbol| symbol.to_string() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_built_from_all_parts() {
        let symbol = Symbol { operation: "mxv", format: "b2sr8", semiring: "plus_second", input: "f16", accumulator: "f32", output: "f16" };
        assert_eq!(symbol.to_string(), "mxv_b2sr8_plus_second_f16_f32_f16");
    }

    #[test]
    fn names_are_distinct() {
        let names: Vec<String> =
            MODULES.iter().flat_map(|m| m.kernels.iter().map(ToString::to_string)).chain(SYMBOLS.iter().map(ToString::to_string)).collect();
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
        assert_eq!(find("mxv_csr_plus_times_f32_f32_nothing"), None);
    }

    #[test]
    fn every_listed_module_has_its_source_and_every_kernel_its_entry() {
        for module in MODULES {
            let file = crate::source(&format!("{}.cu", module.name)).unwrap_or_else(|| panic!("{} has no source", module.name));
            let texts: String = std::iter::once(file).chain(crate::includes(file.text)).map(|s| s.text).collect();
            // A kernel made by a macro is named in its call.
            for kernel in module.kernels {
                assert!(texts.contains(kernel), "{kernel} is not in {}", module.name);
            }
        }
    }
}
