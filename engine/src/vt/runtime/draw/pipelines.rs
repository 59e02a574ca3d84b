//! Pipelines of page drawing, made when they are first needed: one for each shader, set of targets and set of channels.

use std::sync::Arc;

use ash::vk::{ColorComponentFlags, CullModeFlags, Format, SampleCountFlags};

use crate::vk::shader::ShaderSource;
use crate::vk::{Blend, Device, GraphicsDesc, GraphicsPipeline, Result, shader};
use crate::vt::runtime::kind::{Channels, MOST_TARGETS, TargetFormat};

/// Format of the depth that sorts the surfaces of meshes.
pub(super) const DEPTH: Format = Format::D32_SFLOAT;

/// Which shader draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Source {
    Terrain,
    /// The terrain's height of the world.
    TerrainHeight,
    Pattern,
    Ribbon,
    Decal,
    Mesh,
}

impl Source {
    fn shader(self) -> &'static ShaderSource {
        match self {
            Self::Terrain | Self::TerrainHeight => &shader::VT_PAGE_TERRAIN,
            Self::Pattern => &shader::VT_PAGE_PATTERN,
            Self::Ribbon => &shader::VT_PAGE_RIBBON,
            Self::Decal => &shader::VT_PAGE_DECAL,
            Self::Mesh => &shader::VT_PAGE_MESH,
        }
    }

    fn fragment(self, targets: usize) -> &'static str {
        match (self, targets) {
            (Self::TerrainHeight, _) => "page_fragment_height",
            (_, 0 | 1) => "page_fragment_1",
            (_, 2) => "page_fragment_2",
            _ => "page_fragment_3",
        }
    }
}

/// What makes one pipeline different from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) source: Source,
    pub(super) targets: &'static [TargetFormat],
    pub(super) masks: [Channels; MOST_TARGETS],
    /// Whether the page has depth: it has where it shows a mesh.
    pub(super) has_depth: bool,
}

pub(super) fn format(target: TargetFormat) -> Format {
    match target {
        TargetFormat::Rgba8 => Format::R8G8B8A8_UNORM,
        TargetFormat::Rgb565 => Format::R5G6B5_UNORM_PACK16,
        TargetFormat::Rgba5551 => Format::A1R5G5B5_UNORM_PACK16,
        TargetFormat::R16 => Format::R16_UNORM,
    }
}

fn mask(channels: Channels) -> ColorComponentFlags {
    let all =
        [ColorComponentFlags::R, ColorComponentFlags::G, ColorComponentFlags::B, ColorComponentFlags::A];
    all.into_iter()
        .enumerate()
        .filter(|(bit, _)| channels.0 >> bit & 1 != 0)
        .fold(ColorComponentFlags::empty(), |flags, (_, flag)| flags | flag)
}

/// All pipelines that were needed so far.
#[derive(Debug, Default)]
pub(super) struct Pipelines {
    made: Vec<(Key, GraphicsPipeline)>,
}

impl Pipelines {
    /// The place of a pipeline, which is made if it is new.
    pub(super) fn find(&mut self, device: &Arc<Device>, key: Key) -> Result<usize> {
        if let Some(found) = self.made.iter().position(|(made, _)| *made == key) {
            return Ok(found);
        }
        let formats: Vec<Format> = key.targets.iter().map(|target| format(*target)).collect();
        let blends: Vec<Blend> =
            key.masks.iter().map(|of| Blend { is_over: true, mask: mask(*of) }).collect();
        let is_mesh = key.source == Source::Mesh;
        let desc = GraphicsDesc {
            name: "VirtualTextureDraw",
            shader: key.source.shader(),
            vertex: "page_vertex",
            fragment: Some(key.source.fragment(key.targets.len())),
            colours: &formats,
            blends: &blends,
            depth: key.has_depth.then_some((DEPTH, is_mesh)),
            cull: CullModeFlags::NONE,
            samples: SampleCountFlags::TYPE_1,
        };
        self.made.push((key, GraphicsPipeline::new(device, &desc)?));
        Ok(self.made.len() - 1)
    }

    pub(super) fn get(&self, index: usize) -> Option<&GraphicsPipeline> {
        self.made.get(index).map(|(_, pipeline)| pipeline)
    }

    pub(super) fn len(&self) -> usize {
        self.made.len()
    }
}
