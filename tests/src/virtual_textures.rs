//! A virtual texture for tests: which of its pages are there is random, and every texel is known.
//!
//! [`Model`] says what sampling must give, in 64-bit texels of whole levels, as if there were no pages; [`Rig`] has the
//! same on the device, and looks at it by the engine's probe.

use std::collections::BTreeMap;

use ash::vk::{BufferUsageFlags, Format, ImageAspectFlags, ImageLayout};
use vasa::vk::{
    Buffer, ComputePipeline, Image, ImageDesc, Location, PassBindings, Sampler, SamplerDesc, shader,
};
use vasa::vt::sampling::{
    FIRST_FEEDBACK_WORD, SampledTexture, VirtualTexture, VirtualTextureFrame, VtProbe, VtProbeResult, Wrap,
    bindings,
};
use vasa::vt::{Entry, EntryFormat};

use crate::Harness;
use crate::harness::ANY;
use crate::images::{REST, Texels, USAGE};
use crate::random::Random;
use vasa::vk::ImageRegion;

/// What a texel is, by level and place in the whole texture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Any number, another one for every texel.
    Hash,
    /// Slopes of at most 6 of 255 a texel.
    Smooth,
    /// One colour a page of the atlas, its border included.
    Pages,
}

/// A texel that sampling must never meet: outside of the texture, and pages of nobody.
const POISON: [u8; 4] = [255, 0, 255, 0];

/// A texture, its pages and its texels.
#[derive(Debug, Clone)]
pub struct Model {
    /// How it is sampled.
    pub texture: SampledTexture,
    /// What its texels are.
    pub content: Content,
    /// Pages that are there (level, x, y), and where in the atlas.
    pub resident: BTreeMap<(u8, u32, u32), [u8; 2]>,
}

fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ (x >> 32)
}

/// Up and down again along `texels`, without a jump where they come again.
fn wave(x: i64, texels: f64) -> u8 {
    (6 * x.min(texels as i64 - x)).clamp(0, 255) as u8
}

impl Model {
    /// A texture of which about one in `share` pages is there; all of them for 1.
    ///
    /// # Panics
    /// When the atlas has too few pages.
    pub fn new(texture: SampledTexture, content: Content, share: u64, random: &mut Random) -> Self {
        let mut free: Vec<[u8; 2]> = (1..texture.side * texture.side)
            .map(|i| [(i % texture.side) as u8, (i / texture.side) as u8])
            .collect();
        let mut resident = BTreeMap::new();
        for level in 0..=texture.grid.max_level() {
            let [across, down] = texture.grid.pages(level);
            for (x, y) in (0..down).flat_map(|y| (0..across).map(move |x| (x, y))) {
                if random.once_in(share) {
                    let pick = random.below(free.len() as u64) as usize;
                    resident.insert((level, x, y), free.swap_remove(pick));
                }
            }
        }
        Self { texture, content, resident }
    }

    /// The page that shows a place: itself, or the nearest one above it that is there.
    pub fn mapped(&self, level: u8, page: [u32; 2]) -> Option<(u8, [u8; 2])> {
        (level..=self.texture.grid.max_level()).find_map(|above| {
            let up = above - level;
            self.resident.get(&(above, page[0] >> up, page[1] >> up)).map(|at| (above, *at))
        })
    }

    /// Texels of a level along an axis; the last one may be cut.
    fn texels(&self, level: u8, axis: usize) -> f64 {
        f64::from(self.texture.grid.tiles()[axis] * self.texture.tile) / f64::from(1u32 << level)
    }

    /// A texel of a level of the whole texture, of a layer.
    pub fn texel(&self, layer: u8, level: u8, at: [i64; 2]) -> [u8; 4] {
        let mut place = at;
        for axis in 0..2 {
            let texels = self.texels(level, axis);
            if self.texture.wrap[axis] == Wrap::Repeat {
                place[axis] = at[axis].rem_euclid(texels as i64);
            } else if at[axis] < 0 || at[axis] as f64 + 0.5 > texels {
                return POISON;
            }
        }
        let [x, y] = place;
        match self.content {
            Content::Hash => {
                let number =
                    (u64::from(layer) << 56) ^ (u64::from(level) << 48) ^ ((x as u64) << 24) ^ y as u64;
                (mix(number + 1) as u32).to_le_bytes()
            }
            Content::Smooth => {
                let (u, v) = (wave(x, self.texels(level, 0)), wave(y, self.texels(level, 1)));
                [u, v, u / 2 + v / 2 + layer, 20 * level + layer]
            }
            Content::Pages => POISON,
        }
    }

