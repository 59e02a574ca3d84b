use glam::{Vec2, Vec3};
use proptest::prelude::*;

use super::*;
use crate::scene::MeshHandle;
use crate::vt::compress::Kind;
use crate::vt::grid::Region;
use crate::vt::{
    Availability, Grid, LayerFormat, PageAddress, PageRequest, Priority, Producer, Quality, TextureId,
};

mod inputs;

fn shape(tiles: [u32; 2], tile: u32, border: u32) -> PageShape {
    PageShape::new(Grid::new(tiles, 0).unwrap(), tile, border).unwrap()
}

fn texture(index: u32) -> TextureId {
    TextureId::from_parts(index, 0)
}

fn runtime(kind: Kind, volume: Volume) -> RuntimeTexture {
    RuntimeTexture::new("ground", volume, shape([8, 8], 64, 4), kind)
}

fn decal(centre: [f32; 2], half: [f32; 2]) -> Rectangle {
    Rectangle { centre: centre.into(), along: Vec2::X, half: half.into() }
}

// ---- kinds

#[test]
fn layers_of_the_kinds() {
    use LayerFormat::*;
    let bc = KindOptions::default();
    let plain = KindOptions { is_compressed: false, ..bc };
    let low = KindOptions { is_low_quality: true, ..bc };
    let of = |options: KindOptions| Kind::ALL.map(|kind| kind.layers(options));
    assert_eq!(
        of(bc).to_vec(),
        [
            vec![Bc1],
            vec![Bc1, Bc3],
            vec![Bc3, Bc3],
            vec![Bc3, Bc5, Bc1],
            vec![Bc3, Bc5, Bc3],
            vec![Bc3],
            vec![R16],
            vec![Bc4]
        ]
    );
    let counts = [1, 2, 2, 3, 3, 1, 1, 1];
    for (layers, count) in of(plain).iter().zip(counts) {
        assert_eq!(layers.len(), count);
        assert!(layers.iter().all(|layer| matches!(layer, Rgba8 | R16)));
    }
    assert_eq!(Kind::Displacement.layers(plain), [R16]);
    for kind in Kind::ALL {
        let changes = kind == Kind::BaseColorNormalRoughness;
        assert_eq!(kind.layers(low) != kind.layers(bc), changes, "{kind}");
        assert!(kind.layers(bc).len() <= 3 && kind.targets(bc).len() <= MOST_TARGETS);
    }
    assert_eq!(Kind::BaseColorNormalRoughness.layers(low), [Rgb565, Rgba5551]);
    assert_eq!(Kind::BaseColorNormalRoughness.targets(low), [TargetFormat::Rgb565, TargetFormat::Rgba5551]);
}

#[test]
fn each_attribute_writes_its_own_channels() {
    let kind = Kind::BaseColorNormalSpecularMaskYCoCg;
    let options = KindOptions::default();
    let of = |attributes| kind.write_masks(options, attributes).map(|mask| mask.to_string());
    assert_eq!(of(Attributes::BASE_COLOR), ["RGBA", "", ""]);
    assert_eq!(of(Attributes::NORMAL), ["", "RGA", "BA"]);
    assert_eq!(of(Attributes::ROUGHNESS), ["", "", "GA"]);
    assert_eq!(of(Attributes::SPECULAR), ["", "", "RA"]);
    assert_eq!(of(Attributes::MASK), ["", "BA", ""]);
    assert_eq!(of(Attributes::HEIGHT), ["", "", ""]);
    assert_eq!(of(Attributes::ALL), ["RGBA", "RGBA", "RGBA"]);
    let mask4 = Kind::Mask4.write_masks(options, Attributes::ALL).map(|mask| mask.to_string());
    assert_eq!(mask4, ["RGA", "RGA", ""]);
    let low = KindOptions { is_low_quality: true, ..options };
    let of =
        |attributes| Kind::BaseColorNormalRoughness.write_masks(low, attributes).map(|mask| mask.to_string());
    assert_eq!(of(Attributes::NORMAL), ["", "RGA", ""]);
    assert_eq!(of(Attributes::ROUGHNESS), ["", "BA", ""]);
    assert_eq!(of(Attributes::ALL), ["RGBA", "RGBA", ""]);
}

