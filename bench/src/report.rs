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
        Self::with(json!({
            "name": capabilities.name,
            "driver": capabilities.driver,
            "api": capabilities.api,
            "type": capabilities.device_type,
            "sparse_tier": capabilities.sparse.tier(),
        }))
    }

    /// Of the processor alone, where no device is measured.
    pub(crate) fn of_host() -> Self {
        Self::with(json!({ "name": crate::host::processor(), "type": "host" }))
    }

    fn with(device: Value) -> Self {
        let given = std::env::var("VASA_COMMIT").ok().filter(|c| !c.trim().is_empty());
        Self {
            device,
            commit: given.unwrap_or_else(|| env!("VASA_BUILD_COMMIT").into()).trim().into(),
            profile: if cfg!(debug_assertions) { "dev" } else { "release" },
        }
    }
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |key: &str| self.device[key].as_str().unwrap_or_default();
        write!(f, "{}", text("name"))?;
        if self.device["api"].is_string() {
            write!(f, ", {}, Vulkan {}", text("driver"), text("api"))?;
        }
        write!(f, "; commit {}, {} build", self.commit, self.profile)
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

    /// Whether it has no rows beside its headings.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.len() < 2
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

/// Bytes in the largest unit that leaves a whole number: `16 MiB`, `64 KiB`.
pub(crate) fn size(bytes: u64) -> String {
    let units = [(1u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let fits = units.into_iter().find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit));
    fits.map_or_else(|| format!("{bytes} B"), |(unit, name)| format!("{} {name}", bytes / unit))
}

/// A JSON file of measurements: an array of documents, oldest first. What is in it stays, and it is whole at any
/// moment.
#[derive(Debug)]
pub(crate) struct JsonFile {
    path: PathBuf,
    partial: PathBuf,
}

impl JsonFile {
    /// Sees to it, before minutes of measuring, that the file can be written, and that what is there can be kept.
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
        let file = Self { path: path.into(), partial };
        file.documents()?;
        Ok(file)
    }

    /// The documents that are there: none where there is no file, one where it holds a single object.
    fn documents(&self) -> Result<Vec<Value>, Error> {
        let text = match std::fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(Error::Write { path: self.path.clone(), source }),
        };
        if text.trim().is_empty() {
            return Ok(Vec::new());
        }
        let refused = |why: String| Error::NotMeasurements { path: self.path.clone(), why };
        let documents = match serde_json::from_str(&text).map_err(|error| refused(error.to_string()))? {
            Value::Array(documents) => documents,
            document => vec![document],
        };
        match documents.iter().position(|document| !document["benches"].is_array()) {
            Some(index) => Err(refused(format!("document {index} has no `benches`"))),
            None => Ok(documents),
        }
    }

    /// Adds a document to those that are there: writes all of them under another name and moves that into place.
    ///
    /// # Errors
    /// When the disk is full, the folder has gone, or the file has become something else meanwhile.
    pub(crate) fn append(&self, document: Value) -> Result<(), Error> {
        let mut documents = self.documents()?;
        documents.push(document);
        let all = Value::Array(documents);
        let written = std::fs::write(&self.partial, format!("{all:#}\n"))
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
    fn sizes_have_the_largest_whole_unit() {
        let of = [64 << 10, 16 << 20, 1 << 30, 3 << 19, 100].map(size);
        assert_eq!(of, ["64 KiB", "16 MiB", "1 GiB", "1536 KiB", "100 B"]);
    }

    fn read(path: &Path) -> Value {
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    #[test]
    fn a_json_file_is_whole_or_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.json");
        let file = JsonFile::prepare(&path).unwrap();
        assert!(!path.exists(), "nothing is there before there are figures");
        file.append(json!({ "benches": [1] })).unwrap();
        assert_eq!(read(&path), json!([{ "benches": [1] }]));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no partial file is left");

        let missing = folder.path().join("no such folder").join("out.json");
        let error = JsonFile::prepare(&missing).unwrap_err().one_line();
        assert!(error.contains("out.json") && error.contains("folder you can write"), "{error}");
        assert!(JsonFile::prepare(folder.path()).is_err(), "a folder is no file");
    }

    #[test]
    fn earlier_documents_stay_when_one_is_added() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.json");
        // A single object is what earlier versions wrote.
        std::fs::write(&path, r#"{ "benches": [1], "extra": "kept" }"#).unwrap();
        let file = JsonFile::prepare(&path).unwrap();
        file.append(json!({ "benches": [2] })).unwrap();
        JsonFile::prepare(&path).unwrap().append(json!({ "benches": [3] })).unwrap();
        let expected = json!([{ "benches": [1], "extra": "kept" }, { "benches": [2] }, { "benches": [3] }]);
        assert_eq!(read(&path), expected);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_of_something_else_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.json");
        for text in ["not JSON", "[1, 2]", r#"{ "name": "a package" }"#] {
            std::fs::write(&path, text).unwrap();
            let error = JsonFile::prepare(&path).unwrap_err().one_line();
            assert!(error.contains("notes.json") && error.contains("another file"), "{error}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        std::fs::write(&path, "\n").unwrap();
        assert!(JsonFile::prepare(&path).is_ok(), "an empty file holds nothing to lose");
    }
}
