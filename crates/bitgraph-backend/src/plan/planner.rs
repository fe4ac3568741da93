//! The planner: asks the backend's cost model about every layout that the request allows, and takes the cheapest in all.

use super::{Candidate, Plan, PlanRequest, Workload};
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
}

/// Chooses layouts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Planner;

impl Planner {
    /// The cheapest layout that the request allows: smallest predicted build time plus `passes` times the run time; the
    /// simpler one among equals (earlier in the order of formats and orderings, unprepared before prepared).
    pub fn plan<M: CostModel>(model: &M, csr: &Csr, symmetric: bool, weighted: bool, request: &PlanRequest) -> Plan {
        Self::plan_in(model, csr, symmetric, weighted, request, None)
    }
    /// The same for a graph that may be in an order already, which then costs nothing and is not changed.
    pub(crate) fn plan_in<M: CostModel>(
        model: &M,
        csr: &Csr,
        symmetric: bool,
        weighted: bool,
        request: &PlanRequest,
        stored: Option<Ordering>,
    ) -> Plan {
        let request = PlanRequest { ordering: stored.or(request.ordering), ..*request };
        let workload = request.workload;
        let fallback = |ordering, format| Candidate {
            ordering,
            format,
            prepared: false,
            build_seconds: 0.0,
            run_seconds: 0.0,
            why: "forced".to_string(),
        };
        // A fully forced layout needs no measuring of the graph.
        if let (Some(format), Some(ordering)) = (request.format, request.ordering)
            && format != FormatKind::Csr
        {
            let chosen = fallback(ordering, format);
            return Plan { workload, candidates: vec![chosen.clone()], chosen };
        }
        let profile = model.profile(csr, symmetric, weighted, &workload);
        let mut candidates = Vec::new();
        for format in FormatKind::ALL.into_iter().filter(|&f| request.format.is_none_or(|r| r == f)) {
            for ordering in Ordering::ALL.into_iter().filter(|&o| request.ordering.is_none_or(|r| r == o)) {
                for prepared in [false, true] {
                    let predict = |ordering| model.predict(&profile, &workload, ordering, format, prepared);
                    let mut candidate = predict(ordering);
                    if let (Some(c), Some(_), Some(unordered)) = (&mut candidate, stored, predict(Ordering::None)) {
                        c.build_seconds = c.build_seconds.min(unordered.build_seconds);
                    }
                    candidates.extend(candidate);
                }
            }
        }
        // A stable sort keeps the simpler layout first among equals.
        candidates.sort_by(|a, b| a.total_seconds(workload.passes).total_cmp(&b.total_seconds(workload.passes)));
        let chosen = candidates
            .first()
            .cloned()
            .unwrap_or_else(|| fallback(request.ordering.unwrap_or_default(), request.format.unwrap_or(FormatKind::Csr)));
        if candidates.is_empty() {
            candidates.push(chosen.clone());
        }
        Plan { workload, chosen, candidates }
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
}
