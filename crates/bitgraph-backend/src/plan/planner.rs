//! The planner: asks the backend's cost model about every layout that the request allows, and takes the cheapest in all.

use super::{Candidate, Plan, PlanRequest, Workload};
use bitgraph_b2sr::Layout;
use bitgraph_sparse::ordering::Ordering;
use bitgraph_sparse::{Csr, FormatKind};

/// What a backend knows about its own speed.
///
/// A model looks at the graph itself (counts, a probe of degrees, of locality and of diameter), because what is cheap to
/// know differs between backends. `None` means that the layout makes no sense for the workload, and only a forced request
/// may have it.
pub trait CostModel {
    /// What the model measures of a graph before it predicts; taken once for a plan.
    type Profile;
    /// Measures the graph. `weighted` says whether it carries values that the workload uses.
    fn profile(&self, csr: &Csr, symmetric: bool, weighted: bool, workload: &Workload) -> Self::Profile;
    /// Predicts build and run time of one layout.
    fn predict(
        &self,
        profile: &Self::Profile,
        workload: &Workload,
        ordering: Ordering,
        format: FormatKind,
        prepared: bool,
    ) -> Option<Candidate>;
    /// Measures a graph that is stored in tiles, if that needs no lists. By default it does.
    fn profile_stored(&self, layout: &Layout, symmetric: bool, weighted: bool, workload: &Workload) -> Option<Self::Profile> {
        let _ = (layout, symmetric, weighted, workload);
        None
    }
    /// Predicts what a graph that is stored in tiles takes as it is, from counts alone. By default it makes no sense.
    fn predict_stored(&self, layout: &Layout, workload: &Workload) -> Option<StoredCost> {
        let _ = (layout, workload);
        None
    }
}

/// What a stored layout takes as it is, and what any other one would.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoredCost {
    /// Predicted seconds of one run.
    pub run_seconds: f64,
    /// Seconds that lists take at least to be made of it.
    pub lists_seconds: f64,
    /// Seconds of one run that no other layout is faster than.
    pub least_seconds: f64,
}

/// The layout that a graph comes in, and the ordering that its rows and columns have been renumbered by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) ordering: Option<Ordering>,
}

impl Given<'_> {
    fn stored(&self) -> Option<(FormatKind, Ordering)> {
        let stored = (self.layout.kind(), self.ordering.unwrap_or_default());
        (stored != (FormatKind::Csr, Ordering::None)).then_some(stored)
    }
}

/// Chooses layouts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Planner;

