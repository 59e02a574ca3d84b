//! The command line: names and flags are an interface that scripts rely on.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser};

use crate::BENCHES;

/// Measure the engine against its alternatives
#[derive(Debug, Parser)]
#[command(name = "bench", version, about, long_about = None)]
pub(crate) struct Cli {
    /// The bench to run (all of them when left out)
    pub(crate) name: Option<String>,
    /// Also add the results to this file: an array of documents, which keeps what is there
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Part of the name of the device to measure (the best one when left out)
    #[arg(long, value_name = "NAME")]
    pub(crate) device: Option<String>,
    /// Steady runs of each variant, taken in turn; unsteady ones are made again, up to 3 N in all
    /// [default: 5, with --quick 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: Option<u32>,
    /// A shorter measurement, to see that everything works: its figures are not for publishing
    #[arg(long)]
    pub(crate) quick: bool,
}

impl Cli {
    /// Steady runs wanted of each variant.
    pub(crate) fn runs(&self) -> u32 {
        self.runs.unwrap_or(if self.quick { 2 } else { 5 })
    }
}

/// What the command line asks for.
#[derive(Debug)]
pub(crate) enum Parsed {
    /// Measure.
    Run(Cli),
    /// Print this and stop: help or the version.
    Print(String),
    /// Wrong usage: one line.
    Wrong(String),
}

/// Reads the command line.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Parsed {
    let list: Vec<_> = BENCHES.iter().map(|b| format!("  {:10} {}", b.name, b.about)).collect();
    let command = Cli::command().after_help(format!("Benches:\n{}", list.join("\n")));
    let cli = command.try_get_matches_from(arguments).and_then(|m| Cli::from_arg_matches(&m));
    let cli = match cli {
        Ok(cli) => cli,
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            return Parsed::Print(error.to_string());
        }
        Err(error) => return Parsed::Wrong(one_line(&error.to_string())),
    };
    match &cli.name {
        Some(name) if !BENCHES.iter().any(|b| b.name == name) => {
            let known: Vec<_> = BENCHES.iter().map(|b| b.name).collect();
            Parsed::Wrong(format!("no bench `{name}`; known: {}", known.join(", ")))
        }
        _ => Parsed::Run(cli),
    }
}

/// The parser's first paragraph, without its own `error:`.
fn one_line(text: &str) -> String {
    let first = text.split("\n\n").next().unwrap_or(text);
    let words: Vec<_> = first.trim_start_matches("error:").split_whitespace().collect();
    format!("{}; see `bench --help`", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_words(words: &str) -> Parsed {
        parse(std::iter::once("bench").chain(words.split_whitespace()).map(OsString::from))
    }

    #[test]
    fn good_lines() {
        let Parsed::Run(cli) = parse_words("growth --json a.json --device llvm --runs 3") else {
            panic!("a complete line")
        };
        assert_eq!((cli.name.as_deref(), cli.runs()), (Some("growth"), 3));
        assert_eq!((cli.json, cli.device.as_deref()), (Some("a.json".into()), Some("llvm")));
        let Parsed::Run(cli) = parse_words("") else { panic!("nothing but defaults") };
        assert_eq!((cli.name.as_deref(), cli.runs(), cli.quick), (None, 5, false));
        let Parsed::Run(cli) = parse_words("--quick") else { panic!("quick") };
        assert_eq!(cli.runs(), 2);
    }

    #[test]
    fn wrong_lines_are_one_line_that_names_the_fault() {
        for (words, named) in [
            ("speed", "growth"),
            ("growth extra", "extra"),
            ("--runs 0", "0"),
            ("--runs many", "many"),
            ("--json", "--json"),
            ("--fast", "--fast"),
        ] {
            let Parsed::Wrong(why) = parse_words(words) else { panic!("`{words}` was taken") };
            assert!(
                why.contains(named) && !why.contains('\n') && !why.starts_with("error"),
                "{words}: {why}"
            );
        }
    }

    #[test]
    fn help_lists_every_bench() {
        let Parsed::Print(text) = parse_words("--help") else { panic!("help") };
        for bench in BENCHES {
            assert!(text.contains(bench.name) && text.contains(bench.about), "{text}");
        }
    }
}
