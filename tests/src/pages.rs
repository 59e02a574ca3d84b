//! Drawing pages of runtime virtual textures in tests, and reading their targets back.

use ash::vk::{BufferUsageFlags, ImageLayout};
use glam::Vec2;
use vasa::Engine;
use vasa::graph::{Access, FrameGraph, GraphOptions, Queue};
use vasa::vk::timeline::PresentSync;
use vasa::vk::{Buffer, ImageRegion, Location};
use vasa::vt::planner::{Budget, Cause, PageReason};
use vasa::vt::runtime::pattern::Pattern;
use vasa::vt::runtime::{
    ImportedTargets, Kind, KindOptions, Look, PageCamera, PageRenderer, PageShape, Paint, Rectangle,
    Registry, RibbonKnot, RuntimeTexture, Shape, TargetFormat, Volume, WriterDesc,
};
use vasa::vt::{Grid, PageAddress, PageWork, PhysicalPage, PoolId, TextureId};

use crate::Harness;

/// The texture that tests draw.
pub fn texture_id() -> TextureId {
    TextureId::from_parts(0, 0)
}

/// A page of that texture to draw, for a place in the atlas of a pool.
pub fn work(pool: u8, index: u16, page: PageAddress) -> PageWork {
    PageWork {
        texture: texture_id(),
        group: 0,
        page,
        physical: PhysicalPage { pool: PoolId(pool), index },
        reason: PageReason { cause: Cause::Preload, budget: Budget::Exempt },
        redraw: false,
        baked: false,
    }
}

/// What was drawn for a page.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnPage {
    /// The page.
    pub page: PageAddress,
    /// Texels a side.
    pub side: u32,
    /// Format and bytes of each target.
    pub targets: Vec<(TargetFormat, Vec<u8>)>,
}

impl DrawnPage {
    /// Bytes of a texel of a target.
    pub fn bytes(&self, target: usize, i: u32, j: u32) -> &[u8] {
        let (format, bytes) = &self.targets[target];
        let texel = format.texel_bytes() as usize;
        let at = (j * self.side + i) as usize * texel;
        &bytes[at..at + texel]
    }

    /// A texel of a target: red, green, blue and alpha from 0 to 1; what the format has not is 0, alpha 1.
    pub fn texel(&self, target: usize, i: u32, j: u32) -> [f32; 4] {
        let bytes = self.bytes(target, i, j);
        let word = || u16::from_le_bytes([bytes[0], bytes[1]]);
        let part = |shift: u32, bits: u32| {
            let most = (1u16 << bits) - 1;
            f32::from(word() >> shift & most) / f32::from(most)
        };
        match self.targets[target].0 {
            TargetFormat::Rgba8 => [0, 1, 2, 3].map(|c| f32::from(bytes[c]) / 255.0),
            TargetFormat::Rgb565 => [part(11, 5), part(5, 6), part(0, 5), 1.0],
            TargetFormat::Rgba5551 => [part(10, 5), part(5, 5), part(0, 5), part(15, 1)],
            TargetFormat::R16 => [f32::from(word()) / 65535.0, 0.0, 0.0, 1.0],
        }
    }
}

/// Half a step of a channel of a format, and a whole one.
pub fn step(format: TargetFormat) -> f32 {
    match format {
        TargetFormat::Rgba8 => 1.0 / 255.0,
        TargetFormat::Rgb565 | TargetFormat::Rgba5551 => 1.0 / 31.0,
        TargetFormat::R16 => 1.0 / 65535.0,
    }
}

/// A graph and what draws pages on it.
pub struct Pages {
    graph: FrameGraph,
    /// What draws.
    pub renderer: PageRenderer,
}

impl Pages {
    /// Two frames in flight.
    ///
    /// # Panics
    /// When the graph cannot be made.
    pub fn new(h: &Harness) -> Self {
        let graph = FrameGraph::new(&h.device, 2, GraphOptions::default()).unwrap();
        Self { graph, renderer: PageRenderer::new(&h.device, 2) }
    }

