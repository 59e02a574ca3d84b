//! The flat view of a texture: a fragment shader that samples and gives feedback.

use ash::vk::{CullModeFlags, Format, ImageAspectFlags, ImageLayout, ImageUsageFlags, SampleCountFlags};
use vasa::vk::{
    ColourTarget, DepthTarget, GraphicsDesc, GraphicsPipeline, Image, ImageDesc, ImageRegion, Load, shader,
};
use vasa::vt::sampling::{VirtualTextureFrame, VtProbe, VtViewPush, probe_flags};
use vasa_tests::harness::ANY;
use vasa_tests::images::REST;
use vasa_tests::virtual_textures::Rig;
use vasa_tests::{Harness, on_device};

const EXTENT: [u32; 2] = [80, 56];

struct Screen<'a> {
    h: &'a Harness,
    colour: Image,
    depth: Image,
    pipeline: GraphicsPipeline,
}

impl<'a> Screen<'a> {
    fn new(h: &'a Harness) -> Self {
        let image = |name, format, usage| {
            Image::committed(&h.device, name, ImageDesc::new_2d(format, EXTENT, usage)).unwrap()
        };
        let colour = image(
            "Picture",
            Format::R8G8B8A8_UNORM,
            ImageUsageFlags::COLOR_ATTACHMENT | ImageUsageFlags::TRANSFER_SRC,
        );
        let depth = image("Depth", Format::D32_SFLOAT, ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT);
        let desc = GraphicsDesc {
            name: "VirtualTextureView",
            shader: &shader::VT_VIEW,
            vertex: "view_vertex",
            fragment: Some("view_fragment"),
            colours: &[Format::R8G8B8A8_UNORM],
            blends: &[],
            depth: Some((Format::D32_SFLOAT, true)),
            cull: CullModeFlags::NONE,
            samples: SampleCountFlags::TYPE_1,
        };
        let pipeline = GraphicsPipeline::new(&h.device, &desc).unwrap();
        Self { h, colour, depth, pipeline }
    }

    /// Draws views over each other into cleared targets; gives the picture.
    fn draw(&self, rig: &Rig<'_>, views: &[VtViewPush]) -> Vec<u8> {
        let done = self.h.submit("View", &[], |encoder| {
            let to = |encoder: &mut vasa::vk::CommandEncoder, image: &Image, aspect, from, layout| {
                encoder.image_barrier(image.raw(), aspect, (from, layout), ANY, ANY);
            };
            let target = ImageLayout::COLOR_ATTACHMENT_OPTIMAL;
            to(encoder, &self.colour, ImageAspectFlags::COLOR, ImageLayout::UNDEFINED, target);
            let depth = ImageLayout::DEPTH_ATTACHMENT_OPTIMAL;
            to(encoder, &self.depth, ImageAspectFlags::DEPTH, ImageLayout::UNDEFINED, depth);
            encoder.memory_barrier(ANY, ANY);
            let colour =
                ColourTarget { view: self.colour.view(), load: Load::Clear([0.0; 4]), resolve: None };
            let depth = DepthTarget {
                view: self.depth.view(),
                is_cleared: true,
                is_written: true,
                is_kept: false,
                resolve: None,
            };
            encoder.begin_rendering(EXTENT, &[colour], Some(depth));
            for push in views {
                rig.bind(&[], |bindings| {
                    if encoder.bind_graphics(&self.pipeline, bindings, push) {
                        encoder.draw(3, 1);
                    }
                });
            }
            encoder.end_rendering();
            encoder.memory_barrier(ANY, ANY);
            to(encoder, &self.colour, ImageAspectFlags::COLOR, target, REST);
        });
        let whole = ImageRegion::mip(&self.colour, 0, 0);
        self.h.read_texels(&self.colour, &[whole], &[done]).remove(0)
    }
}

fn push(depth: f32, gives_feedback: bool) -> VtViewPush {
    VtViewPush {
        uv_first: [-0.1, 0.1],
        uv_last: [1.2, 0.8],
        extent: EXTENT.map(|side| side as f32),
        depth,
        gives_feedback: u32::from(gives_feedback),
        ..Default::default()
    }
}

/// The same samples as a view's, as probes.
fn probes(view: &VtViewPush, flags: u32) -> Vec<VtProbe> {
    let size = [0, 1].map(|axis| view.uv_last[axis] - view.uv_first[axis]);
    (0..EXTENT[0] * EXTENT[1])
        .map(|i| {
            let pixel = [i % EXTENT[0], i / EXTENT[0]];
            let along = |axis: usize| (pixel[axis] as f32 + 0.5) / view.extent[axis];
            VtProbe {
                uv: [0, 1].map(|axis| view.uv_first[axis] + size[axis] * along(axis)),
                dx: [size[0] / view.extent[0], 0.0],
                dy: [0.0, size[1] / view.extent[1]],
                pixel,
                count: 1,
                flags,
                ..Default::default()
            }
        })
        .collect()
}

#[test]
fn a_fragment_shader_samples_and_asks_as_the_probe_does() {
    on_device(|h| {
        let (_, model) = super::view_texture();
        let rig = super::rig(h, &model, VirtualTextureFrame::new(EXTENT, 8, 2));
        let screen = Screen::new(h);
        rig.begin_frame(7);
        let picture = screen.draw(&rig, &[push(0.5, true)]);
        let drawn = rig.said();
        rig.begin_frame(7);
        let found = rig.probe(&probes(&push(0.5, true), probe_flags::FEEDBACK));
        let probed = rig.said();
        assert_eq!(drawn, probed);
        assert_eq!(drawn.0, 70, "one a block of 8 x 8");
        let mut worst = 0.0f32;
        for (pixel, found) in picture.chunks_exact(4).zip(&found) {
            for (got, linear) in pixel.iter().zip(found.base_colour) {
                worst = worst.max((f32::from(*got) - linear.sqrt() * 255.0).abs());
            }
        }
        assert!(worst <= 1.0, "off by {worst} of 255");
    });
}

#[test]
fn hidden_surfaces_ask_for_nothing() {
    on_device(|h| {
        let (_, model) = super::view_texture();
        let rig = super::rig(h, &model, VirtualTextureFrame::new(EXTENT, 8, 2));
        let screen = Screen::new(h);
        let front = push(0.5, false);
        screen.draw(&rig, &[front, push(0.25, true)]);
        assert_eq!(rig.said().0, 0, "it lies behind");
        screen.draw(&rig, &[front, push(0.75, true)]);
        assert_eq!(rig.said().0, 70, "it lies in front");
    });
}
