// Sky and haze of a clear morning, and what they do to light.

// The sky without the sun's disc, seen from the ground in direction `d`.
fn sky_radiance(d: vec3<f32>, sun: vec3<f32>, sun_colour: vec3<f32>, sky_colour: vec3<f32>) -> vec3<f32> {
    let up = max(d.y, 0.0);
    let towards = max(dot(d, sun), 0.0);
    // From the zenith's blue to the horizon's pale band, warm on the sun's side.
    let horizon = exp(-up * 5.5);
    let low_sun = pow(towards, 3.0);
    let pale = mix(vec3(0.62, 0.74, 0.93), vec3(1.0, 0.80, 0.58), 0.25 + 0.75 * low_sun);
    let blue = sky_colour * (0.55 + 0.45 * exp(-up * 1.6));
    var colour = mix(blue, pale * 0.85, horizon);
    // Light scattered forward by the haze around the sun.
    colour += sun_colour * (0.045 * pow(towards, 12.0) + 0.10 * pow(towards, 90.0)) * (0.35 + 0.65 * horizon);
    return colour;
}

// The haze's own light in direction `d`: the sky just above the horizon there.
fn haze_radiance(d: vec3<f32>, sun: vec3<f32>, sun_colour: vec3<f32>, sky_colour: vec3<f32>) -> vec3<f32> {
    let flat_direction = normalize(vec3(d.x, 0.04, d.z) + vec3(1e-5, 0.0, 0.0));
    return sky_radiance(flat_direction, sun, sun_colour, sky_colour);
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
