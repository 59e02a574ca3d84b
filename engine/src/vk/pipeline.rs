//! Pipelines: one layout for all (the bindless set, the pass's set, 128 bytes of push constants), and the on-disk cache.

use std::borrow::Cow;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use ash::vk;

use super::bindless::Bindless;
use super::device::Device;
use super::error::{Error, Result};
use super::retire::Garbage;
use super::shader::{EntryPoint, ShaderSource, with_one_entry_point};

/// Bytes of push constants that every pipeline has: what Vulkan 1.3 guarantees.
pub const PUSH_CONSTANT_BYTES: u32 = 128;

/// The layout that all pipelines share, and the pipeline cache.
pub(super) struct PipelineCommon {
    pub(super) layout: vk::PipelineLayout,
    /// Layout of set 1.
    pub(super) pass_layout: vk::DescriptorSetLayout,
    cache: vk::PipelineCache,
    file: Option<PathBuf>,
    /// Size of the cache as read: it is written back only when it grew.
    loaded_bytes: usize,
}

impl PipelineCommon {
    pub(super) fn new(device: &Device, bindless: &Bindless) -> Result<Self> {
        let pass_layout = super::pass_bindings::make_layout(device)?;
        let sets = [bindless.layout, pass_layout];
        let push = [vk::PushConstantRange {
            stage_flags: vk::ShaderStageFlags::ALL,
            offset: 0,
            size: PUSH_CONSTANT_BYTES,
        }];
        let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets).push_constant_ranges(&push);
        // SAFETY: the set layout is alive; 128 bytes is the guaranteed minimum.
        let layout = unsafe { device.raw.create_pipeline_layout(&info, None) }.map_err(|r| {
            // SAFETY: just made and never used.
            unsafe { device.raw.destroy_descriptor_set_layout(pass_layout, None) };
            Error::of("vkCreatePipelineLayout")(r)
        })?;
        let file = device.cache_folder.as_ref().map(|folder| folder.join(cache_name(device)));
        let data = file.as_ref().and_then(|f| std::fs::read(f).ok()).unwrap_or_default();
        let make = |data: &[u8]| {
            let info = vk::PipelineCacheCreateInfo::default().initial_data(data);
            // SAFETY: the data is a local; drivers must accept and ignore foreign data after checking its
            // header, which names vendor, device and driver build.
            unsafe { device.raw.create_pipeline_cache(&info, None) }
        };
        let (cache, loaded_bytes) = match make(&data) {
            Ok(cache) => (cache, data.len()),
            // A damaged file: start empty.
            Err(_) => (make(&[]).unwrap_or_default(), 0),
        };
        Ok(Self { layout, pass_layout, cache, file, loaded_bytes })
    }

    fn save(&self, raw: &ash::Device) {
        let Some(file) = &self.file else { return };
        // SAFETY: the cache is alive.
        let Ok(data) = (unsafe { raw.get_pipeline_cache_data(self.cache) }) else { return };
        if data.len() == self.loaded_bytes {
            return;
        }
        if let Err(error) = write_whole(file, &data) {
            log::warn!(
                "the pipeline cache {} was not written ({error}); the next start compiles again",
                file.display()
            );
        }
    }

    pub(super) fn destroy(self, raw: &ash::Device) {
        if self.cache != vk::PipelineCache::null() {
            self.save(raw);
        }
        // SAFETY: called when the device is idle and about to be destroyed.
        unsafe {
            raw.destroy_pipeline_cache(self.cache, None);
            raw.destroy_pipeline_layout(self.layout, None);
            raw.destroy_descriptor_set_layout(self.pass_layout, None);
        }
    }
}

fn cache_name(device: &Device) -> String {
    let (vendor, id) = device.capabilities().id;
    let driver: String = device
        .capabilities()
        .driver
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    format!("pipelines-{vendor:04x}-{id:04x}-{driver}.bin")
}

