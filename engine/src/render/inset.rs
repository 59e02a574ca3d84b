//! The inset: what is resident, as a small map in the picture's upper right corner.
//!
//! ```text
//! residency map, camera, numbers --draw (pure)--> Picture --upload ring, copy--> output image
//! ```
//!
//! One colour a level; what the camera looks at is brighter. Drawn on the host from the very map that the frame's
//! shaders clamp with, so that it is in pictures without a window too.

use ash::vk::ImageLayout;
use glam::{Vec2, Vec3Swizzles};

use crate::graph::{Access, Frame, ImageHandle, Queue};
use crate::memory::{Upload, UploadRing};
use crate::scene::Camera;
use crate::sparse::shadow::font;
use crate::sparse::tiles::ResidencyMap;
use crate::streaming::{GroundPlane, ResidencyStats, StreamedGround};
use crate::vk::ImageRegion;

/// One a level, and the last for all that follow; the same as in `shaders/streamed_ground.wgsl`.
const COLOURS: [[u8; 3]; 7] = [
    [250, 227, 89],
    [245, 140, 51],
    [219, 61, 79],
    [153, 41, 125],
    [84, 43, 140],
    [43, 48, 115],
    [26, 36, 64],
];
const PANEL: [u8; 3] = [14, 17, 23];
const FRAME: [u8; 3] = [70, 80, 98];
const TEXT: [u8; 3] = [226, 231, 239];
const DIM: [u8; 3] = [146, 157, 174];
const LINE: u32 = 11;
const PAD: u32 = 8;

/// What the inset shows.
#[derive(Debug, Clone, Copy)]
struct Shown<'a> {
    map: &'a ResidencyMap,
    stats: &'a ResidencyStats,
    plane: &'a GroundPlane,
    camera: &'a Camera,
    /// Size of the picture that it is drawn into.
    extent: [u32; 2],
}

/// RGBA8 pixels, rows from the top.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Picture {
    width: u32,
    height: u32,
    pixels: Vec<u8>,
}

/// An inset that is drawn and uploaded: to be copied into the output.
#[derive(Debug)]
pub(super) struct Inset {
    upload: Upload,
    region: ImageRegion,
}

impl Inset {
    /// Draws the inset of a frame and puts it into the ring; `None` where the picture is too small, or the ring full: a
    /// frame without its inset is still a frame.
    pub(super) fn draw(
        ground: &StreamedGround,
        camera: &Camera,
        extent: [u32; 2],
        uploads: &mut UploadRing,
    ) -> Option<Self> {
        let image = ground.image();
        let stats = image.stats();
        let picture =
            draw(&Shown { map: image.map(), stats: &stats, plane: ground.plane(), camera, extent })?;
        let upload = uploads.write(&picture.pixels).ok()?;
        let offset = [extent[0] - picture.width - margin(extent), margin(extent), 0];
        let extent = [picture.width, picture.height, 1];
        Some(Self { upload, region: ImageRegion { mip: 0, layer: 0, offset, extent } })
    }

    /// Declares the copy into the output.
    pub(super) fn declare<'f>(&'f self, frame: &mut Frame<'_, 'f>, output: &mut ImageHandle) {
        let pass = frame.pass("ResidencyInset", Queue::Graphics).write(output, Access::CopyDestinationOver);
        let output = *output;
        pass.record(move |pass| {
            let (encoder, resources) = pass.split();
            let write = ImageLayout::TRANSFER_DST_OPTIMAL;
            let copies = [(self.upload.offset, self.region)];
            encoder.copy_buffer_to_regions(&self.upload.buffer, resources.image(output)?, write, &copies);
            Ok(())
        });
    }
}

fn margin(extent: [u32; 2]) -> u32 {
    (extent[1] / 60).max(2)
}

