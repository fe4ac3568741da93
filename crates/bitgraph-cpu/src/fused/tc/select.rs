//! Which variant of triangle counting runs: the one place that chooses.

use super::{TcForm, TcLayout, supports};
use crate::Cpu;
use crate::fused::lists::{built_lists, lists};
use crate::rates::{Cost, gather, in_orders, mesh_like, on_threads};
use bitgraph_algorithms::{Tc, TcConfig};
use bitgraph_backend::{Arranged, Candidate, Error, Fused, GraphData, Plan, Stats};

/// Mean degrees up to this are low: against the ascending form rows in vectors took 0.3 to 0.6 of the time on graphs of mean degree 4 to 10
/// (grids, planar, random and mildly skewed ones), 0.92 on a uniform one of 10, 1.0 on a mesh of 13, and 1.5 on a uniform one of 16.
const LOW_DEGREE: f64 = 12.0;
/// How far the mean square of the degrees may exceed the square of their mean before ranking pays: below 2.7 it took 1.2 to 2.5 times as long
/// as the ascending form on eight graphs, above 3.1 0.1 to 1.0 times on nine (but 1.6 times on a web graph whose hubs link near pages).
const RANKED_SKEW: f64 = 3.0;
/// Fewer vertices than this, with more neighbours than that, are ranked whatever their skew: all of them have a row of bits.
const RANKED_NODES: usize = 16_384;
const RANKED_DEGREE: f64 = 16.0;

/// Nanoseconds of a pair of neighbours, about: .19 to .6 in graphs of mean degree 3 to 30 and little skew, and .06 to .1 where rows of bits stand
/// for the longest.
const PAIR: f64 = 0.25;
const RANKED_PAIR: f64 = 0.08;
/// Nanoseconds of work that are worth another thread: on 16 cores, where a mesh of 57 thousand entries took .12 ms with one and .05 with four.
const THREAD_WORK: f64 = 1e4;

/// The threads that a count is worth sharing among.
fn threads(s: &Stats) -> usize {
    let pair = if TcForm::choose(s) == TcForm::Ranked { RANKED_PAIR } else { PAIR };
    (pair * s.entries as f64 * s.mean_degree * s.skew.max(1.0) / THREAD_WORK) as usize
}

impl TcForm {
    /// Every form.
    pub const ALL: [Self; 3] = [Self::Low, Self::Ascending, Self::Ranked];
    /// The name in plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low-degree",
            Self::Ascending => "ascending",
            Self::Ranked => "ranked",
        }
    }
    /// The form that is expected to be fastest.
    #[must_use]
    pub fn choose(s: &Stats) -> Self {
        if s.nodes <= RANKED_NODES && s.mean_degree > RANKED_DEGREE || s.skew > RANKED_SKEW {
            Self::Ranked
        } else if s.mean_degree <= LOW_DEGREE {
            Self::Low
        } else {
            Self::Ascending
        }
    }
}

impl Fused<TcConfig> for Cpu {
    type Layout = (TcLayout, TcForm);

    fn variants(&self, graph: &GraphData, _: &TcConfig, _: u32) -> Vec<Candidate> {
        if self.is_reference() {
            return vec![Candidate::definition(graph)];
        }
        let s = graph.stats();
        let best = TcForm::choose(s);
        let cost = |form| {
            move |_, far| {
                let slower = if form == best { 1.0 } else { 2.0 };
                let near = if mesh_like(s) { gather(far) * 0.15 } else { 1.0 };
                Some(Cost { build: 0.0, run: slower * 8.0 * s.entries as f64 * near, why: "intersections" })
            }
        };
        let all = TcForm::ALL.into_iter().flat_map(|form| in_orders(graph, form.name(), cost(form))).collect();
        on_threads(threads(s), all)
    }
    fn layout(&self, graph: &Arranged<Self>, _: &TcConfig, plan: &Plan) -> Result<Option<(TcLayout, TcForm)>, Error> {
        let form = TcForm::ALL.into_iter().find(|f| f.name() == plan.variant());
        Ok(lists(graph)?.filter(|(out, _)| supports(out)).and(form).map(|form| (TcLayout::default(), form)))
    }
    fn run(&self, graph: &Arranged<Self>, (layout, form): &(TcLayout, TcForm), algorithm: &TcConfig) -> Result<Tc, Error> {
        let (out, _) = built_lists(graph, "tc")?;
        layout.run_form(out, algorithm, *form)
    }
}
