//! Programs under test, and the turns they take.
//!
//! Invariant: runs of different contenders alternate, so that a machine that changes speed does so for all of them; nothing is timed
//! before its result agreed with ours.

use crate::{Clock, Launches};
use bitgraph_cuda::Error;

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Purpose {
    /// Its result is compared.
    Check,
    /// Its time counts; so many of those that are launched, algorithms once whatever is asked.
    Time(Launches),
}

impl Purpose {
    /// How often what is launched is to be launched.
    #[must_use]
    pub fn launches(self) -> Launches {
        match self {
            Self::Check => Launches::One,
            Self::Time(launches) => launches,
        }
    }
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
    Sums(Vec<f64>),
    /// Whole numbers, to the last bit.
    Exact(Vec<u64>),
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
                a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() <= 1e-4 * x.abs().max(y.abs()) + 1e-9)
            }
            (a, b) => a == b,
        }
    }
    /// What to show of it when it does not agree.
    fn summary(&self) -> String {
        match self {
            Self::Scores(x) => format!("{} values of sum {}", x.len(), x.iter().map(|v| f64::from(*v)).sum::<f64>()),
            Self::Sums(x) => format!("{} values of sum {}", x.len(), x.iter().sum::<f64>()),
            Self::Exact(x) => format!("{} values of sum {}", x.len(), x.iter().copied().fold(0, u64::wrapping_add)),
            other => format!("{other:?}"),
        }
    }
}

/// What a run gave: its time, and its result if that was asked for and the program tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Seconds of one run; the mean, if it was several, or the program's own median.
    pub seconds: f64,
    /// The result.
    pub answer: Option<Answer>,
    /// Edges traversed; 0 if the program does not tell.
    pub edges: u64,
}

/// Times an algorithm; turning its result into an answer and the edges that it traversed is not part of it.
///
/// # Errors
/// The algorithm's.
pub fn timed<R, E: From<Error>>(
    clock: &Clock,
    purpose: Purpose,
    algorithm: impl FnMut() -> Result<R, E>,
    answer: impl FnOnce(R) -> (Answer, u64),
) -> Result<Outcome, E> {
    let timed = clock.algorithm(algorithm)?;
    let found = (purpose == Purpose::Check).then(|| answer(timed.result));
    let (answer, edges) = found.map_or((None, 0), |(answer, edges)| (Some(answer), edges));
    Ok(Outcome { seconds: timed.seconds, answer, edges })
}

/// Where a contender keeps a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The format.
    pub format: &'static str,
    /// The order.
    pub order: &'static str,
    /// Bytes that a run moves between memory and cores, about; 0 if unknown.
    pub bytes: u64,
}

type Run<E> = Box<dyn FnMut(Purpose) -> Result<Outcome, E>>;

/// A program under test, its graph built.
pub struct Contender<E> {
    /// The name in reports.
    pub name: String,
    /// Seconds it took to build its graph; unknown of an external program.
    pub build_seconds: Option<f64>,
    /// What ours chose; none of peers.
    pub layout: Option<Layout>,
    /// Whether the program runs several times in a row by itself.
    external: bool,
    run: Run<E>,
}

impl<E> Contender<E> {
    /// A program in this process.
    pub fn new(name: impl Into<String>, build_seconds: f64, run: impl FnMut(Purpose) -> Result<Outcome, E> + 'static) -> Self {
        Self { name: name.into(), build_seconds: Some(build_seconds), layout: None, external: false, run: Box::new(run) }
    }
    /// A program of its own, which tells its times and no result.
    pub fn external(name: impl Into<String>, mut run: impl FnMut() -> Result<f64, E> + 'static) -> Self {
        let run = move |purpose| {
            let seconds = if purpose == Purpose::Check { 0.0 } else { run()? };
            Ok(Outcome { seconds, answer: None, edges: 0 })
        };
        Self { name: name.into(), build_seconds: None, layout: None, external: true, run: Box::new(run) }
    }
    /// With the layout that it chose.
    #[must_use]
    pub fn with_layout(mut self, layout: Layout) -> Self {
        self.layout = Some(layout);
        self
    }
    /// Runs it.
    ///
    /// # Errors
    /// Its own.
    pub fn run(&mut self, purpose: Purpose) -> Result<Outcome, E> {
        (self.run)(purpose)
    }
    /// Seconds of a run, or the mean of several.
    ///
    /// # Errors
    /// Its own.
    pub fn seconds(&mut self, launches: Launches) -> Result<f64, E> {
        Ok(self.run(Purpose::Time(launches))?.seconds)
    }
    /// The median of a turn: a few runs in a row if they are short, so that a turn does not begin in another's caches.
    fn turn(&mut self, expected: f64) -> Result<f64, E> {
        let runs = if self.external || expected > 0.5 { 1 } else { 3 };
        let seconds = (0..runs).map(|_| self.seconds(Launches::One)).collect::<Result<Vec<f64>, E>>()?;
        Ok(median(&seconds))
    }
}

