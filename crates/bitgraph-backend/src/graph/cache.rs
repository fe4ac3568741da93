//! The layouts of a graph, by algorithm, settings and choice, bounded by a budget.
//!
//! Invariant: the layouts that are kept take no more bytes than the budget; the least recently used one goes first.

use crate::{Arranged, Backend};
use bitgraph_sparse::FormatKind;
use bitgraph_sparse::ordering::Ordering;
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

/// What a plan chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Choice {
    pub ordering: Ordering,
    pub format: FormatKind,
    pub variant: &'static str,
}

/// An algorithm's type, the part of its settings that decides the layout, and what was chosen.
pub(super) type Key = (TypeId, u64, Choice);

struct Entry<B: Backend> {
    arranged: Arc<Arranged<B>>,
    layout: Box<dyn Any + Send + Sync>,
    bytes: u64,
    /// With those of the order or format that the graph was brought into for it.
    held: u64,
    used: u64,
}

pub(super) struct Cache<B: Backend> {
    entries: HashMap<Key, Entry<B>>,
    budget: u64,
    clock: u64,
}

impl<B: Backend> Default for Cache<B> {
    fn default() -> Self {
        Self { entries: HashMap::new(), budget: u64::MAX, clock: 0 }
    }
}

impl<B: Backend> Cache<B> {
    pub fn budget(&self) -> u64 {
        self.budget
    }
    pub fn bytes(&self) -> u64 {
        self.entries.values().map(|e| e.bytes).sum()
    }
    pub fn bound(&mut self, budget: u64) {
        self.budget = budget;
        self.make_room(0);
    }
    /// A layout and what it was built from, which is the most recently used one from now on.
    pub fn get<L: Clone + 'static>(&mut self, key: &Key) -> Option<(Arc<Arranged<B>>, L)> {
        self.clock += 1;
        let entry = self.entries.get_mut(key)?;
        entry.used = self.clock;
        Some((Arc::clone(&entry.arranged), entry.layout.downcast_ref::<L>()?.clone()))
    }
    /// Keeps a layout of so many bytes, `held` with those of the order or format that it needed; the bytes that it takes if they are more
    /// than the budget.
    pub fn insert<L: Send + Sync + 'static>(
        &mut self,
        key: Key,
        arranged: Arc<Arranged<B>>,
        layout: L,
        bytes: u64,
        held: u64,
    ) -> Result<(), u64> {
        if held > self.budget {
            return Err(held);
        }
        self.make_room(held);
        self.clock += 1;
        self.entries.insert(key, Entry { arranged, layout: Box::new(layout), bytes, held, used: self.clock });
        Ok(())
    }
    fn make_room(&mut self, bytes: u64) {
        let held = |cache: &Self| cache.entries.values().map(|e| e.held).sum::<u64>();
        while held(self).saturating_add(bytes) > self.budget {
            let Some(oldest) = self.entries.iter().filter(|(_, e)| e.held > 0).min_by_key(|(_, e)| e.used).map(|(k, _)| *k) else {
                return;
            };
            self.entries.remove(&oldest);
        }
    }
}
