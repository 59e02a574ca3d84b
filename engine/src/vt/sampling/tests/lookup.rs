//! Places, pages, levels and footprints, against a model in 64-bit texels.

use proptest::prelude::*;

use super::super::*;
use super::{any_float, texture};
use crate::vt::{Entry, EntryFormat, Grid};

/// Where a sampler would read along one axis of a texture of `texels` (a fraction where the last texel is cut), at the
/// continuous texel `at`: 0 is the left edge.
fn sampler(at: f64, texels: f64, wrap: Wrap) -> f64 {
    // Texels whose centres lie inside.
    let last = ((texels + 0.5).floor() - 0.5).max(0.5);
    match wrap {
        Wrap::Clamp => at.clamp(0.5, last),
        Wrap::Repeat => at.rem_euclid(texels),
        Wrap::Mirror => {
            let there = at.rem_euclid(2.0 * texels);
            (if there > texels { 2.0 * texels - there } else { there }).clamp(0.5, last)
        }
    }
}

fn entry_at(texture: &SampledTexture, entry: Entry) -> u32 {
    entry.pack(texture.entries)
}

proptest! {
    #[test]
    fn a_place_is_where_a_sampler_of_the_whole_level_would_read(
        texture in texture(), u in -3.0f32..3.0, v in -3.0f32..3.0, level in 0u8..13, px in 0u8..60, py in 1u8..60,
    ) {
        let vt = texture.constants();
        let level = level.min(texture.grid.max_level());
        let found = place(&vt, [u, v]);
        let page = page(&vt, &found, entry_at(&texture, Entry { level, page: [px, py] }));
        for (axis, at) in [u, v].into_iter().enumerate() {
            let tiles = f64::from(texture.grid.tiles()[axis]);
            let scale = f64::from(texture.tile) / f64::from(1u32 << level);
            // uv * tiles is rounded to 32 bits; this is what that can move.
            let slack = f64::from(at.abs()) * tiles * scale * 2.0 * f64::from(f32::EPSILON) + 1e-3;
            let expected = sampler(f64::from(at) * tiles * scale, tiles * scale, texture.wrap[axis]);
            let corner = f64::from(found.page[axis] >> level) * f64::from(texture.tile);
            let got = corner + f64::from(page.texel[axis]);
            // On the seam of a texture that repeats, both ends are the same place.
            let whole = tiles * scale;
            let off = (got - expected).abs();
            let off = if texture.wrap[axis] == Wrap::Repeat { off.min((off - whole).abs()) } else { off };
            // Where the last texel is cut, a rounding at the edge decides about a whole texel.
            let is_cut = whole.fract() != 0.0 && (whole - expected).abs() < 1.0;
            prop_assert!(off <= slack || is_cut, "axis {}: {} instead of {}", axis, got, expected);
            // Half a texel to each side stays in the page and its border.
            let reach = f64::from(page.texel[axis]);
            prop_assert!(reach >= -0.5 && reach <= f64::from(texture.tile) + 1e-3, "{}", reach);
            let side = f64::from(vt.atlas_side);
            let physical = f64::from(texture.tile + 2 * texture.border);
            let atlas = f64::from([px, py][axis]) * physical + f64::from(texture.border) + reach;
            prop_assert!((f64::from(page.uv[axis]) * side - atlas).abs() <= 1e-2 + atlas * 2e-7);
        }
    }

    #[test]
    fn a_way_from_any_page_ends_where_the_sum_lies(
        texture in texture(), page in prop::array::uniform2(-9000i32..9000), way in prop::array::uniform2(-5000.0f32..5000.0),
    ) {
        let vt = texture.constants();
        let found = place_from(&vt, page, way);
        for axis in 0..2 {
            let tiles = f64::from(texture.grid.tiles()[axis]);
            let at = f64::from(page[axis]) + f64::from(way[axis]);
            let expected = match texture.wrap[axis] {
                Wrap::Clamp => at.clamp(0.0, tiles),
                Wrap::Repeat => at.rem_euclid(tiles),
                Wrap::Mirror => {
                    let there = at.rem_euclid(2.0 * tiles);
                    if there > tiles { 2.0 * tiles - there } else { there }
                }
            };
            let got = f64::from(found.page[axis]) + f64::from(found.fraction[axis]);
            let off = (got - expected).abs();
            let ends = if texture.wrap[axis] == Wrap::Repeat { (off - tiles).abs() } else { off };
            // `way` itself has 2^-12 at worst.
            prop_assert!(off.min(ends) < 1e-3, "{} instead of {}", got, expected);
            prop_assert!(texture.wrap[axis] == Wrap::Mirror || found.turn[axis] == 1.0);
        }
    }

    #[test]
    fn any_number_gives_a_place_in_the_texture(
        texture in texture(), u in any_float(), v in any_float(), px: i32, py: i32, d in prop::array::uniform4(any_float()),
        packed: u32, bias in any_float(),
    ) {
        let vt = texture.constants();
        let frame = VirtualTextureFrame::default();
        for found in [place(&vt, [u, v]), place_from(&vt, [px, py], [u, v])] {
            for axis in 0..2 {
                prop_assert!(found.page[axis] < texture.grid.tiles()[axis]);
                prop_assert!((0.0..=1.0).contains(&found.fraction[axis]));
            }
            let page = page(&vt, &found, packed & 0xf_ffff);
            let footprint = footprint(&vt, &page, [d[0], d[1]], [d[2], d[3]]);
            for axis in 0..2 {
                prop_assert!((-0.5..=vt.tile + 0.5).contains(&page.texel[axis]), "{:?}", page);
                // No tap leaves the border, whatever the derivatives are.
                let half = footprint.axis[axis].abs() * 0.5 * vt.atlas_side;
                prop_assert!(half.is_finite() && half <= vt.border - 1.0 + 1e-3, "{:?}", footprint);
            }
            prop_assert!((1.0..=16.0).contains(&footprint.taps));
            // Nor any direction of the ellipse that a sampler makes of both.
            for turn in 0..32 {
                let (sin, cos) = (turn as f32 * 0.196_35).sin_cos();
                let [x, y] = [0, 1].map(|axis| footprint.dx[axis] * cos + footprint.dy[axis] * sin);
                let half = (x * x + y * y).sqrt() * 0.5 * vt.atlas_side;
                prop_assert!(half <= vt.border - 1.0 + 1e-2, "{:?}", footprint);
            }
            let level = level(&vt, &frame, [[d[0], d[1]], [d[2], d[3]]], bias, [px as u32, py as u32]);
            let whole = whole_level(&vt, level);
            prop_assert!(level.is_finite());
            prop_assert!(whole >= -16 && whole <= i32::from(texture.grid.max_level()));
            let texel = table_texel(&vt, &found, whole.max(0) as u32);
            let side = 1u32 << (texture.grid.log2_side() - whole.max(0) as u8);
            prop_assert!(texel[0] < side && texel[1] < side);
        }
    }

    #[test]
    fn a_level_is_that_of_the_footprint(
        texture in texture(), texels in 0.01f32..2000.0, ratio in 1.0f32..100.0, angle in 0.0f32..6.3, most in 1.0f32..16.0,
        is_anisotropic: bool, bias in -3.0f32..3.0,
    ) {
        let anisotropy = if is_anisotropic { Anisotropy::Sampler } else { Anisotropy::Off };
        let texture = SampledTexture { anisotropy, most_anisotropy: most, bias, ..texture };
        let vt = texture.constants();
        // A footprint of `texels` by `texels * ratio` texels, turned.
        let size = [0, 1].map(|axis| vt.tiles[axis] * vt.tile);
        let (sin, cos) = angle.sin_cos();
        let short = [cos * texels / size[0], sin * texels / size[1]];
        let long = [-sin * texels * ratio / size[0], cos * texels * ratio / size[1]];
        let most = if is_anisotropic { most.min((2.0 * (texture.border as f32 - 1.0)).max(1.0)) } else { most };
        let expected = f64::from(texels).max(f64::from(texels * ratio / most)).log2();
        let frame = VirtualTextureFrame { global_bias: 0.25, ..Default::default() };
        for derivatives in [[short, long], [long, short]] {
            let got = level(&vt, &frame, derivatives, 0.5, [7, 9]);
            let sum = (expected.clamp(-16.0, 16.0) + 0.5).min(16.0) + f64::from(bias) + 0.25;
            prop_assert!((f64::from(got) - sum).abs() < 2e-3, "{} instead of {}", got, sum);
        }
    }

    #[test]
    fn levels_fall_into_steps_and_shares(
        texture in texture(), level in -5.0f32..20.0, table_bias in 0.0f32..4.0, is_trilinear: bool,
    ) {
        let trilinear = if is_trilinear { Trilinear::Manual } else { Trilinear::Off };
        let texture = SampledTexture { trilinear, table_bias, ..texture };
        let vt = texture.constants();
        let most = f64::from(texture.grid.max_level());
        let at = f64::from(level + table_bias);
        let whole = whole_level(&vt, level);
        prop_assert_eq!(f64::from(whole), at.min(most).floor());
        let share = f64::from(trilinear_share(&vt, level));
        // The mean level of what is mixed, where the texture has both.
        let mixed = f64::from(whole.max(0)) + share;
        let expected = if is_trilinear { at.clamp(0.0, most) } else { f64::from(whole.max(0)) };
        prop_assert!((mixed - expected).abs() < 1e-6, "{} instead of {}", mixed, expected);
    }

    #[test]
    fn gradients_follow_the_mapped_level(
        texture in texture(), level in 0u8..12, step in -0.01f32..0.01,
    ) {
        let level = level.min(texture.grid.max_level());
        let vt = texture.constants();
        let here = place_from(&vt, [0, 0], [0.0, 0.0]);
        let page = page(&vt, &here, entry_at(&texture, Entry { level, page: [1, 1] }));
        for axis in 0..2 {
            // Texels of the level that a step of uv covers, by the definition of a level.
            let texels = f64::from(step) * f64::from(texture.grid.tiles()[axis] * texture.tile) / f64::from(1u32 << level);
            let got = f64::from(step * page.gradient[axis]) * f64::from(vt.atlas_side);
            prop_assert!((got - texels).abs() <= 1e-5 * texels.abs() + 1e-9, "{} instead of {}", got, texels);
        }
    }
}

