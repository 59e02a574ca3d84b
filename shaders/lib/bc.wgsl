// Block compression: 16 texels into a BC4 half (one channel) or a BC1 half (colour). BC3 and BC5 are two halves.
//
// All in integers of 32 bits, so that every device says the same, and so does the CPU: each function here is the twin of
// one in engine/src/vt/compress/twin, where the method is told. A change belongs in both.

// One channel of a block: four rows of four texels, 0..=255.
struct BcRows {
    a: vec4<i32>,
    b: vec4<i32>,
    c: vec4<i32>,
    d: vec4<i32>,
}

// Four channels of a block.
struct BcPixels {
    r: BcRows,
    g: BcRows,
    b: BcRows,
    a: BcRows,
}

fn bc_constant(value: i32) -> BcRows {
    let row = vec4(value);
    return BcRows(row, row, row, row);
}

fn bc_across(v: vec4<i32>) -> i32 {
    return v.x + v.y + v.z + v.w;
}

fn bc_sum(v: BcRows) -> i32 {
    return bc_across(v.a + v.b + v.c + v.d);
}

fn bc_dot(v: BcRows, w: BcRows) -> i32 {
    return bc_across(v.a * w.a + v.b * w.b + v.c * w.c + v.d * w.d);
}

fn bc_scaled(v: BcRows, by: i32) -> BcRows {
    return BcRows(v.a * by, v.b * by, v.c * by, v.d * by);
}

fn bc_min(v: BcRows) -> i32 {
    let m = min(min(v.a, v.b), min(v.c, v.d));
    return min(min(m.x, m.y), min(m.z, m.w));
}

fn bc_max(v: BcRows) -> i32 {
    let m = max(max(v.a, v.b), max(v.c, v.d));
    return max(max(m.x, m.y), max(m.z, m.w));
}

fn bc_ones(v: vec4<bool>) -> vec4<i32> {
    return select(vec4(0), vec4(1), v);
}

// ---- one channel ---------------------------------------------------------------------------------------------------

struct BcScalarFit {
    first: i32,
    last: i32,
    // Squared error times steps squared.
    error: i32,
    indices: BcRows,
}

// A row's index and squared error.
struct BcScalarRow {
    index: vec4<i32>,
    error: vec4<i32>,
}

fn bc_scalar_row(x: vec4<i32>, steps: i32, first: i32, last: i32) -> BcScalarRow {
    let range = last - first;
    let at = 2 * steps * (x - vec4(first));
    var k = bc_ones(at > vec4(range)) + bc_ones(at > vec4(3 * range)) + bc_ones(at > vec4(5 * range))
        + bc_ones(at > vec4(7 * range)) + bc_ones(at > vec4(9 * range));
    if steps == 7 {
        k += bc_ones(at > vec4(11 * range)) + bc_ones(at > vec4(13 * range));
    }
    let off = (vec4(steps) - k) * first + k * last - steps * x;
    var least = off * off;
    if steps == 5 {
        let dark = 25 * x * x;
        k = select(k, vec4(6), dark < least);
        least = min(least, dark);
        let y = vec4(255) - x;
        let light = 25 * y * y;
        k = select(k, vec4(7), light < least);
        least = min(least, light);
    }
    return BcScalarRow(k, least);
}

fn bc_scalar_nearest(t: BcRows, steps: i32, first: i32, last: i32) -> BcScalarFit {
    let a = bc_scalar_row(t.a, steps, first, last);
    let b = bc_scalar_row(t.b, steps, first, last);
    let c = bc_scalar_row(t.c, steps, first, last);
    let d = bc_scalar_row(t.d, steps, first, last);
    let error = bc_across(a.error + b.error + c.error + d.error);
    return BcScalarFit(first, last, error, BcRows(a.index, b.index, c.index, d.index));
}

