//! Structures that the frame's shaders share with the host.

use super::{
    AmbientOcclusionPush, BasePush, BloomPush, CullPush, EdgeBlendPush, ExposurePush, ExposureState,
    FrameConstants, GroundPush, RenderOptions, SkyPush, Switch, TemporalPush, ToneMapPush,
};
use crate::scene::geometry::{MoveJob, MoveWordsPush};
use crate::scene::gpu_scene::ScatterPush;
use crate::scene::gpu_scene::{InstancePayload, InstanceSceneData, PrimitiveData};
use crate::scene::terrain::materials::{MaterialLayer, OverlayPrimitive, TerrainLayerPush};
use crate::scene::terrain::{ChunkJob, ChunkVerticesPush, TerrainConstants, TerrainLayer};
use crate::vk::capabilities::DeviceType;
use crate::vk::layout::{GpuStruct, StructLayout, check_layouts};
use crate::vt::compress::{CompressPush, PageTexelsPush};
use crate::vt::passes::{BuildHashTableArgs, FeedbackPush};
use crate::vt::runtime::{PageKnot, PagePush, PageWriter};
use crate::vt::sampling::{VirtualTexture, VirtualTextureFrame, VtProbe, VtProbeResult, VtViewPush};
use crate::vt::tables::{PageTablePush, PageTableQuad};

#[test]
fn layouts_of_the_frame_agree_with_wgsl() {
    check_layouts(SHARED).unwrap();
}

/// Every struct that host and shaders share.
const SHARED: &[StructLayout] = &[
    FrameConstants::LAYOUT,
    BasePush::LAYOUT,
    SkyPush::LAYOUT,
    AmbientOcclusionPush::LAYOUT,
    TemporalPush::LAYOUT,
    ExposurePush::LAYOUT,
    ExposureState::LAYOUT,
    BloomPush::LAYOUT,
    ToneMapPush::LAYOUT,
    EdgeBlendPush::LAYOUT,
    CullPush::LAYOUT,
    GroundPush::LAYOUT,
    TerrainConstants::LAYOUT,
    TerrainLayer::LAYOUT,
    MaterialLayer::LAYOUT,
    OverlayPrimitive::LAYOUT,
    TerrainLayerPush::LAYOUT,
    ChunkJob::LAYOUT,
    ChunkVerticesPush::LAYOUT,
    PrimitiveData::LAYOUT,
    InstanceSceneData::LAYOUT,
    InstancePayload::LAYOUT,
    ScatterPush::LAYOUT,
    MoveJob::LAYOUT,
    MoveWordsPush::LAYOUT,
    FeedbackPush::LAYOUT,
    BuildHashTableArgs::LAYOUT,
    PageTablePush::LAYOUT,
    PageTableQuad::LAYOUT,
    CompressPush::LAYOUT,
    PageTexelsPush::LAYOUT,
    PagePush::LAYOUT,
    PageWriter::LAYOUT,
    PageKnot::LAYOUT,
    VirtualTexture::LAYOUT,
    VirtualTextureFrame::LAYOUT,
    VtProbe::LAYOUT,
    VtProbeResult::LAYOUT,
    VtViewPush::LAYOUT,
];

/// Names of the structs inside `gpu_struct!` in all sources below a folder, tests left out.
fn declared(folder: &std::path::Path, names: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            declared(&path, names);
        } else if path.extension().is_some_and(|e| e == "rs") && !path.to_string_lossy().contains("test") {
            let text = std::fs::read_to_string(&path).unwrap();
            let mut inside = false;
            for line in text.lines() {
                // The macro stands at the start of a line, and so does its closing brace.
                inside = line.starts_with("gpu_struct! {") || (inside && line != "}");
                let name = line.trim().strip_prefix("pub struct ").filter(|_| inside);
                names.extend(name.and_then(|n| n.split_whitespace().next()).map(String::from));
            }
        }
    }
}

#[test]
fn no_shared_struct_is_forgotten() {
    let mut names = Vec::new();
    declared(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut names);
    names.sort();
    let mut checked: Vec<String> = SHARED.iter().map(|layout| layout.name.to_owned()).collect();
    checked.sort();
    assert_eq!(names, checked, "declared with gpu_struct! (left), compared with WGSL (right)");
}

#[test]
fn what_is_automatic_depends_on_the_device_and_what_is_asked_for_does_not() {
    let automatic = RenderOptions::default();
    let of = |kind| automatic.resolved(kind);
    let numbers = |options: RenderOptions| (options.samples, options.anisotropy);
    assert_eq!(numbers(of(DeviceType::Cpu)), (1, 1));
    assert_eq!(numbers(of(DeviceType::Discrete)), (1, 8));
    let still = RenderOptions { temporal: Switch::Off, ..automatic };
    assert_eq!(numbers(still.resolved(DeviceType::Discrete)), (4, 8), "nothing else smooths edges");
    assert_eq!(numbers(still.resolved(DeviceType::Cpu)), (1, 1));
    for kind in [DeviceType::Cpu, DeviceType::Discrete] {
        assert_eq!(of(kind).effects(), automatic.effects(), "{kind:?}");
        let asked = RenderOptions { samples: 8, anisotropy: 2, bloom: Switch::Off, ..of(kind) };
        assert_eq!(asked.resolved(kind), asked);
        assert!(!asked.effects().bloom && asked.effects().temporal);
    }
}
