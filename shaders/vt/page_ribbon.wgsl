// Ribbons in a page: a piece between two knots an instance. Pieces meet on a line through their knot that halves the bend:
// a texel on one side of it belongs to one piece and on the other to the next, never to both or to none.
//!include lib/page_paints.wgsl
//!include lib/virtual_texture_page_targets.wgsl

struct PageKnot {
    place: vec2<f32>,
    // Unit vector across the line where pieces meet: the mean of their directions.
    forward: vec2<f32>,
    // Length of the ribbon before it, metres.
    along: f32,
    half_width: f32,
    writer: u32,
    padding: u32,
}

@group(1) @binding(1) var<storage, read> knots: array<PageKnot>;

struct Varyings {
    @invariant @builtin(position) clip: vec4<f32>,
    @location(0) @interpolate(flat) knot: u32,
}

@vertex
fn page_vertex(@builtin(vertex_index) vertex: u32, @builtin(instance_index) instance: u32) -> Varyings {
    let a = knots[instance];
    let b = knots[instance + 1u];
    let reach = max(a.half_width, b.half_width);
    let piece = b.place - a.place;
    let distance = length(piece);
    let axis = piece / max(distance, 1e-6);
    let half_size = vec2(0.5 * distance + reach, reach);
    let place = page_corner(0.5 * (a.place + b.place), axis, half_size, vertex, 2.0);
    return Varyings(page_clip(place, 1.0), instance);
}

fn painted(in: Varyings) -> VtTargets {
    let a = knots[in.knot];
    let b = knots[in.knot + 1u];
    let w = writers[a.writer];
    let place = page_place(in.clip);
    let behind = dot(place - a.place, a.forward);
    let ahead = dot(b.place - place, b.forward);
    let axis = normalize(b.place - a.place);
    let t = saturate(behind / max(behind + ahead, 1e-6));
    let half_width = mix(a.half_width, b.half_width, t);
    let across = dot(place - a.place, vec2(-axis.y, axis.x));
    let along = mix(a.along, b.along, t);
    let p = PaintPlace(along, vec2(0.0, across / half_width), half_width - abs(across), half_width, axis);
    let painted = paint_targets(w, p);
    if !(behind >= 0.0 && ahead > 0.0) || painted.target0.a <= 0.0 {
        discard;
    }
    return painted;
}
