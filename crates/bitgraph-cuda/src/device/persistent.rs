//! Kernels that run a whole algorithm: launched with all blocks resident, watched for progress and cancellation from the host.
//!
//! Invariant: the state is zero before every launch; the pinned words belong to one run at a time.
#![allow(unsafe_code)]

use super::driver::Mode;
use super::{Device, DevicePtr, Kernel, Shape, lock};
use crate::{Error, Result};
use bitgraph_backend::{Control, Error as Base};
use bytemuck::{Pod, Zeroable};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// What the host and a persistent kernel say to each other; `bg::GridState` in the kernels.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct GridState {
    slots: [[u32; 4]; 4],
    failed: u32,
    stopped: u32,
    steps: u32,
    reserved: [u32; 13],
}

/// The pinned words of a run, null if nobody listens; `bg::HostLink` in the kernels.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct HostLink {
    cancel: DevicePtr<u32>,
    progress: DevicePtr<u32>,
}

impl HostLink {
    const SILENT: Self = Self { cancel: DevicePtr::NULL, progress: DevicePtr::NULL };
}

/// The state and the pinned words, made once for a device.
pub(super) struct Persistent {
    /// Its own allocation, not counted as the user's; lives as long as the device.
    state: u64,
    words: *mut u32,
}
// SAFETY: the pinned words are only touched through atomics.
unsafe impl Send for Persistent {}

const PROGRESS_WORD: usize = 32;

impl Persistent {
    fn new(device: &Device) -> Result<Self> {
        let state = device.driver().allocate(size_of::<GridState>() as u64, "the state of a kernel")?;
        device.driver().fill(state, 0, size_of::<GridState>() as u64)?;
        // Two words on lines of their own.
        Ok(Self { state, words: device.driver().pinned(256)?.cast() })
    }
    fn word(&self, index: usize) -> &AtomicU32 {
        // SAFETY: 256 pinned bytes hold both words, which live as long as the device.
        unsafe { AtomicU32::from_ptr(self.words.add(index)) }
    }
}

/// Device memory that a warmed-up device keeps for arrays to come.
const POOL_BYTES: u64 = 256 << 20;
/// Bytes copied each way to warm up.
const COPIED_BYTES: usize = 1 << 20;

impl Device {
    /// Does once what the driver otherwise sets up at first use, as a part of whatever comes first: memory of the pool, every way of
    /// copying, marks of time, the words that persistent kernels and the host share.
    ///
    /// # Errors
    /// The driver's.
    pub fn warm_up(&self) -> Result<()> {
        let (driver, copied) = (self.driver(), COPIED_BYTES as u64);
        let bytes = if self.properties().emulated { 2 * copied } else { POOL_BYTES };
        if let Ok(address) = driver.allocate(bytes, "the memory pool") {
            let mut host = vec![0; COPIED_BYTES];
            let copies = driver
                .fill(address, 0, bytes)
                .and_then(|()| driver.upload(address, &host))
                .and_then(|()| driver.copy(address + copied, address, copied))
                .and_then(|()| driver.download(&mut host, address));
            driver.release(address, bytes);
            copies?;
        }
        self.timed(|| Ok(()))?;
        self.forget_run();
        let mut slot = lock(&self.0.persistent);
        if slot.is_none() {
            *slot = Some(Persistent::new(self)?);
        }
        Ok(())
    }
    /// Launches a kernel that runs to the end by itself, timed, and waits for it. Reports progress and passes cancellation on.
    /// Returns the steps that it counted.
    ///
    /// # Errors
    /// [`Error::NotResident`], [`Error::Stuck`], cancellation, or the driver's.
    pub fn persistent<P: Pod>(
        &self,
        kernel: &Kernel,
        shape: Shape,
        control: &Control,
        parameters: impl FnOnce(DevicePtr<GridState>, HostLink) -> P,
    ) -> Result<u32> {
        control.check().map_err(Error::from)?;
        let mut slot = lock(&self.0.persistent);
        let shared = match &mut *slot {
            Some(shared) => shared,
            None => slot.insert(Persistent::new(self)?),
        };
        let listens = control.is_listened_to();
        let address = |word: usize| DevicePtr::new(shared.word(word).as_ptr() as u64);
        let link = if listens { HostLink { cancel: address(0), progress: address(PROGRESS_WORD) } } else { HostLink::SILENT };
        shared.word(0).store(0, Ordering::Release);
        shared.word(PROGRESS_WORD).store(0, Ordering::Release);
        // Ahead of the start mark: keeps the device busy while the host gives the rest, so that no gap is timed.
        self.driver().fill(shared.state, 0, size_of::<GridState>() as u64)?;
        let parameters = parameters(DevicePtr::new(shared.state), link);
        self.timed(|| self.launch(kernel, shape, &parameters))?;
        if listens && !self.properties().emulated {
            self.watch(shared, control)?;
        }
        let state = self.state_of(shared)?;
        if state.failed != 0 {
            return Err(Error::Stuck { kernel: kernel.name.to_string(), steps: state.steps });
        }
        if state.stopped != 0 {
            return Err(Base::Cancelled.into());
        }
        Ok(state.steps)
    }
    fn state_of(&self, shared: &Persistent) -> Result<GridState> {
        let mut state = GridState::zeroed();
        self.driver().download(bytemuck::bytes_of_mut(&mut state), shared.state)?;
        Ok(state)
    }
    fn watch(&self, shared: &Persistent, control: &Control) -> Result<()> {
        let mut reported = 0;
        for turn in 0u64.. {
            if self.driver().finished()? {
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
    pub fn persistent_shape(&self, kernel: &Kernel, block: u32, shared: u32, most: u32) -> Result<Shape> {
        let block = block.min(self.properties().max_threads_per_block);
        let resident = self.resident(kernel, block, shared)? * self.properties().sms;
        if resident == 0 {
            return Err(Error::NotResident { kernel: kernel.name.to_string(), wanted: 1, resident });
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

const _: () = assert!(size_of::<GridState>() == 128 && size_of::<HostLink>() == 16);