    /// Draws pages in one frame and reads what was drawn, in the order of `works`. The engine must be idle.
    ///
    /// # Panics
    /// When anything fails.
    pub fn draw(
        &mut self,
        h: &Harness,
        engine: &Engine,
        registry: &Registry,
        works: &[PageWork],
    ) -> Vec<DrawnPage> {
        self.graph.wait_for_place().unwrap();
        let scene = engine.scene();
        let mut frame_pages = Vec::new();
        let mut results: Vec<Buffer> = Vec::new();
        let place = self.graph.place();
        self.renderer.prepare(place, (scene, registry), works).unwrap();
        let most = vasa::vt::runtime::BATCH_PAGES as u64 * 3 * 4 * 300 * 300;
        for _ in 0..self.renderer.batch_count() {
            let usage = BufferUsageFlags::TRANSFER_DST;
            results.push(Buffer::committed(&h.device, "Result", most, usage, Location::Readback).unwrap());
        }
        let renderer = &self.renderer;
        let mut frame = self.graph.begin();
        let buffers = scene.import(&mut frame);
        let mut imported = ImportedTargets::default();
        for (index, result) in results.iter().enumerate() {
            let batch = renderer.declare(&mut frame, (scene, buffers), &mut imported, index).unwrap();
            let mut out = frame.import_buffer(result, Some(Access::HostRead));
            let pass = frame
                .pass("Readback", Queue::Graphics)
                .read_all(batch.images.iter().copied(), Access::CopySource)
                .write(&mut out, Access::CopyDestination);
            let side = batch.target.side;
            let layer_bytes =
                move |format: TargetFormat| u64::from(side) * u64::from(side) * format.texel_bytes();
            let (formats, count) = (batch.target.formats(), batch.works.len());
            for (layer, work) in batch.works.iter().enumerate() {
                let mut offset = 0;
                let parts: Vec<_> = formats
                    .iter()
                    .map(|format| {
                        let at = offset + layer as u64 * layer_bytes(*format);
                        offset += layer_bytes(*format) * count as u64;
                        (*format, at, layer_bytes(*format))
                    })
                    .collect();
                frame_pages.push((index, work.page, side, parts));
            }
            let images = batch.images.clone();
            pass.record(move |pass| {
                let (encoder, resources) = pass.split();
                let mut offset = 0;
                for (image, format) in images.iter().zip(formats) {
                    let copies: Vec<_> = (0..count as u32)
                        .map(|layer| {
                            let extent = [side, side, 1];
                            let region = ImageRegion { mip: 0, layer, offset: [0; 3], extent };
                            (offset + u64::from(layer) * layer_bytes(*format), region)
                        })
                        .collect();
                    let image = resources.image(*image)?;
                    encoder.copy_regions_to_buffer(image, ImageLayout::TRANSFER_SRC_OPTIMAL, result, &copies);
                    offset += layer_bytes(*format) * count as u64;
                }
                Ok(())
            });
        }
        frame.compile().unwrap().record().unwrap().submit(&[], PresentSync::default()).unwrap();
        self.graph.wait_for_all().unwrap();
        let read = |(batch, page, side, parts): (usize, PageAddress, u32, Vec<(TargetFormat, u64, u64)>)| {
            let mapped = results[batch].mapped().unwrap();
            let part = |(format, at, bytes): (TargetFormat, u64, u64)| {
                (format, mapped[at as usize..(at + bytes) as usize].to_vec())
            };
            DrawnPage { page, side, targets: parts.into_iter().map(part).collect() }
        };
        frame_pages.into_iter().map(read).collect()
    }
}

/// What a surface writes into each target of a kind: codes from 0 to 1, by the formulas of
/// `shaders/lib/virtual_texture_kinds.wgsl`.
pub fn pattern_targets(
    texture: &RuntimeTexture,
    (kind, options): (Kind, KindOptions),
    at: Vec2,
) -> Vec<[f32; 3]> {
    let p = Pattern::at(at);
    let colour = p.base_colour.map(f32::sqrt);
    let normal = [p.normal.x, p.normal.z, p.normal.y].map(|n| (n * 127.0 + 128.0) / 255.0);
    let metres = if kind == Kind::Displacement { p.displacement } else { p.height };
    let [low, high] = texture.height_range(kind);
    match kind {
        Kind::BaseColor => vec![colour],
        Kind::Mask4 => vec![[p.mask[0], p.mask[1], 0.0], [p.mask[2], p.mask[3], 0.0]],
        Kind::WorldHeight | Kind::Displacement => {
            vec![[((metres - low) / (high - low)).clamp(0.0, 1.0), 0.0, 0.0]]
        }
        Kind::BaseColorNormalRoughness if options.is_low_quality => {
            vec![colour, [normal[0], normal[1], p.roughness]]
        }
        // The mask's channel is written only where the kind stores it.
        _ => {
            let has_mask = kind == Kind::BaseColorNormalSpecularMaskYCoCg;
            let has_specular = kind != Kind::BaseColorNormalRoughness;
            let mask = if has_mask { p.mask[0] } else { f32::NAN };
            let specular = if has_specular { p.specular } else { f32::NAN };
            vec![colour, [normal[0], normal[1], mask], [specular, p.roughness, normal[2]]]
        }
    }
}

/// The camera that a page was drawn with.
pub fn camera(texture: &RuntimeTexture, page: PageAddress) -> PageCamera {
    PageCamera::new(&texture.volume, &texture.shape, page)
}

/// A kind that stores everything that is seen.
pub const MASK_KIND: Kind = Kind::BaseColorNormalSpecularMaskYCoCg;

