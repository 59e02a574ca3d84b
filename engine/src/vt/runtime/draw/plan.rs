//! What a frame draws into its pages, batch by batch: cameras, pipelines and runs of writers. Nothing is recorded here.

use std::ops::Range;

use super::pipelines::{Key, Source};
use super::records::{PagePush, Records};
use crate::scene::Scene;
use crate::scene::gpu_scene::PrimitiveData;
use crate::vt::Kind;
use crate::vt::runtime::cull::visible;
use crate::vt::runtime::footprint::Footprint;
use crate::vt::runtime::kind::{Attributes, KindOptions, MOST_TARGETS, TargetFormat};
use crate::vt::runtime::registry::{Registry, RuntimeTexture, WriterId};
use crate::vt::runtime::volume::PageCamera;
use crate::vt::runtime::writer::{RibbonKnot, Shape, StampImage, band};
use crate::vt::{PageAddress, PageWork, PoolId, TextureId};

/// What pages of one batch have in common: their atlas and what they are drawn into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchTarget {
    /// Atlas that the pages go to.
    pub pool: PoolId,
    /// What they store.
    pub kind: Kind,
    /// How.
    pub options: KindOptions,
    /// Texels a side of a page, its border included.
    pub side: u32,
}

impl BatchTarget {
    /// Formats of the targets.
    pub fn formats(&self) -> &'static [TargetFormat] {
        self.kind.targets(self.options)
    }
}

/// What a draw draws.
#[derive(Debug, Clone, Copy)]
pub(super) enum Geometry {
    /// Rectangles of writers that follow each other.
    Rectangles { first: u32, count: u32 },
    /// Pieces of a ribbon that follow each other.
    Pieces { first: u32, count: u32 },
    /// A mesh.
    Mesh { writer: u32, data: PrimitiveData },
}

/// One draw of a page.
#[derive(Debug, Clone)]
pub(super) struct PlannedDraw {
    pub(super) key: Key,
    pub(super) geometry: Geometry,
    pub(super) image: Option<StampImage>,
}

/// One page of a batch.
#[derive(Debug, Clone)]
pub(super) struct PlannedPage {
    pub(super) label: String,
    pub(super) push: PagePush,
    pub(super) draws: Vec<PlannedDraw>,
    pub(super) has_depth: bool,
}

/// A page of a texture, as far as drawing needs to know it.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageOf<'r> {
    pub(super) id: TextureId,
    pub(super) texture: &'r RuntimeTexture,
    pub(super) kind: Kind,
    pub(super) options: KindOptions,
    pub(super) page: PageAddress,
}

impl<'r> PageOf<'r> {
    /// `None` where the texture is gone.
    pub(super) fn of(registry: &'r Registry, work: &PageWork) -> Option<Self> {
        let texture = registry.texture(work.texture)?;
        let (kind, options) = *texture.groups.get(usize::from(work.group))?;
        Some(Self { id: work.texture, texture, kind, options, page: work.page })
    }

    pub(super) fn target(&self, pool: PoolId) -> BatchTarget {
        BatchTarget { pool, kind: self.kind, options: self.options, side: self.texture.shape.physical() }
    }

    fn camera(&self) -> PageCamera {
        PageCamera::new(&self.texture.volume, &self.texture.shape, self.page)
    }

    fn push(&self, camera: &PageCamera) -> PagePush {
        let (stored, seen) = (self.texture.height_range(self.kind), camera.heights);
        PagePush {
            corner: camera.corner.into(),
            step_u: camera.steps[0].into(),
            step_v: camera.steps[1].into(),
            first_texel: camera.first_texel,
            side: camera.side as f32,
            texel: camera.texel_size(),
            level: u32::from(self.page.level),
            max_level: u32::from(self.texture.shape.grid.max_level()),
            kind: self.kind.number(),
            flags: u32::from(self.kind.is_low_quality(self.options)),
            height_offset: stored[0],
            height_scale: inverse(stored),
            depth_offset: seen[0],
            depth_scale: inverse(seen),
            ..PagePush::default()
        }
    }
}