// The best endpoints near the solution of least squares; x >= y where it has none.
fn bc_scalar_ends(t: BcRows, steps: i32, indices: BcRows) -> vec2<i32> {
    let most = vec4(steps);
    let on = BcRows(
        bc_ones(indices.a <= most), bc_ones(indices.b <= most), bc_ones(indices.c <= most), bc_ones(indices.d <= most),
    );
    let k = BcRows(indices.a * on.a, indices.b * on.b, indices.c * on.c, indices.d * on.d);
    let n = bc_sum(on);
    let n1 = bc_sum(k);
    let n2 = bc_dot(k, k);
    let aa = n * steps * steps - 2 * steps * n1 + n2;
    let ab = steps * n1 - n2;
    let bb = n2;
    let q = steps * bc_dot(k, t);
    let p = steps * steps * bc_dot(on, t) - q;
    let det = aa * bb - ab * ab;
    if det == 0 {
        return vec2(0, 0);
    }
    let near_first = (2 * clamp(bb * p - ab * q, 0, 255 * det) + det) / (2 * det);
    let near_last = (2 * clamp(aa * q - ab * p, 0, 255 * det) + det) / (2 * det);
    var ends = vec2(near_first, near_last);
    var least = 0x7fffffff;
    for (var step = 0; step < 9; step++) {
        let a = clamp(near_first + step / 3 - 1, 0, 255);
        let b = clamp(near_last + step % 3 - 1, 0, 255);
        let error = aa * a * a + 2 * ab * a * b + bb * b * b - 2 * (p * a + q * b);
        if a < b && error < least {
            least = error;
            ends = vec2(a, b);
        }
    }
    return ends;
}

fn bc_scalar_best(t: BcRows, steps: i32, low: i32, high: i32) -> BcScalarFit {
    let start = bc_scalar_nearest(t, steps, low, high);
    let ends = bc_scalar_ends(t, steps, start.indices);
    if ends.x >= ends.y {
        return start;
    }
    let fitted = bc_scalar_nearest(t, steps, ends.x, ends.y);
    if fitted.error < start.error {
        return fitted;
    }
    return start;
}

// Along the line from the smaller end: 0 is the second endpoint, 7 the first.
fn bc_eight_codes(k: vec4<i32>) -> vec4<u32> {
    return vec4<u32>(select(select(vec4(8) - k, vec4(1), k == vec4(0)), vec4(0), k == vec4(7)));
}

// Along the line from the smaller end: 0 is the first endpoint, 5 the second; 6 and 7 are what they are.
fn bc_six_codes(k: vec4<i32>) -> vec4<u32> {
    let inner = select(k + 1, vec4(1), k == vec4(5));
    return vec4<u32>(select(select(inner, k, k > vec4(5)), vec4(0), k == vec4(0)));
}

fn bc_or(v: vec4<u32>) -> u32 {
    return v.x | v.y | v.z | v.w;
}

fn bc_scalar_pack(first: i32, last: i32, a: vec4<u32>, b: vec4<u32>, c: vec4<u32>, d: vec4<u32>) -> vec2<u32> {
    let low = bc_or((a << vec4(0u, 3u, 6u, 9u)) | (b << vec4(12u, 15u, 18u, 21u)));
    let high = bc_or((c << vec4(0u, 3u, 6u, 9u)) | (d << vec4(12u, 15u, 18u, 21u)));
    return vec2(u32(first) | (u32(last) << 8u) | (low << 16u), (low >> 16u) | (high << 8u));
}

fn bc_eight_pack(first: i32, last: i32, k: BcRows) -> vec2<u32> {
    return bc_scalar_pack(
        last, first, bc_eight_codes(k.a), bc_eight_codes(k.b), bc_eight_codes(k.c), bc_eight_codes(k.d),
    );
}

// One channel as 8 bytes: BC4, a half of BC5, the first half of BC3.
fn bc_scalar(t: BcRows) -> vec2<u32> {
    let low = bc_min(t);
    let high = bc_max(t);
    if high - low <= 7 {
        let first = min(low, 248);
        let start = vec4(first);
        return bc_eight_pack(first, first + 7, BcRows(t.a - start, t.b - start, t.c - start, t.d - start));
    }
    let eight = bc_scalar_best(t, 7, low, high);
    if eight.error > 0 && (low == 0 || high == 255) {
        let white = vec4(255);
        let black = vec4(0);
        let inner_low = bc_min(BcRows(
            select(white, t.a, t.a > black), select(white, t.b, t.b > black),
            select(white, t.c, t.c > black), select(white, t.d, t.d > black),
        ));
        let inner_high = bc_max(BcRows(
            select(black, t.a, t.a < white), select(black, t.b, t.b < white),
            select(black, t.c, t.c < white), select(black, t.d, t.d < white),
        ));
        if inner_low < inner_high {
            let six = bc_scalar_best(t, 5, inner_low, inner_high);
            if six.error * 49 < eight.error * 25 {
                let k = six.indices;
                return bc_scalar_pack(
                    six.first, six.last, bc_six_codes(k.a), bc_six_codes(k.b), bc_six_codes(k.c), bc_six_codes(k.d),
                );
            }
        }
    }
    return bc_eight_pack(eight.first, eight.last, eight.indices);
}

