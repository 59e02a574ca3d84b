//! Swapchains on surfaces without a window: every frame loop a window goes through, and not one message.

use std::sync::Arc;

use ash::vk::{
    AccessFlags2, BufferUsageFlags, Format, ImageAspectFlags, ImageLayout, ImageUsageFlags,
    PipelineStageFlags2,
};
use vasa::vk::timeline::PresentSync;
use vasa::vk::{
    Acquired, AcquiredImage, Buffer, ColourTarget, CommandEncoder, CommandPool, Device, Image, ImageDesc,
    Instance, InstanceOptions, Load, Location, Point, Presented, Surface, Swapchain, SwapchainOptions,
    Timeline,
};
use vasa_tests::settings::Settings;

const COLOUR: ImageAspectFlags = ImageAspectFlags::COLOR;
const COPY: (PipelineStageFlags2, AccessFlags2) =
    (PipelineStageFlags2::ALL_TRANSFER, AccessFlags2::TRANSFER_WRITE);
const READ: (PipelineStageFlags2, AccessFlags2) =
    (PipelineStageFlags2::ALL_TRANSFER, AccessFlags2::TRANSFER_READ);
const DRAW: (PipelineStageFlags2, AccessFlags2) =
    (PipelineStageFlags2::COLOR_ATTACHMENT_OUTPUT, AccessFlags2::COLOR_ATTACHMENT_WRITE);

/// A device that presents to headless surfaces. The counts and messages of one test belong to it alone.
pub struct Stage {
    pub instance: Arc<Instance>,
    pub device: Arc<Device>,
    pool: Vec<CommandPool>,
    frame: usize,
}

/// Runs a test where headless surfaces exist. Afterwards no object may be left and no message said.
pub fn on_stage(test: impl FnOnce(&mut Stage, Surface)) {
    let settings = Settings::from_environment();
    let _turn = vasa_tests::harness::one_at_a_time();
    vasa_tests::harness::keep_driver_loaded();
    let opened = Instance::new(InstanceOptions {
        headless_surface: true,
        entry: vasa_tests::hooks::entry().ok(),
        ..settings.instance()
    })
    .and_then(|instance| {
        let surface = Surface::headless(&instance)?;
        let device = Device::open_for_surface(&instance, &settings.device(), &surface)?;
        Ok((instance, surface, device))
    });
    let (instance, surface, device) = match opened {
        Ok(opened) => opened,
        // A GPU's driver may have no headless surfaces; the software driver has.
        Err(error @ vasa::vk::Error::Unsupported { .. }) => return settings.skip(&error.to_string()),
        Err(error) if settings.require_driver || settings.device.is_some() => {
            panic!("a driver is required: {error}")
        }
        Err(error) => return settings.skip(&error.to_string()),
    };
    let before = device.object_counts().live;
    let mut stage = Stage { instance: instance.clone(), device, pool: Vec::new(), frame: 0 };
    test(&mut stage, surface);
    stage.pool.clear();
    stage.device.wait_idle().unwrap();
    assert_eq!(stage.device.object_counts().live, before, "Vulkan objects leaked");
    assert_eq!(stage.device.retiring(), 0, "the retire queue still holds something");
    drop(stage);
    let texts = instance.messages().failure_texts();
    assert_eq!(instance.messages().failures(), 0, "validation said:\n{}", texts.join("\n"));
}

impl Stage {
    fn swapchain(&self, surface: Surface, extent: [u32; 2]) -> Swapchain {
        Swapchain::new(&self.device, surface, extent, SwapchainOptions::default()).unwrap()
    }

    /// Clears the image and submits; two frames in flight.
    pub fn draw(&mut self, image: &AcquiredImage) -> Point {
        self.submit(image.sync.clone(), |encoder| clear(encoder, image))
    }

    fn submit(&mut self, sync: PresentSync, record: impl FnOnce(&mut CommandEncoder)) -> Point {
        while self.pool.len() < 2 {
            self.pool.push(CommandPool::new(&self.device, Timeline::Graphics).unwrap());
        }
        let pool = &mut self.pool[self.frame % 2];
        self.frame += 1;
        pool.reset().unwrap();
        let mut encoder = pool.begin("Frame").unwrap();
        record(&mut encoder);
        let commands = vec![encoder.finish().unwrap()];
        self.device.collect().unwrap();
        self.device.submit_with_present(Timeline::Graphics, commands, &[], sync).unwrap()
    }

    /// One frame, whatever the window is doing. Gives back whether an image was shown.
    pub fn frame(&mut self, swapchain: &mut Swapchain) -> bool {
        match swapchain.acquire().unwrap() {
            Acquired::Image(image) => {
                self.draw(&image);
                swapchain.present().unwrap();
                true
            }
            Acquired::Resize | Acquired::Minimised | Acquired::Busy => false,
        }
    }
}

