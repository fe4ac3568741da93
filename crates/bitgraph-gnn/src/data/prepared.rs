//! Features made ready for training: divided, and multiplied where a layer could hardly tell its neighbourhoods apart.
//!
//! A layer sees means over neighbourhoods. Where rows have many features, or nodes many neighbours, those lie close together, and weights that
//! start at their usual sizes, learn at the usual rate and are held down by the usual decay do not get to where they tell classes apart: at 20
//! labels a class and the recipes' settings, a graph convolution classified 75 % of amazon_photo and 44 % of blogcatalog right, and attention 64
//! and 19 %. With features times 8 it is 90 and 70 %, and 88 and 63 %. Distances there are .027 and .023; on Cora, CiteSeer, PubMed and
//! coauthor_cs, where the settings do well, .156, .120, .107 and .104. Decay counts by the square of what features are multiplied by, hence the
//! square below.

use super::{Dataset, Features, Normalise, Result};
use crate::Error;
use bitgraph_sparse::Csr;

/// The distance of means from which on features stay as they are.
const APART: f64 = 0.08;
/// The most that features are multiplied by.
const MOST: f64 = 16.0;
/// Neighbourhoods that are looked at, and neighbours of each; fewer neighbourhoods where they have more than so many values or columns together.
const NODES: usize = 2048;
const NEIGHBOURS: usize = 1024;
const VALUES: usize = 1 << 27;

/// What is done to features before they are used: they are divided, and then multiplied. Only [`Dataset::preparation`] multiplies: it has seen
/// that values stay finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preparation {
    normalise: Normalise,
    factor: f32,
}

impl Preparation {
    /// What features are divided by.
    #[must_use]
    pub const fn normalise(&self) -> Normalise {
        self.normalise
    }
    /// What they are multiplied by then.
    #[must_use]
    pub const fn factor(&self) -> f32 {
        self.factor
    }
    /// Whether they stay as they are.
    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::from(Normalise::None)
    }
}

impl From<Normalise> for Preparation {
    /// Features that are divided alone.
    fn from(normalise: Normalise) -> Self {
        Self { normalise, factor: 1.0 }
    }
}

impl Dataset {
    /// What [`Dataset::prepared`] does to the features, for those that stay where they are and go through it in parts. Where they are divided by
    /// rows or by nothing, no more of them is in memory at once than those of a neighbourhood. O(stored values of up to 2048 neighbourhoods).
    ///
    /// # Errors
    /// [`Error::Setting`] for a factor by which a value would not be finite.
    pub fn preparation(&self, how: Normalise, factor: Option<f32>) -> Result<Preparation> {
        let factor = factor.unwrap_or_else(|| {
            factor_of(match how.takes_columns() {
                true => distance(self.graph(), &self.features().normalised(how), Normalise::None),
                false => distance(self.graph(), self.features(), how),
            })
        });
        // What was divided by its row is at most 1, and the mean of a column may be far below a value.
        let most = match how {
            _ if factor == 1.0 => 0.0,
            Normalise::Row | Normalise::ColumnThenRow => 1.0,
            Normalise::None => most(self.features()),
            Normalise::ColumnMeanNonzero => most(&self.features().normalised(how)),
        };
        if !(most * factor).is_finite() {
            let allowed = "finite, and such that every feature times it is";
            return Err(Error::Setting { what: "the factor of features", found: f64::from(factor), allowed }.into());
        }
        Ok(Preparation { normalise: how, factor })
    }
    /// The same with features divided as `how` says, and then times `factor`. Without one it is 1 where the means of features over
    /// neighbourhoods are at least .08 apart (the root of the mean square of their distance from the mean of them all), and otherwise
    /// the square of .08 over that distance, at most 16. Returns the factor too, which a model that was trained with it needs again.
    /// O(stored values + those of up to 2048 neighbourhoods).
    ///
    /// # Errors
    /// As [`Dataset::new`], and [`Features::times`].
    pub fn prepared(self, how: Normalise, factor: Option<f32>) -> Result<(Self, f32)> {
        let features = self.features().normalised(how);
        let factor = factor.unwrap_or_else(|| factor_of(distance(self.graph(), &features, Normalise::None)));
        let features = if factor == 1.0 { features } else { features.times(factor)? };
        Ok((self.with_features(features)?, factor))
    }
}

