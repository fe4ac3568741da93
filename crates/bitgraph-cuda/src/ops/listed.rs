//! The source of the kernels that are compiled ahead, `kernels/ops/listed.cu`, is written by the same code that writes the source of
//! every other semiring, and the built-in operators of `kernels/common/builtin.cuh` from their own expressions: this test holds the files to
//! it. With `BITGRAPH_WRITE_LISTED` set to the path of `kernels` it writes them.

use super::operator::{BINARY, Known, TESTS, UNARY};
use super::ring::{self, CSR, Family};
use super::source;
use bitgraph_backend::StorableSemiring;
use bitgraph_kernels::{LISTED_MODULE, SYMBOLS};
use bitgraph_semiring::{
    Any, AnySecond, DeviceMonoid, Land, Lor, LorLand, Lxor, Max, Min, MinPlus, MinSecond, Monoid, Operator, Plus, PlusPair, PlusSecond,
    PlusTimes, Scale, Shift, Times, Tril, ValueAbove,
};
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
    fn add<S: StorableSemiring>(&mut self, kernels: &[&str]) {
        let tail = source::ring_tail::<S>();
        let (Some(expr), Some(sum)) = (S::DEVICE, <S::Add as Monoid<S::Acc>>::DEVICE) else { return };
        let ring = format!("Semiring_{tail}");
        self.text += &format!("\nnamespace {{\n{}}}\n", source::ring::<S>(&ring, &expr, &sum));
        for line in kernels {
            let line = line.replace("(Semiring", &format!("({ring}")).replace('$', &tail);
            self.text += &format!("{line}\n");
            let names = line.split([',', '(', ')', ' ']).filter(|word| word.ends_with(&tail) && !word.starts_with("Semiring_"));
            self.names.extend(names.map(str::to_string));
        }
    }
}

const PATTERN: &[&str] = &["BG_MXV_CSR(Semiring, mxv_csr_$)", "BG_MXV_CSR_LONG(Semiring, mxv_chunk_csr_$, mxv_finish_csr_$)"];
const VALUES: &[&str] = &[
    "BG_MXV_CSR(Semiring, mxv_csr_$)",
    "BG_MXV_CSR_VALUES(Semiring, mxv_values_csr_$)",
    "BG_MXV_CSR_LONG(Semiring, mxv_chunk_csr_$, mxv_finish_csr_$)",
];
const TILES: &[&str] = &[
    "BG_MXV_TILES(Semiring, 4, mxv_b2sr4_$, mxv_long_b2sr4_$)",
    "BG_MXV_TILES(Semiring, 8, mxv_b2sr8_$, mxv_long_b2sr8_$)",
    "BG_MXV_TILES(Semiring, 16, mxv_b2sr16_$, mxv_long_b2sr16_$)",
    "BG_MXV_TILES(Semiring, 32, mxv_b2sr32_$, mxv_long_b2sr32_$)",
];
const PRODUCTS: &[&str] = &["BG_MXM(Semiring, mxm_sum_csr_$, mxm_entries_csr_$, mxm_dots_csr_$, mxm_products_csr_$, mxm_finish_csr_$)"];

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

const BUILTIN: &str =
    "// The built-in operators by their codes. Written by a test of crates/bitgraph-cuda (src/ops/listed.rs) from the formulas of the
// operators; do not edit.
#pragma once
#include \"common/semiring.cuh\"

namespace bg {
/// The code of the monoid that takes the first value.
constexpr u32 ANY_OF = 4;

template <class V> struct Builtin : Functions<V> {
    using Functions<V>::num;
    using Functions<V>::lit;
    using Functions<V>::bg_min_value;
    using Functions<V>::bg_max_value;
";

/// A case for each operator; the field is called `name` in formulas.
fn cases(operators: &[Known], cast: &str) -> String {
    let mut seen = BTreeSet::new();
    let distinct = operators.iter().filter(|k| seen.insert(k.code));
    distinct.map(|k| format!("            case {}: return {cast}({});  // {}\n", k.code, k.expression, k.name)).collect()
}

/// The definition of a field under the name that its formula has for it.
fn field(op: &impl Operator, from: &str) -> String {
    let name = op.parameters()[0].and_then(|p| p.name).unwrap();
    format!("        const auto {name} = {from};\n")
}

fn builtin() -> String {
    fn identity<M: Monoid<f32>>(code: u32) -> (u32, DeviceMonoid) {
        (code, M::DEVICE.unwrap())
    }
    let monoids = [
        identity::<Plus>(0),
        identity::<Times>(1),
        identity::<Min>(2),
        identity::<Max>(3),
        identity::<Any>(4),
        identity::<Lor>(5),
        identity::<Land>(6),
        identity::<Lxor>(7),
    ];
    let identities: String = monoids.iter().map(|(code, m)| format!("            case {code}: return (V)({});\n", m.identity)).collect();
    let end = "        }\n    }\n";
    [
        BUILTIN,
        "    /// A binary operator.\n    BG_DEVICE static V binary(u32 code, V a, V b) {\n        switch (code) {\n",
        &cases(&BINARY, "(V)"),
        "            default: return a;\n",
        end,
        "    /// The identity of a monoid.\n    BG_DEVICE static V identity(u32 code) {\n        switch (code) {\n",
        &identities,
        "            default: return (V)0;\n",
        end,
        "    /// A unary operator; `p0` is its field.\n    BG_DEVICE static V unary(u32 code, V a, V p0) {\n",
        &field(&Scale(0f32), "p0"),
        &field(&Shift(0f32), "p0"),
        "        switch (code) {\n",
        &cases(&UNARY, "(V)"),
        "            default: return a;\n",
        end,
        "};\n\ntemplate <class V> struct BuiltinTests : TestFunctions<V> {\n    using TestFunctions<V>::num;\n    using TestFunctions<V>::lit;\n",
        "    /// A test of an entry; `bits` holds its field, `p0` the same as a value.\n",
        "    BG_DEVICE static bool keep(u32 code, V a, i64 row, i64 column, V p0, i64 bits) {\n",
        &field(&ValueAbove(0f32), "p0"),
        &field(&Tril { diagonal: 0 }, "bits"),
        "        switch (code) {\n",
        &cases(&TESTS, ""),
        "            default: return true;\n",
        end,
        "};\n}  // namespace bg\n",
    ]
    .concat()
}

#[test]
fn the_written_sources_are_what_the_operators_say() {
    let list = listed();
    let files = [(format!("{LISTED_MODULE}.cu"), &list.text), ("common/builtin.cuh".to_string(), &builtin())];
    if let Some(folder) = std::env::var_os("BITGRAPH_WRITE_LISTED") {
        for (path, text) in files {
            std::fs::write(std::path::Path::new(&folder).join(path), text).unwrap();
        }
        list.names.iter().for_each(|name| println!("{name}"));
        return;
    }
    for (path, text) in files {
        assert!(bitgraph_kernels::source(&path).unwrap().text == text, "kernels/{path} is not what the operators say");
    }
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
