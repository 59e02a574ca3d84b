//! Virtual textures through the whole engine while the driver refuses calls: a frame is lost at most, and what is shown
//! afterwards is what would have been shown.

use std::sync::Arc;

use vasa::Engine;
use vasa::render::RenderOptions;
use vasa::vk::{Device, DeviceOptions, Site};
use vasa::vt::runtime::{Kind, Volume};
use vasa::vt::{GroundTexturesDesc, RuntimeTextureDesc};
use vasa_tests::ground::{Ground, difference, is_same, options, small_pages};
use vasa_tests::{Harness, on_device, scenes};

const FRAMES: u32 = 8;

struct Flown {
    /// Calls at the site while it flew.
    calls: u64,
    /// Frames that ended in an error.
    errors: u64,
    withdrawn: u64,
    pages: u64,
    picture: Vec<u8>,
}

/// Flies while pages load, with the `nth` call at a site refused, and looks at the last view until it is settled.
fn fly(h: &Harness, site: Site, nth: Option<u64>) -> Flown {
    let mut ground = Ground::new(&h.device, options());
    let faults = h.device.faults();
    let before = faults.calls(site);
    nth.into_iter().for_each(|nth| faults.refuse(site, nth));
    let mut errors = 0;
    for frame in 0..FRAMES {
        // Two views: what the one asks for comes while the other is seen.
        let camera = ground.camera(if frame % 3 == 2 { 0.6 } else { 0.05 });
        if let Err(error) = ground.try_draw(camera) {
            errors += 1;
            assert!(nth.is_some() && errors == 1, "frame {frame}: {error}");
        }
    }
    faults.clear();
    let calls = faults.calls(site) - before;
    let camera = ground.camera(0.05);
    ground.settle(&[camera], 200);
    let stats = ground.stats();
    assert_eq!(ground.engine.residency().ladder().level(), 0);
    Flown {
        calls,
        errors,
        withdrawn: stats.withdrawn_frames,
        pages: stats.pages_drawn,
        picture: ground.picture(),
    }
}

/// Refuses `most` of the calls at a site, evenly.
fn refuse(h: &Harness, site: Site, most: u64) {
    fly(h, site, None);
    h.settle();
    let before = h.device.object_counts();
    let undisturbed = fly(h, site, None);
    h.settle();
    let (mut lost, mut withdrawn, mut tried) = (0, 0, 0);
    let stride = undisturbed.calls.div_ceil(most).max(1);
    for nth in (0..undisturbed.calls).step_by(stride as usize) {
        let flown = fly(h, site, Some(nth));
        let apart = difference(&flown.picture, &undisturbed.picture);
        assert!(is_same(&flown.picture, &undisturbed.picture), "{site:?} {nth}: {apart:?}");
        assert!(flown.pages > 50, "{site:?} {nth}: {} pages", flown.pages);
        (lost, withdrawn, tried) = (lost + flown.errors, withdrawn + flown.withdrawn, tried + 1);
        h.settle();
        let after = h.device.object_counts();
        assert_eq!((after.live, after.chunk_allocations), (before.live, before.chunk_allocations), "{nth}");
        assert_eq!(after.memory_bytes, before.memory_bytes, "{nth}");
    }
    println!(
        "{site:?}: {tried} of {} calls refused, {lost} frames lost, {withdrawn} plans withdrawn, {} pages",
        undisturbed.calls, undisturbed.pages
    );
    match site {
        Site::Bind => assert_eq!(lost + withdrawn > 0, h.in_place()),
        // A plan whose passes find no memory waits for the next frame; other frames are tried again.
        Site::Allocate => assert!(tried > 3 && lost == 0 && withdrawn > 0),
        _ => assert!(tried > 3 && lost > 0 && withdrawn > 0),
    }
}

#[test]
fn pages_survive_refused_submissions() {
    on_device(|h| refuse(h, Site::Submit, 4));
}

#[test]
fn pages_survive_refused_allocations() {
    on_device(|h| refuse(h, Site::Allocate, 40));
}

#[test]
fn pages_survive_refused_binds() {
    on_device(|h| refuse(h, Site::Bind, 4));
}