#[test]
fn no_two_attributes_share_a_colour_channel_and_all_of_them_are_stored() {
    for kind in Kind::ALL {
        for is_low_quality in [false, true] {
            let options = KindOptions { is_low_quality, ..KindOptions::default() };
            let mut taken = [0u8; MOST_TARGETS];
            for one in kind.attributes().each() {
                let masks = kind.write_masks(options, one);
                assert!(masks.iter().any(|mask| mask.0 != 0), "{kind} does not store {one}");
                for (taken, mask) in taken.iter_mut().zip(masks) {
                    assert_eq!(*taken & mask.0 & 7, 0, "{kind}: {one} shares a channel");
                    *taken |= mask.0 & 7;
                }
            }
        }
    }
}

#[test]
fn what_is_drawn_can_be_stored_as_the_kind_says() {
    for kind in Kind::ALL {
        for bits in 0..4 {
            let options = KindOptions { is_compressed: bits & 1 != 0, is_low_quality: bits & 2 != 0 };
            let storage = kind.storage(&kind.layers(options)).expect("layers that compression knows");
            assert_eq!(kind.targets_read(storage), kind.targets(options).len(), "{kind} {options:?}");
        }
    }
}

// ---- cameras

fn volumes() -> impl Strategy<Value = Volume> {
    let corner = [-9000f32..9000.0, -9000f32..9000.0];
    let size = [50f32..20_000.0, 50f32..20_000.0];
    (corner, size, -3.2f32..3.2, any::<bool>()).prop_map(|(corner, size, angle, is_turned)| {
        let volume = Volume::new(corner, size, [-100.0, 900.0]).unwrap();
        if is_turned { volume.turned(angle) } else { volume }
    })
}

fn shapes() -> impl Strategy<Value = PageShape> {
    let tile = prop_oneof![Just((64u32, 2u32)), Just((128, 4)), Just((256, 4)), Just((100, 3))];
    ([1u32..=40, 1u32..=40], tile).prop_map(|(tiles, (tile, border))| shape(tiles, tile, border))
}

/// A page of a grid, by three numbers from 0 to 1.
fn page_of(grid: &Grid, pick: [f32; 3]) -> PageAddress {
    let level = (pick[0] * f32::from(grid.max_level()) + 0.5) as u8;
    let [across, down] = grid.pages(level);
    let at = |share: f32, count: u32| ((share * count as f32) as u32).min(count - 1) as u16;
    PageAddress::new(level, at(pick[1], across), at(pick[2], down))
}

