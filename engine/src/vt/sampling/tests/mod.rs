//! The twin against models of its own, and what host and shaders share.

mod feedback;
mod kinds;
mod lookup;

use proptest::prelude::*;

use super::*;
use crate::vk::layout::{GpuStruct, check_layouts};
use crate::vt::{Grid, SpaceId};

/// Any texture: grids that are no powers of two among them.
pub(super) fn texture() -> impl Strategy<Value = SampledTexture> {
    let tiles = prop_oneof![Just(1u32), Just(3), Just(4), 1u32..40, Just(4096)];
    let wrap = || prop_oneof![Just(Wrap::Clamp), Just(Wrap::Repeat), Just(Wrap::Mirror)];
    let tile = prop_oneof![Just(128u32), Just(256), Just(16)];
    (tiles.clone(), tiles, tile, 1u32..6, wrap(), wrap(), 2u32..120, 0u8..15).prop_map(
        |(x, y, tile, border, u, v, side, space)| {
            let grid = Grid::new([x, y], 0).expect("a grid");
            SampledTexture {
                space: Some(SpaceId(space)),
                wrap: [u, v],
                ..SampledTexture::new(grid, [0; 2], (tile, border), side, Kind::BaseColor)
            }
        },
    )
}

/// Any bits as a number.
pub(super) fn any_float() -> impl Strategy<Value = f32> {
    prop_oneof![
        any::<u32>().prop_map(f32::from_bits),
        -4.0f32..4.0,
        prop::sample::select(vec![0.0, -0.0, 1.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX]),
    ]
}

#[test]
fn shared_structs_are_what_the_shaders_think() {
    check_layouts(&[
        VirtualTexture::LAYOUT,
        VirtualTextureFrame::LAYOUT,
        VtProbe::LAYOUT,
        VtProbeResult::LAYOUT,
        VtViewPush::LAYOUT,
    ])
    .unwrap();
}

fn library(name: &str) -> String {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../shaders/lib");
    std::fs::read_to_string(root.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn bindings_are_those_of_the_shader_modules() {
    let modules =
        ["virtual_texture_bindings.wgsl", "virtual_texture_second.wgsl", "virtual_texture_feedback.wgsl"];
    let text: String = modules.map(library).concat();
    let declared: Vec<(u32, &str)> = text
        .lines()
        .filter_map(|line| line.strip_prefix("@group(1) @binding("))
        .filter_map(|rest| {
            let (number, rest) = rest.split_once(')')?;
            let name = rest.split_once(':')?.0.rsplit(' ').next()?;
            Some((number.parse().ok()?, name))
        })
        .collect();
    let mut sorted = declared;
    sorted.sort_unstable();
    assert_eq!(sorted, bindings::ALL);
}

#[test]
fn flags_and_kinds_have_the_same_numbers_in_shaders() {
    let text = library("virtual_texture.wgsl");
    let expected = [
        format!("const VT_ENTRIES_32: u32 = {}u;", flags::ENTRIES_32),
        format!("const VT_WRAP_U_SHIFT: u32 = {}u;", flags::WRAP_U_SHIFT),
        format!("const VT_WRAP_V_SHIFT: u32 = {}u;", flags::WRAP_V_SHIFT),
        format!("const VT_ANISOTROPIC: u32 = 1u << {}u;", flags::ANISOTROPIC.trailing_zeros()),
        format!("const VT_TRILINEAR: u32 = 1u << {}u;", flags::TRILINEAR.trailing_zeros()),
        format!("const VT_STOCHASTIC: u32 = 1u << {}u;", flags::STOCHASTIC.trailing_zeros()),
        format!("const VT_SHOW_LEVELS: u32 = 1u << {}u;", flags::SHOW_LEVELS.trailing_zeros()),
        format!("const VT_SHOW_BORDERS: u32 = 1u << {}u;", flags::SHOW_BORDERS.trailing_zeros()),
        format!("const VT_MANUAL_TAPS: u32 = 1u << {}u;", flags::MANUAL_TAPS.trailing_zeros()),
        format!("const VT_CHANNEL_SHIFT: u32 = {}u;", flags::CHANNEL_SHIFT),
        format!("const VT_WRAP_CLAMP: u32 = {}u;", Wrap::Clamp as u32),
        format!("const VT_WRAP_REPEAT: u32 = {}u;", Wrap::Repeat as u32),
        format!("const VT_WRAP_MIRROR: u32 = {}u;", Wrap::Mirror as u32),
    ];
    for line in expected {
        assert!(text.contains(&line), "virtual_texture.wgsl has no `{line}`");
    }
    let kinds = library("virtual_texture_kinds.wgsl");
    let numbers: Vec<u32> = kinds
        .lines()
        .filter_map(|line| line.strip_prefix("const VT_KIND_")?.split_once("u32 = "))
        .filter_map(|(_, number)| number.trim_end_matches("u;").parse().ok())
        .collect();
    assert_eq!(numbers, Kind::ALL.map(|kind| kind as u32));
}
