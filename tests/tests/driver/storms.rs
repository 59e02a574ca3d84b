//! Swapchains in a storm: hundreds of random steps of everything that a window system may do, on surfaces without a
//! window. No validation message, every extent inside of what the surface allowed when it was asked last, a present
//! semaphore an image and an acquire semaphore a frame.

use std::collections::{BTreeMap, BTreeSet};

use ash::vk::{Handle, Result as Answer};
use vasa::vk::{Acquired, Surface, Swapchain, SwapchainOptions};
use vasa_tests::presents::{self, Call};
use vasa_tests::random::Random;

use crate::present::{Stage, on_stage};

const STEPS: u32 = 600;
const FRAMES: usize = 2;

/// What is known of the swapchains so far.
#[derive(Default)]
struct Model {
    /// Semaphores that acquires of one `Swapchain` used.
    acquires: BTreeSet<u64>,
    /// Of each swapchain object: the semaphore that each image is presented with.
    presents: BTreeMap<u64, BTreeMap<u32, u64>>,
    /// Images acquired and not presented, with their swapchain.
    held: BTreeMap<u64, BTreeSet<u32>>,
    counts: [u32; 3],
}

impl Model {
    fn look(&mut self, step: u32) {
        for call in presents::take_calls() {
            match call {
                Call::Created { swapchain, extent, limits: [least, most], .. } => {
                    self.counts[0] += 1;
                    for side in 0..2 {
                        let allowed = least[side].max(1)..=most[side];
                        assert!(allowed.contains(&extent[side]), "step {step}: {call:?}");
                    }
                    // A handle may come again after it was destroyed.
                    self.presents.insert(swapchain.as_raw(), BTreeMap::new());
                    self.held.insert(swapchain.as_raw(), BTreeSet::new());
                }
                Call::Acquired { swapchain, semaphore, index } => {
                    self.counts[1] += 1;
                    self.acquires.insert(semaphore.as_raw());
                    assert!(
                        self.acquires.len() <= FRAMES,
                        "step {step}: an acquire semaphore is one a frame"
                    );
                    let held = self.held.get_mut(&swapchain.as_raw()).unwrap();
                    assert!(held.insert(index), "step {step}: image {index} is acquired twice");
                }
                Call::Presented { swapchain, semaphore, index } => {
                    self.counts[2] += 1;
                    let of = self.presents.get_mut(&swapchain.as_raw()).unwrap();
                    let own = *of.entry(index).or_insert(semaphore.as_raw());
                    assert_eq!(own, semaphore.as_raw(), "step {step}: a present semaphore is one an image");
                    let others: BTreeSet<u64> = of.values().copied().collect();
                    assert_eq!(others.len(), of.len(), "step {step}: two images share a semaphore");
                    assert!(!self.acquires.contains(&semaphore.as_raw()));
                    let held = self.held.get_mut(&swapchain.as_raw()).unwrap();
                    assert!(held.remove(&index), "step {step}: image {index} is presented and not acquired");
                }
            }
        }
    }
}

fn any_size(random: &mut Random) -> [u32; 2] {
    let mut side = || match random.below(12) {
        0 => 0,
        1 => 1,
        2 => 1 + random.below(1500) as u32,
        _ => 1 + random.below(200) as u32,
    };
    [side(), side()]
}

