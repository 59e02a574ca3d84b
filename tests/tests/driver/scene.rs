//! The GPU scene: what is in its buffers is what the host thinks, and culling draws what a CPU would.

use glam::Vec3;
use vasa::Engine;
use vasa::scene::gpu_scene::{
    INSTANCE_ALIVE, InstanceDesc, InstancePayload, InstanceSceneData, InstanceSet, PrimitiveData,
};
use vasa::scene::{Camera, MeshData, MeshHandle};
use vasa_tests::harness::{Harness, on_device};
use vasa_tests::scenes::{self, EXTENT, cube, draw, placed};

/// A small generator of numbers: tests print its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as u32) % limit.max(1)
    }

    fn metres(&mut self, reach: f32) -> f32 {
        (self.below(20_001) as f32 / 10_000.0 - 1.0) * reach
    }
}

fn from_gpu<T: bytemuck::Pod>(h: &Harness, buffer: &vasa::vk::Buffer, count: u32) -> Vec<T> {
    let bytes = u64::from(count) * size_of::<T>() as u64;
    let words = if bytes == 0 { Vec::new() } else { h.read(buffer, 0, bytes, &[]) };
    bytemuck::cast_slice::<u32, u8>(&words)
        .chunks_exact(size_of::<T>())
        .map(bytemuck::pod_read_unaligned)
        .collect()
}

fn same<T: bytemuck::Pod>(name: &str, gpu: &[T], host: &[T]) {
    for (index, (a, b)) in gpu.iter().zip(host).enumerate() {
        assert!(
            bytemuck::bytes_of(a) == bytemuck::bytes_of(b),
            "{name}[{index}] differs between GPU and host"
        );
    }
    assert_eq!(gpu.len(), host.len());
}

/// Compares all three buffers with the host's shadows.
pub fn check_buffers(h: &Harness, engine: &Engine) {
    let gpu = engine.scene().gpu();
    let (instances, primitives) = (gpu.instances(), gpu.primitives());
    let count = instances.len();
    same(
        "instances",
        &from_gpu::<InstanceSceneData>(h, instances.buffer().buffer(), count),
        instances.elements(),
    );
    same(
        "primitives",
        &from_gpu::<PrimitiveData>(h, primitives.buffer().buffer(), primitives.len()),
        primitives.elements(),
    );
    let payloads = gpu.payloads();
    same(
        "payloads",
        &from_gpu::<InstancePayload>(h, payloads.buffer().buffer(), count),
        payloads.elements(count),
    );
}

#[test]
fn buffers_hold_what_the_host_thinks_through_random_changes() {
    on_device(|h| {
        let mut engine = scenes::engine(&h.device, 2);
        let mut random = Random(7);
        let mut meshes: Vec<(MeshHandle, Vec<InstanceSet>)> = Vec::new();
        for frame in 0..40 {
            let scene = engine.scene_mut();
            for _ in 0..random.below(4) {
                let mesh = scene.add_mesh(&cube(), [0.5; 3], 0.5).unwrap();
                meshes.push((mesh, Vec::new()));
            }
            for _ in 0..random.below(6) {
                let Some(index) = (!meshes.is_empty()).then(|| random.below(meshes.len() as u32) as usize)
                else {
                    break;
                };
                let primitive = scene.primitive(meshes[index].0).unwrap();
                let count = 1 + random.below(200);
                let descs: Vec<_> = (0..count)
                    .map(|_| {
                        let at = [random.metres(90.0), random.metres(50.0), random.metres(90.0)];
                        placed(primitive, at.into(), 0.5)
                    })
                    .collect();
                meshes[index].1.push(scene.add_instances(&descs).unwrap());
            }
            // Every third frame things go, so that holes open and tails are compacted.
            if frame % 3 == 2 {
                for _ in 0..random.below(3) {
                    if meshes.len() > 1 {
                        let (mesh, sets) = meshes.swap_remove(random.below(meshes.len() as u32) as usize);
                        sets.into_iter().for_each(|set| scene.remove_instances(set).unwrap());
                        scene.remove_mesh(mesh).unwrap();
                    }
                }
            }
            draw(&mut engine, Camera::looking_at(Vec3::new(0.0, 20.0, 150.0), Vec3::ZERO));
            check_buffers(h, &engine);
        }
        let alive =
            engine.scene().gpu().instances().elements().iter().filter(|i| i.flags & INSTANCE_ALIVE != 0);
        assert!(alive.count() > 500, "the test drew too little to mean anything");
    });
}

