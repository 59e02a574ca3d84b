//! The overlay: a small panel of numbers over the frame, drawn by egui into the swapchain image.

use std::sync::Arc;

use egui::{Align2, ClippedPrimitive, Color32, RichText, Stroke, pos2, vec2};
use egui_ash_renderer::{DynamicRendering, Options, RenderMode, Renderer, RendererError};
use vasa::ash::vk;
use vasa::inspect::{Chart, Stats};
use vasa::streaming::ResidencyStats;
use vasa::vk::{CommandEncoder, CommandPool, Device, Timeline};

use crate::failure::{Failure, Result};
use crate::frame_times::FrameTimes;
use crate::overlay_vt::VtPanel;

/// Frames in the graph.
const GRAPH: usize = 120;
/// Points that the panel is wide.
const PANEL: f32 = 300.0;

/// What the panel says besides the engine's numbers.
pub struct Panel<'a> {
    /// The engine's numbers.
    pub stats: &'a Stats,
    /// Times of the frames so far.
    pub times: &'a FrameTimes,
    /// Pixels of the image.
    pub extent: [u32; 2],
    /// Pixels a point.
    pub scale: f32,
    /// Speed of the camera, metres a second.
    pub speed: f32,
    /// What is wrong with shaders that were changed.
    pub shader_errors: &'a [String],
    /// Virtual textures, where the scene has them.
    pub vt: Option<VtPanel>,
}

/// egui and what draws it.
pub struct Overlay {
    device: Arc<Device>,
    // `Option`, so that it can be dropped after the GPU is done with it.
    renderer: Option<Renderer<egui_ash_renderer::allocator::DefaultAllocator>>,
    uploads: CommandPool,
    context: egui::Context,
    shapes: Vec<ClippedPrimitive>,
    scale: f32,
    /// A picture beside the panel.
    picture: Option<egui::TextureHandle>,
    /// Pixels a side that a picture may have.
    most_side: usize,
}

fn failed(error: RendererError) -> Failure {
    Failure::failed(format!("the overlay cannot be drawn: {error}"))
}

impl Overlay {
    /// An overlay for swapchain images of a format.
    ///
    /// # Errors
    /// When the driver refuses its pipeline or has no memory.
    pub fn new(device: &Arc<Device>, format: vk::Format, frames_in_flight: usize) -> Result<Self> {
        let mode = RenderMode::DynamicRendering(DynamicRendering {
            color_attachment_format: format,
            depth_attachment_format: None,
            stencil_attachment_format: None,
        });
        let options = Options { in_flight_frames: frames_in_flight.max(1), ..Options::default() };
        let renderer = Renderer::with_default_allocator(
            device.instance().raw(),
            device.physical(),
            device.raw().clone(),
            mode,
            options,
        )
        .map_err(failed)?;
        let context = egui::Context::default();
        context.set_visuals(egui::Visuals::dark());
        Ok(Self {
            device: device.clone(),
            renderer: Some(renderer),
            uploads: CommandPool::new(device, Timeline::Graphics)?,
            context,
            shapes: Vec::new(),
            scale: 1.0,
            picture: None,
            most_side: device.capabilities().limits.max_image_2d as usize,
        })
    }

    /// Shows a picture beside the panel from the next frame on, or none.
    pub fn set_picture(&mut self, picture: Option<&Chart>) {
        let image = picture
            .map(|chart| egui::ColorImage::from_rgb(chart.size.map(|side| side as usize), &chart.pixels));
        match (&mut self.picture, image) {
            (Some(shown), Some(image)) if shown.size() == image.size => {
                shown.set(image, egui::TextureOptions::LINEAR);
            }
            (shown, image) => {
                let load = |image| self.context.load_texture("picture", image, egui::TextureOptions::LINEAR);
                *shown = image.map(load);
            }
        }
    }

