//! Sampling: what a user's material calls, the constants it reads, and its twin on the CPU.
//!
//! ```text
//! SampledTexture --constants--> VirtualTexture (storage buffer) --> shaders/lib/virtual_texture.wgsl
//!                                      |                              level, place, page, footprint, feedback word
//!                                      v                                        |
//!                                  twin.rs, feedback.rs, kinds.rs  <-- compared by tests, number for number
//! ```
//!
//! | shader module | what |
//! | --- | --- |
//! | `lib/virtual_texture_kinds.wgsl` | what each kind stores: for those who draw pages and those who sample them |
//! | `lib/virtual_texture.wgsl` | all that touches no texture: levels, places, pages, footprints, words of feedback |
//! | `lib/virtual_texture_bindings.wgsl` | the two fetches, for the bindings below |
//! | `lib/virtual_texture_second.wgsl` | the same for a second texture of one layer |
//! | `lib/virtual_texture_feedback.wgsl` | writes feedback; a pass that leaves it out samples only |
//! | `vt/probe.wgsl`, `vt/view.wgsl` | passes that look at a texture: at listed places, and as a picture |
//!
//! Three decisions about mips are kept apart: the virtual level (which page), filtering inside of the page (bilinear, or
//! anisotropic within the border), and the mips of the sources when the page was drawn, which are not of this room.

mod constants;
mod feedback;
mod kinds;
mod probe;
#[cfg(test)]
mod tests;
mod twin;

pub use crate::vt::Kind;
pub use constants::{
    Anisotropy, NO_FEEDBACK, SampledTexture, Trilinear, VirtualTexture, VirtualTextureFrame, Wrap, flags,
};
pub use feedback::{FIRST_FEEDBACK_WORD, Reservoir, feedback_word, gives_feedback, hash};
pub use kinds::{Attributes, Surface};
pub use probe::{VtProbe, VtProbeResult, VtViewPush, probe_flags};
pub use twin::{
    Footprint, Page, Place, explicit_level, footprint, footprint_level, level, noise, page, place,
    place_from, table_texel, trilinear_share, whole_level,
};

/// Bindings of set 1 that the shader modules use; see [`crate::vk::PassBindings`].
pub mod bindings {
    /// Storage buffer: [`VirtualTextureFrame`](super::VirtualTextureFrame), then [`VirtualTexture`](super::VirtualTexture)s.
    pub const CONSTANTS: u32 = 24;
    /// Storage buffer, read and written: feedback.
    pub const FEEDBACK: u32 = 25;
    /// Sampled image: the page table.
    pub const PAGE_TABLE: u32 = 15;
    /// Sampled images: the atlas, one a layer.
    pub const LAYERS: [u32; 3] = [16, 17, 18];
    /// Sampled image: the page table of the second texture.
    pub const SECOND_PAGE_TABLE: u32 = 19;
    /// Sampled image: the only layer of the second texture.
    pub const SECOND_LAYER: u32 = 20;
    /// The second sampler of a pass: bilinear, clamped, anisotropic where a texture is.
    pub const SAMPLER: u32 = 21;

    /// Every binding with its name, in order.
    pub const ALL: [(u32, &str); 9] = [
        (PAGE_TABLE, "vt_page_table"),
        (LAYERS[0], "vt_layer0"),
        (LAYERS[1], "vt_layer1"),
        (LAYERS[2], "vt_layer2"),
        (SECOND_PAGE_TABLE, "vt_second_page_table"),
        (SECOND_LAYER, "vt_second_layer"),
        (SAMPLER, "vt_sampler"),
        (CONSTANTS, "virtual_textures"),
        (FEEDBACK, "vt_feedback"),
    ];
}