proptest! {
    #[test]
    fn uv_and_place_are_inverse(volume in volumes(), u in 0f32..1.0, v in 0f32..1.0) {
        let uv = Vec2::new(u, v);
        let back = volume.uv(volume.place(uv));
        let metres = (back - uv) * volume.size();
        prop_assert!(metres.length() < 0.02, "{metres} m off");
    }

    /// The border of a page holds the very texels of its neighbours: the same places to the last bit.
    #[test]
    fn neighbours_see_the_same_texel_centres(
        volume in volumes(), shape in shapes(), pick in [0f32..1.0, 0f32..1.0, 0f32..1.0], i in 0u32..272, j in 0u32..272,
    ) {
        let page = page_of(&shape.grid, pick);
        let (i, j) = (i % shape.physical(), j % shape.physical());
        let camera = PageCamera::new(&volume, &shape, page);
        let [across, down] = shape.grid.pages(page.level);
        let tile = i64::from(shape.tile);
        for (dx, dy) in [(-1i64, 0i64), (1, 0), (0, -1), (0, 1), (1, 1), (-1, 1)] {
            let (x, y) = (i64::from(page.x) + dx, i64::from(page.y) + dy);
            if x < 0 || y < 0 || x >= i64::from(across) || y >= i64::from(down) {
                continue;
            }
            let other = PageCamera::new(&volume, &shape, PageAddress::new(page.level, x as u16, y as u16));
            // The same texel of the level, counted on the other page.
            let (oi, oj) = (i64::from(i) - dx * tile, i64::from(j) - dy * tile);
            if oi < 0 || oj < 0 || oi >= i64::from(shape.physical()) || oj >= i64::from(shape.physical()) {
                continue;
            }
            let (here, there) = (camera.centre(i, j), other.centre(oi as u32, oj as u32));
            prop_assert_eq!(here.to_array().map(f32::to_bits), there.to_array().map(f32::to_bits));
        }
    }

    /// Texel (i, j) of a page lies at the UV that the page's place in the grid says, without a shift of half a texel.
    #[test]
    fn texel_centres_are_those_of_the_grid(
        volume in volumes(), shape in shapes(), pick in [0f32..1.0, 0f32..1.0, 0f32..1.0], i in 0u32..272, j in 0u32..272,
    ) {
        let page = page_of(&shape.grid, pick);
        let (i, j) = (i % shape.physical(), j % shape.physical());
        let camera = PageCamera::new(&volume, &shape, page);
        let tiles = shape.grid.tiles();
        // From the definition, in double precision.
        let axis = |at: u16, k: u32, tiles: u32| {
            let texel = f64::from(k) + 0.5 - f64::from(shape.border);
            let pages = f64::from(at) + texel / f64::from(shape.tile);
            pages * f64::from(1u32 << page.level) / f64::from(tiles)
        };
        let uv = [axis(page.x, i, tiles[0]), axis(page.y, j, tiles[1])];
        let (size, [u, v]) = (volume.size(), volume.axes());
        let place = |axis: usize| {
            f64::from(volume.corner()[axis])
                + uv[0] * f64::from(size.x) * f64::from(u[axis])
                + uv[1] * f64::from(size.y) * f64::from(v[axis])
        };
        let centre = camera.centre(i, j);
        let off = (f64::from(centre.x) - place(0)).hypot(f64::from(centre.y) - place(1));
        // Numbers of 24 bits: a page of a coarse level may reach hundreds of kilometres past the box.
        let exact = 0.01f32.max(centre.abs().max_element() * 4e-7);
        prop_assert!(off < f64::from(exact), "{off} m off, a texel is {}", camera.texel_size());
        // And the other way: the place lies in the middle of the texel.
        let texel = camera.texel(centre);
        let slack = exact / camera.steps[0].length().min(camera.steps[1].length());
        let middle = Vec2::new(i as f32 + 0.5, j as f32 + 0.5);
        prop_assert!((texel - middle).abs().max_element() < slack.max(1e-3), "{texel} is not {middle}");
        // So says the matrix.
        let clip = camera.matrix() * Vec3::new(centre.x, 0.0, centre.y).extend(1.0);
        let pixel = (clip.truncate().truncate() * 0.5 + 0.5) * camera.side as f32;
        prop_assert!((pixel - middle).abs().max_element() < (2.0 * slack).max(2e-3), "{pixel} is not {middle}");
        prop_assert!((clip.z - 0.1).abs() < 1e-4 && clip.w == 1.0);
    }

    /// A texel of a level lies in the middle of the four of the next finer one that it covers.
    #[test]
    fn levels_do_not_shift(volume in volumes(), shape in shapes(), i in 0u32..64, j in 0u32..64) {
        prop_assume!(shape.grid.max_level() > 0);
        let at = |level| PageCamera::new(&volume, &shape, PageAddress::new(level, 0, 0));
        let border = shape.border;
        let (fine, coarse) = (at(0), at(1));
        let four = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(a, b)| fine.centre(border + 2 * i + a, border + 2 * j + b));
        // Texels beyond the page count on: the arithmetic does not care.
        let middle: Vec2 = four.into_iter().sum::<Vec2>() * 0.25;
        let off = coarse.centre(border + i, border + j) - middle;
        prop_assert!(off.length() < 0.005f32.max(middle.abs().max_element() * 4e-7), "{off} m off");
    }
}

#[test]
fn texels_are_as_large_as_the_box_says() {
    let volume = Volume::new([0.0; 2], [4096.0, 2048.0], [0.0, 100.0]).unwrap();
    let shape = shape([16, 8], 256, 4);
    for level in 0..=4 {
        let camera = PageCamera::new(&volume, &shape, PageAddress::new(level, 0, 0));
        assert_eq!(camera.texel_size(), 2f32.powi(i32::from(level)));
        assert_eq!(camera.first_texel, [-4, -4]);
        assert_eq!(camera.side, 264);
    }
    let last = PageCamera::new(&volume, &shape, PageAddress::new(0, 15, 7));
    assert_eq!(last.centre(4 + 255, 4 + 255), Vec2::new(4095.5, 2047.5));
}

