//! From a WGSL file to SPIR-V: the same code runs in the build script, in tests, and where shaders are reloaded.
//!
//! ```text
//! fill.wgsl + lib/*.wgsl --expand--> one text + line map --naga--> SPIR-V 1.4 + entry points
//! ```
//!
//! A line `//!include lib/name.wgsl` pastes a file in its place, once however often it is asked for. `enable`,
//! `requires` and `diagnostic` lines of any file move to the top, where WGSL wants them, so a module can carry
//! its own. Errors name the file and line a person wrote, not a place in the expanded text.
//!
//! # Decisions
//!
//! - **No flip of Y.** Clip space is Vulkan's: y points down, depth runs from 0 to 1. Projections deal with it.
//! - **Bounds checks.** Storage buffers are not checked: every shader guards by the counts its pass was given,
//!   and a check against a reserved buffer's length would compare with the reservation, not with what is
//!   committed. Image loads are not checked either; the device enables `robustImageAccess`, which Vulkan 1.3
//!   requires, and which reads zero outside. Indices into the bindless arrays are not checked: their length is
//!   not known to the compiler, and slots come from the host's own tables. Arrays in function, private and
//!   workgroup memory are clamped, since nothing else stands between a wrong index and the rest of the program.
//! - **No rewriting of loops and divisions.** Loops end and divisors are not zero by the shader's own care.
//! - **Workgroup memory starts at zero**, as WGSL says, by `shaderZeroInitializeWorkgroupMemory` of Vulkan 1.3.
//! - **Unused code is checked, then dropped**: a module may declare more than a pass uses.

mod error;
mod expand;
mod runtime_arrays;

pub use error::ShaderError;

use expand::{Expanded, expand};

use naga::back::spv;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use std::path::{Path, PathBuf};

/// The kind of pipeline step an entry point runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Runs once a vertex.
    Vertex,
    /// Runs once a covered pixel.
    Fragment,
    /// Runs in workgroups of its own.
    Compute,
}

/// A function that a pipeline can start at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompiledEntryPoint {
    /// Its name in the WGSL file, kept in the SPIR-V.
    pub name: String,
    /// The step it runs in.
    pub stage: Stage,
    /// Threads in a workgroup along x, y and z; zeros outside compute.
    pub workgroup_size: [u32; 3],
}

/// What came out of one WGSL file.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// SPIR-V 1.4, one module with every entry point of the file.
    pub spirv: Vec<u32>,
    /// In the order of the file.
    pub entry_points: Vec<CompiledEntryPoint>,
    /// The file itself and all it included: watch these.
    pub files: Vec<PathBuf>,
}

/// One member of a WGSL struct, as naga lays it out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(dead_code, reason = "the build script compiles this file too and does not look at layouts")]
pub struct WgslField {
    /// Name of the member.
    pub name: String,
    /// Bytes from the start of the struct.
    pub offset: u32,
    /// Bytes of the member's type, without padding after it.
    pub size: u32,
}

/// A WGSL struct, as naga lays it out for storage and push constants.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(dead_code, reason = "the build script compiles this file too and does not look at layouts")]
pub struct WgslStruct {
    /// Name of the struct.
    pub name: String,
    /// Bytes of one element of an array of it.
    pub size: u32,
    /// In order of declaration.
    pub fields: Vec<WgslField>,
}

