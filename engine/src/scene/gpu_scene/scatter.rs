//! Uploads of dirty elements: one dispatch a buffer writes each element to its place.

use std::sync::Arc;

use crate::memory::Upload;
use crate::vk::layout::gpu_struct;
use crate::vk::{Buffer, CommandEncoder, ComputePipeline, Device, PassBindings, Result, shader};

gpu_struct! {
    /// Push constants of `shaders/scatter.wgsl`.
    pub struct ScatterPush {
        /// First word of the element indices.
        pub index_word: u32,
        /// First word of the data.
        pub data_word: u32,
        /// Words of all elements.
        pub words: u32,
        /// Words of one element.
        pub words_per_element: u32,
    }
}

/// One buffer's upload.
#[derive(Debug)]
pub(super) struct ScatterJob {
    pub(super) target: Arc<Buffer>,
    pub(super) indices: Upload,
    pub(super) data: Upload,
    pub(super) elements: u32,
    pub(super) words_per_element: u32,
}

/// The pass.
#[derive(Debug)]
pub(super) struct Scatter {
    pipeline: ComputePipeline,
}

impl Scatter {
    pub(super) fn new(device: &Arc<Device>) -> Result<Self> {
        Ok(Self { pipeline: ComputePipeline::new(device, &shader::SCATTER, "scatter")? })
    }

    /// Records the jobs. Buffers are disjoint, so no barrier is needed between them.
    pub(super) fn record(&self, encoder: &mut CommandEncoder, jobs: &[ScatterJob]) {
        for job in jobs {
            let words = job.elements * job.words_per_element;
            let push = ScatterPush {
                index_word: job.indices.word(),
                data_word: job.data.word(),
                words,
                words_per_element: job.words_per_element,
            };
            let bindings = PassBindings {
                buffers: &[(0, &job.indices.buffer), (1, &job.data.buffer), (2, &job.target)],
                ..Default::default()
            };
            encoder.dispatch(
                &self.pipeline,
                &bindings,
                &push,
                spread(self.pipeline.groups([words, 1, 1])[0]),
            );
        }
    }
}

/// A dispatch has at most 65535 groups an axis: spread more over y.
fn spread(groups: u32) -> [u32; 3] {
    const MOST: u32 = 65_535;
    [groups.clamp(1, MOST), groups.div_ceil(MOST).max(1), 1]
}
