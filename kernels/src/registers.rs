//! Names of virtual registers in portable assembly, written so that code which repeats itself repeats its bytes.
//!
//! A compiler counts registers up through a whole kernel (`%rd57`), so that two copies of a loop differ in every name and a compressor
//! finds little in common. Here a name is written as what relates it to the ones before it: how many names of its class ago it was last
//! used, or that it is new. Two thirds of the packed portable assembly went that way.
//!
//! # Invariants
//! [`expand`] of [`shorten`] gives any bytes back, machine code around the assembly included: a name is `%`, one to three small letters
//! and a number without leading zeros, wherever that stands, and every other byte stays.

use std::collections::HashMap;
use std::io::{self, Error, ErrorKind::InvalidData};

/// What follows the letters of a class in shortened text, where it is none of the bytes below 128 that stay as they are.
mod mark {
    /// A byte from 128 up that was there before.
    pub const BYTE: u8 = 0x80;
    /// A register that is new, numbered one above the last new one.
    pub const NEXT: u8 = 0x81;
    /// A register that is new, by the difference to the last new one.
    pub const NEW: u8 = 0x82;
    /// A register that was used so many names ago.
    pub const AGO: u8 = 0x83;
    /// The same, from 1 name ago.
    pub const RECENT: u8 = 0x84;
}

/// What was used furthest ago and still takes one byte.
const RECENT: usize = (u8::MAX - mark::RECENT) as usize + 1;
/// Digits of the longest number that is taken for a register's.
const DIGITS: usize = 7;

/// The names of a class since its registers were declared.
#[derive(Default)]
struct Class {
    used: Vec<u32>,
    /// Where a register was last used, while text is shortened.
    last: HashMap<u32, usize>,
    newest: u32,
}

/// The classes by their letters, as a number; there are about ten.
#[derive(Default)]
struct Classes(Vec<(u32, Class)>);

