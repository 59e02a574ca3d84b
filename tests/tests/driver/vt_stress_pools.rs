//! Virtual textures through the whole engine: pools that are too small, and feedback that has no room.

use std::sync::Arc;

use vasa::render::RenderOptions;
use vasa::vk::Device;
use vasa::vt::{Options, VtStats};
use vasa_tests::ground::{Ground, difference, options};
use vasa_tests::on_device;

/// Bytes of a page of 64 texels and its border in the three layers of the surface.
const SURFACE_PAGE: f32 = 72.0 * 72.0 * 3.0;

/// Options with room for so many pages of the surface.
fn room(pages: u32) -> Options {
    // A little more, so that the root comes out whole.
    Options { pool_mib: 1, pool_scale: (pages as f32 + 0.1) * SURFACE_PAGE / (1 << 20) as f32, ..options() }
}

/// Draws a still view until nothing has happened for 60 frames: no page drawn or evicted, and the bias the same.
fn still(device: &Arc<Device>, options: Options) -> (VtStats, Vec<u8>, u32) {
    let mut ground = Ground::new(device, options);
    let camera = ground.camera(0.05);
    let seen = |ground: &Ground| {
        let stats = ground.stats();
        (stats.pages_drawn, stats.evicted, stats.table_quads, stats.mip_bias.to_bits())
    };
    let (mut last, mut since) = (seen(&ground), 0);
    for frame in 1..=400 {
        ground.draw(camera);
        let now = seen(&ground);
        (last, since) = (now, if now == last { since } else { frame });
        if frame >= since + 60 {
            return (ground.stats(), ground.picture(), since);
        }
    }
    panic!("still {:?} after 400 frames: {}", ground.textures().plan().counters, ground.stats().pools_text());
}

#[test]
fn pools_that_are_too_small_raise_the_bias_and_keep_still() {
    on_device(|h| {
        let (whole, sharp, _) = still(&h.device, options());
        let needed = whole.pools[0].allocated;
        assert!(whole.mip_bias_max == 0.0 && needed > 30, "{}", whole.pools_text());
        for pages in [needed / 4, 4] {
            let (stats, picture, frames) = still(&h.device, room(pages));
            let apart = difference(&sharp, &picture);
            println!(
                "{needed} pages needed, {} there: bias {:.2} (at most {:.2}) after {frames} frames, {} drawn, {} evicted, \
                 sharpness {:.3}, {apart:?}",
                stats.pools[0].tiles,
                stats.mip_bias,
                stats.mip_bias_max,
                stats.pages_drawn,
                stats.evicted,
                stats.sharpness
            );
            let side = f64::from(pages).sqrt() as u32;
            assert_eq!(stats.pools[0].tiles, side * side, "{}", stats.pools_text());
            assert!(stats.pools[0].allocated < side * side, "page 0 is reserved");
            assert!(stats.mip_bias > 0.3 && stats.mip_bias <= 4.0, "{}", stats.mip_bias);
            // Blurrier, and nothing is black.
            assert!(apart.0 > 10 && apart.1 < 40.0, "{apart:?}");
            if pages > 4 {
                assert!(stats.sharpness >= 0.99, "what is wished for under the bias is not there");
            }
        }
    });
}

#[test]
fn full_feedback_is_counted_and_the_view_settles_all_the_same() {
    on_device(|h| {
        let places = |ground: &Ground| [ground.camera(0.05), ground.above(200.0, -300.0, 400.0)];
        let mut whole = Ground::new(&h.device, options());
        for camera in places(&whole) {
            whole.settle(&[camera], 200);
        }
        assert_eq!(whole.stats().overflow, 0);
        let whole = whole.picture();
        // 60 blocks: the list of pages has 16 places for more pages than that.
        let few = Options { feedback_factor: 16, ..options() };
        // Every pixel says something, and those on edges of triangles several times.
        let dense = Options { feedback_factor: 1, feedback_overdraw: 1, ..options() };
        let several = RenderOptions { samples: 4, ..RenderOptions::PLAIN };
        for (what, options, render) in
            [("few pairs", few, RenderOptions::PLAIN), ("no overdraw", dense, several)]
        {
            let mut ground = Ground::try_new(&h.device, options, render).unwrap();
            for camera in places(&ground) {
                // A block of 256 pixels takes 256 frames until each has spoken; the last ones ask for little.
                (0..80).for_each(|_| ground.draw(camera));
            }
            let stats = ground.stats();
            let apart = difference(&whole, &ground.picture());
            println!(
                "{what}: {} lost of {}, sharpness {:.3}, {} pages, {apart:?}",
                stats.overflow, stats.feedback_requests, stats.sharpness, stats.pages_drawn
            );
            assert!(stats.overflow > 0, "{what}: nothing was lost");
            assert!(stats.sharpness >= 0.99 && stats.evicted == 0, "{what}");
            if render.samples == 1 {
                assert!(apart.1 < 1.0, "{what}: {apart:?}");
            }
        }
    });
}
