// How the ground is lit: what the terrain's light map says of the sun and the sky.
//!include lib/terrain_materials.wgsl

@group(1) @binding(9) var light_map: texture_2d<f32>;

// Sun (x) and sky (y) visibility from the terrain's light map.
fn terrain_light(world: vec3<f32>, dx: vec3<f32>, dy: vec3<f32>) -> vec2<f32> {
    let step = 1.0 / (terrain.pixel_size * terrain.map_size);
    let uv = map_uv(world.xz);
    let m = textureSampleGrad(light_map, trilinear, uv, dx.xz * step, dy.xz * step);
    let shadow = m.x + m.y;
    let penumbra = max(m.z, terrain.softness);
    return vec2(smoothstep(shadow - penumbra, shadow + penumbra, world.y), m.w);
}

// From 0 to 1, whether the ground without its detail is turned to the sun: crests of the detail and stones on the
// far side stay dark.
fn turned_to_sun(world: vec3<f32>, dx: vec3<f32>, dy: vec3<f32>, sun: vec3<f32>) -> f32 {
    let step = 1.0 / (terrain.pixel_size * terrain.map_size);
    let slope = textureSampleGrad(slope_map, trilinear, map_uv(world.xz), dx.xz * step, dy.xz * step).xy;
    return smoothstep(-0.10, 0.10, dot(normalize(vec3(-slope.x, 1.0, -slope.y)), sun));
}

// Light of the sun that a surface throws back towards the eye like a mirror does, for a sun of 1 (Cook and Torrance
// with the distribution of Trowbridge and Reitz, Schlick's reflectance; Karis's approximation of the rest).
fn sun_glint(normal: vec3<f32>, view: vec3<f32>, sun: vec3<f32>, roughness: f32, specular: f32) -> f32 {
    let halfway = normalize(sun - view);
    let facing = max(dot(normal, sun), 0.0);
    let towards = max(dot(normal, -view), 1e-3);
    let upright = max(dot(normal, halfway), 0.0);
    let a = max(roughness * roughness, 0.02);
    let d = upright * upright * (a * a - 1.0) + 1.0;
    let k = (roughness + 1.0) * (roughness + 1.0) * 0.125;
    let seen = 1.0 / ((facing * (1.0 - k) + k) * (towards * (1.0 - k) + k));
    let grazing = 1.0 - max(dot(sun, halfway), 0.0);
    let least = 0.08 * specular;
    let reflectance = least + (1.0 - least) * grazing * grazing * grazing * grazing * grazing * (1.0 - roughness);
    return a * a / (12.566371 * d * d) * seen * reflectance * facing * 3.14159265;
}
