//! Kernels that run a whole algorithm: launched with all blocks resident, watched for progress and cancellation from the host.
//!
//! Invariant: the state is zero before every launch; the pinned words belong to one run at a time.
#![allow(unsafe_code)]

use super::claim::Claim;
use super::driver::{Driver, Mode, StreamHandle};
use super::recorder::Pass;
use super::{Device, DevicePtr, Kernel, Parameters, Shape, lock, parameters};
use crate::{Error, Result};
use bitgraph_backend::{Control, Error as Base};
use bytemuck::Zeroable;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

parameters! {
    /// What the host and a persistent kernel say to each other; `bg::GridState` in the kernels.
    #[derive(Debug)]
    pub struct GridState = "common/grid.cuh" "bg::GridState" {
        slots: [[u32; 4]; 4],
        failed: u32,
        stopped: u32,
        steps: u32,
        reserved: [u32; 13],
    }

    /// The pinned words of a run, null if there is no listener; `bg::HostLink` in the kernels.
    #[derive(Debug)]
    pub struct HostLink = "common/grid.cuh" "bg::HostLink" {
        cancel: DevicePtr<u32>,
        progress: DevicePtr<u32>,
    }
}

impl HostLink {
    const SILENT: Self = Self { cancel: DevicePtr::NULL, progress: DevicePtr::NULL };
}

/// The state and the pinned words, made once for a stream.
pub(super) struct Persistent {
    /// Its own allocation, not counted as the user's; lives as long as the stream.
    state: u64,
    words: *mut u32,
}
// SAFETY: the pinned words are only touched through atomics.
unsafe impl Send for Persistent {}

const STATE_BYTES: u64 = size_of::<GridState>() as u64;
/// Two words on lines of their own.
const PINNED_BYTES: usize = 256;
const PROGRESS_WORD: usize = 32;

impl Persistent {
    fn new(device: &Device) -> Result<Self> {
        let (driver, stream) = (device.driver(), device.stream().0.handle);
        let _pass = Pass::new();
        let words = driver.pinned(PINNED_BYTES)?.cast();
        match driver.allocate(stream, STATE_BYTES, "the state of a kernel") {
            Ok(state) => Ok(Self { state, words }),
            Err(error) => {
                // SAFETY: just made, and not shared.
                unsafe { driver.unpin(words.cast(), PINNED_BYTES) };
                Err(error)
            }
        }
    }
    /// Gives the memory back once the stream is done with it.
    pub(super) fn release(self, driver: &dyn Driver, stream: StreamHandle) {
        driver.release(stream, self.state, STATE_BYTES);
        if driver.synchronize(stream).is_ok() {
            // SAFETY: no kernel is left that could use them. Where the wait fails, one may be, and they stay.
            unsafe { driver.unpin(self.words.cast(), PINNED_BYTES) };
        }
    }
    fn word(&self, index: usize) -> &AtomicU32 {
        // SAFETY: the pinned bytes hold both words, which live as long as this.
        unsafe { AtomicU32::from_ptr(self.words.add(index)) }
    }
}

/// Device memory that a warmed-up device keeps for arrays to come.
const POOL_BYTES: u64 = 256 << 20;
/// Bytes copied each way to warm up.
const COPIED_BYTES: usize = 1 << 20;

