//! What an engine gives up when memory is short, in which order, and how it is told.
//!
//! ```text
//! ResidencyManager (memory) -> dials -> sparse: nothing kept ready
//!                                    -> ground: fewer tiles, coarser ones
//!                                    -> renderer: `Quality`: samples, effects, scale
//! ```

use std::sync::Arc;
use std::time::Duration;

use crate::memory::{
    BudgetSource, DeviceBudget, Dial, ResidencyKnobs, ResidencyManager, Resident, ResidentId, Sacrifice,
};
use crate::render::{Effects, Quality, Renderer};
use crate::sparse::{ChunkPolicy, Defragmentation, SparseKnobs, SparseMemory};
use crate::streaming::StreamedGround;
use crate::vk::{Device, Timeline};

/// Shares of the picture's sides.
const SCALES: [f32; 3] = [1.0, 0.75, 0.5];
/// Quarters of a streaming pool.
const QUARTERS: [u32; 4] = [4, 3, 2, 1];
/// Anisotropy of textures, by levels of detail that are given up.
const ANISOTROPY: [u32; 3] = [16, 4, 1];

/// Effects, one after the other given up. Auto exposure needs no memory to speak of, and without it the picture would
/// change its brightness.
const EFFECTS: [Effects; 4] = [
    Effects::ALL,
    Effects { bloom: false, ..Effects::ALL },
    Effects { bloom: false, ambient_occlusion: false, ..Effects::ALL },
    Effects { bloom: false, ambient_occlusion: false, temporal: false, ..Effects::ALL },
];

/// Below this, bytes, a target is small: chunks are then smaller, and so are buffers of fixed size.
const SMALL_TARGET: u64 = 512 << 20;

/// Bytes of a chunk then at most: with a handful of buffers, half-empty chunks of the usual size would be all there is.
const SMALL_CHUNK: u64 = 4 << 20;

/// Sizes for the memory there is at the start. Where there is plenty, those that were asked for.
pub(crate) fn preset(target: u64, sparse: SparseKnobs, upload_bytes: u64) -> (SparseKnobs, u64) {
    if target >= SMALL_TARGET {
        return (sparse, upload_bytes);
    }
    let least = upload_bytes.min(1 << 20);
    let upload = upload_bytes.min(target / 16).max(least);
    let cached_chunks = sparse.cached_chunks.min(1);
    let chunk_bytes = sparse.chunk_bytes.min(SMALL_CHUNK);
    let knobs = SparseKnobs { chunk_bytes, chunk_policy: ChunkPolicy::Exact, cached_chunks, ..sparse };
    (knobs, upload)
}

/// Those who can give something up.
pub(crate) struct Parts<'a> {
    pub(crate) sparse: &'a SparseMemory,
    pub(crate) ground: Option<&'a mut StreamedGround>,
    pub(crate) renderer: &'a mut Renderer,
    /// Size of the picture in pixels.
    pub(crate) extent: [u32; 2],
}

/// The manager and the engine's own rungs.
#[derive(Debug)]
pub(crate) struct Pressure {
    pub(crate) manager: ResidencyManager,
    device: Arc<Device>,
    caches: Dial,
    pool: Dial,
    detail: Dial,
    samples: Dial,
    effects: Dial,
    scale: Dial,
    has_started: bool,
    /// Pages of pools are moved together on behalf of this, not of the application.
    defragments: bool,
    /// Frame in which a refused allocation was tried once more without giving anything up.
    tried: Option<u64>,
    evicted: Vec<(ResidentId, Resident)>,
}

impl Pressure {
    pub(crate) fn new(device: &Arc<Device>) -> Self {
        Self::with_source(device, Box::new(DeviceBudget::new(device)), ResidencyKnobs::default())
    }

    pub(crate) fn with_source(
        device: &Arc<Device>,
        source: Box<dyn BudgetSource>,
        knobs: ResidencyKnobs,
    ) -> Self {
        let mut manager = ResidencyManager::new(source, knobs);
        let mut dial = |name, sacrifice, steps: usize| {
            let (dial, rung) = Dial::new(name, sacrifice, steps as u32 - 1);
            manager.register(rung);
            dial
        };
        Self {
            caches: dial("ready chunks", Sacrifice::Caches, 2),
            pool: dial("streaming pool", Sacrifice::Pools, QUARTERS.len()),
            detail: dial("texture detail", Sacrifice::TextureDetail, ANISOTROPY.len()),
            samples: dial("samples", Sacrifice::Targets, 2),
            effects: dial("post effects", Sacrifice::Effects, EFFECTS.len()),
            scale: dial("resolution", Sacrifice::Resolution, SCALES.len()),
            manager,
            device: device.clone(),
            has_started: false,
            defragments: false,
            tried: None,
            evicted: Vec::new(),
        }
    }

    /// A frame begins: gives one thing up or takes one back, where that is due.
    pub(crate) fn begin_frame(
        &mut self,
        frame: u64,
        seconds: f32,
        parts: &mut Parts<'_>,
    ) -> crate::vk::Result<()> {
        let time = Duration::try_from_secs_f32(seconds).unwrap_or_default();
        self.estimate(parts);
        if !std::mem::replace(&mut self.has_started, true) {
            let pool = parts.ground.as_ref().map_or(0, |ground| ground.budget_bytes());
            let targets = parts.renderer.target_bytes(parts.extent, &Quality::FULL);
            self.manager.start(frame, time, targets.saturating_add(pool));
        }
        let tick = self.manager.tick(frame, time, self.device.completed(Timeline::Graphics)?);
        self.evicted.extend(tick.released);
        self.apply(parts);
        Ok(())
    }