impl Classes {
    fn of(&mut self, letters: &[u8]) -> &mut Class {
        let key = letters.iter().fold(0, |key, &letter| key << 8 | u32::from(letter));
        let at = self.0.iter().position(|(other, _)| *other == key).unwrap_or_else(|| {
            self.0.push((key, Class::default()));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }
}

/// Calls `name(letters, rest, output)` wherever `%` and one to three letters stand; it says how many bytes of the rest it has dealt with.
fn walk(text: &[u8], mut name: impl FnMut(&[u8], &[u8], &mut Vec<u8>) -> io::Result<usize>) -> io::Result<Vec<u8>> {
    let (mut output, mut rest) = (Vec::with_capacity(text.len() * 2), text);
    while let Some(percent) = rest.iter().position(|&b| b == b'%') {
        let letters = rest[percent + 1..].iter().take_while(|b| b.is_ascii_lowercase()).count();
        let (before, after) = rest.split_at(percent + 1 + letters);
        output.extend_from_slice(before);
        rest = after;
        if (1..=3).contains(&letters) {
            rest = &after[name(&before[percent + 1..], after, &mut output)?..];
        }
    }
    output.extend_from_slice(rest);
    Ok(output)
}

/// The number that starts there, and its digits.
fn number(text: &[u8]) -> Option<(u32, usize)> {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let canonical = (1..=DIGITS).contains(&digits) && text[0] != b'0';
    canonical.then(|| (text[..digits].iter().fold(0, |n, d| 10 * n + u32::from(d - b'0')), digits))
}

/// 7 bits a byte, the lowest first, the highest bit set in all but the last.
fn write(mut value: u64, output: &mut Vec<u8>) {
    while value >= 128 {
        output.push(value as u8 | 128);
        value >>= 7;
    }
    output.push(value as u8);
}

fn read(text: &[u8]) -> Option<(u64, usize)> {
    let length = text.iter().take(5).position(|b| b & 128 == 0)? + 1;
    Some((text[..length].iter().rev().fold(0, |value, b| value << 7 | u64::from(b & 127)), length))
}

/// The same bytes with shortened names. O(bytes).
pub(crate) fn shorten(text: &[u8]) -> io::Result<Vec<u8>> {
    let mut classes = Classes::default();
    walk(text, |letters, rest, output| {
        let class = classes.of(letters);
        match (rest.first(), number(rest)) {
            // `%r<57>` declares the registers of a kernel.
            (Some(b'<'), _) => *class = Class::default(),
            (Some(&byte), _) if byte >= 128 => {
                output.extend([mark::BYTE, byte]);
                return Ok(1);
            }
            (_, Some((register, digits))) => {
                class.used.push(register);
                match class.last.insert(register, class.used.len()).map(|last| class.used.len() - last) {
                    Some(ago @ 1..=RECENT) => output.push(mark::RECENT + (ago - 1) as u8),
                    Some(ago) => {
                        output.push(mark::AGO);
                        write(ago as u64, output);
                    }
                    None => {
                        let difference = i64::from(register) - i64::from(std::mem::replace(&mut class.newest, register));
                        if difference == 1 {
                            output.push(mark::NEXT);
                        } else {
                            output.push(mark::NEW);
                            write((difference << 1 ^ difference >> 63) as u64, output);
                        }
                    }
                }
                return Ok(digits);
            }
            _ => {}
        }
        Ok(0)
    })
}

/// The bytes that were shortened. O(bytes).
///
/// # Errors
/// What [`shorten`] does not write.
pub(crate) fn expand(text: &[u8]) -> io::Result<Vec<u8>> {
    let mut classes = Classes::default();
    walk(text, |letters, rest, output| {
        let class = classes.of(letters);
        let wrong = || Error::new(InvalidData, "the name of a register refers to none");
        let Some((&first, rest)) = rest.split_first() else { return Ok(0) };
        let (register, length) = match first {
            b'<' => {
                *class = Class::default();
                return Ok(0);
            }
            ..128 => return Ok(0),
            mark::BYTE => {
                output.push(*rest.first().ok_or_else(wrong)?);
                return Ok(2);
            }
            mark::NEXT => (class.newest.checked_add(1).ok_or_else(wrong)?, 0),
            mark::NEW => {
                let (coded, length) = read(rest).ok_or_else(wrong)?;
                let difference = (coded >> 1) as i64 ^ -((coded & 1) as i64);
                (u32::try_from(i64::from(class.newest) + difference).ok().filter(|&r| r > 0).ok_or_else(wrong)?, length)
            }
            _ => {
                let (ago, length) = match first {
                    mark::AGO => read(rest).ok_or_else(wrong)?,
                    recent => (u64::from(recent - mark::RECENT) + 1, 0),
                };
                let at = usize::try_from(ago).ok().and_then(|ago| class.used.len().checked_sub(ago)).ok_or_else(wrong)?;
                (*class.used.get(at).ok_or_else(wrong)?, length)
            }
        };
        if first == mark::NEXT || first == mark::NEW {
            class.newest = register;
        }
        class.used.push(register);
        // Memory is asked for no name.
        let (mut digits, mut at, mut left) = ([0; 10], 10, register);
        while left > 0 {
            at -= 1;
            (digits[at], left) = (b'0' + (left % 10) as u8, left / 10);
        }
        output.extend_from_slice(&digits[at..]);
        Ok(1 + length)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(text: &[u8]) -> Vec<u8> {
        let short = shorten(text).unwrap();
        assert_eq!(expand(&short).unwrap(), text, "{}", text.escape_ascii());
        short
    }

    #[test]
    fn copies_of_a_loop_are_the_same_bytes() {
        let body = |first: u32| {
            let [a, b, c] = [first, first + 1, first + 2];
            format!("mul.lo.s32 %r{a}, %r7, 3;\nadd.s32 %r{b}, %r{a}, %r7;\n@%p1 st.global [%rd2+4], %r{b};\nmov %r{c}, %r{a};\n")
        };
        let text = format!(".reg .b32 %r<900>;\n%r7 %p1 %rd2 {}{}{}", body(8), body(11), body(14));
        let short = there_and_back(text.as_bytes());
        let parts: Vec<&[u8]> = short.split(|&b| b == b'm').collect();
        assert_eq!(parts[3..5], parts[5..7]);
        assert!(short.len() < text.len());
    }

    #[test]
    fn any_bytes_come_back() {
        let cases: [&[u8]; 16] = [
            b"",
            b"%",
            b"%r",
            b"%r0",
            b"%r01",
            b"%r1",
            b"%r9999999",
            b"%r10000000",
            b"%abcd1",
            b"%r\x80",
            b"%r\xff%r1%r1\x80",
            b"%r<5>%r1%r<",
            b"%%r1%r%r2",
            b"%ctaid.x %tid.x %r1%r5%r1%r2%r5",
            b"\x81%r\x8112%rd12\x83",
            b"%f4294967295",
        ];
        for text in cases {
            there_and_back(text);
        }
        let mut state = 7u32;
        let mut next = |below: usize| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as usize % below
        };
        let pieces: [&[u8]; 14] = [b"%", b"r", b"rd", b"%r", b"%r1", b"%rd", b"<", b"0", b"1", b"23", b"4567", b"\x80", b"\x84", b"\xff"];
        for _ in 0..20_000 {
            let text: Vec<u8> = (0..next(40)).flat_map(|_| pieces[next(pieces.len())].to_vec()).collect();
            there_and_back(&text);
        }
        // Registers that were last used before more names than a byte counts.
        let text: String = (1..1000).chain(1..1000).map(|i| format!("%r{i} ")).collect();
        there_and_back(text.as_bytes());
    }

    #[test]
    fn what_was_not_written_so_is_refused() {
        for text in [
            &b"%r\x84"[..],
            b"%r\x81%r\x85",
            b"%r\x80",
            b"%r\x82",
            b"%r\x82\xff\xff\xff\xff\xff\xff",
            b"%r\x82\x01",
            b"%r\x82\x00",
            b"%r\x83\x00",
        ] {
            assert!(expand(text).is_err(), "{}", text.escape_ascii());
        }
    }
}
