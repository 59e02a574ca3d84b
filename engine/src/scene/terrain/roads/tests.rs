//! Splines, flattening, ribbons, the planner.

use glam::Vec2;
use proptest::prelude::*;

use super::*;
use crate::scene::terrain::heightmap::HeightMap;
use crate::scene::terrain::surface::Surface;

/// Hills with a valley through them.
fn hills() -> Surface {
    let (width, height) = (96u32, 80u32);
    let heights = (0..width * height)
        .map(|i| {
            let (x, z) = ((i % width) as f32, (i / width) as f32);
            600.0 + 220.0 * (x * 0.13).sin() * (z * 0.11).cos() + 40.0 * (x * 0.41 + z * 0.37).sin()
        })
        .collect();
    let pixel_size_metres = (60.0, 70.0);
    Surface::new(
        &HeightMap { width, height, heights, pixel_size_metres, filled: 0, georeferenced: false },
        1.0,
    )
}

fn planned(seed: u32) -> (Surface, Arc<Overlays>) {
    let surface = hills();
    let overlays = plan(&surface, &RoadsDesc { count: 4, seed, places: Vec::new() });
    (surface, overlays)
}

fn straight(length: f32, rise: f32) -> Road {
    let points = (0..=20)
        .map(|i| {
            let t = i as f32 / 20.0;
            RoadPoint {
                place: Vec2::new(t * length - 0.5 * length, 0.0),
                height: 100.0 + rise * t,
                along: t * length,
            }
        })
        .collect();
    Road::new(points, RoadKind::Gravel, 0)
}

#[test]
fn a_curve_goes_through_its_corners_at_even_steps() {
    let corners = [Vec2::ZERO, Vec2::new(100.0, 20.0), Vec2::new(180.0, 120.0), Vec2::new(320.0, 100.0)];
    let points = resample(&corners, 5.0);
    for corner in corners {
        let nearest = points.iter().map(|p| p.distance(corner)).fold(f32::INFINITY, f32::min);
        assert!(nearest < 3.0, "{corner} is {nearest} m off");
    }
    assert_eq!((points[0], *points.last().unwrap()), (corners[0], corners[3]));
    for pair in points.windows(2) {
        let step = pair[0].distance(pair[1]);
        assert!((4.0..6.0).contains(&step), "{step}");
    }
    assert_eq!(resample(&[], 5.0), []);
    assert_eq!(resample(&[Vec2::ONE, Vec2::ONE], 5.0), [Vec2::ONE]);
}

#[test]
fn a_road_is_flat_across_and_its_shoulders_lead_back() {
    let half = Vec2::new(400.0, 300.0);
    let overlays = Overlays::new(vec![straight(600.0, 30.0)], Vec::new(), half);
    let road = &overlays.roads()[0];
    for x in [-120.0, -3.0, 47.0, 200.0] {
        let on = overlays.flattening(Vec2::new(x, 0.0), 0.0);
        assert_eq!(on.share, 1.0);
        assert!((on.height - (100.0 + 30.0 * (x + 300.0) / 600.0)).abs() < 0.05, "{x}: {on:?}");
        for across in [-3.0_f32, -1.0, 2.0, 3.0] {
            let beside = overlays.flattening(Vec2::new(x, across), 0.0);
            assert_eq!(beside.share, 1.0, "{across}");
            assert!(
                (beside.height - on.height).abs() < 0.03,
                "{across}: {} beside {}",
                beside.height,
                on.height
            );
        }
        assert_eq!(overlays.flattening(Vec2::new(x, road.reach() + 0.1), 0.0).share, 0.0);
    }
    // Cells that are too wide leave it alone, and it comes in smoothly.
    assert_eq!(overlays.flattening(Vec2::ZERO, 100.0).share, 0.0);
    let shares = (0..200).map(|i| overlays.flattening(Vec2::ZERO, i as f32 * 0.1).share).collect::<Vec<_>>();
    assert!(shares.windows(2).all(|pair| pair[1] <= pair[0] && pair[0] - pair[1] < 0.05));
}

#[test]
fn the_planner_finds_gentle_roads_and_the_same_again() {
    let (surface, overlays) = planned(1);
    assert_eq!(overlays, planned(1).1);
    assert_ne!(overlays, planned(2).1);
    assert!(overlays.roads().len() >= 3, "{} roads", overlays.roads().len());
    let (mut along_roads, mut straight_on) = (0.0, 0.0);
    for road in overlays.roads() {
        assert!(road.length() > 200.0);
        let grades: Vec<f32> = road
            .points
            .windows(2)
            .map(|pair| (pair[1].height - pair[0].height).abs() / pair[0].place.distance(pair[1].place))
            .collect();
        let mean = grades.iter().sum::<f32>() / grades.len() as f32;
        let (first, last) = (road.points[0], road.points[road.points.len() - 1]);
        // Straight on there are hills in between: roads are gentler than the ground along those lines.
        let line: Vec<f32> = (0..200)
            .map(|i| first.place.lerp(last.place, i as f32 / 199.0))
            .map(|p| surface.base_height(p.x, p.y))
            .collect();
        let step = first.place.distance(last.place) / 199.0;
        let direct = line.windows(2).map(|pair| (pair[1] - pair[0]).abs() / step).sum::<f32>() / 199.0;
        along_roads += mean;
        straight_on += direct;
        for point in &road.points {
            let natural = surface.base_height(point.place.x, point.place.y);
            assert!((point.height - natural).abs() < 25.0, "{} m over the ground", point.height - natural);
        }
    }
    assert!(along_roads < 0.75 * straight_on, "grades: {along_roads} along roads, {straight_on} straight on");
    assert!(overlays.decals().iter().any(|decal| decal.kind == DecalKind::Mark));
}

