//! Compression of pages: what lands in the atlas is bit for bit what the twin on the CPU says, whichever way it goes
//! there, and nothing else of the atlas changes.

use std::sync::Arc;

use ash::vk::{BufferUsageFlags, Format, ImageLayout, ImageUsageFlags};
use vasa::graph::{Access, Frame, FrameGraph, GraphOptions, ImportState, Queue};
use vasa::sparse::{SparseKnobs, SparseMemory};
use vasa::vk::timeline::PresentSync;
use vasa::vk::{Buffer, Device, Image, ImageDesc, ImageRegion, Location};
use vasa::vt::compress::{BATCH_PAGES, Batch, CompressError, Compressor, Kind, PageTexels, Storage, twin};
use vasa::vt::{Atlas, LayerFormat, PhysicalPage, PoolDesc, PoolId, PoolSize};
use vasa_tests::growable::waits;
use vasa_tests::random::Random;
use vasa_tests::{MIB, on_device};

/// Texels of a page with its border, in most tests.
const TILE: u32 = 64;
/// What an atlas holds before: nothing that an encoder writes.
const BEFORE: u8 = 0xa5;

fn page(index: u16) -> PhysicalPage {
    PhysicalPage { pool: PoolId(0), index }
}

/// What a page is drawn to look like: noise, slopes, greys, flat blocks, masks.
fn texels(seed: u64, side: u32) -> Vec<[u8; 4]> {
    let mut random = Random::new(seed);
    let (dx, dy) = (random.below(7) as i32 - 3, random.below(7) as i32 - 3);
    let base: [i32; 4] = std::array::from_fn(|_| random.below(256) as i32);
    let kind = seed % 5;
    let flat: Vec<[u8; 4]> =
        (0..side * side / 16).map(|_| std::array::from_fn(|_| random.below(256) as u8)).collect();
    (0..side * side)
        .map(|i| {
            let (x, y) = ((i % side) as i32, (i / side) as i32);
            let slope = |c: usize| (base[c] + dx * x + dy * y / (c as i32 + 1)).rem_euclid(256) as u8;
            match kind {
                0 => std::array::from_fn(|_| random.below(256) as u8),
                1 => std::array::from_fn(|c| slope(c).saturating_add(random.below(4) as u8)),
                2 => [slope(0); 4],
                3 => flat[(y as u32 / 4 * (side / 4) + x as u32 / 4) as usize],
                _ => std::array::from_fn(|c| match random.below(4) {
                    0 => slope(c),
                    1 => 0,
                    _ => 255,
                }),
            }
        })
        .collect()
}

/// The same for a height: 16 bits, so that the eight that blocks are made of are not simply there.
fn heights(seed: u64, side: u32) -> Vec<u16> {
    let words = texels(seed, side);
    words.iter().map(|t| u16::from_le_bytes([t[1], t[0]])).collect()
}

/// What shaders see of 16 bits in 8.
fn in_eight_bits(height: u16) -> u8 {
    ((u32::from(height) * 255 + 32767) / 65535) as u8
}

/// A pool's atlas on a device, and what tests do with it.
struct Bench {
    sparse: SparseMemory,
    graph: FrameGraph,
    atlas: Atlas,
    texels: u32,
    formats: Vec<LayerFormat>,
    /// Whether atlases are full of `BEFORE` first.
    fills: bool,
}

impl Bench {
    fn new(device: &Arc<Device>, formats: &[LayerFormat], (tile, side): (u32, u32), direct: bool) -> Self {
        let knobs = SparseKnobs { check: true, chunk_bytes: MIB, ..Default::default() };
        let sparse = SparseMemory::new(device, knobs);
        let mut desc = PoolDesc::new("Test", tile - 8, 4, formats);
        desc.budget_bytes = desc.page_bytes() * u64::from(side * side);
        let size = PoolSize::of(&desc).unwrap();
        assert_eq!((size.side, size.texels), (side, side * tile));
        let atlas = Atlas::new(&sparse, &desc, &size, direct).unwrap();
        let wait = waits(sparse.flush(None).unwrap());
        device.wait(&wait).unwrap();
        let graph = FrameGraph::new(device, 1, GraphOptions::default()).unwrap();
        Self { sparse, graph, atlas, texels: size.texels, formats: formats.to_vec(), fills: true }
    }

    fn device(&self) -> Arc<Device> {
        self.graph.device().clone()
    }

