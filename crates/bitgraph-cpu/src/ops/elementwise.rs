//! The vector operations.

use super::build;
use super::selection::{Selection, write_back};
use crate::Cpu;
use bitgraph_backend::{Accumulate, Error, VectorMask, VectorOps};
use bitgraph_semiring::{BinaryOp, Monoid, SelectOp, UnaryOp};
use bitgraph_sparse::{Descriptor, Stored, Vector};
use rayon::prelude::*;

type Mask<'a> = Option<VectorMask<'a, Cpu>>;

impl VectorOps for Cpu {
    fn ewise_add_checked<T: Stored, Op: BinaryOp<T>, C: Accumulate<T>>(
        &self,
        w: &mut Vector<T>,
        mask: Mask<'_>,
        accum: C,
        op: Op,
        u: &Vector<T>,
        v: &Vector<T>,
        descriptor: Descriptor,
    ) -> Result<(), Error> {
        write_back(*self, w, Selection::new(mask), accum, descriptor.replace, |i| match (u.get(i), v.get(i)) {
            (Some(a), Some(b)) => Some(op.apply(a, b)),
            (a, b) => a.or(b),
        });
        Ok(())
    }
    fn ewise_mult_checked<T: Stored, Op: BinaryOp<T>, C: Accumulate<T>>(
        &self,
        w: &mut Vector<T>,
        mask: Mask<'_>,
        accum: C,
        op: Op,
        u: &Vector<T>,
        v: &Vector<T>,
        descriptor: Descriptor,
    ) -> Result<(), Error> {
        write_back(*self, w, Selection::new(mask), accum, descriptor.replace, |i| Some(op.apply(u.get(i)?, v.get(i)?)));
        Ok(())
    }
    fn apply_checked<T: Stored, Op: UnaryOp<T, Out: Stored>, C: Accumulate<Op::Out>>(
        &self,
        w: &mut Vector<Op::Out>,
        mask: Mask<'_>,
        accum: C,
        op: Op,
        u: &Vector<T>,
        descriptor: Descriptor,
    ) -> Result<(), Error> {
        write_back(*self, w, Selection::new(mask), accum, descriptor.replace, |i| u.get(i).map(|a| op.apply(a)));
        Ok(())
    }
    fn select_checked<T: Stored, Op: SelectOp<T>, C: Accumulate<T>>(
        &self,
        w: &mut Vector<T>,
        mask: Mask<'_>,
        accum: C,
        op: Op,
        u: &Vector<T>,
        descriptor: Descriptor,
    ) -> Result<(), Error> {
        let t = |i: usize| u.get(i).filter(|&a| op.keep(i as u32, 0, a));
        write_back(*self, w, Selection::new(mask), accum, descriptor.replace, t);
        Ok(())
    }
    fn reduce_checked<T: Stored, M: Monoid<T>>(&self, _monoid: M, u: &Vector<T>) -> Result<T, Error> {
        // Fixed blocks, combined in order and in pairs: the same sum whatever the threads.
        const BLOCK: usize = 4096;
        let blocks = u.len().div_ceil(BLOCK);
        let block = |b: usize| M::fold((b * BLOCK..(b * BLOCK + BLOCK).min(u.len())).filter_map(|i| u.get(i)));
        let partial: Vec<Option<T::Accumulator>> =
            if self.is_reference() { (0..blocks).map(block).collect() } else { (0..blocks).into_par_iter().map(block).collect() };
        Ok(M::fold_wide(partial.into_iter().flatten()).map_or_else(M::identity, T::narrow))
    }
    fn extract_checked<T: Stored, C: Accumulate<T>>(
        &self,
        w: &mut Vector<T>,
        mask: Mask<'_>,
        accum: C,
        u: &Vector<T>,
        indices: &[u32],
        descriptor: Descriptor,
    ) -> Result<(), Error> {
        write_back(*self, w, Selection::new(mask), accum, descriptor.replace, |i| u.get(indices[i] as usize));
        Ok(())
    }
    fn assign_checked<T: Stored, C: Accumulate<T>>(
        &self,
        w: &mut Vector<T>,
        mask: Mask<'_>,
        accum: C,
        u: &Vector<T>,
        indices: &[u32],
        descriptor: Descriptor,
    ) -> Result<(), Error> {
        // The assigned vector first, as if there were no mask; then the mask decides where it shows.
        let mut assigned = w.clone();
        for (k, &i) in indices.iter().enumerate() {
            let i = i as usize;
            match (C::ACTIVE.then(|| assigned.get(i)).flatten(), u.get(k)) {
                (Some(old), Some(new)) => assigned.insert(i, accum.merge(old, new)),
                (None, Some(new)) => assigned.insert(i, new),
                (_, None) if !C::ACTIVE => assigned.remove(i),
                (_, None) => {}
            }
        }
        let selection = Selection::new(mask);
        let old = &*w;
        let new = build::vector(old.len(), self.is_reference(), |i| {
            if selection.selects(i) {
                assigned.get(i)
            } else if descriptor.replace {
                None
            } else {
                old.get(i)
            }
        });
        *w = new;
        Ok(())
    }
    fn assign_value_checked<T: Stored, C: Accumulate<T>>(
        &self,
        w: &mut Vector<T>,
        mask: Mask<'_>,
        accum: C,
        value: T,
        descriptor: Descriptor,
    ) -> Result<(), Error> {
        write_back(*self, w, Selection::new(mask), accum, descriptor.replace, |_| Some(value));
        Ok(())
    }
}
