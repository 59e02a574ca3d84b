//! The structures that the GPU scene's buffers hold, shared with `shaders/lib/scene.wgsl`.

use crate::vk::layout::gpu_struct;

/// What a primitive is made of, for the vertex and fragment shader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum PrimitiveKind {
    /// A mesh of [`MeshVertex`](crate::scene::geometry::MeshVertex).
    Mesh = 0,
    /// A terrain chunk: two heights a grid vertex.
    TerrainChunk = 1,
}

/// An instance that exists; slots that are free have no flag at all.
pub const INSTANCE_ALIVE: u32 = 1;
/// An instance that disappears when it is smaller than a pixel or so, and shrinks before it does.
pub const INSTANCE_FADES: u32 = 2;
/// An instance that is not drawn in the main pass.
pub const INSTANCE_HIDDEN: u32 = 4;

gpu_struct! {
    /// One primitive: a piece of geometry with one material. `GPUScene.PrimitiveData` is an array of these.
    pub struct PrimitiveData {
        /// Centre of the box around it, object space, metres.
        pub bounds_centre: [f32; 3],
        /// A [`PrimitiveKind`].
        pub kind: u32,
        /// Half the box's extent, metres.
        pub bounds_extent: [f32; 3],
        /// First 32-bit word of its vertices in `Geometry.Vertices`.
        pub first_vertex_word: u32,
        /// First of its indices in `Geometry.Indices`.
        pub first_index: u32,
        /// Number of its indices.
        pub index_count: u32,
        /// Terrain: distance at which it begins to morph, metres.
        pub morph_start: f32,
        /// Terrain: distance at which it is its parent's grid, metres.
        pub morph_end: f32,
        /// Linear base colour (meshes).
        pub colour: [f32; 3],
        /// Terrain: side of a cell, metres. Meshes: roughness 0 to 1.
        pub parameter: f32,
    }

    /// One instance of a primitive. `GPUScene.InstanceSceneData` is an array of these.
    pub struct InstanceSceneData {
        /// Rows of the object-to-world matrix; the fourth column is the place in the world, metres.
        pub transform: [[f32; 4]; 3],
        /// Index of its primitive.
        pub primitive: u32,
        /// `INSTANCE_*` flags; 0 is a free slot.
        pub flags: u32,
        /// To 64 bytes.
        pub padding: [u32; 2],
    }

    /// What varies between instances of one primitive. `GPUScene.InstancePayloadData` is an array of these, at
    /// the same index as the instance.
    pub struct InstancePayload {
        /// Multiplies the base colour.
        pub tint: [f32; 3],
        /// 0 to 1, different for each instance.
        pub random: f32,
    }
}