impl Planner {
    /// The cheapest layout that the request allows: smallest predicted build time plus `passes` times the run time; the
    /// simpler one among equals (earlier in the order of formats and orderings, unprepared before prepared).
    pub fn plan<M: CostModel>(model: &M, csr: &Csr, symmetric: bool, weighted: bool, request: &PlanRequest) -> Plan {
        let layout = Layout::Csr(csr.clone());
        Self::plan_given(model, Given { layout: &layout, ordering: None }, symmetric, weighted, request).0
    }
    /// The same for a graph that is laid out already: its order stays, and that order and its format cost nothing to build. Lists that
    /// had to be made of it to weigh it against other layouts are handed on.
    pub(crate) fn plan_given<M: CostModel>(
        model: &M,
        given: Given<'_>,
        symmetric: bool,
        weighted: bool,
        request: &PlanRequest,
    ) -> (Plan, Option<Csr>) {
        let request = PlanRequest { ordering: given.ordering.or(request.ordering), ..*request };
        let (workload, stored) = (request.workload, given.stored());
        let only = |ordering, format, run_seconds, why: &str| {
            let why = why.to_string();
            let chosen = Candidate { ordering, format, prepared: false, build_seconds: 0.0, run_seconds, why };
            Plan { workload, candidates: vec![chosen.clone()], chosen, stored }
        };
        let own = given.layout.kind();
        // A layout that is there already stays in its order unless another one is forced.
        let here = given.ordering.or(request.ordering).unwrap_or_default();
        let in_place = own != FormatKind::Csr && here == given.ordering.unwrap_or_default();
        // A fully forced layout needs no measuring of the graph.
        match (request.format, request.ordering) {
            (Some(format), Some(ordering)) if format != FormatKind::Csr => {
                return (only(ordering, format, 0.0, "forced; nothing is predicted"), None);
            }
            (Some(format), None) if in_place && format == own => {
                return (only(here, format, 0.0, "forced, and stored so; nothing is predicted"), None);
            }
            _ => {}
        }
        let allowed = in_place && request.format.is_none_or(|f| f == own);
        let as_it_is = if allowed { model.predict_stored(given.layout, &workload) } else { None };
        let passes = f64::from(workload.passes);
        if let Some(cost) = as_it_is
            && passes * cost.run_seconds <= cost.lists_seconds + passes * cost.least_seconds
        {
            return (only(here, own, cost.run_seconds, "as stored; any other layout takes longer to build"), None);
        }
        let (profile, lists) = match given.layout.as_csr() {
            Some(csr) => (model.profile(csr, symmetric, weighted, &workload), None),
            None => match model.profile_stored(given.layout, symmetric, weighted, &workload) {
                Some(profile) => (profile, None),
                None => {
                    let csr = given.layout.to_csr();
                    (model.profile(&csr, symmetric, weighted, &workload), Some(csr))
                }
            },
        };
        let mut candidates: Vec<Candidate> =
            as_it_is.map(|cost| only(here, own, cost.run_seconds, "as stored").chosen).into_iter().collect();
        for format in FormatKind::ALL.into_iter().filter(|&f| request.format.is_none_or(|r| r == f)) {
            for ordering in Ordering::ALL.into_iter().filter(|&o| request.ordering.is_none_or(|r| r == o)) {
                // What is stored is weighed already.
                if in_place && (format, ordering) == (own, here) {
                    continue;
                }
                for prepared in [false, true] {
                    let predict = |ordering| model.predict(&profile, &workload, ordering, format, prepared);
                    let mut candidate = predict(ordering);
                    if let (Some(c), Some(_), Some(unordered)) = (&mut candidate, given.ordering, predict(Ordering::None)) {
                        c.build_seconds = c.build_seconds.min(unordered.build_seconds);
                    }
                    candidates.extend(candidate);
                }
            }
        }
        // A stable sort keeps the simpler layout first among equals.
        candidates.sort_by(|a, b| a.total_seconds(workload.passes).total_cmp(&b.total_seconds(workload.passes)));
        let Some(chosen) = candidates.first().cloned() else {
            return (only(here, request.format.unwrap_or(FormatKind::Csr), 0.0, "forced; nothing is predicted"), lists);
        };
        (Plan { workload, chosen, candidates, stored }, lists)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Algorithm;

    struct Model;
    impl CostModel for Model {
        type Profile = ();
        fn profile(&self, _: &Csr, _: bool, _: bool, _: &Workload) {}
        fn predict(&self, (): &(), _: &Workload, ordering: Ordering, format: FormatKind, prepared: bool) -> Option<Candidate> {
            let (build_seconds, run_seconds) = match (format, prepared) {
                (FormatKind::Csr, false) => (0.0, 1.0),
                (FormatKind::Csr, true) => (5.0, 0.25),
                (FormatKind::B2sr4, false) => (3.0, 0.5),
                _ => return None,
            };
            let build_seconds = build_seconds + f64::from(u8::from(ordering != Ordering::None));
            Some(Candidate { ordering, format, prepared, build_seconds, run_seconds, why: String::new() })
        }
    }

    #[test]
    fn amortisation_decides() {
        let csr = Csr::empty(3, 3).unwrap();
        let plan = |passes, format| {
            let workload = Workload::once(Algorithm::Bfs).with_passes(passes);
            let p = Planner::plan(&Model, &csr, true, false, &PlanRequest { workload, format, ordering: None });
            (p.format(), p.chosen.prepared, p.ordering())
        };
        assert_eq!(plan(1, None), (FormatKind::Csr, false, Ordering::None));
        assert_eq!(plan(7, None), (FormatKind::B2sr4, false, Ordering::None));
        assert_eq!(plan(100, None), (FormatKind::Csr, true, Ordering::None));
        assert_eq!(plan(100, Some(FormatKind::B2sr4)), (FormatKind::B2sr4, false, Ordering::None));
        assert_eq!(plan(1, Some(FormatKind::B2sr32)), (FormatKind::B2sr32, false, Ordering::None));
    }

    /// The model above, and tiles that are there already.
    struct Tiled {
        run_seconds: f64,
    }
    impl CostModel for Tiled {
        type Profile = ();
        fn profile(&self, _: &Csr, _: bool, _: bool, _: &Workload) {}
        fn predict(&self, (): &(), w: &Workload, ordering: Ordering, format: FormatKind, prepared: bool) -> Option<Candidate> {
            Model.predict(&(), w, ordering, format, prepared)
        }
        fn predict_stored(&self, layout: &Layout, _: &Workload) -> Option<StoredCost> {
            assert_ne!(layout.kind(), FormatKind::Csr);
            Some(StoredCost { run_seconds: self.run_seconds, lists_seconds: 1.0, least_seconds: 0.25 })
        }
    }

    #[test]
    fn a_stored_layout_costs_nothing_to_build() {
        let layout = Layout::from_csr(&Csr::empty(3, 3).unwrap(), FormatKind::B2sr8);
        let plan = |run_seconds, passes, ordering: Option<Ordering>, request: PlanRequest| {
            let workload = request.workload.with_passes(passes);
            let given = Given { layout: &layout, ordering };
            let (p, lists) = Planner::plan_given(&Tiled { run_seconds }, given, true, false, &PlanRequest { workload, ..request });
            assert_eq!(p.stored, Some((FormatKind::B2sr8, ordering.unwrap_or_default())));
            (p.format(), p.ordering(), p.chosen.build_seconds, lists.is_some())
        };
        let auto = PlanRequest::auto(Workload::once(Algorithm::MxvBool));
        let (none, rcm, tiles) = (Ordering::None, Some(Ordering::Rcm), FormatKind::B2sr8);
        // No other layout can be faster, so that none is weighed; then one could be, and is not; then one is.
        assert_eq!(plan(0.5, 1, None, auto), (tiles, none, 0.0, false));
        assert_eq!(plan(0.5, 7, None, auto), (tiles, none, 0.0, true));
        assert_eq!(plan(0.5, 100, None, auto), (FormatKind::Csr, none, 5.0, true));
        assert_eq!(plan(0.5, 1, rcm, auto), (tiles, Ordering::Rcm, 0.0, false));
        // A known order costs nothing either.
        assert_eq!(plan(0.5, 100, rcm, auto), (FormatKind::Csr, Ordering::Rcm, 5.0, true));
        let format = |format| PlanRequest { format: Some(format), ..auto };
        assert_eq!(plan(9.0, 100, None, format(tiles)), (tiles, none, 0.0, false));
        assert_eq!(plan(9.0, 100, rcm, format(tiles)), (tiles, Ordering::Rcm, 0.0, false));
        assert_eq!(plan(0.1, 1, rcm, format(FormatKind::B2sr32)), (FormatKind::B2sr32, Ordering::Rcm, 0.0, false));
        assert_eq!(plan(0.1, 1, None, format(FormatKind::Csr)), (FormatKind::Csr, none, 0.0, true));
        // Another order is forced: the tiles are of no use.
        let degree = PlanRequest { ordering: Some(Ordering::Degree), ..auto };
        assert_eq!(plan(0.1, 1, None, degree), (FormatKind::Csr, Ordering::Degree, 1.0, true));
    }
}
