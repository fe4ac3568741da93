//! Streams and events: in what order a device works.
//!
//! # Invariants
//! Work on one stream is done in the order it was given; work on two is not ordered but by events. A stream lives as long as any array that
//! was made on it. What a kernel shares with others (its state, words for the host, memory used again) belongs to one stream.

use super::driver::{Stamp, StreamHandle};
use super::observe::Observer;
use super::persistent::Persistent;
use super::recorder::{Pass, Recorded};
use super::recycle::Recycled;
use super::{Shared, lock};
use crate::{Error, Result};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A queue of work on a device. A clone is the same queue.
#[derive(Clone)]
pub struct Stream(pub(super) Arc<Queue>);

pub(super) struct Queue {
    /// One of its own in this process: handles of streams that are gone come again.
    pub number: u64,
    pub shared: Arc<Shared>,
    pub handle: StreamHandle,
    pub recycled: Mutex<Recycled>,
    pub persistent: Mutex<Option<Persistent>>,
    pub recorded: Recorded,
    pub observer: Mutex<Option<Arc<dyn Observer>>>,
    /// Whether the observer is to be told: there is one, and it was not told of a run that goes on.
    pub listens: AtomicBool,
}

impl Drop for Queue {
    fn drop(&mut self) {
        let driver = self.shared.driver.as_ref();
        let _pass = Pass::new();
        for (address, bytes) in lock(&self.recycled).drain() {
            driver.release(self.handle, address, bytes);
        }
        if let Some(persistent) = lock(&self.persistent).take() {
            persistent.release(driver, self.handle);
        }
        driver.close_stream(self.handle);
    }
}

impl Stream {
    pub(super) fn new(shared: &Arc<Shared>) -> Result<Self> {
        static OPENED: AtomicU64 = AtomicU64::new(0);
        let queue = Queue {
            number: OPENED.fetch_add(1, Ordering::Relaxed),
            shared: shared.clone(),
            handle: shared.driver.open_stream()?,
            recycled: Mutex::default(),
            persistent: Mutex::default(),
            recorded: Recorded::default(),
            observer: Mutex::default(),
            listens: AtomicBool::new(false),
        };
        let stream = Self(Arc::new(queue));
        let mut streams = lock(&shared.streams);
        streams.retain(|s| s.strong_count() > 0);
        streams.push(Arc::downgrade(&stream.0));
        drop(streams);
        Ok(stream)
    }
    /// Whether both are the same queue.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
    /// A number that no other stream of this process has.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.0.number
    }
    /// Waits for all work given to this stream so far.
    ///
    /// # Errors
    /// Whatever went wrong in it.
    pub fn synchronize(&self) -> Result<()> {
        self.0.recorded.refuse("waiting for a stream")?;
        let _pass = Pass::new();
        self.0.shared.driver.synchronize(self.0.handle)
    }
    /// Whether all work given to this stream so far is done.
    ///
    /// # Errors
    /// Whatever went wrong in it.
    pub fn is_idle(&self) -> Result<bool> {
        self.0.recorded.refuse("asking what a stream does")?;
        let _pass = Pass::new();
        self.0.shared.driver.finished(self.0.handle)
    }
    /// Marks the end of the work given so far.
    ///
    /// # Errors
    /// The driver's.
    pub fn record(&self) -> Result<Event> {
        let known = lock(&self.0.shared.events).pop();
        let stamp = match known {
            Some(stamp) => stamp,
            None => self.0.shared.driver.stamp()?,
        };
        let event = Event { shared: self.0.shared.clone(), stamp };
        self.0.recorded.refuse("an event")?;
        let _pass = Pass::new();
        self.0.shared.driver.record(self.0.handle, stamp)?;
        Ok(event)
    }
    /// Work given from now on waits until the device has reached `event`; the host does not wait.
    ///
    /// # Errors
    /// [`Error::OtherDevice`], or the driver's.
    pub fn wait_for(&self, event: &Event) -> Result<()> {
        self.same_device(&event.shared)?;
        self.0.recorded.refuse("waiting for an event")?;
        let _pass = Pass::new();
        self.0.shared.driver.wait(self.0.handle, event.stamp)
    }
    /// The driver's handle, for a library that works on it; none on the host shim. The device's context is current afterwards.
    ///
    /// # Errors
    /// The driver's.
    pub fn raw(&self) -> Result<Option<*mut std::ffi::c_void>> {
        self.0.shared.driver.raw_stream(self.0.handle)
    }
    /// Tells `observer`, instead of whoever was told before, of the runs of fused algorithms on this stream.
    pub fn observe(&self, observer: Option<Arc<dyn Observer>>) {
        let mut slot = lock(&self.0.observer);
        self.0.listens.store(observer.is_some(), Ordering::Relaxed);
        *slot = observer;
    }
    fn same_device(&self, other: &Arc<Shared>) -> Result<()> {
        if Arc::ptr_eq(&self.0.shared, other) {
            return Ok(());
        }
        Err(Error::OtherDevice { expected: self.0.shared.ordinal, found: other.ordinal })
    }
    /// Does work on this stream with arrays of others: it starts after what they were given before, and what they are given next, the
    /// release of those arrays included, starts after it. Costs nothing where all are of this stream.
    ///
    /// # Errors
    /// [`Error::OtherDevice`], the work's, or the driver's.
    pub fn after<'a, R>(&self, others: impl IntoIterator<Item = &'a Stream>, work: impl FnOnce() -> Result<R>) -> Result<R> {
        let foreign: Vec<&Stream> = others.into_iter().filter(|s| !self.is(s)).collect();
        for other in &foreign {
            self.same_device(&other.0.shared)?;
            self.wait_for(&other.record()?)?;
        }
        let result = work();
        if let Some((first, rest)) = foreign.split_first() {
            let done = self.record()?;
            first.wait_for(&done)?;
            rest.iter().try_for_each(|other| other.wait_for(&done))?;
        }
        result
    }
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Stream({} of device {})", self.0.number, self.0.shared.ordinal)
    }
}

/// A moment in the work of a stream.
pub struct Event {
    shared: Arc<Shared>,
    stamp: Stamp,
}

impl Event {
    /// Whether the device has reached it.
    ///
    /// # Errors
    /// Whatever went wrong in the work before.
    pub fn is_reached(&self) -> Result<bool> {
        self.shared.driver.reached(self.stamp)
    }
    /// Waits until the device has reached it.
    ///
    /// # Errors
    /// Whatever went wrong in the work before.
    pub fn synchronize(&self) -> Result<()> {
        self.shared.driver.await_stamp(self.stamp)
    }
    /// Seconds from an earlier moment to this one by the device's own clock; waits for both.
    ///
    /// # Errors
    /// [`Error::OtherDevice`]; whatever went wrong in the work before.
    pub fn seconds_since(&self, earlier: &Self) -> Result<f64> {
        if !Arc::ptr_eq(&self.shared, &earlier.shared) {
            return Err(Error::OtherDevice { expected: self.shared.ordinal, found: earlier.shared.ordinal });
        }
        earlier.synchronize()?;
        self.synchronize()?;
        self.shared.driver.elapsed(earlier.stamp, self.stamp)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        lock(&self.shared.events).push(self.stamp);
    }
}

impl std::fmt::Debug for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Event({} of device {})", self.stamp.0, self.shared.ordinal)
    }
}