#[test]
fn what_is_no_box_or_tile_is_refused() {
    for (size, heights) in [([0.0, 1.0], [0.0, 1.0]), ([1.0, f32::NAN], [0.0, 1.0]), ([1.0; 2], [2.0, 2.0])] {
        assert!(Volume::new([0.0; 2], size, heights).is_err());
    }
    assert!(Volume::new([f32::INFINITY, 0.0], [1.0; 2], [0.0, 1.0]).is_err());
    let grid = Grid::new([4, 4], 0).unwrap();
    assert!(PageShape::new(grid, 128, 65).is_err() && PageShape::new(grid, 0, 0).is_err());
}

// ---- footprints and culling

fn rectangles() -> impl Strategy<Value = Rectangle> {
    ([-600f32..600.0, -600f32..600.0], [0.5f32..400.0, 0.5f32..400.0], -3.2f32..3.2).prop_map(
        |(c, h, angle)| Rectangle { centre: c.into(), along: Vec2::from_angle(angle), half: h.into() },
    )
}

/// Whether any of many points of a rectangle lies on the page.
fn samples_hit(rectangle: &Rectangle, camera: &PageCamera) -> bool {
    (0..=40).any(|i| {
        (0..=40).any(|j| {
            let (a, b) = (i as f32 / 20.0 - 1.0, j as f32 / 20.0 - 1.0);
            let place = rectangle.centre
                + rectangle.along * (a * rectangle.half.x)
                + rectangle.along.perp() * (b * rectangle.half.y);
            let texel = camera.texel(place);
            texel.cmpge(Vec2::ZERO).all() && texel.cmple(Vec2::splat(camera.side as f32)).all()
        })
    })
}

proptest! {
    #[test]
    fn what_a_page_shows_is_never_culled(
        rectangle in rectangles(), angle in -3.2f32..3.2, pick in [0f32..1.0, 0f32..1.0, 0f32..1.0],
    ) {
        let volume = Volume::new([-400.0, -300.0], [800.0, 700.0], [0.0, 10.0]).unwrap().turned(angle);
        let shape = shape([7, 6], 64, 4);
        let camera = PageCamera::new(&volume, &shape, page_of(&shape.grid, pick));
        let footprint = Footprint::of(rectangle);
        if samples_hit(&rectangle, &camera) {
            prop_assert!(footprint.is_on(&camera));
        }
        // And what is far from it is: circles around both that do not meet.
        let corners = camera.corners(0.0).map(|c| Vec2::new(c.x, c.z));
        let centre = corners.into_iter().sum::<Vec2>() * 0.25;
        let reach = corners[0].distance(centre) + rectangle.half.length() + 4.0 * camera.texel_size();
        if centre.distance(rectangle.centre) > reach {
            prop_assert!(!footprint.is_on(&camera));
        }
    }

    /// Every page on which a rectangle shows is touched by its region, at every level, borders included.
    #[test]
    fn regions_touch_every_page_that_shows_a_footprint(
        rectangle in rectangles(), angle in -3.2f32..3.2, pick in [0f32..1.0, 0f32..1.0, 0f32..1.0],
    ) {
        let volume = Volume::new([-400.0, -300.0], [800.0, 700.0], [0.0, 10.0]).unwrap().turned(angle);
        let shape = shape([7, 6], 64, 4);
        let page = page_of(&shape.grid, pick);
        let camera = PageCamera::new(&volume, &shape, page);
        // What reaches a texel over the edge of the texture is seen by its border only.
        let regions = Footprint::of(rectangle).regions(&volume);
        if samples_hit(&rectangle, &camera) && !regions.is_empty() {
            let share = shape.border as f32 / shape.tile as f32;
            let [first, last] = shape.grid.touched(regions[0], page.level, share + 1e-4).unwrap();
            let holds = |axis: usize, at: u16| first[axis] <= at && at <= last[axis];
            prop_assert!(holds(0, page.x) && holds(1, page.y), "{page} is not in {first:?}..{last:?}");
        }
    }
}