fn storm(stage: &mut Stage, surface: Surface, seed: u64) {
    let mut random = Random::new(seed);
    let options =
        |random: &mut Random| SwapchainOptions { vsync: random.once_in(2), frames_in_flight: FRAMES };
    let mut swapchain = Swapchain::new(&stage.device, surface, [64, 64], options(&mut random)).unwrap();
    let (mut model, mut size) = (Model::default(), [64, 64]);
    for step in 0..STEPS {
        match random.below(16) {
            0 | 1 => {
                size = any_size(&mut random);
                swapchain.resize(size);
            }
            // A window system that decides the size, with and without telling the program.
            2 => {
                size = any_size(&mut random);
                presents::set_size(Some(size));
                if random.once_in(2) {
                    swapchain.resize(size);
                }
            }
            3 => presents::set_size(None),
            4 => {
                let answers = [
                    Answer::ERROR_OUT_OF_DATE_KHR,
                    Answer::ERROR_OUT_OF_DATE_KHR,
                    Answer::SUBOPTIMAL_KHR,
                    Answer::TIMEOUT,
                    Answer::NOT_READY,
                ];
                presents::order_acquire(*random.pick(&answers).unwrap());
            }
            5 => {
                let answers = [Answer::ERROR_OUT_OF_DATE_KHR, Answer::SUBOPTIMAL_KHR];
                presents::order_present(*random.pick(&answers).unwrap());
            }
            // The window moved on between the question and the making.
            6 => {
                presents::order_creation(Answer::ERROR_OUT_OF_DATE_KHR);
                swapchain.resize(any_size(&mut random));
            }
            // Acquired and left; rendered to and left; both are taken up by what comes next.
            7 => drop(swapchain.acquire().unwrap()),
            8 => {
                if let Acquired::Image(image) = swapchain.acquire().unwrap() {
                    stage.draw(&image);
                }
            }
            // Dropped with whatever is pending, and made again on another surface.
            9 if random.once_in(3) => {
                if random.once_in(2)
                    && let Acquired::Image(image) = swapchain.acquire().unwrap()
                    && random.once_in(2)
                {
                    stage.draw(&image);
                }
                model.look(step);
                let surface = Surface::headless(&stage.instance).unwrap();
                // The old one goes after the new one is there, or before.
                if random.once_in(2) {
                    drop(swapchain);
                    presents::forget_orders();
                    swapchain = Swapchain::new(&stage.device, surface, size, options(&mut random)).unwrap();
                } else {
                    presents::forget_orders();
                    let new = Swapchain::new(&stage.device, surface, size, options(&mut random)).unwrap();
                    drop(std::mem::replace(&mut swapchain, new));
                }
                model.acquires.clear();
            }
            _ => {
                stage.frame(&mut swapchain);
            }
        }
        model.look(step);
    }
    // The sun comes out.
    presents::forget_orders();
    presents::set_size(None);
    swapchain.resize([80, 60]);
    assert!((0..5).all(|_| stage.frame(&mut swapchain)), "seed {seed}: no picture after the storm");
    assert_eq!(swapchain.extent(), Some([80, 60]));
    let [made, acquired, presented] = model.counts;
    println!("seed {seed}: {STEPS} steps, {made} swapchains, {acquired} acquired, {presented} presented");
    assert!(made > 20 && presented > 100 && acquired >= presented);
}

#[test]
fn hundreds_of_random_steps_leave_no_message_and_end_in_a_picture() {
    for seed in [20_260_101, 7, 99] {
        on_stage(|stage, surface| {
            presents::reset();
            storm(stage, surface, seed);
            presents::reset();
        });
    }
}

#[test]
fn a_window_whose_size_is_never_told_is_followed_when_it_is_out_of_date() {
    on_stage(|stage, surface| {
        presents::reset();
        presents::set_size(Some([100, 50]));
        let mut swapchain =
            Swapchain::new(&stage.device, surface, [64, 64], SwapchainOptions::default()).unwrap();
        assert_eq!(swapchain.extent(), Some([100, 50]), "the surface decides");
        assert!(stage.frame(&mut swapchain));
        presents::set_size(Some([33, 44]));
        presents::order_present(Answer::SUBOPTIMAL_KHR);
        assert!(stage.frame(&mut swapchain));
        assert!(stage.frame(&mut swapchain));
        assert_eq!(swapchain.extent(), Some([33, 44]));
        presents::set_size(Some([0, 0]));
        presents::order_acquire(Answer::ERROR_OUT_OF_DATE_KHR);
        assert!((0..3).all(|_| !stage.frame(&mut swapchain)), "no pixels");
        presents::set_size(Some([10, 10]));
        assert!(stage.frame(&mut swapchain));
        assert_eq!(swapchain.extent(), Some([10, 10]));
        presents::reset();
    });
}
