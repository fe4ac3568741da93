//! Awkward shapes, every layout, and a deterministic random source.

use bitgraph_bittensor::{Packing, TileShape};
use bitgraph_sparse::Control;

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
    /// Between -1 and 1.
    pub fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }
}

/// Elements between -1 and 1, some of them zeros of both signs.
pub fn floats(count: usize, seed: u64) -> Vec<f32> {
    let mut random = Random(seed);
    let one = |random: &mut Random| match random.below(10) {
        0 => 0.0,
        1 => -0.0,
        _ => random.unit(),
    };
    (0..count).map(|_| one(&mut random)).collect()
}

/// Rows and columns: nothing, one, sides of words, chunks and blocks of the implementation, and beyond.
pub const SHAPES: [(usize, usize); 18] = [
    (0, 0),
    (0, 7),
    (7, 0),
    (1, 1),
    (1, 31),
    (31, 1),
    (3, 32),
    (32, 3),
    (33, 65),
    (64, 127),
    (8, 128),
    (9, 129),
    (70, 602),
    (200, 513),
    (513, 200),
    (3, 2000),
    (3000, 1),
    (2300, 63),
];

/// Every packing with several paddings.
pub fn layouts() -> impl Iterator<Item = (Packing, TileShape)> {
    let shapes = [
        TileShape::WORD,
        TileShape::TILE_8X128,
        TileShape::TILE_16X256,
        TileShape::TILE_128X128,
        TileShape::new(5, 96).expect("whole words"),
    ];
    [Packing::Rows, Packing::Columns].into_iter().flat_map(move |packing| shapes.map(|shape| (packing, shape)))
}

pub fn control() -> Control {
    Control::default()
}
