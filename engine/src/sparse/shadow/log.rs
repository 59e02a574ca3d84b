//! Keeping reports: a total, counts by kind, and the last few to print.

use std::collections::{BTreeMap, VecDeque};

use super::report::Report;

/// How many reports are kept for printing; older ones are only counted.
pub const REPORTS_KEPT: usize = 64;

/// The reports of one call, in the order found, with neighbours joined.
#[derive(Debug, Default)]
pub(super) struct Found {
    reports: Vec<Report>,
}

impl Found {
    /// One range can have a few findings at once, so that the one to continue is not always the last.
    const LOOK_BACK: usize = 8;

    pub(super) fn push(&mut self, report: Report) {
        for earlier in self.reports.iter_mut().rev().take(Self::LOOK_BACK) {
            if let Some(joined) = earlier.joined(&report) {
                *earlier = joined;
                return;
            }
        }
        self.reports.push(report);
    }
}

/// All reports of a shadow.
#[derive(Debug, Default)]
pub(super) struct ReportLog {
    total: u64,
    by_kind: BTreeMap<&'static str, u64>,
    last: VecDeque<Report>,
}

impl ReportLog {
    /// Takes in what a call found, and hands it back for the caller.
    pub(super) fn add(&mut self, found: Found) -> Vec<Report> {
        for report in &found.reports {
            self.total += 1;
            *self.by_kind.entry(report.kind.name()).or_default() += 1;
        }
        let skipped = found.reports.len().saturating_sub(REPORTS_KEPT);
        self.last.extend(found.reports.iter().skip(skipped).cloned());
        let surplus = self.last.len().saturating_sub(REPORTS_KEPT);
        self.last.drain(..surplus);
        found.reports
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    pub(super) fn by_kind(&self) -> &BTreeMap<&'static str, u64> {
        &self.by_kind
    }

    pub(super) fn last(&self) -> impl Iterator<Item = &Report> {
        self.last.iter()
    }
}
