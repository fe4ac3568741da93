//! Numbers in ASCII text, eight digits at a time.
//!
//! Method: the eight bytes are one machine word (SWAR); the first byte that is not a digit shows as a high nibble, and three
//! multiplications add up the digits before it.

/// The leading digits of a word of eight bytes, the first byte lowest: their value and number (0 to 8).
#[inline(always)]
pub(crate) fn swar(word: u64) -> (u64, usize) {
    let t = word ^ 0x3030_3030_3030_3030;
    // A carry out of a byte past '9' reaches later bytes only, which do not matter any more.
    let other = (t.wrapping_add(0x0606_0606_0606_0606) | t) & 0xf0f0_f0f0_f0f0_f0f0;
    let len = (other.trailing_zeros() >> 3) as usize;
    let t = t.wrapping_shl((64 - 8 * len) as u32);
    let t = (t.wrapping_mul(10).wrapping_add(t >> 8)) & 0x00ff_00ff_00ff_00ff;
    let t = (t.wrapping_mul(100).wrapping_add(t >> 16)) & 0x0000_ffff_0000_ffff;
    (t.wrapping_mul(10000).wrapping_add(t >> 32) & 0xffff_ffff, len)
}

/// Eight bytes from `at`. The caller has made sure that they are there.
#[inline(always)]
pub(crate) fn word(text: &[u8], at: usize) -> u64 {
    match text.get(at..at + 8).and_then(|s| <[u8; 8]>::try_from(s).ok()) {
        Some(bytes) => u64::from_le_bytes(bytes),
        None => 0,
    }
}

/// What stands in a number's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bad {
    /// Not a number.
    Syntax,
    /// More than the type holds.
    Overflow,
    /// NaN or an infinity.
    NotFinite,
}

/// A token of digits, with an optional plus sign.
pub(crate) fn unsigned(token: &[u8]) -> Result<u64, Bad> {
    let digits = token.strip_prefix(b"+").unwrap_or(token);
    if digits.is_empty() {
        return Err(Bad::Syntax);
    }
    let mut value = 0u64;
    let mut over = false;
    for &byte in digits {
        let d = byte.wrapping_sub(b'0');
        if d > 9 {
            return Err(Bad::Syntax);
        }
        match value.checked_mul(10).and_then(|v| v.checked_add(d.into())) {
            Some(v) => value = v,
            None => over = true,
        }
    }
    if over { Err(Bad::Overflow) } else { Ok(value) }
}

/// A token that is a whole number with an optional sign.
pub(crate) fn signed(token: &[u8]) -> Result<i64, Bad> {
    match token.strip_prefix(b"-") {
        Some(rest) if rest.first() != Some(&b'+') => {
            let magnitude = unsigned(rest)?;
            0i64.checked_sub_unsigned(magnitude).ok_or(Bad::Overflow)
        }
        Some(_) => Err(Bad::Syntax),
        None => i64::try_from(unsigned(token)?).map_err(|_| Bad::Overflow),
    }
}

/// A token that is a decimal number.
pub(crate) fn float(token: &[u8]) -> Result<f64, Bad> {
    let text = std::str::from_utf8(token).map_err(|_| Bad::Syntax)?;
    let value: f64 = text.parse().map_err(|_| Bad::Syntax)?;
    // A number too large for the type is read as an infinity.
    if value.is_finite() {
        Ok(value)
    } else if token.iter().any(u8::is_ascii_digit) {
        Err(Bad::Overflow)
    } else {
        Err(Bad::NotFinite)
    }
}

const POWERS: [f64; 23] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22];
const WHOLE: [u64; 9] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Up to 16 digits from `at`: value and number. 24 bytes must be there.
#[inline(always)]
pub(crate) fn digits16(text: &[u8], at: usize) -> (u64, usize) {
    let (a, n) = swar(word(text, at));
    if n < 8 {
        return (if n == 0 { 0 } else { a }, n);
    }
    let (b, m) = swar(word(text, at + 8));
    if m == 0 { (a, 8) } else { (a * WHOLE[m] + b, 8 + m) }
}

/// The decimal number at `at` and where it ends: in one step if it is short, by the standard library otherwise. 96 bytes of text must
/// follow; None for what is no finite number.
#[inline(always)]
pub(crate) fn fast_float(text: &[u8], at: usize) -> Option<(f64, usize)> {
    match exact_float(text, at) {
        // With more digits than are read at once, the end is not the token's.
        Some((value, end)) if text[end] <= b' ' => Some((value, end)),
        _ => {
            let len = text[at..at + 64].iter().position(|&b| b <= b' ' || b == b',')?;
            Some((float(&text[at..at + len]).ok()?, at + len))
        }
    }
}

