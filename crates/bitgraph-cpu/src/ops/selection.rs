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
    /// Which positions of word `w` may be written; beyond the mask's end any.
    fn word(&self, w: usize) -> u64 {
        let Some((vector, structural, complement)) = self.mask else { return u64::MAX };
        let present = vector.present().map_or(u64::MAX, |present| present.words64()[w]);
        let chosen = if structural { present } else { present & vector.store().words64()[w] };
        if complement { !chosen } else { chosen }
    }
}

/// `w<mask, replace> = w accum t`, where `t(i)` is computed only where the mask selects `i`.
pub(super) fn write_back<T: Stored, C: Accumulate<T>>(
    cpu: Cpu,
    w: &mut Vector<T>,
    write: VectorWrite<'_, Cpu, C>,
    t: impl Fn(usize) -> Option<T> + Sync,
) {
    merged(cpu, w, write, &|first, selected, slots| {
        let mut there = 0;
        for (k, slot) in slots.iter_mut().enumerate().filter(|(k, _)| selected >> k & 1 == 1) {
            if let Some(value) = t(first + k) {
                (*slot, there) = (value, there | 1 << k);
            }
        }
        there
    });
}

/// Computes 64 positions: given the first, which of them are wanted, and the places of their values, it says which hold one.
type Word<'a, T> = dyn Fn(usize, u64, &mut [T]) -> u64 + Sync + 'a;

/// [`write_back`], of what computes `t` behind a pointer: so mask and accumulator are compiled once for a type and not for every operation.
fn merged<T: Stored, C: Accumulate<T>>(cpu: Cpu, w: &mut Vector<T>, write: VectorWrite<'_, Cpu, C>, t: &Word<'_, T>) {
    let VectorWrite { mask, accum, replace } = write;
    let (old, selection) = (&*w, Selection::new(mask));
    let new = build::words(old.len(), cpu.is_reference(), &|first, slots: &mut [T]| {
        let selected = selection.word(first / 64);
        let mut there = t(first, selected, slots);
        let kept = if C::ACTIVE { selected } else { 0 } | if replace { 0 } else { !selected };
        if kept != 0 {
            for (k, slot) in slots.iter_mut().enumerate().filter(|(k, _)| kept >> k & 1 == 1) {
                let Some(before) = old.get(first + k) else { continue };
                *slot = if there >> k & 1 == 1 { accum.merge(before, *slot) } else { before };
                there |= 1 << k;
            }
        }
        there
    });
    *w = new;
}
