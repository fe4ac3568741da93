//! The planner: asks the backend for the variants of an algorithm on a graph, and keeps those that the request allows.
//!
//! Invariant: a format or order that the graph came in costs nothing to build.

use super::{Candidate, Plan, Request};
use crate::{Error, GraphData};
use bitgraph_sparse::FormatKind;
use bitgraph_sparse::ordering::Ordering;

/// What a graph that is stored in tiles takes as it is, and what any other layout would.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoredCost {
    /// The variant that runs on it.
    pub variant: &'static str,
    /// Predicted seconds of one run.
    pub run_seconds: f64,
    /// Seconds that CSR takes at least to be made of it.
    pub csr_seconds: f64,
    /// Seconds of one run that no other layout is faster than.
    pub min_seconds: f64,
}

/// The layouts that a request allows, with their predicted times.
#[derive(Clone, Debug)]
pub(crate) struct Forecast {
    pub candidates: Vec<Candidate>,
    /// The most runs that these candidates are all for: beyond, others have to be weighed as well.
    pub holds_for: u32,
    stored: Option<(FormatKind, Ordering)>,
}

impl Forecast {
    /// The plan that takes one of the candidates.
    pub fn plan(&self, algorithm: &'static str, chosen: usize, runs: u32, learnt: bool) -> Plan {
        let mut candidates = self.candidates.clone();
        let chosen = candidates[chosen].clone();
        // A stable sort keeps the simpler layout first among equals.
        candidates.sort_by(|a, b| a.total_seconds(f64::from(runs)).total_cmp(&b.total_seconds(f64::from(runs))));
        Plan { algorithm, runs, learnt, chosen, candidates, stored: self.stored, note: None }
    }
    /// The cheapest candidate for so many runs, building included; the first among equals.
    pub fn cheapest(&self, runs: u32) -> usize {
        let total = |&i: &usize| self.candidates[i].total_seconds(f64::from(runs));
        (0..self.candidates.len()).min_by(|a, b| total(a).total_cmp(&total(b))).unwrap_or(0)
    }
}

/// Weighs the layouts that a request allows for so many runs; there is always one. What the backend knows of the algorithm is asked for
/// when it is needed, so that this is compiled once, not for every algorithm.
///
/// # Errors
/// [`Error::Unsupported`] for a forced variant that the backend does not have for this graph.
pub(crate) fn weigh(
    graph: &GraphData,
    algorithm: &'static str,
    request: &Request,
    runs: u32,
    stored_cost: &dyn Fn() -> Option<StoredCost>,
    variants: &dyn Fn() -> Vec<Candidate>,
) -> Result<Forecast, Error> {
    let own = graph.layout().kind();
    let given = graph.order().map(|o| o.0);
    let stored = Some((own, given.unwrap_or_default())).filter(|&s| s != (FormatKind::Csr, Ordering::None));
    // A known order stays unless another one is forced.
    let ordering = request.ordering.or(given.filter(|&o| o != Ordering::None));
    let forecast = |candidates, holds_for| Forecast { candidates, holds_for, stored };
    let unknown = graph.order().is_some() && given == Some(Ordering::None);
    let in_place = own != FormatKind::Csr && !unknown && ordering.unwrap_or_default() == given.unwrap_or_default();
    let mut candidates = Vec::new();
    if in_place
        && request.format.is_none_or(|f| f == own)
        && let Some(cost) = stored_cost()
        && request.variant.is_none_or(|v| v == cost.variant)
    {
        let StoredCost { variant, run_seconds, csr_seconds, min_seconds } = cost;
        let ordering = given.unwrap_or_default();
        let why = "as stored".to_string();
        candidates.push(Candidate { ordering, format: own, variant, build_seconds: 0.0, run_seconds, threads: 0, why });
        let holds =
            if run_seconds > min_seconds { (csr_seconds / (run_seconds - min_seconds)).min(f64::from(u32::MAX)) as u32 } else { u32::MAX };
        if request.format == Some(own) || holds >= runs {
            return Ok(forecast(candidates, if request.format == Some(own) { u32::MAX } else { holds }));
        }
    }
    let all = variants();
    let wanted = |c: &&Candidate| request.format.is_none_or(|f| f == c.format) && request.variant.is_none_or(|v| v == c.variant);
    for format in FormatKind::ALL {
        for c in all.iter().filter(|c| c.format == format).filter(wanted) {
            match ordering {
                None => candidates.push(c.clone()),
                Some(o) if c.ordering == o => {
                    let mut c = c.clone();
                    let unordered = all.iter().find(|u| (u.format, u.variant, u.ordering) == (c.format, c.variant, Ordering::None));
                    if let (Some(u), true) = (unordered, given == Some(o)) {
                        c.build_seconds = c.build_seconds.min(u.build_seconds);
                    }
                    candidates.push(c);
                }
                // An order that the backend sees no sense in is still the user's to force.
                Some(o)
                    if c.ordering == Ordering::None && !all.iter().any(|x| (x.format, x.variant, x.ordering) == (format, c.variant, o)) =>
                {
                    candidates.push(Candidate { ordering: o, ..c.clone() });
                }
                Some(_) => {}
            }
        }
    }
    if candidates.is_empty() {
        if let Some(variant) = request.variant.filter(|&v| v != Candidate::DEFINITION) {
            let names: std::collections::BTreeSet<_> = all.iter().map(|c| c.variant).collect();
            let available = names.into_iter().collect::<Vec<_>>().join(", ");
            return Err(Error::NoVariant { algorithm, variant, available });
        }
        let format = request.format.unwrap_or(own);
        let why = "forced; nothing is predicted".to_string();
        candidates.push(Candidate { ordering: ordering.unwrap_or_default(), format, why, ..Candidate::definition(graph) });
    }
    Ok(forecast(candidates, u32::MAX))
}
