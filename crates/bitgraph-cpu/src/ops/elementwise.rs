//! The vector operations.

use super::selection::write_back;
use crate::Cpu;
use bitgraph_backend::ops::{Indices, Source, VectorWrite};
use bitgraph_backend::{Accumulate, Error, NoAccum, VectorOps};
use bitgraph_semiring::{BinaryOp, Monoid, SelectOp, UnaryOp};
use bitgraph_sparse::{Stored, Vector, parallel};

/// The position that the `k`-th index names, of `len` there are.
fn position(indices: &Indices<'_, Cpu>, k: usize, len: usize) -> Option<usize> {
    let index = match indices {
        Indices::Host(list) => list[k],
        Indices::Device(vector) => vector.get(k)?,
    };
    Some(index as usize).filter(|&i| i < len)
}

impl VectorOps for Cpu {
    fn ewise<T: Stored, Op: BinaryOp<T>, C: Accumulate<T>>(
        &self,
        w: &mut Vector<T>,
        write: VectorWrite<'_, Self, C>,
        op: Op,
        union: bool,
        (u, v): (&Vector<T>, &Vector<T>),
    ) -> Result<(), Error> {
        write_back(*self, w, write, |i| match (u.get(i), v.get(i)) {
            (Some(a), Some(b)) => Some(op.apply(a, b)),
            (a, b) => a.or(b).filter(|_| union),
        });
        Ok(())
    }
    fn apply<T: Stored, Op: UnaryOp<T, Out: Stored>, C: Accumulate<Op::Out>>(
        &self,
        w: &mut Vector<Op::Out>,
        write: VectorWrite<'_, Self, C>,
        op: Op,
        u: &Vector<T>,
    ) -> Result<(), Error> {
        write_back(*self, w, write, |i| u.get(i).map(|a| op.apply(a)));
        Ok(())
    }
    fn select<T: Stored, Op: SelectOp<T>, C: Accumulate<T>>(
        &self,
        w: &mut Vector<T>,
        write: VectorWrite<'_, Self, C>,
        op: Op,
        u: &Vector<T>,
    ) -> Result<(), Error> {
        write_back(*self, w, write, |i| u.get(i).filter(|&a| op.keep(i as u32, 0, a)));
        Ok(())
    }
    fn reduce<T: Stored, M: Monoid<T>>(&self, _monoid: M, u: &Vector<T>) -> Result<T, Error> {
        // Fixed blocks, combined in order and in pairs: the same sum whatever the threads.
        const BLOCK: usize = 4096;
        let blocks = u.len().div_ceil(BLOCK);
        let block = |b: usize| M::fold((b * BLOCK..(b * BLOCK + BLOCK).min(u.len())).filter_map(|i| u.get(i)));
        let partial: Vec<Option<T::Accumulator>> =
            if self.is_reference() { (0..blocks).map(block).collect() } else { parallel::collect(blocks, block) };
        Ok(M::fold_wide(partial.into_iter().flatten()).map_or_else(M::identity, T::narrow))
    }
    fn extract<T: Stored, C: Accumulate<T>>(
        &self,
        w: &mut Vector<T>,
        write: VectorWrite<'_, Self, C>,
        u: &Vector<T>,
        indices: Indices<'_, Self>,
    ) -> Result<(), Error> {
        write_back(*self, w, write, |k| u.get(position(&indices, k, u.len())?));
        Ok(())
    }
    fn assign<T: Stored, C: Accumulate<T>>(
        &self,
        w: &mut Vector<T>,
        write: VectorWrite<'_, Self, C>,
        source: Source<'_, Self, T>,
    ) -> Result<(), Error> {
        match source {
            Source::Value(value) | Source::Device(&value) => write_back(*self, w, write, |_| Some(value)),
            Source::At(u, indices) => {
                // The assigned vector first, as if there were no mask; then the mask decides where it shows.
                let mut assigned = w.clone();
                for k in 0..indices.len() {
                    let Some(i) = position(&indices, k, w.len()) else { continue };
                    match (C::ACTIVE.then(|| assigned.get(i)).flatten(), u.get(k)) {
                        (Some(old), Some(new)) => assigned.insert(i, write.accum.merge(old, new)),
                        (None, Some(new)) => assigned.insert(i, new),
                        (_, None) if !C::ACTIVE => assigned.remove(i),
                        (_, None) => {}
                    }
                }
                let VectorWrite { mask, replace, .. } = write;
                write_back(*self, w, VectorWrite { mask, accum: NoAccum, replace }, |i| assigned.get(i));
            }
        }
        Ok(())
    }
}