/// One over the extent of a range of heights.
fn inverse([low, high]: [f32; 2]) -> f32 {
    1.0 / (high - low).max(1e-6)
}

/// What cannot be drawn since what it is made of is not there.
pub(super) type Missing = Vec<WriterId>;

/// Plans one page: what it shows, in order, as few draws.
pub(super) fn plan_page(
    (scene, registry, records): (&Scene, &Registry, &Records),
    of: PageOf<'_>,
    missing: &mut Missing,
) -> PlannedPage {
    let camera = of.camera();
    let shown = visible(registry, of.id, of.kind, &camera);
    let is_mesh = |id: &WriterId| {
        registry.writer(*id).is_ok_and(|writer| matches!(writer.desc.shape, Shape::Mesh { .. }))
    };
    let has_depth = shown.iter().any(|(id, _)| is_mesh(id));
    let mut draws: Vec<PlannedDraw> = Vec::new();
    let mut shown = shown.into_iter().peekable();
    // Both lists have the same order: a writer's record has its index among all writers.
    for (index, (id, writer)) in (0u32..).zip(registry.writers()) {
        let Some((_, attributes)) = shown.next_if(|(next, _)| *next == id) else { continue };
        let source = match &writer.desc.shape {
            Shape::Terrain(_) if of.kind == Kind::WorldHeight => Source::TerrainHeight,
            Shape::Terrain(_) => Source::Terrain,
            Shape::Pattern(_) => Source::Pattern,
            Shape::Ribbon(_) => Source::Ribbon,
            Shape::Decal(_) => Source::Decal,
            Shape::Mesh { .. } => Source::Mesh,
        };
        let key = key(&of, source, attributes, has_depth);
        let mut add =
            |geometry| add(&mut draws, PlannedDraw { key, geometry, image: writer.desc.image.clone() });
        match &writer.desc.shape {
            Shape::Terrain(_) if scene.terrain().is_none() => missing.push(id),
            Shape::Mesh { mesh, .. } => match scene.mesh_data(*mesh) {
                Ok(data) => add(Geometry::Mesh { writer: index, data }),
                Err(_) => missing.push(id),
            },
            Shape::Ribbon(knots) => {
                let first = records.first_knots.get(index as usize).copied().unwrap_or_default();
                let is_on = |ends: &[RibbonKnot]| Footprint::of(band(ends[0], ends[1])).is_on(&camera);
                for run in runs(knots.windows(2).map(is_on)) {
                    add(Geometry::Pieces { first: first + run.start, count: run.end - run.start });
                }
            }
            _ => add(Geometry::Rectangles { first: index, count: 1 }),
        }
    }
    let label = format!("VirtualTextureDraw ({}, {})", of.texture.name, of.page);
    PlannedPage { label, push: of.push(&camera), draws, has_depth }
}

fn key(of: &PageOf<'_>, source: Source, attributes: Attributes, has_depth: bool) -> Key {
    let masks: [_; MOST_TARGETS] = of.kind.write_masks(of.options, attributes);
    Key { source, targets: of.kind.targets(of.options), masks, has_depth }
}

/// Adds a draw; rectangles of writers that follow each other and are drawn alike are one.
fn add(draws: &mut Vec<PlannedDraw>, draw: PlannedDraw) {
    if let (Some(last), Geometry::Rectangles { first: next, count: more }) = (draws.last_mut(), draw.geometry)
    {
        let is_alike = last.key == draw.key && last.image == draw.image;
        if let Geometry::Rectangles { first, count } = &mut last.geometry
            && is_alike
            && *first + *count == next
        {
            *count += more;
            return;
        }
    }
    draws.push(draw);
}

/// Runs of what is true.
fn runs(flags: impl Iterator<Item = bool>) -> Vec<Range<u32>> {
    let mut found: Vec<Range<u32>> = Vec::new();
    for (index, _) in (0u32..).zip(flags).filter(|(_, flag)| *flag) {
        match found.last_mut().filter(|run| run.end == index) {
            Some(run) => run.end += 1,
            None => found.push(index..index + 1),
        }
    }
    found
}
