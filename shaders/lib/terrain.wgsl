// A terrain as shaders read it: engine/src/scene/terrain/textures.rs. The formulas are those of the CPU twins,
// scene/terrain/surface and scene/terrain/detail.

struct TerrainLayer {
    period: f32,
    gain: f32,
    rotation: vec2<f32>,
    offset: vec2<f32>,
    padding: vec2<f32>,
}

// One layer of material; see engine/src/scene/terrain/materials/table.rs.
struct MaterialLayer {
    tint: vec3<f32>,
    near_period: f32,
    near_turn: vec2<f32>,
    far_turn: vec2<f32>,
    far_period: f32,
    far_strength: f32,
    bump: f32,
    displacement: f32,
    roughness: f32,
    specular: f32,
    far_least: f32,
    padding: f32,
}

struct TerrainConstants {
    half_extent: vec2<f32>,
    pixel_size: vec2<f32>,
    map_size: vec2<f32>,
    height_range: vec2<f32>,
    // Amplitude on flat and on steep ground, as a share of a layer's period.
    flat_strength: f32,
    steep_strength: f32,
    softness: f32,
    detail_levels: f32,
    layers: array<TerrainLayer, 4>,
    material_count: u32,
    // Side of a cell of the grid of roads and decals, and cells along x and z: none where there are none.
    overlay_cell: f32,
    overlay_side: vec2<u32>,
    materials: array<MaterialLayer, 16>,
}

@group(1) @binding(5) var<storage, read> terrain: TerrainConstants;

// How much the detail grows with steepness: 0 on flats, 1 from 45 degrees on.
fn slope_factor(slope: vec2<f32>) -> f32 {
    let t = clamp((length(slope) - 0.05) / 0.95, 0.0, 1.0);
    return t * t * (3.0 - 2.0 * t);
}

// Texture coordinates of the maps (one texel a sample) for a place in the world.
fn map_uv(p: vec2<f32>) -> vec2<f32> {
    let size = terrain.map_size;
    let place = clamp(p / terrain.pixel_size + (size - 1.0) * 0.5, vec2(0.0), size - 1.0);
    return (place + 0.5) / size;
}
