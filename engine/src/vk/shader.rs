//! The engine's shaders, compiled from `shaders/*.wgsl` by the build script.
//!
//! One static a file, named after it (`shaders/vt/feedback.wgsl` is `VT_FEEDBACK`), with its SPIR-V
//! and its entry points. Host code takes workgroup sizes from here, so that a changed `@workgroup_size` needs
//! no second edit. How the WGSL is compiled, and what it may use, is told in `engine/shader_build/mod.rs`; how
//! shaders reach buffers and textures, in `shaders/lib/bindless.wgsl`.

use ash::vk;
use std::ffi::CStr;

/// The compiler itself, for tests and for compiling while the program runs.
#[cfg(any(test, feature = "hot-reload"))]
#[path = "../../shader_build/mod.rs"]
pub mod build;

/// A WGSL file as SPIR-V.
#[derive(Debug)]
pub struct ShaderSource {
    /// Path below `shaders/` without the ending.
    pub name: &'static str,
    /// SPIR-V 1.4 with every entry point of the file.
    pub spirv: &'static [u32],
    /// In the order of the file.
    pub entry_points: &'static [EntryPoint],
}

/// A function a pipeline can start at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryPoint {
    /// Its name in the WGSL file.
    pub name: &'static CStr,
    /// The step it runs in: one bit.
    pub stage: vk::ShaderStageFlags,
    /// Threads in a workgroup along x, y and z; zeros outside compute.
    pub workgroup_size: [u32; 3],
}

impl ShaderSource {
    /// The entry point of that name, if the file has it.
    pub fn entry_point(&self, name: &str) -> Option<&'static EntryPoint> {
        self.entry_points.iter().find(|entry| entry.name.to_bytes() == name.as_bytes())
    }
}

impl EntryPoint {
    /// Workgroups along x, y and z that cover that many threads.
    pub const fn groups(&self, threads: [u32; 3]) -> [u32; 3] {
        let mut groups = [0; 3];
        let mut axis = 0;
        while axis < 3 {
            let size = if self.workgroup_size[axis] == 0 { 1 } else { self.workgroup_size[axis] };
            groups[axis] = threads[axis].div_ceil(size);
            axis += 1;
        }
        groups
    }
}

/// A module with one of its entry points only. GPU-assisted validation instruments no others.
pub(super) fn with_one_entry_point(spirv: &[u32], name: &CStr) -> Vec<u32> {
    const HEADER_WORDS: usize = 5;
    const OP_ENTRY_POINT: u32 = 15;
    const OP_EXECUTION_MODE: u32 = 16;
    let mut kept = spirv.get(..HEADER_WORDS).unwrap_or_default().to_vec();
    let (mut at, mut dropped) = (HEADER_WORDS, Vec::new());
    while let Some(first) = spirv.get(at) {
        let end = at + (first >> 16).max(1) as usize;
        let words = spirv.get(at..end).unwrap_or_default();
        at = end;
        // Entry points come before the execution modes that name them.
        match (first & 0xffff, words) {
            (OP_ENTRY_POINT, [_, _, function, text @ ..]) => {
                let bytes = text.iter().flat_map(|word| word.to_le_bytes());
                if bytes.take_while(|byte| *byte != 0).ne(name.to_bytes().iter().copied()) {
                    dropped.push(*function);
                    continue;
                }
            }
            (OP_EXECUTION_MODE, [_, function, ..]) if dropped.contains(function) => continue,
            _ => {}
        }
        kept.extend_from_slice(words);
    }
    kept
}

include!(concat!(env!("OUT_DIR"), "/shaders.rs"));

#[cfg(test)]
#[path = "shader_tests.rs"]
mod tests;
