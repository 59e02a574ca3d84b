//! Counting the tests of a ring from what `cargo test` prints.

use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::time::Duration;

/// How many tests passed, failed and were ignored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Tally {
    /// Passes a child's output on to `shown` as it comes, and counts.
    pub fn follow(&mut self, output: impl Read, shown: &mut impl Write) {
        let mut reader = BufReader::new(output);
        let mut line = Vec::new();
        // A test may print anything: bytes are passed on as they are, to the end of the pipe.
        while reader.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
            // If nobody reads it any more, the counting still matters.
            let _ = shown.write_all(&line).and_then(|()| shown.flush());
            self.count(&String::from_utf8_lossy(&line));
            line.clear();
        }
    }

    /// Counts one line, if it is the closing line of a test binary.
    fn count(&mut self, line: &str) {
        let Some((_, numbers)) = line.split_once("test result: ") else { return };
        // `ok. 3 passed; 0 failed; ...`, the first word possibly in colour.
        for part in numbers.split(". ").skip(1).flat_map(|rest| rest.split(';')) {
            let mut words = part.split_whitespace();
            let (Some(number), Some(what)) = (words.next(), words.next()) else { continue };
            let Ok(number) = number.parse::<u64>() else { continue };
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }
}

/// The last word on one ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    ring: String,
    outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    Skipped(String),
    Ran { ok: bool, counts: String, time: Duration },
}

impl Line {
    /// A ring of tests that ran; without a count, cargo or nextest did not give one.
    pub fn ran(ring: &str, ok: bool, tally: Tally, time: Duration) -> Self {
        let counts = if tally == Tally::default() {
            String::new()
        } else {
            format!("{} passed, {} failed, {} ignored", tally.passed, tally.failed, tally.ignored)
        };
        Self { ring: ring.to_owned(), outcome: Outcome::Ran { ok, counts, time } }
    }

    /// Something else that ran, with its own words for how much.
    pub fn other(ring: &str, ok: bool, counts: String, time: Duration) -> Self {
        Self { ring: ring.to_owned(), outcome: Outcome::Ran { ok, counts, time } }
    }

    /// A ring that did not run, and why.
    pub fn skipped(ring: &str, why: &str) -> Self {
        Self { ring: ring.to_owned(), outcome: Outcome::Skipped(why.to_owned()) }
    }

    /// The ring's name.
    pub fn ring(&self) -> &str {
        &self.ring
    }

    /// Whether it counts against the whole.
    pub fn failed(&self) -> bool {
        matches!(self.outcome, Outcome::Ran { ok: false, .. })
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ring {}: ", self.ring)?;
        match &self.outcome {
            Outcome::Skipped(why) => write!(f, "skipped, {why}"),
            Outcome::Ran { ok, counts, time } => {
                let word = if *ok { "ok" } else { "FAILED" };
                let comma = if counts.is_empty() { "" } else { ", " };
                write!(f, "{word}{comma}{counts} ({:.1} s)", time.as_secs_f64())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_add_up() {
        let mut tally = Tally::default();
        tally.count("running 5 tests");
        tally.count(
            "test result: ok. 3 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.01s",
        );
        tally.count(
            "test result: FAILED. 1 passed; 4 failed; 0 ignored; 0 measured; 9 filtered out; finished in 2s",
        );
        tally.count("test result: \u{1b}[32mok\u{1b}(B\u{1b}[m. 7 passed; 0 failed; 0 ignored; 0 measured");
        assert_eq!(tally, Tally { passed: 11, failed: 4, ignored: 2 });
    }

    #[test]
    fn a_line_says_what_became_of_a_ring() {
        let tally = Tally { passed: 3, failed: 1, ignored: 0 };
        let line = Line::ran("driver (sparse)", false, tally, Duration::from_millis(1234));
        assert!(line.failed());
        assert_eq!(line.to_string(), "ring driver (sparse): FAILED, 3 passed, 1 failed, 0 ignored (1.2 s)");
        assert_eq!(Line::skipped("gpu", "no real GPU").to_string(), "ring gpu: skipped, no real GPU");
        let line = Line::ran("null", true, Tally::default(), Duration::from_secs(2));
        assert_eq!(line.to_string(), "ring null: ok (2.0 s)");
    }

    #[test]
    fn bytes_that_are_no_text_pass_through() {
        let (mut tally, mut shown) = (Tally::default(), Vec::new());
        let output = &b"\xff\xfe\ntest result: ok. 1 passed; 0 failed; 0 ignored"[..];
        tally.follow(output, &mut shown);
        assert_eq!(tally.passed, 1);
        assert_eq!(shown, output);
    }
}
