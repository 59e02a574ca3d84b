// The base pass: every primitive that is not culled, lit by the sun and the sky, into linear light.
//!include lib/frame.wgsl
//!include lib/scene.wgsl
//!include lib/terrain.wgsl
//!include lib/octahedral.wgsl
//!include lib/atmosphere.wgsl
//!include lib/ground.wgsl
//!include lib/virtual_texture_second.wgsl
//!include lib/virtual_texture_feedback.wgsl
//!include lib/terrain_overlays.wgsl

struct BasePush {
    frame_index: u32,
    // Slots of the ground's virtual textures: surface, height of the world, displacement. See NO_TEXTURE.
    surface_texture: u32,
    height_texture: u32,
    displacement_texture: u32,
    // Metres from the camera where displacement begins to fade, and where it is gone.
    displacement_fade: vec2<f32>,
    // Metres from the camera within which what the finest page cannot show is evaluated here.
    near_reach: f32,
    padding: f32,
    // Page of level 0 in which the camera is, and how far into it: of the surface, and of height and displacement. What lies
    // between the camera and a place is added to it, so that places near it have bits to spare in a world of any size.
    surface_page: vec2<i32>,
    surface_fraction: vec2<f32>,
    second_page: vec2<i32>,
    second_fraction: vec2<f32>,
}
var<immediate> pc: BasePush;

@group(1) @binding(4) var<storage, read> vertices: array<u32>;
// Ambient occlusion, at half the resolution: see ambient_occlusion.wgsl.
@group(1) @binding(13) var occlusion_image: texture_storage_2d<r32uint, read>;

struct Varyings {
    @invariant @builtin(position) clip: vec4<f32>,
    // Relative to the camera, metres: exact where it matters.
    @location(0) relative: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) colour: vec3<f32>,
    @location(3) @interpolate(flat) instance: u32,
}

// Pages between the camera and a place that lies so many metres from it.
fn pages_from_camera(vt: VirtualTexture, relative: vec2<f32>) -> vec2<f32> {
    return relative * vt.tiles / (2.0 * terrain.half_extent);
}

fn surface_place(vt: VirtualTexture, relative: vec2<f32>) -> VtPlace {
    return vt_place_from(vt, pc.surface_page, pc.surface_fraction + pages_from_camera(vt, relative));
}

fn second_place(vt: VirtualTexture, relative: vec2<f32>) -> VtPlace {
    return vt_place_from(vt, pc.second_page, pc.second_fraction + pages_from_camera(vt, relative));
}

// Height that a place gets on top of its vertex's.
fn displaced(relative: vec3<f32>) -> f32 {
    let share = displacement_share(length(relative));
    if pc.displacement_texture == NO_TEXTURE || share <= 0.0 {
        return 0.0;
    }
    let vt = vt_texture(pc.displacement_texture);
    let place = second_place(vt, relative.xz);
    let level = displacement_level(vt, length(relative));
    let request = vt_request_level_at(vt, vt_frame(), place, level, vec2(0u));
    var unheard = vt_no_feedback();
    return share * vt_height(vt, vt_second_sample(vt, request, &unheard).r);
}

@vertex
fn base_vertex_virtual(
    @builtin(vertex_index) vertex: u32, @builtin(instance_index) instance_index: u32,
) -> Varyings {
    var out = placed(vertex, instance_index);
    if is_ground(out) {
        out.relative.y += displaced(out.relative);
    }
    return clipped(out);
}

@vertex
fn base_vertex(@builtin(vertex_index) vertex: u32, @builtin(instance_index) instance_index: u32) -> Varyings {
    return clipped(placed(vertex, instance_index));
}

fn clipped(placed: Varyings) -> Varyings {
    var out = placed;
    out.clip = frames[pc.frame_index].view_projection * vec4(out.relative, 1.0);
    return out;
}