    fn buffer(&self, bytes: u64, usage: BufferUsageFlags, location: Location) -> Buffer {
        Buffer::committed(&self.device(), "Test", bytes, usage, location).unwrap()
    }

    /// Compresses batches into an atlas full of `BEFORE`, in one frame; the bytes of its layers, and the pages of the last
    /// batch as the sampler sees them, a list a layer.
    fn compress(&mut self, batches: &[Batch], direct: bool) -> (Vec<Vec<u8>>, Vec<Vec<[f32; 4]>>) {
        let device = self.device();
        let tile = self.atlas.tile();
        let compressor = {
            let kinds =
                batches.iter().filter_map(|batch| Some((batch.kind, batch.kind.storage(&self.formats)?)));
            Compressor::new(&device, &kinds.collect::<Vec<_>>()).unwrap()
        };
        let decoder = PageTexels::new(&device).unwrap();
        let whole = |layer: &LayerFormat| layer.bytes(self.texels, self.texels);
        let most = self.formats.iter().map(whole).max().unwrap();
        let before = self.buffer(most, BufferUsageFlags::TRANSFER_SRC, Location::Upload);
        before.write_mapped(0, &vec![BEFORE; most as usize]).unwrap();
        let back: Vec<Buffer> = self
            .formats
            .iter()
            .map(|layer| self.buffer(whole(layer), BufferUsageFlags::TRANSFER_DST, Location::Readback))
            .collect();
        let drawn: Vec<Vec<(Image, Buffer)>> = batches.iter().map(|batch| self.targets(batch)).collect();
        let last = batches.last().unwrap();
        let page_texels = u64::from(tile * tile);
        let seen_bytes =
            PageTexels::TEXEL_BYTES * page_texels * (last.pages.len() * self.formats.len()) as u64;
        let storage = BufferUsageFlags::STORAGE_BUFFER;
        let seen = self.buffer(seen_bytes, storage, Location::Readback);
        self.graph.wait_for_place().unwrap();
        let mut frame = self.graph.begin();
        let mut handles = self.atlas.import(&mut frame, &self.sparse);
        self.atlas.declare_allocate(&mut frame, &mut handles);
        for layer in (0..self.formats.len()).filter(|_| self.fills) {
            fill(&mut frame, &before, (&mut handles.layers[layer], self.texels));
        }
        for (batch, drawn) in batches.iter().zip(&drawn) {
            let mut targets = [None; 3];
            for (target, (image, source)) in targets.iter_mut().zip(drawn) {
                let mut handle = frame.import_image(image, ImportState::Undefined, None);
                let pass = frame.pass("Draw", Queue::Graphics).write(&mut handle, Access::CopyDestination);
                let bytes = source.bytes() / BATCH_PAGES as u64;
                pass.record(move |pass| {
                    let layers = 0..BATCH_PAGES as u32;
                    let all =
                        layers.map(|layer| (u64::from(layer) * bytes, ImageRegion::mip(image, layer, 0)));
                    let layout = ImageLayout::TRANSFER_DST_OPTIMAL;
                    pass.encoder().copy_buffer_to_regions(source, image, layout, &all.collect::<Vec<_>>());
                    Ok(())
                });
                *target = Some(handle);
            }
            compressor.declare(&mut frame, batch, targets, (&self.atlas, &mut handles), direct).unwrap();
        }
        let mut out = frame.import_buffer(&seen, Some(Access::HostRead));
        for layer in 0..self.formats.len() {
            for (i, page) in last.pages.iter().enumerate() {
                let first = (layer * last.pages.len() + i) as u32 * page_texels as u32;
                let from = (&self.atlas, &handles);
                decoder.declare(&mut frame, from, (layer, *page), (&seen, &mut out, first)).unwrap();
            }
        }
        for (layer, buffer) in back.iter().enumerate() {
            let mut out = frame.import_buffer(buffer, Some(Access::HostRead));
            let source = handles.layers[layer];
            let pass = frame
                .pass("ReadBack", Queue::Graphics)
                .read(source, Access::CopySource)
                .write(&mut out, Access::CopyDestination);
            pass.record(move |pass| {
                let (encoder, resources) = pass.split();
                let image = resources.image(source)?;
                let all = [(0, ImageRegion::mip(image, 0, 0))];
                encoder.copy_regions_to_buffer(image, ImageLayout::TRANSFER_SRC_OPTIMAL, buffer, &all);
                Ok(())
            });
        }
        frame.compile().unwrap().record().unwrap().submit(&[], PresentSync::default()).unwrap();
        self.graph.wait_for_all().unwrap();
        let bytes = back.iter().map(|buffer| buffer.mapped().unwrap().to_vec()).collect();
        let seen: &[[f32; 4]] = bytemuck::cast_slice(seen.mapped().unwrap());
        let a_layer = last.pages.len() * page_texels as usize;
        (bytes, seen.chunks(a_layer).take(self.formats.len()).map(<[_]>::to_vec).collect())
    }

