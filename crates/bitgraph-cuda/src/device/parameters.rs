//! Structs that the host and the kernels share: the parameters of launches, and records in device memory.
//!
//! Invariant: a struct of [`parameters!`] lies in memory as the kernels' declaration that it names, or the crate does not compile.
#![allow(unsafe_code)]

use bitgraph_kernels::Struct;
use bytemuck::Pod;

/// A struct that the kernels declare too.
///
/// # Safety
/// Size, fields and their offsets are those of [`Parameters::STRUCT`]. [`parameters!`] checks that.
pub unsafe trait Parameters: Pod {
    /// The kernels' declaration.
    const STRUCT: &'static Struct;
}

/// Declares structs that kernels take, each with the source and the name of the kernels' own declaration. Names, order, offsets and sizes
/// of the fields are compared while the program is compiled; padding is written out.
///
/// ```
/// # use bitgraph_cuda::device::DevicePtr;
/// bitgraph_cuda::parameters! {
///     struct Link = "common/grid.cuh" "bg::HostLink" {
///         cancel: DevicePtr<u32>,
///         progress: DevicePtr<u32>,
///     }
/// }
/// ```
/// Two fields that changed places do not compile, although they are of the same type:
/// ```compile_fail,E0080
/// # use bitgraph_cuda::device::DevicePtr;
/// bitgraph_cuda::parameters! {
///     struct Link = "common/grid.cuh" "bg::HostLink" {
///         progress: DevicePtr<u32>,
///         cancel: DevicePtr<u32>,
///     }
/// }
/// ```
/// Nor does one that is narrower than the kernels':
/// ```compile_fail,E0080
/// # use bitgraph_cuda::device::DevicePtr;
/// bitgraph_cuda::parameters! {
///     struct Link = "common/grid.cuh" "bg::HostLink" {
///         cancel: DevicePtr<u32>,
///         progress: u32,
///         reserved: u32,
///     }
/// }
/// ```
#[macro_export]
macro_rules! parameters {
    ($($(#[$attribute:meta])* $visible:vis struct $name:ident = $file:literal $declared:literal {
        $($(#[$note:meta])* $field_visible:vis $field:ident: $kind:ty,)*
    })*) => {$(
        $(#[$attribute])*
        #[derive(Clone, Copy, ::bytemuck::Pod, ::bytemuck::Zeroable)]
        #[repr(C)]
        $visible struct $name {
            $($(#[$note])* $field_visible $field: $kind,)*
        }
        // SAFETY: the constant does not compile unless both declarations agree.
        #[allow(unsafe_code)]
        unsafe impl $crate::device::Parameters for $name {
            const STRUCT: &'static $crate::device::Struct = {
                let declared = $crate::device::Struct::find($file, $declared);
                let fields = [$((stringify!($field), ::std::mem::offset_of!($name, $field), size_of::<$kind>())),*];
                let differ = concat!(stringify!($name), " is not laid out as ", $declared, " in kernels/", $file);
                assert!(declared.agrees(size_of::<$name>(), &fields), "{}", differ);
                declared
            };
        }
        const _: &$crate::device::Struct = <$name as $crate::device::Parameters>::STRUCT;
    )*};
}
pub use parameters;
