//! Includes, error places, and what of WGSL works.

use super::build::{ShaderError, compile, passes};
use super::*;
use std::path::Path;

/// A folder called `shaders` with these files.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder for the test");
    for (name, text) in files {
        let path = folder.path().join("shaders").join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder for the test");
        std::fs::write(path, text).expect("a file for the test");
    }
    folder
}

fn error_of(files: &[(&str, &str)]) -> ShaderError {
    compile(&folder(files).path().join("shaders"), "a.wgsl").expect_err("it is wrong")
}

const MAIN: &str = "@compute @workgroup_size(8, 4) fn main() {}\n";

#[test]
fn built_shaders_are_what_the_compiler_gives() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shaders");
    let names: Vec<String> = ALL.iter().map(|shader| format!("{}.wgsl", shader.name)).collect();
    assert_eq!(names, passes(&root).expect("readable"));
    for shader in ALL {
        let compiled = compile(&root, &format!("{}.wgsl", shader.name)).expect("it was built");
        assert_eq!(compiled.spirv, shader.spirv, "{}", shader.name);
        assert_eq!(compiled.entry_points.len(), shader.entry_points.len());
    }
}

#[test]
fn entry_points_carry_their_workgroup_size() {
    let entry = FILL.entry_point("fill").expect("fill.wgsl has it");
    assert_eq!((entry.stage, entry.workgroup_size), (vk::ShaderStageFlags::COMPUTE, [256, 1, 1]));
    assert_eq!(entry.groups([257, 3, 1]), [2, 3, 1]);
    assert_eq!(entry.groups([0, 1, 1]), [0, 1, 1]);
    assert!(FILL.entry_point("nothing").is_none());
}

#[test]
fn a_module_is_cut_down_to_one_entry_point() {
    for shader in ALL {
        for entry in shader.entry_points {
            let cut = with_one_entry_point(shader.spirv, entry.name);
            assert_eq!(cut == shader.spirv, shader.entry_points.len() == 1, "{}", shader.name);
            for other in shader.entry_points {
                let other_is_kept = with_one_entry_point(&cut, other.name) == cut;
                assert_eq!(other_is_kept, other == entry, "{}: {:?}", shader.name, other.name);
            }
        }
    }
}

#[test]
fn a_file_is_included_once() {
    let folder = folder(&[
        ("a.wgsl", &format!("//!include lib/b.wgsl\n//!include lib/c.wgsl\n{MAIN}")),
        ("lib/b.wgsl", "//!include lib/c.wgsl\nfn b() -> u32 { return c(); }\n"),
        ("lib/c.wgsl", "fn c() -> u32 { return 1u; }\n"),
    ]);
    let compiled = compile(&folder.path().join("shaders"), "a.wgsl").expect("valid");
    let names: Vec<_> = compiled.files.iter().filter_map(|file| file.file_name()).collect();
    assert_eq!(names, ["a.wgsl", "b.wgsl", "c.wgsl"]);
    assert_eq!(compiled.entry_points[0].workgroup_size, [8, 4, 1]);
    assert_eq!(compiled.spirv[1], 0x0001_0400, "SPIR-V 1.4");
}

#[test]
fn a_syntax_error_names_the_included_file() {
    let error = error_of(&[
        ("a.wgsl", &format!("//!include lib/b.wgsl\n{MAIN}")),
        ("lib/b.wgsl", "enable wgpu_binding_array;\n\nfn b() -> u32 {\n\treturn nowhere;\n}\n"),
    ]);
    let text = error.to_string();
    assert!(matches!(error, ShaderError::Parse(_)), "{text}");
    assert!(text.starts_with("shaders/lib/b.wgsl:4:9: error: no definition in scope"), "{text}");
    assert!(text.contains("    \treturn nowhere;\n    \t       ^^^^^^^"), "{text}");
}

#[test]
fn an_error_after_an_include_names_its_own_line() {
    let error = error_of(&[
        ("a.wgsl", &format!("// one\n//!include lib/b.wgsl\n// three\n{MAIN}fn f() {{ return 1u; }}\n")),
        ("lib/b.wgsl", "// 1\n// 2\n// 3\nfn b() {}\n"),
    ]);
    let text = error.to_string();
    assert!(matches!(error, ShaderError::Validate(_)), "{text}");
    assert!(text.starts_with("shaders/a.wgsl:5:"), "{text}");
}

#[test]
fn an_ability_beyond_vulkan_1_3_is_refused_where_it_is_used() {
    let error = error_of(&[(
        "a.wgsl",
        "@fragment\nfn main(@builtin(primitive_index) i: u32) -> @location(0) u32 { return i; }\n",
    )]);
    assert!(error.to_string().starts_with("shaders/a.wgsl:"), "{error}");
}

