//! Packed rows for a crew: what is pushed and pulled in a round of `rounds`, in the same order as the search of one thread.
//!
//! # Invariants
//! As of `rounds`. Distances are read while others lower them: each read is one access of the processor's, and an arc that seems to improve a
//! distance is looked at again when the distance is lowered. Pulls rely on distances below the window, which no one lowers any more.
#![allow(unsafe_code)]

use super::ops::{Ops, Portable, Sink, below};
use super::rows::{HEAD, PAD, Rows};
use crate::Isa;
use crate::fused::buckets::arcs::{Arcs, Out};
use bitgraph_sparse::ahead::{beside, fetch};
use std::ops::Range;

/// How many entries ahead memory is asked for.
const AHEAD: usize = 8;
/// The class of the smallest degree that is not below `HEAD`.
const LONG: u8 = HEAD.trailing_zeros() as u8 + 1;

/// Where improvements go.
struct Lower<'o, 'a> {
    out: &'o mut Out<'a, u32>,
    shift: u32,
}

impl Sink for Lower<'_, '_> {
    #[inline(always)]
    fn dist(&self) -> *mut u32 {
        self.out.dist.as_ptr().cast_mut().cast()
    }
    #[inline(always)]
    unsafe fn improve(&mut self, id: u32, distance: u32) {
        let shift = self.shift;
        self.out.relax(id, distance, || u64::from(distance >> shift));
    }
    const LISTS: bool = true;
    #[inline(always)]
    fn room(&mut self) -> (*mut u32, *mut u32) {
        self.out.found.room()
    }
    #[inline(always)]
    fn add(&mut self, count: usize) {
        let shift = self.shift;
        self.out.found.add(count);
        self.out.lower_many(|distance| u64::from(distance >> shift));
    }
}

/// Calls a method with the instructions in force.
macro_rules! with_ops {
    ($self:ident . $method:ident ( $($name:ident : $type:ty),* ) -> $result:ty) => {{
        #[cfg(target_arch = "x86_64")]
        {
            use super::{ops::Avx512, ops_avx2::Avx2};
            #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vpopcntdq,avx2,bmi1,bmi2,popcnt,lzcnt")]
            unsafe fn avx512(this: &This<'_>, $($name: $type),*) -> $result {
                // SAFETY: the caller's, and the features are these.
                unsafe { this.$method::<Avx512>($($name),*) }
            }
            #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
            unsafe fn avx2(this: &This<'_>, $($name: $type),*) -> $result {
                // SAFETY: as above.
                unsafe { this.$method::<Avx2>($($name),*) }
            }
            match Isa::current() {
                // SAFETY: the instruction set says what the CPU has.
                Isa::Avx512 => return unsafe { avx512($self, $($name),*) },
                // SAFETY: as above.
                Isa::Avx2 => return unsafe { avx2($self, $($name),*) },
                Isa::Portable => {}
            }
        }
        // SAFETY: plain instructions.
        unsafe { $self.$method::<Portable>($($name),*) }
    }};
}

/// Rows sorted by weight, in both directions.
pub(super) struct Sorted<'a> {
    pub out: &'a Rows,
    pub incoming: &'a Rows,
    pub step: u32,
    /// log2 of the width of a bucket.
    pub shift: u32,
    /// Whether what lies beside a vertex is fetched.
    pub near: bool,
}

