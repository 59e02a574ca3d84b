// Procedural materials of ribbons and decals. Lengths are metres; what is finer than a texel fades.
//!include lib/virtual_texture_page.wgsl

const PAINT_ROAD: u32 = 1u;
const PAINT_TRACKS: u32 = 2u;
const PAINT_CRATER: u32 = 3u;
const PAINT_IMAGE: u32 = 4u;

// Of decals that are painted with one; bound only then.
@group(1) @binding(9) var stamp: texture_2d<f32>;
@group(1) @binding(12) var trilinear: sampler;

// Where a texel lies on a writer.
struct PaintPlace {
    // Along a ribbon from its start; on a decal along its first side from the middle.
    along: f32,
    // From -1 to 1 across a ribbon, or along both sides of a decal.
    unit: vec2<f32>,
    // To the nearest edge; below 0 outside.
    edge: f32,
    // Half the width.
    half_width: f32,
    // Unit vector along in x and z; across is a quarter turn further.
    axis: vec2<f32>,
}

// Share of a line of half width `width` around 0 that a texel at `at` shows.
fn line(at: f32, width: f32) -> f32 {
    let soft = max(pc.texel * 0.5, 1e-4);
    return 1.0 - smoothstep(width - soft, width + soft, abs(at));
}

// What a writer shows there, and how much of it. Opacity 0 where it shows nothing.
fn paint_targets(w: PageWriter, p: PaintPlace) -> VtTargets {
    var colour = w.colour;
    var shown = select(select(0.0, 1.0, p.edge >= 0.0), saturate(p.edge / max(w.feather, 1e-6)), w.feather > 0.0);
    var roughness = w.roughness;
    var slope = vec2(0.0);
    switch w.paint {
        case PAINT_ROAD: {
            // Wheels polish two tracks; the middle line is dashed.
            let track = line(abs(p.unit.y) - 0.45, 0.16);
            colour *= 1.0 - 0.18 * track;
            roughness -= 0.10 * track;
            let dash = line(fract(p.along / w.period) * w.period - 0.5 * w.period, 0.25 * w.period);
            let middle = line(p.unit.y * p.half_width, 0.08) * dash;
            colour = mix(colour, w.second, middle);
            // Water runs off to both sides.
            slope = vec2(0.0, -2.0 * w.relief * p.unit.y / p.half_width);
        }
        case PAINT_TRACKS: {
            let track = line(abs(p.unit.y) - 0.6, 0.25);
            colour = w.second;
            shown *= track;
            slope = vec2(0.0, w.relief * (abs(p.unit.y) - 0.6) * sign(p.unit.y) / p.half_width);
        }
        case PAINT_CRATER: {
            let r = length(p.unit);
            // A basin of height 4 relief (r^4 - r^2), deepest at 0.7; it fades at the edge.
            let inside = saturate(1.0 - r);
            shown *= smoothstep(0.0, 0.15, inside);
            colour = mix(w.second, w.colour, smoothstep(0.0, 0.7, r));
            slope = w.relief * (16.0 * r * r - 8.0) * p.unit / p.half_width * shown;
        }
        case PAINT_IMAGE: {
            // How far a texel reaches along the decal's sides, as shares of them.
            let across = vec2(-p.axis.y, p.axis.x);
            let scale = 0.5 / w.half_size;
            let dx = vec2(dot(pc.step_u, p.axis), dot(pc.step_u, across)) * scale;
            let dy = vec2(dot(pc.step_v, p.axis), dot(pc.step_v, across)) * scale;
            let texel = textureSampleGrad(stamp, trilinear, p.unit * 0.5 + 0.5, dx, dy);
            colour *= texel.rgb;
            shown *= texel.a;
        }
        default: {}
    }
    let world = p.axis * slope.x + vec2(-p.axis.y, p.axis.x) * slope.y;
    let normal = normalize(vec3(-world.x, 1.0, -world.y));
    var height = w.height;
    if pc.kind == VT_KIND_DISPLACEMENT {
        height = w.displacement;
    }
    let surface = VtSurface(colour, roughness, normal, w.specular, w.mask, page_height(height));
    return page_targets(surface, w.opacity * shown);
}
