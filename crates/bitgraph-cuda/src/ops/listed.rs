//! The source of the kernels that are compiled ahead, `kernels/ops/listed.cu`, is written by the same code that writes the source of
//! every other semiring: this test holds the file to it. With `BITGRAPH_WRITE_LISTED` set to a path it writes the file.

use super::ring::{self, CSR, Family};
use super::source;
use bitgraph_backend::Ring;
use bitgraph_kernels::{LISTED_MODULE, SYMBOLS};
use bitgraph_semiring::{AnySecond, LorLand, MinPlus, MinSecond, PlusPair, PlusSecond, PlusTimes};
use half::{bf16, f16};
use std::collections::BTreeSet;

const HEAD: &str =
    "// The listed instances of generic products, compiled ahead. Written by a test of crates/bitgraph-cuda (src/ops/listed.rs) from the
// expressions of the semirings; do not edit.
#include \"ops/mxm.cuh\"
#include \"ops/mxv_tiles.cuh\"
";

struct Listed {
    text: String,
    names: BTreeSet<String>,
}

impl Listed {
    fn add<S: Ring>(&mut self, kernels: &[&str]) {
        let tail = source::ring_tail::<S>();
        let Some(expr) = S::DEVICE else { return };
        let ring = format!("Ring_{tail}");
        self.text += &format!("\nnamespace {{\n{}}}\n", source::ring::<S>(&ring, &expr));
        for line in kernels {
            let line = line.replace("(Ring", &format!("({ring}")).replace('$', &tail);
            self.text += &format!("{line}\n");
            let names = line.split([',', '(', ')', ' ']).filter(|word| word.ends_with(&tail) && !word.starts_with("Ring_"));
            self.names.extend(names.map(str::to_string));
        }
    }
}

const PATTERN: &[&str] = &["BG_MXV_CSR(Ring, mxv_csr_$)", "BG_MXV_CSR_LONG(Ring, mxv_chunk_csr_$, mxv_finish_csr_$)"];
const VALUES: &[&str] = &[
    "BG_MXV_CSR(Ring, mxv_csr_$)",
    "BG_MXV_CSR_VALUES(Ring, mxv_values_csr_$)",
    "BG_MXV_CSR_LONG(Ring, mxv_chunk_csr_$, mxv_finish_csr_$)",
];
const TILES: &[&str] = &[
    "BG_MXV_TILES(Ring, 4, mxv_b2sr4_$, mxv_long_b2sr4_$)",
    "BG_MXV_TILES(Ring, 8, mxv_b2sr8_$, mxv_long_b2sr8_$)",
    "BG_MXV_TILES(Ring, 16, mxv_b2sr16_$, mxv_long_b2sr16_$)",
    "BG_MXV_TILES(Ring, 32, mxv_b2sr32_$, mxv_long_b2sr32_$)",
];
const PRODUCTS: &[&str] = &["BG_MXM(Ring, mxm_sum_csr_$, mxm_entries_csr_$, mxm_dots_csr_$, mxm_products_csr_$, mxm_finish_csr_$)"];

fn listed() -> Listed {
    let mut list = Listed { text: HEAD.into(), names: BTreeSet::new() };
    list.add::<LorLand<bool>>(&[PATTERN, TILES].concat());
    list.add::<PlusSecond<f32>>(&[PATTERN, TILES].concat());
    list.add::<PlusSecond<f64>>(&[PATTERN, TILES].concat());
    list.add::<PlusSecond<f16>>(PATTERN);
    list.add::<PlusSecond<bf16>>(PATTERN);
    list.add::<MinSecond<u32>>(&[PATTERN, TILES].concat());
    list.add::<AnySecond<u32>>(&[PATTERN, TILES].concat());
    list.add::<MinPlus<u32>>(&[VALUES, TILES].concat());
    list.add::<MinPlus<u64>>(VALUES);
    list.add::<MinPlus<f32>>(VALUES);
    list.add::<MinPlus<f64>>(VALUES);
    list.add::<PlusTimes<f32>>(&[VALUES, PRODUCTS].concat());
    list.add::<PlusTimes<f64>>(VALUES);
    list.add::<PlusTimes<f16>>(VALUES);
    list.add::<PlusTimes<bf16>>(VALUES);
    list.add::<PlusPair<u64>>(PRODUCTS);
    list
}

#[test]
fn the_listed_source_is_what_the_semirings_say() {
    let list = listed();
    if let Some(path) = std::env::var_os("BITGRAPH_WRITE_LISTED") {
        std::fs::write(path, &list.text).unwrap();
        for name in &list.names {
            println!("{name}");
        }
        return;
    }
    let file = bitgraph_kernels::source(&format!("{LISTED_MODULE}.cu")).unwrap();
    assert!(file.text == list.text, "kernels/{LISTED_MODULE}.cu is not what the semirings say");
    let table: BTreeSet<String> = SYMBOLS.iter().map(ToString::to_string).collect();
    assert_eq!(table, list.names);
}

/// The families that make kernels at run time name them as the list does.
#[test]
fn listed_kernels_are_found_by_their_names() {
    let tail = source::ring_tail::<LorLand<bool>>();
    let names = listed().names;
    for family in [&CSR, &ring::TILES] {
        let text = Family::text_for(family, &tail);
        let found = text.split([',', '(', ')', ' ', '\n']).filter(|w| w.ends_with(&tail) && !w.contains("values"));
        assert!(found.clone().count() > 0 && found.into_iter().all(|name| names.contains(name)), "{text}");
    }
}
