//! Work that is written down once and done again and again.
//!
//! # Invariants
//! Arrays that the work makes lie in memory of the recorder, which no other work gets as long as the recorder or one of them is there. Other
//! arrays that its launches name are held until the recorder goes. While work is written down nothing crosses to or from the host, and
//! other threads that give work to the stream wait. Recorders of a stream take turns: one that does work or writes it down is alone with its
//! pool and its moment. A thread waits for its turn before it waits for the stream, and for one stream at a time.

use super::buffer::Allocation;
use super::driver::{Driver, Recording, StreamHandle};
use super::{Device, Shared, Stream, lock};
use crate::{Error, Result};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Memory that work is done in again and again.
pub(super) struct Pool {
    /// That of the work, in whose order memory is given up.
    work: Stream,
    /// A stream of its own, of which memory is taken: that of the work takes none while it is written down.
    stream: StreamHandle,
    blocks: Mutex<Blocks>,
}

/// Arrays begin at multiples of this.
const ALIGNMENT: u64 = 512;
/// Bytes that are taken of the device at once, and more for an array that is larger.
const SLAB: u64 = 4 << 20;

/// Memory of the device, and what of it is free.
#[derive(Default)]
struct Blocks {
    /// Lengths by addresses. Neighbours are one, within what was taken at once: nothing may span two allocations of the device.
    free: BTreeMap<u64, u64>,
    /// Lengths of what was taken at once, by addresses.
    all: BTreeMap<u64, u64>,
}

impl Blocks {
    /// The first bytes of the smallest free piece that has so many, or `exactly` so many.
    fn take(&mut self, bytes: u64, exactly: bool) -> Option<u64> {
        let fits = |len: u64| if exactly { len == bytes } else { len >= bytes };
        let (&at, &len) = self.free.iter().filter(|(_, len)| fits(**len)).min_by_key(|(_, len)| **len)?;
        self.free.remove(&at);
        if len > bytes {
            self.free.insert(at + bytes, len - bytes);
        }
        Some(at)
    }
    fn give(&mut self, mut at: u64, mut len: u64) {
        if let Some((&before, &its)) = self.free.range(..at).next_back()
            && before + its == at
            && !self.all.contains_key(&at)
        {
            self.free.remove(&before);
            (at, len) = (before, its + len);
        }
        if !self.all.contains_key(&(at + len))
            && let Some(its) = self.free.remove(&(at + len))
        {
            len += its;
        }
        self.free.insert(at, len);
    }
}

impl Pool {
    fn shared(&self) -> &Shared {
        &self.work.0.shared
    }
    fn driver(&self) -> &dyn Driver {
        self.shared().driver.as_ref()
    }
    pub fn take(&self, bytes: u64, what: &'static str) -> Result<u64> {
        let (wanted, slab) = self.rounded(bytes);
        // Before the list is held: who writes down may give something back to it.
        let _pass = Pass::new();
        let mut blocks = lock(&self.blocks);
        if let Some(address) = blocks.take(wanted, self.driver().properties().emulated) {
            return Ok(address);
        }
        let address = self.driver().allocate(self.stream, slab, what)?;
        blocks.all.insert(address, slab);
        self.driver().synchronize(self.stream)?;
        self.shared().count_memory(slab);
        if slab > wanted {
            blocks.give(address + wanted, slab - wanted);
        }
        Ok(address)
    }
    pub fn give(&self, address: u64, bytes: u64) {
        lock(&self.blocks).give(address, self.rounded(bytes).0);
    }
    /// The bytes of an array, and of what is taken of the device where none is free. The shim guards the ends of what it gives: arrays there are
    /// as it gave them.
    fn rounded(&self, bytes: u64) -> (u64, u64) {
        if self.driver().properties().emulated {
            return (bytes, bytes);
        }
        let wanted = bytes.next_multiple_of(ALIGNMENT);
        (wanted, wanted.max(SLAB))
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let queue = &self.work.0;
        let _pass = Pass::new();
        for (address, bytes) in std::mem::take(&mut lock(&self.blocks).all) {
            // The last array may go while the device still works on it.
            if !queue.recorded.puts_off(address, bytes) {
                self.driver().release(queue.handle, address, bytes);
            }
            self.shared().used.fetch_sub(bytes, Ordering::Relaxed);
        }
        self.driver().close_stream(self.stream);
    }
}

/// Who records on a stream, and what.
#[derive(Default)]
pub(super) struct Recorded {
    /// Held by the recorder whose turn it is.
    turn: Mutex<()>,
    /// The thread whose arrays come from the pool; 0 without.
    thread: AtomicU64,
    /// That thread while its work is written down.
    writer: AtomicU64,
    now: Mutex<Now>,
}

#[derive(Default)]
struct Now {
    pool: Option<Arc<Pool>>,
    /// What launches name.
    held: Vec<Arc<Allocation>>,
    /// Memory that was given up while work was written down.
    late: Vec<(u64, u64)>,
    /// What changes from replay to replay.
    moment: u64,
}

