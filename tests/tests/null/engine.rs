//! The whole engine on the null driver: every call that a frame makes, without a GPU; and every allocation
//! that can fail.

use vasa::vk::null::{Fault, NullConfig, NullDevice, NullDriver};
use vasa::vk::{DeviceOptions, FeatureMask};
use vasa_tests::scenes::{self, add_hills, draw, flight, hills};

use crate::devices::open;

fn driver() -> NullDriver {
    NullDriver::new(NullConfig::with_devices(vec![NullDevice::default()]))
}

/// Draws a short flight; the first error ends it.
fn fly(driver: &NullDriver, options: &DeviceOptions, frames: u32) -> vasa::Result<()> {
    let device = open(driver, options)?;
    let mut engine = vasa::Engine::on_device(
        device,
        // What a worker cannot have ahead of need is no error; here every failure must be one.
        vasa::sparse::SparseKnobs { commit_ahead: false, ..Default::default() },
        vasa::render::RenderOptions::default(),
        2,
        1 << 20,
    )?;
    let surface = hills();
    let desc = vasa::scene::terrain::TerrainDesc {
        rock_distance: 200.0,
        threads: 1,
        ..vasa::scene::terrain::TerrainDesc::new(vasa::render::Atmosphere::morning().sun)
    };
    let terrain = vasa::scene::terrain::Terrain::new(engine.device(), surface.clone(), &desc)?;
    engine.scene_mut().set_terrain(Some(terrain))?;
    for frame in 0..frames {
        let view = scenes::view(flight(&surface, frame as f32 / frames as f32));
        engine.render(&view, scenes::EXTENT, None)?;
    }
    engine.read_back()?;
    Ok(())
}

#[test]
fn a_flight_leaves_nothing_behind() {
    for mask in [FeatureMask::default(), FeatureMask::fallback()] {
        let driver = driver();
        fly(&driver, &DeviceOptions { mask, ..Default::default() }, 40).unwrap();
        driver.assert_clean();
    }
}

#[test]
fn a_frame_binds_sparse_memory_in_one_call() {
    let driver = driver();
    fly(&driver, &DeviceOptions::default(), 40).unwrap();
    let calls = driver.calls("vkQueueBindSparse");
    let frames = driver.calls("vkQueueSubmit2");
    assert!(calls > 0 && calls <= frames, "{calls} binds calls in {frames} submissions");
}

#[test]
fn every_failing_allocation_is_an_error_and_leaks_nothing() {
    // Every allocation that a start and a few frames make fails once. The calls are few, so all of them are tried.
    let counted = driver();
    fly(&counted, &DeviceOptions::default(), 6).unwrap();
    let allocations = counted.calls("vkAllocateMemory");
    assert!(allocations > 5, "{allocations} allocations: nothing to fail");
    let mut errors = 0;
    for nth in 1..=allocations {
        let driver = driver();
        driver.fail_nth(Fault::Allocate, nth);
        // The static heap tries a second memory type before it gives up, and frames are drawn again: those failures
        // are survived, the others are errors that say so.
        if let Err(error) = fly(&driver, &DeviceOptions::default(), 6) {
            assert!(error.to_string().contains("out of memory"), "allocation {nth}: {error}");
            errors += 1;
        }
        driver.assert_clean();
    }
    assert!(errors > 1, "only {errors} of {allocations} failures were noticed");
    // With every try failing, every one is an error.
    for nth in (1..=allocations).step_by(3) {
        let driver = driver();
        (nth..nth + 60).for_each(|n| driver.fail_nth(Fault::Allocate, n));
        let error =
            fly(&driver, &DeviceOptions::default(), 6).expect_err("sixty failures in a row went unnoticed");
        assert!(error.to_string().contains("out of memory"), "allocation {nth}: {error}");
        driver.assert_clean();
    }
}

#[test]
fn the_engine_draws_on_after_a_frame_that_had_no_memory() {
    let driver = driver();
    let device = open(&driver, &DeviceOptions::default()).unwrap();
    let surface = hills();
    {
        let mut engine = scenes::engine(&device, 2);
        add_hills(&mut engine, &surface);
        draw(&mut engine, flight(&surface, 0.1));
        // The next allocation is that of the larger targets.
        driver.set_foreign_usage(0, 0, 1 << 50);
        let view = scenes::view(flight(&surface, 0.1));
        let error = engine.render(&view, [4096, 4096], None).unwrap_err();
        assert!(error.to_string().contains("out of memory"), "{error}");
        driver.set_foreign_usage(0, 0, 0);
        for frame in 0..10 {
            draw(&mut engine, flight(&surface, 0.1 + 0.05 * frame as f32));
        }
    }
    drop(device);
    driver.assert_clean();
}

/// One failure costs one frame, and nothing leaks. (That no byte is lost is read back in the driver ring.)
#[test]
fn a_submission_that_fails_costs_one_frame() {
    // Every submission of a flight fails once, for want of memory.
    let counted = driver();
    fly(&counted, &DeviceOptions::default(), 8).unwrap();
    let submissions = counted.calls("vkQueueSubmit2");
    for nth in 1..=submissions {
        let driver = driver();
        let device = open(&driver, &DeviceOptions::default()).unwrap();
        let surface = hills();
        {
            let mut engine = scenes::engine(&device, 2);
            add_hills(&mut engine, &surface);
            driver.fail_nth(Fault::Submit, nth);
            let mut failed = 0;
            for frame in 0..10 {
                let view = scenes::view(flight(&surface, 0.1 * frame as f32));
                failed += u32::from(engine.render(&view, scenes::EXTENT, None).is_err());
            }
            assert!(failed <= 1, "one failure cost {failed} frames");
            engine.wait_idle().unwrap();
        }
        drop(device);
        driver.assert_clean();
    }
}