fn factor_of(distance: f64) -> f32 {
    if distance > 0.0 && distance < APART { (APART / distance).powi(2).min(MOST) as f32 } else { 1.0 }
}

/// The largest magnitude of a value.
fn most(features: &Features) -> f32 {
    features.values().iter().fold(0.0, |most, x| most.max(x.abs()))
}

/// The distance of means over neighbourhoods, a node itself counted, from the mean of them all. Rows are divided as `how` says, a neighbourhood
/// at a time.
fn distance(graph: &Csr, features: &Features, how: Normalise) -> f64 {
    let (rows, columns) = features.shape();
    let each = (features.values().len() / rows.max(1)).max(1) * (graph.nnz() / rows.max(1) + 1) + columns;
    let looked = rows.min(NODES).min((VALUES / each).max(64));
    let (mut sums, mut squares) = (vec![0.0f64; columns], 0.0);
    let mut mean = vec![0.0f64; columns];
    for k in 0..looked {
        let v = k * rows / looked;
        let neighbours = graph.row(v);
        let step = neighbours.len().div_ceil(NEIGHBOURS).max(1);
        let others = neighbours.iter().step_by(step).copied().filter(|&u| u as usize != v);
        let heard: Vec<u32> = std::iter::once(v as u32).chain(others).collect();
        let share = 1.0 / heard.len() as f64;
        let divided = (how != Normalise::None).then(|| features.select(&heard).normalised(how));
        mean.fill(0.0);
        for (i, &u) in heard.iter().enumerate() {
            let (from, u) = divided.as_ref().map_or((features, u as usize), |divided| (divided, i));
            match from.pattern() {
                Some(pattern) => pattern.row_range(u).for_each(|e| mean[pattern.indices()[e] as usize] += f64::from(from.values()[e])),
                None => {
                    let row = &from.values()[u * columns..][..columns];
                    mean.iter_mut().zip(row).for_each(|(sum, &x)| *sum += f64::from(x));
                }
            }
        }
        for (sum, m) in sums.iter_mut().zip(&mean) {
            *sum += m * share;
            squares += (m * share).powi(2);
        }
    }
    let n = looked.max(1) as f64;
    (squares / n - sums.iter().map(|s| (s / n).powi(2)).sum::<f64>()).max(0.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::super::{Labels, open};
    use super::*;
    use bitgraph_sparse::{Control, Offsets};
    use std::path::Path;

    /// A ring of nodes that hear from the `degree` nearest, with one feature of `columns` each, in one form or the other.
    fn ring(nodes: usize, degree: usize, columns: usize, sparse: bool) -> Dataset {
        let row = |v: usize| {
            let mut row: Vec<u32> = (1..=degree / 2).flat_map(|k| [(v + k) % nodes, (v + nodes - k) % nodes]).map(|u| u as u32).collect();
            row.sort_unstable();
            row
        };
        let ids: Vec<u32> = (0..nodes).flat_map(row).collect();
        let offsets: Vec<usize> = (0..=nodes).map(|v| v * degree).collect();
        let graph = Csr::new(nodes, nodes, Offsets::from_usizes(&offsets), ids.into()).unwrap();
        let features = if sparse {
            let ids: Vec<u32> = (0..nodes).map(|v| (v % columns) as u32).collect();
            let offsets: Vec<usize> = (0..=nodes).collect();
            let pattern = Csr::new(nodes, columns, Offsets::from_usizes(&offsets), ids.into()).unwrap();
            Features::sparse(pattern, vec![1.0; nodes])
        } else {
            Features::dense(
                nodes,
                columns,
                (0..nodes * columns).map(|k| f32::from(k % columns == k / columns % columns)).collect::<Vec<_>>(),
            )
        };
        Dataset::new("ring", graph, features.unwrap(), Labels::new(vec![0; nodes], 2).unwrap(), Vec::new()).unwrap()
    }

    #[test]
    fn distances_are_those_of_a_loop_over_all_nodes() {
        for sparse in [false, true] {
            // Means over three neighbours of one feature each, of five: three thirds in every row, and a fifth in every column of their mean.
            let set = ring(50, 2, 5, sparse);
            let expected = (3.0f64 / 9.0 - 5.0 / 25.0).sqrt();
            assert!((distance(set.graph(), set.features(), Normalise::None) - expected).abs() < 1e-12);
        }
    }
    #[test]
    fn features_are_multiplied_where_means_lie_close_together() {
        for sparse in [false, true] {
            let (same, factor) = ring(50, 2, 5, sparse).prepared(Normalise::None, None).unwrap();
            assert_eq!((factor, same.features().values().iter().sum::<f32>()), (1.0, 50.0));
            // 41 neighbours of 40 features: all the same but for one.
            let set = ring(400, 40, 40, sparse);
            let apart = distance(set.graph(), set.features(), Normalise::None);
            assert!(apart < 0.03, "{apart}");
            let (more, factor) = set.clone().prepared(Normalise::None, None).unwrap();
            assert!(factor > 7.0 && factor <= 16.0, "{factor}");
            assert_eq!(more.features().values().iter().copied().fold(0.0, f32::max), factor);
            assert!(set.clone().prepared(Normalise::None, Some(f32::MAX)).is_ok());
            let error = set.clone().prepared(Normalise::None, Some(f32::INFINITY)).unwrap_err().to_string();
            assert!(error.contains("feature"), "{error}");
            // Said, it is what is said.
            let (said, factor) = set.prepared(Normalise::None, Some(3.0)).unwrap();
            assert_eq!((factor, said.features().values().iter().sum::<f32>()), (3.0, 1200.0));
        }
    }
    #[test]
    fn preparations_of_parts_are_those_of_the_whole() {
        for sparse in [false, true] {
            let set = ring(400, 40, 40, sparse);
            // Several values in a row, so that it is worth dividing.
            let values = set.features().values().iter().enumerate().map(|(k, v)| v + (k % 7) as f32 / 8.0).collect::<Vec<f32>>();
            let features = match set.features().pattern() {
                Some(pattern) => Features::sparse(pattern.clone(), values),
                None => Features::dense(400, 40, values),
            };
            let set = set.with_features(features.unwrap()).unwrap();
            for how in [Normalise::None, Normalise::Row] {
                for said in [None, Some(2.5)] {
                    let (whole, factor) = set.clone().prepared(how, said).unwrap();
                    let made = set.preparation(how, said).unwrap();
                    assert_eq!((made.normalise(), made.factor()), (how, factor));
                    assert!(factor > 1.0, "{factor}");
                    let nodes = [399, 3, 17, 18, 3];
                    assert_eq!(set.features().select(&nodes).prepared(made).values(), whole.features().select(&nodes).values(), "{how:?}");
                }
            }
            let columns = Normalise::ColumnThenRow;
            assert_eq!(set.preparation(columns, None).unwrap().factor(), set.clone().prepared(columns, None).unwrap().1);
            for (how, factor) in [(Normalise::None, 3e38), (Normalise::Row, f32::INFINITY), (Normalise::ColumnMeanNonzero, f32::NAN)] {
                let error = set.preparation(how, Some(factor)).unwrap_err().to_string();
                assert!(error.contains("the factor of features"), "{error}");
            }
        }
    }
    #[test]
    fn what_has_no_distance_stays() {
        assert_eq!(factor_of(0.0), 1.0);
        assert_eq!(factor_of(f64::NAN), 1.0);
        assert_eq!(factor_of(1e-9), 16.0);
        assert_eq!(factor_of(0.08), 1.0);
        assert_eq!(factor_of(0.04), 4.0);
        let set = open(Path::new("planted:300:3:8"), &Control::default()).unwrap();
        assert_eq!(set.prepared(Normalise::ColumnThenRow, None).unwrap().1, 1.0, "the built-in set is as it was");
    }
}