// ---- colour --------------------------------------------------------------------------------------------------------

struct BcColour {
    r: BcRows,
    g: BcRows,
    b: BcRows,
}

// Levels of 5, 6 and 5 bits.
struct BcEnds {
    first: vec3<i32>,
    last: vec3<i32>,
}

struct BcSums {
    aa: i32,
    ab: i32,
    bb: i32,
    p: vec3<i32>,
    q: vec3<i32>,
}

struct BcColourFit {
    error: i32,
    sums: BcSums,
    indices: BcRows,
}

const BC_TOP: vec3<i32> = vec3<i32>(31, 63, 31);
const BC_CHROMA: i32 = 5;

fn bc_expand(level: vec3<i32>) -> vec3<i32> {
    return (level << vec3(3u, 2u, 3u)) | (level >> vec3(2u, 4u, 2u));
}

fn bc_form(s: BcSums, a: vec3<i32>, b: vec3<i32>) -> vec3<i32> {
    return s.aa * a * a + 2 * s.ab * a * b + s.bb * b * b;
}

fn bc_errors(s: BcSums, a: vec3<i32>, b: vec3<i32>) -> vec3<i32> {
    return bc_form(s, a, b) - 2 * (s.p * a + s.q * b);
}

fn bc_total(t: BcColour) -> vec3<i32> {
    return vec3(bc_sum(t.r), bc_sum(t.g), bc_sum(t.b));
}

fn bc_sums(t: BcColour, k: BcRows) -> BcSums {
    let n1 = bc_sum(k);
    let n2 = bc_dot(k, k);
    let q = 3 * vec3(bc_dot(k, t.r), bc_dot(k, t.g), bc_dot(k, t.b));
    return BcSums(144 - 6 * n1 + n2, 3 * n1 - n2, n2, 9 * bc_total(t) - q, q);
}

// How many of 1, 3 and 5 times `unit` are below `at`.
fn bc_steps(at: vec4<i32>, unit: i32) -> vec4<i32> {
    return bc_ones(at > vec4(unit)) + bc_ones(at > vec4(3 * unit)) + bc_ones(at > vec4(5 * unit));
}

fn bc_colour_row(r: vec4<i32>, g: vec4<i32>, b: vec4<i32>, a: vec3<i32>, d: vec3<i32>, length: i32) -> vec4<i32> {
    return bc_steps(6 * ((r - vec4(a.x)) * d.x + (g - vec4(a.y)) * d.y + (b - vec4(a.z)) * d.z), length);
}

fn bc_colour_nearest(t: BcColour, ends: BcEnds, scale: vec3<i32>, chroma: i32) -> BcColourFit {
    let a = bc_expand(ends.first);
    let b = bc_expand(ends.last);
    let weight = scale * scale;
    let d = (b - a) * weight;
    let along = (b - a) * d;
    let length = along.x + along.y + along.z;
    let k = BcRows(
        bc_colour_row(t.r.a, t.g.a, t.b.a, a, d, length),
        bc_colour_row(t.r.b, t.g.b, t.b.b, a, d, length),
        bc_colour_row(t.r.c, t.g.c, t.b.c, a, d, length),
        bc_colour_row(t.r.d, t.g.d, t.b.d, a, d, length),
    );
    let sums = bc_sums(t, k);
    let squares = weight * bc_errors(sums, a, b);
    let grey = bc_form(sums, vec3(a.x - a.y), vec3(b.x - b.y)).x;
    return BcColourFit(4 * (squares.x + squares.y + squares.z) + chroma * grey, sums, k);
}

// The best levels near the solution of least squares, whose determinant is not zero.
fn bc_colour_ends(s: BcSums, det: i32) -> BcEnds {
    let most = vec3(255 * det);
    let near_first = (clamp(s.bb * s.p - s.ab * s.q, vec3(0), most) * 2 * BC_TOP + most) / (2 * most);
    let near_last = (clamp(s.aa * s.q - s.ab * s.p, vec3(0), most) * 2 * BC_TOP + most) / (2 * most);
    var ends = BcEnds(vec3(0), vec3(0));
    var least = vec3(0x7fffffff);
    for (var step = 0; step < 9; step++) {
        let a = clamp(near_first + step / 3 - 1, vec3(0), BC_TOP);
        let b = clamp(near_last + step % 3 - 1, vec3(0), BC_TOP);
        let error = bc_errors(s, bc_expand(a), bc_expand(b));
        let better = error < least;
        least = select(least, error, better);
        ends.first = select(ends.first, a, better);
        ends.last = select(ends.last, b, better);
    }
    return ends;
}