#[test]
fn noise_moves_levels_by_less_than_one_and_by_half_in_the_mean() {
    let texture = SampledTexture {
        trilinear: Trilinear::Stochastic,
        ..SampledTexture::new(Grid::new([8, 8], 0).unwrap(), [0; 2], (128, 4), 8, Kind::BaseColor)
    };
    let vt = texture.constants();
    for frame in 0..4 {
        let constants = VirtualTextureFrame { frame, ..Default::default() };
        let mut coarser = 0;
        for y in 0..64 {
            for x in 0..64 {
                let got = whole_level(&vt, explicit_level(&vt, &constants, 1.3, [x, y]));
                assert!(got == 1 || got == 2, "{got}");
                coarser += u32::from(got == 2);
            }
        }
        let share = f64::from(coarser) / 4096.0;
        assert!((share - 0.3).abs() < 0.02, "frame {frame}: {share}");
    }
}

#[test]
fn entries_of_both_widths_are_read() {
    let grid = Grid::new([5, 3], 0).unwrap();
    for (side, format, page_id) in [(40, EntryFormat::Bits16, [33, 7]), (100, EntryFormat::Bits32, [99, 65])]
    {
        let texture = SampledTexture::new(grid, [8, 0], (128, 4), side, Kind::Mask4);
        assert_eq!(texture.entries, format);
        let vt = texture.constants();
        let found = place(&vt, [0.5, 0.5]);
        assert_eq!(table_texel(&vt, &found, 1), [5, 0]);
        let entry = Entry { level: 3, page: page_id };
        let page = page(&vt, &found, entry.pack(format));
        assert_eq!(page.entry, entry);
        // 2.5 and 1.5 of 8 tiles of 128 texels.
        assert_eq!(page.texel, [40.0, 24.0]);
        assert_eq!(page.uv[0], (f32::from(page_id[0]) * 136.0 + 4.0 + 40.0) / (side as f32 * 136.0));
    }
}
