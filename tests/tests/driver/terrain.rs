//! Terrain chunks: the vertices that the GPU makes are those of the CPU, and neighbours share their bits.

use std::collections::HashMap;
use std::sync::Arc;

use glam::Vec3;
use vasa::Engine;
use vasa::scene::Camera;
use vasa::scene::terrain::lod::Node;
use vasa::scene::terrain::roads::{RoadsDesc, plan};
use vasa::scene::terrain::surface::Surface;
use vasa_tests::harness::{Harness, on_device};
use vasa_tests::hooks;
use vasa_tests::scenes::{self, add_hills, draw, flight, hills};

/// Heights of every chunk, own and parent's, from the GPU.
fn heights(h: &Harness, engine: &Engine) -> HashMap<Node, Vec<[f32; 2]>> {
    let scene = engine.scene();
    let terrain = scene.terrain().unwrap();
    let side = terrain.lod_params().quads + 1;
    // What is committed ahead of need may not be bound yet.
    let (buffer, buffer_bytes) = {
        let vertices = scene.geometry().vertices();
        (vertices.buffer(), vertices.requested())
    };
    let words = h.read(buffer, 0, buffer_bytes, &[]);
    let chunk = |first: u32| {
        let words = &words[first as usize..][..(side * side * 2) as usize];
        words.chunks_exact(2).map(|pair| [f32::from_bits(pair[0]), f32::from_bits(pair[1])]).collect()
    };
    terrain.chunk_vertices(scene.geometry()).into_iter().map(|(node, first)| (node, chunk(first))).collect()
}

/// The greatest difference of the chunks' vertices from the surface, metres.
fn worst_difference(h: &Harness, engine: &Engine, surface: &Surface) -> f32 {
    let params = *engine.scene().terrain().unwrap().lod_params();
    let half = surface.half_extent();
    let side = params.quads + 1;
    let all = heights(h, engine);
    assert!(all.len() > 30, "only {} chunks", all.len());
    let mut worst = 0f32;
    for (node, vertices) in &all {
        let [x0, z0] = node.corner(&params);
        let cell = params.cell_size(node.level);
        for (index, [own, parent]) in vertices.iter().enumerate() {
            let (i, j) = (index as u32 % side, index as u32 / side);
            let at = |i: u32, j: u32, cell: f32| {
                let x = (x0 + i as f32 * params.cell_size(node.level)).clamp(-half.x, half.x);
                let z = (z0 + j as f32 * params.cell_size(node.level)).clamp(-half.y, half.y);
                surface.height(x, z, cell)
            };
            worst = worst.max((own - at(i, j, cell)).abs());
            worst = worst.max((parent - at(i - i % 2, j - j % 2, cell * 2.0)).abs());
        }
    }
    worst
}

#[test]
fn chunk_vertices_are_those_of_the_cpu() {
    on_device(|h| {
        let surface = hills();
        let mut engine = scenes::engine(&h.device, 2);
        add_hills(&mut engine, &surface);
        draw(&mut engine, flight(&surface, 0.1));
        let worst = worst_difference(h, &engine, &surface);
        assert!(worst < 0.02, "GPU and CPU differ by {worst} m");
    });
}

#[test]
fn roads_flatten_the_mesh_as_the_cpu_says() {
    on_device(|h| {
        let natural = hills();
        let roads = plan(&natural, &RoadsDesc { count: 4, seed: 1, places: Vec::new() });
        let road = roads.roads()[0].clone();
        let surface = Arc::new(Surface::clone(&natural).with_overlays(roads));
        let mut engine = scenes::engine(&h.device, 2);
        add_hills(&mut engine, &surface);
        let middle = road.points[road.points.len() / 2];
        let on = Vec3::new(middle.place.x, middle.height, middle.place.y);
        draw(&mut engine, Camera::looking_at(on + Vec3::new(12.0, 8.0, 9.0), on));
        let worst = worst_difference(h, &engine, &surface);
        assert!(worst < 0.02, "GPU and CPU differ by {worst} m");
        // And there was something to flatten: without the roads, the mesh would be another.
        let without = worst_difference(h, &engine, &natural);
        assert!(without > 0.3, "the roads move no vertex by more than {without} m");
    });
}

