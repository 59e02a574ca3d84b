// Makes one material layer of the terrain, a tile that repeats without a seam:
//
//   layer_shapes    height, colour and roughness of each texel, from what lies there: stones, blades, cracks, leaves
//   layer_surfaces  normal and occlusion from the heights around it
//   layer_mips      a mip from the one before: colours, heights and normals averaged; what normals lose in length
//                   is roughness (Olano and Baker, "LEAN Mapping", 2010, without its correlations)
//   layer_packs     all mips to 8 bits a channel, about the layer's own mean
//
// Colours are relative: 1 is the mean of the layer, whose colour is in engine/src/scene/terrain/materials/table.rs.

struct TerrainLayerPush {
    // Which of the kinds it is: the order of the table.
    kind: u32,
    seed: u32,
    // Texels along a side, a power of two.
    size: u32,
    // Mip that is made, and the first texels of it and of the one before.
    level: u32,
    first: u32,
    before: u32,
    // Texels of all mips.
    total: u32,
    // Height of the relief as a share of the tile's side.
    relief: f32,
}
var<immediate> pc: TerrainLayerPush;

// Height, red and green, blue and roughness, how dark a hollow is.
@group(1) @binding(0) var<storage, read_write> shapes: array<vec4<u32>>;
// All mips: red and green, blue and height, normal x and y, roughness squared and occlusion.
@group(1) @binding(1) var<storage, read_write> chain: array<vec4<u32>>;
// As in the textures.
@group(1) @binding(2) var<storage, read_write> colours: array<u32>;
@group(1) @binding(3) var<storage, read_write> forms: array<u32>;

struct Shape {
    height: f32,
    colour: vec3<f32>,
    roughness: f32,
}

fn mixed(value: u32) -> u32 {
    var h = value * 747796405u + 2891336453u;
    h = ((h >> ((h >> 28u) + 4u)) ^ h) * 277803737u;
    return (h >> 22u) ^ h;
}

// Of a cell of a lattice that repeats after `cells`.
fn cell_hash(cell: vec2<i32>, cells: vec2<i32>, seed: u32) -> u32 {
    let wrapped = ((cell % cells) + cells) % cells;
    return mixed(u32(wrapped.x) + mixed(u32(wrapped.y) + mixed(seed)));
}

// From 0 to 1, another for each salt.
fn unit(hash: u32, salt: u32) -> f32 {
    return f32(mixed(hash ^ (salt * 0x9e3779b9u)) >> 8u) / 16777216.0;
}

fn gradient(hash: u32) -> vec2<f32> {
    let angle = f32(hash >> 8u) * (6.2831853 / 16777216.0);
    return vec2(cos(angle), sin(angle));
}

// Gradient noise from about -1 to 1, that repeats with the tile.
fn noise(p: vec2<f32>, cells: vec2<i32>, seed: u32) -> f32 {
    let q = p * vec2<f32>(cells);
    let low = vec2<i32>(floor(q));
    let f = q - floor(q);
    let w = f * f * f * (f * (f * 6.0 - 15.0) + 10.0);
    let a = dot(gradient(cell_hash(low, cells, seed)), f);
    let b = dot(gradient(cell_hash(low + vec2(1, 0), cells, seed)), f - vec2(1.0, 0.0));
    let c = dot(gradient(cell_hash(low + vec2(0, 1), cells, seed)), f - vec2(0.0, 1.0));
    let d = dot(gradient(cell_hash(low + vec2(1, 1), cells, seed)), f - vec2(1.0, 1.0));
    return 1.5 * mix(mix(a, b, w.x), mix(c, d, w.x), w.y);
}

fn fractal(p: vec2<f32>, cells: i32, octaves: i32, seed: u32) -> f32 {
    var sum = 0.0;
    var gain = 0.55;
    var side = cells;
    for (var i = 0; i < octaves; i++) {
        sum += gain * noise(p, vec2(side), seed + u32(i) * 101u);
        gain *= 0.52;
        side *= 2;
    }
    return sum;
}