    /// What a bilinear sampler of a whole level gives at a place in its texels, 0 to 1.
    fn bilinear(&self, layer: u8, level: u8, at: [f64; 2]) -> [f64; 4] {
        let low = at.map(|at| (at - 0.5).floor());
        let part = [at[0] - 0.5 - low[0], at[1] - 0.5 - low[1]];
        let mut sum = [0.0; 4];
        for corner in 0..4 {
            let step = [corner & 1, corner >> 1];
            let weight: f64 =
                (0..2).map(|axis| if step[axis] == 1 { part[axis] } else { 1.0 - part[axis] }).product();
            if weight > 0.0 {
                let texel = self.texel(layer, level, [low[0] as i64 + step[0], low[1] as i64 + step[1]]);
                for (sum, code) in sum.iter_mut().zip(texel) {
                    *sum += weight * f64::from(code) / 255.0;
                }
            }
        }
        sum
    }

    /// What sampling a layer at `uv` gives on a level that is there.
    pub fn sampled(&self, layer: u8, level: u8, uv: [f32; 2]) -> [f64; 4] {
        let place = |axis: usize| {
            let texels = self.texels(level, axis);
            let at = f64::from(uv[axis]) * texels;
            let last = ((texels + 0.5).floor() - 0.5).max(0.5);
            match self.texture.wrap[axis] {
                Wrap::Clamp => at.clamp(0.5, last),
                Wrap::Repeat => at.rem_euclid(texels),
                Wrap::Mirror => {
                    let there = at.rem_euclid(2.0 * texels);
                    (if there > texels { 2.0 * texels - there } else { there }).clamp(0.5, last)
                }
            }
        };
        self.bilinear(layer, level, [place(0), place(1)])
    }

    /// The colour of a page of the atlas with [`Content::Pages`].
    pub fn page_colour([x, y]: [u8; 2]) -> [u8; 4] {
        (mix(u64::from(x) * 256 + u64::from(y) + 77) as u32).to_le_bytes()
    }

    /// All texels of the atlas, of a layer.
    pub fn atlas(&self, layer: u8) -> Vec<u8> {
        let (tile, border) = (self.texture.tile as i64, self.texture.border as i64);
        let physical = tile + 2 * border;
        let side = physical * i64::from(self.texture.side);
        let mut texels = POISON.repeat((side * side) as usize);
        let mut write = |page: [u8; 2], i: i64, j: i64, texel: [u8; 4]| {
            let (x, y) = (i64::from(page[0]) * physical + i, i64::from(page[1]) * physical + j);
            texels[4 * (y * side + x) as usize..][..4].copy_from_slice(&texel);
        };
        for ((level, x, y), page) in &self.resident {
            for (i, j) in (0..physical).flat_map(|j| (0..physical).map(move |i| (i, j))) {
                let at = [i64::from(*x) * tile + i - border, i64::from(*y) * tile + j - border];
                let texel = match self.content {
                    Content::Pages => Self::page_colour(*page),
                    _ => self.texel(layer, *level, at),
                };
                write(*page, i, j, texel);
            }
        }
        texels
    }
}

/// Pages a side of the page tables of tests, as a logarithm.
pub const SPACE_LOG2: u32 = 5;

/// A mip of a page table with the model's entries; what is not the texture's is `noise`.
fn table_mip(model: &Model, mip: u32, channels: usize, noise: &mut Random) -> Vec<u32> {
    let (texture, side) = (&model.texture, 1u32 << (SPACE_LOG2 - mip));
    let mut words: Vec<u32> =
        (0..(side * side) as usize * channels).map(|_| noise.number() as u32 & 0xf_ffff).collect();
    if mip <= u32::from(texture.grid.max_level()) {
        let [across, down] = texture.grid.pages(mip as u8);
        for (x, y) in (0..down).flat_map(|y| (0..across).map(move |x| (x, y))) {
            let entry =
                model.mapped(mip as u8, [x, y]).map_or(Entry::NONE, |(level, page)| Entry { level, page });
            let at = ((y + (texture.offset[1] >> mip)) * side + x + (texture.offset[0] >> mip)) as usize;
            words[at * channels + usize::from(texture.channel)] = entry.pack(texture.entries);
        }
    }
    words
}

/// A model on the device.
pub struct Rig<'a> {
    h: &'a Harness,
    /// Page table, one layer a channel in use.
    pub table: Image,
    /// Layers of the atlas.
    pub layers: [Image; 3],
    /// Bilinear, clamped.
    pub sampler: Sampler,
    /// Frame and textures.
    pub constants: Buffer,
    /// Counters and words.
    pub feedback: Buffer,
    frame: VirtualTextureFrame,
    probe: ComputePipeline,
}