#[test]
fn instances_point_at_their_own_mesh_after_compaction() {
    on_device(|h| {
        let mut engine = scenes::engine(&h.device, 2);
        let scene = engine.scene_mut();
        // Many meshes whose size, colour and payload name them; then most go. Nothing stale can pass for them.
        let own_box = |i: u32| MeshData::cuboid([0.2 + i as f32 / 300.0; 3]);
        let mut kept = Vec::new();
        let mut gone = Vec::new();
        for i in 0..300u32 {
            let colour = [i as f32 / 300.0, 0.5, 0.25];
            let mesh = scene.add_mesh(&own_box(i), colour, 0.5).unwrap();
            let primitive = scene.primitive(mesh).unwrap();
            let at = Vec3::new(i as f32, 0.0, 0.0);
            let desc = InstanceDesc { random: i as f32 / 300.0, ..placed(primitive, at, 0.2) };
            let set = scene.add_instances(&[desc]).unwrap();
            if i % 10 == 9 { kept.push((i, at)) } else { gone.push((mesh, set)) }
        }
        let camera = Camera::looking_at(Vec3::new(150.0, 30.0, 200.0), Vec3::new(150.0, 0.0, 0.0));
        draw(&mut engine, camera);
        let end_before = engine.scene().gpu().primitives().len();
        for (mesh, set) in gone {
            engine.scene_mut().remove_instances(set).unwrap();
            engine.scene_mut().remove_mesh(mesh).unwrap();
        }
        // A range moves once a frame, to the hole that was freed last: the tail comes down step by step.
        for _ in 0..60 {
            draw(&mut engine, camera);
        }
        let end_after = engine.scene().gpu().primitives().len();
        // New meshes overwrite the places that were left.
        for _ in 0..300 {
            engine.scene_mut().add_mesh(&MeshData::cuboid([77.0; 3]), [0.5; 3], 0.5).unwrap();
        }
        draw(&mut engine, camera);
        let gpu = engine.scene().gpu();
        assert!(end_after * 2 < end_before, "the tail was not compacted: {end_after}");
        check_buffers(h, &engine);
        let primitives =
            from_gpu::<PrimitiveData>(h, gpu.primitives().buffer().buffer(), gpu.primitives().len());
        let count = gpu.instances().len();
        let instances = from_gpu::<InstanceSceneData>(h, gpu.instances().buffer().buffer(), count);
        let vertices = engine.scene().geometry().vertices().buffer();
        let mut seen = 0;
        let payloads = from_gpu::<InstancePayload>(h, gpu.payloads().buffer().buffer(), count);
        let alive = |(_, instance): &(usize, &InstanceSceneData)| instance.flags & INSTANCE_ALIVE != 0;
        for (index, instance) in instances.iter().enumerate().filter(alive) {
            let i = instance.transform[0][3].round() as u32;
            let primitive = &primitives[instance.primitive as usize];
            assert!((primitive.colour[0] - i as f32 / 300.0).abs() < 1e-6, "instance {i} draws another mesh");
            // Its geometry moved with it: the first vertex is its own box's.
            let words = h.read(vertices, u64::from(primitive.first_vertex_word) * 4, 12, &[]);
            assert_eq!(f32::from_bits(words[0]), own_box(i).vertices[0].position[0], "geometry of {i}");
            assert!((payloads[index].random - i as f32 / 300.0).abs() < 1e-6, "payload of instance {i}");
            seen += 1;
        }
        assert_eq!(seen, kept.len());
    });
}