fn clear(encoder: &mut CommandEncoder, image: &AcquiredImage) {
    let undefined = (ImageLayout::UNDEFINED, ImageLayout::COLOR_ATTACHMENT_OPTIMAL);
    let acquired = (PipelineStageFlags2::COLOR_ATTACHMENT_OUTPUT, AccessFlags2::NONE);
    encoder.image_barrier(image.image, COLOUR, undefined, acquired, DRAW);
    let target = ColourTarget { view: image.view, load: Load::Clear([0.2, 0.4, 0.6, 1.0]), resolve: None };
    encoder.begin_rendering(image.extent, &[target], None);
    encoder.end_rendering();
    let shown = (ImageLayout::COLOR_ATTACHMENT_OPTIMAL, ImageLayout::PRESENT_SRC_KHR);
    encoder.image_barrier(image.image, COLOUR, shown, DRAW, (PipelineStageFlags2::NONE, AccessFlags2::NONE));
}

fn image(acquired: Acquired) -> AcquiredImage {
    match acquired {
        Acquired::Image(image) => image,
        other => panic!("expected an image: {other:?}"),
    }
}

#[test]
fn two_hundred_frames_make_one_swapchain_and_no_object_after_it() {
    on_stage(|stage, surface| {
        let mut swapchain = stage.swapchain(surface, [320, 180]);
        assert_eq!(swapchain.extent(), Some([320, 180]));
        assert!(swapchain.image_count() >= 2);
        for _ in 0..4 {
            stage.frame(&mut swapchain);
        }
        let created = stage.device.object_counts().created;
        let shown = (0..200).filter(|_| stage.frame(&mut swapchain)).count();
        assert_eq!(shown, 200);
        assert_eq!(swapchain.recreations(), 1);
        assert_eq!(stage.device.object_counts().created, created, "a steady frame makes nothing");
    });
}

#[test]
fn a_resize_is_seen_by_the_next_acquire() {
    on_stage(|stage, surface| {
        let mut swapchain = stage.swapchain(surface, [320, 180]);
        assert!(stage.frame(&mut swapchain));
        swapchain.resize([64, 48]);
        let first = image(swapchain.acquire().unwrap());
        assert_eq!(first.extent, [64, 48]);
        stage.draw(&first);
        assert_eq!(swapchain.present().unwrap(), Presented::Shown);
        // The same size again is no reason for a new swapchain.
        swapchain.resize([64, 48]);
        assert!(stage.frame(&mut swapchain));
        assert_eq!(swapchain.recreations(), 2);
    });
}

#[test]
fn a_storm_of_resizes_ends_in_the_last_size() {
    on_stage(|stage, surface| {
        let mut swapchain = stage.swapchain(surface, [320, 180]);
        let sizes =
            [[1, 1], [0, 0], [640, 360], [640, 0], [17, 333], [0, 1], [1, 700], [5000, 3], [320, 180]];
        for round in 0..12 {
            for (i, size) in sizes.iter().enumerate() {
                swapchain.resize(*size);
                // Some sizes are overtaken before a frame is drawn, some have one frame, some two.
                for _ in 0..(round + i) % 3 {
                    assert_eq!(stage.frame(&mut swapchain), !size.contains(&0), "{size:?}");
                }
            }
        }
        assert!(stage.frame(&mut swapchain));
        assert_eq!(swapchain.extent(), Some([320, 180]));
    });
}

#[test]
fn a_size_past_the_surface_is_cut_to_it() {
    on_stage(|stage, surface| {
        let mut swapchain = stage.swapchain(surface, [32, 32]);
        swapchain.resize([u32::MAX - 1, 8]);
        let acquired = image(swapchain.acquire().unwrap());
        let limit = stage.device.capabilities().limits.max_image_2d;
        assert!(acquired.extent[0] <= limit && acquired.extent[1] == 8, "{:?}", acquired.extent);
        stage.draw(&acquired);
        swapchain.present().unwrap();
    });
}

#[test]
fn a_window_that_starts_minimised_comes_back() {
    on_stage(|stage, surface| {
        let mut swapchain = stage.swapchain(surface, [0, 0]);
        assert_eq!(swapchain.extent(), None);
        assert!(matches!(swapchain.acquire().unwrap(), Acquired::Minimised));
        assert!(matches!(swapchain.acquire().unwrap(), Acquired::Minimised));
        swapchain.resize([40, 30]);
        assert!(stage.frame(&mut swapchain));
        swapchain.resize([0, 30]);
        assert!(!stage.frame(&mut swapchain));
        swapchain.resize([40, 30]);
        assert!(stage.frame(&mut swapchain));
    });
}

