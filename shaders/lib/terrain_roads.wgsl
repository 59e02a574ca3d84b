// Roads and decals near a place, and what roads do to the ground's height: the twin of scene/terrain/roads/flatten.rs.
//!include lib/terrain.wgsl

// A segment of a road, or a decal: engine/src/scene/terrain/materials/overlays.rs.
struct OverlayPrimitive {
    // Ends of a segment; centre and half extent of a decal. Metres.
    place: vec2<f32>,
    other: vec2<f32>,
    // Heights of a segment's ends; cosine and sine of a decal's turn.
    pair: vec2<f32>,
    // Of a segment: metres from the road's beginning to its first end.
    along: f32,
    half_width: f32,
    shoulder: f32,
    // Of road, or of decal and OVERLAY_DECAL.
    kind: u32,
    // Number of the road.
    road: u32,
    // What it changes: 1 colour, 2 normal, 4 roughness.
    attributes: u32,
}

const OVERLAY_DECAL: u32 = 256u;

// For each cell where its list begins, one more where the last ends; then lists of primitives, in painting order.
@group(1) @binding(6) var<storage, read> overlay_words: array<u32>;
@group(1) @binding(7) var<storage, read> overlay_primitives: array<OverlayPrimitive>;

// First word of a place's list, and the word after its last. Beyond the map, the list at the edge.
fn overlay_list(p: vec2<f32>) -> vec2<u32> {
    let side = terrain.overlay_side;
    if side.x == 0u {
        return vec2(0u);
    }
    let at = clamp((p + terrain.half_extent) / terrain.overlay_cell, vec2(0.0), vec2<f32>(side - 1u));
    let cell = u32(at.y) * side.x + u32(at.x);
    return vec2(overlay_words[cell], overlay_words[cell + 1u]);
}

// Distance to a segment, and how far along it the nearest place is, from 0 to 1.
fn nearest_on(p: vec2<f32>, start: vec2<f32>, end: vec2<f32>) -> vec2<f32> {
    let along = end - start;
    let out = p - start;
    let t = clamp((along.x * out.x + along.y * out.y) / max(along.x * along.x + along.y * along.y, 1e-6), 0.0, 1.0);
    let off = out - along * t;
    return vec2(sqrt(off.x * off.x + off.y * off.y), t);
}

struct RoadShape {
    // How much of the height is the roads'.
    share: f32,
    height: f32,
    // Slopes of the roads' plane, and of the share.
    slope: vec2<f32>,
    share_slope: vec2<f32>,
}

// What roads make of the ground at a place, for cells so wide.
fn road_shape(p: vec2<f32>, cell: f32) -> RoadShape {
    var shape = RoadShape(0.0, 0.0, vec2(0.0), vec2(0.0));
    var total = 0.0;
    let list = overlay_list(p);
    for (var i = list.x; i < list.y; i++) {
        let segment = overlay_primitives[overlay_words[i]];
        if segment.kind >= OVERLAY_DECAL {
            continue;
        }
        let near = nearest_on(p, segment.place, segment.other);
        let reach = segment.half_width + segment.shoulder;
        if near.x >= reach {
            continue;
        }
        let carried = 1.0 - smoothstep(0.35 * reach, 1.2 * reach, cell);
        let share = carried * (1.0 - smoothstep(segment.half_width, reach, near.x));
        let along = segment.other - segment.place;
        if share > shape.share {
            shape.share = share;
            let t = clamp((near.x - segment.half_width) / segment.shoulder, 0.0, 1.0);
            let off = p - segment.place - along * near.y;
            shape.share_slope = off * (-carried * 6.0 * t * (1.0 - t) / (segment.shoulder * max(near.x, 1e-3)));
        }
        let window = 1.0 - near.x * near.x / (reach * reach);
        let close = 1.0 / (near.x * near.x + 1.0);
        let weight = window * window * close * close;
        shape.height += weight * (segment.pair.x + (segment.pair.y - segment.pair.x) * near.y);
        shape.slope += weight * along * ((segment.pair.y - segment.pair.x) / max(dot(along, along), 1e-6));
        total += weight;
    }
    if total <= 0.0 {
        return RoadShape(0.0, 0.0, vec2(0.0), vec2(0.0));
    }
    shape.height /= total;
    shape.slope /= total;
    return shape;
}
