// The sky, wherever depth is empty: one triangle at infinite distance.
//!include lib/frame.wgsl
//!include lib/atmosphere.wgsl

struct SkyPush {
    frame_index: u32,
}
var<immediate> pc: SkyPush;

struct Varyings {
    @builtin(position) clip: vec4<f32>,
    @location(0) screen: vec2<f32>,
}

@vertex
fn sky_vertex(@builtin(vertex_index) vertex: u32) -> Varyings {
    let corner = vec2(f32((vertex << 1u) & 2u), f32(vertex & 2u)) * 2.0 - 1.0;
    return Varyings(vec4(corner, 0.0, 1.0), corner);
}

fn hash_2d(p: vec2<i32>) -> f32 {
    var h = bitcast<u32>(p.x) * 0x9e3779b9u ^ bitcast<u32>(p.y) * 0x85ebca6bu;
    h ^= h >> 15u;
    h *= 0xc2b2ae35u;
    h ^= h >> 13u;
    return f32(h >> 8u) / 16777216.0;
}

fn value_noise(p: vec2<f32>) -> f32 {
    let low = floor(p);
    let i = vec2<i32>(low);
    let f = p - low;
    let w = f * f * (3.0 - 2.0 * f);
    return mix(
        mix(hash_2d(i), hash_2d(i + vec2(1, 0)), w.x),
        mix(hash_2d(i + vec2(0, 1)), hash_2d(i + vec2(1, 1)), w.x), w.y,
    );
}

// Cirrus: how much of the light behind it a high, thin sheet of ice takes, from 0 to 1. The sheet is a plane
// far above; wind draws its streaks out along one direction.
fn cirrus(d: vec3<f32>) -> f32 {
    let place = d.xz / (d.y + 0.06);
    let along = vec2(0.86 * place.x + 0.51 * place.y, -0.51 * place.x + 0.86 * place.y);
    let bend = value_noise(along * vec2(0.35, 0.8) + 7.0) - 0.5;
    var p = vec2(along.x * 0.55, along.y * 2.1 + 2.4 * bend);
    let cover = value_noise(along * vec2(0.30, 0.55) + 3.0);
    var sum = 0.0;
    var weight = 0.5;
    for (var i = 0; i < 4; i++) {
        sum += weight * value_noise(p);
        p = p * vec2(1.9, 2.3) + vec2(13.7, 5.1);
        weight *= 0.55;
    }
    let streaks = smoothstep(0.62, 1.12, sum * 0.85 + 0.55 * cover);
    // Near the horizon the sheet is seen edge on and lost in the haze.
    return streaks * smoothstep(0.03, 0.20, d.y);
}

@fragment
fn sky_fragment(in: Varyings) -> @location(0) vec4<f32> {
    let f = &frames[pc.frame_index];
    let d = normalize((*f).view_centre + in.screen.x * (*f).view_right + in.screen.y * (*f).view_down);
    var colour = sky_radiance(d, (*f).sun, (*f).sun_colour, (*f).sky_colour);
    let towards = dot(d, (*f).sun);
    if d.y > 0.0 {
        let lit = mix(vec3(0.86, 0.89, 0.94), vec3(1.7, 1.42, 1.12), max(towards, 0.0) * max(towards, 0.0));
        colour = mix(colour, lit, 0.50 * cirrus(d));
    }
    // The disc: half a degree across.
    colour += (*f).sun_colour * 8.0 * smoothstep(0.99996, 0.99999, towards) * step(0.0, d.y);
    return vec4(colour, 1.0);
}