    /// Targets with what the pages of a batch look like in their array layers, and the buffers that it comes from.
    fn targets(&self, batch: &Batch) -> Vec<(Image, Buffer)> {
        let tile = self.atlas.tile();
        let storage = batch.kind.storage(&self.formats).unwrap();
        let is_height = matches!(batch.kind, Kind::WorldHeight | Kind::Displacement);
        (0..batch.kind.targets_read(storage))
            .map(|target| {
                let (format, bytes) = match (is_height, storage, target) {
                    (true, ..) => (Format::R16_UNORM, 2),
                    (_, Storage::AsDrawn, 0) => (Format::R5G6B5_UNORM_PACK16, 2),
                    (_, Storage::AsDrawn, _) => (Format::A1R5G5B5_UNORM_PACK16, 2),
                    _ => (Format::R8G8B8A8_UNORM, 4),
                };
                let usage =
                    ImageUsageFlags::SAMPLED | ImageUsageFlags::TRANSFER_DST | ImageUsageFlags::TRANSFER_SRC;
                let desc =
                    ImageDesc { layers: BATCH_PAGES as u32, ..ImageDesc::new_2d(format, [tile; 2], usage) };
                let image = Image::committed(&self.device(), "Target", desc).unwrap();
                let a_page = u64::from(tile * tile) * bytes;
                let source = self.buffer(
                    a_page * BATCH_PAGES as u64,
                    BufferUsageFlags::TRANSFER_SRC,
                    Location::Upload,
                );
                for (i, page) in (0..).zip(&batch.pages) {
                    let seed = seed(*page, target);
                    let content: Vec<u8> = match bytes {
                        2 => bytemuck::cast_slice(&heights(seed, tile)).to_vec(),
                        _ => texels(seed, tile).concat(),
                    };
                    source.write_mapped(i * a_page, &content).unwrap();
                }
                (image, source)
            })
            .collect()
    }

    /// What the twin says of all layers after these batches.
    fn expected(&self, batches: &[Batch]) -> Vec<Vec<u8>> {
        let mut all: Vec<Vec<u8>> = self
            .formats
            .iter()
            .map(|layer| vec![BEFORE; layer.bytes(self.texels, self.texels) as usize])
            .collect();
        let tile = self.atlas.tile();
        for batch in batches {
            for page in &batch.pages {
                for (layer, (format, bytes)) in
                    self.formats.iter().zip(self.page(batch.kind, *page)).enumerate()
                {
                    let unit = if format.is_block() { 4 } else { 1 };
                    let row = format.bytes(tile, unit) as usize;
                    let pitch = format.bytes(self.texels, unit) as usize;
                    let [x, y] = page.at(self.atlas.side()).map(usize::from);
                    let rows = (tile / unit) as usize;
                    for (i, row_bytes) in bytes.chunks(row).enumerate() {
                        let at = (y * rows + i) * pitch + x * row;
                        all[layer][at..at + row].copy_from_slice(row_bytes);
                    }
                }
            }
        }
        all
    }

    /// A page's bytes in each layer, as the twin says.
    fn page(&self, kind: Kind, page: PhysicalPage) -> Vec<Vec<u8>> {
        let tile = self.atlas.tile();
        let storage = kind.storage(&self.formats).unwrap();
        let targets: Vec<Vec<[u8; 4]>> = (0..3)
            .map(|target| match kind {
                Kind::Displacement => {
                    let heights = heights(seed(page, target), tile);
                    heights.into_iter().map(|h| [in_eight_bits(h), 0, 0, 255]).collect()
                }
                _ => texels(seed(page, target), tile),
            })
            .collect();
        let targets: Vec<&[[u8; 4]]> = targets.iter().map(Vec::as_slice).collect();
        match storage {
            Storage::Blocks => {
                let layers = twin::blocks(kind, &targets, tile as usize);
                layers.iter().map(|words| bytemuck::cast_slice(words).to_vec()).collect()
            }
            Storage::Texels => {
                twin::texels(kind, &targets, tile as usize).into_iter().map(|layer| layer.concat()).collect()
            }
            Storage::AsDrawn => (0..self.formats.len())
                .map(|target| bytemuck::cast_slice(&heights(seed(page, target), tile)).to_vec())
                .collect(),
        }
    }

