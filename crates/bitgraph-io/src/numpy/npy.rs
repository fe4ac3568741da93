//! `.npy`: one array behind a header that is a Python dictionary.
//!
//! Read: versions 1 to 3, little and big endian, bool, integers and floats of up to 64 bits; written: version 1, little endian.
//! Format: numpy's NEP 1. Only as many bytes are allocated as are there.

use bitgraph_sparse::{Values, parallel};
use bytemuck::Pod;
use half::f16;
use std::io::{self, Read};

/// What can be wrong with an array, to be given a place by the caller.
#[derive(Debug)]
pub(crate) enum Fault {
    Io(io::Error),
    What(&'static str),
    Size { expected: u64, found: u64 },
    Shape { shape: String, bytes: u64 },
}

impl From<io::Error> for Fault {
    fn from(e: io::Error) -> Self {
        if e.kind() == io::ErrorKind::UnexpectedEof { Fault::What("the array ends within its header") } else { Fault::Io(e) }
    }
}

/// What the header says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Header {
    /// The type, as `i4` or `f8`; the byte order apart.
    pub code: String,
    pub big_endian: bool,
    pub fortran: bool,
    pub shape: Vec<u64>,
}

impl Header {
    /// The number of elements of so many bytes each.
    fn count(&self, bytes: u64) -> Result<u64, Fault> {
        let count = self.shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d));
        count.filter(|n| n.checked_mul(bytes).is_some()).ok_or_else(|| {
            let shape: Vec<String> = self.shape.iter().map(u64::to_string).collect();
            Fault::Shape { shape: shape.join(", "), bytes }
        })
    }
}

/// Reads the header.
pub(crate) fn read_header(reader: &mut impl Read) -> Result<Header, Fault> {
    let mut magic = [0; 8];
    reader.read_exact(&mut magic)?;
    if &magic[..6] != b"\x93NUMPY" {
        return Err(Fault::What("the array does not begin as a npy file does"));
    }
    let len = match magic[6] {
        1 => {
            let mut len = [0; 2];
            reader.read_exact(&mut len)?;
            u64::from(u16::from_le_bytes(len))
        }
        2 | 3 => {
            let mut len = [0; 4];
            reader.read_exact(&mut len)?;
            u64::from(u32::from_le_bytes(len))
        }
        _ => return Err(Fault::What("the npy version is not 1, 2 or 3")),
    };
    if len > 1 << 20 {
        return Err(Fault::What("the npy header is longer than 1 MiB"));
    }
    let mut text = String::new();
    reader.take(len).read_to_string(&mut text).map_err(|e| match e.kind() {
        io::ErrorKind::InvalidData => Fault::What("the npy header is not text"),
        _ => Fault::Io(e),
    })?;
    if (text.len() as u64) < len {
        return Err(Fault::What("the array ends within its header"));
    }
    parse(&text).ok_or(Fault::What("the npy header is not understood"))
}

/// The dictionary: three known keys in any order.
fn parse(text: &str) -> Option<Header> {
    let mut rest = text.trim().strip_prefix('{')?.trim_end().strip_suffix('}')?.trim();
    let (mut descr, mut fortran, mut shape) = (None, None, None);
    while !rest.is_empty() {
        let (key, after) = quoted(rest)?;
        rest = after.trim_start().strip_prefix(':')?.trim_start();
        match key {
            "descr" => {
                let (value, after) = quoted(rest)?;
                (descr, rest) = (Some(value), after);
            }
            "fortran_order" => {
                let word = rest.split(|c: char| !c.is_ascii_alphabetic()).next()?;
                fortran = Some(match word {
                    "True" => true,
                    "False" => false,
                    _ => return None,
                });
                rest = &rest[word.len()..];
            }
            "shape" => {
                let (inside, after) = rest.strip_prefix('(')?.split_once(')')?;
                let parts = inside.split(',').map(str::trim).filter(|p| !p.is_empty());
                // Python 2 wrote long integers with an L.
                shape = Some(parts.map(|p| p.trim_end_matches('L').parse().ok()).collect::<Option<Vec<u64>>>()?);
                rest = after;
            }
            _ => return None,
        }
        rest = rest.trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
    let descr: &str = descr?;
    let (big_endian, code) = match descr.as_bytes().first()? {
        b'>' => (true, &descr[1..]),
        b'<' | b'|' | b'=' => (false, &descr[1..]),
        _ => (false, descr),
    };
    Some(Header { code: code.to_string(), big_endian, fortran: fortran?, shape: shape? })
}

fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote)
}

