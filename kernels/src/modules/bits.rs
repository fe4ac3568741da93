//! Operations of graph neural networks over matrices of few bits.

use super::Listed;

/// The kernels of a name for 1, 2, 4 and 8 planes.
macro_rules! of_planes {
    ($($kernel:literal),+ $(,)?) => {
        &[$(concat!($kernel, "_1"), concat!($kernel, "_2"), concat!($kernel, "_4"), concat!($kernel, "_8")),+]
    };
}

/// The modules of `tensor/` over bits, and their kernels.
pub const MODULES: &[Listed] = &[
    Listed {
        name: "tensor/bits_aggregate",
        kernels: &[
            "bits_aggregate_1x1",
            "bits_aggregate_1x8",
            "bits_aggregate_2x1",
            "bits_aggregate_2x8",
            "bits_aggregate_4x1",
            "bits_aggregate_4x2",
            "bits_aggregate_4x4",
            "bits_aggregate_4x8",
            "bits_signs_4x1",
            "bits_signs_4x2",
            "bits_signs_4x4",
            "bits_signs_4x8",
            "bits_thresholds",
            "bits_classes_count",
            "bits_classes_fill",
        ],
    },
    Listed {
        name: "tensor/bits_rows",
        kernels: &[
            "bits_rows_2x1_1",
            "bits_rows_2x1_2",
            "bits_rows_2x1_4",
            "bits_rows_2x1_8",
            "bits_rows_4x1_1",
            "bits_rows_2x2_2",
            "bits_rows_2x2_4",
            "bits_rows_4x2_1",
            "bits_rows_4x2_2",
            "bits_rows_4x4_1",
            "bits_rows_4x8_1",
        ],
    },
    Listed {
        name: "tensor/bits_strips",
        kernels: &[
            "bits_strips",
            "bits_split",
            "bits_strips_made",
            "bits_slices_mark",
            "bits_slices_measure",
            "bits_slices_cut",
            "bits_slices_pieces",
            "bits_slices_size",
            "bits_slices_fill",
        ],
    },
    Listed {
        name: "tensor/bits_window",
        kernels: &[
            "bits_window_2x3",
            "bits_window_2x5",
            "bits_window_4x3",
            "bits_window_4x5",
            "bits_diagonals_count",
            "bits_diagonals_fill",
        ],
    },
    Listed { name: "tensor/bits_batches", kernels: of_planes!["bits_batches"] },
    Listed {
        name: "tensor/bits_gcn",
        kernels: &[
            "bits_gcn_signs_bits_16",
            "bits_gcn_signs_bits_32",
            "bits_gcn_signs_lists_16",
            "bits_gcn_signs_lists_32",
            "bits_gcn_floats_bits_16",
            "bits_gcn_floats_bits_32",
            "bits_gcn_floats_lists_16",
            "bits_gcn_floats_lists_32",
        ],
    },
    Listed {
        name: "tensor/bits_pack",
        kernels: of_features![
            "bits_pack_rows" "", "bits_pack_vectors_signs" "", "bits_pack_vectors_8" "", "bits_pack_vectors_16" "",
            "bits_pack_columns_signs" "", "bits_pack_columns_8" "", "bits_pack_columns_16" "", "bits_row_means" "", "bits_column_means" "",
        ],
    },
    Listed {
        name: "tensor/bits_product_wide",
        kernels: of_planes![
            "bits_product_narrow",
            "bits_product_narrow_line",
            "bits_product_middle",
            "bits_product_middle_line",
            "bits_product_wide",
            "bits_product_wide_line",
        ],
    },
    Listed { name: "tensor/bits_product_signs", kernels: &["bits_product_signs_512", "bits_product_signs_1024"] },
    Listed {
        name: "tensor/bits_product",
        kernels: &["bits_product_codes", "bits_product_sums", "bits_product_signs", "bits_stream_signs", "bits_line_ones", "bits_line_pad"],
    },
    Listed {
        name: "tensor/bits_general",
        kernels: &[
            "bits_pack_general",
            "bits_unpack_general",
            "bits_means_general",
            "bits_line_sums",
            "bits_gemm_general",
            "bits_spmm_general",
            "bits_fold",
        ],
    },
];
