//! Compiles every pass in `shaders/` to SPIR-V and writes `shaders.rs`, which `vk::shader` includes.

#[path = "shader_build/mod.rs"]
mod shader_build;

use shader_build::{Compiled, Stage};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    if let Err(messages) = run() {
        for message in messages {
            eprintln!("{message}");
        }
        std::process::exit(1);
    }
}

/// Goes on after a faulty shader, so that one build shows the faults of all.
fn run() -> Result<(), Vec<String>> {
    let folder = |name: &str| {
        std::env::var_os(name).map(PathBuf::from).ok_or_else(|| vec![format!("cargo did not set {name}")])
    };
    let manifest = folder("CARGO_MANIFEST_DIR")?;
    let root = manifest.parent().unwrap_or(&manifest).join("shaders");
    let out = folder("OUT_DIR")?;
    println!("cargo:rerun-if-changed={}", root.display());
    for file in ["build.rs", "shader_build"] {
        println!("cargo:rerun-if-changed={}", manifest.join(file).display());
    }

    let mut code = String::new();
    let mut statics = Vec::new();
    let mut errors = Vec::new();
    for pass in shader_build::passes(&root).map_err(|error| vec![error.to_string()])? {
        match shader_build::compile(&root, &pass) {
            Ok(compiled) => {
                for file in &compiled.files {
                    println!("cargo:rerun-if-changed={}", file.display());
                }
                let name = pass.trim_end_matches(".wgsl");
                let ident = static_name(name);
                if statics.contains(&ident) {
                    errors.push(format!("shaders/{pass}:1:1: error: another shader is called {ident} too"));
                }
                write_static(&mut code, &ident, name, &compiled);
                write_spirv(&out, name, &compiled.spirv).map_err(|error| vec![error.to_string()])?;
                statics.push(ident);
            }
            Err(error) => errors.push(error.to_string()),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let list: Vec<String> = statics.iter().map(|ident| format!("&{ident}")).collect();
    code.push_str("/// Every shader of the engine, sorted by name.\n");
    let _ = writeln!(code, "pub static ALL: &[&ShaderSource] = &[{}];", list.join(", "));
    std::fs::write(out.join("shaders.rs"), code).map_err(|error| vec![error.to_string()])
}

/// `vt/feedback` becomes `VT_FEEDBACK`.
fn static_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect()
}

/// The same words as a file, for tools that look at SPIR-V.
fn write_spirv(out: &Path, name: &str, spirv: &[u32]) -> std::io::Result<()> {
    let path = out.join("spirv").join(format!("{name}.spv"));
    std::fs::create_dir_all(path.parent().unwrap_or(out))?;
    std::fs::write(path, spirv.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>())
}

fn write_static(code: &mut String, ident: &str, name: &str, compiled: &Compiled) {
    // Writing to a String cannot fail.
    let _ = writeln!(code, "/// `shaders/{name}.wgsl`.\npub static {ident}: ShaderSource = ShaderSource {{");
    let _ = writeln!(code, "    name: {name:?},\n    spirv: &[");
    for words in compiled.spirv.chunks(12) {
        let line: Vec<String> = words.iter().map(|word| format!("{word:#x}")).collect();
        let _ = writeln!(code, "        {},", line.join(", "));
    }
    let _ = writeln!(code, "    ],\n    entry_points: &[");
    for entry in &compiled.entry_points {
        let stage = match entry.stage {
            Stage::Vertex => "VERTEX",
            Stage::Fragment => "FRAGMENT",
            Stage::Compute => "COMPUTE",
        };
        let _ = writeln!(
            code,
            "        EntryPoint {{ name: c{:?}, stage: vk::ShaderStageFlags::{stage}, workgroup_size: {:?} }},",
            entry.name, entry.workgroup_size
        );
    }
    let _ = writeln!(code, "    ],\n}};\n");
}
