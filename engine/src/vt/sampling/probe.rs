//! What the passes `vt/probe.wgsl` and `vt/view.wgsl` take and give.

use crate::vk::layout::gpu_struct;

/// Bits of [`VtProbe::flags`].
pub mod probe_flags {
    /// [`VtProbe::level`](super::VtProbe::level) is the level itself, and derivatives do not count.
    pub const LEVEL: u32 = 1;
    /// The place is [`VtProbe::page`](super::VtProbe::page), and [`VtProbe::uv`](super::VtProbe::uv) the way from there.
    pub const PLACE: u32 = 2;
    /// Through the bindings of the second texture.
    pub const SECOND: u32 = 4;
    /// Feedback is written.
    pub const FEEDBACK: u32 = 8;
}

gpu_struct! {
    /// One place to look at.
    pub struct VtProbe {
        /// Where.
        pub uv: [f32; 2],
        /// Derivative of uv along the picture's x.
        pub dx: [f32; 2],
        /// Derivative of uv along the picture's y.
        pub dy: [f32; 2],
        /// The pixel that is taken to ask: for noise and feedback.
        pub pixel: [u32; 2],
        /// With [`probe_flags::PLACE`]: page of level 0; uv is then the way from its corner, in pages.
        pub page: [i32; 2],
        /// The level with [`probe_flags::LEVEL`], a bias otherwise.
        pub level: f32,
        /// Slot of the texture.
        pub texture: u32,
        /// See [`probe_flags`].
        pub flags: u32,
        /// Textures that are sampled, from `texture` on; the result is that of the first.
        pub count: u32,
    }

    /// What a probe found.
    pub struct VtProbeResult {
        /// Layers as sampled.
        pub layer0: [f32; 4],
        /// The second layer, where the kind has one.
        pub layer1: [f32; 4],
        /// The third layer, where the kind has one.
        pub layer2: [f32; 4],
        /// Place in the atlas, 0 to 1.
        pub atlas_uv: [f32; 2],
        /// Logical texels from the page's corner.
        pub texel: [f32; 2],
        /// From derivatives of uv to those of the atlas.
        pub gradient: [f32; 2],
        /// Column and row in the atlas.
        pub atlas_page: [u32; 2],
        /// How far into the page of level 0.
        pub fraction: [f32; 2],
        /// The page of level 0.
        pub page: [u32; 2],
        /// Linear base colour of the surface.
        pub base_colour: [f32; 3],
        /// Roughness of the surface.
        pub roughness: f32,
        /// Normal of the surface, of the world.
        pub normal: [f32; 3],
        /// Specular of the surface.
        pub specular: f32,
        /// Masks of the surface.
        pub mask: [f32; 4],
        /// Height, metres.
        pub height: f32,
        /// Level before the table's bias.
        pub level: f32,
        /// Level that was wished for.
        pub whole_level: i32,
        /// Level that was found.
        pub mapped_level: u32,
        /// 1 where something was found.
        pub is_resident: u32,
        /// What feedback would say.
        pub word: u32,
        /// To a multiple of 16 bytes.
        pub padding: [u32; 2],
    }

    /// Push constants of `vt/view.wgsl`.
    pub struct VtViewPush {
        /// The uv of the target's upper left corner.
        pub uv_first: [f32; 2],
        /// The uv of the target's lower right corner.
        pub uv_last: [f32; 2],
        /// Pixels of the target.
        pub extent: [f32; 2],
        /// Slot of the texture.
        pub texture: u32,
        /// Added to the level.
        pub bias: f32,
        /// Depth of the view, 0 is far.
        pub depth: f32,
        /// 1 where the view asks for the pages that it shows.
        pub gives_feedback: u32,
    }
}