// A vertex in the world, not yet projected.
fn placed(vertex: u32, instance_index: u32) -> Varyings {
    let f = &frames[pc.frame_index];
    let instance = instances[instance_index];
    let primitive = primitives[instance.primitive];
    let camera = (*f).camera;
    var out: Varyings;
    out.instance = instance_index;
    if primitive.kind == KIND_TERRAIN_CHUNK {
        // The twin of LodParams::vertex: both sides of an edge compute the same numbers.
        let limit = terrain.half_extent;
        let side = u32(2.0 * primitive.bounds_extent.x / primitive.parameter + 0.5) + 1u;
        let ij = vec2(vertex % side, vertex / side);
        let corner = vec2(instance.transform[0].w, instance.transform[2].w);
        let p = corner + vec2<f32>(ij) * primitive.parameter;
        let to = p - camera.xz;
        let d = sqrt(to.x * to.x + to.y * to.y + (*f).camera_height * (*f).camera_height);
        let morph = clamp((d - primitive.morph_start) / (primitive.morph_end - primitive.morph_start), 0.0, 1.0);
        let moved = clamp(p - vec2<f32>(ij % 2u) * primitive.parameter * morph, -limit, limit);
        let word = primitive.first_vertex_word + vertex * 2u;
        let height = bitcast<f32>(vertices[word]);
        let parent = bitcast<f32>(vertices[word + 1u]);
        let y = height * (1.0 - morph) + parent * morph;
        out.relative = vec3(moved.x, y, moved.y) - camera;
        out.normal = vec3(0.0, 1.0, 0.0);
        out.colour = vec3(1.0);
    } else {
        let word = primitive.first_vertex_word + vertex * 6u;
        var position = vec3(
            bitcast<f32>(vertices[word]), bitcast<f32>(vertices[word + 1u]),
            bitcast<f32>(vertices[word + 2u]),
        );
        let normal = octahedral(vertices[word + 3u]);
        let rows = instance.transform;
        let place = vec3(rows[0].w, rows[1].w, rows[2].w) - camera;
        if (instance.flags & INSTANCE_FADES) != 0u {
            // Shrinks before culling takes it: nothing pops.
            let size = length(primitive.bounds_extent * length(rows[0].xyz));
            let pixels = size * (*f).pixels_per_metre / max(length(place), 1e-3);
            position *= smoothstep(1.5, 3.2, pixels);
        }
        out.relative = vec3(dot(rows[0].xyz, position), dot(rows[1].xyz, position), dot(rows[2].xyz, position)) + place;
        out.normal = normalize(vec3(dot(rows[0].xyz, normal), dot(rows[1].xyz, normal), dot(rows[2].xyz, normal)));
        out.colour =
            primitive.colour * unpack4x8unorm(vertices[word + 4u]).rgb
            * payloads[instance_index].tint;
    }
    return out;
}

// Share of the ambient light that reaches a pixel: of the four texels around it, those at about its distance.
fn ambient_visibility(position: vec2<f32>, distance: f32) -> f32 {
    // Texel (i, j) is what was seen at pixel (2 i, 2 j).
    let place = (position - 0.5) * 0.5;
    let low = floor(place);
    let part = place - low;
    let last = vec2<i32>(textureDimensions(occlusion_image)) - 1;
    let own = log2(distance);
    var sum = 0.0;
    var total = 0.0;
    for (var i = 0; i < 4; i++) {
        let corner = vec2(i & 1, i >> 1u);
        let texel = clamp(vec2<i32>(low) + corner, vec2(0), last);
        let found = unpack2x16float(textureLoad(occlusion_image, texel).r);
        let near = mix(1.0 - part, part, vec2<f32>(corner));
        let weight = near.x * near.y * max(1.0 - 6.0 * abs(found.y - own), 0.0) + 1e-4;
        sum += weight * found.x;
        total += weight;
    }
    return sum / total;
}

// What a pixel covers of a surface, metres.
struct Pixel {
    world: vec3<f32>,
    // Steps to the neighbouring pixels.
    dx: vec3<f32>,
    dy: vec3<f32>,
}

// Derivatives outside of branches; below, textures are sampled with explicit gradients.
fn pixel_of(in: Varyings) -> Pixel {
    let f = &frames[pc.frame_index];
    var dx = dpdx(in.relative) * (*f).footprint;
    var dy = dpdy(in.relative) * (*f).footprint;
    return Pixel(in.relative + (*f).camera, dx, dy);
}

