//! Shaders compiled again while the program runs (feature `hot-reload`).
//!
//! ```text
//! poll(): a file changed? -> build::compile -> new pipelines of every handle made from that shader, all of them
//!                                |                 `-> swapped behind their handles; the old ones retire
//!                                `-> an error: everything stays as it was, the text is kept until a poll succeeds
//! ```
//!
//! Called between frames: a recording that is open keeps the pipelines that it bound. What a shader asks of the host
//! (bindings, push constants, the formats of its targets) is the program's and must stay the same.
//!
//! The code of a changed shader stays in memory to the end of the process, some tens of KiB a change.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant, SystemTime};

use ash::vk;

use super::device::Device;
use super::error::{Error, Result};
use super::pipeline::{Blend, Current, GraphicsDesc, State, compile_compute, compile_graphics};
use super::retire::Garbage;
use super::shader::{self, EntryPoint, ShaderSource, build};

/// How often files are looked at.
const INTERVAL: Duration = Duration::from_millis(250);

/// What a pipeline was made of, to make it again.
pub(super) enum Recipe {
    Compute { entry: String },
    Graphics(GraphicsRecipe),
}

/// [`GraphicsDesc`] with everything its own.
pub(super) struct GraphicsRecipe {
    name: String,
    vertex: String,
    fragment: Option<String>,
    colours: Vec<vk::Format>,
    blends: Vec<Blend>,
    depth: Option<(vk::Format, bool)>,
    cull: vk::CullModeFlags,
    samples: vk::SampleCountFlags,
}

impl GraphicsRecipe {
    pub(super) fn of(desc: &GraphicsDesc<'_>) -> Self {
        Self {
            name: desc.name.into(),
            vertex: desc.vertex.into(),
            fragment: desc.fragment.map(Into::into),
            colours: desc.colours.to_vec(),
            blends: desc.blends.to_vec(),
            depth: desc.depth,
            cull: desc.cull,
            samples: desc.samples,
        }
    }

    fn with<'a>(&'a self, shader: &'a ShaderSource) -> GraphicsDesc<'a> {
        GraphicsDesc {
            name: &self.name,
            shader,
            vertex: &self.vertex,
            fragment: self.fragment.as_deref(),
            colours: &self.colours,
            blends: &self.blends,
            depth: self.depth,
            cull: self.cull,
            samples: self.samples,
        }
    }
}

struct Made {
    current: Weak<Current>,
    shader: &'static str,
    recipe: Recipe,
}

/// The pipelines of a device, and the shaders that changed since the program was built.
#[derive(Default)]
pub(super) struct Registry {
    made: Mutex<Vec<Made>>,
    changed: Mutex<BTreeMap<&'static str, &'static ShaderSource>>,
}

impl Registry {
    fn made(&self) -> MutexGuard<'_, Vec<Made>> {
        // Entries are pushed and dropped whole.
        self.made.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn changed(&self) -> MutexGuard<'_, BTreeMap<&'static str, &'static ShaderSource>> {
        // As above.
        self.changed.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(super) fn add(&self, current: &Arc<Current>, shader: &ShaderSource, recipe: Recipe) {
        let mut made = self.made();
        if made.len() == made.capacity() {
            made.retain(|entry| entry.current.strong_count() > 0);
        }
        made.push(Made { current: Arc::downgrade(current), shader: shader.name, recipe });
    }

    /// The shader as it is now.
    pub(super) fn newest<'a>(&self, shader: &'a ShaderSource) -> &'a ShaderSource {
        self.changed().get(shader.name).copied().unwrap_or(shader)
    }
}

impl Device {
    /// Makes every pipeline of a shader again; all of them, or none.
    fn swap(self: &Arc<Self>, shader: &'static ShaderSource) -> Result<usize> {
        let mut new: Vec<(Arc<Current>, State)> = Vec::new();
        let made = self.registry.made();
        let ours = made.iter().filter(|entry| entry.shader == shader.name);
        let alive = ours.filter_map(|entry| Some((entry.current.upgrade()?, &entry.recipe)));
        for (current, recipe) in alive {
            let state = match recipe {
                Recipe::Compute { entry } => compile_compute(self, shader, entry),
                Recipe::Graphics(recipe) => compile_graphics(self, &recipe.with(shader)),
            };
            match state {
                Ok(state) => new.push((current, state)),
                Err(error) => {
                    new.into_iter().for_each(|(_, state)| self.retire(Garbage::Pipeline(state.raw)));
                    return Err(error);
                }
            }
        }
        drop(made);
        let count = new.len();
        for (current, state) in new {
            let old = current.replace(state);
            self.retire(Garbage::Pipeline(old.raw));
        }
        self.registry.changed().insert(shader.name, shader);
        Ok(count)
    }
}

/// What happened to one shader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reloaded {
    /// Its file below the folder, with the ending.
    pub file: String,
    /// Pipelines that were made again; or what is wrong with it, with file, line and column.
    pub outcome: Result<usize, String>,
}

