//! Which positions a vector mask selects, and the write-back rule.

use super::build;
use crate::Cpu;
use bitgraph_backend::Accumulate;
use bitgraph_backend::ops::{VectorMask, VectorWrite};
use bitgraph_sparse::{BitVector, Stored, Vector};
use std::borrow::Cow;

/// A mask's selection, asked position by position.
#[derive(Clone, Copy)]
pub(super) struct Selection<'a> {
    mask: Option<(&'a Vector<bool>, bool, bool)>,
}

impl<'a> Selection<'a> {
    pub(super) fn new(mask: Option<VectorMask<'a, Cpu>>) -> Self {
        Self { mask: mask.map(|m| (m.vector, m.mode.structural, m.mode.complement)) }
    }
    /// Whether there is no mask.
    pub(super) fn is_everything(&self) -> bool {
        self.mask.is_none()
    }
    /// The selection as bits and whether they are inverted; `None` without a mask.
    pub(super) fn bits(&self) -> Option<(Cow<'a, BitVector>, bool)> {
        let (vector, structural, complement) = self.mask?;
        let bits = match (vector.present(), structural) {
            (None, true) => Cow::Owned(BitVector::ones(vector.len())),
            (None, false) => Cow::Borrowed(vector.store()),
            (Some(present), true) => Cow::Borrowed(present),
            (Some(present), false) => {
                let words = present.words64().iter().zip(vector.store().words64()).map(|(p, v)| p & v).collect();
                Cow::Owned(BitVector::from_words64(words, vector.len()))
            }
        };
        Some((bits, complement))
    }
    /// Whether position `i` may be written.
    #[inline(always)]
    pub(super) fn selects(&self, i: usize) -> bool {
        let Some((vector, structural, complement)) = self.mask else { return true };
        let chosen = match vector.get(i) {
            Some(value) => structural || value,
            None => false,
        };
        chosen != complement
    }
}

/// `w<mask, replace> = w accum t`, where `t(i)` is computed only where the mask selects `i`.
pub(super) fn write_back<T: Stored, C: Accumulate<T>>(
    cpu: Cpu,
    w: &mut Vector<T>,
    write: VectorWrite<'_, Cpu, C>,
    t: impl Fn(usize) -> Option<T> + Sync,
) {
    let VectorWrite { mask, accum, replace } = write;
    let (old, selection) = (&*w, Selection::new(mask));
    let new = build::vector(old.len(), cpu.is_reference(), |i| {
        if !selection.selects(i) {
            return if replace { None } else { old.get(i) };
        }
        let new = t(i);
        if !C::ACTIVE {
            return new;
        }
        match (old.get(i), new) {
            (Some(a), Some(b)) => Some(accum.merge(a, b)),
            (a, b) => a.or(b),
        }
    });
    *w = new;
}