    /// Lays the panel out, and uploads what is new in its font.
    ///
    /// # Errors
    /// When the device has no memory or is lost.
    pub fn prepare(&mut self, panel: &Panel<'_>) -> Result<()> {
        self.scale = panel.scale.max(0.5);
        self.context.set_pixels_per_point(self.scale);
        let [width, height] = panel.extent.map(|side| side as f32 / self.scale);
        let input = egui::RawInput {
            screen_rect: Some(egui::Rect::from_min_size(pos2(0.0, 0.0), vec2(width, height))),
            max_texture_side: Some(self.most_side),
            ..Default::default()
        };
        let picture = self.picture.as_ref();
        let mut output = self.context.run_ui(input, |ui| show(ui.ctx(), panel, picture));
        // Taken out at once: egui holds what is dropped unapplied for a mistake, also after an error.
        let set = std::mem::take(&mut output.textures_delta.set);
        let free = std::mem::take(&mut output.textures_delta.free);
        if !(set.is_empty() && free.is_empty())
            && let Some(renderer) = &mut self.renderer
        {
            // Rare: the font's texture grows when a new glyph is seen. Frames in flight still read it.
            self.device.wait_idle()?;
            let pool = self.uploads.raw();
            for (id, deltas) in &set {
                for delta in deltas {
                    // The worker of the sparse memory may bind on the same queue.
                    self.device
                        .with_graphics_queue(|queue| renderer.set_texture(queue, pool, *id, delta))
                        .map_err(failed)?;
                }
            }
            for id in &free {
                renderer.free_texture(*id).map_err(failed)?;
            }
        }
        self.shapes = self.context.tessellate(std::mem::take(&mut output.shapes), output.pixels_per_point);
        Ok(())
    }

    /// Records what was prepared, over the colour attachment.
    ///
    /// # Errors
    /// When the device has no memory.
    pub fn record(
        &mut self,
        encoder: &mut CommandEncoder,
        view: vk::ImageView,
        extent: [u32; 2],
    ) -> Result<()> {
        let Some(renderer) = &mut self.renderer else { return Ok(()) };
        let size = vk::Extent2D { width: extent[0], height: extent[1] };
        encoder.begin_label("Overlay");
        encoder.begin_rendering_over(extent, view);
        let drawn = renderer.cmd_draw(encoder.raw(), size, self.scale, &self.shapes);
        encoder.end_rendering();
        encoder.end_label();
        drawn.map_err(failed)
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        // The renderer destroys its objects at once, so the GPU must be done with them.
        match self.device.wait_idle() {
            Ok(()) => drop(self.renderer.take()),
            Err(error) => {
                log::warn!("the overlay was left to the driver: {error}");
                std::mem::forget(self.renderer.take());
            }
        }
    }
}

fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// Points between panel, picture and edges of the window.
const GAP: f32 = 8.0;

fn show(context: &egui::Context, panel: &Panel<'_>, picture: Option<&egui::TextureHandle>) {
    if let Some(picture) = picture {
        let room = context.content_rect().size() - vec2(PANEL + 4.0 * GAP, 2.0 * GAP);
        let [width, height] = picture.size().map(|side| side as f32);
        // Never larger than its pixels.
        let scale = (room.x / width).min(room.y / height).min(1.0 / context.pixels_per_point());
        if scale > 0.0 {
            let shown = egui::Image::new((picture.id(), vec2(width, height) * scale));
            let area = egui::Area::new(egui::Id::new("picture")).fade_in(false);
            area.anchor(Align2::RIGHT_TOP, vec2(-GAP, GAP)).show(context, |ui| ui.add(shown));
        }
    }
    let frame = egui::Frame::new()
        .fill(Color32::from_black_alpha(170))
        .corner_radius(4.0)
        .inner_margin(egui::Margin::same(8));
    egui::Area::new(egui::Id::new("panel")).fade_in(false).anchor(Align2::LEFT_TOP, vec2(GAP, GAP)).show(
        context,
        |ui| {
            frame.show(ui, |ui| {
                ui.set_width(PANEL);
                lines(panel).iter().for_each(|line| {
                    ui.label(RichText::new(line).monospace().size(12.0).color(Color32::WHITE));
                });
                for error in panel.shader_errors {
                    ui.label(RichText::new(error).monospace().size(11.0).color(Color32::LIGHT_RED));
                }
                graph(ui, panel.times);
                let mut keys = "WASD QE fly, right mouse looks, Shift fast, wheel speed\n\
                            F1 panel, F2 screenshot, Esc quits"
                    .to_owned();
                if let Some(vt) = &panel.vt {
                    vt.show(ui, panel.stats.vt.as_ref());
                    keys += "\nF3 borders of pages, F4 freezes, left click picks one\n\
                         F5 page tables and atlases in turns";
                }
                ui.label(RichText::new(keys).monospace().size(9.0).color(Color32::LIGHT_GRAY));
            });
        },
    );
}

