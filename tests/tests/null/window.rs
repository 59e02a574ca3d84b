//! A window's bad days, which no real driver shows on demand: out of date at the acquire and at the present,
//! suboptimal, no pixels; the engine draws on.

use std::sync::Arc;

use ash::vk::Result as Answer;
use vasa::Engine;
use vasa::vk::null::{NullConfig, NullDevice, NullDriver};
use vasa::vk::{
    Device, DeviceOptions, Instance, InstanceOptions, Surface, Swapchain, SwapchainOptions, Validation,
};
use vasa_tests::scenes::{self, add_hills, flight, hills};

struct Window {
    driver: NullDriver,
    swapchain: Swapchain,
    engine: Engine,
    surface: Arc<vasa::scene::terrain::surface::Surface>,
    frame: u32,
}

impl Window {
    /// Draws a frame; says whether it was shown.
    fn draw(&mut self) -> bool {
        let view = scenes::view(flight(&self.surface, 0.2 + 0.001 * self.frame as f32));
        self.frame += 1;
        self.engine.render_to(&mut self.swapchain, &view, None).unwrap().is_some()
    }
}

fn in_a_window(test: impl FnOnce(&mut Window)) {
    let driver = NullDriver::new(NullConfig::with_devices(vec![NullDevice::default()]));
    driver.set_surface_extent(320, 180);
    let instance = Instance::new(InstanceOptions {
        validation: Validation::Off,
        headless_surface: true,
        entry: Some(driver.entry()),
        ..Default::default()
    })
    .unwrap();
    let surface = Surface::headless(&instance).unwrap();
    let device = Device::open_for_surface(&instance, &DeviceOptions::default(), &surface).unwrap();
    let swapchain = Swapchain::new(&device, surface, [320, 180], SwapchainOptions::default()).unwrap();
    let mut engine = scenes::engine(&device, 2);
    let ground = hills();
    add_hills(&mut engine, &ground);
    drop((device, instance));
    let mut window = Window { driver, swapchain, engine, surface: ground, frame: 0 };
    test(&mut window);
    let Window { driver, swapchain, engine, .. } = window;
    drop((swapchain, engine));
    driver.assert_clean();
}

#[test]
fn an_answer_of_out_of_date_costs_at_most_a_frame() {
    for answer in [Answer::ERROR_OUT_OF_DATE_KHR, Answer::SUBOPTIMAL_KHR] {
        in_a_window(|window| {
            assert!(window.draw());
            let made = window.swapchain.recreations();
            window.driver.order_acquire(answer);
            window.draw();
            assert!((0..3).all(|_| window.draw()), "{answer} at the acquire");
            window.driver.order_present(answer);
            window.draw();
            assert!((0..3).all(|_| window.draw()), "{answer} at the present");
            // A swapchain that is only suboptimal, at the same size, would be no better made anew.
            let new = window.swapchain.recreations() > made;
            assert_eq!(new, answer == Answer::ERROR_OUT_OF_DATE_KHR, "{answer}: a new swapchain?");
        });
    }
}

#[test]
fn a_storm_of_answers_ends_in_a_picture() {
    in_a_window(|window| {
        let storm = [
            Answer::ERROR_OUT_OF_DATE_KHR,
            Answer::SUBOPTIMAL_KHR,
            Answer::SUCCESS,
            Answer::ERROR_OUT_OF_DATE_KHR,
            Answer::ERROR_OUT_OF_DATE_KHR,
        ];
        for round in 0..60u32 {
            window.driver.order_acquire(storm[round as usize % storm.len()]);
            window.driver.order_present(storm[(round as usize / 2) % storm.len()]);
            let side = 1 + (round * 37) % 500;
            window.driver.set_surface_extent(side, 500 - (round * 13) % 400);
            window.swapchain.resize([side, 500 - (round * 13) % 400]);
            window.draw();
        }
        // What was ordered and not used yet runs out; after that every frame is shown.
        (0..130).for_each(|_| {
            window.draw();
        });
        assert!((0..5).all(|_| window.draw()));
    });
}

#[test]
fn a_window_without_pixels_draws_nothing_and_comes_back() {
    in_a_window(|window| {
        assert!(window.draw());
        window.driver.set_surface_extent(0, 0);
        window.swapchain.resize([0, 0]);
        assert!((0..10).all(|_| !window.draw()), "nothing can be shown");
        window.driver.set_surface_extent(64, 48);
        window.swapchain.resize([64, 48]);
        window.draw();
        assert!(window.draw());
        assert_eq!(window.swapchain.extent(), Some([64, 48]));
    });
}