/// `None` where the picture is too small for it.
fn draw(shown: &Shown<'_>) -> Option<Picture> {
    let [width, height] = shown.extent;
    let scale = (height / 700).max(1);
    // A whole number of pixels a texel, for the longer side.
    let [columns, rows, _] = shown.map.size();
    let texels = columns.max(rows).max(1);
    let side = (height * 9 / 25).min(width / 3) / texels.min(height) * texels;
    let aspect = shown.plane.size.y / shown.plane.size.x;
    let (map_width, map_height) = if aspect > 1.0 {
        ((side as f32 / aspect) as u32, side)
    } else {
        (side, (side as f32 * aspect) as u32)
    };
    let pad = PAD * scale;
    let lines = legend(shown.stats);
    let text = lines.iter().map(|line| font::width(&line.text)).max().unwrap_or(0) + 12;
    let panel_width = map_width.max(text * scale) + 2 * pad;
    let panel_height = map_height + lines.len() as u32 * LINE * scale + 3 * pad;
    let room = 2 * margin(shown.extent);
    if map_width < 64 || panel_width + room > width / 2 || panel_height + room > height {
        return None;
    }
    let mut canvas = Canvas::new(panel_width, panel_height);
    let left = (panel_width - map_width) / 2;
    let place = (Vec2::new(left as f32, pad as f32), Vec2::new(map_width as f32, map_height as f32));
    draw_map(&mut canvas, shown, place);
    let mut y = pad + map_height + pad;
    for line in &lines {
        let mut x = pad;
        if let Some(colour) = line.colour {
            canvas.fill([x, y], [8 * scale, 7 * scale], colour);
            x += 12 * scale;
        }
        canvas.text([x, y], scale, if line.colour.is_some() { TEXT } else { DIM }, &line.text);
        y += LINE * scale;
    }
    Some(Picture { width: panel_width, height: panel_height, pixels: canvas.pixels })
}

struct Line {
    colour: Option<[u8; 3]>,
    text: String,
}

fn legend(stats: &ResidencyStats) -> Vec<Line> {
    let colour = |level: usize| COLOURS.get(level).or(COLOURS.last()).copied();
    let mips = stats.mapped_per_mip.iter().zip(&stats.tiles_per_mip).enumerate();
    let mut lines: Vec<Line> = mips
        .map(|(mip, (mapped, all))| Line {
            colour: colour(mip),
            text: format!("mip {mip} {mapped:>5} of {all}"),
        })
        .collect();
    let first = stats.mapped_per_mip.len();
    let pinned = stats.pinned_tiles;
    lines.push(Line { colour: colour(first), text: format!("mip {first}+ {pinned:>4} pinned") });
    let mib = |tiles: u64| (tiles * stats.tile_bytes) >> 20;
    let (mapped, budget) = (stats.mapped_tiles + pinned, stats.budget_tiles);
    let text = format!("{} of {} MiB, image {} MiB", mib(mapped), mib(budget), mib(stats.tiles));
    lines.push(Line { colour: None, text });
    let text = format!("+{} -{} this frame", stats.mapped, stats.unmapped);
    lines.push(Line { colour: None, text });
    lines
}

/// Draws the levels, and over them where the camera is and what it looks at.
fn draw_map(canvas: &mut Canvas, shown: &Shown<'_>, (corner, size): (Vec2, Vec2)) {
    let [columns, rows, _] = shown.map.size();
    let plane = shown.plane;
    let to_map = |metres: Vec2| (metres - plane.corner.xz()) / plane.size * size;
    let eye = to_map(shown.camera.position.xz());
    let aspect = shown.extent[0] as f32 / shown.extent[1].max(1) as f32;
    let wide = (shown.camera.fov_y * 0.5).tan() * aspect;
    let (forward, right) = (shown.camera.forward(), shown.camera.right());
    let edge = |side: f32| {
        let towards = (forward + right * wide * side).xz() / plane.size * size;
        towards.normalize_or(Vec2::NEG_Y)
    };
    let (left, right) = (edge(-1.0), edge(1.0));
    let line = size.max_element() / 256.0;
    for y in 0..size.y as u32 {
        for x in 0..size.x as u32 {
            let at = Vec2::new(x as f32 + 0.5, y as f32 + 0.5);
            let texel = (at / size * Vec2::new(columns as f32, rows as f32)).as_uvec2();
            let index = (texel.y.min(rows - 1) * columns + texel.x.min(columns - 1)) as usize;
            let level = usize::from(shown.map.texels().get(index).copied().unwrap_or(u8::MAX));
            let colour = COLOURS.get(level).or(COLOURS.last()).copied().unwrap_or_default();
            let to = at - eye;
            let sees = left.perp_dot(to) > 0.0 && right.perp_dot(to) < 0.0;
            // Lines along both edges of the view, and a dot with a dark rim for the eye.
            let beside =
                |edge: Vec2| if edge.dot(to) > 0.0 { edge.perp_dot(to).abs() } else { f32::INFINITY };
            let from_line = beside(left).min(beside(right));
            let cover = (1.3 * line - from_line).clamp(0.0, 1.0) * 0.85;
            let dot = (4.5 * line - to.length()).clamp(0.0, 1.0);
            let rim = (6.0 * line - to.length()).clamp(0.0, 1.0);
            let shade = if sees { 1.0 } else { 0.62 };
            let mix = |value: u8| {
                let lit = f32::from(value) * shade;
                let lined = lit + (255.0 - lit) * cover;
                let rimmed = lined + (16.0 - lined) * rim;
                (rimmed + (255.0 - rimmed) * dot) as u8
            };
            canvas.set([corner.x as u32 + x, corner.y as u32 + y], colour.map(mix));
        }
    }
}

