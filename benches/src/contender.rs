//! Programs under test, and the turns they take.
//!
//! Invariant: runs of different contenders alternate, so that a machine that changes speed does so for all of them; nothing is timed
//! before its result agreed with ours.

use crate::report::Layout;
use anyhow::{Result, bail};
use std::time::Instant;

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Its result is compared.
    Check,
    /// Its time counts.
    Time,
}

/// A result in a form that another program's can be held against.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// A search: reached vertices, and the largest level where the program tells it.
    Search(u64, Option<u32>),
    /// Shortest paths: reached vertices, and the sum of their distances.
    Distances(u64, u64),
    /// A number that is exact: components, triangles.
    Count(u64),
    /// Scores whose sum of differences is to be small beside their sum.
    Scores(Vec<f32>),
    /// Sums, each within rounding.
    Sums(Vec<f32>),
}

impl Answer {
    /// Whether two programs computed the same.
    #[must_use]
    pub fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Search(a, d), Self::Search(b, e)) => a == b && (d.is_none() || e.is_none() || d == e),
            (Self::Scores(a), Self::Scores(b)) => {
                let apart: f64 = a.iter().zip(b).map(|(x, y)| f64::from((x - y).abs())).sum();
                let sum: f64 = a.iter().map(|x| f64::from(*x)).sum();
                a.len() == b.len() && apart <= 1e-3 * sum
            }
            (Self::Sums(a), Self::Sums(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() <= 1e-4 * x.abs().max(y.abs()))
            }
            (a, b) => a == b,
        }
    }
    /// What to show of it when it does not agree.
    fn summary(&self) -> String {
        match self {
            Self::Scores(x) | Self::Sums(x) => {
                format!("{} values of sum {}", x.len(), x.iter().map(|v| f64::from(*v)).sum::<f64>())
            }
            other => format!("{other:?}"),
        }
    }
}

/// What a run gave: its time, and its result if that was asked for and the program tells it.
pub struct Outcome {
    /// Seconds of the run, or the program's own median.
    pub seconds: f64,
    /// The result.
    pub answer: Option<Answer>,
}

/// Times an algorithm; turning its result into an answer is not part of it.
///
/// # Errors
/// The algorithm's.
pub fn timed<R>(purpose: Purpose, algorithm: impl FnOnce() -> Result<R>, answer: impl FnOnce(R) -> Answer) -> Result<Outcome> {
    let start = Instant::now();
    let result = algorithm()?;
    let seconds = start.elapsed().as_secs_f64();
    Ok(Outcome { seconds, answer: (purpose == Purpose::Check).then(|| answer(result)) })
}

type Run = Box<dyn FnMut(Purpose) -> Result<Outcome> + Send>;

/// A program under test, its graph built.
pub struct Contender {
    /// The name in reports.
    pub name: String,
    /// Seconds it took to build its graph; unknown of an external program.
    pub build_seconds: Option<f64>,
    /// What ours chose; none of peers.
    pub layout: Option<Layout>,
    /// Whether the program runs several times in a row by itself.
    external: bool,
    run: Run,
}

impl Contender {
    /// A program in this process.
    pub fn new(name: impl Into<String>, build_seconds: f64, run: impl FnMut(Purpose) -> Result<Outcome> + Send + 'static) -> Self {
        Self { name: name.into(), build_seconds: Some(build_seconds), layout: None, external: false, run: Box::new(run) }
    }
    /// A program of its own, which tells its times and no result.
    pub fn external(name: impl Into<String>, mut run: impl FnMut() -> Result<f64> + Send + 'static) -> Self {
        let run = move |purpose| {
            let seconds = if purpose == Purpose::Time { run()? } else { 0.0 };
            Ok(Outcome { seconds, answer: None })
        };
        Self { name: name.into(), build_seconds: None, layout: None, external: true, run: Box::new(run) }
    }
    /// With the layout that it chose.
    #[must_use]
    pub fn with_layout(mut self, layout: Layout) -> Self {
        self.layout = Some(layout);
        self
    }
    /// The median of a turn: a few runs in a row if they are short, so that a turn does not begin in another's caches.
    fn turn(&mut self, expected: f64) -> Result<f64> {
        let runs = if self.external || expected > 0.5 { 1 } else { 3 };
        let seconds = (0..runs).map(|_| Ok((self.run)(Purpose::Time)?.seconds)).collect::<Result<Vec<f64>>>()?;
        Ok(median(&seconds))
    }
}

