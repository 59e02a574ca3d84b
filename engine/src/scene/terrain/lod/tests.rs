//! Coverage, levels and edges of random selections, edges compared bit for bit; the cache against a model.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

fn quadtrees() -> impl Strategy<Value = Quadtree> {
    let quads = prop_oneof![Just(2u32), Just(6), Just(8), Just(16), Just(32)];
    (quads, -3..5i32, 1..7u32, 1.42f32..4.0, 0f32..1.0, 0.05f32..3.0, 0.05f32..3.0).prop_map(
        |(quads, cell, levels, k, late, width, depth)| {
            let mut params = LodParams { quads, cell: 2f32.powi(cell), levels, k, morph_start: 0.0 };
            let least = params.least_morph_start() as f32 + 1e-6;
            params.morph_start = (least + late * (0.999 - least)).clamp(least.min(0.999), 0.999);
            let root = params.size(levels - 1);
            Quadtree::new(params, width * root, depth * root).unwrap()
        },
    )
}

/// Cameras in units of the half extents and of the coarsest node: inside, at the edge and far outside,
/// on grid lines and off, on the ground and high up.
fn cameras() -> impl Strategy<Value = (f32, f32, f32)> {
    let place =
        prop_oneof![4 => -1f32..1.0, 1 => -4f32..4.0, 1 => Just(0.0), 1 => Just(1.0), 1 => Just(-0.5)];
    let height = prop_oneof![1 => Just(0.0f32), 4 => 0f32..0.2, 2 => 0f32..2.0, 1 => 0f32..20.0];
    (place.clone(), place, height)
}

fn camera(tree: &Quadtree, (x, z, height): (f32, f32, f32)) -> LodCamera {
    let root = tree.params.size(tree.params.levels - 1);
    LodCamera { x: x * tree.half[0] as f32, z: z * tree.half[1] as f32, height: height * root }
}

/// The selected node that contains `node`, if it is `node` itself or a coarser one.
fn containing(selected: &BTreeSet<Node>, mut node: Node, levels: u32) -> Option<Node> {
    while node.level < levels {
        if selected.contains(&node) {
            return Some(node);
        }
        node = node.parent();
    }
    None
}

fn bits(vertex: MorphedVertex) -> [u32; 2] {
    [vertex.x.to_bits(), vertex.z.to_bits()]
}

/// Vertex number `along` of a side of a node: west, east, north, south.
fn on_side(side: usize, along: u32, quads: u32) -> (u32, u32) {
    [(0, along), (quads, along), (along, 0), (along, quads)][side]
}

/// Checks every edge; returns how many were between two levels and how many within one.
fn check_edges(tree: &Quadtree, nodes: &[Node], camera: &LodCamera) -> (usize, usize) {
    let params = &tree.params;
    let quads = params.quads;
    let selected: BTreeSet<Node> = nodes.iter().copied().collect();
    let (mut between, mut within) = (0, 0);
    for &fine in nodes {
        for (side, (step_x, step_z)) in [(-1, 0), (1, 0), (0, -1), (0, 1)].into_iter().enumerate() {
            let beside = Node { level: fine.level, x: fine.x + step_x, z: fine.z + step_z };
            // Finer neighbours are looked at from their side; beyond the world there is none.
            let Some(other) = containing(&selected, beside, params.levels) else { continue };
            assert!(other.level - fine.level <= 1, "{fine:?} beside {other:?} with {camera:?}");
            let opposite = side ^ 1;
            if other.level == fine.level {
                within += 1;
                for along in 0..=quads {
                    let [a, b] = [(fine, side), (other, opposite)].map(|(node, side)| {
                        let (i, j) = on_side(side, along, quads);
                        params.vertex(node, i, j, camera)
                    });
                    assert_eq!((bits(a), a.morph.to_bits()), (bits(b), b.morph.to_bits()));
                }
                continue;
            }
            between += 1;
            // The fine edge is half of the coarse one: which half says the parity of its position.
            let position = if side < 2 { fine.z } else { fine.x };
            let first = position.rem_euclid(2) as u32 * (quads / 2);
            for along in 0..=quads {
                let (i, j) = on_side(side, along, quads);
                let a = params.vertex(fine, i, j, camera);
                let (i, j) = on_side(opposite, first + along / 2, quads);
                let b = params.vertex(other, i, j, camera);
                assert_eq!(a.morph, 1.0, "fine {fine:?} beside {other:?} with {camera:?}");
                assert_eq!(b.morph, 0.0, "coarse {other:?} beside {fine:?} with {camera:?}");
                assert_eq!(bits(a), bits(b), "{fine:?} beside {other:?} with {camera:?}");
            }
        }
    }
    (between, within)
}