struct BcMatrix {
    // xx, yy, zz
    main: vec3<i32>,
    // xy, xz, yz
    side: vec3<i32>,
}

// Shifts all down until the largest magnitude is below 2^14.
fn bc_reduce(m: BcMatrix) -> BcMatrix {
    let most = max(abs(m.main), abs(m.side));
    let top = u32(max(most.x, max(most.y, most.z))) | 1u;
    let shift = vec3(u32(max(i32(firstLeadingBit(top)) - 13, 0)));
    return BcMatrix(m.main >> shift, m.side >> shift);
}

fn bc_axis(t: BcColour) -> vec3<i32> {
    let s = bc_total(t);
    let rr = 16 * bc_dot(t.r, t.r) - s.x * s.x;
    let gg = 16 * bc_dot(t.g, t.g) - s.y * s.y;
    let bb = 16 * bc_dot(t.b, t.b) - s.z * s.z;
    let rg = 16 * bc_dot(t.r, t.g) - s.x * s.y;
    let rb = 16 * bc_dot(t.r, t.b) - s.x * s.z;
    let gb = 16 * bc_dot(t.g, t.b) - s.y * s.z;
    var m = bc_reduce(BcMatrix(vec3(rr, gg, bb), vec3(rg, rb, gb)));
    for (var round = 0; round < 4; round++) {
        let main = m.main;
        let side = m.side;
        let square = side * side;
        m = bc_reduce(BcMatrix(
            main * main + vec3(square.x + square.y, square.x + square.z, square.y + square.z),
            side * (main.xxy + main.yzz) + side.yxx * side.zzy,
        ));
    }
    if m.main.x >= m.main.y && m.main.x >= m.main.z {
        return vec3(m.main.x, m.side.x, m.side.y);
    }
    if m.main.y >= m.main.z {
        return vec3(m.side.x, m.main.y, m.side.z);
    }
    return vec3(m.side.y, m.side.z, m.main.z);
}

fn bc_first_indices(t: BcColour, scale: vec3<i32>) -> BcRows {
    let s = BcColour(bc_scaled(t.r, scale.x), bc_scaled(t.g, scale.y), bc_scaled(t.b, scale.z));
    let axis = bc_axis(s);
    let along = BcRows(
        s.r.a * axis.x + s.g.a * axis.y + s.b.a * axis.z,
        s.r.b * axis.x + s.g.b * axis.y + s.b.b * axis.z,
        s.r.c * axis.x + s.g.c * axis.y + s.b.c * axis.z,
        s.r.d * axis.x + s.g.d * axis.y + s.b.d * axis.z,
    );
    let low = bc_min(along);
    let range = bc_max(along) - low;
    return BcRows(
        bc_steps(6 * (along.a - vec4(low)), range), bc_steps(6 * (along.b - vec4(low)), range),
        bc_steps(6 * (along.c - vec4(low)), range), bc_steps(6 * (along.d - vec4(low)), range),
    );
}

// Endpoints of which the colour one third of the way is nearest, and closest together.
fn bc_flat(colour: vec3<i32>) -> BcEnds {
    var ends = BcEnds(vec3(0), vec3(0));
    var least = vec3(0x7fffffff);
    for (var level = 0; level < 64; level++) {
        let first = min(vec3(level), BC_TOP);
        let a = bc_expand(first);
        let last = (clamp(3 * colour - 2 * a, vec3(0), vec3(255)) * BC_TOP + vec3(127)) / vec3(255);
        let b = bc_expand(last);
        let error = 256 * abs(2 * a + b - 3 * colour) + abs(a - b);
        let better = error < least;
        least = select(least, error, better);
        ends.first = select(ends.first, first, better);
        ends.last = select(ends.last, last, better);
    }
    return ends;
}

// Along the line 0, 1, 2, 3; in the block 0, 2, 3, 1.
fn bc_colour_codes(k: vec4<i32>) -> vec4<u32> {
    return vec4<u32>(select(select(k + 1, vec4(1), k == vec4(3)), vec4(0), k == vec4(0)));
}

