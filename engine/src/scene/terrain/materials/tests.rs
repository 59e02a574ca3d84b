//! The splat weights, on invented ground and on the elevation data.

use std::path::Path;

use glam::{Vec2, Vec3, Vec4};
use proptest::prelude::*;

use super::splat::Forms;
use super::*;
use crate::scene::terrain::heightmap::HeightMap;
use crate::scene::terrain::light::LightMaps;
use crate::scene::terrain::surface::Surface;

proptest! {
    #[test]
    fn weights_sum_to_one(
        slope in prop::array::uniform2(-2.0_f32..2.0), curvature in -1.0_f32..1.0, share in 0.0_f32..1.0,
        relief in prop::array::uniform4(-1.0_f32..1.0), noise in prop::array::uniform4(-1.0_f32..1.0),
        highest in 0.0_f32..5000.0,
    ) {
        let forms = Forms {
            slope: Vec2::from(slope),
            curvature,
            share,
            relief: Vec4::from(relief),
            noise: Vec4::from(noise),
            highest,
        };
        let weights = forms.weights();
        prop_assert!(weights.iter().all(|weight| (-1e-6..=1.000_001).contains(weight)), "{weights:?}");
        prop_assert!((weights.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{weights:?}");
    }
}

#[test]
fn every_kind_lies_somewhere_in_the_elevation_data() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/anatolia_srtm3.tif");
    let surface = Surface::new(&HeightMap::open(&file).unwrap(), 1.6);
    let light = LightMaps::compute(&surface, Vec3::new(0.6, 0.3, 0.4), 2);
    let half = surface.half_extent();
    let mut counts = [0u32; GROUND_KINDS];
    for i in 0..120 * 120u32 {
        let (x, z) = ((i % 120) as f32 / 60.0 - 1.0, (i / 120) as f32 / 60.0 - 1.0);
        counts[Forms::at(&surface, &light, x * half.x * 0.97, z * half.y * 0.97).dominant() as usize] += 1;
    }
    for (kind, count) in GroundKind::ALL.into_iter().zip(counts) {
        assert!(count >= 20, "{kind:?} dominates at {count} of 14400 places: {counts:?}");
        assert!(count < 9000, "{kind:?} is nearly everywhere: {counts:?}");
    }
}

#[test]
fn layers_beyond_the_kinds_are_variants() {
    let layers = material_layers(99);
    assert_eq!(layers.len(), MAX_LAYERS);
    for (layer, variant) in layers[..GROUND_KINDS].iter().zip(&layers[GROUND_KINDS..]) {
        assert!(variant.near_period > layer.near_period && variant.tint != layer.tint);
        assert_eq!(variant.roughness, layer.roughness);
    }
    for layer in &layers {
        for [cos, sin] in [layer.near_turn, layer.far_turn] {
            assert!((cos * cos + sin * sin - 1.0).abs() < 1e-6);
        }
        assert!(layer.far_period > 4.0 * layer.near_period);
    }
    assert_eq!(material_layers(3).len(), 3);
}