// From 0 to 1, sharp along lines.
fn ridges(p: vec2<f32>, cells: i32, octaves: i32, seed: u32) -> f32 {
    var sum = 0.0;
    var gain = 0.5;
    var side = cells;
    for (var i = 0; i < octaves; i++) {
        sum += gain * (1.0 - abs(noise(p, vec2(side), seed + u32(i) * 131u)));
        gain *= 0.5;
        side *= 2;
    }
    return sum;
}

struct Cell {
    // Distance to the nearest centre and to the edge towards the next, in cells.
    nearest: f32,
    edge: f32,
    hash: u32,
    // From the centre.
    to: vec2<f32>,
}

fn cells_at(p: vec2<f32>, cells: vec2<i32>, seed: u32) -> Cell {
    let q = p * vec2<f32>(cells);
    let low = vec2<i32>(floor(q));
    var best = 9.0;
    var next = 9.0;
    var found = Cell(0.0, 0.0, 0u, vec2(0.0));
    for (var i = 0; i < 9; i++) {
        let cell = low + vec2(i % 3 - 1, i / 3 - 1);
        let h = cell_hash(cell, cells, seed);
        let to = q - vec2<f32>(cell) - vec2(unit(h, 1u), unit(h, 2u));
        let d = length(to);
        if d < best {
            next = best;
            best = d;
            found.hash = h;
            found.to = to;
        } else if d < next {
            next = d;
        }
    }
    found.nearest = best;
    found.edge = next - best;
    return found;
}

struct Lying {
    // In cells, 0 where there is nothing.
    height: f32,
    hash: u32,
    // From 0 to 1 along what lies there.
    along: f32,
    across: f32,
}

// Cut stones of one size; `round` from pyramids with five sides to pebbles.
fn stones(p: vec2<f32>, cells: i32, share: f32, round: f32, seed: u32) -> Lying {
    let q = p * f32(cells);
    let low = vec2<i32>(floor(q));
    var found = Lying(0.0, 0u, 0.0, 0.0);
    for (var i = 0; i < 9; i++) {
        let cell = low + vec2(i % 3 - 1, i / 3 - 1);
        let h = cell_hash(cell, vec2(cells), seed);
        if unit(h, 1u) > share {
            continue;
        }
        let to = q - vec2<f32>(cell) - vec2(unit(h, 2u), unit(h, 3u));
        let turn = gradient(mixed(h));
        let along = dot(turn, to);
        let drawn = (turn.x * to.y - turn.y * to.x) * (1.0 + 0.8 * unit(h, 4u));
        let radius = 0.26 + 0.24 * unit(h, 5u);
        var out = 0.0;
        for (var side = 0u; side < 6u; side++) {
            let angle = f32(side) * 1.0471976 + 0.6 * unit(h, 20u + side);
            out = max(out, (cos(angle) * along + sin(angle) * drawn) * (0.75 + 0.45 * unit(h, 30u + side)));
        }
        let oval = length(vec2(along, drawn));
        let reach = mix(out, oval, round);
        if reach >= radius {
            continue;
        }
        let cut = min((radius - reach) * 2.2, radius * (0.55 + 0.3 * unit(h, 6u)) + 0.35 * along * (unit(h, 7u) - 0.5));
        let dome = 0.8 * sqrt(max(radius * radius - reach * reach, 0.0));
        let height = mix(cut, dome, round);
        if height > found.height {
            found = Lying(height, h, along / radius, drawn / radius);
        }
    }
    return found;
}

// Blades of grass, needles, twigs: `count` a cell, thin towards the tip, bent.
fn blades(p: vec2<f32>, cells: i32, count: u32, size: vec2<f32>, bend: f32, seed: u32) -> Lying {
    let q = p * f32(cells);
    let low = vec2<i32>(floor(q));
    var found = Lying(0.0, 0u, 0.0, 0.0);
    for (var i = 0; i < 9; i++) {
        let cell = low + vec2(i % 3 - 1, i / 3 - 1);
        let h = cell_hash(cell, vec2(cells), seed);
        for (var k = 0u; k < count; k++) {
            let g = mixed(h + k * 7919u);
            let start = q - vec2<f32>(cell) - vec2(unit(g, 1u), unit(g, 2u));
            let turn = gradient(mixed(g ^ 0x51ed27u));
            let reach = size.x * (0.55 + 0.45 * unit(g, 3u));
            let t = dot(turn, start) / reach;
            if t < 0.0 || t > 1.0 {
                continue;
            }
            let side = turn.x * start.y - turn.y * start.x + bend * reach * (unit(g, 4u) - 0.5) * t * t;
            let width = size.y * (1.0 - 0.85 * t * t) * (0.6 + 0.8 * unit(g, 5u));
            if abs(side) > width {
                continue;
            }
            let fold = 1.0 - 0.5 * abs(side) / width;
            let height = (0.25 + 0.55 * t + 0.35 * unit(g, 6u) - 0.25 * t * t) * fold;
            if height > found.height {
                found = Lying(height, g, t, side / width);
            }
        }
    }
    return found;
}

