// Height of the ground as a continuous function of the place: the twin of scene/terrain/surface and scene/terrain/detail.
//
// Who includes this declares two textures: `coefficients` (the spline's, a texel a sample) and `detail_texture`. Texels are
// fetched and mixed by hand: samplers round fractions to 8 bits.
//!include lib/terrain.wgsl
//!include lib/terrain_roads.wgsl

struct TerrainBase {
    height: f32,
    slope: vec2<f32>,
}

// The cubic B-spline over the map.
fn terrain_base(p: vec2<f32>) -> TerrainBase {
    let size = terrain.map_size;
    let place = clamp(p / terrain.pixel_size + (size - 1.0) * 0.5, vec2(0.0), size - 1.0);
    let index = min(floor(place), size - 2.0);
    let f = place - index;
    let f2 = f * f;
    let f3 = f2 * f;
    let g = 1.0 - f;
    let w = array<vec2<f32>, 4>(
        g * g * g / 6.0, (3.0 * f3 - 6.0 * f2 + 4.0) / 6.0, (-3.0 * f3 + 3.0 * f2 + 3.0 * f + 1.0) / 6.0, f3 / 6.0,
    );
    let d = array<vec2<f32>, 4>(
        -0.5 * g * g, 0.5 * (3.0 * f2 - 4.0 * f), 0.5 * (-3.0 * f2 + 2.0 * f + 1.0), 0.5 * f2,
    );
    let first = vec2<i32>(index) - 1;
    let last = vec2<i32>(size) - 1;
    var height = 0.0;
    var slope = vec2(0.0);
    for (var n = 0; n < 4; n++) {
        let row = clamp(first.y + n, 0, last.y);
        var along = 0.0;
        var across = 0.0;
        for (var m = 0; m < 4; m++) {
            let column = clamp(first.x + m, 0, last.x);
            let c = textureLoad(coefficients, vec2(column, row), 0).x;
            along += c * w[m].x;
            across += c * d[m].x;
        }
        height += w[n].y * along;
        slope += vec2(w[n].y * across, d[n].y * along);
    }
    return TerrainBase(height, slope / terrain.pixel_size);
}

fn detail_bilinear(uv: vec2<f32>, level: i32) -> f32 {
    let size = vec2<i32>(textureDimensions(detail_texture, level));
    let place = (uv - floor(uv)) * vec2<f32>(size) - 0.5;
    let low = floor(place);
    let f = place - low;
    let a = (vec2<i32>(low) + size) % size;
    let b = (a + 1) % size;
    let top = mix(textureLoad(detail_texture, a, level).x, textureLoad(detail_texture, vec2(b.x, a.y), level).x, f.x);
    let bottom =
        mix(textureLoad(detail_texture, vec2(a.x, b.y), level).x, textureLoad(detail_texture, b, level).x, f.x);
    return mix(top, bottom, f.y);
}

// The detail that a mesh of such cells can carry.
fn terrain_detail(p: vec2<f32>, steep: f32, cell: f32) -> f32 {
    let strength = terrain.flat_strength + (terrain.steep_strength - terrain.flat_strength) * steep;
    var height = 0.0;
    for (var i = 0; i < 4; i++) {
        let layer = terrain.layers[i];
        let fade = 1.0 - smoothstep(layer.period / 24.0, layer.period / 6.0, cell);
        if fade <= 0.0 {
            continue;
        }
        let size = f32(textureDimensions(detail_texture, 0).x);
        let lod = clamp(log2(max(cell * size / layer.period, 1.0)), 0.0, terrain.detail_levels - 1.0);
        let turned = vec2(
            layer.rotation.x * p.x + layer.rotation.y * p.y, layer.rotation.x * p.y - layer.rotation.y * p.x,
        );
        let uv = turned / layer.period + layer.offset;
        let level = floor(lod);
        let next = min(level + 1.0, terrain.detail_levels - 1.0);
        let fine = detail_bilinear(uv, i32(level));
        let coarse = detail_bilinear(uv, i32(next));
        height += fade * layer.gain * strength * layer.period * mix(fine, coarse, lod - level);
    }
    return height;
}

// Height in metres, flattened by roads, with the detail that a mesh, or texels, of such a size can carry.
fn terrain_height(p: vec2<f32>, cell: f32) -> f32 {
    let ground = terrain_base(p);
    let natural = ground.height + terrain_detail(p, slope_factor(ground.slope), cell);
    let road = road_shape(p, cell);
    return natural + (road.height - natural) * road.share;
}
