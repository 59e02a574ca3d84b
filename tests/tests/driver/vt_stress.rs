//! Virtual textures through the whole engine: views that change and views that do not.

use vasa::graph::GraphOptions;
use vasa::vt::{Knobs, Options};
use vasa_tests::ground::{Ground, difference, is_same, options};
use vasa_tests::on_device;

#[test]
fn each_cut_of_the_camera_is_sharp_before_the_next() {
    on_device(|h| {
        let mut ground = Ground::new(&h.device, options());
        let places = [0.05, 0.55, 0.3, 0.8, 0.95];
        for place in places {
            let camera = ground.camera(place);
            ground.engine.cut();
            (0..30).for_each(|_| ground.draw(camera));
        }
        let stats = ground.stats();
        println!("frames until sharp: {:?}, {} pages drawn", stats.frames_until_sharp, stats.pages_drawn);
        // Feedback of a view takes three frames, so none is sharp earlier; there is something to load in each.
        let frames: Vec<u32> = stats.frames_until_sharp.iter().flatten().copied().collect();
        assert_eq!(frames.len(), places.len(), "a cut came before the view before it was sharp");
        assert!(frames.iter().all(|frames| (4..=20).contains(frames)));
        assert!(frames.iter().any(|frames| *frames > 4), "nothing had to be loaded");
        assert!(stats.sharpness >= 0.99 && stats.overflow == 0 && stats.lost_feedback == 0);
    });
}

#[test]
fn two_cameras_in_turn_are_both_sharp_and_take_nothing_from_each_other() {
    on_device(|h| {
        let mut ground = Ground::new(&h.device, options());
        let cameras = [ground.camera(0.05), ground.camera(0.9)];
        let frames = ground.settle(&cameras, 200);
        let before = ground.stats();
        for frame in 0..40 {
            ground.draw(cameras[frame % 2]);
            let counters = ground.textures().plan().counters;
            assert!(counters.sharpness() >= 0.99, "frame {frame}: {counters:?}");
        }
        let after = ground.stats();
        println!("two cameras: settled after {frames} frames, {} pages", after.pages_drawn);
        assert_eq!((after.evicted, after.pages_drawn), (0, before.pages_drawn));
        assert!(after.steady_frames >= 40, "{}", after.steady_frames);
    });
}

#[test]
fn a_steady_view_draws_no_page_paints_no_table_and_makes_no_object() {
    on_device(|h| {
        let mut ground = Ground::new(&h.device, options());
        let camera = ground.camera(0.05);
        let frames = ground.settle(&[camera], 200);
        ground.engine.sparse().wait_for_ahead();
        let (before, objects) = (ground.stats(), h.device.object_counts());
        for frame in 0..60 {
            ground.draw(camera);
            assert!(ground.textures().plan().is_empty(), "frame {frame}");
        }
        let (after, now) = (ground.stats(), h.device.object_counts());
        println!("steady view: settled after {frames} frames, {} pages", after.pages_drawn);
        assert_eq!((after.pages_drawn, after.table_quads), (before.pages_drawn, before.table_quads));
        assert_eq!((now.created, now.live), (objects.created, objects.live), "objects were made");
        assert!(after.pages_drawn > 20 && after.feedback_requests > before.feedback_requests);
        assert_eq!(after.steady_frames, before.steady_frames + 60);
    });
}

#[test]
fn another_size_of_the_picture_and_back_again_is_the_same_picture() {
    on_device(|h| {
        let mut ground = Ground::new(&h.device, options());
        let camera = ground.camera(0.05);
        let small = ground.extent;
        ground.settle(&[camera], 200);
        let before = ground.picture();
        let pages = ground.stats().pages_drawn;
        // In the middle of loading, too: after a cut nothing of the view is there.
        let other = ground.camera(0.6);
        for extent in [[240, 135], small, [320, 180], [200, 180]] {
            ground.extent = extent;
            (0..3).for_each(|_| ground.draw(other));
        }
        ground.extent = [320, 180];
        ground.settle(&[camera], 200);
        let stats = ground.stats();
        assert!(stats.pages_drawn > pages && stats.sharpness >= 0.99 && stats.lost_feedback == 0);
        ground.extent = small;
        ground.settle(&[camera], 200);
        let apart = difference(&before, &ground.picture());
        println!("after resizes: {apart:?}, {} pages", ground.stats().pages_drawn);
        // What was wished for was there before, and is now.
        assert_eq!(apart, (0, 0.0));
    });
}

#[test]
fn after_a_flush_the_same_picture_comes_back() {
    on_device(|h| {
        let mut ground = Ground::new(&h.device, options());
        let camera = ground.camera(0.05);
        ground.settle(&[camera], 200);
        let (before, pages) = (ground.picture(), ground.stats().pages_drawn);
        let held =
            |ground: &Ground| -> u32 { ground.stats().textures.iter().map(|t| t.resident - t.locked).sum() };
        let all = held(&ground);
        // Few a frame, so that the frames between are seen.
        let few = Options { planner: Knobs { max_uploads_per_frame: 2, ..options().planner }, ..options() };
        ground.textures_mut().set_options(few);
        ground.textures_mut().flush();
        ground.draw(camera);
        let blurred = difference(&before, &ground.picture());
        let resident = held(&ground);
        ground.textures_mut().set_options(options());
        let frames = ground.settle(&[camera], 200);
        let (after, stats) = (ground.picture(), ground.stats());
        println!("flush: {blurred:?} at once, {frames} frames, then {:?}", difference(&before, &after));
        assert!(all > 30 && resident <= 2 && blurred.0 > 20, "{resident} of {all} pages stayed, {blurred:?}");
        // Blurry, not black: the locked pages stay.
        assert!(blurred.1 < 40.0, "{blurred:?}");
        assert!(stats.pages_drawn > pages + 20);
        assert!(is_same(&before, &after), "{:?}", difference(&before, &after));
    });
}

struct Run {
    picture: Vec<u8>,
    stats: vasa::vt::VtStats,
}

fn run(device: &std::sync::Arc<vasa::vk::Device>, aliasing: bool) -> Run {
    let mut ground = Ground::new(device, options());
    ground.engine.graph_mut().set_options(GraphOptions { aliasing, ..Default::default() });
    for frame in 0..24 {
        let camera = ground.camera(0.05 + 0.02 * frame as f32);
        ground.draw(camera);
    }
    Run { picture: ground.picture(), stats: ground.stats() }
}

#[test]
fn the_same_run_draws_the_same_pages_with_any_memory() {
    on_device(|h| {
        let first = run(&h.device, true);
        let again = run(&h.device, true);
        let apart = run(&h.device, false);
        let fallback = run(&h.open_fallback(), true);
        println!("{} pages, {} evicted", first.stats.pages_drawn, first.stats.evicted);
        assert!(first.stats.pages_drawn > 80 && first.stats.overflow == 0);
        for (what, other) in [("again", again), ("without aliasing", apart)] {
            assert_eq!(first.stats, other.stats, "{what}");
            assert!(
                first.picture == other.picture,
                "{what}: {:?}",
                difference(&first.picture, &other.picture)
            );
        }
        assert_eq!(first.stats, fallback.stats);
        // Drivers may filter an image of another kind of memory with other roundings.
        let roundings = difference(&first.picture, &fallback.picture);
        println!("without binds: {roundings:?}");
        assert!(roundings.0 <= 2 && roundings.1 < 0.2, "{roundings:?}");
    });
}