/// Writes to a temporary name first, so that a reader never sees half a file.
fn write_whole(file: &std::path::Path, data: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let temporary = file.with_extension(format!("{}.tmp", std::process::id()));
    std::fs::File::create(&temporary)?.write_all(data)?;
    std::fs::rename(&temporary, file)
}

/// A compute pipeline. Destroyed through the retire queue when dropped.
#[derive(Debug)]
pub struct ComputePipeline {
    inner: Pipeline,
}

/// A graphics pipeline. Destroyed through the retire queue when dropped.
#[derive(Debug)]
pub struct GraphicsPipeline {
    inner: Pipeline,
}

/// What stands behind a handle: the pipeline, and what the host needs of its shader.
#[derive(Debug, Clone, Copy)]
pub(super) struct State {
    pub(super) raw: vk::Pipeline,
    /// `None` outside compute.
    pub(super) entry: Option<EntryPoint>,
}

/// The state of a handle now. It changes only where a changed shader is compiled while the program runs.
#[derive(Debug)]
pub(super) struct Current(Mutex<State>);

impl Current {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A plain value, replaced as a whole.
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Puts another pipeline behind the handle; gives back the one before.
    #[cfg(feature = "hot-reload")]
    pub(super) fn replace(&self, state: State) -> State {
        std::mem::replace(&mut *self.lock(), state)
    }
}

#[derive(Debug)]
struct Pipeline {
    device: Arc<Device>,
    current: Arc<Current>,
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        self.device.retire(Garbage::Pipeline(self.current.lock().raw));
    }
}

impl ComputePipeline {
    /// Compiles one entry point of a shader.
    ///
    /// # Errors
    /// When the entry point does not exist or the driver refuses it.
    pub fn new(device: &Arc<Device>, shader: &ShaderSource, entry: &str) -> Result<Self> {
        #[cfg(feature = "hot-reload")]
        let shader = device.registry.newest(shader);
        let inner = Pipeline::new(device, compile_compute(device, shader, entry)?);
        #[cfg(feature = "hot-reload")]
        device.registry.add(&inner.current, shader, super::reload::Recipe::Compute { entry: entry.into() });
        Ok(Self { inner })
    }

    /// The raw handle.
    pub fn raw(&self) -> vk::Pipeline {
        self.inner.current.lock().raw
    }

    /// Workgroups on each axis that cover that many threads.
    pub fn groups(&self, threads: [u32; 3]) -> [u32; 3] {
        self.inner.current.lock().entry.map_or(threads, |entry| entry.groups(threads))
    }
}

/// Compiles one entry point of a shader.
pub(super) fn compile_compute(device: &Device, shader: &ShaderSource, entry: &str) -> Result<State> {
    let entry_point = find(shader, entry)?;
    let module = Module::new(device, shader, entry_point)?;
    let common = common(device)?;
    let stage = vk::PipelineShaderStageCreateInfo::default()
        .stage(vk::ShaderStageFlags::COMPUTE)
        .module(module.raw)
        .name(entry_point.name);
    let info = vk::ComputePipelineCreateInfo::default().stage(stage).layout(common.layout);
    // SAFETY: module, name and layout outlive the call; naga validated the shader.
    let raw = unsafe { device.raw.create_compute_pipelines(common.cache, &[info], None) }
        .map_err(|(_, r)| device.noticed(Error::of("vkCreateComputePipelines")(r)))?[0];
    device.counters.made();
    device.set_name(raw, &format!("{}.{entry}", shader.name));
    Ok(State { raw, entry: Some(*entry_point) })
}

/// What a graphics pipeline is made of; vertices are pulled from storage buffers by the shader.
#[derive(Debug, Clone)]
pub struct GraphicsDesc<'a> {
    /// Name that captures show.
    pub name: &'a str,
    /// Shader with both entry points.
    pub shader: &'a ShaderSource,
    /// Vertex entry point.
    pub vertex: &'a str,
    /// Fragment entry point; `None` where only depth is written.
    pub fragment: Option<&'a str>,
    /// Formats of the colour targets.
    pub colours: &'a [vk::Format],
    /// How colours meet what the targets hold, one a target; all others are replaced.
    pub blends: &'a [Blend],
    /// Depth target and whether it is written; the test is greater-or-equal (reversed depth).
    pub depth: Option<(vk::Format, bool)>,
    /// Faces to cull; front faces are counter-clockwise.
    pub cull: vk::CullModeFlags,
    /// Samples a pixel.
    pub samples: vk::SampleCountFlags,
}

