//! The engine's source keeps its own rules: layers look only down, `unsafe` lives in `vk/`, files stay short.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Rooms of `engine/src` from the bottom up. Rooms of one row are peers: they do not see each other.
const LAYERS: &[&[&str]] = &[
    &["vk"],
    &["memory"],
    &["sparse"],
    &["graph"],
    &["scene"],
    &["streaming", "vt", "shadow", "volume"],
    &["render"],
];
/// Reads every room; no room reads it.
const INSPECT: &str = "inspect";
const MOST_LINES: usize = 600;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every `.rs` file below a folder, by its path from there.
fn sources(folder: &Path) -> BTreeMap<PathBuf, String> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![folder.to_path_buf()]);
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).unwrap_or_else(|e| panic!("{}: {e}", next.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let name = path.strip_prefix(folder).unwrap().to_path_buf();
                found.insert(name, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

/// Code without comments, strings and character literals, cut into words, `::` and single signs.
fn tokens(source: &str) -> Vec<String> {
    let text: Vec<char> = source.chars().collect();
    let (mut out, mut i) = (Vec::new(), 0);
    let starts = |i: usize, what: &str| what.chars().enumerate().all(|(k, c)| text.get(i + k) == Some(&c));
    while i < text.len() {
        let c = text[i];
        if starts(i, "//") {
            while i < text.len() && text[i] != '\n' {
                i += 1;
            }
        } else if starts(i, "/*") {
            let mut depth = 0;
            while i < text.len() {
                if starts(i, "/*") {
                    (depth, i) = (depth + 1, i + 2);
                } else if starts(i, "*/") {
                    (depth, i) = (depth - 1, i + 2);
                } else {
                    i += 1;
                }
                if depth == 0 {
                    break;
                }
            }
        } else if c == 'r' && (starts(i + 1, "\"") || starts(i + 1, "#\"") || starts(i + 1, "##\"")) {
            let hashes = text[i + 1..].iter().take_while(|c| **c == '#').count();
            let end = format!("\"{}", "#".repeat(hashes));
            i += 2 + hashes;
            while i < text.len() && !starts(i, &end) {
                i += 1;
            }
            i += end.len();
        } else if c == '"' {
            i += 1;
            while i < text.len() && text[i] != '"' {
                i += if text[i] == '\\' { 2 } else { 1 };
            }
            i += 1;
        } else if c == '\'' {
            // A lifetime has no closing quote one character on.
            let escaped = text.get(i + 1) == Some(&'\\');
            if escaped {
                i += 3;
                while i < text.len() && text[i] != '\'' {
                    i += 1;
                }
                i += 1;
            } else {
                i += if text.get(i + 2) == Some(&'\'') { 3 } else { 1 };
            }
        } else if c.is_alphanumeric() || c == '_' {
            let start = i;
            while i < text.len() && (text[i].is_alphanumeric() || text[i] == '_') {
                i += 1;
            }
            out.push(text[start..i].iter().collect());
        } else if starts(i, "::") {
            out.push("::".into());
            i += 2;
        } else {
            if !c.is_whitespace() {
                out.push(c.to_string());
            }
            i += 1;
        }
    }
    out
}

/// The module path of a file: `sparse/watermark/mod.rs` is `sparse::watermark`, `lib.rs` the root.
fn module_of(file: &Path) -> Vec<String> {
    let mut parts: Vec<String> =
        file.with_extension("").iter().map(|p| p.to_string_lossy().into_owned()).collect();
    if parts.last().is_some_and(|last| last == "mod" || last == "lib") {
        parts.pop();
    }
    parts
}

/// First names below the crate root that a file's `crate::`, `super::` and `self::` paths lead to.
fn rooms_used(file: &Path, source: &str) -> Vec<String> {
    let words = tokens(source);
    let mut module = module_of(file);
    // The modules that every open brace belongs to: `mod tests {` goes one down.
    let mut braces: Vec<usize> = Vec::new();
    let (mut used, mut i) = (Vec::new(), 0);
    while i < words.len() {
        let is_path_start = i == 0 || words[i - 1] != "::";
        match words[i].as_str() {
            "mod" if words.get(i + 2).is_some_and(|w| w == "{") => {
                braces.push(module.len());
                module.push(words[i + 1].clone());
                i += 2;
            }
            "{" => braces.push(module.len()),
            "}" => {
                if let Some(length) = braces.pop() {
                    module.truncate(length);
                }
            }
            "crate" | "super" | "self" if is_path_start && words.get(i + 1).is_some_and(|w| w == "::") => {
                follow(&words, &mut i, module.clone(), &mut used);
                continue;
            }
            _ => {}
        }
        i += 1;
    }
    used.sort();
    used.dedup();
    used
}

/// Follows one path, and every branch of a `use` tree, from the module it is written in.
fn follow(words: &[String], i: &mut usize, mut at: Vec<String>, used: &mut Vec<String>) {
    while *i < words.len() {
        match words[*i].as_str() {
            "crate" => at.clear(),
            "super" => drop(at.pop()),
            "self" => {}
            "{" => {
                *i += 1;
                while *i < words.len() && words[*i] != "}" {
                    if words[*i] == "," {
                        *i += 1;
                    } else {
                        follow(words, i, at.clone(), used);
                    }
                }
                *i += 1;
                return;
            }
            name => at.push(name.to_owned()),
        }
        *i += 1;
        if words.get(*i).is_some_and(|w| w == "::") {
            *i += 1;
            continue;
        }
        if words.get(*i).is_some_and(|w| w == "as") {
            *i += 2;
        }
        break;
    }
    used.extend(at.first().cloned());
}

fn layer(room: &str) -> Option<usize> {
    LAYERS.iter().position(|row| row.contains(&room))
}

/// Everything that is wrong with one file of `engine/src`, a line each.
fn violations(file: &Path, source: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let shown = file.display();
    let lines = source.lines().count();
    if lines > MOST_LINES {
        wrong.push(format!("{shown}: {lines} lines, more than {MOST_LINES}: two ideas in one file"));
    }
    let module = module_of(file);
    let is_file_of_root = module.len() < 2 && file.file_name() != Some("mod.rs".as_ref());
    let room = if is_file_of_root { None } else { module.first().map(String::as_str) };
    if room != Some("vk") && tokens(source).iter().any(|word| word == "unsafe") {
        wrong.push(format!("{shown}: `unsafe` outside vk/"));
    }
    // Files beside the rooms are the facade: it stands above all of them.
    let Some(room) = room else { return wrong };
    if room != INSPECT && layer(room).is_none() {
        wrong.push(format!("{shown}: the room `{room}` has no place in the order of layers"));
        return wrong;
    }
    for used in rooms_used(file, source) {
        let message = match (layer(room), layer(&used)) {
            _ if used == room => continue,
            (_, _) if used == INSPECT => format!("`{room}` reads `{INSPECT}`, which nobody reads"),
            (Some(here), Some(there)) if there > here => format!("`{room}` looks up to `{used}`"),
            (Some(here), Some(there)) if there == here => format!("`{room}` looks across to `{used}`"),
            _ => continue,
        };
        wrong.push(format!("{shown}: {message}"));
    }
    wrong
}

#[test]
fn the_engine_keeps_its_layers() {
    let files = sources(&repository().join("engine/src"));
    assert!(files.len() > 20, "the engine's source was not found");
    let wrong: Vec<String> = files.iter().flat_map(|(file, source)| violations(file, source)).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn files_of_every_crate_stay_short() {
    let crates = ["engine", "demos", "tests", "xtask", "bench"].map(|name| repository().join(name));
    let long = |(file, source): &(PathBuf, String)| {
        let lines = source.lines().count();
        (lines > MOST_LINES).then(|| format!("{}: {lines} lines", file.display()))
    };
    let wrong: Vec<String> = crates.iter().flat_map(|c| sources(c)).filter_map(|f| long(&f)).collect();
    assert!(wrong.is_empty(), "more than {MOST_LINES} lines:\n{}", wrong.join("\n"));
}

#[test]
fn the_layering_test_sees_the_engine_look_down() {
    // If parsing broke, no path would be found and no violation either.
    let files = sources(&repository().join("engine/src"));
    let file = Path::new("sparse/memory.rs");
    assert_eq!(rooms_used(file, &files[file]), ["sparse", "vk"]);
}

#[test]
fn violations_are_found() {
    let found = |file: &str, source: &str| violations(Path::new(file), source);
    let up = ["sparse/x.rs: `sparse` looks up to `scene`"];
    assert_eq!(found("sparse/x.rs", "use crate::scene::Mesh;"), up);
    assert_eq!(found("sparse/x.rs", "use crate::{vk::{self, Device}, scene::terrain as t, memory};"), up);
    assert_eq!(found("sparse/x.rs", "fn f() { let x = crate::scene::f(); }"), up);
    assert_eq!(found("sparse/x.rs", "use super::super::scene;"), up);
    assert_eq!(
        found("sparse/watermark/mod.rs", "use super::super::scene::{self};"),
        up.map(|s| { s.replace("x.rs", "watermark/mod.rs") })
    );
    assert_eq!(found("sparse/x.rs", "mod tests { use super::super::super::scene::X; }"), up);
    assert_eq!(found("vt/mod.rs", "use crate::shadow::Map;"), ["vt/mod.rs: `vt` looks across to `shadow`"]);
    assert_eq!(
        found("render/mod.rs", "use crate::inspect::Report;"),
        ["render/mod.rs: `render` reads `inspect`, which nobody reads"]
    );
    assert_eq!(found("scene/x.rs", "unsafe { f() }"), ["scene/x.rs: `unsafe` outside vk/"]);
    assert_eq!(
        found("helpers/mod.rs", ""),
        ["helpers/mod.rs: the room `helpers` has no place in the order of layers"]
    );
    assert_eq!(found("vk/x.rs", &"\n".repeat(601)).len(), 1);
}

#[test]
fn what_is_allowed_is_not_reported() {
    let fine = |file: &str, source: &str| assert_eq!(violations(Path::new(file), source), [""; 0]);
    fine("scene/x.rs", "use crate::{memory, sparse::{GrowableBuffer}, vk};");
    fine("scene/x.rs", "use super::ranges; use self::inner::X; mod tests { use super::super::dirty; }");
    fine("inspect/mod.rs", "use crate::{render, vt, vk};");
    fine("lib.rs", "pub mod inspect; pub use crate::render::Frame;");
    fine("engine.rs", "use crate::render::Frame; use crate::scene;");
    fine("vk/x.rs", "// SAFETY: \nunsafe { crate::vk::f() }");
    fine("vk/x.rs", "//! [`crate::render`] and unsafe\n/* crate::scene /* nested */ crate::scene */");
    fine(
        "scene/x.rs",
        r##"const T: &str = "crate::render, unsafe \" crate::render"; const R: &str = r#"crate::render"#;"##,
    );
    fine("scene/x.rs", "fn f<'a>(x: &'a str) -> char { let _ = '\\''; '\"' } // crate::render");
    fine("vk/x.rs", &"\n".repeat(600));
}