#[test]
fn culling_draws_what_a_cpu_would_in_the_order_of_instances() {
    on_device(|h| {
        let mut engine = scenes::engine(&h.device, 2);
        let mut random = Random(99);
        let mesh = engine.scene_mut().add_mesh(&cube(), [0.5; 3], 0.5).unwrap();
        let primitive = engine.scene().primitive(mesh).unwrap();
        let descs: Vec<_> = (0..3000)
            .map(|_| placed(primitive, Vec3::from([(); 3].map(|()| random.metres(120.0))), 0.7))
            .collect();
        engine.scene_mut().add_instances(&descs).unwrap();
        for _ in 0..8 {
            let eye = Vec3::from([(); 3].map(|()| random.metres(60.0)));
            let camera = Camera::looking_at(eye, Vec3::from([(); 3].map(|()| random.metres(60.0))));
            draw(&mut engine, camera);
            engine.wait_idle().unwrap();
            let planes = camera.frustum(EXTENT[0] as f32 / EXTENT[1] as f32);
            // Distance of the box to the nearest plane that it is outside of; close calls may go either way.
            let margin = |at: Vec3| {
                let inside = planes
                    .map(|p| p.truncate().dot(at - eye) + p.w + p.truncate().abs().dot(Vec3::splat(0.7)));
                inside.into_iter().fold(f32::INFINITY, f32::min)
            };
            let (commands, counters) = engine.renderer().draw_list();
            let count = h.read(counters, 0, 4, &[])[0];
            let words = h.read(commands, 0, u64::from(count) * 20, &[]);
            let drawn: Vec<u32> = words.chunks_exact(5).map(|command| command[4]).collect();
            assert!(drawn.is_sorted_by(|a, b| a < b), "draws are not in the order of instances");
            assert!(words.chunks_exact(5).all(|c| c[0] == 36 && c[1] == 1), "a draw is not one cube");
            let instances = engine.scene().gpu().instances().elements();
            for (index, instance) in instances.iter().enumerate() {
                let at = Vec3::from(instance.transform.map(|row| row[3]));
                let margin = margin(at);
                let is_drawn = drawn.binary_search(&(index as u32)).is_ok();
                assert!(
                    margin.abs() < 1e-3 || is_drawn == (margin > 0.0),
                    "instance {index}: margin {margin}"
                );
            }
            assert!(count > 100 && count < 2900, "{count} of 3000: the view tests nothing");
            let stats = engine.stats().gpu_scene;
            assert_eq!((stats.instances_drawn, stats.triangles_drawn), (count.into(), u64::from(count) * 12));
        }
    });
}

#[test]
fn uploads_are_proportional_to_what_changed() {
    on_device(|h| {
        let mut engine = scenes::engine(&h.device, 2);
        let mesh = engine.scene_mut().add_mesh(&cube(), [0.5; 3], 0.5).unwrap();
        let primitive = engine.scene().primitive(mesh).unwrap();
        let place = |i: u32| placed(primitive, Vec3::new(i as f32, 0.0, 0.0), 0.3);
        let sets: Vec<_> =
            (0..2000).map(|i| engine.scene_mut().add_instances(&[place(i)]).unwrap()).collect();
        let camera = Camera::looking_at(Vec3::new(0.0, 5.0, 50.0), Vec3::ZERO);
        draw(&mut engine, camera);
        let after_all = engine.scene().gpu().uploaded_bytes();
        draw(&mut engine, camera);
        assert_eq!(
            engine.scene().gpu().uploaded_bytes(),
            after_all,
            "nothing changed, yet bytes were uploaded"
        );
        for i in [3u32, 900, 1500] {
            engine.scene_mut().write_instances(sets[i as usize], &[place(i + 5000)]).unwrap();
        }
        draw(&mut engine, camera);
        let bytes = engine.scene().gpu().uploaded_bytes() - after_all;
        let element = (size_of::<InstanceSceneData>() + size_of::<InstancePayload>()) as u64;
        assert_eq!(bytes, 3 * element);
        check_buffers(h, &engine);
    });
}
