//! The report of an experiment.

use callgate_measure::report::Report;

use crate::finding::Finding;
use crate::published::Published;

/// A report with what an experiment adds.
#[derive(Clone, Debug)]
pub struct ExperimentReport {
    /// The name of the experiment.
    pub name: &'static str,
    /// The overheads.
    pub report: Report,
    /// The findings.
    pub findings: Vec<Finding>,
    /// The results in the form in which the experiment was published.
    pub published: Published,
}