impl fmt::Display for Reloaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            Ok(count) => write!(f, "{}: {count} pipelines made again", self.file),
            Err(text) => f.write_str(text),
        }
    }
}

/// When a file was written last, and its length; `None` for one that cannot be looked at.
type Stamp = Option<(SystemTime, u64)>;

fn stamp(path: &Path) -> Stamp {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

struct Watched {
    shader: &'static ShaderSource,
    files: Vec<(PathBuf, Stamp)>,
}

/// Watches a folder of shaders: the engine's own, or a copy of it.
pub struct ShaderReload {
    device: Arc<Device>,
    root: PathBuf,
    watched: Vec<Watched>,
    looked: Option<Instant>,
    interval: Duration,
    errors: BTreeMap<String, String>,
}

impl fmt::Debug for ShaderReload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShaderReload").field("root", &self.root).finish_non_exhaustive()
    }
}

fn file_of(shader: &ShaderSource) -> String {
    format!("{}.wgsl", shader.name)
}

impl ShaderReload {
    /// Begins to watch `root`. Files are taken to be what the program was built from; changes from now on count.
    ///
    /// # Errors
    /// When a shader of the engine is not in the folder.
    pub fn new(device: &Arc<Device>, root: &Path) -> Result<Self> {
        let mut watched = Vec::new();
        for shader in shader::ALL.iter().copied() {
            let files = build::files(root, &file_of(shader)).map_err(|e| Error::Other(e.to_string()))?;
            let files = files.into_iter().map(|file| (file.clone(), stamp(&file))).collect();
            watched.push(Watched { shader, files });
        }
        let (errors, looked) = Default::default();
        let (device, root) = (device.clone(), root.to_owned());
        Ok(Self { device, root, watched, looked, interval: INTERVAL, errors })
    }

    /// Looks at the files at most this often; a quarter of a second unless told otherwise.
    pub fn set_interval(&mut self, interval: Duration) {
        self.interval = interval;
    }

    /// What is wrong with shaders now, a text each. The pipelines are those from before.
    pub fn errors(&self) -> impl Iterator<Item = &str> {
        self.errors.values().map(String::as_str)
    }

    /// Makes the pipelines of changed shaders again. Between frames.
    pub fn poll(&mut self) -> Vec<Reloaded> {
        if self.looked.is_some_and(|last| last.elapsed() < self.interval) || self.device.is_lost() {
            return Vec::new();
        }
        self.looked = Some(Instant::now());
        let mut done = Vec::new();
        for index in 0..self.watched.len() {
            let Some(watched) = self.watched.get_mut(index) else { break };
            let mut is_changed = false;
            for (file, before) in &mut watched.files {
                let now = stamp(file);
                is_changed |= now != *before;
                *before = now;
            }
            if is_changed {
                done.push(self.reload(index));
            }
        }
        done
    }

    fn reload(&mut self, index: usize) -> Reloaded {
        let watched = &mut self.watched[index];
        let file = file_of(watched.shader);
        // What an editor writes is not foreseen by any compiler: one that panics is an error like others.
        let compiled = std::panic::catch_unwind(|| build::compile(&self.root, &file));
        let compiled = match compiled {
            Ok(Ok(compiled)) => Ok(compiled),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("{file}:1:1: error: the compiler panicked")),
        };
        let outcome = compiled.and_then(|compiled| {
            for path in &compiled.files {
                if !watched.files.iter().any(|(known, _)| known == path) {
                    watched.files.push((path.clone(), stamp(path)));
                }
            }
            let shader = kept(watched.shader.name, compiled);
            self.device.swap(shader).map_err(|error| format!("{file}:1:1: error: {error}"))
        });
        match &outcome {
            Ok(count) => {
                self.errors.remove(&file);
                log::info!(target: "shaders", "{file}: {count} pipelines made again");
            }
            Err(text) => {
                log::error!(target: "shaders", "{text}");
                self.errors.insert(file.clone(), text.clone());
            }
        }
        Reloaded { file, outcome }
    }
}

/// Puts compiled code where the built-in one is: in memory for good.
fn kept(name: &'static str, compiled: build::Compiled) -> &'static ShaderSource {
    let entry = |entry: build::CompiledEntryPoint| EntryPoint {
        // A WGSL name holds no zero byte.
        name: Box::leak(CString::new(entry.name).unwrap_or_default().into_boxed_c_str()),
        stage: match entry.stage {
            build::Stage::Vertex => vk::ShaderStageFlags::VERTEX,
            build::Stage::Fragment => vk::ShaderStageFlags::FRAGMENT,
            build::Stage::Compute => vk::ShaderStageFlags::COMPUTE,
        },
        workgroup_size: entry.workgroup_size,
    };
    let entry_points: Vec<EntryPoint> = compiled.entry_points.into_iter().map(entry).collect();
    Box::leak(Box::new(ShaderSource {
        name,
        spirv: compiled.spirv.leak(),
        entry_points: entry_points.leak(),
    }))
}
