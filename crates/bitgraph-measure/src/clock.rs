//! The time of a run: by the host, or by a GPU's own clock from the first launch to the end of the last, its result still there.
//!
//! Invariant: a GPU is kept at work until the host has given it what is timed; the host's rate of launching is no part of a single run.

use bitgraph_cuda::device::{Device, Event, Observer, Recorder, Stream};
use bitgraph_cuda::primitives::Pause;
use bitgraph_cuda::{Error, Result};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Giving a launch to the device takes less.
const AHEAD_NANOSECONDS: u64 = 6000;

/// How often work is given to a device when its time is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launches {
    /// Once.
    One,
    /// So many times in a row, each by the host; their mean counts.
    Row(usize),
    /// So many times, written down before and given to the device as one graph; their mean counts. Elsewhere they run in a row.
    Graph(usize),
}

impl Launches {
    /// How often.
    #[must_use]
    pub fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::Row(count) | Self::Graph(count) => count.max(1),
        }
    }
}

/// A run, and how long it took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timed<R> {
    /// Seconds on the device; of the host, where the run did not say when it worked there.
    pub seconds: f64,
    /// Seconds as the host sees them: calling it and fetching the result are in it.
    pub wall: f64,
    /// Whether `seconds` are the device's.
    pub on_device: bool,
    /// What it returned.
    pub result: R,
}

/// Whose clock counts. While there is one of a device, its stream tells it of every run; one at a time on a stream. A clone is the same clock.
#[derive(Clone, Debug)]
pub struct Clock(Option<Arc<OfDevice>>);

#[derive(Debug)]
struct OfDevice {
    device: Device,
    marks: Arc<Marks>,
}

/// The marks of the last run.
#[derive(Debug)]
struct Marks {
    /// What the device does ahead of a run; nothing on the host shim, or where the kernel cannot be had.
    ahead: Option<Pause>,
    begun: Mutex<Option<Event>>,
    run: Mutex<Option<(Event, Event)>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Observer for Marks {
    fn begins(&self, stream: &Stream) -> Result<()> {
        *lock(&self.run) = None;
        // An idle device would reach the mark of the start at once, and the time until the host's launch arrives, two microseconds,
        // would be taken for a part of the run. Caches stay as they are: a device that fills memory meanwhile takes features out of them.
        if let Some(ahead) = &self.ahead {
            ahead.run(AHEAD_NANOSECONDS)?;
        }
        *lock(&self.begun) = Some(stream.record()?);
        Ok(())
    }
    fn ends(&self, stream: &Stream) -> Result<()> {
        if let Some(begun) = lock(&self.begun).take() {
            *lock(&self.run) = Some((begun, stream.record()?));
        }
        Ok(())
    }
}

impl Marks {
    /// Seconds of the last run that succeeded; waits for its end.
    fn seconds(&self) -> Result<Option<f64>> {
        lock(&self.run).as_ref().map(|(from, to)| to.seconds_since(from)).transpose()
    }
}

impl Drop for OfDevice {
    fn drop(&mut self) {
        self.device.stream().observe(None);
    }
}

impl Clock {
    /// The clock of a device, or the host's.
    #[must_use]
    pub fn of(device: Option<&Device>) -> Self {
        Self(device.map(|device| {
            let ahead = if device.properties().emulated { None } else { Pause::new(device).ok() };
            let marks = Arc::new(Marks { ahead, begun: Mutex::default(), run: Mutex::default() });
            device.stream().observe(Some(marks.clone()));
            Arc::new(OfDevice { device: device.clone(), marks })
        }))
    }
    /// Runs an algorithm. A fused form says itself when it works on the device.
    ///
    /// # Errors
    /// The algorithm's, or the driver's.
    pub fn run<R, E: From<Error>>(&self, algorithm: impl FnOnce() -> Result<R, E>) -> Result<Timed<R>, E> {
        if let Some(own) = &self.0 {
            *lock(&own.marks.run) = None;
        }
        let start = Instant::now();
        let result = algorithm()?;
        let wall = start.elapsed().as_secs_f64();
        let found = self.0.as_ref().map(|own| own.marks.seconds()).transpose()?.flatten();
        Ok(Timed { seconds: found.unwrap_or(wall), wall, on_device: found.is_some(), result })
    }
    /// As [`Clock::run`]; an algorithm that does not say when it works on the device (a definition does not) is run again and timed there from
    /// its first operation to its last.
    ///
    /// # Errors
    /// As [`Clock::run`].
    pub fn algorithm<R, E: From<Error>>(&self, mut algorithm: impl FnMut() -> Result<R, E>) -> Result<Timed<R>, E> {
        let first = self.run(&mut algorithm)?;
        if first.on_device || self.0.is_none() { Ok(first) } else { self.whole(algorithm) }
    }
    /// Runs anything: on a device, from its first operation to its last.
    ///
    /// # Errors
    /// As [`Clock::run`].
    pub fn whole<R, E: From<Error>>(&self, work: impl FnOnce() -> Result<R, E>) -> Result<Timed<R>, E> {
        match &self.0 {
            Some(own) => self.run(|| own.device.span(work)),
            None => self.run(work),
        }
    }
    /// Seconds of one run of `work`, of as many as asked for. Work that is written down as a graph crosses
    /// neither to nor from the host.
    ///
    /// # Errors
    /// As [`Clock::run`]; the driver's, if the work cannot be written down.
    pub fn seconds_of<E: From<Error>>(&self, launches: Launches, mut work: impl FnMut() -> Result<(), E>) -> Result<f64, E> {
        let mut all = || (0..launches.count()).try_for_each(|_| work());
        let recorded = match (&self.0, launches) {
            (Some(own), Launches::Graph(_)) => {
                let mut failed = None;
                let mut work = || {
                    all().map_err(|error| {
                        failed = Some(error);
                        Error::NotWritten
                    })
                };
                // Work may make its arrays anew: what it let go while it was written down is the recorder's.
                let mut recorder = Recorder::new(&own.device)?;
                let written = recorder.write(0, &mut work);
                match failed {
                    Some(error) => return Err(error),
                    None => written?.map(|number| (recorder, number)),
                }
            }
            _ => None,
        };
        let timed = match recorded {
            Some((recorder, number)) => self.whole(|| recorder.replay(number).map_err(E::from))?,
            None => self.whole(all)?,
        };
        Ok(timed.seconds / launches.count() as f64)
    }
}
