//! Covering sets of test cases: every pair of choices of any two dimensions occurs in some case.

/// All combinations of dimensions of the given sizes.
#[must_use]
pub fn full(sizes: &[usize]) -> Vec<Vec<usize>> {
    let total = sizes.iter().product();
    (0..total)
        .map(|mut k| {
            sizes
                .iter()
                .map(|&s| {
                    let choice = k % s;
                    k /= s;
                    choice
                })
                .collect()
        })
        .collect()
}

/// A small set of cases that covers every pair: greedy, each case built around the first uncovered pair and completed by the
/// choices that cover the most pairs still open.
#[must_use]
pub fn covering(sizes: &[usize]) -> Vec<Vec<usize>> {
    let n = sizes.len();
    let mut open: std::collections::BTreeSet<(usize, usize, usize, usize)> = (0..n)
        .flat_map(|i| (i + 1..n).map(move |j| (i, j)))
        .flat_map(|(i, j)| (0..sizes[i]).flat_map(move |a| (0..sizes[j]).map(move |b| (i, a, j, b))))
        .collect();
    let key = |i: usize, a: usize, j: usize, b: usize| if i < j { (i, a, j, b) } else { (j, b, i, a) };
    let mut cases = Vec::new();
    while let Some(&(i, a, j, b)) = open.iter().next() {
        let mut case: Vec<Option<usize>> = vec![None; n];
        (case[i], case[j]) = (Some(a), Some(b));
        for d in 0..n {
            if case[d].is_some() {
                continue;
            }
            let gain = |choice: usize| {
                case.iter().enumerate().filter(|&(e, other)| other.is_some_and(|o| open.contains(&key(d, choice, e, o)))).count()
            };
            // Ties go round, so that no choice is favoured.
            let best = (0..sizes[d]).map(|k| (k + cases.len()) % sizes[d]).max_by_key(|&c| gain(c));
            case[d] = best;
        }
        let case: Vec<usize> = case.into_iter().map(Option::unwrap_or_default).collect();
        for x in 0..n {
            for y in x + 1..n {
                open.remove(&(x, case[x], y, case[y]));
            }
        }
        cases.push(case);
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_occurs() {
        let sizes = [6, 5, 2, 3, 12, 1];
        let cases = covering(&sizes);
        assert!(cases.len() < 150 && cases.len() >= 72, "{}", cases.len());
        for i in 0..sizes.len() {
            for j in i + 1..sizes.len() {
                for a in 0..sizes[i] {
                    for b in 0..sizes[j] {
                        assert!(cases.iter().any(|c| c[i] == a && c[j] == b));
                    }
                }
            }
        }
        assert_eq!(full(&[2, 3]).len(), 6);
    }
}
