//! Sizes of a core's caches, where the system tells, and what it costs to read a line that others have to give.
//!
//! Invariant: found once for a process; where nothing is known a cache is taken to be small.

use std::sync::OnceLock;

/// Bytes of the first cache, for data.
pub(super) fn first() -> usize {
    static SIZE: OnceLock<usize> = OnceLock::new();
    *SIZE.get_or_init(|| size(0).unwrap_or(32 << 10))
}

/// Bytes of the second cache.
pub(super) fn second() -> usize {
    static SIZE: OnceLock<usize> = OnceLock::new();
    *SIZE.get_or_init(|| size(2).unwrap_or(512 << 10))
}

/// Bytes of the third cache, which cores share; 0 where there is none.
pub(super) fn third() -> usize {
    static SIZE: OnceLock<usize> = OnceLock::new();
    *SIZE.get_or_init(|| size(3).unwrap_or(0))
}

/// Bytes of `x` that stay in a core's second cache at most, however large that is.
const CACHED: usize = 1 << 20;
/// Bytes of a third cache at most that is near its cores: a larger one is spread over a whole chip.
const NEAR_CHIP: usize = 64 << 20;

/// Bytes of `x` that a core's second cache keeps.
pub(super) fn kept() -> usize {
    second().min(CACHED)
}

/// Nanoseconds to read a line of `x` of so many bytes once a strip: from a core's second cache, or from beyond. With a third cache of 300 MiB
/// 2^20 and 2^21 columns of 32 and 16 entries took 2.0 and 3.3. With one of 32 MiB fourteen uniform graphs of 2^18 to 2^21 vertices took 0.5 to 1.4,
/// but 2^22 ten times as much, where it no longer held them.
pub(super) fn line_cost(bytes: usize) -> f64 {
    let third = third();
    match () {
        () if bytes <= kept() => 0.3,
        () if third <= NEAR_CHIP && bytes <= third / 4 => 1.0,
        () => 2.0,
    }
}

/// Bytes of a cache of the first core, by Linux's number.
fn size(index: u32) -> Option<usize> {
    parse(&std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size")).ok()?)
}

/// Bytes that a text like `48K` or `2M` names.
fn parse(text: &str) -> Option<usize> {
    let text = text.trim();
    let (digits, unit) = text.split_at(text.len().checked_sub(1)?);
    let shift = match unit {
        "K" => 10,
        "M" => 20,
        _ => return None,
    };
    digits.parse::<usize>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        assert_eq!(["48K\n", "2M", "", "K", "12", "1G"].map(parse), [Some(48 << 10), Some(2 << 20), None, None, None, None]);
        assert!(first() >= 1 << 10 && second() >= first());
    }
}