// Leaves: pointed ovals with a rib, `count` a cell.
fn leaves(p: vec2<f32>, cells: i32, count: u32, seed: u32) -> Lying {
    let q = p * f32(cells);
    let low = vec2<i32>(floor(q));
    var found = Lying(0.0, 0u, 0.0, 0.0);
    for (var i = 0; i < 9; i++) {
        let cell = low + vec2(i % 3 - 1, i / 3 - 1);
        let h = cell_hash(cell, vec2(cells), seed);
        for (var k = 0u; k < count; k++) {
            let g = mixed(h + k * 7919u);
            let start = q - vec2<f32>(cell) - vec2(unit(g, 1u), unit(g, 2u));
            let turn = gradient(mixed(g ^ 0x51ed27u));
            let reach = 0.30 + 0.34 * unit(g, 3u);
            let along = dot(turn, start) / reach;
            let across = (turn.x * start.y - turn.y * start.x) / reach;
            let width = (0.30 + 0.18 * unit(g, 5u)) * (1.0 - along * along) * (1.0 + 0.3 * along);
            if abs(along) > 1.0 || abs(across) > width {
                continue;
            }
            let curl = 0.35 * (unit(g, 6u) - 0.4) * along * along + 0.30 * abs(across);
            let height = 0.35 + 0.5 * unit(g, 7u) + curl;
            if height > found.height {
                found = Lying(height, g, along, across / width);
            }
        }
    }
    return found;
}

fn rock(p: vec2<f32>, s: u32) -> Shape {
    let bent = p + 0.034 * vec2(fractal(p, 5, 5, s + 1u), fractal(p, 5, 5, s + 2u));
    let block = cells_at(bent, vec2(4, 7), s + 3u);
    let slab = cells_at(bent + 0.012 * fractal(p, 17, 3, s + 11u), vec2(7, 15), s + 12u);
    let chip = cells_at(bent + 0.010 * fractal(p, 24, 3, s + 4u), vec2(19, 27), s + 5u);
    let rough = fractal(p, 6, 7, s + 6u);
    // Joints gape in some parts and are closed in others.
    let open = smoothstep(-0.30, 0.45, fractal(p, 3, 4, s + 13u));
    let joint = mix(1.0, smoothstep(0.0, 0.07, block.edge), 0.35 + 0.65 * open);
    let seam = mix(1.0, smoothstep(0.0, 0.09, slab.edge), 0.25 + 0.75 * open);
    let crack = mix(1.0, smoothstep(0.0, 0.14, chip.edge), 0.8 * open);
    // Each piece broke off along a plane of its own.
    let faces = dot(gradient(mixed(block.hash)), block.to) * 0.26 + dot(gradient(mixed(slab.hash)), slab.to) * 0.17
        + dot(gradient(mixed(chip.hash)), chip.to) * 0.07;
    let levels = 0.24 * (unit(block.hash, 8u) - 0.5) + 0.15 * (unit(slab.hash, 8u) - 0.5) + 0.05 * (unit(chip.hash, 8u) - 0.5);
    // Thin beds, seen where they break off.
    let bed = noise(bent, vec2(3, 46), s + 14u) + 0.6 * noise(bent, vec2(5, 91), s + 15u);
    var height = 0.54 + faces + levels + 0.17 * rough + 0.030 * bed;
    height -= 0.20 * (1.0 - joint) + 0.11 * (1.0 - seam) + 0.05 * (1.0 - crack);
    height += 0.05 * (ridges(p, 11, 4, s + 17u) - 0.7);
    var colour = vec3(1.0 + 0.22 * (unit(block.hash, 9u) - 0.5) + 0.24 * (unit(slab.hash, 9u) - 0.5) + 0.16 * (unit(chip.hash, 9u) - 0.5));
    colour *= 1.0 + 0.38 * rough + 0.16 * bed;
    let stain = smoothstep(-0.05, 0.55, fractal(p, 3, 5, s + 7u));
    colour = mix(colour, colour * vec3(1.22, 0.96, 0.74), 0.55 * stain);
    let lichen = smoothstep(0.20, 0.36, fractal(p, 12, 5, s + 8u)) * joint;
    let pale = smoothstep(0.26, 0.38, fractal(p, 19, 4, s + 9u)) * joint;
    colour = mix(colour, vec3(1.02, 1.02, 0.60) * (1.0 + 0.5 * rough), 0.40 * lichen);
    colour = mix(colour, vec3(1.50, 1.53, 1.45), 0.36 * pale);
    colour *= 1.0 + 0.26 * (unit(cell_hash(vec2<i32>(p * 380.0), vec2(380), s), 3u) - 0.5);
    colour *= mix(0.42, 1.0, joint) * mix(0.62, 1.0, seam) * mix(0.78, 1.0, crack);
    return Shape(height, colour, 0.80 + 0.12 * lichen - 0.10 * pale + 0.1 * rough);
}

