// A level plane to the horizon with a streamed image on it; beyond the image there is open water.
//!include lib/frame.wgsl
//!include lib/atmosphere.wgsl
//!include lib/residency.wgsl

struct GroundPush {
    // The image's north-western corner, metres.
    corner: vec3<f32>,
    frame_index: u32,
    // Width and height of the image: metres, texels, tiles of mip 0.
    size: vec2<f32>,
    texels: vec2<f32>,
    tiles: vec2<f32>,
    // Samples along the longer axis of a footprint at most.
    taps: f32,
    // Added to every wished level.
    bias: f32,
    // Linear colour of the water beyond the image.
    beyond: vec3<f32>,
    // How much of the colour of its resident mip every place shows.
    tint: f32,
}
var<immediate> pc: GroundPush;

// Four triangles around the point straight below the camera, each with two corners infinitely far.
@vertex
fn ground_vertex(@builtin(vertex_index) vertex: u32) -> @invariant @builtin(position) vec4<f32> {
    let f = &frames[pc.frame_index];
    let triangle = vertex / 3u;
    let corner = vertex % 3u;
    if corner == 0u {
        return (*f).view_projection * vec4(0.0, pc.corner.y - (*f).camera.y, 0.0, 1.0);
    }
    let quarter = f32((triangle + corner - 1u) % 4u) * 1.5707963;
    return (*f).view_projection * vec4(cos(quarter), 0.0, sin(quarter), 0.0);
}

// As in engine/src/render/inset.rs.
fn level_colour(level: f32) -> vec3<f32> {
    var colours = array<vec3<f32>, 7>(
        vec3(0.98, 0.89, 0.35), vec3(0.96, 0.55, 0.20), vec3(0.86, 0.24, 0.31), vec3(0.60, 0.16, 0.49),
        vec3(0.33, 0.17, 0.55), vec3(0.17, 0.19, 0.45), vec3(0.10, 0.14, 0.25),
    );
    let low = clamp(floor(level), 0.0, 6.0);
    return mix(colours[u32(low)], colours[u32(min(low + 1.0, 6.0))], clamp(level - low, 0.0, 1.0));
}

@fragment
fn ground_fragment(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
    let f = &frames[pc.frame_index];
    let screen = position.xy / (*f).resolution * 2.0 - 1.0;
    // The pixel's ray, of depth one, and where it meets the plane.
    let ray = (*f).view_centre + screen.x * (*f).view_right + screen.y * (*f).view_down;
    let fall = min(ray.y, -1e-6);
    let depth = (pc.corner.y - (*f).camera.y) / fall;
    let relative = ray * depth;
    // How that moves from pixel to pixel, exactly: no differences between neighbours that break at the horizon.
    let step_x = (*f).view_right * (2.0 * (*f).footprint / (*f).resolution.x);
    let step_y = (*f).view_down * (2.0 * (*f).footprint / (*f).resolution.y);
    let dx = depth * (step_x - ray * (step_x.y / fall));
    let dy = depth * (step_y - ray * (step_y.y / fall));
    let uv = ((*f).camera.xz + relative.xz - pc.corner.xz) / pc.size;

    let residency = Residency(pc.texels, pc.tiles);
    let print = footprint(residency, dx.xz / pc.size, dy.xz / pc.size);
    let wished = wished_lod(print, pc.taps) + pc.bias;
    let clamped = max(max(wished, smooth_resident_lod(residency, uv)), 0.0);
    var albedo = pc.beyond;
    // Further out than the footprint reaches there is nothing of the image.
    let outside = max(max(-uv, uv - 1.0), vec2(0.0));
    if all(outside <= abs(print.axis)) {
        albedo = sample_resident(residency, uv, print, pc.taps, clamped);
    }

    let view = normalize(relative);
    let sun = (*f).sun;
    let sun_colour = (*f).sun_colour;
    let sky_colour = (*f).sky_colour;
    // Relief and its shadows are in the image, as in a photograph: it is lit evenly.
    var light = albedo * (sun_colour * 0.42 + ambient_light(vec3(0.0, 1.0, 0.0), sun, sun_colour, sky_colour));
    // What is bluer than red is water, and shows the sky, the more so the flatter it is seen. Waves that are smaller
    // than a pixel keep it from becoming a mirror.
    let water = smoothstep(0.008, 0.03, albedo.b - albedo.r * 1.3);
    if water > 0.0 {
        let mirrored = normalize(vec3(view.x, 0.12 - view.y, view.z));
        let grazing = 1.0 - clamp(-view.y + 0.08, 0.0, 1.0);
        let fresnel = 0.02 + 0.55 * grazing * grazing * grazing * grazing * grazing;
        light = mix(light, sky_radiance(mirrored, sun, sun_colour, sky_colour), water * fresnel);
    }
    light = mix(light, level_colour(clamped) * 0.9, pc.tint);
    let haze = haze_depth(
        (*f).camera.y - (*f).haze_base, relative, (*f).haze_density, (*f).haze_height,
    );
    let through = exp(-haze * HAZE_COLOUR);
    light = light * through + haze_radiance(view, sun, sun_colour) * (1.0 - through);
    return vec4(light, 1.0);
}