// A sampler with one width for all directions blurs ground seen at a grazing angle along one of them, or flickers along the
// other: meet half-way. Both axes get the mean width, which what is evaluated fades by too.
fn met_half_way(pixel: Pixel) -> Pixel {
    let a = length(pixel.dx.xz);
    let b = length(pixel.dy.xz);
    let mean = max(sqrt(a * b), 0.3 * max(a, b));
    return Pixel(pixel.world, pixel.dx * (mean / max(a, 1e-9)), pixel.dy * (mean / max(b, 1e-9)));
}

fn narrowed(pixel: Pixel) -> Pixel {
    if frames[pc.frame_index].anisotropic != 0u {
        return pixel;
    }
    return met_half_way(pixel);
}

fn is_ground(in: Varyings) -> bool {
    return primitives[instances[in.instance].primitive].kind == KIND_TERRAIN_CHUNK;
}

// The ground's materials, evaluated here and now.
fn direct_ground(pixel: Pixel) -> TerrainMaterial {
    var surface = terrain_material(pixel.world.xz, pixel.dx.xz, pixel.dy.xz);
    terrain_overlays(pixel.world.xz, pixel.dx.xz, pixel.dy.xz, &surface);
    return surface;
}

// There is no such texture.
const NO_TEXTURE: u32 = 0xffffffffu;
// The mask of the ground is its occlusion, as a share of this: see vt/page_terrain.wgsl.
const MOST_OCCLUSION: f32 = 1.12;
// Levels where the materials themselves begin to be evaluated, and where nothing else is: below 0 the texture has nothing
// finer.
const NEAR_BEGIN: f32 = 0.2;
const NEAR_END: f32 = -0.5;
// How far up a stone the ground lies, as a share of a metre.
const COVER: f32 = 0.45;

// Place and steps of a pixel in textures that cover the whole map.
struct MapPixel {
    // Metres from the camera.
    relative: vec2<f32>,
    // Of uv.
    dx: vec2<f32>,
    dy: vec2<f32>,
    at: vec2<u32>,
}

fn map_pixel(relative: vec3<f32>, pixel: Pixel, position: vec4<f32>) -> MapPixel {
    let size = 2.0 * terrain.half_extent;
    return MapPixel(relative.xz, pixel.dx.xz / size, pixel.dy.xz / size, vec2<u32>(position.xy));
}

// The ground's surface as its virtual texture has it.
fn virtual_ground(map: MapPixel, feedback: ptr<function, VtFeedback>) -> TerrainMaterial {
    let vt = vt_texture(pc.surface_texture);
    let place = surface_place(vt, map.relative);
    let request = vt_request_at(vt, vt_frame(), place, map.dx, map.dy, 0.0, map.at);
    let sample = vt_sample_layers(vt, request, 3u, feedback);
    let s = vt_surface(VT_KIND_BASE_COLOR_NORMAL_SPECULAR_MASK_YCOCG, sample.layers);
    let colour = vt_shown(vt, sample.page, s.base_colour);
    return TerrainMaterial(colour, s.normal, s.roughness, s.specular, s.mask.x * MOST_OCCLUSION, 0.0);
}

// The level at which vertices at a distance read displacement: neighbours of different chunks read the same.
fn displacement_level(vt: VirtualTexture, distance: f32) -> f32 {
    let texel = 2.0 * terrain.half_extent.x / (vt.tiles.x * vt.tile);
    return log2(max(distance * 0.012 / texel, 1.0));
}

// How much of it a vertex at a distance has.
fn displacement_share(distance: f32) -> f32 {
    return 1.0 - smoothstep(pc.displacement_fade.x, pc.displacement_fade.y, distance);
}