impl Device {
    /// Does once what the driver otherwise sets up at first use, as a part of whatever comes first: memory of the pool, every way of
    /// copying, the words that persistent kernels and the host share.
    ///
    /// # Errors
    /// The driver's.
    pub fn warm_up(&self) -> Result<()> {
        let (driver, stream, copied) = (self.driver(), self.stream().0.handle, COPIED_BYTES as u64);
        let bytes = if self.properties().emulated { 2 * copied } else { POOL_BYTES };
        let pass = Pass::new();
        if let Ok(address) = driver.allocate(stream, bytes, "the memory pool") {
            let mut host = vec![0; COPIED_BYTES];
            let copies = driver
                .fill(stream, address, 0, bytes)
                .and_then(|()| driver.upload(stream, address, &host))
                .and_then(|()| driver.copy(stream, address + copied, address, copied))
                .and_then(|()| driver.download(stream, &mut host, address));
            driver.release(stream, address, bytes);
            copies?;
        }
        drop(pass);
        let mut slot = lock(&self.stream().0.persistent);
        if slot.is_none() {
            *slot = Some(Persistent::new(self)?);
        }
        Ok(())
    }
    /// Launches a kernel that runs to the end by itself, and waits for it. Reports progress and passes cancellation on. Returns the steps
    /// that it counted. One such run at a time on a stream.
    ///
    /// # Safety
    /// As of [`Device::launch`].
    ///
    /// # Errors
    /// [`Error::NotResident`], [`Error::Stuck`], cancellation, or the driver's.
    pub unsafe fn persistent<P: Parameters>(
        &self,
        kernel: &Kernel<P>,
        shape: Shape,
        control: &Control,
        parameters: impl FnOnce(DevicePtr<GridState>, HostLink) -> P,
    ) -> Result<u32> {
        // Before anything is claimed: who waits for that may wait for this thread to end writing down.
        self.stream().0.recorded.refuse("a kernel that is waited for")?;
        let mut parameters = Some(parameters);
        // The shim's blocks are threads, of which there are enough.
        let blocks = if self.properties().emulated { 1 } else { shape.grid };
        let _claim = Claim::new(self.ordinal(), blocks, self.properties().sms);
        self.to_the_end(&kernel.loaded.name, control, &mut |state, link| match parameters.take() {
            // SAFETY: the caller's promises; the state and the words outlive the wait.
            Some(parameters) => self.span(|| unsafe { self.launch(kernel, shape, &parameters(state, link)) }),
            None => Ok(()),
        })
    }
    /// [`Device::persistent`], given what launches the kernel, once: compiled once, not for every kernel.
    fn to_the_end(
        &self,
        kernel: &str,
        control: &Control,
        launch: &mut dyn FnMut(DevicePtr<GridState>, HostLink) -> Result<()>,
    ) -> Result<u32> {
        control.check()?;
        let mut slot = lock(&self.stream().0.persistent);
        let shared = match &mut *slot {
            Some(shared) => shared,
            None => slot.insert(Persistent::new(self)?),
        };
        let listens = control.is_listened_to();
        let address = |word: usize| DevicePtr::new(shared.word(word).as_ptr() as u64);
        let link = if listens { HostLink { cancel: address(0), progress: address(PROGRESS_WORD) } } else { HostLink::SILENT };
        shared.word(0).store(0, Ordering::Release);
        shared.word(PROGRESS_WORD).store(0, Ordering::Release);
        {
            let _pass = Pass::new();
            self.driver().fill(self.stream().0.handle, shared.state, 0, STATE_BYTES)?;
        }
        launch(DevicePtr::new(shared.state), link)?;
        if listens && !self.properties().emulated {
            self.watch(shared, control)?;
        }
        let state = self.state_of(shared)?;
        if state.failed != 0 {
            return Err(Error::Stuck { kernel: kernel.to_string(), steps: state.steps });
        }
        if state.stopped != 0 {
            return Err(Base::Cancelled.into());
        }
        Ok(state.steps)
    }
    fn state_of(&self, shared: &Persistent) -> Result<GridState> {
        let mut state = GridState::zeroed();
        let _pass = Pass::new();
        self.driver().download(self.stream().0.handle, bytemuck::bytes_of_mut(&mut state), shared.state)?;
        Ok(state)
    }
    fn watch(&self, shared: &Persistent, control: &Control) -> Result<()> {
        let mut reported = 0;
        for turn in 0u64.. {
            if self.stream().is_idle()? {
                break;
            }
            if control.is_cancelled() {
                shared.word(0).store(1, Ordering::Release);
            }
            let steps = shared.word(PROGRESS_WORD).load(Ordering::Acquire);
            if steps != reported {
                control.report(steps.into(), None);
                reported = steps;
            }
            // Most runs end within microseconds; long ones need no hot processor.
            if turn > 2000 {
                std::thread::sleep(Duration::from_micros(200));
            } else {
                std::hint::spin_loop();
            }
        }
        Ok(())
    }
    /// The grid of a persistent kernel: as many blocks as stay resident, at most `most`.
    ///
    /// # Errors
    /// [`Error::NotResident`] if not even one block fits.
    pub fn persistent_shape<P>(&self, kernel: &Kernel<P>, block: u32, shared: u32, most: u32) -> Result<Shape> {
        let block = block.min(self.properties().max_threads_per_block);
        let resident = self.resident(kernel, block, shared)? * self.properties().sms;
        if resident == 0 {
            return Err(Error::NotResident { kernel: kernel.loaded.name.to_string(), wanted: 1, resident });
        }
        Ok(Shape { grid: resident.min(most.max(1)), block, shared, mode: Mode::Cooperative })
    }
    /// The grid of an ordinary kernel over `items`, one a thread, in blocks of up to `block` threads.
    #[must_use]
    pub fn cover(&self, items: usize, block: u32) -> Shape {
        let block = block.min(self.properties().max_threads_per_block);
        // Larger grids than this loop over their items.
        let grid = (items as u64).div_ceil(u64::from(block)).min(1 << 30) as u32;
        Shape { grid, block, shared: 0, mode: Mode::Plain }
    }
}
