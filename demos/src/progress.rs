//! Progress of what takes a while: a bar on a terminal, a line a step otherwise.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

/// Shows how far a step is.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    /// A bar where standard error is a terminal.
    pub fn new() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(1000);
            let style = ProgressStyle::with_template("{msg:<32} [{bar:32}] {elapsed}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            bar.set_style(style.progress_chars("=> "));
            bar
        });
        Self { bar }
    }

    /// Begins a step.
    pub fn step(&self, what: &str) {
        match &self.bar {
            Some(bar) => {
                bar.set_message(what.to_owned());
                bar.set_position(0);
                bar.tick();
            }
            None => eprintln!("{what}"),
        }
    }

    /// How much of the step is done, from 0 to 1.
    pub fn share(&self, done: f32) {
        if let Some(bar) = &self.bar {
            bar.set_position((done.clamp(0.0, 1.0) * 1000.0) as u64);
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