    fn finish(self) {
        let device = self.device();
        drop(self);
        device.wait_idle().unwrap();
    }
}

fn seed(page: PhysicalPage, target: usize) -> u64 {
    u64::from(page.index) + 1000 * target as u64
}

fn fill<'f>(
    frame: &mut Frame<'_, 'f>,
    source: &'f Buffer,
    (handle, side): (&mut vasa::graph::ImageHandle, u32),
) {
    let pass = frame.pass("Fill", Queue::Graphics).write(handle, Access::CopyDestination);
    let handle = *handle;
    pass.record(move |pass| {
        let (encoder, resources) = pass.split();
        let image = resources.image(handle)?;
        let region = ImageRegion { mip: 0, layer: 0, offset: [0; 3], extent: [side, side, 1] };
        encoder.copy_buffer_to_regions(source, image, ImageLayout::TRANSFER_DST_OPTIMAL, &[(0, region)]);
        Ok(())
    });
}

/// Where two lists of bytes first differ, in words that help.
fn expect_same(got: &[Vec<u8>], want: &[Vec<u8>], what: &str) {
    assert_eq!(got.len(), want.len());
    for (layer, (got, want)) in got.iter().zip(want).enumerate() {
        let wrong: Vec<usize> = (0..want.len()).filter(|i| got[*i] != want[*i]).collect();
        let first = wrong.first().copied().unwrap_or(0) / 16 * 16;
        assert!(
            wrong.is_empty(),
            "{what}, layer {layer}: {} of {} bytes differ, first near {first}: {:x?} and not {:x?}",
            wrong.len(),
            want.len(),
            &got[first..first + 16],
            &want[first..first + 16]
        );
    }
}

fn pages(numbers: &[u16]) -> Vec<PhysicalPage> {
    numbers.iter().map(|n| page(*n)).collect()
}

#[test]
fn every_kind_lands_in_the_atlas_as_the_twin_says_both_ways() {
    on_device(|h| {
        for kind in Kind::ALL.into_iter().filter(|kind| !kind.blocks().is_empty()) {
            let numbers = [3, 15, 1, 6, 9];
            let batch = Batch { kind, pages: pages(&numbers) };
            for (made_direct, direct) in [(true, true), (true, false), (false, true)] {
                let mut bench = Bench::new(&h.device, kind.blocks(), (TILE, 4), made_direct);
                assert_eq!(bench.atlas.is_direct(), made_direct);
                let (got, _) = bench.compress(std::slice::from_ref(&batch), direct);
                let want = bench.expected(std::slice::from_ref(&batch));
                expect_same(&got, &want, &format!("{kind}, made direct: {made_direct}, direct: {direct}"));
            }
        }
    });
}

#[test]
fn batches_of_one_to_eight_pages_and_several_a_frame() {
    on_device(|h| {
        let kind = Kind::BaseColorNormalRoughness;
        for direct in [true, false] {
            let mut bench = Bench::new(&h.device, kind.blocks(), (TILE, 6), true);
            for count in 1..=BATCH_PAGES as u16 {
                // Scattered over the 35 pages, no two the same; the second batch overwrites some of the first.
                let scattered = |first: u16, count| -> Vec<u16> {
                    (0..count).map(|i| 1 + (first + i * 8) % 35).collect()
                };
                let batches = [
                    Batch { kind, pages: pages(&scattered(count, count)) },
                    Batch { kind, pages: pages(&scattered(count + 8, 9 - count)) },
                ];
                let (got, _) = bench.compress(&batches, direct);
                expect_same(&got, &bench.expected(&batches), &format!("{count} pages, direct: {direct}"));
            }
        }
    });
}

#[test]
fn pages_of_264_texels_in_an_atlas_of_many_chunks() {
    on_device(|h| {
        let kind = Kind::BaseColorNormalSpecularMaskYCoCg;
        let mut bench = Bench::new(&h.device, kind.blocks(), (264, 5), true);
        assert!(bench.atlas.bytes() > 4 * MIB);
        let batch = Batch { kind, pages: pages(&[24, 7]) };
        let (got, _) = bench.compress(std::slice::from_ref(&batch), true);
        expect_same(&got, &bench.expected(&[batch]), "264");
    });
}

