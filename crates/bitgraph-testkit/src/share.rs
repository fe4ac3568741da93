//! A part of a test's cases, for checkers under which a kernel takes a thousand times as long: several processes take a part each.

/// The variable that asks for a part: `PART/PARTS`, counted from 0.
pub const SHARE_VARIABLE: &str = "BITGRAPH_TEST_SHARE";

/// The part asked for, if one is: its number, and of how many.
///
/// # Panics
/// If the variable is set to something else.
#[must_use]
pub fn share() -> Option<(usize, usize)> {
    let text = std::env::var(SHARE_VARIABLE).ok()?;
    let numbers = text.split_once('/').and_then(|(part, parts)| Some((part.parse().ok()?, parts.parse().ok()?)));
    Some(numbers.filter(|(part, parts)| part < parts).unwrap_or_else(|| panic!("{SHARE_VARIABLE} is {text} and not PART/PARTS")))
}

/// The cases of the part asked for: every case, or each `PARTS`th from number `PART` on.
#[must_use]
pub fn shared<T>(cases: Vec<T>) -> Vec<T> {
    let (part, parts) = share().unwrap_or((0, 1));
    cases.into_iter().skip(part).step_by(parts).collect()
}