    /// An allocation was refused. Gives something up and returns whether another try makes sense: once a frame without
    /// giving anything up, since what others dropped may be free by then.
    pub(crate) fn refused(&mut self, frame: u64, parts: &mut Parts<'_>) -> crate::vk::Result<bool> {
        if self.tried != Some(frame) {
            self.tried = Some(frame);
        } else {
            self.estimate(parts);
            if self.manager.refused(frame).is_none() {
                return Ok(false);
            }
            self.apply(parts);
        }
        self.device.trim(u64::MAX);
        self.device.wait_idle()?;
        Ok(true)
    }

    /// Who was evicted and is not in flight any more.
    pub(crate) fn take_evicted(&mut self) -> Vec<(ResidentId, Resident)> {
        std::mem::take(&mut self.evicted)
    }

    fn quality(&self) -> Quality {
        let at = |step: u32, last: usize| (step as usize).min(last);
        Quality {
            scale: SCALES[at(self.scale.step(), SCALES.len() - 1)],
            samples: if self.samples.step() > 0 { 1 } else { Quality::FULL.samples },
            anisotropy: ANISOTROPY[at(self.detail.step(), ANISOTROPY.len() - 1)],
            effects: EFFECTS[at(self.effects.step(), EFFECTS.len() - 1)],
        }
    }

    fn apply(&mut self, parts: &mut Parts<'_>) {
        let is_short = self.manager.ladder().level() > 0;
        parts.sparse.set_sparing(is_short);
        // Tiles that go leave holes; only empty chunks are memory that comes back.
        if is_short && !self.defragments && parts.sparse.defragmentation().is_none() {
            parts.sparse.set_defragmentation(Some(Defragmentation { max_fill: 0.75, ..Default::default() }));
            self.defragments = true;
        }
        if !is_short && std::mem::take(&mut self.defragments) {
            parts.sparse.set_defragmentation(None);
        }
        parts.renderer.set_quality(self.quality());
        if let Some(ground) = &mut parts.ground {
            let quarters = QUARTERS[(self.pool.step() as usize).min(QUARTERS.len() - 1)];
            ground.set_share(quarters, self.detail.step());
        }
    }

    /// Tells the rungs what their steps save at present.
    fn estimate(&self, parts: &Parts<'_>) {
        let kept = parts.sparse.ready_bytes_limit();
        let ready = parts.sparse.ready_bytes();
        self.caches.set_saves(1, if self.caches.step() > 0 { kept } else { ready });
        let streams = parts.ground.as_ref().filter(|ground| ground.image().in_place());
        let pool = streams.map_or(0, |ground| ground.budget_bytes());
        let mapped = streams.map_or(0, |ground| ground.image().mapped_bytes());
        let is_limited = streams.is_some_and(|ground| ground.image().is_limited());
        for (step, quarters) in (1u32..).zip(&QUARTERS[1..]) {
            let share = pool / 4 * u64::from(*quarters);
            let saves = match self.has_started {
                // Nothing is mapped yet, and all of it will be.
                false => pool / 4,
                true if step > self.pool.step() => mapped.saturating_sub(share),
                true => pool / 4 * u64::from(is_limited),
            };
            self.pool.set_saves(step, saves);
        }
        let share = pool / 4 * u64::from(4 - self.pool.step().min(3));
        for step in 1..ANISOTROPY.len() as u32 {
            // A level is a quarter of the tiles, of those at least that are not pinned.
            let saves =
                if step > self.detail.step() { mapped / 2 } else { share.min(mapped.saturating_mul(3)) };
            self.detail.set_saves(step, saves);
        }
        let bytes = |quality: Quality| parts.renderer.target_bytes(parts.extent, &quality);
        let now = self.quality();
        let one = Quality { samples: 1, ..now };
        self.samples.set_saves(1, bytes(Quality { samples: Quality::FULL.samples, ..now }) - bytes(one));
        for (step, pair) in (1u32..).zip(EFFECTS.windows(2)) {
            let with = |effects| bytes(Quality { effects, ..now });
            self.effects.set_saves(step, with(pair[0]).saturating_sub(with(pair[1])));
        }
        for (step, pair) in (1u32..).zip(SCALES.windows(2)) {
            let at = |scale| bytes(Quality { scale, ..now });
            self.scale.set_saves(step, at(pair[0]).saturating_sub(at(pair[1])));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_budget_takes_smaller_sizes_and_a_large_one_those_asked_for() {
        let knobs = SparseKnobs::default();
        assert_eq!(preset(SMALL_TARGET, knobs.clone(), 32 << 20), (knobs.clone(), 32 << 20));
        let (sparse, upload) = preset(256 << 20, knobs.clone(), 32 << 20);
        assert_eq!((sparse.chunk_policy, sparse.chunk_bytes), (ChunkPolicy::Exact, 4 << 20));
        assert_eq!((sparse.cached_chunks, upload), (1, 16 << 20));
        assert_eq!(preset(0, knobs.clone(), 32 << 20).1, 1 << 20);
        assert_eq!(preset(0, knobs, 1000).1, 1000, "never more than was asked for");
    }
}