#[test]
fn no_roads_change_nothing() {
    let surface = hills();
    let none = plan(&surface, &RoadsDesc { count: 0, seed: 1, places: Vec::new() });
    assert_eq!(none.grid().side(), [0, 0]);
    let with = surface.clone().with_overlays(none);
    for (x, z) in [(0.0, 0.0), (-900.0, 412.0), (1e9, f32::NAN)] {
        assert_eq!(with.height(x, z, 2.0).to_bits(), surface.height(x, z, 2.0).to_bits());
    }
}

#[test]
fn ribbons_are_as_wide_as_their_road_and_quads_as_their_decal() {
    let road = straight(400.0, 0.0);
    let vertices = ribbon(&road, 1.0);
    assert_eq!(vertices.len(), 20 * 6);
    for vertex in &vertices {
        assert!((vertex.place.y.abs() - 4.1).abs() < 1e-3 && (vertex.across.abs() - 4.1).abs() < 1e-6);
        // To the right of +x lies +z.
        assert_eq!(vertex.place.y > 0.0, vertex.across > 0.0);
        assert!((vertex.place.x + 200.0 - vertex.along).abs() < 1e-2);
    }
    for triangle in vertices.chunks_exact(3) {
        let (a, b) = (triangle[1].place - triangle[0].place, triangle[2].place - triangle[0].place);
        assert!(a.perp_dot(b) < 0.0, "not counter-clockwise from above");
    }
    assert_eq!(ribbon(&Road::new(Vec::new(), RoadKind::Track, 0), 1.0), []);
    let decal = Decal {
        centre: Vec2::new(5.0, -3.0),
        half_extent: Vec2::new(4.0, 2.0),
        rotation: Vec2::new(0.6, 0.8),
        kind: DecalKind::Puddle,
        order: 0,
        attributes: Attributes::ALL,
    };
    let (low, high) = decal.bounds();
    for vertex in quad(&decal) {
        assert!(decal.uv(vertex.place).distance(Vec2::new(vertex.along, vertex.across)) < 1e-5);
        assert!(vertex.place.cmpge(low - 1e-4).all() && vertex.place.cmple(high + 1e-4).all());
    }
}

#[test]
fn lists_are_in_painting_order_and_complete() {
    let (_, overlays) = planned(3);
    let orders = |item: Item| match item {
        Item::Segment { road, .. } => overlays.roads()[road as usize].order,
        Item::Decal(index) => overlays.decals()[index as usize].order,
    };
    for decal in overlays.decals() {
        for uv in [Vec2::ZERO, Vec2::new(0.9, 0.9), Vec2::new(-0.9, 0.3)] {
            let here: Vec<Item> = overlays.grid().items_at(decal.place(uv)).collect();
            assert!(here.windows(2).all(|pair| orders(pair[0]) <= orders(pair[1])));
            let found = here
                .iter()
                .any(|item| matches!(item, Item::Decal(i) if overlays.decals()[*i as usize] == *decal));
            assert!(found, "a decal is in no list of the ground it covers");
        }
    }
}

proptest! {
    #[test]
    fn flattened_ground_is_continuous_and_the_rest_untouched(
        seed in 0u32..3, at in 0.0_f32..1.0, across in -20.0_f32..20.0, turn in 0.0_f32..6.2,
    ) {
        let (surface, overlays) = planned(seed);
        let road = &overlays.roads()[0];
        let index = ((road.points.len() - 2) as f32 * at) as usize;
        let (a, b) = (road.points[index].place, road.points[index + 1].place);
        let place = a + (b - a).perp().normalize_or_zero() * across;
        let flat = surface.clone().with_overlays(overlays.clone());
        let step = Vec2::from_angle(turn) * 0.05;
        let near = place + step;
        let height = |p: Vec2| flat.height(p.x, p.y, 0.0);
        // No ground rises by more than some metres a metre; a step would show as metres in five centimetres.
        prop_assert!((height(place) - height(near)).abs() < 0.25, "{} beside {}", height(place), height(near));
        let reach = overlays.roads().iter().flat_map(|road| {
            road.points.windows(2).map(move |pair| flatten::nearest(place, pair[0].place, pair[1].place).0 - road.reach())
        }).fold(f32::INFINITY, f32::min);
        let natural = surface.height(place.x, place.y, 0.0);
        if reach >= 0.0 {
            prop_assert_eq!(height(place).to_bits(), natural.to_bits());
        }
        let (low, high) = flat.height_bounds(place.x - 1.0, place.y - 1.0, place.x + 1.0, place.y + 1.0);
        prop_assert!(low <= height(place) && height(place) <= high);
    }
}