/// How the colour of a draw meets what its target holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blend {
    /// Premultiplied *over*: colour + (1 - alpha) x target, the target's alpha x (1 - alpha). Otherwise replaced.
    pub is_over: bool,
    /// Channels that are written.
    pub mask: vk::ColorComponentFlags,
}

impl Blend {
    /// All channels are replaced.
    pub const REPLACE: Self = Self { is_over: false, mask: vk::ColorComponentFlags::RGBA };

    fn state(self) -> vk::PipelineColorBlendAttachmentState {
        vk::PipelineColorBlendAttachmentState::default()
            .blend_enable(self.is_over)
            .src_color_blend_factor(vk::BlendFactor::ONE)
            .dst_color_blend_factor(vk::BlendFactor::ONE_MINUS_SRC_ALPHA)
            .color_blend_op(vk::BlendOp::ADD)
            .src_alpha_blend_factor(vk::BlendFactor::ZERO)
            .dst_alpha_blend_factor(vk::BlendFactor::ONE_MINUS_SRC_ALPHA)
            .alpha_blend_op(vk::BlendOp::ADD)
            .color_write_mask(self.mask)
    }
}

impl GraphicsPipeline {
    /// Compiles a pipeline for dynamic rendering, with dynamic viewport and scissor.
    ///
    /// # Errors
    /// When the driver refuses it.
    pub fn new(device: &Arc<Device>, desc: &GraphicsDesc<'_>) -> Result<Self> {
        #[cfg(feature = "hot-reload")]
        let desc = &GraphicsDesc { shader: device.registry.newest(desc.shader), ..desc.clone() };
        let inner = Pipeline::new(device, compile_graphics(device, desc)?);
        #[cfg(feature = "hot-reload")]
        {
            let recipe = super::reload::Recipe::Graphics(super::reload::GraphicsRecipe::of(desc));
            device.registry.add(&inner.current, desc.shader, recipe);
        }
        Ok(Self { inner })
    }

    /// The raw handle.
    pub fn raw(&self) -> vk::Pipeline {
        self.inner.current.lock().raw
    }
}

