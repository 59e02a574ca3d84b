//! Pages on their whole way: drawn, and compressed into the atlas, which then holds bit for bit what the twin of the
//! encoders makes of what was drawn.

use ash::vk::{BufferUsageFlags, ImageLayout};
use vasa::graph::{Access, Frame, FrameGraph, GraphOptions, ImageHandle, Queue};
use vasa::sparse::{SparseKnobs, SparseMemory};
use vasa::vk::timeline::PresentSync;
use vasa::vk::{Buffer, ImageRegion, Location};
use vasa::vt::compress::{Compressor, Kind, Storage, twin};
use vasa::vt::runtime::{ImportedTargets, KindOptions, PageRenderer};
use vasa::vt::{Atlas, PoolDesc, PoolSize};
use vasa_tests::growable::waits;
use vasa_tests::pages::{DrawnPage, Pages, busy, page, texture, work};
use vasa_tests::{MIB, on_device, scenes};

/// What the atlas should hold of a page, a layer each.
fn stored(kind: Kind, storage: Storage, drawn: &DrawnPage) -> Vec<Vec<u8>> {
    let as_drawn: Vec<Vec<u8>> = drawn.targets.iter().map(|(_, bytes)| bytes.clone()).collect();
    if storage == Storage::AsDrawn {
        return as_drawn;
    }
    let texels: Vec<&[[u8; 4]]> = as_drawn.iter().map(|bytes| texels_of(bytes)).collect();
    let blocks = twin::blocks(kind, &texels, drawn.side as usize);
    blocks.into_iter().map(|words| bytemuck::cast_slice(&words).to_vec()).collect()
}

fn texels_of(bytes: &[u8]) -> &[[u8; 4]] {
    bytemuck::cast_slice(bytes)
}

/// Fills all of an atlas that is new: pages are written one by one, and keep the rest.
fn fill<'f>(frame: &mut Frame<'_, 'f>, source: &'f Buffer, handle: &mut ImageHandle, side: u32) {
    let pass = frame.pass("Fill", Queue::Graphics).write(handle, Access::CopyDestination);
    let filled = *handle;
    pass.record(move |pass| {
        let (encoder, resources) = pass.split();
        let region = ImageRegion { mip: 0, layer: 0, offset: [0; 3], extent: [side, side, 1] };
        let (image, layout) = (resources.image(filled)?, ImageLayout::TRANSFER_DST_OPTIMAL);
        encoder.copy_buffer_to_regions(source, image, layout, &[(0, region)]);
        Ok(())
    });
}

#[test]
fn drawn_pages_arrive_in_the_atlas() {
    on_device(|h| {
        let engine = scenes::engine(&h.device, 2);
        let low = KindOptions { is_low_quality: true, ..KindOptions::default() };
        let colours = Kind::BaseColorNormalRoughness;
        let kinds = Kind::ALL.map(|kind| (kind, KindOptions::default()));
        // In 16 bits the twin, which has 8, cannot follow.
        let kinds = kinds.into_iter().filter(|(kind, _)| *kind != Kind::Displacement).chain([(colours, low)]);
        for (kind, options) in kinds {
            let mut texture = texture(kind);
            texture.groups = vec![(kind, options)];
            let registry = busy(&texture);
            // More than a batch, on pages all over the atlas.
            let works: Vec<_> = (0..10u16).map(|i| work(0, i * 3 + 1, page(i as u8 % 3, i / 3, 1))).collect();
            let drawn = Pages::new(h).draw(h, &engine, &registry, &works);

            let knobs = SparseKnobs { check: true, chunk_bytes: MIB, ..Default::default() };
            let sparse = SparseMemory::new(&h.device, knobs);
            let layers = kind.layers(options);
            let mut desc = PoolDesc::new("Test", 64, 4, &layers);
            desc.budget_bytes = desc.page_bytes() * 36;
            let size = PoolSize::of(&desc).unwrap();
            let atlas = Atlas::new(&sparse, &desc, &size, true).unwrap();
            let most = u64::from(size.texels * size.texels) * 4;
            let usage = BufferUsageFlags::TRANSFER_SRC;
            let before = Buffer::committed(&h.device, "Before", most, usage, Location::Upload).unwrap();
            before.write_mapped(0, &vec![0xa5; most as usize]).unwrap();
            h.device.wait(&waits(sparse.flush(None).unwrap())).unwrap();
            let storage = kind.storage(&layers).unwrap();
            let compressor = Compressor::new(&h.device, &[(kind, storage)]).unwrap();
            let bytes: u64 = (0..layers.len()).map(|layer| atlas.page_bytes(layer)).sum();
            let usage = BufferUsageFlags::TRANSFER_DST;
            let result =
                Buffer::committed(&h.device, "Result", bytes * 10, usage, Location::Readback).unwrap();
            let mut graph = FrameGraph::new(&h.device, 2, GraphOptions::default()).unwrap();
            let mut renderer = PageRenderer::new(&h.device, 2);

            graph.wait_for_place().unwrap();
            renderer.prepare(graph.place(), (engine.scene(), &registry), &works).unwrap();
            let mut frame = graph.begin();
            let buffers = engine.scene().import(&mut frame);
            let (mut imported, mut handles) = (ImportedTargets::default(), atlas.import(&mut frame, &sparse));
            atlas.declare_allocate(&mut frame, &mut handles);
            for handle in &mut handles.layers {
                fill(&mut frame, &before, handle, size.texels);
            }
            assert_eq!(renderer.batch_count(), 2);
            for index in 0..renderer.batch_count() {
                let scene = (engine.scene(), buffers);
                let batch = renderer.declare(&mut frame, scene, &mut imported, index).unwrap();
                let (batch, targets) = batch.to_compress();
                compressor.declare(&mut frame, &batch, targets, (&atlas, &mut handles), true).unwrap();
            }
            let mut out = frame.import_buffer(&result, Some(Access::HostRead));
            let mut offsets = vec![0];
            for work in &works {
                for layer in 0..layers.len() {
                    let offset = offsets.last().copied().unwrap();
                    atlas
                        .declare_read(
                            &mut frame,
                            &handles,
                            (layer, work.physical),
                            (&result, &mut out, offset),
                        )
                        .unwrap();
                    offsets.push(offset + atlas.page_bytes(layer));
                }
            }
            frame.compile().unwrap().record().unwrap().submit(&[], PresentSync::default()).unwrap();
            graph.wait_for_all().unwrap();
            let mapped = result.mapped().unwrap();
            for (index, drawn) in drawn.iter().enumerate() {
                for (layer, expected) in stored(kind, storage, drawn).iter().enumerate() {
                    let at = offsets[index * layers.len() + layer] as usize;
                    let found = &mapped[at..at + expected.len()];
                    let differ = found.iter().zip(expected).filter(|(a, b)| a != b).count();
                    assert_eq!(differ, 0, "{kind} {options:?} {} layer {layer}: bytes differ", drawn.page);
                }
            }
        }
    });
}
