// The base pass: every primitive that is not culled, lit by the sun and the sky, into linear light.
//!include lib/frame.wgsl
//!include lib/scene.wgsl
//!include lib/terrain.wgsl
//!include lib/atmosphere.wgsl
//!include lib/ground.wgsl
//!include lib/terrain_overlays.wgsl

struct BasePush {
    frame_index: u32,
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

fn octahedral(packed: u32) -> vec3<f32> {
    let p = unpack2x16snorm(packed);
    let y = 1.0 - abs(p.x) - abs(p.y);
    let fold = select(vec2(-1.0), vec2(1.0), p >= vec2(0.0)) * (1.0 - abs(p.yx));
    let xz = select(fold, p, y >= 0.0);
    return normalize(vec3(xz.x, y, xz.y));
}

@vertex
fn base_vertex(@builtin(vertex_index) vertex: u32, @builtin(instance_index) instance_index: u32) -> Varyings {
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
    out.clip = (*f).view_projection * vec4(out.relative, 1.0);
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

@fragment
fn base_fragment(in: Varyings) -> @location(0) vec4<f32> {
    return vec4(shaded(in, 1.0), 1.0);
}

@fragment
fn base_fragment_occluded(in: Varyings) -> @location(0) vec4<f32> {
    let distance = frames[pc.frame_index].near / max(in.clip.z, 1e-9);
    return vec4(shaded(in, ambient_visibility(in.clip.xy, distance)), 1.0);
}

// Linear light of a pixel that `occlusion` leaves so much of its ambient light.
fn shaded(in: Varyings, occlusion: f32) -> vec3<f32> {
    let f = &frames[pc.frame_index];
    let instance = instances[in.instance];
    let kind = primitives[instance.primitive].kind;
    let world = in.relative + (*f).camera;
    // Derivatives outside of branches; below, textures are sampled with explicit gradients.
    var dx = dpdx(in.relative) * (*f).footprint;
    var dy = dpdy(in.relative) * (*f).footprint;
    if (*f).anisotropic == 0u {
        // A sampler with one width for all directions blurs ground seen at a grazing angle: meet it half-way.
        let a = length(dx);
        let b = length(dy);
        let narrower = max(sqrt(min(a, b) / max(max(a, b), 1e-9)), 0.3);
        dx *= select(1.0, narrower, a > b);
        dy *= select(narrower, 1.0, a > b);
    }
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
    if kind == KIND_TERRAIN_CHUNK {
        var surface = terrain_material(world.xz, dx.xz, dy.xz);
        terrain_overlays(world.xz, dx.xz, dy.xz, &surface);
        normal = surface.normal;
        albedo = surface.base_colour;
        sky_visibility *= surface.occlusion;
        sun_visibility *= turned_to_sun(world, dx, dy, sun) * min(surface.occlusion, 1.0);
        glint = sun_glint(normal, normalize(in.relative), sun, surface.roughness, surface.specular);
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
    light = light * through + haze_radiance(view, sun, sun_colour) * (1.0 - through);
    return light;
}
