// Sky and haze of a clear morning, and what they do to light.

// How much haze scatters and takes out, by colour: blue light first.
const HAZE_COLOUR: vec3<f32> = vec3(0.62, 1.0, 1.62);

// From 0, away from the sun, to 1, under it, by azimuth alone.
fn sunward(d: vec3<f32>, sun: vec3<f32>) -> f32 {
    let a = d.xz / max(length(d.xz), 1e-4);
    let b = sun.xz / max(length(sun.xz), 1e-4);
    return 0.5 + 0.5 * dot(a, b);
}

// The sky without the sun's disc, seen from the ground in direction `d`: blue overhead, paler downwards, with a
// narrow band of haze above the horizon that is warm on the sun's side.
fn sky_radiance(d: vec3<f32>, sun: vec3<f32>, sun_colour: vec3<f32>, sky_colour: vec3<f32>) -> vec3<f32> {
    let up = max(d.y, 0.0);
    let towards = max(dot(d, sun), 0.0);
    let side = sunward(d, sun);
    let warm = side * side * side;
    let air = mix(sky_colour * 0.50, vec3(0.27, 0.45, 0.78), exp(-up * 3.4));
    let pale = mix(vec3(0.60, 0.71, 0.86), vec3(1.08, 0.86, 0.62), warm);
    var colour = mix(air, pale, exp(-up * mix(13.0, 7.0, warm)));
    // Light that the haze scatters forward, around the sun.
    let near = towards * towards * towards * towards;
    colour += sun_colour * (0.05 * near * near + 0.10 * pow(towards, 48.0) + 0.35 * pow(towards, 600.0));
    return colour;
}

// The haze's own light in direction `d`: a little below the sky's above the horizon, so that the farthest ridge
// still stands out.
fn haze_radiance(d: vec3<f32>, sun: vec3<f32>, sun_colour: vec3<f32>) -> vec3<f32> {
    let side = sunward(d, sun);
    let warm = side * side * side;
    let towards = max(dot(normalize(vec3(d.x, 0.1, d.z) + vec3(1e-5, 0.0, 0.0)), sun), 0.0);
    let glow = towards * towards * towards * towards;
    return mix(vec3(0.47, 0.585, 0.755), vec3(0.90, 0.735, 0.55), warm) + sun_colour * 0.05 * glow * glow;
}

// Optical depth of haze that thins out exponentially with height, from `from_height` along `ray` (metres).
fn haze_depth(from_height: f32, ray: vec3<f32>, density: f32, scale: f32) -> f32 {
    let distance = length(ray);
    let rise = ray.y / scale;
    // (1 - exp(-x)) / x, which is 1 - x/2 near 0.
    var mean = 1.0 - rise * 0.5;
    if abs(rise) > 1e-3 {
        mean = (1.0 - exp(-rise)) / rise;
    }
    return density * distance * exp(-from_height / scale) * mean;
}

// Light from sky, haze and lit ground on a surface of that normal, out of the sun.
fn ambient_light(normal: vec3<f32>, sun: vec3<f32>, sun_colour: vec3<f32>, sky_colour: vec3<f32>) -> vec3<f32> {
    let upward = 0.5 + 0.5 * normal.y;
    let flat_sun = sun.xz / max(length(sun.xz), 1e-4);
    let side = 0.5 + 0.5 * dot(normal.xz, flat_sun);
    // Overhead blue; the bright sky around the sun; warm light back from the slopes across.
    return sky_colour * (0.20 + 0.62 * upward * upward)
        + sun_colour * (0.018 + 0.110 * side * side + 0.040 * (1.0 - side) * (1.0 - 0.5 * upward));
}