/// Two contenders that found different things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// Whose result was compared.
    pub name: String,
    /// What it found.
    pub found: String,
    /// Whose result it was compared with.
    pub with: String,
    /// What that is.
    pub expected: String,
}

impl std::fmt::Display for Disagreement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} found {}, and {} {}", self.name, self.found, self.with, self.expected)
    }
}
impl std::error::Error for Disagreement {}

/// The first result, with which all others are compared.
#[derive(Clone, Debug, Default)]
pub struct Expected(Option<(String, Answer)>);

impl Expected {
    /// Runs a contender for its result, and compares that with those before.
    ///
    /// # Errors
    /// The contender's, or [`Disagreement`].
    pub fn check<E: From<Disagreement>>(&mut self, contender: &mut Contender<E>) -> Result<Outcome, E> {
        let outcome = contender.run(Purpose::Check)?;
        match (&self.0, &outcome.answer) {
            (Some((with, expected)), Some(answer)) if !expected.agrees(answer) => {
                let (found, expected) = (answer.summary(), expected.summary());
                return Err(Disagreement { name: contender.name.clone(), found, with: with.clone(), expected }.into());
            }
            (None, Some(answer)) => self.0 = Some((contender.name.clone(), answer.clone())),
            _ => {}
        }
        Ok(outcome)
    }
}

/// Gives all a turn in each of `rounds` rounds; what the turns gave, by contender.
///
/// # Errors
/// That of a turn.
pub fn in_turns<C, E>(
    contenders: &mut [C],
    rounds: u32,
    mut turn: impl FnMut(usize, &mut C) -> Result<Option<f64>, E>,
) -> Result<Vec<Vec<f64>>, E> {
    let mut all = vec![Vec::new(); contenders.len()];
    for _ in 0..rounds {
        for (i, (contender, times)) in contenders.iter_mut().zip(&mut all).enumerate() {
            times.extend(turn(i, contender)?);
        }
    }
    Ok(all)
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
pub fn compare<E: From<Disagreement>>(contenders: &mut [Contender<E>], rounds: u32, limit: f64) -> Result<Vec<Series>, E> {
    let mut ours = Expected::default();
    let (mut series, mut expected) = (Vec::new(), Vec::new());
    for contender in contenders.iter_mut() {
        let checked = ours.check(contender)?.answer.is_some();
        let seconds = if contender.external { 0.0 } else { contender.seconds(Launches::One)? };
        let slow = seconds > limit;
        series.push(Series { seconds: if slow { vec![seconds] } else { Vec::new() }, checked });
        expected.push(if slow { f64::INFINITY } else { seconds });
    }
    let turns = in_turns(
        contenders,
        rounds,
        |i, contender| {
            if expected[i].is_finite() { contender.turn(expected[i]).map(Some) } else { Ok(None) }
        },
    )?;
    for (series, turns) in series.iter_mut().zip(turns) {
        series.seconds.extend(turns);
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

    fn fixed(name: &str, seconds: f64, answer: Answer) -> Contender<Disagreement> {
        Contender::new(name, 0.0, move |purpose| {
            Ok(Outcome { seconds, answer: (purpose == Purpose::Check).then(|| answer.clone()), edges: 0 })
        })
    }

    #[test]
    fn medians() {
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0]), median(&[])), (2.0, 2.5, 0.0));
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
        let error = compare(&mut contenders, 1, 20.0).err().unwrap();
        assert_eq!(error.to_string(), "wrong found Search(8, None), and ours Search(7, Some(2))");
    }
}
