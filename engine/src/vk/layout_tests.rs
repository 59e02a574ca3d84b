//! The comparison of Rust's layouts with naga's, and the proof that it can fail.

use super::{GpuStruct, StructLayout};
use crate::vk::shader::build::{WgslField, WgslStruct, passes, structs};
use std::path::Path;

/// A shader's structs, with the shader's file name.
type ShaderStructs = (String, Vec<WgslStruct>);

/// Compares each layout with the struct of that name in every shader that declares one.
///
/// # Errors
///
/// All differences, one a line; also a struct that no shader declares.
pub(crate) fn check_layouts(layouts: &[StructLayout]) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shaders");
    let root = root.canonicalize().map_err(|error| error.to_string())?;
    let mut shaders = Vec::new();
    for pass in passes(&root).map_err(|error| error.to_string())? {
        let found = structs(&root, &pass).map_err(|error| error.to_string())?;
        shaders.push((pass, found));
    }
    compare(layouts, &shaders)
}

fn compare(layouts: &[StructLayout], shaders: &[ShaderStructs]) -> Result<(), String> {
    let mut faults = Vec::new();
    for layout in layouts {
        let mut declared = false;
        for (shader, structs) in shaders {
            for wgsl in structs.iter().filter(|wgsl| wgsl.name == layout.name) {
                declared = true;
                compare_one(layout, shader, wgsl, &mut faults);
            }
        }
        if !declared {
            faults.push(format!("{}: no shader declares a struct of this name", layout.name));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

fn compare_one(layout: &StructLayout, shader: &str, wgsl: &WgslStruct, faults: &mut Vec<String>) {
    let name = layout.name;
    if layout.size != wgsl.size as usize {
        faults.push(format!("{name}: {} bytes in Rust, {} in {shader}", layout.size, wgsl.size));
    }
    let theirs: Vec<&str> = wgsl.fields.iter().map(|field| field.name.as_str()).collect();
    let ours: Vec<&str> = layout.fields.iter().map(|field| field.name).collect();
    if ours != theirs {
        faults.push(format!("{name}: members {ours:?} in Rust, {theirs:?} in {shader}"));
        return;
    }
    for (rust, wgsl) in layout.fields.iter().zip(&wgsl.fields) {
        let WgslField { offset, size, .. } = wgsl;
        if (rust.offset, rust.size) != (*offset as usize, *size as usize) {
            faults.push(format!(
                "{name}.{}: {} bytes at {} in Rust, {size} bytes at {offset} in {shader}",
                rust.name, rust.size, rust.offset
            ));
        }
    }
}

gpu_struct! {
    /// As in `shaders/fill.wgsl`.
    struct Fill {
        buffer: u32,
        first: u32,
        count: u32,
        value: u32,
        step: u32,
    }
}

/// Layouts of the same names that are wrong on purpose.
mod wrong {
    gpu_struct! {
        /// A member too many.
        pub struct Fill {
            pub buffer: u32,
            pub first: u32,
            pub count: u32,
            pub value: u32,
            pub step: u32,
            pub more: u32,
        }

        /// Rust packs a three-component vector where WGSL aligns it.
        pub struct Light {
            pub intensity: f32,
            pub direction: [f32; 3],
        }
    }
}

fn wgsl_of(source: &str) -> Vec<ShaderStructs> {
    let folder = tempfile::tempdir().expect("a folder for the test");
    std::fs::write(folder.path().join("a.wgsl"), source).expect("a file for the test");
    vec![("a.wgsl".to_owned(), structs(folder.path(), "a.wgsl").expect("valid WGSL"))]
}

#[test]
fn shared_structs_of_the_floor_agree_with_wgsl() {
    check_layouts(&[Fill::LAYOUT]).unwrap();
}

#[test]
fn a_member_too_many_is_found() {
    let error = check_layouts(&[wrong::Fill::LAYOUT]).unwrap_err();
    assert!(error.contains("Fill: 24 bytes in Rust, 20 in fill.wgsl"), "{error}");
    assert!(error.contains("\"more\""), "{error}");
}

#[test]
fn a_vector_out_of_place_is_found() {
    let shaders = wgsl_of("struct Light { intensity: f32, direction: vec3<f32> }\n");
    let error = compare(&[wrong::Light::LAYOUT], &shaders).unwrap_err();
    assert!(error.contains("Light.direction: 12 bytes at 4 in Rust, 12 bytes at 16 in a.wgsl"), "{error}");
    assert!(error.contains("Light: 16 bytes in Rust, 32 in a.wgsl"), "{error}");
}

#[test]
fn a_struct_no_shader_knows_is_found() {
    let error = check_layouts(&[wrong::Light::LAYOUT]).unwrap_err();
    assert_eq!(error, "Light: no shader declares a struct of this name");
}

#[test]
fn nested_arrays_and_matrices_compare() {
    gpu_struct! {
        /// A bit of everything.
        struct View {
            matrix: [[f32; 4]; 4],
            planes: [[f32; 4]; 6],
            eye: [f32; 3],
            time: f32,
            size: [u32; 2],
            padding: [u32; 2],
        }
    }
    let shaders = wgsl_of(
        "struct View { matrix: mat4x4<f32>, planes: array<vec4<f32>, 6>, eye: vec3<f32>, time: f32, \
         size: vec2<u32>, padding: vec2<u32> }\n",
    );
    compare(&[View::LAYOUT], &shaders).unwrap();
    assert_eq!(bytemuck::bytes_of(&View::default()), [0; 192]);
}
