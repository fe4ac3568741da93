//! Cancellation and progress for every stage of a command.
//!
//! Invariant: a bar is shown on a terminal only, on standard error, and is gone before anything is printed.

use bitgraph::io::{Listener, Remark, Temporary, WriteOptions};
use bitgraph::sparse::{Control, Progress};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::failure::{Failure, Result};
use crate::output;

/// The Ctrl-C flag, and the bar if there is one.
pub struct Reporter {
    cancel: Arc<AtomicBool>,
    bar: Option<ProgressBar>,
    quiet: bool,
}

impl Reporter {
    /// A bar is shown unless `quiet`, and only on a terminal.
    pub fn new(cancel: Arc<AtomicBool>, quiet: bool) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            // Nothing is drawn before there is something to say.
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10)).with_style(ProgressStyle::default_spinner())
        });
        Self { cancel, bar, quiet }
    }
    /// Starts a stage.
    fn stage(&self, label: &'static str) -> Option<impl Fn(Progress) + Send + Sync + use<>> {
        let bar = self.bar.clone()?;
        bar.set_style(ProgressStyle::default_spinner());
        bar.set_message(label);
        bar.enable_steady_tick(Duration::from_millis(200));
        Some(move |p: Progress| match p.total {
            Some(total) => {
                if bar.length() != Some(total) {
                    bar.set_length(total);
                    let style = ProgressStyle::with_template("{msg} {wide_bar} {percent:>3} % {eta:>4}");
                    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
                }
                bar.set_position(p.done);
            }
            None => bar.set_position(p.done),
        })
    }
    /// The control of a stage: loading, or an algorithm.
    pub fn running(&self, label: &'static str) -> Control {
        let control = Control::default().with_cancel(Arc::clone(&self.cancel));
        match self.stage(label) {
            Some(report) => control.with_progress(report),
            None => control,
        }
    }
    /// Says what a reader noticed about a file, past the bar.
    pub fn remarks(&self) -> Listener<Remark> {
        let (quiet, bar) = (self.quiet, self.bar.clone());
        Listener::new(move |remark| {
            if !quiet {
                past(bar.as_ref(), &format!("bitgraph: {remark}\n"));
            }
        })
    }
    /// How files are written: without a bar; Ctrl-C stops it.
    pub fn writing(&self) -> WriteOptions {
        let temporary = Listener::new(|event| match event {
            Temporary::Made(path) => crate::signals::temporary_file(Some(path)),
            _ => crate::signals::temporary_file(None),
        });
        WriteOptions { control: Control::default().with_cancel(Arc::clone(&self.cancel)), temporary }
    }
    /// How what was reached is saved: Ctrl-C does not stop it.
    pub fn saving(&self) -> WriteOptions {
        WriteOptions { control: Control::default(), ..self.writing() }
    }
    /// Says on the bar how far the stage is.
    pub fn message(&self, text: String) {
        if let Some(bar) = &self.bar {
            bar.set_message(text);
        }
    }
    /// Names a stage without progress of its own.
    pub fn note(&self, label: &'static str) {
        self.stage(label);
    }
    /// Says something on standard error, past the bar.
    pub fn tell(&self, sentence: &str) {
        self.past_the_bar(&format!("bitgraph: {sentence}\n"));
    }
    /// Prints a text on standard error as it is, past the bar.
    pub fn past_the_bar(&self, text: &str) {
        past(self.bar.as_ref(), text);
    }
    /// An error after Ctrl-C.
    pub fn check(&self) -> Result<()> {
        if self.cancel.load(Ordering::Relaxed) { Err(Failure::Interrupted) } else { Ok(()) }
    }
    /// Takes the bar away.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Prints a text on standard error, past a bar if there is one.
fn past(bar: Option<&ProgressBar>, text: &str) {
    match bar {
        Some(bar) => bar.suspend(|| output::note(text)),
        None => output::note(text),
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.clear();
    }
}
