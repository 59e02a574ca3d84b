//! Structs that host and shaders share: one definition here in Rust, and a test that WGSL lays it out the same.
//!
//! ```ignore
//! gpu_struct! {
//!     /// One instance.
//!     pub struct Instance {
//!         /// Rows of the object-to-world matrix.
//!         pub transform: [[f32; 4]; 3],
//!         /// Index of the primitive.
//!         pub primitive: u32,
//!         /// To a multiple of 16 bytes, as WGSL wants for a struct with a `vec4`.
//!         pub padding: [u32; 3],
//!     }
//! }
//!
//! #[test]
//! fn instance_is_what_the_shaders_think() {
//!     check_layouts(&[Instance::LAYOUT]).unwrap();
//! }
//! ```
//!
//! Rust's arrays align to their element, WGSL's vectors to 8 or 16 bytes. Padding is therefore written out: the
//! macro refuses a struct with holes, and `check_layouts` one whose members lie elsewhere in WGSL.

/// A struct that can be copied to the GPU as it is. Made by `gpu_struct!`.
pub trait GpuStruct: bytemuck::Pod {
    /// Where its members are.
    const LAYOUT: StructLayout;
}

/// Name, size and members of a [`GpuStruct`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StructLayout {
    /// The name, the same in WGSL.
    pub name: &'static str,
    /// Bytes.
    pub size: usize,
    /// In order of declaration.
    pub fields: &'static [FieldLayout],
}

/// One member of a [`StructLayout`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldLayout {
    /// The name, the same in WGSL.
    pub name: &'static str,
    /// Bytes from the start of the struct.
    pub offset: usize,
    /// Bytes.
    pub size: usize,
}

/// Declares a struct shared with shaders: `repr(C)`, `Pod`, without holes, with its [`StructLayout`]. Its
/// default is all zeros.
#[allow(unused_macros, reason = "for the modules that declare shared structs")]
macro_rules! gpu_struct {
    ($(
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $( $(#[$field_meta:meta])* $field_vis:vis $field:ident : $ty:ty ),* $(,)?
        }
    )*) => {$(
        $(#[$meta])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
        $vis struct $name {
            $( $(#[$field_meta])* $field_vis $field: $ty, )*
        }

        impl Default for $name {
            fn default() -> Self {
                bytemuck::Zeroable::zeroed()
            }
        }

        impl $crate::vk::layout::GpuStruct for $name {
            const LAYOUT: $crate::vk::layout::StructLayout = $crate::vk::layout::StructLayout {
                name: stringify!($name),
                size: size_of::<$name>(),
                fields: &[$( $crate::vk::layout::FieldLayout {
                    name: stringify!($field),
                    offset: std::mem::offset_of!($name, $field),
                    size: size_of::<$ty>(),
                }, )*],
            };
        }
    )*};
}
#[allow(unused_imports, reason = "for the modules that declare shared structs")]
pub(crate) use gpu_struct;

#[cfg(test)]
#[allow(unused_imports, reason = "for the tests of the modules that declare shared structs")]
pub(crate) use check::check_layouts;

#[cfg(test)]
#[path = "layout_tests.rs"]
mod check;