#[test]
fn circles_and_bad_paths_are_refused() {
    let circle = error_of(&[
        ("a.wgsl", &format!("//!include lib/b.wgsl\n{MAIN}")),
        ("lib/b.wgsl", "//!include lib/c.wgsl\n"),
        ("lib/c.wgsl", "\n  //!include lib/b.wgsl\n"),
    ]);
    assert!(
        circle.to_string().starts_with(
            "shaders/lib/c.wgsl:2:3: error: include cycle: \
             shaders/lib/b.wgsl -> shaders/lib/c.wgsl -> shaders/lib/b.wgsl"
        ),
        "{circle}"
    );
    for bad in ["//!include", "//!include ../b.wgsl", "//!include /b.wgsl", "//!includelib/b.wgsl"] {
        let error = error_of(&[("a.wgsl", &format!("{bad}\n{MAIN}"))]);
        assert!(error.to_string().starts_with("shaders/a.wgsl:1:1: error: expected"), "{bad}: {error}");
    }
    let missing = error_of(&[("a.wgsl", &format!("{MAIN}//!include lib/none.wgsl\n"))]);
    assert!(missing.to_string().starts_with("shaders/a.wgsl:2:1: error: cannot read shaders/lib/none.wgsl"));
}

#[test]
fn a_missing_file_and_a_file_without_entry_point_are_refused() {
    let missing = error_of(&[]);
    assert!(matches!(missing, ShaderError::Read { .. }), "{missing}");
    let empty = error_of(&[("a.wgsl", "fn f() {}\n")]);
    assert!(empty.to_string().starts_with("shaders/a.wgsl:1:1: error: no entry point"), "{empty}");
}

/// Operands of the instructions with this opcode.
fn instructions(spirv: &[u32], opcode: u32) -> Vec<Vec<u32>> {
    let mut found = Vec::new();
    let mut at = 5;
    while at < spirv.len() {
        let length = (spirv[at] >> 16) as usize;
        if spirv[at] & 0xffff == opcode {
            found.push(spirv[at + 1..at + length].to_vec());
        }
        at += length;
    }
    found
}

#[test]
fn unsized_binding_arrays_declare_their_capability_once() {
    const RUNTIME_DESCRIPTOR_ARRAY: u32 = 5302;
    let capabilities = instructions(FILL.spirv, 17).concat();
    assert_eq!(
        capabilities.iter().filter(|c| **c == RUNTIME_DESCRIPTOR_ARRAY).count(),
        1,
        "{capabilities:?}"
    );
    assert_eq!(instructions(FILL.spirv, 10).len(), 1, "one OpExtension");
    let folder = folder(&[("a.wgsl", MAIN)]);
    let without = compile(&folder.path().join("shaders"), "a.wgsl").expect("valid");
    assert!(!instructions(&without.spirv, 17).concat().contains(&RUNTIME_DESCRIPTOR_ARRAY));
}

#[test]
fn a_view_that_is_only_read_is_marked_so() {
    const NON_WRITABLE: u32 = 24;
    let shaders = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shaders");
    let bindless = std::fs::read_to_string(shaders.join("lib/bindless.wgsl")).expect("readable");
    let folder = folder(&[
        ("lib/bindless.wgsl", &bindless),
        (
            "a.wgsl",
            "//!include lib/bindless.wgsl\n@vertex fn main(@builtin(vertex_index) i: u32) -> \
             @builtin(position) vec4<f32> { return vectors[i].data[i]; }\n",
        ),
    ]);
    let compiled = compile(&folder.path().join("shaders"), "a.wgsl").expect("valid");
    let decorations = instructions(&compiled.spirv, 71);
    assert_eq!(decorations.iter().filter(|d| d[1] == NON_WRITABLE).count(), 1, "{decorations:?}");
}

#[test]
fn idioms_that_shaders_are_written_in_compile() {
    let shaders = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shaders");
    let bindless = std::fs::read_to_string(shaders.join("lib/bindless.wgsl")).expect("readable");
    let folder = folder(&[("lib/bindless.wgsl", &bindless), ("a.wgsl", include_str!("shader_idioms.wgsl"))]);
    let compiled = compile(&folder.path().join("shaders"), "a.wgsl").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(compiled.entry_points.len(), 6);
}

#[test]
fn textures_as_arguments_are_refused() {
    let error = error_of(&[(
        "a.wgsl",
        &format!("fn f(t: texture_2d<f32>) -> u32 {{ return textureNumLevels(t); }}\n{MAIN}"),
    )]);
    assert!(error.to_string().starts_with("shaders/a.wgsl:1:1: error: argument `t` of `f`"), "{error}");
}
