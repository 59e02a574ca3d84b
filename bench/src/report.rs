//! What a measurement looks like: an aligned table to read, and JSON to keep.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};
use vasa::vk::Capabilities;

use crate::error::Error;
use crate::stats::Spread;

/// What a bench hands back.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// For people.
    pub(crate) text: String,
    /// For scripts: an object.
    pub(crate) json: Value,
}

/// Where a figure comes from; no figure is worth anything without it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Facts {
    device: Value,
    commit: String,
    profile: &'static str,
}

impl Facts {
    /// Of a device, and of this build: the commit is `VASA_COMMIT` where that is set, otherwise what git said
    /// when this was built.
    pub(crate) fn of(capabilities: &Capabilities) -> Self {
        let given = std::env::var("VASA_COMMIT").ok().filter(|c| !c.trim().is_empty());
        Self {
            device: json!({
                "name": capabilities.name,
                "driver": capabilities.driver,
                "api": capabilities.api,
                "type": capabilities.device_type,
                "sparse_tier": capabilities.sparse.tier(),
            }),
            commit: given.unwrap_or_else(|| env!("VASA_BUILD_COMMIT").into()).trim().into(),
            profile: if cfg!(debug_assertions) { "dev" } else { "release" },
        }
    }
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |key: &str| self.device[key].as_str().unwrap_or_default();
        write!(
            f,
            "{}, {}, Vulkan {}; commit {}, {} build",
            text("name"),
            text("driver"),
            text("api"),
            self.commit,
            self.profile
        )
    }
}

/// The JSON document of all benches that ran.
pub(crate) fn document(facts: &Facts, quick: bool, outcomes: Vec<(&str, Value)>) -> Value {
    let benches: Vec<Value> = outcomes
        .into_iter()
        .map(|(name, mut outcome)| {
            outcome["name"] = json!(name);
            outcome
        })
        .collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "commit": facts.commit,
        "profile": facts.profile,
        "device": facts.device,
        "quick": quick,
        "benches": benches,
    })
}

/// A table: the first column is text, all others are figures, aligned to the right.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// With these headings.
    pub(crate) fn new(headings: &[&str]) -> Self {
        Self { rows: vec![headings.iter().map(|h| (*h).into()).collect()] }
    }

    /// Adds a row; cells it lacks stay empty.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cell = |row: &'_ Vec<String>, i: usize| row.get(i).cloned().unwrap_or_default();
        let widths: Vec<usize> = (0..columns)
            .map(|i| self.rows.iter().map(|r| cell(r, i).chars().count()).max().unwrap_or(0))
            .collect();
        for (n, row) in self.rows.iter().enumerate() {
            let mut line = String::new();
            for (i, &width) in widths.iter().enumerate() {
                let text = cell(row, i);
                if i == 0 {
                    line += &format!("{text:width$}");
                } else {
                    line += &format!("  {text:>width$}");
                }
            }
            writeln!(f, "{}", line.trim_end())?;
            if n == 0 {
                let rule: Vec<_> = widths.iter().map(|w| "-".repeat(*w)).collect();
                writeln!(f, "{}", rule.join("  "))?;
            }
        }
        Ok(())
    }
}

/// A figure with so many decimals; `-` where there is none.
pub(crate) fn figure(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "-".into(), |v| format!("{v:.decimals$}"))
}

/// `min / median / max` with so many decimals; `-` where there is none.
pub(crate) fn spread(value: Option<Spread>, decimals: usize) -> String {
    value.map_or_else(
        || "-".into(),
        |s| format!("{:.decimals$} / {:.decimals$} / {:.decimals$}", s.min, s.median, s.max),
    )
}

/// Bytes as MiB.
pub(crate) fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / (1u64 << 20) as f64
}

/// A JSON file that is there complete, or not at all.
#[derive(Debug)]
pub(crate) struct JsonFile {
    path: PathBuf,
    partial: PathBuf,
}

impl JsonFile {
    /// Sees to it, before minutes of measuring, that the file can be written.
    ///
    /// # Errors
    /// When it cannot.
    pub(crate) fn prepare(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Write { path: path.into(), source };
        if path.is_dir() || path.file_name().is_none() {
            return Err(failed(std::io::ErrorKind::IsADirectory.into()));
        }
        let mut partial = path.as_os_str().to_owned();
        partial.push(format!(".{}.partial", std::process::id()));
        let partial = PathBuf::from(partial);
        std::fs::write(&partial, "").map_err(failed)?;
        std::fs::remove_file(&partial).map_err(failed)?;
        Ok(Self { path: path.into(), partial })
    }

    /// Writes the file under another name and moves it into place.
    ///
    /// # Errors
    /// When the disk is full, or the folder has gone.
    pub(crate) fn write(&self, value: &Value) -> Result<(), Error> {
        let written = std::fs::write(&self.partial, format!("{value:#}\n"))
            .and_then(|()| std::fs::rename(&self.partial, &self.path));
        written.map_err(|source| {
            // What is half-written is of no use; that it cannot be removed either changes nothing.
            let _ = std::fs::remove_file(&self.partial);
            Error::Write { path: self.path.clone(), source }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_aligned() {
        let mut table = Table::new(&["variant", "ms", "x"]);
        table.row(vec!["no growth".into(), "1.0".into(), "1".into()]);
        table.row(vec!["copy".into(), "778.25".into()]);
        let expected = "\
variant        ms  x
---------  ------  -
no growth     1.0  1
copy       778.25
";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn figures_that_are_missing_say_so() {
        assert_eq!(figure(Some(1.23456), 2), "1.23");
        assert_eq!(figure(None, 2), "-");
        assert_eq!(spread(Spread::of(&[1.0, 3.0, 2.0]), 1), "1.0 / 2.0 / 3.0");
        assert_eq!(spread(None, 1), "-");
        assert_eq!(mebibytes(3 << 19), 1.5);
    }

    #[test]
    fn the_document_has_its_keys() {
        let facts = Facts {
            device: json!({ "name": "n", "driver": "d", "api": "1.3.0" }),
            commit: "abc".into(),
            profile: "dev",
        };
        assert_eq!(facts.to_string(), "n, d, Vulkan 1.3.0; commit abc, dev build");
        let document = document(&facts, true, vec![("growth", json!({ "runs": 2 }))]);
        assert_eq!(document["commit"], "abc");
        assert_eq!(document["device"]["driver"], "d");
        assert_eq!(document["quick"], true);
        assert_eq!(document["benches"], json!([{ "name": "growth", "runs": 2 }]));
    }

    #[test]
    fn a_json_file_is_whole_or_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.json");
        let file = JsonFile::prepare(&path).unwrap();
        assert!(!path.exists(), "nothing is there before there are figures");
        file.write(&json!({ "a": 1 })).unwrap();
        let read: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(read, json!({ "a": 1 }));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no partial file is left");

        let missing = folder.path().join("no such folder").join("out.json");
        let error = JsonFile::prepare(&missing).unwrap_err().one_line();
        assert!(error.contains("out.json") && error.contains("folder you can write"), "{error}");
        assert!(JsonFile::prepare(folder.path()).is_err(), "a folder is no file");
    }
}