/// Draws a view while it loads; the picture.
fn load(device: &Arc<Device>) -> vasa::Result<Vec<u8>> {
    let mut ground = Ground::try_new(device, options(), RenderOptions::PLAIN)?;
    let camera = ground.camera(0.05);
    (0..FRAMES).try_for_each(|_| ground.try_draw(camera))?;
    ground.engine.read_back()
}

#[test]
fn a_device_lost_while_pages_load_is_followed_by_one_that_draws_the_same() {
    on_device(|h| {
        let open = || {
            let options = DeviceOptions { no_breadcrumbs: false, ..h.device_options() };
            Device::open(h.device.instance(), &options).unwrap()
        };
        let device = open();
        // Layers of the terrain are made before the first frame.
        let before = device.faults().calls(Site::Lose);
        let picture = load(&device).unwrap();
        let calls = device.faults().calls(Site::Lose) - before;
        drop(device);
        let mut last = String::new();
        for back in [6, 4, 3, 1] {
            let device = open();
            let first = device.object_counts();
            device.faults().refuse(Site::Lose, calls - back);
            let error = load(&device).map(drop).unwrap_err();
            let loss = error.device_loss().unwrap_or_else(|| panic!("{back} before the last: {error}"));
            assert_eq!(Some(loss), device.loss());
            let (_, after) = (device.collect(), device.object_counts());
            assert_eq!((after.live, after.memory_bytes), (first.live, first.memory_bytes), "{back}");
            drop(device);
            last = error.to_string();
        }
        let again = load(&open()).unwrap();
        assert!(again == picture, "another picture after the loss: {:?}", difference(&again, &picture));
        println!("lost at 4 of {calls} submissions; the last: {}", last.lines().next().unwrap_or_default());
    });
}

#[test]
fn textures_that_cannot_be_made_leave_nothing() {
    on_device(|h| {
        let mut engine = Ground::direct(&h.device);
        engine.use_textures(options()).unwrap();
        let camera = scenes::flight(&scenes::hills(), 0.05);
        let left = |engine: &Engine| {
            let textures = engine.textures().unwrap();
            let stats = textures.stats();
            (
                stats.textures.len(),
                stats.spaces,
                textures.writers().writers().count(),
                textures.ground().is_some(),
            )
        };
        // The surface could be made, its heights have too many pages.
        let wrong = GroundTexturesDesc { height_tiles: 5000, ..small_pages() };
        let error = engine.use_ground_textures(&wrong).unwrap_err();
        assert!(error.to_string().contains("5000"), "{error}");
        assert_eq!(left(&engine), (0, 0, 0, false));
        scenes::draw(&mut engine, camera);
        // Its page table was made, and is larger than that of the next; what it wants to lock is more than the pool has.
        let volume = Volume::new([0.0; 2], [512.0; 2], [0.0, 1.0]).unwrap();
        let kind = Kind::BaseColorNormalSpecularMaskYCoCg;
        let locked = RuntimeTextureDesc {
            tile: 64,
            locked_from: Some(0),
            ..RuntimeTextureDesc::new("Locked", volume, kind, 256)
        };
        let error = engine.create_texture(&locked).unwrap_err();
        assert!(error.to_string().contains("lock"), "{error}");
        assert_eq!(left(&engine), (0, 0, 0, false));
        let ground = engine.use_ground_textures(&small_pages()).unwrap();
        assert_eq!(left(&engine), (3, 1, 1, true));
        let (table, _) = engine.textures().unwrap().images(ground.surface).unwrap();
        assert_eq!(table.desc().extent, [128; 2], "the page table of another texture");
        (0..8).for_each(|_| scenes::draw(&mut engine, camera));
        assert!(engine.textures().unwrap().stats().pages_drawn > 20);
        // Destroyed one by one, too, nothing is left.
        let textures = engine.textures_mut().unwrap();
        ground.all().for_each(|id| textures.destroy_texture(id).unwrap());
        assert_eq!(left(&engine), (0, 0, 0, false));
        scenes::draw(&mut engine, camera);
    });
}