fn scree(p: vec2<f32>, s: u32) -> Shape {
    let ground = 0.05 + 0.05 * fractal(p, 18, 4, s + 1u);
    var height = ground;
    var colour = vec3(0.60, 0.55, 0.48) * (1.0 + 0.5 * fractal(p, 60, 2, s + 2u));
    var cells = 7;
    for (var i = 0u; i < 5u; i++) {
        let stone = stones(p, cells, 0.50 + 0.10 * f32(i), 0.0, s + 10u + i);
        // Smaller ones lie in the gaps.
        let tall = stone.height * 7.0 / f32(cells) * 1.35 + 0.020 * f32(5u - i) * min(stone.height * 20.0, 1.0);
        if tall > height && stone.height > 0.0 {
            height = tall;
            let shade = 0.72 + 0.62 * unit(stone.hash, 40u);
            let hue = unit(stone.hash, 41u);
            colour = shade * mix(vec3(1.08, 1.0, 0.90), vec3(0.95, 1.0, 1.06), hue);
            if unit(stone.hash, 42u) > 0.86 {
                colour *= vec3(1.16, 0.92, 0.76);
            }
        }
        cells = cells * 7 / 4 + 1;
    }
    colour *= 1.0 + 0.22 * fractal(p, 40, 4, s + 3u);
    let dust = smoothstep(0.0, 0.5, fractal(p, 4, 4, s + 4u));
    colour = mix(colour, vec3(1.10, 1.02, 0.88), 0.22 * dust);
    return Shape(min(height, 1.0), colour, 0.88);
}