impl<'a> Rig<'a> {
    /// Uploads the page table and the atlas of a model. The textures are sampled as slots 0, 1 ...; all of them lie
    /// where the model's does.
    ///
    /// # Panics
    /// When the device refuses something.
    pub fn new(
        h: &'a Harness,
        model: &Model,
        textures: &[SampledTexture],
        frame: VirtualTextureFrame,
    ) -> Self {
        Self::with_format(h, model, textures, frame, Format::R8G8B8A8_UNORM)
    }

    /// The same with an atlas of 8 bits or of half floats, which software drivers filter more exactly.
    ///
    /// # Panics
    /// When the device refuses something.
    pub fn with_format(
        h: &'a Harness,
        model: &Model,
        textures: &[SampledTexture],
        frame: VirtualTextureFrame,
        atlas: Format,
    ) -> Self {
        let texture = &model.texture;
        let channels = if texture.channel == 0 { 1 } else { 4 };
        let format = match (texture.entries, channels) {
            (EntryFormat::Bits16, 1) => Format::R16_UINT,
            (EntryFormat::Bits16, _) => Format::R16G16B16A16_UINT,
            (EntryFormat::Bits32, 1) => Format::R32_UINT,
            (EntryFormat::Bits32, _) => Format::R32G32B32A32_UINT,
        };
        let desc =
            ImageDesc { mips: SPACE_LOG2 + 1, ..ImageDesc::new_2d(format, [1 << SPACE_LOG2; 2], USAGE) };
        let table = Image::committed(&h.device, "VirtualTexture_PageTable", desc).unwrap();
        let mut noise = Random::new(99);
        let mips: Vec<Texels> = (0..=SPACE_LOG2)
            .map(|mip| {
                let words = table_mip(model, mip, channels, &mut noise);
                let bytes = match texture.entries {
                    EntryFormat::Bits16 => words.iter().flat_map(|w| (*w as u16).to_le_bytes()).collect(),
                    EntryFormat::Bits32 => words.iter().flat_map(|w| w.to_le_bytes()).collect(),
                };
                (ImageRegion::mip(&table, 0, mip), bytes)
            })
            .collect();
        upload(h, &table, &mips);
        let side = texture.side * (texture.tile + 2 * texture.border);
        let layers = [0u8, 1, 2].map(|layer| {
            let desc = ImageDesc::new_2d(atlas, [side; 2], USAGE);
            let image = Image::committed(&h.device, "VirtualTexture_Physical", desc).unwrap();
            let mut texels = model.atlas(layer);
            if atlas == Format::R16G16B16A16_SFLOAT {
                texels = texels.into_iter().flat_map(|code| half(code).to_le_bytes()).collect();
            }
            upload(h, &image, &[(ImageRegion::mip(&image, 0, 0), texels)]);
            image
        });
        let anisotropy = 16.0;
        let desc = SamplerDesc { linear: true, repeat: false, anisotropy };
        let sampler = Sampler::new(&h.device, "VirtualTexture", desc).unwrap();
        let frame = VirtualTextureFrame { texture_count: textures.len() as u32, ..frame };
        let bytes = (size_of::<VirtualTextureFrame>() + textures.len() * size_of::<VirtualTexture>()) as u64;
        let storage = BufferUsageFlags::STORAGE_BUFFER;
        let constants =
            Buffer::committed(&h.device, "VirtualTextures", bytes, storage, Location::Upload).unwrap();
        let list: Vec<VirtualTexture> = textures.iter().map(SampledTexture::constants).collect();
        constants.write_mapped(size_of::<VirtualTextureFrame>() as u64, bytemuck::cast_slice(&list)).unwrap();
        let usage = storage | BufferUsageFlags::TRANSFER_SRC | BufferUsageFlags::TRANSFER_DST;
        let feedback = Buffer::committed(
            &h.device,
            "VirtualTexture_FeedbackBuffer",
            // A word more than there is room for, which must stay as it is.
            frame.feedback_bytes() + 4,
            usage,
            Location::Device,
        )
        .unwrap();
        let probe = ComputePipeline::new(&h.device, &shader::VT_PROBE, "probe").unwrap();
        let rig = Self { h, table, layers, sampler, constants, feedback, frame, probe };
        rig.begin_frame(frame.frame);
        rig
    }

    /// The constants as the shaders see them.
    pub fn frame(&self) -> VirtualTextureFrame {
        self.frame
    }