#[test]
fn a_thin_road_touches_the_pages_that_it_crosses() {
    // From corner to corner of 16 x 16 pages: a box around it would touch all 256.
    let volume = Volume::new([0.0; 2], [1600.0; 2], [0.0, 100.0]).unwrap();
    let shape = shape([16, 16], 64, 2);
    let knots =
        (0..=32).map(|i| RibbonKnot { place: Vec2::splat(i as f32 * 50.0), half_width: 2.0 }).collect();
    let footprint = Shape::Ribbon(knots).footprint();
    let mut touched = std::collections::BTreeSet::new();
    for region in footprint.regions(&volume) {
        let [first, last] = shape.grid.touched(region, 0, 2.0 / 64.0).unwrap();
        for y in first[1]..=last[1] {
            touched.extend((first[0]..=last[0]).map(|x| (x, y)));
        }
    }
    // The diagonal and its neighbours.
    assert!(touched.len() <= 46 && touched.len() >= 16, "{} pages", touched.len());
    assert!((0..16).all(|i| touched.contains(&(i, i))));
}

#[test]
fn a_mesh_covers_what_its_turned_box_covers() {
    let (sin, cos) = 0.5f32.sin_cos();
    // Turned about y, scaled twice, at (10, 20, 30).
    let rows = [[2.0 * cos, 0.0, 2.0 * sin, 10.0], [0.0, 2.0, 0.0, 20.0], [-2.0 * sin, 0.0, 2.0 * cos, 30.0]];
    let footprint = Footprint::of_box(Vec3::new(-3.0, 0.0, -1.0), Vec3::new(3.0, 5.0, 1.0), &rows);
    let rectangle = footprint.rectangles[0];
    assert!((rectangle.centre - Vec2::new(10.0, 30.0)).length() < 1e-4);
    assert!((rectangle.half - Vec2::new(6.0, 2.0)).length() < 1e-4, "{:?}", rectangle.half);
    assert_eq!(footprint.heights, Some([20.0, 30.0]));
    assert_eq!(footprint.extent(), 12.0);
    let above = Volume::new([0.0; 2], [100.0; 2], [31.0, 50.0]).unwrap();
    assert!(footprint.regions(&above).is_empty(), "it stands below the box");
}