/// Checks that the nodes cover the world exactly once.
fn check_coverage(tree: &Quadtree, nodes: &[Node], points: &[(f64, f64)]) {
    let selected: BTreeSet<Node> = nodes.iter().copied().collect();
    assert_eq!(selected.len(), nodes.len(), "a node appears twice");
    let mut area = 0.0;
    for &node in nodes {
        assert!(!tree.is_outside(node));
        assert_eq!(
            containing(&selected, node.parent(), tree.params.levels),
            None,
            "{node:?} is covered twice"
        );
        let [low, high] = tree.bounds(node);
        let side = |axis: usize| high[axis].min(tree.half[axis]) - low[axis].max(-tree.half[axis]);
        area += side(0) * side(1);
    }
    let world = 4.0 * tree.half[0] * tree.half[1];
    assert!((area - world).abs() <= world * 1e-9, "{area} of {world} square metres are covered");
    for &(x, z) in points {
        let at = [x * tree.half[0], z * tree.half[1]];
        let holders = nodes.iter().filter(|&&node| {
            let [low, high] = tree.bounds(node);
            (0..2).all(|axis| low[axis] <= at[axis] && at[axis] < high[axis])
        });
        assert_eq!(holders.count(), 1, "at {at:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn selections_cover_once_and_leave_no_cracks(
        tree in quadtrees(),
        at in cameras(),
        points in prop::collection::vec((-1f64..0.999, -1f64..0.999), 8),
    ) {
        let camera = camera(&tree, at);
        let nodes = tree.select(&camera);
        check_coverage(&tree, &nodes, &points);
        check_edges(&tree, &nodes, &camera);
        prop_assert_eq!(&nodes, &tree.select(&camera), "deterministic");
    }

    #[test]
    fn the_cache_creates_what_is_missing_and_evicts_the_oldest(
        keep_frames in 0..4u32,
        max_idle in 0..6usize,
        frames in prop::collection::vec(prop::collection::vec(0..12i32, 0..8), 1..30),
    ) {
        let mut cache = ChunkCache::new(keep_frames, max_idle);
        let mut twin = cache.clone();
        let mut chunks: BTreeMap<Node, u64> = BTreeMap::new(); // node to the frame that last selected it
        for (frame, xs) in frames.into_iter().enumerate() {
            let frame = frame as u64;
            let selected: Vec<Node> = xs.into_iter().map(|x| Node { level: 0, x, z: -x }).collect();
            let plan = cache.update(&selected, frame);
            prop_assert_eq!(&plan, &twin.update(&selected, frame));
            for node in &plan.create {
                prop_assert!(selected.contains(node));
                prop_assert_eq!(chunks.insert(*node, frame), None, "created twice");
            }
            for node in &selected {
                prop_assert!(chunks.contains_key(node), "selected and missing");
                chunks.insert(*node, frame);
            }
            let mut oldest = 0;
            for node in &plan.evict {
                prop_assert!(!selected.contains(node), "evicted while drawn");
                let last = chunks.remove(node);
                prop_assert!(last.is_some_and(|last| last >= oldest), "least recently selected first");
                oldest = last.unwrap();
            }
            let idle: Vec<u64> = chunks.values().copied().filter(|&last| last < frame).collect();
            prop_assert!(idle.len() <= max_idle);
            prop_assert!(idle.iter().all(|last| frame - last <= u64::from(keep_frames)), "kept too long");
            prop_assert!(idle.iter().all(|&last| last >= oldest), "a newer one went before an older one");
            // Nothing goes without a reason.
            if plan.evict.iter().any(|_| frame - oldest <= u64::from(keep_frames)) {
                prop_assert_eq!(idle.len(), max_idle);
            }
            prop_assert_eq!(cache.len(), chunks.len());
            prop_assert!(chunks.keys().all(|&node| cache.contains(node)));
        }
        if let Some((&node, _)) = chunks.first_key_value() {
            prop_assert!(cache.forget(node) && !cache.forget(node));
            prop_assert_eq!(cache.update(&[node], 1000).create, vec![node]);
        }
    }
}

#[test]
fn a_real_world_has_all_levels_and_both_kinds_of_edges() {
    // A relief of 71 km by 93 km, the camera low over the middle of a grid cell near the origin.
    let params = LodParams::for_world(71_000.0, 93_000.0, 32, 2.0);
    assert_eq!((params.levels, params.size(params.levels - 1)), (11, 65_536.0));
    let tree = Quadtree::new(params, 71_000.0, 93_000.0).unwrap();
    let camera = LodCamera { x: 123.4, z: -876.5, height: 40.0 };
    let nodes = tree.select(&camera);
    check_coverage(&tree, &nodes, &[(0.0, 0.0), (0.5, -0.3)]);
    let (between, within) = check_edges(&tree, &nodes, &camera);
    assert!(between > 100 && within > 100, "{between} edges between levels, {within} within");
    let levels: BTreeSet<u32> = nodes.iter().map(|node| node.level).collect();
    assert_eq!(levels, (0..9).collect(), "range(8) is 59 km: all larger nodes come nearer than that");
    assert!((200..700).contains(&nodes.len()), "{} nodes", nodes.len());
    let high = tree.select(&LodCamera { height: 1e6, ..camera });
    assert_eq!(high.len(), 4, "from far above the four roots do");
}

#[test]
fn the_morph_is_what_the_shader_is_told() {
    let params = LodParams { quads: 32, cell: 0.5, levels: 4, k: 1.8, morph_start: 0.9 };
    assert!((params.least_morph_start() - 0.8937).abs() < 1e-4);
    assert_eq!((params.size(0), params.size(1), params.range(0)), (16.0, 32.0, 1.8 * 32.0));
    let Morph { start, end } = params.morph(0);
    assert_eq!((start, end), (0.9 * (1.8 * 32.0), 1.8 * 32.0));
    assert_eq!([start, end, 1e9].map(|d| params.morph(0).factor(d)), [0.0, 1.0, 1.0]);
    assert_eq!(params.morph(3).factor(1e9), 0.0, "the coarsest level does not morph");

    // Far away an odd vertex lies on its even neighbour, an even one stays.
    let node = Node { level: 0, x: -2, z: 1 };
    let far = LodCamera { x: 500.0, z: 0.0, height: 3.0 };
    assert_eq!(params.vertex(node, 3, 4, &far), MorphedVertex { x: -31.0, z: 18.0, morph: 1.0 });
    let near = LodCamera { x: -30.0, z: 18.0, height: 3.0 };
    assert_eq!(params.vertex(node, 3, 4, &near), MorphedVertex { x: -30.5, z: 18.0, morph: 0.0 });
    let children = Node { level: 1, x: -1, z: 0 }.children().unwrap();
    assert!(children.iter().all(|child| child.parent() == Node { level: 1, x: -1, z: 0 }));
    assert_eq!(node.children(), None);
}

#[test]
fn conditions_are_checked_and_named() {
    let good = LodParams { quads: 32, cell: 1.0, levels: 8, k: 1.8, morph_start: 0.9 };
    let refuse = |params: LodParams| Quadtree::new(params, 1000.0, 500.0).unwrap_err();
    assert!(Quadtree::new(good, 1000.0, 500.0).is_ok());
    for quads in [0, 1, 33, 256] {
        assert_eq!(refuse(LodParams { quads, ..good }), LodError::Quads(quads));
    }
    for cell in [0.0, -1.0, 3.0, 1e30, f32::INFINITY] {
        assert_eq!(refuse(LodParams { cell, ..good }), LodError::Cell(cell));
    }
    assert!(matches!(refuse(LodParams { cell: f32::NAN, ..good }), LodError::Cell(_)));
    assert_eq!(refuse(LodParams { levels: 0, ..good }), LodError::Levels(0));
    assert_eq!(refuse(LodParams { levels: 25, ..good }), LodError::Levels(25));
    assert_eq!(refuse(LodParams { k: 1.41, ..good }), LodError::K(1.41));
    assert!(matches!(refuse(LodParams { k: f32::NAN, ..good }), LodError::K(_)));
    let text = refuse(LodParams { morph_start: 0.85, ..good }).to_string();
    assert_eq!(
        text,
        "a morph start of 0.85 was asked for: with this k it must be at least 0.8937 and at most 0.999, or \
         neighbouring levels leave cracks"
    );
    assert!(matches!(refuse(LodParams { morph_start: 1.0, ..good }), LodError::MorphStart { .. }));
    for (width, depth) in [(0.0, 1.0), (1.0, -1.0), (f32::NAN, 1.0), (1.0, f32::INFINITY)] {
        assert!(matches!(Quadtree::new(good, width, depth), Err(LodError::World { .. })));
    }
    let wide = Quadtree::new(good, 1e9, 1.0).unwrap_err();
    assert!(matches!(wide, LodError::TooLarge { .. }));
    let many = Quadtree::new(LodParams { levels: 1, ..good }, 10_000.0, 10_000.0).unwrap_err();
    assert!(matches!(many, LodError::TooManyRoots(count) if count == 98_596.0));
    let lost = LodCamera { x: f32::NAN, z: 0.0, height: 1.0 };
    let tree = Quadtree::new(good, 1000.0, 500.0).unwrap();
    assert!(tree.select(&lost).iter().all(|node| node.level == 7));
}

/// The conditions are needed, not only sufficient: break one on purpose and a crack is found.
#[test]
fn a_morph_that_starts_too_early_is_caught() {
    let good = LodParams { quads: 8, cell: 1.0, levels: 6, k: 1.8, morph_start: 0.9 };
    let mut tree = Quadtree::new(good, 600.0, 600.0).unwrap();
    tree.params.morph_start = 0.7;
    let cracked = (0..64).any(|step| {
        let camera = LodCamera { x: step as f32 * 7.3 - 230.0, z: step as f32 * 3.1 - 90.0, height: 2.0 };
        let nodes = tree.select(&camera);
        let found = std::panic::catch_unwind(|| check_edges(&tree, &nodes, &camera)).err();
        let text = found.and_then(|panic| panic.downcast::<String>().ok());
        text.is_some_and(|text| text.contains("coarse Node"))
    });
    assert!(cracked);
}
