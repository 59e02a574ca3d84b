//! Structures that the frame's shaders share with the host.

use super::{BasePush, CullPush, EdgeBlendPush, FrameConstants, RenderOptions, ToneMapPush};
use crate::scene::gpu_scene::{InstancePayload, InstanceSceneData, PrimitiveData};
use crate::scene::terrain::{ChunkJob, ChunkVerticesPush, TerrainConstants, TerrainLayer};
use crate::vk::capabilities::DeviceType;
use crate::vk::layout::{GpuStruct, check_layouts};

#[test]
fn layouts_of_the_frame_agree_with_wgsl() {
    check_layouts(&[
        FrameConstants::LAYOUT,
        BasePush::LAYOUT,
        ToneMapPush::LAYOUT,
        EdgeBlendPush::LAYOUT,
        CullPush::LAYOUT,
        TerrainConstants::LAYOUT,
        TerrainLayer::LAYOUT,
        ChunkJob::LAYOUT,
        ChunkVerticesPush::LAYOUT,
        PrimitiveData::LAYOUT,
        InstanceSceneData::LAYOUT,
        InstancePayload::LAYOUT,
    ])
    .unwrap();
}

#[test]
fn what_is_automatic_depends_on_the_device_and_what_is_asked_for_does_not() {
    let automatic = RenderOptions::default();
    let of = |kind| automatic.resolved(kind);
    assert_eq!(of(DeviceType::Cpu), RenderOptions { samples: 1, anisotropy: 1 });
    assert_eq!(of(DeviceType::Discrete), RenderOptions { samples: 4, anisotropy: 8 });
    let asked = RenderOptions { samples: 8, anisotropy: 2 };
    assert_eq!(asked.resolved(DeviceType::Cpu), asked);
}