fn lines(panel: &Panel<'_>) -> Vec<String> {
    let (stats, sparse) = (panel.stats, &panel.stats.sparse);
    let (mut sum, mut count) = (0.0, 0u32);
    panel.times.last(30).for_each(|ms| {
        sum += ms;
        count += 1;
    });
    let mean = sum / f64::from(count.max(1));
    let mut lines = vec![
        format!("{} (tier {})", stats.device.name, stats.device.sparse_tier),
        format!("{}x{}  {mean:.2} ms  {:.0} fps", panel.extent[0], panel.extent[1], 1e3 / mean.max(1e-3)),
        format!("{} triangles, {:.0} m/s", stats.gpu_scene.triangles_drawn, panel.speed),
        format!(
            "{} {} of {} reserved",
            if sparse.fallback { "fallback" } else { "committed" },
            mib(sparse.committed_bytes),
            mib(sparse.reserved_bytes)
        ),
        format!("{} chunks, {} cached, {} binds", sparse.chunks, sparse.cached_chunks, sparse.binds),
        format!(
            "{} grows, {} shrinks, memory {}",
            sparse.grows,
            sparse.shrinks,
            mib(stats.memory.usage_bytes)
        ),
        format!(
            "budget {}, degrade level {}",
            mib(stats.memory.budget_bytes),
            stats.memory.degrade_level.unwrap_or(0)
        ),
    ];
    lines.extend(stats.memory.degrade_reason.clone().filter(|_| stats.memory.degrade_level != Some(0)));
    lines.extend(stats.residency.iter().flat_map(residency_lines));
    lines
}

/// The streamed image: its budget, what came and went, and its tiles by mip.
fn residency_lines(r: &ResidencyStats) -> Vec<String> {
    let tiles = r.mapped_tiles + r.pinned_tiles;
    let mut lines = vec![
        format!(
            "{}: {} of {} budget, {} whole",
            r.name,
            mib(tiles * r.tile_bytes),
            mib(r.budget_tiles * r.tile_bytes),
            mib(r.tiles * r.tile_bytes)
        ),
        format!(
            "+{} -{} tiles, {} deferred, {} uploaded",
            r.mapped,
            r.unmapped,
            r.deferred,
            mib(r.uploaded_bytes)
        ),
    ];
    let mips = r.mapped_per_mip.iter().zip(&r.tiles_per_mip).enumerate();
    lines.extend(mips.map(|(mip, (mapped, all))| format!("  mip {mip}: {mapped:>4} of {all}")));
    lines
}

/// The last frame times, scaled to the longest.
fn graph(ui: &mut egui::Ui, times: &FrameTimes) {
    let (response, painter) = ui.allocate_painter(vec2(300.0, 40.0), egui::Sense::hover());
    let rect = response.rect;
    painter.rect_filled(rect, 2.0, Color32::from_black_alpha(120));
    let last: Vec<f64> = times.last(GRAPH).collect();
    let longest = last.iter().copied().fold(1.0, f64::max);
    let points: Vec<_> = last
        .iter()
        .enumerate()
        .map(|(i, ms)| {
            let x = rect.left() + rect.width() * i as f32 / (GRAPH - 1) as f32;
            pos2(x, rect.bottom() - rect.height() * (ms / longest) as f32)
        })
        .collect();
    if points.len() > 1 {
        painter.line(points, Stroke::new(1.0, Color32::from_rgb(120, 220, 140)));
    }
    let text = format!("{longest:.1} ms");
    painter.text(rect.right_top(), Align2::RIGHT_TOP, text, egui::FontId::monospace(9.0), Color32::GRAY);
}