/// The times of one contender: one per round, or one alone if it is too slow for more.
pub struct Series {
    /// Medians of the turns, in seconds.
    pub seconds: Vec<f64>,
    /// Whether its result was compared with ours.
    pub checked: bool,
}

/// Checks and times contenders, ours first, in `rounds` rounds. One that takes longer than `limit` seconds runs once.
///
/// # Errors
/// Any contender's, or a result that disagrees with the first contender's.
pub fn compare(contenders: &mut [Contender], rounds: u32, limit: f64) -> Result<Vec<Series>> {
    let mut ours: Option<Answer> = None;
    let (mut series, mut expected) = (Vec::new(), Vec::new());
    for contender in contenders.iter_mut() {
        let answer = (contender.run)(Purpose::Check)?.answer;
        if let (Some(a), Some(b)) = (&ours, &answer)
            && !a.agrees(b)
        {
            bail!("{} found {}, and ours {}", contender.name, b.summary(), a.summary());
        }
        let seconds = if contender.external { 0.0 } else { (contender.run)(Purpose::Time)?.seconds };
        let slow = seconds > limit;
        series.push(Series { seconds: if slow { vec![seconds] } else { Vec::new() }, checked: answer.is_some() });
        expected.push(if slow { f64::INFINITY } else { seconds });
        ours = ours.or(answer);
    }
    for _ in 0..rounds {
        for ((contender, series), &expected) in contenders.iter_mut().zip(&mut series).zip(&expected) {
            if expected.is_finite() {
                series.seconds.push(contender.turn(expected)?);
            }
        }
    }
    Ok(series)
}

/// The median, the mean of the middle two of an even number; 0 of nothing.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// The median over rounds of the ratio of times, which a machine's changes of speed touch less than a ratio of medians.
#[must_use]
pub fn ratio(ours: &Series, peer: &Series) -> f64 {
    if ours.seconds.len() == peer.seconds.len() {
        let each: Vec<f64> = ours.seconds.iter().zip(&peer.seconds).map(|(a, b)| a / b).collect();
        return median(&each);
    }
    median(&ours.seconds) / median(&peer.seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(name: &str, seconds: f64, answer: Answer) -> Contender {
        Contender::new(name, 0.0, move |purpose| Ok(Outcome { seconds, answer: (purpose == Purpose::Check).then(|| answer.clone()) }))
    }

    #[test]
    fn turns_and_ratios() {
        let same = Answer::Search(7, None);
        let mut contenders =
            vec![fixed("ours", 1.0, Answer::Search(7, Some(2))), fixed("peer", 4.0, same.clone()), fixed("slow", 30.0, same)];
        contenders.push(Contender::external("program", || Ok(2.0)));
        let series = compare(&mut contenders, 3, 20.0).unwrap();
        assert_eq!(series.iter().map(|s| s.seconds.len()).collect::<Vec<_>>(), [3, 3, 1, 3]);
        assert_eq!(series.iter().map(|s| s.checked).collect::<Vec<_>>(), [true, true, true, false]);
        assert_eq!((ratio(&series[0], &series[1]), ratio(&series[0], &series[3])), (0.25, 0.5));
        contenders.push(fixed("wrong", 1.0, Answer::Search(8, None)));
        assert!(compare(&mut contenders, 1, 20.0).is_err());
    }
}