// The pixel says for the vertices around it which displacement they read.
fn ask_for_displacement(in: Varyings, map: MapPixel, feedback: ptr<function, VtFeedback>) {
    let distance = length(in.relative);
    if pc.displacement_texture == NO_TEXTURE || displacement_share(distance) <= 0.0 {
        return;
    }
    let vt = vt_texture(pc.displacement_texture);
    let place = second_place(vt, map.relative);
    let request = vt_request_level_at(vt, vt_frame(), place, displacement_level(vt, distance), map.at);
    vt_ask(vt, request, feedback);
}

// Earth and grass that lie on the foot of what stands on the ground, by the ground's height under it.
fn covered(in: Varyings, pixel: Pixel, map: MapPixel, feedback: ptr<function, VtFeedback>) -> vec3<f32> {
    if pc.height_texture == NO_TEXTURE {
        return in.colour;
    }
    let vt = vt_texture(pc.height_texture);
    let place = second_place(vt, map.relative);
    let request = vt_request_at(vt, vt_frame(), place, map.dx, map.dy, 0.0, map.at);
    let height = vt_height(vt, vt_second_sample(vt, request, feedback).r);
    let share = 1.0 - smoothstep(0.0, COVER, pixel.world.y - height);
    if share <= 0.0 {
        return in.colour;
    }
    return mix(in.colour, virtual_ground(map, feedback).base_colour, 0.85 * share);
}

// Where pages are sampled: as sharp as the materials themselves would be.
fn seen_map_pixel(in: Varyings, whole: Pixel) -> MapPixel {
    if (vt_texture(pc.surface_texture).flags & VT_ANISOTROPIC) == 0u {
        return map_pixel(in.relative, met_half_way(whole), in.clip);
    }
    return map_pixel(in.relative, whole, in.clip);
}

fn virtual_light(in: Varyings, occlusion: f32) -> vec4<f32> {
    let whole = pixel_of(in);
    let map = seen_map_pixel(in, whole);
    var feedback = vt_feedback_of(map.at);
    var ground: TerrainMaterial;
    var shown = in;
    if is_ground(in) {
        ground = virtual_ground(map, &feedback);
        ask_for_displacement(in, map, &feedback);
    } else {
        shown.colour = covered(in, whole, map, &feedback);
    }
    vt_feedback_write(feedback);
    return vec4(shaded(shown, narrowed(whole), ground, occlusion), 1.0);
}

@fragment @early_depth_test(force)
fn base_fragment_virtual(in: Varyings) -> @location(0) vec4<f32> {
    return virtual_light(in, 1.0);
}

@fragment @early_depth_test(force)
fn base_fragment_virtual_occluded(in: Varyings) -> @location(0) vec4<f32> {
    let distance = frames[pc.frame_index].near / max(in.clip.z, 1e-9);
    return virtual_light(in, ambient_visibility(in.clip.xy, distance));
}

// What lies closer than the finest page shows, with its materials evaluated here, over what the virtual texture gave: drawn
// a second time, for near ground only, so that all else does without the materials' code.
fn near_light(in: Varyings, occlusion: f32) -> vec4<f32> {
    let whole = pixel_of(in);
    let map = seen_map_pixel(in, whole);
    let level = vt_footprint_level(vt_texture(pc.surface_texture), map.dx, map.dy);
    let reach = 1.0 - smoothstep(0.8 * pc.near_reach, pc.near_reach, length(in.relative));
    let near = reach * smoothstep(NEAR_BEGIN, NEAR_END, level);
    if near <= 0.0 {
        return vec4(0.0);
    }
    let pixel = narrowed(whole);
    return vec4(near * shaded(in, pixel, direct_ground(pixel), occlusion), near);
}

@fragment
fn base_fragment_near(in: Varyings) -> @location(0) vec4<f32> {
    return near_light(in, 1.0);
}

@fragment
fn base_fragment_near_occluded(in: Varyings) -> @location(0) vec4<f32> {
    let distance = frames[pc.frame_index].near / max(in.clip.z, 1e-9);
    return near_light(in, ambient_visibility(in.clip.xy, distance));
}