fn bc_colour_pack(ends: BcEnds, indices: BcRows) -> vec2<u32> {
    let first = u32((ends.first.x << 11u) | (ends.first.y << 5u) | ends.first.z);
    let last = u32((ends.last.x << 11u) | (ends.last.y << 5u) | ends.last.z);
    if first == last {
        return vec2(first | (last << 16u), 0u);
    }
    // The larger word comes first: that is the mode of four colours.
    var k = indices;
    if first < last {
        let three = vec4(3);
        k = BcRows(three - k.a, three - k.b, three - k.c, three - k.d);
    }
    let at = vec4(0u, 2u, 4u, 6u);
    let bits = (bc_colour_codes(k.a) << at) | (bc_colour_codes(k.b) << (at + 8u))
        | (bc_colour_codes(k.c) << (at + 16u)) | (bc_colour_codes(k.d) << (at + 24u));
    return vec2(max(first, last) | (min(first, last) << 16u), bc_or(bits));
}

fn bc_spread(v: BcRows) -> i32 {
    return bc_max(v) - bc_min(v);
}

fn bc_differs(v: BcRows, w: BcRows) -> bool {
    return any((v.a != w.a) | (v.b != w.b) | (v.c != w.c) | (v.d != w.d));
}

// Three channels as 8 bytes: BC1, the second half of BC3. `scale`, 1 or 2, is how much a channel counts.
fn bc_colour(t: BcColour, scale: vec3<i32>) -> vec2<u32> {
    if max(max(bc_spread(t.r), bc_spread(t.g)), bc_spread(t.b)) == 0 {
        return bc_colour_pack(bc_flat(vec3(t.r.a.x, t.g.a.x, t.b.a.x)), bc_constant(1));
    }
    var ends = BcEnds(vec3(0), vec3(0));
    var least = 0x7fffffff;
    var sums = bc_sums(t, bc_first_indices(t, scale));
    for (var round = 0; round < 3; round++) {
        let det = sums.aa * sums.bb - sums.ab * sums.ab;
        if det == 0 {
            break;
        }
        let next_ends = bc_colour_ends(sums, det);
        let next = bc_colour_nearest(t, next_ends, scale, 0);
        if next.error >= least {
            break;
        }
        least = next.error;
        ends = next_ends;
        sums = next.sums;
    }
    if least == 0x7fffffff {
        return bc_colour_pack(bc_flat((bc_total(t) + 8) / vec3(16)), bc_constant(1));
    }
    if !bc_differs(t.r, t.g) && !bc_differs(t.g, t.b) {
        ends = bc_refine_grey(t, ends, scale);
    } else {
        ends = bc_refine(t, ends, least, scale);
    }
    return bc_colour_pack(ends, bc_colour_nearest(t, ends, scale, 0).indices);
}

// Tries each level one lower and one higher, and keeps what is better.
fn bc_refine(t: BcColour, start: BcEnds, start_error: i32, scale: vec3<i32>) -> BcEnds {
    var best = start;
    var least = start_error;
    for (var step = 0; step < 12; step++) {
        let by = select(vec3(0), vec3((step % 2) * 2 - 1), vec3(0, 1, 2) == vec3(step / 4));
        let is_first = step % 4 < 2;
        let ends = BcEnds(
            clamp(best.first + select(vec3(0), by, is_first), vec3(0), BC_TOP),
            clamp(best.last + select(by, vec3(0), is_first), vec3(0), BC_TOP),
        );
        let error = bc_colour_nearest(t, ends, scale, 0).error;
        if error < least {
            least = error;
            best = ends;
        }
    }
    return best;
}

// For a block of greys: levels of red and blue around those found, each with the green that matches it best and its
// neighbours.
fn bc_refine_grey(t: BcColour, start: BcEnds, scale: vec3<i32>) -> BcEnds {
    var best = start;
    var least = 0x7fffffff;
    for (var step = 0; step < 81; step++) {
        let by = vec4(step, step / 3, step / 9, step / 27) % vec4(3) - 1;
        let level = clamp(vec2(start.first.x, start.last.x) + by.xy, vec2(0), vec2(31));
        let nearest = 2 * level + select(vec2(0), vec2(1), (level >> vec2(2u)) - (level >> vec2(3u)) >= vec2(2));
        let green = clamp(nearest + by.zw, vec2(0), vec2(63));
        let ends = BcEnds(vec3(level.x, green.x, level.x), vec3(level.y, green.y, level.y));
        let error = bc_colour_nearest(t, ends, scale, BC_CHROMA).error;
        if error < least {
            least = error;
            best = ends;
        }
    }
    return best;
}
