// The GPU scene's structures, as in engine/src/scene/gpu_scene/types.rs.

const KIND_MESH: u32 = 0u;
const KIND_TERRAIN_CHUNK: u32 = 1u;

const INSTANCE_ALIVE: u32 = 1u;
const INSTANCE_FADES: u32 = 2u;
const INSTANCE_HIDDEN: u32 = 4u;

struct PrimitiveData {
    bounds_centre: vec3<f32>,
    kind: u32,
    bounds_extent: vec3<f32>,
    first_vertex_word: u32,
    first_index: u32,
    index_count: u32,
    morph_start: f32,
    morph_end: f32,
    colour: vec3<f32>,
    // Terrain: side of a cell in metres. Meshes: roughness.
    parameter: f32,
}

struct InstanceSceneData {
    transform: array<vec4<f32>, 3>,
    primitive: u32,
    flags: u32,
    padding: vec2<u32>,
}

struct InstancePayload {
    tint: vec3<f32>,
    random: f32,
}

@group(1) @binding(1) var<storage, read> primitives: array<PrimitiveData>;
@group(1) @binding(2) var<storage, read> instances: array<InstanceSceneData>;
@group(1) @binding(3) var<storage, read> payloads: array<InstancePayload>;