@fragment
fn base_fragment(in: Varyings) -> @location(0) vec4<f32> {
    let pixel = narrowed(pixel_of(in));
    var ground: TerrainMaterial;
    if is_ground(in) {
        ground = direct_ground(pixel);
    }
    return vec4(shaded(in, pixel, ground, 1.0), 1.0);
}

@fragment
fn base_fragment_occluded(in: Varyings) -> @location(0) vec4<f32> {
    let distance = frames[pc.frame_index].near / max(in.clip.z, 1e-9);
    let pixel = narrowed(pixel_of(in));
    var ground: TerrainMaterial;
    if is_ground(in) {
        ground = direct_ground(pixel);
    }
    return vec4(shaded(in, pixel, ground, ambient_visibility(in.clip.xy, distance)), 1.0);
}

// The ground with one material everywhere: what everything but its materials costs.
@fragment
fn base_fragment_plain(in: Varyings) -> @location(0) vec4<f32> {
    let pixel = narrowed(pixel_of(in));
    let ground = TerrainMaterial(vec3(0.18), vec3(0.0, 1.0, 0.0), 0.9, 0.3, 1.0, 0.0);
    return vec4(shaded(in, pixel, ground, 1.0), 1.0);
}

// Linear light of a pixel that `occlusion` leaves so much of its ambient light. `surface` counts on the ground.
fn shaded(in: Varyings, pixel: Pixel, surface: TerrainMaterial, occlusion: f32) -> vec3<f32> {
    let f = &frames[pc.frame_index];
    let kind = primitives[instances[in.instance].primitive].kind;
    let world = pixel.world;
    let dx = pixel.dx;
    let dy = pixel.dy;
    let has_terrain = (*f).has_terrain != 0u;
    let sun = (*f).sun;
    let sun_colour = (*f).sun_colour;
    let sky_colour = (*f).sky_colour;
    var normal = normalize(in.normal);
    var albedo = in.colour;
    var sun_visibility = 1.0;
    var sky_visibility = occlusion;
    if has_terrain {
        let light = terrain_light(world, dx, dy);
        sun_visibility = light.x;
        // Slopes that hide the sky give back some of its light.
        sky_visibility *= 1.0 - 0.72 * (1.0 - light.y);
    }
    var glint = 0.0;
    var mirror = 0.0;
    if kind == KIND_TERRAIN_CHUNK {
        normal = surface.normal;
        albedo = surface.base_colour;
        sky_visibility *= surface.occlusion;
        sun_visibility *= turned_to_sun(world, dx, dy, sun) * min(surface.occlusion, 1.0);
        glint = sun_glint(normal, normalize(in.relative), sun, surface.roughness, surface.specular);
        mirror = 1.0 - smoothstep(0.08, 0.35, surface.roughness);
    }
    let facing = max(dot(normal, sun), 0.0);
    var ambient = ambient_light(normal, sun, sun_colour, sky_colour);
    if kind == KIND_MESH && has_terrain {
        sun_visibility *= turned_to_sun(world, dx, dy, sun);
        // What stands on lit ground has its light from below.
        ambient += sun_colour * (0.075 * sun_visibility * (1.0 - 0.7 * normal.y));
    }
    var light = albedo * (sun_colour * facing * sun_visibility + ambient * sky_visibility);
    light += sun_colour * (glint * sun_visibility);
    let view = normalize(in.relative);
    let depth = haze_depth(
        (*f).camera.y - (*f).haze_base, in.relative, (*f).haze_density, (*f).haze_height,
    );
    let through = exp(-depth * HAZE_COLOUR);
    // Water shows the sky: nothing else here is as smooth.
    if mirror > 0.0 {
        let mirrored = reflect(view, normal);
        let grazing = 1.0 - max(dot(normal, -view), 0.0);
        let fresnel = 0.02 + 0.98 * grazing * grazing * grazing * grazing * grazing;
        let sky = sky_radiance(vec3(mirrored.x, abs(mirrored.y), mirrored.z), sun, sun_colour, sky_colour);
        light += mirror * fresnel * sky_visibility * sky;
    }
    light = light * through + haze_radiance(view, sun, sun_colour) * (1.0 - through);
    return light;
}