impl Arcs for Sorted<'_> {
    type D = u32;
    const LAZY: bool = true;
    fn nodes(&self) -> usize {
        self.out.nodes
    }
    fn arcs(&self) -> u64 {
        u64::from(self.out.offsets[self.out.nodes])
    }
    fn step(&self) -> u64 {
        self.step.into()
    }
    #[inline(always)]
    fn key(&self, distance: u32) -> u64 {
        (distance >> self.shift).into()
    }
    fn expand(&self, entries: &[(u32, u32)], horizon: u64, out: &mut Out<'_, u32>) {
        let valid = out.valid(entries);
        self.expand_valid(&valid, horizon, out);
        out.found.give_back(valid);
    }
    fn due(&self, horizon: u64, out: &mut Out<'_, u32>) {
        type This<'a> = Sorted<'a>;
        with_ops!(self.due_with(horizon: u64, out: &mut Out<'_, u32>) -> ())
    }
    fn whole(&self, arcs: u64, out: &mut Out<'_, u32>) -> u64 {
        type This<'a> = Sorted<'a>;
        with_ops!(self.whole_with(arcs: u64, out: &mut Out<'_, u32>) -> u64)
    }
    fn open(&self, range: Range<usize>, now: u64, list: &mut Vec<u32>, listed: bool, out: &Out<'_, u32>) -> u64 {
        type This<'a> = Sorted<'a>;
        if listed {
            list.retain(|&v| u64::from(out.known(v)) >= now);
        } else {
            with_list(self, range, now, list, out);
        }
        fn with_list(this: &Sorted<'_>, range: Range<usize>, now: u64, list: &mut Vec<u32>, out: &Out<'_, u32>) {
            with_ops!(this.open_with(range: Range<usize>, now: u64, list: &mut Vec<u32>, out: &Out<'_, u32>) -> ())
        }
        list.iter().step_by(16).map(|&v| 16 << self.incoming.classes[v as usize]).sum()
    }
    fn pull(&self, list: &[u32], now: u64, horizon: u64, nearest: u64, out: &mut Out<'_, u32>) {
        type This<'a> = Sorted<'a>;
        with_ops!(self.pull_with(list: &[u32], now: u64, horizon: u64, nearest: u64, out: &mut Out<'_, u32>) -> ())
    }
}

impl Sorted<'_> {
    fn expand_valid(&self, entries: &[(u32, u32)], horizon: u64, out: &mut Out<'_, u32>) {
        type This<'a> = Sorted<'a>;
        with_ops!(self.expand_with(entries: &[(u32, u32)], horizon: u64, out: &mut Out<'_, u32>) -> ())
    }
    /// Lowers what was listed.
    #[inline(always)]
    fn lower(&self, out: &mut Out<'_, u32>) {
        out.lower_all(|distance| u64::from(distance >> self.shift));
    }
    /// The rest of a row behind its first `from` entries.
    #[inline(always)]
    unsafe fn rest(rows: &Rows, v: usize, from: usize) -> &[u32] {
        // SAFETY: a vertex has offsets, between which its row lies.
        unsafe {
            let (start, end) = (*rows.offsets.get_unchecked(v) as usize + from, *rows.offsets.get_unchecked(v + 1) as usize);
            rows.entries.get_unchecked(start.min(end)..end)
        }
    }
    /// # Safety
    /// The CPU has the instructions; so for the methods below.
    #[inline(always)]
    unsafe fn expand_with<O: Ops>(&self, entries: &[(u32, u32)], horizon: u64, out: &mut Out<'_, u32>) {
        let rows = self.out;
        let (heads, offsets, classes) = (rows.heads.as_ptr(), rows.offsets.as_ptr(), rows.classes.as_ptr());
        let dist = out.dist.as_ptr();
        // An undirected vertex of degree 1 has no arc but the one that it was reached over, if it is not the source.
        let leaf = u8::from(std::ptr::eq(self.out, self.incoming));
        let whole = horizon == u64::MAX;
        let first = |i: usize| {
            if let Some(&(_, v)) = entries.get(i) {
                let v = v as usize;
                fetch(heads.wrapping_add(v * HEAD));
                fetch(offsets.wrapping_add(v));
                fetch(classes.wrapping_add(v));
            }
        };
        let second = |i: usize, base: u32| {
            if let Some(&(_, v)) = entries.get(i) {
                let v = v as usize;
                // SAFETY: queued are vertices.
                unsafe {
                    let most = if whole { u32::MAX } else { below((horizon - u64::from(base)).min(256) as u32) };
                    if *heads.add(v * HEAD + HEAD - 1) <= most {
                        let row = rows.entries.as_ptr().wrapping_add(*offsets.add(v) as usize + HEAD);
                        fetch(row);
                        fetch(row.wrapping_add(15));
                    }
                }
            }
        };
        (0..2 * AHEAD).for_each(first);
        let keeps = out.keeps;
        for (i, &(base, v)) in entries.iter().enumerate() {
            first(i + 2 * AHEAD);
            second(i + AHEAD, base);
            let at = v as usize;
            // SAFETY: queued are vertices, which have heads, classes and rows.
            unsafe {
                if self.near {
                    beside(heads, at * HEAD..at * HEAD);
                    beside(dist, at..at);
                    beside(offsets, at..at);
                }
                let class = *classes.add(at);
                let head = heads.add(at * HEAD);
                let mut sink = Lower { out, shift: self.shift };
                if whole {
                    if class > leaf || base == 0 {
                        O::head(head, u32::MAX, base, &mut sink);
                        if class >= LONG {
                            O::tail(Self::rest(rows, at, HEAD), u32::MAX, base, &mut sink);
                        }
                    }
                    continue;
                }
                let most = below((horizon - u64::from(base)).min(256) as u32);
                let mut from = O::head(head, most, base, &mut sink);
                let mut key = u32::MAX;
                if from < HEAD {
                    key = base + (*head.add(from) >> 24);
                } else if class >= LONG {
                    let row = Self::rest(rows, at, HEAD);
                    let done = O::tail(row, most, base, &mut sink);
                    from += done;
                    key = row.get(done).map_or(u32::MAX, |entry| base + (entry >> 24));
                }
                if keeps {
                    out.settled.size += 1 << class;
                    out.settled.rows.push((v, base, from as u32));
                    out.settled.keys.push(key);
                }
            }
        }
        self.lower(out);
    }
    #[inline(always)]
    unsafe fn due_with<O: Ops>(&self, horizon: u64, out: &mut Out<'_, u32>) {
        let rows = self.out;
        let limit = u32::try_from(horizon).unwrap_or(u32::MAX);
        let mut due = vec![0u32; out.settled.keys.len() + PAD];
        // SAFETY: there is room for every place and a register more.
        let count = unsafe { O::due(&out.settled.keys, limit, due.as_mut_ptr()) };
        due.truncate(count);
        for (k, &i) in due.iter().enumerate() {
            if let Some(&ahead) = due.get(k + AHEAD) {
                let (v, _, from) = out.settled.rows[ahead as usize];
                let (v, from) = (v as usize, from as usize);
                fetch(if from < HEAD {
                    rows.heads.as_ptr().wrapping_add(v * HEAD + from)
                } else {
                    rows.entries.as_ptr().wrapping_add(rows.offsets[v] as usize + from)
                });
            }
            let (v, base, from) = out.settled.rows[i as usize];
            let (at, mut from) = (v as usize, from as usize);
            let mut key = u32::MAX;
            // Nearer since: whoever found that pushes the row.
            if out.known(v) == base {
                let most = below((horizon - u64::from(base)).min(256) as u32);
                let mut sink = Lower { out, shift: self.shift };
                // SAFETY: settled are vertices; a row's cursor is inside the row while its key says that entries are left.
                unsafe {
                    while from < HEAD {
                        let entry = *rows.heads.get_unchecked(at * HEAD + from);
                        if entry > most {
                            key = base + (entry >> 24);
                            break;
                        }
                        O::one(entry, base, &mut sink);
                        from += 1;
                    }
                    if from >= HEAD && *rows.classes.get_unchecked(at) >= LONG {
                        let row = Self::rest(rows, at, from);
                        let done = O::tail(row, most, base, &mut sink);
                        from += done;
                        key = row.get(done).map_or(u32::MAX, |entry| base + (entry >> 24));
                    }
                }
            }
            out.settled.rows[i as usize].2 = from as u32;
            out.settled.keys[i as usize] = key;
        }
        self.lower(out);
    }
    #[inline(always)]
    unsafe fn whole_with<O: Ops>(&self, arcs: u64, out: &mut Out<'_, u32>) -> u64 {
        let mut sum = 0;
        for i in 0..out.settled.rows.len() {
            let (v, base, from) = out.settled.rows[i];
            let at = v as usize;
            sum += u64::from(self.out.offsets[at + 1] - self.out.offsets[at]);
            if sum > arcs {
                self.lower(out);
                let left = out.settled.rows[i..].iter().map(|&(_, base, _)| base);
                return left.min().map_or(u64::MAX, u64::from);
            }
            // The cursor of a finished row counts padding.
            if out.settled.keys[i] != u32::MAX && out.known(v) == base {
                // SAFETY: settled are vertices.
                unsafe { O::tail(Self::rest(self.out, at, from as usize), u32::MAX, base, &mut Lower { out, shift: self.shift }) };
            }
        }
        self.lower(out);
        u64::MAX
    }
    #[inline(always)]
    unsafe fn open_with<O: Ops>(&self, range: Range<usize>, now: u64, list: &mut Vec<u32>, out: &Out<'_, u32>) {
        list.clear();
        list.reserve(range.len() + PAD);
        // SAFETY: vertices have distances and classes; there is room for all of them and a register more.
        unsafe {
            let classes = self.incoming.classes.as_ptr();
            let count = O::open(out.dist.as_ptr().cast(), classes, range.start as u32, range.len(), now as u32, list.as_mut_ptr());
            list.set_len(count);
        }
    }
    #[inline(always)]
    unsafe fn pull_with<O: Ops>(&self, list: &[u32], now: u64, horizon: u64, nearest: u64, out: &mut Out<'_, u32>) {
        let rows = self.incoming;
        let (heads, entries) = (rows.heads.as_ptr(), rows.entries.as_ptr());
        let (now, next) = (now as u32, u32::try_from(horizon).unwrap_or(u32::MAX));
        let nearest = nearest as u32;
        for (i, &v) in list.iter().enumerate() {
            // SAFETY: listed vertices have rows and distances.
            unsafe {
                if let Some(&ahead) = list.get(i + AHEAD) {
                    let ahead = ahead as usize;
                    fetch(heads.wrapping_add(ahead * HEAD));
                    if *rows.classes.get_unchecked(ahead) >= LONG {
                        fetch(entries.wrapping_add(*rows.offsets.get_unchecked(ahead) as usize + HEAD));
                    }
                }
                let at = v as usize;
                let known = out.known(v);
                let dist = out.dist.as_ptr().cast();
                let head = heads.add(at * HEAD);
                let mut best = O::pull_head(head, dist, now, known.min(next));
                if *rows.classes.get_unchecked(at) >= LONG && (*head.add(HEAD - 1) >> 24) + nearest < best {
                    best = O::pull_tail(Self::rest(rows, at, HEAD), dist, now, nearest, best);
                }
                if best < known && best < next {
                    out.relax(v, best, || best.into());
                }
            }
        }
    }
}

/// Rows of `width` entries, 4 or 8, in buckets of `2^shift`.
pub(super) struct Fixed<'a> {
    pub rows: &'a [u32],
    pub width: usize,
    pub shift: u32,
    pub nodes: usize,
    /// Whether what lies beside a vertex is fetched.
    pub near: bool,
}

impl Arcs for Fixed<'_> {
    type D = u32;
    const LAZY: bool = false;
    fn nodes(&self) -> usize {
        self.nodes
    }
    fn arcs(&self) -> u64 {
        self.rows.len() as u64
    }
    #[inline(always)]
    fn key(&self, distance: u32) -> u64 {
        u64::from(distance >> self.shift)
    }
    fn expand(&self, entries: &[(u32, u32)], _: u64, out: &mut Out<'_, u32>) {
        let valid = out.valid(entries);
        self.expand_valid(&valid, out);
        out.found.give_back(valid);
    }
}

impl Fixed<'_> {
    fn expand_valid(&self, entries: &[(u32, u32)], out: &mut Out<'_, u32>) {
        type This<'a> = Fixed<'a>;
        with_ops!(self.expand_with(entries: &[(u32, u32)], out: &mut Out<'_, u32>) -> ())
    }
    /// # Safety
    /// The CPU has the instructions.
    #[inline(always)]
    unsafe fn expand_with<O: Ops>(&self, entries: &[(u32, u32)], out: &mut Out<'_, u32>) {
        let rows = self.rows.as_ptr();
        let dist = out.dist.as_ptr();
        let row = |v: u32| rows.wrapping_add(v as usize * self.width);
        let ask = |i: usize| {
            if let Some(&(_, ahead)) = entries.get(i + AHEAD) {
                fetch(row(ahead));
            }
            if self.near {
                let at = entries[i].1 as usize;
                beside(rows, at * self.width..at * self.width);
                beside(dist, at..at);
            }
        };
        let mut sink = Lower { out, shift: self.shift };
        let (mut fours, mut at) = (entries.chunks_exact(4), 0);
        // SAFETY: queued are vertices, which have rows of this width.
        unsafe {
            if self.width == HEAD {
                for (i, &(base, v)) in entries.iter().enumerate() {
                    ask(i);
                    O::head(row(v), u32::MAX, base, &mut sink);
                }
            } else {
                for four in fours.by_ref() {
                    (at..at + 4).for_each(ask);
                    at += 4;
                    let [a, b, c, d] = std::array::from_fn(|k| four[k]);
                    O::fours([row(a.1), row(b.1), row(c.1), row(d.1)], [a.0, b.0, c.0, d.0], &mut sink);
                }
                for &(base, v) in fours.remainder() {
                    (0..self.width).for_each(|k| O::one(*row(v).add(k), base, &mut sink));
                }
            }
        }
        out.lower_all(|distance| u64::from(distance >> self.shift));
    }
}