#[test]
fn an_image_that_was_not_rendered_to_is_handed_out_again() {
    on_stage(|stage, surface| {
        let mut swapchain = stage.swapchain(surface, [32, 32]);
        let first = image(swapchain.acquire().unwrap());
        let again = image(swapchain.acquire().unwrap());
        assert_eq!((first.index, first.image), (again.index, again.image));
        assert!(swapchain.present().is_err(), "nothing was rendered");
        stage.draw(&again);
        // One submission an image.
        let twice = stage.device.submit_with_present(Timeline::Graphics, Vec::new(), &[], first.sync.clone());
        assert!(twice.is_err());
        // Rendered and forgotten: the next acquire presents it.
        assert!(stage.frame(&mut swapchain));
        assert!(swapchain.present().is_err(), "nothing was acquired");
        // Acquired and resized away, unused.
        image(swapchain.acquire().unwrap());
        swapchain.resize([48, 16]);
        assert_eq!(image(swapchain.acquire().unwrap()).extent, [48, 16]);
        // Dropped with that image acquired.
    });
}

#[test]
fn a_swapchain_may_be_dropped_with_presents_pending() {
    on_stage(|stage, surface| {
        let mut swapchain = stage.swapchain(surface, [256, 256]);
        for _ in 0..5 {
            stage.frame(&mut swapchain);
        }
        drop(swapchain);
        // Another on a surface of its own; the window of the first may be gone by now.
        let surface = Surface::headless(&stage.instance).unwrap();
        let mut swapchain = stage.swapchain(surface, [256, 256]);
        let acquired = image(swapchain.acquire().unwrap());
        stage.draw(&acquired);
        drop(swapchain); // Rendered to, never presented.
    });
}

#[test]
fn without_vsync_frames_are_shown_too() {
    on_stage(|stage, surface| {
        let options = SwapchainOptions { vsync: false, frames_in_flight: 3 };
        let mut swapchain = Swapchain::new(&stage.device, surface, [64, 64], options).unwrap();
        assert_eq!((0..20).filter(|_| stage.frame(&mut swapchain)).count(), 20);
    });
}

#[test]
fn a_frame_is_copied_from_an_offscreen_image() {
    on_stage(|stage, surface| {
        let mut swapchain = stage.swapchain(surface, [96, 64]);
        let usage =
            ImageUsageFlags::TRANSFER_SRC | ImageUsageFlags::TRANSFER_DST | ImageUsageFlags::COLOR_ATTACHMENT;
        let desc = ImageDesc::new_2d(Format::R8G8B8A8_UNORM, [48, 32], usage);
        let offscreen = Image::committed(&stage.device, "Offscreen", desc).unwrap();
        let texels = vec![0x80u8; 48 * 32 * 4];
        let upload = Buffer::committed(
            &stage.device,
            "Upload",
            texels.len() as u64,
            BufferUsageFlags::TRANSFER_SRC,
            Location::Upload,
        )
        .unwrap();
        upload.write_mapped(0, &texels).unwrap();
        for _ in 0..8 {
            let acquired = image(swapchain.acquire().unwrap());
            stage.submit(acquired.sync.clone(), |encoder| {
                let fill = (ImageLayout::UNDEFINED, ImageLayout::TRANSFER_DST_OPTIMAL);
                encoder.image_barrier(offscreen.raw(), COLOUR, fill, READ, COPY);
                encoder.copy_buffer_to_image(&upload, 0, &offscreen, 0);
                let read = (ImageLayout::TRANSFER_DST_OPTIMAL, ImageLayout::TRANSFER_SRC_OPTIMAL);
                encoder.image_barrier(offscreen.raw(), COLOUR, read, COPY, READ);
                let waited = (PipelineStageFlags2::ALL_TRANSFER, AccessFlags2::NONE);
                encoder.image_barrier(acquired.image, COLOUR, fill, waited, COPY);
                encoder.blit((offscreen.raw(), [48, 32]), (acquired.image, acquired.extent));
                let show = (ImageLayout::TRANSFER_DST_OPTIMAL, ImageLayout::PRESENT_SRC_KHR);
                let end = (PipelineStageFlags2::NONE, AccessFlags2::NONE);
                encoder.image_barrier(acquired.image, COLOUR, show, COPY, end);
            });
            assert_eq!(swapchain.present().unwrap(), Presented::Shown);
        }
    });
}

#[test]
fn what_cannot_work_says_why() {
    let settings = Settings::from_environment();
    {
        let _turn = vasa_tests::harness::one_at_a_time();
        let Ok(bare) = Instance::new(settings.instance()) else {
            return settings.skip("no Vulkan instance");
        };
        let refused = Surface::headless(&bare).unwrap_err().to_string();
        assert!(refused.contains("VK_EXT_headless_surface"), "{refused}");
    }
    on_stage(|stage, surface| {
        let other = Device::open(&stage.instance, &settings.device()).unwrap();
        drop(Swapchain::new(&other, surface, [8, 8], SwapchainOptions::default()).unwrap());
        let with = InstanceOptions { headless_surface: true, ..settings.instance() };
        let elsewhere = Instance::new(with).unwrap();
        let foreign = Surface::headless(&elsewhere).unwrap();
        let refused = Swapchain::new(&stage.device, foreign, [8, 8], SwapchainOptions::default());
        assert!(refused.unwrap_err().to_string().contains("another Vulkan instance"));
    });
}