/// Held by whoever writes down, and for moments by others that use a stream: not of one device alone, for what a thread gives to other streams meanwhile,
/// and two that write down at a time, made libraries' calls fail and their recordings void.
static GATE: RwLock<()> = RwLock::new(());

thread_local! {
    /// How often the calling thread has passed the gate and is not back.
    static PASSES: Cell<u32> = const { Cell::new(0) };
    /// Whether the calling thread writes down, on any stream.
    static WRITES: Cell<bool> = const { Cell::new(false) };
}

/// Held while a stream is given work: no other thread writes down meanwhile.
pub(super) struct Pass {
    _gate: Option<RwLockReadGuard<'static, ()>>,
}

impl Pass {
    /// Waits while another thread writes down.
    pub fn new() -> Self {
        // A thread that asks again could wait for one that waits for it.
        let free = PASSES.replace(PASSES.get() + 1) == 0 && !WRITES.get();
        Self { _gate: free.then(|| GATE.read().unwrap_or_else(PoisonError::into_inner)) }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        PASSES.set(PASSES.get() - 1);
    }
}

/// Keeps others from streams while the calling thread writes down.
struct Alone {
    _gate: RwLockWriteGuard<'static, ()>,
}

impl Alone {
    fn new() -> Self {
        let gate = GATE.write().unwrap_or_else(PoisonError::into_inner);
        WRITES.set(true);
        Self { _gate: gate }
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        WRITES.set(false);
    }
}

/// A number of the calling thread, above 0.
fn this_thread() -> u64 {
    static THREADS: AtomicU64 = AtomicU64::new(1);
    thread_local!(static OWN: u64 = THREADS.fetch_add(1, Ordering::Relaxed));
    OWN.with(|own| *own)
}

impl Recorded {
    /// Whether the calling thread writes down what it does.
    pub fn is_written(&self) -> bool {
        let writer = self.writer.load(Ordering::Acquire);
        writer != 0 && writer == this_thread()
    }
    /// Refuses what cannot be written down.
    pub fn refuse(&self, what: &'static str) -> Result<()> {
        if self.is_written() { Err(Error::Unwritable { what }) } else { Ok(()) }
    }
    /// Where arrays of the calling thread come from, if not from the stream.
    pub fn pool(&self) -> Option<Arc<Pool>> {
        let thread = self.thread.load(Ordering::Acquire);
        if thread == 0 || thread != this_thread() { None } else { lock(&self.now).pool.clone() }
    }
    /// Holds what a launch names that is written down.
    pub fn hold(&self, allocation: &Arc<Allocation>) {
        if self.is_written() {
            let held = &mut lock(&self.now).held;
            if !held.iter().any(|other| Arc::ptr_eq(other, allocation)) {
                held.push(Arc::clone(allocation));
            }
        }
    }
    /// Whether the release of memory is put off.
    pub fn puts_off(&self, address: u64, bytes: u64) -> bool {
        let written = self.is_written();
        if written {
            lock(&self.now).late.push((address, bytes));
        }
        written
    }
    /// Where launches that are written down find what changes from replay to replay; 0 for others.
    pub fn moment(&self) -> u64 {
        if self.is_written() { lock(&self.now).moment } else { 0 }
    }
}

/// Work of a stream that is written down, and the memory that it is done in.
pub struct Recorder {
    stream: Stream,
    recordings: Vec<Recording>,
    held: Vec<Arc<Allocation>>,
    /// Last, for what is held may be of it.
    pool: Arc<Pool>,
}

/// Ends what a recorder began, whatever its work did.
struct Ended<'a> {
    recorded: &'a Recorded,
    _turn: MutexGuard<'a, ()>,
}
impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.recorded.writer.store(0, Ordering::Release);
        self.recorded.thread.store(0, Ordering::Release);
        let mut now = lock(&self.recorded.now);
        (now.pool, now.moment) = (None, 0);
    }
}

