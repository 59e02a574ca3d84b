//! How good the inputs of pages are, and what is drawn again when they become better.

use super::*;

#[test]
fn pages_are_as_good_as_the_worst_of_what_they_show() {
    let volume = Volume::new([0.0; 2], [100.0; 2], [0.0, 100.0]).unwrap();
    let mut registry = Registry::new();
    registry.set_texture(texture(0), runtime(Kind::BaseColor, volume));
    registry.set_texture(texture(1), runtime(Kind::WorldHeight, volume));
    let half = Rectangle { centre: Vec2::new(50.0, 50.0), along: Vec2::X, half: Vec2::splat(50.0) };
    let ground = registry.add(WriterDesc::new("ground", Shape::Terrain(half))).unwrap();
    let loading = WriterDesc {
        quality: Quality(90),
        attributes: Attributes::BASE_COLOR,
        ..WriterDesc::new("loading", Shape::Decal(decal([10.0, 10.0], [2.0, 2.0])))
    };
    let loading = registry.add(loading).unwrap();
    registry.add(WriterDesc::new("whole", Shape::Decal(decal([80.0, 80.0], [2.0, 2.0])))).unwrap();
    let mut inputs = Inputs::default();
    assert_eq!(inputs.follow(&registry, |_| true), [], "nothing was drawn before");
    let (near, far) = (PageAddress::new(0, 0, 0), PageAddress::new(0, 7, 7));
    let quality =
        |inputs: &Inputs, registry: &Registry, of, page| inputs.quality(registry, (texture(of), 0), page);
    assert_eq!(quality(&inputs, &registry, 0, near), Quality(90));
    assert_eq!(quality(&inputs, &registry, 1, near), Quality::FULL, "it writes no height");
    assert_eq!(quality(&inputs, &registry, 0, far), Quality::FULL);

    // The ground is gone, and comes back: every page of every texture shows it.
    let is_ground = |shape: &Shape| matches!(shape, Shape::Terrain(_));
    assert_eq!(inputs.follow(&registry, |shape| !is_ground(shape)), [], "worse inputs change no page");
    assert_eq!(quality(&inputs, &registry, 1, far), Quality::NONE);
    let better = inputs.follow(&registry, |_| true);
    let whole: Vec<_> = better.iter().map(|one| (one.texture, one.region.is_all(), one.quality)).collect();
    assert_eq!(whole, [(texture(0), true, Quality::FULL), (texture(1), true, Quality::FULL)]);

    // What was loading is a little better, then there; only under it.
    registry.set_quality(loading, Quality(120)).unwrap();
    let better = inputs.follow(&registry, |_| true);
    assert!(better.iter().all(|one| one.quality == Quality(120) && one.region.max[0] < 0.2), "{better:?}");
    assert_eq!(better.len(), 2);
    assert_eq!(inputs.follow(&registry, |_| true), [], "once");
    registry.take_invalidations();
    registry.set_quality(loading, Quality::FULL).unwrap();
    assert_eq!(inputs.follow(&registry, |_| true).len(), 2);
    assert_eq!(registry.take_invalidations(), [], "what was drawn from the same stays");
    assert_eq!(quality(&inputs, &registry, 0, near), Quality::FULL);
    // A decal that begins between a page's border and a texel further: the page's drawing reaches it, the planner's edits do
    // not. 64 texels of 100/512 m a page, so 68.5 texels are 13.38 m.
    let texel = 100.0 / 512.0;
    let edge = WriterDesc {
        quality: Quality(90),
        ..WriterDesc::new(
            "edge",
            Shape::Decal(decal([(68.5 + 20.0) * texel, 32.0 * texel], [20.0 * texel; 2])),
        )
    };
    let edge = registry.add(edge).unwrap();
    inputs.follow(&registry, |_| true);
    let right = PageAddress::new(0, 1, 0);
    assert_eq!(quality(&inputs, &registry, 0, near), Quality::FULL, "nobody would draw it again");
    assert_eq!(quality(&inputs, &registry, 0, right), Quality(90));
    registry.remove(edge).unwrap();
    // One that is removed sharpens nothing: its pages are stale anyway.
    registry.set_quality(loading, Quality(1)).unwrap();
    inputs.follow(&registry, |_| true);
    registry.remove(loading).unwrap();
    assert_eq!(inputs.follow(&registry, |_| true), []);
    assert!(registry.set_quality(loading, Quality::FULL).is_err());
    let _ = ground;
}