/// 16 x 8 pages of 64 texels, 4 m a texel, somewhere off the origin.
///
/// # Panics
/// Never, unless the numbers here are changed.
pub fn texture(kind: Kind) -> RuntimeTexture {
    let volume = Volume::new([-1500.0, -700.0], [4096.0, 2048.0], [-10.0, 90.0]).unwrap();
    let shape = PageShape::new(Grid::new([16, 8], 0).unwrap(), 64, 4).unwrap();
    RuntimeTexture { displacements: [-1.0, 3.0], ..RuntimeTexture::new("ground", volume, shape, kind) }
}

/// More than any texture of the tests covers.
pub fn everywhere() -> Rectangle {
    Rectangle::around(Vec2::splat(-20_000.0), Vec2::splat(20_000.0))
}

/// A registry of one texture with the calibration pattern below everything.
///
/// # Panics
/// Never, unless the numbers here are changed.
pub fn patterned(texture: &RuntimeTexture) -> Registry {
    let mut registry = Registry::new();
    registry.set_texture(texture_id(), texture.clone());
    registry.add(WriterDesc::new("pattern", Shape::Pattern(everywhere()))).unwrap();
    registry
}

/// A decal that is turned from x towards z.
pub fn decal(name: &str, centre: Vec2, half: Vec2, angle: f32, look: Look) -> WriterDesc {
    let shape = Shape::Decal(Rectangle { centre, along: Vec2::from_angle(angle), half });
    WriterDesc { look, ..WriterDesc::new(name, shape) }
}

/// One linear colour.
pub fn coloured(colour: [f32; 3]) -> Look {
    Look { colour, ..Look::default() }
}

/// A page.
pub fn page(level: u8, x: u16, y: u16) -> PageAddress {
    PageAddress::new(level, x, y)
}

/// Draws one page.
///
/// # Panics
/// When anything fails.
pub fn one(h: &Harness, engine: &Engine, registry: &Registry, at: PageAddress) -> DrawnPage {
    Pages::new(h).draw(h, engine, registry, &[work(0, 1, at)]).remove(0)
}

/// Decals and roads of all paints, slanted, over the corner where four pages of level 0 meet.
///
/// # Panics
/// Never, unless the numbers here are changed.
pub fn busy(texture: &RuntimeTexture) -> Registry {
    let mut registry = patterned(texture);
    let corner = texture.volume.place(Vec2::new(4.0 / 16.0, 3.0 / 8.0));
    let paints = [Paint::Solid, Paint::Crater, Paint::Road, Paint::Tracks];
    for (i, paint) in paints.into_iter().enumerate() {
        let look = Look { paint, relief: 3.0, feather: 9.0, period: 40.0, ..coloured([0.7, 0.2, 0.1]) };
        let at = corner + Vec2::new(30.0 * i as f32 - 40.0, 25.0 - 17.0 * i as f32);
        let desc = decal("stamp", at, Vec2::new(90.0, 35.0), 0.4 + i as f32, look);
        registry.add(WriterDesc { opacity: 0.6, ..desc }).unwrap();
        let knot = |x: f32, z: f32| RibbonKnot { place: corner + Vec2::new(x, z), half_width: 11.0 };
        let z = 20.0 * i as f32 - 30.0;
        let knots = vec![knot(-400.0, z), knot(-33.0, z + 7.0), knot(21.0, z - 40.0), knot(300.0, z + 90.0)];
        let road = WriterDesc { look, opacity: 0.7, ..WriterDesc::new("road", Shape::Ribbon(knots)) };
        registry.add(road).unwrap();
    }
    registry
}

/// How many texels of two neighbours' common columns and rows differ, of how many.
pub fn seam(drawn: &[DrawnPage], tile: u32) -> (usize, usize) {
    let (mut differ, mut all) = (0, 0);
    for a in drawn {
        for b in drawn.iter().filter(|b| b.page.level == a.page.level) {
            let shift = |from: u16, to: u16| (i64::from(to) - i64::from(from)) * i64::from(tile);
            let (dx, dy) = (shift(a.page.x, b.page.x), shift(a.page.y, b.page.y));
            if (dx, dy) == (0, 0) {
                continue;
            }
            let side = i64::from(a.side);
            for (i, j) in (0..side).flat_map(|j| (0..side).map(move |i| (i, j))) {
                let (bi, bj) = (i - dx, j - dy);
                if (0..side).contains(&bi) && (0..side).contains(&bj) {
                    for target in 0..a.targets.len() {
                        all += 1;
                        let same =
                            a.bytes(target, i as u32, j as u32) == b.bytes(target, bi as u32, bj as u32);
                        differ += usize::from(!same);
                    }
                }
            }
        }
    }
    (differ, all)
}