/// The decimal number at `at`, if it is short enough to be exact by one multiplication or division, and where it ends. At least 64
/// bytes of text must follow; what is not read here goes to [`float`].
#[inline(always)]
fn exact_float(text: &[u8], at: usize) -> Option<(f64, usize)> {
    let negative = text[at] == b'-';
    let mut p = at + usize::from(negative);
    let (mut mantissa, whole) = digits16(text, p);
    p += whole;
    let mut digits = whole;
    let mut power = 0i64;
    if text[p] == b'.' {
        let (fraction, n) = digits16(text, p + 1);
        // 18 digits cannot overflow; whether 53 bits hold them is asked below.
        if whole + n > 18 {
            return None;
        }
        mantissa = mantissa * WHOLE[n.min(8)] * WHOLE[n - n.min(8)] + fraction;
        digits += n;
        power = -(n as i64);
        p += 1 + n;
    }
    if digits == 0 || mantissa >> 53 != 0 {
        return None;
    }
    if text[p] | 0x20 == b'e' {
        let minus = text[p + 1] == b'-';
        p += 1 + usize::from(minus || text[p + 1] == b'+');
        let (e, n) = swar(word(text, p));
        if n == 0 || n > 4 {
            return None;
        }
        power += if minus { -(e as i64) } else { e as i64 };
        p += n;
    }
    let value = match power {
        0 => mantissa as f64,
        -22..0 => mantissa as f64 / POWERS[-power as usize],
        1..=22 => mantissa as f64 * POWERS[power as usize],
        _ => return None,
    };
    Some((if negative { -value } else { value }, p))
}

/// The whole number at `at` with an optional minus sign, if it has at most 16 digits, and where it ends. 32 bytes must be there.
#[inline(always)]
pub(crate) fn fast_signed(text: &[u8], at: usize) -> Option<(i64, usize)> {
    let negative = text[at] == b'-';
    let p = at + usize::from(negative);
    let (value, n) = digits16(text, p);
    if n == 0 {
        return None;
    }
    Some((if negative { -(value as i64) } else { value as i64 }, p + n))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pad(s: &str) -> Vec<u8> {
        let mut v = s.as_bytes().to_vec();
        v.resize(v.len() + 80, b'\n');
        v
    }

    #[test]
    fn digits() {
        for s in ["0", "7", "42", "123", "9999", "65536", "999999", "1234567", "87654321"] {
            for end in [" ", "\n", "\t", ".", "\u{e9}", "/", ":"] {
                let text = pad(&format!("{s}{end}"));
                assert_eq!(swar(word(&text, 0)), (s.parse().unwrap(), s.len()), "{s:?}{end:?}");
            }
        }
        assert_eq!(swar(word(&pad("x1"), 0)).1, 0);
        assert_eq!(unsigned(b"18446744073709551615"), Ok(u64::MAX));
        assert_eq!(unsigned(b"18446744073709551616"), Err(Bad::Overflow));
        assert_eq!(unsigned(b"+"), Err(Bad::Syntax));
        assert_eq!(unsigned(b"1.0"), Err(Bad::Syntax));
        assert_eq!(signed(b"-9223372036854775808"), Ok(i64::MIN));
        assert_eq!(signed(b"9223372036854775808"), Err(Bad::Overflow));
        assert_eq!(signed(b"-+1"), Err(Bad::Syntax));
        assert_eq!(fast_signed(&pad("-1234567890123456 "), 0), Some((-1_234_567_890_123_456, 17)));
        assert_eq!(fast_signed(&pad("- "), 0), None);
    }

    #[test]
    fn floats_are_those_of_the_standard_library() {
        let mut seed = 1u64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            seed >> 20
        };
        let mut fast = 0;
        for k in 0..20000 {
            let (a, b, e) = (next() % 10u64.pow((k % 9) as u32 + 1), next() % 10u64.pow((k % 7) as u32 + 1), next() as i64 % 30 - 15);
            let s = match k % 5 {
                0 => format!("{a}.{b}"),
                1 => format!("-{a}.{b}e{e}"),
                2 => format!("{a}"),
                3 => format!(".{b}E+{}", e.abs()),
                _ => format!("{:?}", f64::from_bits(next() << 20)),
            };
            let Ok(wanted) = float(s.as_bytes()) else { continue };
            // More digits than are read at once: the end is not a blank, and the caller goes another way.
            assert_eq!(fast_float(&pad(&s), 0), Some((wanted, s.len())));
            if let Some((value, _)) = exact_float(&pad(&s), 0).filter(|&(_, end)| end == s.len()) {
                assert_eq!(value.to_bits(), wanted.to_bits(), "{s}");
                fast += 1;
            }
        }
        assert!(fast > 10000, "{fast}");
        assert_eq!(float(b"1e999"), Err(Bad::Overflow));
        assert_eq!(float(b"-inf"), Err(Bad::NotFinite));
        assert_eq!(float(b"nan"), Err(Bad::NotFinite));
        assert_eq!(float(b"1,5"), Err(Bad::Syntax));
    }
}