fn grass(p: vec2<f32>, s: u32, dry: f32) -> Shape {
    let clump = 0.5 + 0.5 * fractal(p, 5, 4, s + 1u);
    let bare = smoothstep(0.10, 0.42, fractal(p, 7, 4, s + 2u)) * mix(0.25, 0.8, dry);
    let soil = fractal(p, 30, 4, s + 3u);
    var height = 0.10 + 0.08 * soil;
    var colour = mix(vec3(0.62, 0.50, 0.42), vec3(0.85, 0.78, 0.62), dry) * (1.0 + 0.5 * soil);
    let pebble = stones(p, 41, 0.25 * dry + 0.06, 0.6, s + 4u);
    if pebble.height > 0.0 {
        height = max(height, 0.1 + 0.3 * pebble.height);
        colour = mix(vec3(0.9, 0.88, 0.86), vec3(1.3, 1.2, 1.05), unit(pebble.hash, 40u));
    }
    var cells = 10;
    for (var i = 0u; i < 4u; i++) {
        let size = mix(vec2(1.05, 0.040), vec2(1.25, 0.032), dry) * vec2(1.0, 1.0 + 0.5 * f32(i));
        let blade = blades(p, cells, 4u, size, mix(0.7, 1.2, dry), s + 10u + i);
        let tall = blade.height * (0.50 + 0.45 * clump) * (1.0 - 0.10 * f32(i)) * (1.0 - 0.75 * bare) + 0.06;
        if blade.height > 0.0 && tall > height {
            height = tall;
            let own = unit(blade.hash, 40u);
            let green = mix(vec3(0.62, 0.86, 0.42), vec3(1.25, 1.22, 0.78), own);
            let straw = mix(vec3(0.80, 0.74, 0.58), vec3(1.45, 1.36, 1.10), own);
            colour = mix(green, straw, dry);
            // Some of one among the other.
            if unit(blade.hash, 41u) > 0.86 {
                colour = mix(vec3(1.45, 1.25, 0.85), vec3(0.62, 0.80, 0.50), dry);
            }
            // Dark at the root, and the rib's two sides.
            colour *= (0.42 + 0.68 * smoothstep(0.0, 0.75, blade.along)) * (1.0 + 0.16 * sign(blade.across));
        }
        cells = cells * 7 / 4;
    }
    if dry < 0.5 {
        // Broad leaves and flowers between the blades.
        let herb = leaves(p, 24, 1u, s + 30u);
        let tall = 0.18 + 0.42 * herb.height;
        if herb.height > 0.0 && unit(herb.hash, 40u) > 0.55 && tall > height {
            height = tall;
            colour = mix(vec3(0.55, 0.95, 0.50), vec3(0.95, 1.20, 0.75), unit(herb.hash, 41u));
            colour *= 0.75 + 0.35 * smoothstep(0.0, 0.25, abs(herb.across));
        }
        let flower = stones(p, 47, 0.035, 1.0, s + 31u);
        if flower.height > 0.10 {
            height = max(height, 0.75);
            colour = select(vec3(2.3, 2.2, 2.0), vec3(2.2, 1.9, 0.4), unit(flower.hash, 40u) > 0.4);
        }
    }
    colour *= mix(0.80, 1.15, clump);
    return Shape(height, colour, mix(0.72, 0.84, dry));
}

fn snow(p: vec2<f32>, s: u32) -> Shape {
    // Ridges that the wind cut, all one way, and ripples across it.
    let bent = p + 0.045 * vec2(fractal(p, 3, 4, s + 1u), fractal(p, 3, 4, s + 2u));
    let drift = fractal(bent, 3, 3, s + 3u);
    let long = 1.0 - abs(noise(bent, vec2(4, 13), s + 4u) + 0.45 * noise(bent, vec2(9, 29), s + 5u));
    let ripple = noise(bent + 0.02 * drift, vec2(36, 9), s + 6u) * smoothstep(-0.1, 0.4, fractal(p, 4, 3, s + 7u));
    let grain = fractal(p, 90, 3, s + 8u);
    let pits = smoothstep(0.62, 0.95, 1.0 - cells_at(p + 0.004 * drift, vec2(26, 26), s + 9u).nearest);
    let height = 0.40 + 0.22 * drift + 0.26 * (long - 0.6) + 0.06 * ripple + 0.035 * grain - 0.02 * pits;
    let hollow = clamp(0.55 - height, 0.0, 1.0);
    var colour = mix(vec3(1.02, 1.01, 1.0), vec3(0.84, 0.93, 1.06), 1.2 * hollow) * (1.0 + 0.035 * grain);
    // Dust in the hollows.
    let dust = smoothstep(0.15, 0.5, fractal(p, 11, 5, s + 10u)) * smoothstep(0.0, 0.35, hollow);
    colour = mix(colour, vec3(0.80, 0.77, 0.72), 0.30 * dust);
    return Shape(height, colour, 0.56 + 0.12 * grain + 0.14 * hollow);
}

