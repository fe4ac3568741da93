//! Conversions between formats, and what they are made of.

use super::Listed;

/// The modules of `formats/` and their kernels.
pub const MODULES: &[Listed] = &[
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
    Listed { name: "formats/scales", kernels: &["scales_of_degrees"] },
    Listed { name: "formats/scan", kernels: &["scan_u32", "scan_u64"] },
    Listed { name: "formats/sgt", kernels: &["sgt_sizes", "sgt_light", "sgt_heavy", "sgt_gather", "sgt_count_blocks", "sgt_fill"] },
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
];
