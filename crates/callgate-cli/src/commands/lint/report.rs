//! What was found in one source.

use callgate::lint::{Finding, Level};

/// The findings of a source.
pub(super) struct Report {
    /// Its name.
    pub(super) name: String,
    /// The names of its filters.
    pub(super) names: Vec<String>,
    /// Those of the chosen level and above.
    pub(super) findings: Vec<Finding>,
    /// The number of those below.
    pub(super) below: usize,
    /// The number of those that options or comments silence.
    pub(super) silenced: usize,
}

impl Report {
    /// The name of the file that a finding is about.
    pub(super) fn file<'r>(&'r self, finding: &'r Finding) -> &'r str {
        let named = finding.site.as_ref().and_then(|site| site.file.as_deref());
        named.unwrap_or(&self.name)
    }

    /// The names of its filters.
    pub(super) fn filters(&self) -> Vec<&str> {
        self.names.iter().map(String::as_str).collect()
    }
}

/// The number of findings of a level.
pub(super) fn count(reports: &[Report], level: Level) -> u64 {
    let all = reports.iter().flat_map(|report| &report.findings);
    all.filter(|finding| finding.check.level() == level).count() as u64
}
