//! Includes, and the way back from a place in the expanded text to the line someone wrote.

use super::error::{Diagnostic, ShaderError};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

const INCLUDE: &str = "//!include";
const DIRECTIVES: [&str; 3] = ["enable ", "requires ", "diagnostic("];

/// Where a line of the expanded text came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Origin {
    file: usize,
    /// Counted from 1.
    line: usize,
}

/// A WGSL file with its includes pasted in.
#[derive(Debug, Clone)]
pub struct Expanded {
    /// What naga reads.
    pub text: String,
    /// The file itself first, then what it included, in the order met.
    pub files: Vec<PathBuf>,
    /// `files` as people know them, relative to the folder above the root: `shaders/lib/name.wgsl`.
    shown: Vec<String>,
    /// One for every line of `text`.
    origins: Vec<Origin>,
}

/// Reads `entry_file` under `root` and everything it includes.
///
/// # Errors
///
/// [`ShaderError::Read`] for `entry_file` itself, [`ShaderError::Include`] for what it includes.
pub fn expand(root: &Path, entry_file: &str) -> Result<Expanded, ShaderError> {
    let root_name = root.file_name().map(|name| name.to_string_lossy().into_owned());
    let mut expander = Expander {
        root,
        prefix: root_name.map(|name| name + "/").unwrap_or_default(),
        files: Vec::new(),
        shown: Vec::new(),
        open: Vec::new(),
        head: Vec::new(),
        body: Vec::new(),
    };
    let path = root.join(entry_file);
    let text =
        std::fs::read_to_string(&path).map_err(|source| ShaderError::Read { path: path.clone(), source })?;
    expander.file(entry_file, path, &text)?;
    let Expander { files, shown, head, body, .. } = expander;
    let mut text = String::new();
    let mut origins = Vec::with_capacity(head.len() + body.len());
    for (line, origin) in head.into_iter().chain(body) {
        text.push_str(&line);
        text.push('\n');
        origins.push(origin);
    }
    Ok(Expanded { text, files, shown, origins })
}

impl Expanded {
    /// How file number `index` is shown to people.
    pub fn display(&self, index: usize) -> String {
        self.shown.get(index).cloned().unwrap_or_default()
    }

    /// The file, line and column (both from 1) of a byte offset into [`text`](Self::text).
    fn locate(&self, offset: usize) -> (usize, usize, usize, &str) {
        let mut end = offset.min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &self.text[..end];
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.matches('\n').count();
        let column = self.text[start..end].chars().count() + 1;
        // An error at the very end of the text belongs to its last line.
        let origin = self.origins.get(line).or(self.origins.last());
        let (file, number) = origin.map_or((0, 1), |origin| (origin.file, origin.line));
        (file, number, column, self.text[start..].lines().next().unwrap_or_default())
    }

    /// Turns a message and naga's labelled ranges of the expanded text into one that names real places. The
    /// first label is the place itself.
    pub fn diagnostic(&self, message: String, labels: &[(Option<Range<usize>>, String)]) -> Diagnostic {
        let mut places = labels.iter().filter_map(|(range, text)| range.clone().map(|range| (range, text)));
        let Some((range, label)) = places.next() else {
            return Diagnostic {
                file: self.display(0),
                line: 1,
                column: 1,
                message,
                excerpt: String::new(),
                notes: Vec::new(),
            };
        };
        let (file, line, column, source) = self.locate(range.start);
        let room = source.chars().count().saturating_sub(column - 1);
        let marked = self.text.get(range.clone()).map_or(1, |text| text.chars().count());
        let marker = "^".repeat(marked.min(room).max(1));
        let pad: String =
            source.chars().take(column - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let notes = places.map(|(range, text)| {
            let (file, line, column, _) = self.locate(range.start);
            format!("{}:{line}:{column}: note: {text}", self.display(file))
        });
        Diagnostic {
            file: self.display(file),
            line,
            column,
            message,
            excerpt: format!("    {source}\n    {pad}{marker} {label}").trim_end().to_owned(),
            notes: notes.collect(),
        }
    }
}

struct Expander<'a> {
    root: &'a Path,
    prefix: String,
    files: Vec<PathBuf>,
    shown: Vec<String>,
    /// The files being read, outermost first, as indices.
    open: Vec<usize>,
    head: Vec<(String, Origin)>,
    body: Vec<(String, Origin)>,
}

impl Expander<'_> {
    fn file(&mut self, name: &str, path: PathBuf, text: &str) -> Result<(), ShaderError> {
        let file = self.files.len();
        self.files.push(path);
        self.shown.push(format!("{}{name}", self.prefix));
        self.open.push(file);
        for (index, line) in text.lines().enumerate() {
            let origin = Origin { file, line: index + 1 };
            let trimmed = line.trim();
            if let Some(rest) = trimmed.strip_prefix(INCLUDE) {
                self.include(rest, line, origin)?;
            } else if DIRECTIVES.iter().any(|directive| trimmed.starts_with(directive)) {
                if !self.head.iter().any(|(seen, _)| seen.trim() == trimmed) {
                    self.head.push((line.to_owned(), origin));
                }
            } else {
                self.body.push((line.to_owned(), origin));
            }
        }
        self.open.pop();
        Ok(())
    }

    fn include(&mut self, rest: &str, line: &str, at: Origin) -> Result<(), ShaderError> {
        let name = rest.trim();
        let refuse = |message: String| {
            Err(ShaderError::Include(Diagnostic {
                file: self.shown[at.file].clone(),
                line: at.line,
                column: line.len() - line.trim_start().len() + 1,
                message,
                excerpt: format!("    {line}"),
                notes: Vec::new(),
            }))
        };
        let plain = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        if !rest.starts_with(char::is_whitespace) || name.is_empty() || !plain {
            return refuse(format!(
                "expected `{INCLUDE} lib/name.wgsl`, a path below {} without `..`",
                self.prefix
            ));
        }
        let path = self.root.join(name);
        if let Some(seen) = self.files.iter().position(|file| *file == path) {
            if let Some(from) = self.open.iter().position(|open| *open == seen) {
                let circle: Vec<&str> =
                    self.open[from..].iter().chain([&seen]).map(|file| self.shown[*file].as_str()).collect();
                return refuse(format!("include cycle: {}", circle.join(" -> ")));
            }
            return Ok(());
        }
        match std::fs::read_to_string(&path) {
            Ok(text) => self.file(name, path, &text),
            Err(error) => refuse(format!("cannot read {}{name}: {error}", self.prefix)),
        }
    }
}
