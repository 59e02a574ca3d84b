// Makes the vertices of new terrain chunks: thread = vertex on x, chunk on y. Two words a vertex: the height for
// the chunk's own cells, and the height of the vertex it morphs to, for its parent's cells.
//
// A vertex that two chunks share must get the same bits in both. So heights come from one loop body, all
// positions are exact, and texels are fetched and mixed by hand: samplers round fractions to 8 bits.
//!include lib/terrain_height.wgsl

struct ChunkJob {
    corner: vec2<f32>,
    cell: f32,
    first_word: u32,
}
@group(1) @binding(0) var<storage, read> jobs: array<ChunkJob>;
@group(1) @binding(1) var<storage, read_write> vertices: array<u32>;
@group(1) @binding(8) var coefficients: texture_2d<f32>;
@group(1) @binding(9) var detail_texture: texture_2d<f32>;

struct ChunkVerticesPush {
    // First job of this dispatch.
    first_job: u32,
    // Vertices along a side of a chunk.
    side: u32,
}
var<immediate> pc: ChunkVerticesPush;

@compute @workgroup_size(64)
fn terrain_vertices(@builtin(global_invocation_id) thread: vec3<u32>) {
    if thread.x >= pc.side * pc.side {
        return;
    }
    let job = jobs[pc.first_job + thread.y];
    let ij = vec2(thread.x % pc.side, thread.x / pc.side);
    var grid = ij;
    var cell = job.cell;
    let limit = terrain.half_extent;
    for (var k = 0u; k < 2u; k++) {
        // Edge chunks reach past the map: there the ground ends.
        let p = clamp(job.corner + vec2<f32>(grid) * job.cell, -limit, limit);
        let height = terrain_height(p, cell);
        vertices[job.first_word + thread.x * 2u + k] = bitcast<u32>(height);
        grid = ij - ij % 2u;
        cell = job.cell * 2.0;
    }
}