/// How far apart the two ends of each channel of a block are, in steps of 1/255. Decoders may round what lies between
/// them: by a step and 3 in a hundred of this, as Direct3D has it (NVIDIA takes 80 / 256 for a third of green).
fn apart(format: LayerFormat, words: &[u32]) -> [f32; 4] {
    let scalar = |word: u32| (word & 255).abs_diff(word >> 8 & 255) as f32;
    let colour = |word: u32| {
        [(11, 31), (5, 63), (0, 31)].map(|(shift, mask)| {
            let ends = [word >> shift & mask, word >> (16 + shift) & mask];
            ends[0].abs_diff(ends[1]) as f32 * 255.0 / mask as f32
        })
    };
    match (format, words) {
        (LayerFormat::Bc1, [first, ..]) => {
            let [r, g, b] = colour(*first);
            [r, g, b, 0.0]
        }
        (LayerFormat::Bc3, [first, _, third, ..]) => {
            let [r, g, b] = colour(*third);
            [r, g, b, scalar(*first)]
        }
        (LayerFormat::Bc4, [first, ..]) => [scalar(*first), 0.0, 0.0, 0.0],
        (LayerFormat::Bc5, [first, _, third, ..]) => [scalar(*first), scalar(*third), 0.0, 0.0],
        _ => [0.0; 4],
    }
}

#[test]
fn the_sampler_sees_what_the_decoder_says() {
    on_device(|h| {
        for kind in Kind::ALL.into_iter().filter(|kind| !kind.blocks().is_empty()) {
            let mut bench = Bench::new(&h.device, kind.blocks(), (TILE, 4), true);
            let batch = Batch { kind, pages: pages(&[5, 10, 11, 12, 14]) };
            let (bytes, seen) = bench.compress(std::slice::from_ref(&batch), true);
            let want = bench.expected(std::slice::from_ref(&batch));
            expect_same(&bytes, &want, "decoded");
            for (layer, format) in kind.blocks().iter().enumerate() {
                // How far off in steps of 1/255, over what is allowed.
                let mut most = [0.0f32; 4];
                for (i, page) in batch.pages.iter().enumerate() {
                    let words: Vec<u32> = bytemuck::pod_collect_to_vec(&bench.page(kind, *page)[layer]);
                    let unit = format.unit_bytes() as usize / 4;
                    for (block, words) in words.chunks(unit).enumerate() {
                        let (x, y) = (block % 16 * 4, block / 16 * 4);
                        let allowed = apart(*format, words).map(|apart| 1.0 + 0.03 * apart);
                        for (k, want) in twin::decode(*format, words).into_iter().enumerate() {
                            let at = i * 4096 + (y + k / 4) * 64 + x + k % 4;
                            for c in 0..4 {
                                let off = (seen[layer][at][c] - want[c]).abs() * 255.0;
                                most[c] = most[c].max(off / allowed[c]);
                            }
                        }
                    }
                }
                assert!(
                    most.iter().all(|m| *m <= 1.0),
                    "{kind}, layer {layer}: off by {most:?} of what is allowed"
                );
            }
        }
    });
}

#[test]
fn what_is_stored_as_it_is_drawn_is_copied() {
    on_device(|h| {
        use LayerFormat::{R16, Rgb565, Rgba5551};
        let low = Kind::BaseColorNormalRoughness;
        let cases: [(Kind, &[LayerFormat]); 3] =
            [(Kind::WorldHeight, &[R16]), (Kind::Displacement, &[R16]), (low, &[Rgb565, Rgba5551])];
        for (kind, layers) in cases {
            let mut bench = Bench::new(&h.device, layers, (TILE, 4), true);
            assert!(!bench.atlas.is_direct());
            let batch = Batch { kind, pages: pages(&[2, 8, 13]) };
            let (got, _) = bench.compress(std::slice::from_ref(&batch), true);
            expect_same(&got, &bench.expected(&[batch]), &format!("{kind}"));
        }
    });
}

