//! Any format on the device: its sections as arrays, by name.
//!
//! Invariant: an array holds the elements of the section of its name, in the same order.

use crate::device::{Buffer, Device};
use crate::layout::Offsets;
use crate::{Cuda, Error, Result};
use bitgraph_backend::Resident;
use bitgraph_sparse::{Format, SectionData, Sections};
use bytemuck::Pod;

/// The elements of a section on the device.
#[derive(Debug)]
pub(crate) enum Elements {
    U8(Buffer<u8>),
    U16(Buffer<u16>),
    U32(Buffer<u32>),
    U64(Buffer<u64>),
}

impl From<&Offsets> for Elements {
    fn from(offsets: &Offsets) -> Self {
        match offsets {
            Offsets::U32(o) => Self::U32(o.clone()),
            Offsets::U64(o) => Self::U64(o.clone()),
        }
    }
}

/// A format on the device.
#[derive(Debug)]
pub struct DeviceFormat {
    /// The format's name.
    pub format: &'static str,
    /// Rows and columns.
    pub shape: (usize, usize),
    /// Entries.
    pub nnz: usize,
    sections: Vec<(&'static str, Elements)>,
}

/// An element type of sections.
pub trait SectionElement: Pod {
    #[doc(hidden)]
    fn array<'a>(format: &'a DeviceFormat, name: &str) -> Option<&'a Buffer<Self>>;
}

macro_rules! elements {
    ($($t:ty, $variant:ident;)*) => { $(
        impl SectionElement for $t {
            fn array<'a>(format: &'a DeviceFormat, name: &str) -> Option<&'a Buffer<Self>> {
                format.sections.iter().find_map(|(found, elements)| match elements {
                    Elements::$variant(array) if *found == name => Some(array),
                    _ => None,
                })
            }
        }
    )* };
}
elements! { u8, U8; u16, U16; u32, U32; u64, U64; }

impl DeviceFormat {
    fn upload<F: Format>(device: &Device, format: &F) -> Result<Self> {
        let upload = |data: &SectionData| {
            Ok::<_, Error>(match data {
                SectionData::U8(b) => Elements::U8(device.upload(b)?),
                SectionData::U16(b) => Elements::U16(device.upload(b)?),
                SectionData::U32(b) => Elements::U32(device.upload(b)?),
                SectionData::U64(b) => Elements::U64(device.upload(b)?),
            })
        };
        let sections = format.sections().iter().map(|s| Ok((s.name, upload(&s.data)?))).collect::<Result<Vec<_>>>()?;
        Ok(Self { format: F::NAME, shape: format.shape(), nnz: format.nnz(), sections })
    }
    /// Of arrays that are there, by the names of the format's sections.
    pub(crate) fn new(format: &'static str, shape: (usize, usize), nnz: usize, sections: Vec<(&'static str, Elements)>) -> Self {
        Self { format, shape, nnz, sections }
    }
    /// The format on the host, with every check of what comes from outside. O(its arrays).
    ///
    /// # Errors
    /// Another format than this one, what its checks find, or the driver's.
    pub fn to_host<F: Format>(&self) -> Result<F> {
        if F::NAME != self.format {
            return Err(bitgraph_sparse::Error::Section { name: format!("{} (these are of {})", F::NAME, self.format) }.into());
        }
        let download = |elements: &Elements| {
            Ok::<_, Error>(match elements {
                Elements::U8(b) => SectionData::U8(b.to_vec()?.into()),
                Elements::U16(b) => SectionData::U16(b.to_vec()?.into()),
                Elements::U32(b) => SectionData::U32(b.to_vec()?.into()),
                Elements::U64(b) => SectionData::U64(b.to_vec()?.into()),
            })
        };
        let sections = self.sections.iter().map(|(name, e)| Ok((name.to_string(), download(e)?))).collect::<Result<Sections>>()?;
        Ok(F::from_sections(self.shape.0, self.shape.1, &sections)?)
    }
    /// The array of a section, if there is one of that name and type.
    #[must_use]
    pub fn section<T: SectionElement>(&self, name: &str) -> Option<&Buffer<T>> {
        T::array(self, name)
    }
    /// Bytes on the device.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let bytes = |elements: &Elements| match elements {
            Elements::U8(b) => b.len() as u64,
            Elements::U16(b) => 2 * b.len() as u64,
            Elements::U32(b) => 4 * b.len() as u64,
            Elements::U64(b) => 8 * b.len() as u64,
        };
        self.sections.iter().map(|(_, elements)| bytes(elements)).sum()
    }
}

impl<F: Format> Resident<F> for Cuda {
    type Form = DeviceFormat;

    fn reside(&self, format: &F) -> Result<DeviceFormat> {
        DeviceFormat::upload(self.device(), format)
    }
    fn form_bytes(&self, form: &DeviceFormat) -> u64 {
        form.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitgraph_sparse::{Csr, Offsets, Section};

    /// A format of another crate: the columns of every row as differences.
    #[derive(Clone, Debug, PartialEq)]
    struct Gaps(Vec<u16>);

    impl Format for Gaps {
        const NAME: &'static str = "gaps";
        fn shape(&self) -> (usize, usize) {
            (1, 1 + self.0.iter().map(|&g| usize::from(g)).sum::<usize>())
        }
        fn nnz(&self) -> usize {
            self.0.len()
        }
        fn sections(&self) -> Vec<Section> {
            vec![Section { name: "gaps", data: SectionData::U16(self.0.clone().into()) }]
        }
        fn from_sections(_: usize, _: usize, sections: &Sections) -> bitgraph_sparse::Result<Self> {
            Ok(Self(bitgraph_sparse::section!(sections, "gaps", U16)?.to_vec()))
        }
    }

    #[test]
    fn formats_of_any_crate_reside_on_the_device() {
        let Ok(cuda) = Cuda::open(0) else { return };
        let gaps = Gaps(vec![3, 1, 4, 1, 5]);
        let form = cuda.reside(&gaps).unwrap();
        assert_eq!((form.format, form.nnz, Resident::<Gaps>::form_bytes(&cuda, &form)), ("gaps", 5, 10));
        assert_eq!(form.section::<u16>("gaps").unwrap().to_vec().unwrap(), gaps.0);
        assert!(form.section::<u32>("gaps").is_none() && form.section::<u16>("tiles").is_none());
        assert_eq!(form.to_host::<Gaps>().unwrap(), gaps);
        assert!(form.to_host::<Csr>().is_err());
        let csr = Csr::new(2, 2, Offsets::from_usizes(&[0, 1, 2]), vec![1u32, 0].into()).unwrap();
        let form = cuda.reside(&csr).unwrap();
        assert_eq!(form.section::<u32>("indices").unwrap().to_vec().unwrap(), [1, 0]);
        assert_eq!(Resident::<Csr>::form_bytes(&cuda, &form), csr.bytes());
    }
}
