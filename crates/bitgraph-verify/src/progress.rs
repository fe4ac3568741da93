//! How far a verification is, on standard error: a line that is drawn over on a terminal, and one every [`PERIOD`] elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// How long nothing is said where a line stays.
const PERIOD: Duration = Duration::from_secs(10);
/// How long a line on a terminal stands at least.
const REDRAW: Duration = Duration::from_millis(100);

/// The ring at hand, and how many of its cases are done.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    ring: &'static str,
    done: usize,
    told: Instant,
}

impl Progress {
    pub(crate) fn new() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            // Nothing is drawn before there is something to say.
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10)).with_style(ProgressStyle::default_spinner())
        });
        Self { bar, ring: "", done: 0, told: Instant::now() }
    }
    /// Names what comes next: a form of the backend, or a graph.
    pub(crate) fn begin(&mut self, ring: &'static str, what: &str) {
        self.enter(ring);
        self.tell(what);
    }
    /// Counts a case of the line `what` of the table.
    pub(crate) fn count(&mut self, ring: &'static str, what: &str) {
        self.enter(ring);
        self.done += 1;
        if self.told.elapsed() >= if self.bar.is_some() { REDRAW } else { PERIOD } {
            self.tell(what);
        }
    }
    fn enter(&mut self, ring: &'static str) {
        if self.ring != ring {
            (self.ring, self.done) = (ring, 0);
        }
    }
    fn tell(&mut self, what: &str) {
        let text = format!("{}: {} cases done, at {what}", self.ring, self.done);
        match &self.bar {
            Some(bar) => {
                bar.enable_steady_tick(Duration::from_millis(200));
                bar.set_message(text);
            }
            None => eprintln!("{text}"),
        }
        self.told = Instant::now();
    }
    /// Takes the line away.
    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