/// Compiles `entry_file`, a path relative to `root`; included paths are relative to `root` too.
///
/// # Errors
///
/// The first thing that is wrong, at the file and line where it is: an unreadable or cyclic include, a syntax
/// error, or what naga's validation refuses.
pub fn compile(root: &Path, entry_file: &str) -> Result<Compiled, ShaderError> {
    let expanded = expand(root, entry_file)?;
    let mut module = parse(&expanded)?;
    validate(&module, &expanded)?;
    refuse_handle_arguments(&module, &expanded)?;
    naga::compact::compact(&mut module, naga::compact::KeepUnused::No);
    let info = validate(&module, &expanded)?;
    let mut spirv = spv::write_vec(&module, &info, &options(), None)
        .map_err(|error| ShaderError::Write { file: expanded.display(0), message: error.to_string() })?;
    if runtime_arrays::used(&module) {
        runtime_arrays::declare(&mut spirv);
    }
    let entry_points = module
        .entry_points
        .iter()
        .map(|entry| {
            Ok(CompiledEntryPoint {
                name: entry.name.clone(),
                stage: stage(entry.stage).ok_or_else(|| ShaderError::Write {
                    file: expanded.display(0),
                    message: format!("entry point `{}`: this stage is not used here", entry.name),
                })?,
                workgroup_size: entry.workgroup_size,
            })
        })
        .collect::<Result<Vec<_>, ShaderError>>()?;
    if entry_points.is_empty() {
        return Err(ShaderError::Write {
            file: expanded.display(0),
            message: "no entry point; a file without one belongs in lib/".to_owned(),
        });
    }
    Ok(Compiled { spirv, entry_points, files: expanded.files })
}

/// The files that `entry_file` is made of: itself first, then what it includes.
///
/// # Errors
///
/// A file that cannot be read, or an include that cannot be followed.
#[allow(dead_code, reason = "the build script compiles this file too and watches what it compiled")]
pub fn files(root: &Path, entry_file: &str) -> Result<Vec<PathBuf>, ShaderError> {
    Ok(expand(root, entry_file)?.files)
}

/// The structs that `entry_file` and its includes declare, used or not. Structs that end in a run-time sized
/// array count with one element, as naga has it.
///
/// # Errors
///
/// As [`compile`], short of validation.
#[allow(dead_code, reason = "the build script compiles this file too and does not look at layouts")]
pub fn structs(root: &Path, entry_file: &str) -> Result<Vec<WgslStruct>, ShaderError> {
    let module = parse(&expand(root, entry_file)?)?;
    let size_of = |ty: naga::Handle<naga::Type>| module.types[ty].inner.size(module.to_ctx());
    let mut found = Vec::new();
    for (_, ty) in module.types.iter() {
        if let (Some(name), naga::TypeInner::Struct { members, span }) = (&ty.name, &ty.inner) {
            let fields = members.iter().map(|member| WgslField {
                name: member.name.clone().unwrap_or_default(),
                offset: member.offset,
                size: size_of(member.ty),
            });
            found.push(WgslStruct { name: name.clone(), size: *span, fields: fields.collect() });
        }
    }
    Ok(found)
}

/// Every WGSL file under `root` that is a pass, that is not in `lib/`, relative to `root` with `/` between
/// folders, sorted.
///
/// # Errors
///
/// A folder that cannot be read.
pub fn passes(root: &Path) -> Result<Vec<String>, ShaderError> {
    fn walk(root: &Path, prefix: &str, out: &mut Vec<String>) -> Result<(), ShaderError> {
        let folder = root.join(prefix);
        let read = |source| ShaderError::Read { path: folder.clone(), source };
        for entry in std::fs::read_dir(&folder).map_err(read)? {
            let entry = entry.map_err(read)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
            if entry.file_type().map_err(read)?.is_dir() {
                if path != "lib" {
                    walk(root, &path, out)?;
                }
            } else if path.ends_with(".wgsl") {
                out.push(path);
            }
        }
        Ok(())
    }
    let mut out = Vec::new();
    walk(root, "", &mut out)?;
    out.sort();
    Ok(out)
}

fn parse(expanded: &Expanded) -> Result<naga::Module, ShaderError> {
    naga::front::wgsl::parse_str(&expanded.text).map_err(|error| {
        let labels: Vec<_> = error.labels().map(|(span, text)| (span.to_range(), text.to_owned())).collect();
        let mut message = error.message().to_owned();
        for note in error.notes() {
            message.push_str("; ");
            message.push_str(note);
        }
        ShaderError::Parse(expanded.diagnostic(message, &labels))
    })
}