#[derive(Debug)]
struct Canvas {
    width: u32,
    height: u32,
    pixels: Vec<u8>,
}

impl Canvas {
    /// A panel with a frame.
    fn new(width: u32, height: u32) -> Self {
        let pixels = vec![255; width as usize * height as usize * 4];
        let mut this = Self { width, height, pixels };
        this.fill([0, 0], [width, height], FRAME);
        this.fill([1, 1], [width.saturating_sub(2), height.saturating_sub(2)], PANEL);
        this
    }

    fn set(&mut self, [x, y]: [u32; 2], colour: [u8; 3]) {
        if x < self.width && y < self.height {
            let at = (y as usize * self.width as usize + x as usize) * 4;
            self.pixels.get_mut(at..at + 3).into_iter().for_each(|pixel| pixel.copy_from_slice(&colour));
        }
    }

    fn fill(&mut self, [x, y]: [u32; 2], [width, height]: [u32; 2], colour: [u8; 3]) {
        for row in y..y + height {
            (x..x + width).for_each(|column| self.set([column, row], colour));
        }
    }

    fn text(&mut self, [x, y]: [u32; 2], scale: u32, colour: [u8; 3], text: &str) {
        let mut left = x;
        for character in text.chars() {
            for (column, row) in font::pixels(character) {
                self.fill([left + column * scale, y + row * scale], [scale, scale], colour);
            }
            left += font::ADVANCE * scale;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sparse::tiles::{ImageTiling, MipTail, TileLayout};
    use glam::Vec3;

    fn map() -> ResidencyMap {
        let tiling = ImageTiling {
            extent: [16384, 16384, 1],
            mips: 15,
            layers: 1,
            granularity: [512, 256, 1],
            tile_bytes: 65536,
            tail: MipTail { first_lod: 6, bytes: 65536, single: true, ..MipTail::default() },
            metadata: None,
        };
        let layout = TileLayout::new(tiling).unwrap();
        let mut map = ResidencyMap::new(&layout, 0, [false; 3]).unwrap();
        // Everything is there in the northern half.
        map.update(|tile| tile.y * 2 < layout.mip_tiles(tile.mip)[1].max(2));
        map
    }

    fn shown<'a>(
        map: &'a ResidencyMap,
        stats: &'a ResidencyStats,
        camera: &'a Camera,
        extent: [u32; 2],
    ) -> Shown<'a> {
        const PLANE: GroundPlane =
            GroundPlane { corner: Vec3::new(-2048.0, 0.0, -2048.0), size: Vec2::splat(4096.0) };
        Shown { map, stats, plane: &PLANE, camera, extent }
    }

    #[test]
    fn levels_have_their_colours_and_the_view_is_brighter() {
        let (map, stats) = (map(), ResidencyStats::default());
        // In the middle, looking north.
        let camera = Camera { position: Vec3::new(0.0, 50.0, 0.0), ..Camera::default() };
        let picture = draw(&shown(&map, &stats, &camera, [1280, 720])).unwrap();
        let at = |x: u32, y: u32| {
            let left = (picture.width - 256) / 2;
            let at = (((PAD + y) * picture.width + left + x) * 4) as usize;
            [picture.pixels[at], picture.pixels[at + 1], picture.pixels[at + 2]]
        };
        assert_eq!(at(128, 20), COLOURS[0], "ahead, all there");
        assert_eq!(at(10, 100), COLOURS[0].map(|c| (f32::from(c) * 0.62) as u8), "beside the view");
        assert_eq!(
            at(128, 250),
            COLOURS[6].map(|c| (f32::from(c) * 0.62) as u8),
            "behind, only what is pinned"
        );
        assert_eq!(at(128, 128), [255; 3], "the eye");
    }

    #[test]
    fn it_is_left_out_of_small_pictures_and_fits_into_all_others() {
        let (map, stats) = (map(), ResidencyStats::default());
        let camera = Camera::default();
        for extent in [[1, 1], [64, 36], [160, 90], [100, 4000], [4000, 100]] {
            assert_eq!(draw(&shown(&map, &stats, &camera, extent)), None, "{extent:?}");
        }
        for extent in [[640, 360], [1280, 720], [3840, 2160], [800, 2000]] {
            let picture = draw(&shown(&map, &stats, &camera, extent)).unwrap();
            let Picture { width, height, pixels } = picture;
            assert!(width + 2 * margin(extent) < extent[0] && height + 2 * margin(extent) <= extent[1]);
            assert_eq!(pixels.len() as u32, width * height * 4);
        }
    }
}