/// Reads the elements; what follows is left. Memory grows with what is there, not with what is claimed.
fn elements<T: Pod>(reader: &mut impl Read, header: &Header) -> Result<Vec<T>, Fault> {
    const STEP: usize = 1 << 20;
    let expected = header.count(size_of::<T>() as u64)? * size_of::<T>() as u64;
    let count = usize::try_from(expected).map_err(|_| Fault::What("the array is too large"))? / size_of::<T>();
    let mut all: Vec<T> = Vec::new();
    while all.len() < count {
        let (start, step) = (all.len(), (count - all.len()).min(STEP.max(all.len())));
        all.reserve_exact(step);
        all.resize(start + step, T::zeroed());
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut all[start..]);
        let mut filled = 0;
        while filled < bytes.len() {
            match reader.read(&mut bytes[filled..]) {
                Ok(0) => {
                    let found = (start * size_of::<T>() + filled) as u64;
                    return Err(Fault::Size { expected, found });
                }
                Ok(n) => filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(Fault::Io(e)),
            }
        }
        if header.big_endian {
            bytes.chunks_exact_mut(size_of::<T>()).for_each(<[u8]>::reverse);
        }
    }
    Ok(all)
}

/// Whether the array is a vector of numbers that can be read.
pub(crate) fn check_vector(header: &Header) -> Result<(), Fault> {
    const NUMBERS: [&str; 12] = ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"];
    if header.shape.len() != 1 {
        return Err(Fault::What("the array is not a vector"));
    }
    if NUMBERS.contains(&header.code.as_str()) { Ok(()) } else { Err(Fault::What(NO_NUMBERS)) }
}

const NO_NUMBERS: &str = "the type of the elements is not bool, integer or float of at most 64 bits";

/// Reads the elements that follow a header.
pub(crate) fn read_values(reader: &mut impl Read, header: &Header) -> Result<Values, Fault> {
    Ok(match header.code.as_str() {
        "b1" => elements::<u8>(reader, header)?.into_iter().map(|b| b != 0).collect::<Vec<bool>>().into(),
        "i1" => elements::<i8>(reader, header)?.into(),
        "i2" => elements::<i16>(reader, header)?.into(),
        "i4" => elements::<i32>(reader, header)?.into(),
        "i8" => elements::<i64>(reader, header)?.into(),
        "u1" => elements::<u8>(reader, header)?.into(),
        "u2" => elements::<u16>(reader, header)?.into(),
        "u4" => elements::<u32>(reader, header)?.into(),
        "u8" => elements::<u64>(reader, header)?.into(),
        "f2" => elements::<f16>(reader, header)?.into(),
        "f4" => elements::<f32>(reader, header)?.into(),
        "f8" => elements::<f64>(reader, header)?.into(),
        _ => return Err(Fault::What(NO_NUMBERS)),
    })
}

/// The bytes of each element, where all of these are elements.
pub(crate) fn words<'a, const N: usize>(bytes: &'a [u8], header: &Header) -> Result<&'a [[u8; N]], Fault> {
    let (expected, found) = (header.count(N as u64)? * N as u64, bytes.len() as u64);
    match found {
        _ if found < expected => Err(Fault::Size { expected, found }),
        _ if found > expected => Err(Fault::What(FOLLOWED)),
        _ => Ok(bytes.as_chunks::<N>().0),
    }
}

/// What `of` makes of the bytes of an element, the lowest first.
#[inline(always)]
pub(crate) fn ordered<const N: usize, T>(mut word: [u8; N], big_endian: bool, of: impl Fn([u8; N]) -> T) -> T {
    if big_endian {
        word.reverse();
    }
    of(word)
}

