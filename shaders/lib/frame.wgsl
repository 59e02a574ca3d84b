// What is the same for a whole frame, as in engine/src/render/constants.rs.

struct FrameConstants {
    // From positions relative to the camera to clip space; reversed depth.
    view_projection: mat4x4<f32>,
    // Planes relative to the camera: left, right, bottom, top, near.
    frustum: array<vec4<f32>, 5>,
    camera: vec3<f32>,
    // Camera's height above the ground below it, for the terrain's level of detail.
    camera_height: f32,
    sun: vec3<f32>,
    // Pixels that one metre covers at a distance of one metre.
    pixels_per_metre: f32,
    // View directions of the screen's corners: centre, and the steps to the right and down edge.
    view_centre: vec3<f32>,
    exposure: f32,
    view_right: vec3<f32>,
    time: f32,
    view_down: vec3<f32>,
    frame: u32,
    sun_colour: vec3<f32>,
    haze_density: f32,
    sky_colour: vec3<f32>,
    haze_height: f32,
    // Height from which haze is measured, metres.
    haze_base: f32,
    instance_count: u32,
    // 1 when there is a terrain.
    has_terrain: u32,
    // 1 when the sampler of the terrain's textures is anisotropic.
    anisotropic: u32,
    resolution: vec2<f32>,
    // How far this frame's samples lie off the centres of their pixels, in clip space as a share of w. The view
    // directions above have it in them.
    jitter: vec2<f32>,
    // From positions relative to the camera to the last frame's clip space, without either frame's jitter.
    reprojection: mat4x4<f32>,
    // Distance of the near plane, metres. Over depth it is the distance along the view.
    near: f32,
    // Multiplies the footprint that textures are sampled with: below 1 where several frames make a picture.
    footprint: f32,
    padding_2: vec2<f32>,
}

@group(1) @binding(0) var<storage, read> frames: array<FrameConstants>;