fn mud(p: vec2<f32>, s: u32) -> Shape {
    let wide = fractal(p, 3, 5, s + 1u);
    let bent = p + 0.014 * vec2(fractal(p, 9, 4, s + 2u), fractal(p, 9, 4, s + 3u));
    let plate = cells_at(bent, vec2(10, 10), s + 4u);
    let fine = cells_at(bent, vec2(27, 27), s + 5u);
    // Dry at the heights, where it is torn; wet in the hollows.
    let wet = smoothstep(0.12, -0.20, wide);
    let torn = (1.0 - smoothstep(0.03, 0.13, plate.edge)) * (1.0 - wet);
    let thin = (1.0 - smoothstep(0.0, 0.10, fine.edge)) * (1.0 - wet) * step(0.45, unit(plate.hash, 9u));
    let curl = (1.0 - wet) * smoothstep(0.55, 0.12, plate.edge) * 0.10;
    let lump = fractal(p, 22, 5, s + 6u);
    var height = 0.42 + 0.30 * wide + curl + 0.07 * lump - 0.34 * torn - 0.12 * thin;
    let pool = smoothstep(0.33, 0.28, height) * wet;
    height = mix(height, 0.30, pool);
    var colour = mix(vec3(1.32, 1.24, 1.12), vec3(0.62, 0.60, 0.58), wet) * (1.0 + 0.28 * lump + 0.2 * (unit(plate.hash, 8u) - 0.5));
    colour *= (1.0 - 0.60 * torn) * (1.0 - 0.30 * thin);
    colour = mix(colour, vec3(0.40, 0.42, 0.46), 0.7 * pool);
    let pebble = stones(p, 33, 0.14, 0.8, s + 7u);
    if pebble.height > 0.06 && pool < 0.5 {
        height += 0.12 * pebble.height;
        colour = mix(vec3(0.9, 0.9, 0.95), vec3(1.6, 1.5, 1.35), unit(pebble.hash, 40u));
    }
    let straw = blades(p, 9, 1u, vec2(0.9, 0.014), 0.8, s + 8u);
    if straw.height > 0.0 && unit(straw.hash, 41u) > 0.4 {
        height += 0.06;
        colour = vec3(1.7, 1.5, 1.05);
    }
    return Shape(height, colour, mix(mix(0.88, 0.42, wet), 0.10, pool));
}

fn gravel(p: vec2<f32>, s: u32) -> Shape {
    let sand = fractal(p, 70, 3, s + 1u);
    var height = 0.10 + 0.06 * fractal(p, 9, 4, s + 2u) + 0.03 * sand;
    var colour = vec3(0.86, 0.80, 0.70) * (1.0 + 0.35 * sand);
    var cells = 9;
    for (var i = 0u; i < 6u; i++) {
        let stone = stones(p, cells, 0.34 + 0.11 * f32(i), 0.82, s + 10u + i);
        let tall = stone.height * 9.0 / f32(cells) * 1.25 + 0.024 * f32(6u - i) * min(stone.height * 12.0, 1.0);
        if stone.height > 0.0 && tall > height {
            height = tall;
            let hue = unit(stone.hash, 40u);
            let shade = 0.55 + 0.75 * unit(stone.hash, 41u);
            colour = shade * mix(vec3(1.08, 1.0, 0.90), vec3(0.92, 0.99, 1.08), smoothstep(0.2, 0.8, hue));
            if hue > 0.90 {
                colour = vec3(1.75, 1.70, 1.60);
            } else if hue < 0.13 {
                colour *= vec3(1.18, 0.88, 0.74);
            }
            // Veins.
            let vein = sin(7.0 * stone.along + 2.0 * stone.across + 6.0 * unit(stone.hash, 42u) + 3.0 * sand);
            colour *= 1.0 + 0.13 * vein * step(0.55, unit(stone.hash, 43u));
        }
        cells = cells * 8 / 5 + 1;
    }
    colour *= 1.0 + 0.12 * fractal(p, 48, 3, s + 3u);
    return Shape(min(height, 1.0), colour, 0.74 + 0.1 * sand);
}