/// The elements that are all of these bytes: as [`read_values`] and [`at_end`], in parallel.
pub(crate) fn values_of(bytes: &[u8], header: &Header) -> Result<Values, Fault> {
    /// The elements, which `of` makes of their bytes, the lowest first.
    fn all<const N: usize, T: Send>(bytes: &[u8], header: &Header, of: impl Fn([u8; N]) -> T + Sync) -> Result<Vec<T>, Fault> {
        Ok(parallel::map(words(bytes, header)?, |&word| ordered(word, header.big_endian, &of)))
    }
    Ok(match header.code.as_str() {
        "b1" => all(bytes, header, |[b]| b != 0)?.into(),
        "i1" => all(bytes, header, i8::from_le_bytes)?.into(),
        "i2" => all(bytes, header, i16::from_le_bytes)?.into(),
        "i4" => all(bytes, header, i32::from_le_bytes)?.into(),
        "i8" => all(bytes, header, i64::from_le_bytes)?.into(),
        "u1" => all(bytes, header, u8::from_le_bytes)?.into(),
        "u2" => all(bytes, header, u16::from_le_bytes)?.into(),
        "u4" => all(bytes, header, u32::from_le_bytes)?.into(),
        "u8" => all(bytes, header, u64::from_le_bytes)?.into(),
        "f2" => all(bytes, header, f16::from_le_bytes)?.into(),
        "f4" => all(bytes, header, f32::from_le_bytes)?.into(),
        "f8" => all(bytes, header, f64::from_le_bytes)?.into(),
        _ => return Err(Fault::What(NO_NUMBERS)),
    })
}

const FOLLOWED: &str = "bytes follow the last element";

/// Makes sure that nothing follows.
pub(crate) fn at_end(reader: &mut impl Read) -> Result<(), Fault> {
    let mut byte = [0];
    match reader.read(&mut byte) {
        Ok(0) => Ok(()),
        Ok(_) => Err(Fault::What(FOLLOWED)),
        Err(e) => Err(Fault::Io(e)),
    }
}

/// A header of version 1 for a little-endian array.
pub(crate) fn header_bytes(descr: &str, shape: &str) -> Vec<u8> {
    let mut dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    // The elements begin at a multiple of 64.
    let total = (10 + dict.len() + 1).next_multiple_of(64);
    dict.extend(std::iter::repeat_n(' ', total - 11 - dict.len()));
    dict.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(dict.len() as u16).to_le_bytes());
    bytes.extend_from_slice(dict.as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers() {
        let wanted = Header { code: "i4".into(), big_endian: false, fortran: false, shape: vec![7] };
        assert_eq!(read_header(&mut &header_bytes("<i4", "(7,)")[..]).unwrap(), wanted);
        assert_eq!(header_bytes("<f8", "(1000,)").len() % 64, 0);
        assert_eq!(parse("{'shape': (2, 3L), \"descr\": '>f8', 'fortran_order': True}").unwrap().shape, vec![2, 3]);
        assert_eq!(parse("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (2,)}"), None);
        assert_eq!(parse("{'descr': '<i4', 'fortran_order': False, 'shape': (2,"), None);
        let huge = Header { code: "f8".into(), big_endian: false, fortran: false, shape: vec![1 << 60] };
        assert!(matches!(read_values(&mut &[0u8; 100][..], &huge), Err(Fault::Size { found: 100, .. } | Fault::What(_))));
        let told = |header: &Header| read_values(&mut &[0u8; 100][..], header).unwrap_err();
        assert!(matches!(told(&Header { shape: vec![1 << 61], ..huge.clone() }), Fault::Shape { bytes: 8, .. }));
        assert!(
            matches!(told(&Header { shape: vec![1 << 32, 1 << 32], ..huge }), Fault::Shape { shape, .. } if shape == "4294967296, 4294967296")
        );
        let big = Header { code: "i2".into(), big_endian: true, fortran: false, shape: vec![2] };
        assert_eq!(read_values(&mut &[0u8, 1, 1, 0][..], &big).unwrap(), Values::from_vec(vec![1i16, 256]));
    }
}