/// Compiles a pipeline for dynamic rendering.
pub(super) fn compile_graphics(device: &Device, desc: &GraphicsDesc<'_>) -> Result<State> {
    let vertex = find(desc.shader, desc.vertex)?;
    let fragment = desc.fragment.map(|entry| find(desc.shader, entry)).transpose()?;
    let vertex_module = Module::new(device, desc.shader, vertex)?;
    // One module holds both, unless each must be alone in its own.
    let alone = fragment.filter(|_| device.instance.gpu_assisted());
    let fragment_module = alone.map(|entry| Module::new(device, desc.shader, entry)).transpose()?;
    let common = common(device)?;
    let stage = |stage, module: &Module<'_>, entry: &EntryPoint| {
        vk::PipelineShaderStageCreateInfo::default().stage(stage).module(module.raw).name(entry.name)
    };
    let fragment = fragment.map(|entry| {
        let module = fragment_module.as_ref().unwrap_or(&vertex_module);
        stage(vk::ShaderStageFlags::FRAGMENT, module, entry)
    });
    let vertex = stage(vk::ShaderStageFlags::VERTEX, &vertex_module, vertex);
    let stages: Vec<_> = std::iter::once(vertex).chain(fragment).collect();
    let input = vk::PipelineVertexInputStateCreateInfo::default();
    let assembly =
        vk::PipelineInputAssemblyStateCreateInfo::default().topology(vk::PrimitiveTopology::TRIANGLE_LIST);
    let viewport = vk::PipelineViewportStateCreateInfo::default().viewport_count(1).scissor_count(1);
    let raster = vk::PipelineRasterizationStateCreateInfo::default()
        .polygon_mode(vk::PolygonMode::FILL)
        .cull_mode(desc.cull)
        .front_face(vk::FrontFace::COUNTER_CLOCKWISE)
        .line_width(1.0);
    let multisample = vk::PipelineMultisampleStateCreateInfo::default().rasterization_samples(desc.samples);
    let depth = vk::PipelineDepthStencilStateCreateInfo::default()
        .depth_test_enable(desc.depth.is_some())
        .depth_write_enable(desc.depth.is_some_and(|(_, write)| write))
        .depth_compare_op(vk::CompareOp::GREATER_OR_EQUAL);
    let blends = desc.blends.iter().copied().chain(std::iter::repeat(Blend::REPLACE));
    let attachments: Vec<_> = blends.take(desc.colours.len()).map(Blend::state).collect();
    let blend = vk::PipelineColorBlendStateCreateInfo::default().attachments(&attachments);
    let dynamic = [vk::DynamicState::VIEWPORT, vk::DynamicState::SCISSOR];
    let dynamic = vk::PipelineDynamicStateCreateInfo::default().dynamic_states(&dynamic);
    let mut rendering = vk::PipelineRenderingCreateInfo::default()
        .color_attachment_formats(desc.colours)
        .depth_attachment_format(desc.depth.map_or(vk::Format::UNDEFINED, |(format, _)| format));
    let info = vk::GraphicsPipelineCreateInfo::default()
        .stages(&stages)
        .vertex_input_state(&input)
        .input_assembly_state(&assembly)
        .viewport_state(&viewport)
        .rasterization_state(&raster)
        .multisample_state(&multisample)
        .depth_stencil_state(&depth)
        .color_blend_state(&blend)
        .dynamic_state(&dynamic)
        .layout(common.layout)
        .push_next(&mut rendering);
    // SAFETY: every pointer is a local that outlives the call; naga validated the shader.
    let raw = unsafe { device.raw.create_graphics_pipelines(common.cache, &[info], None) }
        .map_err(|(_, r)| device.noticed(Error::of("vkCreateGraphicsPipelines")(r)))?[0];
    device.counters.made();
    device.set_name(raw, desc.name);
    Ok(State { raw, entry: None })
}

impl Pipeline {
    fn new(device: &Arc<Device>, state: State) -> Self {
        Self { device: device.clone(), current: Arc::new(Current(Mutex::new(state))) }
    }
}

fn find(shader: &ShaderSource, entry: &str) -> Result<&'static EntryPoint> {
    let missing = || Error::Other(format!("shader {} has no entry point {entry}", shader.name));
    shader.entry_point(entry).ok_or_else(missing)
}

fn common(device: &Device) -> Result<&PipelineCommon> {
    device.pipelines.get().ok_or_else(|| Error::Other("the pipeline layout is not made yet".into()))
}

/// A shader module, needed only while pipelines are made from it.
struct Module<'a> {
    device: &'a Device,
    raw: vk::ShaderModule,
}

impl<'a> Module<'a> {
    fn new(device: &'a Device, shader: &ShaderSource, entry: &EntryPoint) -> Result<Self> {
        device.alive("vkCreateShaderModule")?;
        let spirv = match device.instance.gpu_assisted() {
            true => Cow::Owned(with_one_entry_point(shader.spirv, entry.name)),
            false => Cow::Borrowed(shader.spirv),
        };
        let info = vk::ShaderModuleCreateInfo::default().code(&spirv);
        // SAFETY: the code is SPIR-V that naga wrote and validated at build time.
        let raw = unsafe { device.raw.create_shader_module(&info, None) }
            .map_err(|r| device.noticed(Error::of("vkCreateShaderModule")(r)))?;
        Ok(Self { device, raw })
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        if !self.device.is_lost() {
            // SAFETY: pipelines do not need their modules once made.
            unsafe { self.device.raw.destroy_shader_module(self.raw, None) };
        }
    }
}
