//! What a swapchain is made of, chosen from what a surface offers. Pure.

use ash::vk;

/// Value of `currentExtent` that means: the swapchain decides the size.
const UNDEFINED: u32 = u32::MAX;

/// The extent for a swapchain: what the surface demands, or else what the window asked for within the
/// surface's limits. `None` while the window has no pixels (minimised), for which no swapchain exists.
pub(super) fn extent(capabilities: &vk::SurfaceCapabilitiesKHR, wanted: [u32; 2]) -> Option<[u32; 2]> {
    let current = [capabilities.current_extent.width, capabilities.current_extent.height];
    let least = [capabilities.min_image_extent.width, capabilities.min_image_extent.height];
    let most = [capabilities.max_image_extent.width, capabilities.max_image_extent.height];
    if wanted.contains(&0) || current.contains(&0) || most.contains(&0) {
        return None;
    }
    let side = |i: usize| {
        let asked = if current[i] == UNDEFINED { wanted[i] } else { current[i] };
        // Not `clamp`: a driver in the middle of a resize has been seen with min > max.
        asked.min(most[i]).max(least[i].min(most[i]))
    };
    Some([side(0), side(1)])
}

/// The format: 8-bit UNORM, since the engine writes display-encoded values itself, and an sRGB format would
/// encode them twice. `None` when the surface has no such format.
pub(super) fn format(offered: &[vk::SurfaceFormatKHR]) -> Option<vk::SurfaceFormatKHR> {
    const LIKED: [vk::Format; 3] =
        [vk::Format::B8G8R8A8_UNORM, vk::Format::R8G8B8A8_UNORM, vk::Format::A8B8G8R8_UNORM_PACK32];
    let ordinary = |f: &&vk::SurfaceFormatKHR| f.color_space == vk::ColorSpaceKHR::SRGB_NONLINEAR;
    LIKED
        .iter()
        .find_map(|liked| offered.iter().filter(ordinary).find(|f| f.format == *liked))
        // Ten bits hold the same encoded values.
        .or_else(|| {
            offered.iter().filter(ordinary).find(|f| {
                matches!(
                    f.format,
                    vk::Format::A2B10G10R10_UNORM_PACK32 | vk::Format::A2R10G10B10_UNORM_PACK32
                )
            })
        })
        .copied()
}

/// The present mode: FIFO waits for the display and exists everywhere; without waiting, MAILBOX (no tearing)
/// before IMMEDIATE.
pub(super) fn present_mode(offered: &[vk::PresentModeKHR], vsync: bool) -> vk::PresentModeKHR {
    let free = [vk::PresentModeKHR::MAILBOX, vk::PresentModeKHR::IMMEDIATE];
    let wanted = if vsync { &[][..] } else { &free[..] };
    wanted.iter().find(|mode| offered.contains(mode)).copied().unwrap_or(vk::PresentModeKHR::FIFO)
}

/// Number of images to ask for: one more than the least, so that acquiring does not wait for the display,
/// and at least three.
pub(super) fn image_count(capabilities: &vk::SurfaceCapabilitiesKHR) -> u32 {
    let wanted = capabilities.min_image_count.saturating_add(1).max(3);
    match capabilities.max_image_count {
        0 => wanted, // No limit.
        most => wanted.min(most),
    }
}

