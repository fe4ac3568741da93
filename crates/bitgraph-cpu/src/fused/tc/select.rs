//! Which variant of triangle counting runs: the one place that chooses.

use super::{TcForm, TcLayout, supports};
use crate::fused::lists::{built_lists, lists};
use crate::rates::{Cost, NEAR_CACHE, anywhere, gather, in_orders, mesh_like, on_threads};
use crate::{Cpu, Isa};
use bitgraph_algorithms::{Tc, TcConfig};
use bitgraph_backend::{Arranged, Candidate, Error, Fused, GraphData, Plan, Stats};
use bitgraph_sparse::ordering::Ordering;

/// Mean degrees up to which rows in vectors are compared one by one, as long as neighbours are near: against the ascending form that took 0.4 to 0.7
/// of the time on meshes of 20 to 23, 0.7 on communities of 14 to 18, 1.0 on such of 24 to 28, and 1.1 where the mean was 44.
const LOW_DEGREE: f64 = 26.0;
/// The same where they are anywhere, by the vertices there are at most: what a row is compared with is in a near cache, in a far one, or in none.
/// Uniform graphs of 16 thousand vertices took 0.9 times as long at a degree of 20 and of 65 thousand 1.1 times at 16; of 262 thousand 0.5, 0.8
/// and 1.5 times at 4, 8 and 10 (with vectors of eight and a smaller cache 1.1 and 2.4 times at 4 and 8); of a million 1.7 times at 8, and a
/// shuffled grid 1.0 times at 4.
const LOW_DEGREE_FAR: [(usize, f64); 3] = [(1 << 16, 12.0), (1 << 19, 6.0), (usize::MAX, 4.0)];
/// How far the mean square of the degrees may exceed the square of their mean before ranking pays: below 2.7 it took 1.2 to 2.5 times as long
/// as the ascending form on eight graphs, above 3.1 0.1 to 1.0 times on nine (but 1.6 times on a web graph whose hubs link near pages).
const RANKED_SKEW: f64 = 3.0;
/// Vectors an entry that the ascending form reads, below which it takes less than ranking does whatever the hubs: on preferential attachment numbered by
/// age (.33 and .45) .37 to .42 of the time, on a bipartite graph whose sides follow each other (0) .28, at .9 and 1.0 as long, at 1.5 1.1 times and
/// above that 2.8 times and more.
const RANKED_VECTORS: f64 = 0.7;
/// With hubs, pairs an entry that rows are compared one by one for at most, and the vertices that there are at most: preferential attachment of degree 6
/// (.5) took .3 to .7 times as long as by the ascending form, of degree 20 (2.3) and a bipartite graph (2.3) 0.9 to 1.4 times.
const LOW_PAIRS: f64 = 1.0;
const LOW_PAIRS_NODES: usize = 1 << 19;
/// Fewer vertices than this, with more neighbours than that, are ranked whatever their skew: all of them have a row of bits. Uniform graphs of 2, 8 and
/// 16 thousand vertices took 0.9, 1.3 and 1.3 times as long as by the ascending form at a degree of 64, and 0.3 to 0.6 times at 95 to 127;
/// communities of 15 thousand as long at 88.
const RANKED_NODES: usize = 16_384;
const RANKED_DEGREE: f64 = 72.0;
/// With vectors of eight, which count bits by a table, also no more vertices than this for each neighbour: uniform graphs of 16 thousand took 1.8
/// times as long at a degree of 95 and of 127, such of 8 and 4 thousand 0.7 and 0.6 times at 120.
const RANKED_NODES_A_NEIGHBOUR: f64 = 96.0;

/// Nanoseconds of a pair of neighbours, about: .19 to .6 in graphs of mean degree 3 to 30 and little skew, and .06 to .1 where rows of bits stand
/// for the longest.
const PAIR: f64 = 0.25;
const RANKED_PAIR: f64 = 0.08;
/// Nanoseconds of work that are worth another thread: on 16 cores, where a mesh of 57 thousand entries took .12 ms with one and .05 with four.
const THREAD_WORK: f64 = 1e4;

/// Whether a row is far from those that it is compared with, in the order that the graph came in. Rows of a small mesh are in a near cache whatever their
/// order: in seven of 8 to 64 thousand vertices and mean degree 21 to 23, four of them shuffled, rows compared one by one took 0.5 to 1.0 times as
/// long as by the ascending form with one thread, and 0.5 to 1.2 times with two.
fn apart(s: &Stats) -> bool {
    anywhere(s) && !(mesh_like(s) && s.nodes <= NEAR_CACHE)
}

/// Whether rows of bits pay for all vertices, whatever their skew.
fn dense(s: &Stats) -> bool {
    let few = Isa::current() == Isa::Avx512 || s.nodes as f64 <= RANKED_NODES_A_NEIGHBOUR * s.mean_degree;
    s.nodes <= RANKED_NODES && s.mean_degree > RANKED_DEGREE && few
}

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
        Self::choose_where(s, apart(s))
    }
    /// The same where neighbours are near each other, or may be anywhere.
    fn choose_where(s: &Stats, anywhere: bool) -> Self {
        let low = LOW_DEGREE_FAR.iter().find(|(nodes, _)| anywhere && s.nodes <= *nodes).map_or(LOW_DEGREE, |(_, degree)| *degree);
        let hubs = s.skew > RANKED_SKEW;
        let few = || if hubs { s.below().pairs <= LOW_PAIRS && s.nodes <= LOW_PAIRS_NODES } else { s.mean_degree <= low };
        match () {
            () if dense(s) || hubs && s.below().vectors > RANKED_VECTORS => Self::Ranked,
            () if few() => Self::Low,
            () => Self::Ascending,
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
        let cost = |form| {
            move |ordering, far| {
                let best = TcForm::choose_where(s, apart(s) && !(ordering == Ordering::Rcm && mesh_like(s)));
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

#[cfg(test)]
mod tests {
    use super::*;
    use bitgraph_generate::{Control, Generator};
    use bitgraph_sparse::{Coo, Duplicates};

    #[test]
    fn forms_suit_degrees_and_places() {
        let form = |graph: &str| TcForm::choose(&Stats::of(&graph.parse::<Generator>().unwrap().generate(&Control::default()).unwrap()));
        for near in ["mesh:12x90x11", "mesh:24x20x22@1", "planted:15000:200:20", "grid:100x100@1"] {
            assert_eq!(form(near), TcForm::Low, "{near}");
        }
        assert_eq!(form("urand:12:4"), TcForm::Low);
        assert_eq!(form("urand:12:16"), TcForm::Ascending);
        assert_eq!(form("urand:10:64"), TcForm::Ranked);
        assert_eq!(form("kron:12"), TcForm::Ranked);
        // A path whose vertices all know one of sixteen hubs: the first ones in one numbering, the last ones in the other.
        let hubs = |number: fn(u32) -> u32| {
            let (rows, columns) = (16..9000).flat_map(|v| [(number(v), number(v - 1)), (number(v), number(v % 16))]).unzip();
            let list = Coo { mirrored: true, ..Coo::pattern(9000, 9000, rows, columns) };
            TcForm::choose(&Stats::of(&list.into_csr(Duplicates::First).unwrap().0))
        };
        assert_eq!([hubs(|v| v), hubs(|v| 8999 - v)], [TcForm::Low, TcForm::Ascending]);
    }
}