fn forest_floor(p: vec2<f32>, s: u32) -> Shape {
    let soil = fractal(p, 14, 5, s + 1u);
    var height = 0.14 + 0.12 * soil;
    var colour = vec3(0.55, 0.46, 0.38) * (1.0 + 0.45 * soil);
    // Needles and dead blades.
    var cells = 13;
    for (var i = 0u; i < 2u; i++) {
        let needle = blades(p, cells, 4u, vec2(1.1, 0.022), 0.5, s + 10u + i);
        let tall = 0.12 + 0.30 * needle.height;
        if needle.height > 0.0 && tall > height {
            height = tall;
            colour = mix(vec3(0.70, 0.48, 0.30), vec3(1.55, 1.12, 0.66), unit(needle.hash, 40u));
        }
        cells = 22;
    }
    // Leaves of the last years, those of this one on top.
    cells = 19;
    for (var i = 0u; i < 3u; i++) {
        let leaf = leaves(p, cells, 2u, s + 20u + i);
        let tall = 0.16 + (0.30 + 0.10 * f32(i)) * leaf.height;
        if leaf.height > 0.0 && unit(leaf.hash, 43u) > 0.30 && tall > height {
            height = tall;
            let age = unit(leaf.hash, 40u);
            colour = mix(vec3(0.62, 0.42, 0.28), vec3(1.75, 1.15, 0.55), age * age);
            if unit(leaf.hash, 41u) > 0.72 {
                colour = mix(vec3(0.62, 0.80, 0.30), vec3(1.35, 1.25, 0.45), age);
            }
            let rib = smoothstep(0.0, 0.10, abs(leaf.across));
            let veins = 0.5 + 0.5 * sin(16.0 * leaf.along + 9.0 * abs(leaf.across));
            colour *= (0.78 + 0.25 * rib) * (0.92 + 0.12 * veins);
        }
        cells = cells - 5;
    }
    // Moss over it, in cushions.
    let cushion = fractal(p, 4, 5, s + 2u) + 0.25 * fractal(p, 26, 3, s + 3u);
    let moss = smoothstep(0.12, 0.24, cushion);
    if moss > 0.0 {
        let tuft = cells_at(p, vec2(90, 90), s + 4u);
        let own = vec3(0.60, 0.80, 0.38) * (0.65 + 0.65 * unit(tuft.hash, 40u)) * (1.15 - 0.5 * tuft.nearest);
        height = mix(height, 0.36 + 0.5 * cushion - 0.10 * tuft.nearest, moss);
        colour = mix(colour, own, moss);
    }
    let twig = blades(p, 4, 1u, vec2(1.2, 0.020), 0.5, s + 30u);
    if twig.height > 0.0 {
        height = max(height, 0.62 + 0.15 * (1.0 - twig.across * twig.across));
        colour = vec3(0.62, 0.54, 0.46) * (0.8 + 0.5 * unit(twig.hash, 41u)) * (1.0 - 0.4 * twig.across * twig.across);
    }
    return Shape(height, colour, 0.80 + 0.12 * moss);
}

fn shape_of(p: vec2<f32>) -> Shape {
    let s = mixed(pc.seed) & 0xffffu;
    switch pc.kind {
        case 0u: { return rock(p, s); }
        case 1u: { return scree(p, s); }
        case 2u: { return grass(p, s, 1.0); }
        case 3u: { return grass(p, s, 0.0); }
        case 4u: { return snow(p, s); }
        case 5u: { return mud(p, s); }
        case 6u: { return gravel(p, s); }
        default: { return forest_floor(p, s); }
    }
}

@compute @workgroup_size(8, 8)
fn layer_shapes(@builtin(global_invocation_id) thread: vec3<u32>) {
    if any(thread.xy >= vec2(pc.size)) {
        return;
    }
    let shape = shape_of((vec2<f32>(thread.xy) + 0.5) / f32(pc.size));
    let colour = max(shape.colour, vec3(0.02));
    shapes[thread.y * pc.size + thread.x] = vec4(
        bitcast<u32>(clamp(shape.height, 0.0, 1.0)), pack2x16float(colour.rg),
        pack2x16float(vec2(colour.b, clamp(shape.roughness, 0.05, 1.0))), 0u,
    );
}

fn height_at(texel: vec2<i32>) -> f32 {
    let t = vec2<u32>(texel) & vec2(pc.size - 1u);
    return bitcast<f32>(shapes[t.y * pc.size + t.x].x);
}

