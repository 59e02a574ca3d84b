//! The layers of the terrain's material: tiles without a seam, each its own, with mips that are their means.

use ash::vk::{AccessFlags2 as Access, BufferUsageFlags, ImageLayout, PipelineStageFlags2 as Stage};
use vasa::scene::terrain::materials::{Layers, LayersDesc};
use vasa::vk::{Buffer, Image, ImageRegion, Location};
use vasa_tests::harness::{Harness, on_device};

const SIZE: u32 = 128;

/// Texels of a mip of a layer, row by row.
fn texels(h: &Harness, image: &Image, layer: u32, mip: u32) -> Vec<[f32; 4]> {
    let region = ImageRegion::mip(image, layer, mip);
    let bytes = u64::from(region.extent[0] * region.extent[1]) * 4;
    let usage = BufferUsageFlags::TRANSFER_DST;
    let back = Buffer::committed(&h.device, "Layer", bytes, usage, Location::Readback).unwrap();
    let any = (Stage::ALL_COMMANDS, Access::MEMORY_READ | Access::MEMORY_WRITE);
    let aspect = image.desc().aspect();
    let (read, copied) = (ImageLayout::SHADER_READ_ONLY_OPTIMAL, ImageLayout::TRANSFER_SRC_OPTIMAL);
    let done = h.submit("ReadLayer", &[], |encoder| {
        encoder.image_barrier(image.raw(), aspect, (read, copied), any, any);
        encoder.copy_regions_to_buffer(image, copied, &back, &[(0, region)]);
        encoder.image_barrier(image.raw(), aspect, (copied, read), any, any);
        encoder.memory_barrier(any, (Stage::HOST, Access::HOST_READ));
    });
    h.device.wait(&[done]).unwrap();
    let mapped = back.mapped().unwrap();
    mapped[..bytes as usize]
        .chunks_exact(4)
        .map(|t| [t[0], t[1], t[2], t[3]].map(|v| f32::from(v) / 255.0))
        .collect()
}

fn layers(h: &Harness, count: u32, seed: u32) -> Layers {
    Layers::new(&h.device, LayersDesc { count, size: SIZE, seed }).unwrap()
}

fn mean(texels: &[[f32; 4]]) -> [f32; 4] {
    std::array::from_fn(|c| texels.iter().map(|t| t[c]).sum::<f32>() / texels.len() as f32)
}

/// Mean difference between two columns, or two rows, of a square.
fn step(texels: &[[f32; 4]], side: usize, from: usize, to: usize, is_row: bool) -> f32 {
    let at = |line: usize, i: usize| if is_row { texels[line * side + i] } else { texels[i * side + line] };
    let differences = (0..side).flat_map(|i| {
        let (a, b) = (at(from, i), at(to, i));
        (0..4).map(move |c| (a[c] - b[c]).abs())
    });
    differences.sum::<f32>() / (4 * side) as f32
}

#[test]
fn layers_repeat_without_a_seam() {
    on_device(|h| {
        let made = layers(h, 8, 1);
        let side = SIZE as usize;
        for layer in 0..made.count() {
            for image in [made.colours(), made.forms()] {
                let texels = texels(h, image, layer, 0);
                for is_row in [false, true] {
                    let inner = (0..side - 1).map(|i| step(&texels, side, i, i + 1, is_row));
                    let (widest, sum) = inner.fold((0f32, 0.0), |(w, s), d| (w.max(d), s + d));
                    let seam = step(&texels, side, side - 1, 0, is_row);
                    assert!(
                        seam <= widest && seam < 1.6 * sum / (side - 1) as f32,
                        "layer {layer} of {}: {seam} across the seam, {widest} at most inside",
                        image.name()
                    );
                }
            }
        }
    });
}

#[test]
fn every_layer_is_its_own_and_has_structure() {
    on_device(|h| {
        let made = layers(h, 16, 1);
        let all: Vec<_> = (0..16).map(|layer| texels(h, made.colours(), layer, 0)).collect();
        for (layer, texels) in all.iter().enumerate() {
            let mean = mean(texels);
            // Relative colours and heights, about what shaders take for the mean.
            for (c, expected) in [0.4, 0.4, 0.4, 0.5].into_iter().enumerate() {
                assert!((mean[c] - expected).abs() < 0.03, "layer {layer}: mean {mean:?}");
            }
            let spread = texels.iter().map(|t| (t[3] - mean[3]).powi(2)).sum::<f32>() / texels.len() as f32;
            assert!(spread.sqrt() > 0.03, "layer {layer} is flat: {}", spread.sqrt());
            for other in &all[..layer] {
                let same = texels
                    .iter()
                    .zip(other)
                    .filter(|(a, b)| (0..4).all(|c| (a[c] - b[c]).abs() < 0.02))
                    .count();
                assert!(same * 2 < texels.len(), "layer {layer} is like one before it: {same} texels");
            }
        }
        let again = layers(h, 16, 1);
        assert!(texels(h, again.colours(), 11, 0) == all[11], "the same seed gives other texels");
        let others = layers(h, 2, 2);
        assert!(texels(h, others.colours(), 0, 0) != all[0], "the seed counts for nothing");
    });
}

#[test]
fn normals_are_unit_and_mips_are_means() {
    on_device(|h| {
        let made = layers(h, 8, 1);
        for layer in 0..made.count() {
            let finest = texels(h, made.forms(), layer, 0);
            let mut leaning = 0.0;
            for texel in &finest {
                let (x, z) = (texel[0] * 2.0 - 1.0, texel[1] * 2.0 - 1.0);
                // What is left for the third axis, which shaders take from these two.
                assert!(x * x + z * z < 1.02, "layer {layer}: {x} {z} is longer than a unit vector");
                leaning += (x * x + z * z).sqrt();
            }
            assert!(leaning / finest.len() as f32 > 0.02, "layer {layer} has no relief");
            for image in [made.colours(), made.forms()] {
                let (fine, coarse) = (texels(h, image, layer, 1), texels(h, image, layer, 2));
                let side = SIZE as usize / 4;
                for (i, texel) in coarse.iter().enumerate() {
                    let (x, y) = (i % side * 2, i / side * 2);
                    let four =
                        [(x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1)].map(|(x, y)| fine[y * side * 2 + x]);
                    for c in [0, 1, 3] {
                        let expected = four.iter().map(|t| t[c]).sum::<f32>() / 4.0;
                        // Both were rounded to 8 bits, and what was cut off at white is not in the finer one.
                        let cut = four.iter().any(|t| t[c] > 0.99);
                        assert!(
                            cut || (texel[c] - expected).abs() < 2.1 / 255.0,
                            "layer {layer}, {}: {} for a mean of {expected}",
                            image.name(),
                            texel[c]
                        );
                    }
                }
            }
            // What normals lose in length is roughness.
            let last = made.forms().desc().mips - 1;
            let (rough, mean) = (texels(h, made.forms(), layer, last)[0][2], mean(&finest)[2]);
            assert!(rough >= mean - 0.02, "layer {layer}: {rough} far away, {mean} near");
        }
    });
}
