//! Pages of runtime virtual textures that show the world: stamped images, meshes of the scene, the terrain.

use std::sync::Arc;

use ash::vk::{Format, ImageUsageFlags};
use glam::{Vec2, Vec3};
use vasa::memory::staging::upload_images;
use vasa::vk::{Image, ImageDesc};
use vasa::vt::Grid;
use vasa::vt::runtime::{
    Kind, Look, PageShape, Paint, Rectangle, Registry, RuntimeTexture, Shape, StampImage, Volume, WriterDesc,
};
use vasa_tests::on_device;
use vasa_tests::pages::{
    MASK_KIND, Pages, camera, coloured, decal, one, page, patterned, seam, texture, texture_id, work,
};
use vasa_tests::scenes::{self, add_hills, cube, draw, hills};

#[test]
fn an_image_is_stamped_once_over_its_decal() {
    on_device(|h| {
        let engine = scenes::engine(&h.device, 2);
        let usage = ImageUsageFlags::SAMPLED | ImageUsageFlags::TRANSFER_DST;
        let desc = ImageDesc::new_2d(Format::R8G8B8A8_UNORM, [2, 2], usage);
        let image = Image::committed(&h.device, "Stamp", desc).unwrap();
        // Red, half a green, blue, nothing.
        let texels: [[u8; 4]; 4] = [[255, 0, 0, 255], [0, 255, 0, 128], [0, 0, 255, 255], [255, 255, 255, 0]];
        upload_images(&h.device, &[(&image, vec![texels.as_flattened()])]).unwrap();
        let texture = texture(Kind::BaseColor);
        let at = page(0, 2, 2);
        let middle = camera(&texture, at).centre(36, 36) - Vec2::splat(2.0);
        let mut registry = Registry::new();
        registry.set_texture(texture_id(), texture.clone());
        let look = Look { paint: Paint::Image, ..coloured([1.0; 3]) };
        let desc = decal("stamp", middle, Vec2::splat(80.0), 0.0, look);
        assert!(registry.add(desc.clone()).is_err(), "no image was given");
        registry.add(WriterDesc { image: Some(StampImage(Arc::new(image))), ..desc }).unwrap();
        let drawn = one(h, &engine, &registry, at);
        // 40 texels a side: beside the middles of its four.
        let quarters = [(26, 26), (46, 26), (26, 46), (46, 46)].map(|(i, j)| drawn.texel(0, i, j));
        let expected =
            [[1.0, 0.0, 0.0, 0.0], [0.0, 0.5, 0.0, 0.5], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
        for (texel, expected) in quarters.iter().zip(expected) {
            // Linear light: codes are its square roots.
            let close = texel.iter().zip(expected).all(|(a, b)| (a * a - b * b).abs() < 0.1);
            assert!(close, "{texel:?} is not {expected:?}");
        }
        assert_eq!(drawn.bytes(0, 10, 36), [0, 0, 0, 255]);
    });
}

#[test]
fn meshes_are_drawn_from_above_with_the_upper_surface() {
    on_device(|h| {
        let mut engine = scenes::engine(&h.device, 2);
        let scene = engine.scene_mut();
        // Texels of 4 m: a table of 80 m, and a post on it that is lower than its own top.
        let red = scene.add_mesh(&cube(), [0.64, 0.04, 0.01], 0.25).unwrap();
        let blue = scene.add_mesh(&cube(), [0.01, 0.04, 0.81], 0.75).unwrap();
        draw(&mut engine, vasa::scene::Camera::looking_at(Vec3::new(0.0, 5.0, 50.0), Vec3::ZERO));
        engine.wait_idle().unwrap();
        for kind in [MASK_KIND, Kind::WorldHeight] {
            let texture = texture(kind);
            let at = page(0, 2, 2);
            let view = camera(&texture, at);
            let stand = |mesh, i: u32, j: u32, (half, top): (f32, f32)| {
                let place = view.centre(i, j);
                let rows = [[half, 0.0, 0.0, place.x], [0.0, 5.0, 0.0, top - 5.0], [0.0, 0.0, half, place.y]];
                Shape::Mesh { mesh, bounds: [-Vec3::ONE, Vec3::ONE], rows }
            };
            let mut registry = patterned(&texture);
            // The lower one is drawn last, and hidden where the upper one stands.
            registry.add(WriterDesc::new("upper", stand(blue, 36, 36, (22.0, 70.0)))).unwrap();
            registry.add(WriterDesc::new("lower", stand(red, 40, 36, (30.0, 40.0)))).unwrap();
            let mut pages = Pages::new(h);
            let drawn = pages.draw(h, &engine, &registry, &[work(0, 1, at), work(0, 2, page(0, 9, 5))]);
            let (drawn, far) = (&drawn[0], &drawn[1]);
            assert_eq!(pages.renderer.draw_count(), 4, "pattern and two meshes, and pattern alone");
            let plain = one(h, &engine, &patterned(&texture), at);
            // 22 m are five and a half texels on each side of a centre; 30 m seven and a half.
            let expected = |i: u32, j: u32| {
                let inside =
                    |ci: f32, half: f32| (i as f32 - ci).abs() < half && (j as f32 - 36.0).abs() < half;
                if inside(36.0, 5.5) { Some(true) } else { inside(40.0, 7.5).then_some(false) }
            };
            for (i, j) in (0..72).flat_map(|j| (0..72).map(move |i| (i, j))) {
                // Edges run through centres.
                let on_edge =
                    |ci: i32, half: i32| (i as i32 - ci).abs() == half || (j as i32 - 36).abs() == half;
                if on_edge(36, 6) || on_edge(36, 5) || on_edge(40, 8) || on_edge(40, 7) {
                    continue;
                }
                let texel = drawn.texel(0, i, j);
                let close = |channel: usize, value: f32| (texel[channel] - value).abs() < 1.01 / 255.0;
                match (expected(i, j), kind) {
                    (None, _) => assert_eq!(drawn.bytes(0, i, j), plain.bytes(0, i, j), "({i}, {j})"),
                    (Some(is_upper), Kind::WorldHeight) => {
                        let height = if is_upper { 70.0 } else { 40.0 };
                        assert!(
                            (texel[0] - texture.volume.height_share(height)).abs() < 1e-4,
                            "({i}, {j}): {texel:?}"
                        );
                    }
                    (Some(true), _) => assert!(close(0, 0.1) && close(2, 0.9), "({i}, {j}): {texel:?}"),
                    (Some(false), _) => assert!(close(0, 0.8) && close(2, 0.1), "({i}, {j}): {texel:?}"),
                }
                if let (Some(is_upper), false) = (expected(i, j), kind.is_height()) {
                    assert_eq!(drawn.bytes(1, i, j)[..2], [128, 128], "the top looks up");
                    let roughness = if is_upper { 0.75 } else { 0.25 };
                    assert!((drawn.texel(2, i, j)[1] - roughness).abs() < 1.01 / 255.0);
                }
            }
            // Slanted ones along the edges where four pages meet: theirs run through the same texels on all of them.
            let corner = texture.volume.place(Vec2::new(3.0 / 16.0, 3.0 / 8.0));
            for k in 0..120 {
                let k = k as f32;
                let axis = Vec2::from_angle(0.37 * k) * (9.3 + 0.113 * k);
                let along = 2.13 * k - 127.0;
                let place =
                    corner + if k % 2.0 == 0.0 { Vec2::new(along, 0.7) } else { Vec2::new(-0.3, along) };
                let rows = [
                    [axis.x, 0.0, -axis.y, place.x],
                    [0.0, 1.0, 0.0, 0.5 * k],
                    [axis.y, 0.0, axis.x, place.y],
                ];
                let shape = Shape::Mesh { mesh: red, bounds: [-Vec3::ONE, Vec3::ONE], rows };
                registry.add(WriterDesc::new("slanted", shape)).unwrap();
            }
            let four = [(2, 2), (3, 2), (2, 3), (3, 3)].map(|(x, y)| work(0, 1, page(0, x, y)));
            let (differ, all) = seam(&pages.draw(h, &engine, &registry, &four), 64);
            assert_eq!(differ, 0, "{kind}: of {all} texels");
            let plain = one(h, &engine, &patterned(&texture), page(0, 9, 5));
            assert_eq!(far.targets, plain.targets, "a page of the batch that shows no mesh");
        }
    });
}

/// A share of the hills around their middle as a texture of 12 x 12 pages of 64 texels, and all of them to draw.
fn hill_texture(kind: Kind, share: f32) -> (RuntimeTexture, Rectangle) {
    let surface = hills();
    let half = surface.half_extent();
    let (low, high) = surface.height_bounds(-half.x, -half.y, half.x, half.y);
    let part = half * share;
    let volume = Volume::new((-part).into(), (part * 2.0).into(), [low, high]).unwrap();
    let shape = PageShape::new(Grid::new([12, 12], 0).unwrap(), 64, 4).unwrap();
    let texture = RuntimeTexture::new("terrain", volume, shape, kind);
    (texture, Rectangle::around(-half, half))
}

#[test]
fn the_height_of_the_terrain_is_that_of_its_surface() {
    on_device(|h| {
        let surface = hills();
        let mut engine = scenes::engine(&h.device, 2);
        add_hills(&mut engine, &surface);
        let (texture, ground) = hill_texture(Kind::WorldHeight, 1.0);
        let mut registry = Registry::new();
        registry.set_texture(texture_id(), texture.clone());
        registry.add(WriterDesc::new("terrain", Shape::Terrain(ground))).unwrap();
        let pages = [page(0, 0, 0), page(0, 5, 7), page(0, 11, 11), page(2, 1, 1), page(4, 0, 0)];
        let works: Vec<_> = (1..).zip(pages).map(|(index, page)| work(0, index, page)).collect();
        let half = surface.half_extent();
        let [low, high] = texture.volume.heights();
        for drawn in Pages::new(h).draw(h, &engine, &registry, &works) {
            let camera = camera(&texture, drawn.page);
            let mut worst = 0f32;
            for (i, j) in (0..72).flat_map(|j| (0..72).map(move |i| (i, j))) {
                let place = camera.centre(i, j);
                // Further off the map nothing is drawn, nor looked at.
                if (place.abs() - half).max_element() > 4.0 * camera.texel_size() {
                    continue;
                }
                let place = place.clamp(-half, half);
                let expected = surface.height(place.x, place.y, camera.texel_size());
                let height = low + (high - low) * drawn.texel(0, i, j)[0];
                worst = worst.max((height - expected).abs());
            }
            assert!(worst < 0.05, "{}: {worst} m", drawn.page);
        }
    });
}

#[test]
fn pages_of_the_terrain_hold_its_material() {
    on_device(|h| {
        let surface = hills();
        let mut engine = scenes::engine(&h.device, 2);
        add_hills(&mut engine, &surface);
        for kind in [MASK_KIND, Kind::BaseColorNormalRoughness, Kind::Displacement] {
            let (texture, ground) = hill_texture(kind, 0.05);
            let mut registry = Registry::new();
            registry.set_texture(texture_id(), texture.clone());
            registry.add(WriterDesc::new("terrain", Shape::Terrain(ground))).unwrap();
            let pages =
                [page(0, 4, 4), page(0, 5, 4), page(0, 4, 5), page(0, 5, 5), page(1, 2, 2), page(3, 0, 0)];
            let works: Vec<_> = (1..).zip(pages).map(|(index, page)| work(0, index, page)).collect();
            let drawn = Pages::new(h).draw(h, &engine, &registry, &works);
            let (differ, all) = seam(&drawn, 64);
            assert_eq!(differ, 0, "{kind}: of {all} texels");
            if kind.is_height() {
                let values: Vec<f32> = (0..64).map(|i| drawn[0].texel(0, i, i)[0]).collect();
                let (least, most) = values.iter().fold((1f32, 0f32), |(l, m), v| (l.min(*v), m.max(*v)));
                assert!(least > 0.2 && most < 0.8 && most - least > 1e-3, "from {least} to {most}");
                continue;
            }
            for drawn in &drawn {
                for (i, j) in (0..72).flat_map(|j| (0..72).map(move |i| (i, j))) {
                    for target in 0..drawn.targets.len() {
                        assert_eq!(drawn.bytes(target, i, j)[3], 0, "it covers all of the page");
                    }
                    let colour = drawn.texel(0, i, j);
                    assert!(colour[..3].iter().all(|c| (0.05..1.0).contains(c)), "({i}, {j}): {colour:?}");
                    let (xy, z) = (drawn.texel(1, i, j), drawn.texel(2, i, j)[2]);
                    let normal = (Vec3::new(xy[0], xy[1], z) * 255.0 - 128.0) / 127.0;
                    assert!((normal.length() - 1.0).abs() < 0.02 && normal.z > 0.0, "({i}, {j}): {normal}");
                }
            }
            // The same ground at half the resolution: no shift and no change of colour on the whole.
            let (fine, coarse) = (&drawn[..4], &drawn[4]);
            let mut sum = 0.0;
            for (i, j) in (0..64).flat_map(|j| (0..64).map(move |i| (i, j))) {
                let of = fine[usize::from(i >= 32) + 2 * usize::from(j >= 32)].clone();
                let (x, y) = (4 + 2 * (i % 32), 4 + 2 * (j % 32));
                let four = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(a, b)| of.texel(0, x + a, y + b)[1]);
                sum += (four.iter().sum::<f32>() / 4.0 - coarse.texel(0, 4 + i, 4 + j)[1]).abs();
            }
            assert!(sum / 4096.0 < 0.03, "{kind}: levels differ by {} on average", sum / 4096.0);
        }
    });
}
