//! `bc`: how good and how fast block compression of pages is, against other encoders.
//!
//! ```text
//! pictures (264 x 264) -> ours on the GPU (must equal the twin, bit for bit) and on the CPU
//!                      -> block_compression, texpresso, intel_tex_2
//!                      -> decoded by bcdec_rs, and ours by the GPU's sampler -> PSNR, luma, angles, chroma
//! ```
//!
//! Speed: ours on the GPU by its timestamps, a batch of eight pages and all layers of a kind in one dispatch, in turns that
//! each begin with a while of the same work, so that clocks are up; the others on one thread of the processor. `block_compression` runs on the GPU with the feature `wgpu` of this crate.

mod encoders;
mod gpu;
mod pictures;
mod quality;
#[cfg(feature = "wgpu")]
mod rival_gpu;

use serde::Serialize;
use serde_json::json;
use vasa::vk::FeatureMask;

use crate::Bench;
use crate::error::Error;
use crate::harness::Context;
use crate::report::{Outcome, Table, figure};
use crate::stats;
use encoders::{Encoder, Format};
use pictures::SIDE;
use quality::Quality;

/// The bench.
pub(crate) const BENCH: Bench = Bench {
    name: "bc",
    about: "block compression of pages: quality and speed against other encoders",
    needs_device: true,
    run: measure,
};

/// One encoder on one picture in one format.
#[derive(Debug, Clone, Serialize)]
struct Row {
    picture: &'static str,
    format: Format,
    encoder: &'static str,
    quality: Quality,
    /// Million texels a second; of the GPU's where the encoder says so.
    megapixels: Option<f64>,
}

/// What a kind's batch takes on the GPU.
#[derive(Debug, Clone, Serialize)]
struct Speed {
    kind: String,
    /// Milliseconds of a dispatch: the median of each turn.
    ms: Vec<f64>,
    /// Pages times layers.
    layers: u32,
    /// Million texels of all layers a second, in the best turn.
    megapixels: f64,
}

/// What another encoder takes on the GPU for a batch of one layer.
#[derive(Debug, Clone, Serialize)]
struct Rival {
    format: &'static str,
    ms: Vec<f64>,
    megapixels: f64,
    /// Whether the times are the GPU's; the host's otherwise.
    has_timestamps: bool,
}

/// Least and most of the turns' medians.
fn turns(ms: &[f64]) -> [String; 2] {
    let least = ms.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ms.iter().copied().fold(0.0, f64::max);
    [format!("{least:.3}"), format!("{most:.3}")]
}

fn measure(context: &Context) -> Result<Outcome, Error> {
    let device = context.open(FeatureMask::default())?;
    let mut ours = gpu::Gpu::new(&device)?;
    let pictures = pictures::all();
    let mut rows = Vec::new();
    let mut differing = Vec::new();
    for picture in &pictures {
        for format in picture.formats() {
            let twin = encoders::packed_twin(picture, format);
            let (blocks, seen) = ours.compress(picture, format)?;
            if blocks != twin {
                differing.push(format!("{} as {format:?}", picture.name));
            }
            let quality = Quality::of(picture, format, &seen);
            rows.push(Row {
                picture: picture.name,
                format,
                encoder: "vasa, GPU sampler",
                quality,
                megapixels: None,
            });
            for encoder in Encoder::all(format) {
                let blocks = encoder.encode(picture, format);
                let quality = Quality::of(picture, format, &encoders::decode(format, &blocks));
                let samples = crate::host::microseconds(if context.quick { 1 } else { 2 }, || {
                    std::hint::black_box(encoder.encode(picture, format));
                });
                let megapixels = stats::median(&samples).map(|us| (SIDE * SIDE) as f64 / us);
                rows.push(Row {
                    picture: picture.name,
                    format,
                    encoder: encoder.name(),
                    quality,
                    megapixels,
                });
            }
        }
    }
    let speeds = ours.speeds(if context.quick { 5 } else { 30 })?;
    #[cfg(feature = "wgpu")]
    let rival =
        rival_gpu::speeds(&pictures[0], if context.quick { 5 } else { 30 }, context.device.as_deref());
    #[cfg(not(feature = "wgpu"))]
    let rival: Vec<Rival> = Vec::new();
    Ok(outcome(&rows, &speeds, &rival, &differing))
}

fn outcome(rows: &[Row], speeds: &[Speed], rivals: &[Rival], differing: &[String]) -> Outcome {
    let mut table = Table::new(&[
        "picture, format, encoder",
        "PSNR dB",
        "to best",
        "luma dB",
        "angle mean",
        "angle max",
        "chroma mean",
        "chroma max",
        "MP/s, one thread",
    ]);
    for row in rows {
        let same = rows.iter().filter(|r| (r.picture, r.format) == (row.picture, row.format));
        let best = same.map(|r| r.quality.psnr).fold(0.0, f64::max);
        let q = row.quality;
        table.row(vec![
            format!("{}, {:?}, {}", row.picture, row.format, row.encoder),
            format!("{:.2}", q.psnr),
            format!("{:+.2}", q.psnr - best),
            figure(q.luma, 2),
            figure(q.angle_mean, 3),
            figure(q.angle_max, 2),
            figure(q.chroma_mean, 2),
            figure(q.chroma_max, 1),
            figure(row.megapixels, 1),
        ]);
    }
    let mut fast = Table::new(&["GPU, batch of 8 pages", "ms, best turn", "worst", "MP/s of all layers"]);
    for speed in speeds {
        let [least, most] = turns(&speed.ms);
        fast.row(vec![
            format!("vasa {} ({} layers)", speed.kind, speed.layers),
            least,
            most,
            format!("{:.0}", speed.megapixels),
        ]);
    }
    for rival in rivals {
        let [least, most] = turns(&rival.ms);
        let clock = if rival.has_timestamps { "" } else { ", host's clock" };
        fast.row(vec![
            format!("block_compression {} (1 layer{clock})", rival.format),
            least,
            most,
            format!("{:.0}", rival.megapixels),
        ]);
    }
    let equal = match differing {
        [] => "The GPU's blocks equal those of the twin, bit for bit.".to_owned(),
        some => format!("The GPU's blocks differ from those of the twin: {}", some.join(", ")),
    };
    let rival_note = match rivals {
        [] => {
            "\nblock_compression ran on the processor only: build with the feature `wgpu` for its GPU path."
        }
        _ => "",
    };
    let text = format!(
        "block compression of pages of {SIDE} x {SIDE} texels\n\n{table}\n{fast}\n{equal}{rival_note}\n\
         Chroma is what decoded greys differ between red and green or blue, in 255; angles in degrees."
    );
    let json = json!({
        "side": SIDE,
        "rows": rows,
        "gpu": speeds,
        "block_compression_gpu": rivals,
        "differs_from_twin": differing,
    });
    Outcome { text, json }
}
