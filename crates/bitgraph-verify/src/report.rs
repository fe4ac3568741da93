//! What ran, what was skipped and why, and the first mismatches.

use crate::progress::Progress;
use std::fmt;

/// How a check ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As expected.
    Passed,
    /// Not as expected.
    Failed(String),
}

/// One line of the table: many checks of one kind.
#[derive(Clone, Debug, Default)]
struct Row {
    ring: &'static str,
    what: String,
    passed: usize,
    failures: Vec<String>,
    failed: usize,
    skipped: Option<String>,
}

/// The table.
#[derive(Clone, Debug, Default)]
pub struct Report {
    rows: Vec<Row>,
    progress: Option<Progress>,
}

/// Mismatches printed for a line.
const SHOWN: usize = 3;

impl Report {
    /// One that says on standard error how far it is, until [`Report::end`].
    pub(crate) fn with_progress() -> Self {
        Self { progress: Some(Progress::new()), ..Self::default() }
    }
    /// Says what comes next, if progress is shown: a form of the backend, or a graph.
    pub(crate) fn begin(&mut self, ring: &'static str, what: &str) {
        if let Some(progress) = &mut self.progress {
            progress.begin(ring, what);
        }
    }
    /// Nothing more comes: what shows progress goes.
    pub(crate) fn end(&mut self) {
        if let Some(progress) = self.progress.take() {
            progress.clear();
        }
    }
    fn row(&mut self, ring: &'static str, what: &str) -> &mut Row {
        let index = self.rows.iter().position(|r| r.ring == ring && r.what == what).unwrap_or_else(|| {
            self.rows.push(Row { ring, what: what.to_string(), ..Row::default() });
            self.rows.len() - 1
        });
        &mut self.rows[index]
    }
    /// Counts a check; `case` names it if it failed.
    pub fn check(&mut self, ring: &'static str, what: &str, case: impl FnOnce() -> String, outcome: Outcome) {
        match outcome {
            Outcome::Passed => self.counted(ring, what).passed += 1,
            Outcome::Failed(message) => self.fail(ring, what, case(), &message),
        }
    }
    fn counted(&mut self, ring: &'static str, what: &str) -> &mut Row {
        if let Some(progress) = &mut self.progress {
            progress.count(ring, what);
        }
        self.row(ring, what)
    }
    fn fail(&mut self, ring: &'static str, what: &str, case: String, message: &str) {
        let row = self.counted(ring, what);
        row.failed += 1;
        if row.failures.len() < SHOWN {
            row.failures.push(format!("{case}: {message}"));
        }
    }
    /// Notes that a line was skipped, and why.
    pub fn skip(&mut self, ring: &'static str, what: &str, why: &str) {
        self.row(ring, what).skipped = Some(why.to_string());
    }
    /// Checks that passed.
    #[must_use]
    pub fn passed(&self) -> usize {
        self.rows.iter().map(|r| r.passed).sum()
    }
    /// Checks that failed.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.rows.iter().map(|r| r.failed).sum()
    }
    /// Lines that were skipped.
    #[must_use]
    pub fn skipped(&self) -> usize {
        self.rows.iter().filter(|r| r.skipped.is_some()).count()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:11} {:44} {:>8} {:>7}", "ring", "what", "passed", "failed")?;
        for r in &self.rows {
            let note = r.skipped.as_ref().map_or(String::new(), |why| format!("  skipped: {why}"));
            writeln!(f, "{:11} {:44} {:>8} {:>7}{note}", r.ring, r.what, r.passed, r.failed)?;
            for failure in &r.failures {
                writeln!(f, "    {failure}")?;
            }
        }
        writeln!(f, "{} passed, {} failed, {} skipped", self.passed(), self.failed(), self.skipped())
    }
}