#[test]
fn neighbours_share_the_bits_of_their_edges() {
    on_device(|h| {
        let surface = hills();
        let mut engine = scenes::engine(&h.device, 2);
        add_hills(&mut engine, &surface);
        draw(&mut engine, flight(&surface, 0.1));
        let params = *engine.scene().terrain().unwrap().lod_params();
        let side = params.quads + 1;
        let all = heights(h, &engine);
        // Every vertex by its place and the cells that its height is for: own ones, and parents' on even vertices.
        let mut seen: HashMap<([u32; 2], u32), u32> = HashMap::new();
        let mut shared = 0;
        for (node, vertices) in &all {
            let [x0, z0] = node.corner(&params);
            for (index, [own, parent]) in vertices.iter().enumerate() {
                let (i, j) = (index as u32 % side, index as u32 / side);
                let place = |i: u32, j: u32| {
                    let cell = params.cell_size(node.level);
                    [x0 + i as f32 * cell, z0 + j as f32 * cell].map(|f| (f + 0.0).to_bits())
                };
                for (place, level, height) in
                    [(place(i, j), node.level, own), (place(i - i % 2, j - j % 2), node.level + 1, parent)]
                {
                    let bits = *seen.entry((place, level)).or_insert(height.to_bits());
                    assert_eq!(bits, height.to_bits(), "{node:?} vertex {i} {j}: a crack");
                    shared += 1;
                }
            }
        }
        assert!(shared > seen.len() + 1000, "too few shared vertices to mean anything");
    });
}

#[test]
fn chunks_enter_and_leave_and_buffers_follow() {
    on_device(|h| {
        let surface = hills();
        let mut engine = scenes::engine(&h.device, 2);
        add_hills(&mut engine, &surface);
        let mut committed = Vec::new();
        let mut chunks = Vec::new();
        for frame in 0..120 {
            draw(&mut engine, flight(&surface, frame as f32 / 119.0));
            engine.sparse().wait_for_ahead();
            committed.push(engine.scene().geometry().vertices().committed());
            chunks.push(engine.scene().terrain().unwrap().chunk_count());
        }
        let (least, most) = (chunks.iter().min().unwrap(), chunks.iter().max().unwrap());
        assert!(*most > 2 * *least, "the flight changes too little: {least} to {most} chunks");
        let rises = committed.windows(2).filter(|w| w[1] > w[0]).count();
        let falls = committed.windows(2).filter(|w| w[1] < w[0]).count();
        assert!(rises >= 2 && falls >= 2, "{rises} rises, {falls} falls of {committed:?}");
        let stats = engine.stats().sparse;
        assert!(
            stats.max_bind_calls_per_frame <= 1,
            "{} binds calls in one frame",
            stats.max_bind_calls_per_frame
        );
        if h.in_place() {
            assert!(stats.bind_calls > 0);
        }
        // What is there is right, wherever compaction moved it.
        let params = *engine.scene().terrain().unwrap().lod_params();
        let side = params.quads + 1;
        for (node, vertices) in heights(h, &engine) {
            let [x, z] = node.corner(&params);
            let half = surface.half_extent();
            let (x, z) = (x.clamp(-half.x, half.x), z.clamp(-half.y, half.y));
            let expected = surface.height(x, z, params.cell_size(node.level));
            assert!((vertices[0][0] - expected).abs() < 0.02, "{node:?} holds another chunk's vertices");
            assert_eq!(vertices.len(), (side * side) as usize);
        }
    });
}

/// Draws a flight in which some frames cannot be submitted, because the driver refuses their binds. What they left
/// undone must be done by the next: tables, indices and vertices are read back and compared.
#[test]
fn a_frame_that_was_refused_loses_nothing() {
    on_device(|h| {
        if !h.in_place() {
            // Without binds there is nothing to refuse here; the null ring fails every submission of a flight.
            return;
        }
        let surface = hills();
        let mut engine = scenes::engine(&h.device, 2);
        add_hills(&mut engine, &surface);
        let mut refused = 0;
        for frame in 0..60 {
            let view = scenes::view(flight(&surface, frame as f32 / 59.0));
            // The first frame, with everything in it, and then every third one that has something to bind.
            if frame % 3 == 0 {
                hooks::fail_binds(Some(ash::vk::Result::ERROR_OUT_OF_DEVICE_MEMORY));
            }
            let result = engine.render(&view, scenes::EXTENT, None);
            hooks::fail_binds(None);
            engine.sparse().wait_for_ahead();
            refused += u32::from(result.is_err());
        }
        assert!(refused >= 2, "{refused} frames were refused: nothing was tried");
        draw(&mut engine, flight(&surface, 1.0));
        crate::scene::check_buffers(h, &engine);
        let params = *engine.scene().terrain().unwrap().lod_params();
        let half = surface.half_extent();
        let side = params.quads + 1;
        for (node, vertices) in heights(h, &engine) {
            let [x0, z0] = node.corner(&params);
            let cell = params.cell_size(node.level);
            for index in [0, side * side / 2, side * side - 1] {
                let x = (x0 + (index % side) as f32 * cell).clamp(-half.x, half.x);
                let z = (z0 + (index / side) as f32 * cell).clamp(-half.y, half.y);
                let [own, _] = vertices[index as usize];
                assert!((own - surface.height(x, z, cell)).abs() < 0.02, "{node:?} was never made");
            }
        }
        let again = {
            let mut engine = scenes::engine(&h.device, 2);
            add_hills(&mut engine, &surface);
            draw(&mut engine, flight(&surface, 1.0));
            engine.read_back().unwrap()
        };
        assert!(engine.read_back().unwrap() == again, "the picture is not that of an undisturbed engine");
    });
}