#[test]
fn why_a_writer_is_not_drawn() {
    let volume = Volume::new([0.0; 2], [512.0; 2], [0.0, 100.0]).unwrap();
    let mut registry = Registry::new();
    registry.set_texture(texture(0), runtime(Kind::BaseColor, volume));
    let all = Rectangle::around(Vec2::ZERO, Vec2::splat(512.0));
    let mut add = |name: &str, change: &dyn Fn(&mut WriterDesc)| {
        let mut desc = WriterDesc::new(name, Shape::Decal(decal([32.0; 2], [8.0; 2])));
        change(&mut desc);
        registry.add(desc).unwrap()
    };
    add("stamp", &|_| {});
    add("normals", &|d| d.attributes = Attributes::NORMAL);
    add("elsewhere", &|d| d.into = WritesTo::Only(vec![texture(3)]));
    add("coarse", &|d| d.levels = 1..=3);
    add("glass", &|d| d.opacity = 0.0);
    add("pebble", &|d| (d.shape, d.least_texels) = (Shape::Decal(decal([32.0; 2], [0.5; 2])), 2.0));
    add("far", &|d| d.shape = Shape::Decal(decal([400.0; 2], [8.0; 2])));
    add("terrain", &|d| d.shape = Shape::Terrain(all));
    let shape = shape([8, 8], 64, 4);
    let camera = PageCamera::new(&volume, &shape, PageAddress::new(0, 0, 0));
    insta::assert_snapshot!(explain(&registry, texture(0), Kind::BaseColor, &camera), @r"
    terrain: drawn: base colour
    stamp: drawn: base colour
    normals: the texture stores nothing that it writes
    elsewhere: writes other textures
    coarse: not at this level
    glass: transparent
    pebble: only 1.0 texels large
    far: outside of the page
    ");
    let names = |level| {
        let camera = PageCamera::new(&volume, &shape, PageAddress::new(level, 0, 0));
        let drawn = visible(&registry, texture(0), Kind::BaseColor, &camera);
        drawn.iter().map(|(id, _)| registry.writer(*id).unwrap().desc.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(1), ["terrain", "stamp", "coarse"]);
    assert_eq!(names(3), ["terrain", "stamp", "coarse", "far"]);
}

#[test]
fn ground_first_then_by_order_class_and_age() {
    let mut registry = Registry::new();
    let at = decal([0.0; 2], [1.0; 2]);
    let knots = || {
        Shape::Ribbon([0.0, 9.0].map(|x| RibbonKnot { place: Vec2::new(x, 0.0), half_width: 1.0 }).to_vec())
    };
    let mesh = || Shape::Mesh {
        mesh: MeshHandle::default(),
        bounds: [-Vec3::ONE, Vec3::ONE],
        rows: [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]],
    };
    let shapes = [
        ("mesh", mesh(), 0),
        ("decal", Shape::Decal(at), 0),
        ("late road", knots(), 1),
        ("road", knots(), 0),
    ];
    for (name, shape, order) in shapes {
        registry.add(WriterDesc { order, ..WriterDesc::new(name, shape) }).unwrap();
    }
    registry.add(WriterDesc { order: 9, ..WriterDesc::new("terrain", Shape::Terrain(at)) }).unwrap();
    registry.add(WriterDesc::new("decal 2", Shape::Decal(at))).unwrap();
    let names: Vec<&str> = registry.writers().map(|(_, writer)| writer.desc.name.as_str()).collect();
    assert_eq!(names, ["terrain", "road", "decal", "decal 2", "mesh", "late road"]);
}

#[test]
fn changes_make_the_old_and_the_new_place_stale() {
    let volume = Volume::new([0.0; 2], [100.0; 2], [0.0, 100.0]).unwrap();
    let mut registry = Registry::new();
    registry.set_texture(texture(0), runtime(Kind::BaseColor, volume));
    registry.set_texture(texture(1), runtime(Kind::WorldHeight, volume));
    let desc = WriterDesc {
        into: WritesTo::Only(vec![texture(0)]),
        ..WriterDesc::new("stamp", Shape::Decal(decal([10.0, 20.0], [5.0, 5.0])))
    };
    let region = |x0: f32, y0: f32, x1: f32, y1: f32| Region { min: [x0, y0], max: [x1, y1] };
    let taken = |registry: &mut Registry| -> Vec<_> {
        registry.take_invalidations().into_iter().map(|one| (one.texture, one.region, one.happened)).collect()
    };
    let id = registry.add(desc.clone()).unwrap();
    let (old, new) = (region(0.05, 0.15, 0.15, 0.25), region(0.75, 0.15, 0.85, 0.25));
    assert_eq!(taken(&mut registry), [(texture(0), old, Happened::Added)]);
    assert_eq!(taken(&mut registry), []);
    registry.set_shape(id, Shape::Decal(decal([80.0, 20.0], [5.0, 5.0]))).unwrap();
    assert_eq!(
        taken(&mut registry),
        [(texture(0), old, Happened::Moved), (texture(0), new, Happened::Moved)]
    );
    let look = Look { colour: [1.0; 3], ..Look::default() };
    let changed = WriterDesc { look, ..registry.writer(id).unwrap().desc.clone() };
    registry.set(id, changed).unwrap();
    assert_eq!(taken(&mut registry), [(texture(0), new, Happened::Changed)], "one place, told once");
    registry.touch(id).unwrap();
    assert_eq!(taken(&mut registry).len(), 1);
    // It leaves one texture and enters the other.
    let moved =
        WriterDesc { into: WritesTo::Only(vec![texture(1)]), ..registry.writer(id).unwrap().desc.clone() };
    registry.set(id, moved).unwrap();
    let both = [(texture(0), new, Happened::Changed), (texture(1), new, Happened::Changed)];
    assert_eq!(taken(&mut registry), both);
    registry.remove(id).unwrap();
    assert_eq!(taken(&mut registry), [(texture(1), new, Happened::Removed)]);
    assert!(registry.remove(id).is_err() && registry.touch(id).is_err() && registry.set(id, desc).is_err());
    assert_eq!(
        registry.set_shape(id, Shape::Decal(decal([0.0; 2], [1.0; 2]))).unwrap_err().to_string(),
        "the writer of runtime virtual textures was removed: ask for the one that took its place"
    );
}

#[test]
fn shapes_without_extent_are_refused_and_change_nothing() {
    let mut registry = Registry::new();
    let knot = |x: f32, half_width: f32| RibbonKnot { place: Vec2::new(x, 0.0), half_width };
    let bad = [
        Shape::Decal(decal([0.0; 2], [0.0, 1.0])),
        Shape::Terrain(decal([f32::NAN, 0.0], [1.0; 2])),
        Shape::Ribbon(vec![knot(0.0, 1.0)]),
        Shape::Ribbon(vec![knot(0.0, 1.0), knot(0.0, 1.0)]),
        Shape::Ribbon(vec![knot(0.0, 1.0), knot(4.0, -1.0)]),
    ];
    for shape in bad {
        let error = registry.add(WriterDesc::new("bad", shape)).unwrap_err().to_string();
        assert!(error.starts_with("what is to be drawn into virtual textures is a "), "{error}");
    }
    let good = WriterDesc::new("good", Shape::Decal(decal([0.0; 2], [1.0; 2])));
    let id = registry.add(good.clone()).unwrap();
    assert!(registry.set(id, WriterDesc { opacity: f32::NAN, ..good.clone() }).is_err());
    assert_eq!(registry.writer(id).unwrap().desc, good);
    assert_eq!(registry.writers().count(), 1);
}

#[test]
fn primitives_are_hidden_while_a_volume_shows_them() {
    let volume = Volume::new([0.0; 2], [100.0; 2], [0.0, 100.0]).unwrap();
    let mut registry = Registry::new();
    let at = |x: f32| Shape::Decal(decal([x, 20.0], [5.0, 5.0]));
    let mut add =
        |x: f32, main_pass| registry.add(WriterDesc { main_pass, ..WriterDesc::new("w", at(x)) }).unwrap();
    let inside = add(10.0, MainPass::FromVirtualTexture);
    let outside = add(400.0, MainPass::FromVirtualTexture);
    let (never, always) = (add(10.0, MainPass::Never), add(10.0, MainPass::Always));
    let shown = |registry: &Registry| {
        [inside, outside, never, always].map(|id| registry.is_in_main_pass(id).unwrap())
    };
    assert_eq!(shown(&registry), [true, true, false, true], "no volume at all");
    registry.set_texture(texture(0), runtime(Kind::BaseColor, volume));
    assert_eq!(shown(&registry), [true, true, false, true], "a volume that hides nothing");
    registry.set_texture(texture(0), runtime(Kind::BaseColor, volume.hiding_primitives()));
    assert_eq!(shown(&registry), [false, true, false, true]);
    registry.remove_texture(texture(0));
    assert_eq!(shown(&registry), [true, true, false, true]);
}

// ---- batches and producer

proptest! {
    #[test]
    fn batches_are_full_or_end_where_the_target_changes(targets in prop::collection::vec(0u8..3, 0..60)) {
        let ranges = batches(&targets, |target| *target);
        let mut next = 0;
        for range in &ranges {
            prop_assert_eq!(range.start, next, "pages keep their order, none is left out");
            next = range.end;
            prop_assert!((1..=BATCH_PAGES).contains(&range.len()));
            prop_assert!(targets[range.clone()].iter().all(|target| *target == targets[range.start]));
            let is_full = range.len() == BATCH_PAGES;
            let is_last = range.end == targets.len();
            prop_assert!(is_full || is_last || targets[range.end] != targets[range.start], "closed too early");
        }
        prop_assert_eq!(next, targets.len());
    }
}

#[test]
fn nothing_is_drawn_before_the_scene_is_ready() {
    let volume = Volume::new([0.0; 2], [100.0; 2], [0.0, 100.0]).unwrap();
    let mut registry = Registry::new();
    registry.set_texture(texture(0), runtime(Kind::BaseColor, volume));
    let request = |index, group, page| PageRequest {
        texture: texture(index),
        group,
        page,
        priority: Priority::Normal,
        baked: false,
    };
    let page = PageAddress::new(0, 7, 7);
    let inputs = Inputs::default();
    let mut early = RuntimeProducer::new(&registry, &inputs, false);
    assert_eq!(early.request(&request(0, 0, page)), Availability::Saturated);
    let mut producer = RuntimeProducer::new(&registry, &inputs, true);
    assert_eq!(producer.request(&request(0, 0, page)), Availability::Available(Quality::FULL));
    for other in [request(5, 0, page), request(0, 1, page), request(0, 0, PageAddress::new(0, 8, 0))] {
        assert_eq!(producer.request(&other), Availability::Saturated, "{other:?}");
    }
}