#[test]
fn without_bc_pages_are_packed_into_texels_both_ways() {
    on_device(|h| {
        let device = h.open_masked("bc");
        let desc = PoolDesc::new("Blocks", TILE - 8, 4, &[LayerFormat::Rgba8, LayerFormat::Bc5]);
        let knobs = SparseKnobs { check: true, chunk_bytes: MIB, ..Default::default() };
        let sparse = SparseMemory::new(&device, knobs);
        let error = Atlas::new(&sparse, &desc, &PoolSize::of(&desc).unwrap(), true).unwrap_err().to_string();
        assert!(error.contains("layer 1 is Bc5") && error.contains("`Rgba8`"), "{error}");
        drop(sparse);
        for kind in Kind::ALL {
            let formats = vec![LayerFormat::Rgba8; kind.blocks().len()];
            if kind.storage(&formats) != Some(Storage::Texels) {
                continue;
            }
            for direct in [true, false] {
                let mut bench = Bench::new(&device, &formats, (TILE, 4), true);
                let batch = Batch { kind, pages: pages(&[1, 4, 7, 10, 13, 15]) };
                let (got, seen) = bench.compress(std::slice::from_ref(&batch), direct);
                expect_same(&got, &bench.expected(&[batch]), &format!("{kind}, direct: {direct}"));
                assert!(seen.iter().flatten().flatten().all(|v| (0.0..=1.0).contains(v)));
                bench.finish();
            }
        }
        device.wait_idle().unwrap();
    });
}

#[test]
fn what_cannot_be_compressed_is_refused_with_a_reason() {
    on_device(|h| {
        let kind = Kind::BaseColor;
        let mut bench = Bench::new(&h.device, kind.blocks(), (TILE, 4), true);
        let compressor = Compressor::new(&h.device, &[(kind, Storage::Blocks)]).unwrap();
        let mut frame = bench.graph.begin();
        let mut handles = bench.atlas.import(&mut frame, &bench.sparse);
        bench.atlas.declare_allocate(&mut frame, &mut handles);
        let before = handles.clone();
        let mut refused = |kind, numbers: &[u16]| -> CompressError {
            let batch = Batch { kind, pages: pages(numbers) };
            let atlas = (&bench.atlas, &mut handles);
            compressor.declare(&mut frame, &batch, [None; 3], atlas, true).unwrap_err()
        };
        let said = [
            refused(Kind::Mask4, &[1]),
            refused(kind, &[]),
            refused(kind, &[1, 2, 1]),
            refused(kind, &[1, 2, 3, 4, 5, 6, 7, 8, 9]),
            refused(kind, &[0]),
            refused(kind, &[16]),
            refused(kind, &[1]),
        ];
        let said: Vec<String> = said.iter().map(ToString::to_string).collect();
        assert_eq!(handles, before, "nothing was declared");
        insta::assert_snapshot!(said.join("\n"), @r"
        pages of Mask4 cannot be stored in the atlas Test, whose layers are [Bc1]: it wants [Bc3]
        a batch has 1 to 8 pages, no two of them the same: this has []
        a batch has 1 to 8 pages, no two of them the same: this has [1, 2, 1]
        a batch has 1 to 8 pages, no two of them the same: this has [1, 2, 3, 4, 5, 6, 7, 8, 9]
        the atlas Test has 4 x 4 pages, of which page 0 is reserved: there is no page 0 to use
        the atlas Test has 4 x 4 pages, of which page 0 is reserved: there is no page 16 to use
        pages of BaseColor are made from 1 targets, and target 0 was not given
        ");
    });
}

#[test]
fn a_new_atlas_takes_pages_and_keeps_them_from_one_graph_to_the_next() {
    on_device(|h| {
        let kind = Kind::Mask4;
        let mut bench = Bench::new(&h.device, kind.blocks(), (TILE, 4), true);
        bench.fills = false;
        let batch = Batch { kind, pages: pages(&[6]) };
        let (got, _) = bench.compress(std::slice::from_ref(&batch), true);
        // A graph that knows nothing of what the first one left.
        bench.graph = FrameGraph::new(&h.device, 1, GraphOptions::default()).unwrap();
        let bytes = bench.atlas.page_bytes(0);
        let buffer = bench.buffer(bytes, BufferUsageFlags::TRANSFER_DST, Location::Readback);
        let mut frame = bench.graph.begin();
        let handles = bench.atlas.import(&mut frame, &bench.sparse);
        let mut out = frame.import_buffer(&buffer, Some(Access::HostRead));
        bench.atlas.declare_read(&mut frame, &handles, (0, page(6)), (&buffer, &mut out, 0)).unwrap();
        frame.compile().unwrap().record().unwrap().submit(&[], PresentSync::default()).unwrap();
        bench.graph.wait_for_all().unwrap();
        assert_eq!(buffer.mapped().unwrap()[..bytes as usize], bench.page(kind, page(6))[0]);
        assert!(got[0].iter().any(|byte| *byte != BEFORE));
    });
}