impl Recorder {
    /// For work on the device's stream.
    ///
    /// # Errors
    /// The driver's.
    pub fn new(device: &Device) -> Result<Self> {
        let _pass = Pass::new();
        let stream = device.driver().open_stream()?;
        let pool = Arc::new(Pool { work: device.stream().clone(), stream, blocks: Mutex::default() });
        Ok(Self { stream: device.stream().clone(), recordings: Vec::new(), held: Vec::new(), pool })
    }
    fn begin(&self, moment: u64) -> Ended<'_> {
        let recorded = &self.stream.0.recorded;
        let _turn = lock(&recorded.turn);
        let mut now = lock(&recorded.now);
        (now.pool, now.moment) = (Some(self.pool.clone()), moment);
        recorded.thread.store(this_thread(), Ordering::Release);
        Ended { recorded, _turn }
    }
    /// Does work at once, in the recorder's memory: what is set up at first use is there when it is written down. The work uses no recorder of
    /// the stream.
    ///
    /// # Errors
    /// The work's.
    pub fn run<R, E>(&self, work: impl FnOnce() -> Result<R, E>) -> Result<R, E> {
        let _ended = self.begin(0);
        work()
    }
    /// Writes work down instead of doing it; its number, or none, and the work is not called, where the device cannot. `moment` is the address
    /// of what changes from replay to replay.
    ///
    /// # Errors
    /// The work's: [`Error::Unwritable`] for what crosses to or from the host.
    pub fn write(&mut self, moment: u64, work: &mut dyn FnMut() -> Result<()>) -> Result<Option<usize>> {
        let (stream, driver) = (self.stream.clone(), self.stream.0.shared.driver.as_ref());
        let recorded = &stream.0.recorded;
        let recording = {
            let _ended = self.begin(moment);
            let _alone = Alone::new();
            driver.written(stream.0.handle, &mut || {
                recorded.writer.store(this_thread(), Ordering::Release);
                let done = work();
                recorded.writer.store(0, Ordering::Release);
                done
            })
        };
        let (held, late) = {
            let mut now = lock(&recorded.now);
            (std::mem::take(&mut now.held), std::mem::take(&mut now.late))
        };
        self.held.extend(held);
        let _pass = Pass::new();
        for (address, bytes) in late {
            driver.release(stream.0.handle, address, bytes);
        }
        let Some(recording) = recording? else { return Ok(None) };
        self.recordings.push(recording);
        Ok(Some(self.recordings.len() - 1))
    }
    /// Does what was written down under a number.
    ///
    /// # Errors
    /// The driver's; [`Error::NotWritten`] for another number.
    pub fn replay(&self, number: usize) -> Result<()> {
        let recording = self.recordings.get(number).ok_or(Error::NotWritten)?;
        let _pass = Pass::new();
        self.stream.0.shared.driver.replay(self.stream.0.handle, recording)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let driver = self.stream.0.shared.driver.as_ref();
        let _pass = Pass::new();
        // What is at work names memory that goes now; an error of it has been told, or will be.
        let _ = driver.synchronize(self.stream.0.handle);
        self.recordings.iter().for_each(|recording| driver.forget(recording));
    }
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Recorder({} of {:?})", self.recordings.len(), self.stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::testing;

    /// Threads of one program may train over one handle of a device.
    #[test]
    fn recorders_of_one_stream_take_turns() {
        let Some(device) = testing::device() else { return };
        let begun = std::sync::Barrier::new(3);
        std::thread::scope(|scope| {
            for thread in 1..=3u64 {
                let (device, begun) = (&device, &begun);
                scope.spawn(move || {
                    let mut recorder = Recorder::new(device).unwrap();
                    let (pool, recorded) = (recorder.pool.clone(), &device.stream().0.recorded);
                    begun.wait();
                    for turn in 0..40 {
                        let moment = 100 * thread + turn;
                        let own = |moment: u64| {
                            for _ in 0..20 {
                                assert!(recorded.pool().is_some_and(|now| Arc::ptr_eq(&now, &pool)), "arrays come from another's pool");
                                assert_eq!(recorded.moment(), moment);
                                drop(device.alloc::<u32>(64).unwrap());
                                std::thread::yield_now();
                            }
                        };
                        recorder
                            .run(|| {
                                own(0);
                                Ok::<_, Error>(())
                            })
                            .unwrap();
                        let mut work = || {
                            own(moment);
                            Ok(())
                        };
                        recorder.write(moment, &mut work).unwrap();
                        assert!(recorded.pool().is_none());
                        // Work of a thread that writes nothing down, meanwhile.
                        assert_eq!(device.upload(&[moment]).unwrap().to_vec().unwrap(), [moment]);
                    }
                });
            }
        });
    }

    #[test]
    fn pieces_are_cut_and_joined() {
        let mut blocks = Blocks::default();
        blocks.give(1000, 100);
        blocks.give(2000, 50);
        assert_eq!((blocks.take(60, false), blocks.take(60, false)), (Some(1000), None));
        assert_eq!(blocks.take(40, false), Some(1060), "of two pieces that have room the smaller one");
        assert_eq!(blocks.take(49, true), None);
        blocks.give(1000, 60);
        assert_eq!(blocks.take(61, false), None);
        blocks.give(1060, 40);
        assert_eq!(blocks.free, BTreeMap::from([(1000, 100), (2000, 50)]));
        blocks.all.insert(1100, 10);
        blocks.give(1100, 10);
        assert_eq!(blocks.free.get(&1000), Some(&100), "what was taken for itself stays so");
        assert_eq!(blocks.take(10, true), Some(1100));
        assert_eq!((blocks.take(100, false), blocks.take(50, true), blocks.take(1, false)), (Some(1000), Some(2000), None));
    }
}