@compute @workgroup_size(8, 8)
fn layer_surfaces(@builtin(global_invocation_id) thread: vec3<u32>) {
    if any(thread.xy >= vec2(pc.size)) {
        return;
    }
    let at = vec2<i32>(thread.xy);
    let height = height_at(at);
    // Texels to tiles to heights.
    let scale = f32(pc.size) * pc.relief;
    var slope = vec2(0.0);
    for (var i = -1; i <= 1; i++) {
        // Sobel's weights: less of the grid shows.
        let weight = select(1.0, 2.0, i == 0) * 0.125 * scale;
        slope += weight * vec2(
            height_at(at + vec2(1, i)) - height_at(at + vec2(-1, i)), height_at(at + vec2(i, 1)) - height_at(at + vec2(i, -1)),
        );
    }
    let normal = normalize(vec3(-slope.x, 1.0, -slope.y));
    // How steeply the surroundings rise, in three rings.
    var rise = 0.0;
    for (var i = 0u; i < 24u; i++) {
        let ring = i / 8u;
        let reach = f32(pc.size) / 512.0 * select(select(17.0, 7.0, ring == 1u), 3.0, ring == 0u);
        let angle = f32(i % 8u) * 0.7853982 + f32(ring) * 0.26;
        let step = vec2<i32>(round(vec2(cos(angle), sin(angle)) * reach));
        let slope_up = (height_at(at + step) - height) * scale / max(reach, 1.0);
        rise += max(slope_up, 0.0) / (1.0 + max(slope_up, 0.0));
    }
    let occlusion = clamp(1.0 - 1.15 * rise / 24.0, 0.0, 1.0);
    let found = shapes[thread.y * pc.size + thread.x];
    let rough = unpack2x16float(found.z);
    chain[thread.y * pc.size + thread.x] = vec4(
        found.y, pack2x16float(vec2(rough.x, height)), pack2x16float(normal.xz),
        pack2x16float(vec2(rough.y * rough.y, occlusion)),
    );
}

@compute @workgroup_size(8, 8)
fn layer_mips(@builtin(global_invocation_id) thread: vec3<u32>) {
    let side = pc.size >> pc.level;
    if any(thread.xy >= vec2(side)) {
        return;
    }
    var colour = vec4(0.0);
    var normal = vec2(0.0);
    var lengths = 0.0;
    var rough = vec2(0.0);
    for (var i = 0u; i < 4u; i++) {
        let start = thread.xy * 2u + vec2(i & 1u, i >> 1u);
        let texel = chain[pc.before + start.y * side * 2u + start.x];
        colour += 0.25 * vec4(unpack2x16float(texel.x), unpack2x16float(texel.y));
        let n = unpack2x16float(texel.z);
        normal += 0.25 * n;
        lengths += 0.25 * dot(n, n);
        rough += 0.25 * unpack2x16float(texel.w);
    }
    rough.x = min(rough.x + 0.5 * max(lengths - dot(normal, normal), 0.0), 1.0);
    chain[pc.first + thread.y * side + thread.x] =
        vec4(pack2x16float(colour.rg), pack2x16float(colour.ba), pack2x16float(normal), pack2x16float(rough));
}

@compute @workgroup_size(64)
fn layer_packs(@builtin(global_invocation_id) thread: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let index = thread.x + thread.y * groups.x * 64u;
    if index >= pc.total {
        return;
    }
    // The last mip is the mean.
    let mean = chain[pc.total - 1u];
    let texel = chain[index];
    let mean_colour = vec4(unpack2x16float(mean.x), unpack2x16float(mean.y));
    let colour = vec4(unpack2x16float(texel.x), unpack2x16float(texel.y));
    let rough = unpack2x16float(texel.w);
    // As lib/terrain_materials.wgsl takes them apart.
    let relative = colour.rgb / max(mean_colour.rgb, vec3(0.02)) * 0.4;
    let height = colour.a - mean_colour.a + 0.5;
    colours[index] = pack4x8unorm(clamp(vec4(relative, height), vec4(0.0), vec4(1.0)));
    forms[index] = pack4x8unorm(vec4(unpack2x16float(texel.z) * 0.5 + 0.5, sqrt(rough.x), rough.y));
}