/// How the window system blends the image: not at all where that can be asked for.
pub(super) fn composite_alpha(offered: vk::CompositeAlphaFlagsKHR) -> vk::CompositeAlphaFlagsKHR {
    use vk::CompositeAlphaFlagsKHR as Alpha;
    [Alpha::OPAQUE, Alpha::INHERIT, Alpha::PRE_MULTIPLIED, Alpha::POST_MULTIPLIED]
        .into_iter()
        .find(|alpha| offered.contains(*alpha))
        .unwrap_or(Alpha::OPAQUE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn surface(current: [u32; 2], least: [u32; 2], most: [u32; 2]) -> vk::SurfaceCapabilitiesKHR {
        let extent = |[width, height]: [u32; 2]| vk::Extent2D { width, height };
        vk::SurfaceCapabilitiesKHR {
            current_extent: extent(current),
            min_image_extent: extent(least),
            max_image_extent: extent(most),
            ..Default::default()
        }
    }

    fn offered(list: &[vk::Format]) -> Vec<vk::SurfaceFormatKHR> {
        list.iter()
            .map(|f| vk::SurfaceFormatKHR { format: *f, color_space: vk::ColorSpaceKHR::SRGB_NONLINEAR })
            .collect()
    }

    #[test]
    fn a_window_without_pixels_has_no_extent() {
        let any = [UNDEFINED; 2];
        assert_eq!(extent(&surface(any, [1, 1], [4096, 4096]), [0, 0]), None);
        assert_eq!(extent(&surface(any, [1, 1], [4096, 4096]), [640, 0]), None);
        assert_eq!(extent(&surface([0, 0], [0, 0], [0, 0]), [640, 480]), None);
        assert_eq!(extent(&surface([0, 480], [1, 1], [4096, 4096]), [640, 480]), None);
    }

    #[test]
    fn the_surface_overrules_the_window() {
        assert_eq!(extent(&surface([800, 600], [800, 600], [800, 600]), [640, 480]), Some([800, 600]));
        assert_eq!(extent(&surface([UNDEFINED; 2], [1, 1], [1024, 512]), [9000, 2]), Some([1024, 2]));
    }

    proptest! {
        #[test]
        fn extents_are_inside_the_limits(
            current in prop_oneof![Just([UNDEFINED; 2]), prop::array::uniform2(0u32..5000)],
            least in prop::array::uniform2(0u32..200),
            more in prop::array::uniform2(0u32..5000),
            wanted in prop::array::uniform2(0u32..10_000),
        ) {
            let most = [least[0] + more[0], least[1] + more[1]];
            let chosen = extent(&surface(current, least, most), wanted);
            if let Some(chosen) = chosen {
                for i in 0..2 {
                    prop_assert!(chosen[i] >= least[i].max(1) && chosen[i] <= most[i]);
                }
            } else {
                prop_assert!(wanted.contains(&0) || current.contains(&0) || most.contains(&0));
            }
        }

        #[test]
        fn image_counts_are_allowed(min in 1u32..8, room in 0u32..8, limited in any::<bool>()) {
            let max = if limited { min + room } else { 0 };
            let count = image_count(&vk::SurfaceCapabilitiesKHR {
                min_image_count: min,
                max_image_count: max,
                ..Default::default()
            });
            prop_assert!(count >= min && (max == 0 || count <= max));
        }
    }

    proptest! {
        /// A driver in the middle of a resize may answer with limits that contradict each other: no panic, and never
        /// more than the most or nothing at all.
        #[test]
        fn limits_that_make_no_sense_are_survived(
            current in prop_oneof![Just([UNDEFINED; 2]), prop::array::uniform2(0u32..5000)],
            least in prop::array::uniform2(any::<u32>()),
            most in prop::array::uniform2(any::<u32>()),
            wanted in prop::array::uniform2(any::<u32>()),
        ) {
            if let Some(chosen) = extent(&surface(current, least, most), wanted) {
                for i in 0..2 {
                    prop_assert!(chosen[i] >= 1 && chosen[i] <= most[i]);
                }
            }
        }

        /// While limits hold, asking for what was given gives it again: no swapchain is made anew for nothing.
        #[test]
        fn an_extent_is_its_own_answer(
            current in prop_oneof![Just([UNDEFINED; 2]), prop::array::uniform2(1u32..5000)],
            least in prop::array::uniform2(1u32..200),
            more in prop::array::uniform2(0u32..5000),
            wanted in prop::array::uniform2(1u32..10_000),
        ) {
            let surface = surface(current, least, [least[0] + more[0], least[1] + more[1]]);
            let chosen = extent(&surface, wanted);
            prop_assert!(chosen.is_some());
            prop_assert_eq!(extent(&surface, chosen.unwrap_or_default()), chosen);
        }

        /// Whatever is chosen was offered.
        #[test]
        fn what_is_chosen_was_offered(
            modes in prop::collection::vec(0i32..4, 0..4),
            vsync in any::<bool>(),
            alphas in 1u32..16,
        ) {
            let modes: Vec<_> = modes.into_iter().map(vk::PresentModeKHR::from_raw).collect();
            let mode = present_mode(&modes, vsync);
            prop_assert!(mode == vk::PresentModeKHR::FIFO || (modes.contains(&mode) && !vsync));
            let offered = vk::CompositeAlphaFlagsKHR::from_raw(alphas);
            prop_assert!(offered.contains(composite_alpha(offered)));
        }
    }

    #[test]
    fn formats_that_would_encode_twice_are_not_taken() {
        use vk::Format as F;
        let pick = |list: &[F]| format(&offered(list)).map(|f| f.format);
        assert_eq!(pick(&[F::B8G8R8A8_SRGB, F::R8G8B8A8_UNORM, F::B8G8R8A8_UNORM]), Some(F::B8G8R8A8_UNORM));
        assert_eq!(pick(&[F::B8G8R8A8_SRGB, F::A2B10G10R10_UNORM_PACK32]), Some(F::A2B10G10R10_UNORM_PACK32));
        assert_eq!(pick(&[F::B8G8R8A8_SRGB]), None);
        let wide = vk::SurfaceFormatKHR {
            format: F::B8G8R8A8_UNORM,
            color_space: vk::ColorSpaceKHR::DISPLAY_P3_NONLINEAR_EXT,
        };
        assert!(format(&[wide]).is_none());
    }

    #[test]
    fn fifo_is_always_there() {
        use vk::PresentModeKHR as Mode;
        assert_eq!(present_mode(&[Mode::FIFO, Mode::MAILBOX, Mode::IMMEDIATE], true), Mode::FIFO);
        assert_eq!(present_mode(&[Mode::FIFO, Mode::IMMEDIATE, Mode::MAILBOX], false), Mode::MAILBOX);
        assert_eq!(present_mode(&[Mode::FIFO], false), Mode::FIFO);
    }
}