    /// Another frame: its number is in the constants, and the feedback is empty.
    ///
    /// # Panics
    /// When the device refuses it.
    pub fn begin_frame(&self, frame: u32) {
        let constants = VirtualTextureFrame { frame, ..self.frame };
        self.constants.write_mapped(0, bytemuck::bytes_of(&constants)).unwrap();
        let done = self.h.submit("Clear", &[], |encoder| {
            encoder.memory_barrier(ANY, ANY);
            encoder.fill_buffer(&self.feedback, 0, 16, 0);
            encoder.fill_buffer(&self.feedback, 16, self.feedback.bytes() - 16, u32::MAX);
            encoder.memory_barrier(ANY, ANY);
        });
        self.h.device.wait(&[done]).unwrap();
    }

    /// Calls `record` with the bindings of a pass that samples.
    pub fn bind(&self, more: &[(u32, &Buffer)], record: impl FnOnce(&PassBindings<'_>)) {
        let mut buffers = vec![(bindings::CONSTANTS, &self.constants), (bindings::FEEDBACK, &self.feedback)];
        buffers.extend_from_slice(more);
        let images = [
            (bindings::PAGE_TABLE, &self.table),
            (bindings::LAYERS[0], &self.layers[0]),
            (bindings::LAYERS[1], &self.layers[1]),
            (bindings::LAYERS[2], &self.layers[2]),
            (bindings::SECOND_PAGE_TABLE, &self.table),
            (bindings::SECOND_LAYER, &self.layers[1]),
        ];
        record(&PassBindings {
            buffers: &buffers,
            images: &images,
            second_sampler: Some(&self.sampler),
            ..Default::default()
        });
    }

    /// What the shaders find.
    ///
    /// # Panics
    /// When the device refuses it.
    pub fn probe(&self, probes: &[VtProbe]) -> Vec<VtProbeResult> {
        let (h, storage) = (self.h, BufferUsageFlags::STORAGE_BUFFER);
        let bytes = size_of_val(probes) as u64;
        let list = Buffer::committed(&h.device, "Probes", bytes, storage, Location::Upload).unwrap();
        list.write_mapped(0, bytemuck::cast_slice(probes)).unwrap();
        let bytes = (probes.len() * size_of::<VtProbeResult>()) as u64;
        let usage = storage | BufferUsageFlags::TRANSFER_SRC;
        let found = Buffer::committed(&h.device, "Found", bytes, usage, Location::Device).unwrap();
        let count = probes.len() as u32;
        let done = h.submit("Probe", &[], |encoder| {
            encoder.memory_barrier(ANY, ANY);
            self.bind(&[(0, &list), (1, &found)], |bindings| {
                encoder.dispatch(&self.probe, bindings, &[count], self.probe.groups([count, 1, 1]));
            });
            encoder.memory_barrier(ANY, ANY);
        });
        let words = h.read(&found, 0, bytes, &[done]);
        bytemuck::cast_slice(&words).to_vec()
    }

    /// What feedback says: how many words were asked for, and those that were written, sorted.
    ///
    /// # Panics
    /// When a word lies where none should.
    pub fn said(&self) -> (u32, Vec<u32>) {
        let words = self.h.read(&self.feedback, 0, self.feedback.bytes(), &[]);
        let asked = words[0];
        assert_eq!(words[1..FIRST_FEEDBACK_WORD], [0; 3], "reserved words");
        let written = asked.min(self.frame.feedback_capacity) as usize;
        let (said, rest) = words[FIRST_FEEDBACK_WORD..].split_at(written);
        assert!(rest.iter().all(|word| *word == u32::MAX), "words behind the end");
        let mut said = said.to_vec();
        said.sort_unstable();
        (asked, said)
    }
}

/// A code of 8 bits as a number from 0 to 1 of 16.
fn half(code: u8) -> u16 {
    // Exponents of 32 and of 16 bits are 112 apart, mantissas 13 bits.
    let bits = (f32::from(code) / 255.0).to_bits();
    bits.saturating_sub((112 << 23) - 0x1000).checked_shr(13).unwrap_or(0) as u16
}

/// Fills an image and leaves it to be sampled.
fn upload(h: &Harness, image: &Image, texels: &[Texels]) {
    let laid_out = h.lay_out(image, &[]);
    let written = h.write_texels(image, texels, &[laid_out]);
    let layouts = (REST, ImageLayout::SHADER_READ_ONLY_OPTIMAL);
    let done = h.submit("Sampled", &[written], |encoder| {
        encoder.image_barrier(image.raw(), ImageAspectFlags::COLOR, layouts, ANY, ANY);
    });
    h.device.wait(&[done]).unwrap();
}
