// What the ground looks like: normal and colour from the map, its slopes, and the detail below its samples.

@group(1) @binding(8) var slope_map: texture_2d<f32>;
@group(1) @binding(9) var light_map: texture_2d<f32>;
@group(1) @binding(10) var detail_texture: texture_2d<f32>;
@group(1) @binding(12) var trilinear: sampler;

struct Ground {
    normal: vec3<f32>,
    albedo: vec3<f32>,
    occlusion: f32,
}

// Sun (x) and sky (y) visibility from the terrain's light map.
fn terrain_light(world: vec3<f32>, dx: vec3<f32>, dy: vec3<f32>) -> vec2<f32> {
    let step = 1.0 / (terrain.pixel_size * terrain.map_size);
    let uv = map_uv(world.xz);
    let m = textureSampleGrad(light_map, trilinear, uv, dx.xz * step, dy.xz * step);
    let shadow = m.x + m.y;
    let penumbra = max(m.z, terrain.softness);
    return vec2(smoothstep(shadow - penumbra, shadow + penumbra, world.y), m.w);
}

fn ground_surface(world: vec3<f32>, dx: vec3<f32>, dy: vec3<f32>) -> Ground {
    let step = 1.0 / (terrain.pixel_size * terrain.map_size);
    let uv = map_uv(world.xz);
    let base = textureSampleGrad(slope_map, trilinear, uv, dx.xz * step, dy.xz * step);
    let steep = slope_factor(base.xy);
    let strength = terrain.flat_strength + (terrain.steep_strength - terrain.flat_strength) * steep;
    var slope = base.xy;
    var relief = 0.0;
    var noise = vec4(0.0);
    for (var i = 0; i < 4; i++) {
        let layer = terrain.layers[i];
        let r = layer.rotation;
        let turn = mat2x2<f32>(vec2(r.x, -r.y), vec2(r.y, r.x));
        let scale = 1.0 / layer.period;
        let place = turn * world.xz * scale + layer.offset;
        let s = textureSampleGrad(
            detail_texture, trilinear, place, turn * dx.xz * scale, turn * dy.xz * scale,
        );
        let k = layer.gain * strength;
        slope += k * vec2(r.x * s.y - r.y * s.z, r.y * s.y + r.x * s.z);
        relief += s.x * layer.gain;
        noise[i] = s.w;
    }
    let normal = normalize(vec3(-slope.x, 1.0, -slope.y));

    // Colours by height and slope, their borders broken up by the detail.
    let height = (world.y - terrain.height_range.x) / max(terrain.height_range.y - terrain.height_range.x, 1.0);
    let steepness = 1.0 - normal.y;
    let broken = 0.10 * noise.x + 0.06 * noise.y + 0.04 * relief;
    let grass = mix(vec3(0.105, 0.115, 0.040), vec3(0.23, 0.185, 0.085), clamp(0.5 + 0.6 * noise.y + height, 0.0, 1.0));
    let earth = mix(vec3(0.22, 0.155, 0.095), vec3(0.165, 0.125, 0.085), clamp(0.5 + noise.z, 0.0, 1.0));
    let rock = mix(vec3(0.21, 0.185, 0.16), vec3(0.135, 0.12, 0.11), clamp(0.5 + 0.7 * noise.w + 0.4 * relief, 0.0, 1.0));
    let snow = vec3(0.82, 0.85, 0.90);
    var albedo = mix(grass, earth, smoothstep(0.35, 0.62, height + broken + 0.8 * steepness));
    albedo = mix(albedo, rock, smoothstep(0.16, 0.30, steepness + broken * 0.6));
    let snow_line = 0.74 + 0.10 * normal.z - broken;
    albedo = mix(albedo, snow, smoothstep(snow_line, snow_line + 0.06, height) * smoothstep(0.42, 0.26, steepness));
    let occlusion = clamp(0.86 + 0.14 * relief + 0.10 * base.z, 0.5, 1.0);
    return Ground(normal, albedo * (0.92 + 0.16 * noise.w), occlusion);
}