fn validate(module: &naga::Module, expanded: &Expanded) -> Result<ModuleInfo, ShaderError> {
    Validator::new(ValidationFlags::all(), capabilities()).validate(module).map_err(|error| {
        let labels: Vec<_> = error.spans().map(|(span, text)| (span.to_range(), text.clone())).collect();
        let mut message = error.as_inner().to_string();
        let mut cause = std::error::Error::source(error.as_inner());
        while let Some(inner) = cause {
            message.push_str(": ");
            message.push_str(&inner.to_string());
            cause = inner.source();
        }
        ShaderError::Validate(expanded.diagnostic(message, &labels))
    })
}

/// naga 30 accepts `f(textures[slot])` and writes SPIR-V that is invalid, which few drivers notice.
fn refuse_handle_arguments(module: &naga::Module, expanded: &Expanded) -> Result<(), ShaderError> {
    for (handle, function) in module.functions.iter() {
        for argument in &function.arguments {
            let inner = &module.types[argument.ty].inner;
            if matches!(inner, naga::TypeInner::Image { .. } | naga::TypeInner::Sampler { .. }) {
                let message = format!(
                    "argument `{}` of `{}` is a texture or sampler: pass its slot instead",
                    argument.name.as_deref().unwrap_or_default(),
                    function.name.as_deref().unwrap_or_default()
                );
                let place = (module.functions.get_span(handle).to_range(), "this function".to_owned());
                return Err(ShaderError::Validate(expanded.diagnostic(message, &[place])));
            }
        }
    }
    Ok(())
}

/// What a Vulkan 1.3 device with descriptor indexing can do; shaders that ask for more are refused at build
/// time rather than on some machine. Not in it: 64-bit and 16-bit numbers, primitive and draw index, clip
/// distances, mesh shaders, ray tracing.
fn capabilities() -> Capabilities {
    Capabilities::IMMEDIATES
        | Capabilities::TEXTURE_AND_SAMPLER_BINDING_ARRAY
        | Capabilities::TEXTURE_AND_SAMPLER_BINDING_ARRAY_NON_UNIFORM_INDEXING
        | Capabilities::STORAGE_BUFFER_BINDING_ARRAY
        | Capabilities::STORAGE_BUFFER_BINDING_ARRAY_NON_UNIFORM_INDEXING
        | Capabilities::STORAGE_TEXTURE_BINDING_ARRAY
        | Capabilities::STORAGE_TEXTURE_BINDING_ARRAY_NON_UNIFORM_INDEXING
        | Capabilities::STORAGE_TEXTURE_16BIT_NORM_FORMATS
        | Capabilities::TEXTURE_ATOMIC
        | Capabilities::CUBE_ARRAY_TEXTURES
        | Capabilities::EARLY_DEPTH_TEST
        | Capabilities::MULTIVIEW
        | Capabilities::SUBGROUP
        | Capabilities::SUBGROUP_BARRIER
        | Capabilities::SHADER_FLOAT16_IN_FLOAT32
}

fn options() -> spv::Options<'static> {
    spv::Options {
        lang_version: (1, 4),
        flags: spv::WriterFlags::DEBUG | spv::WriterFlags::LABEL_VARYINGS,
        bounds_check_policies: BoundsCheckPolicies {
            index: BoundsCheckPolicy::Restrict,
            buffer: BoundsCheckPolicy::Unchecked,
            image_load: BoundsCheckPolicy::Unchecked,
            binding_array: BoundsCheckPolicy::Unchecked,
        },
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::Native,
        force_loop_bounding: false,
        use_storage_input_output_16: false,
        emit_int_div_checks: false,
        ..spv::Options::default()
    }
}

fn stage(stage: naga::ShaderStage) -> Option<Stage> {
    match stage {
        naga::ShaderStage::Vertex => Some(Stage::Vertex),
        naga::ShaderStage::Fragment => Some(Stage::Fragment),
        naga::ShaderStage::Compute => Some(Stage::Compute),
        _ => None,
    }
}
