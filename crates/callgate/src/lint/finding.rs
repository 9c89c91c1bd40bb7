//! Findings.

use callgate_bpf::diagnostic::Help;
use callgate_core::{Arch, SeccompData, Verdict};
use callgate_formats::statements::Site;

use super::check::Check;
use crate::explain::Explanation;

/// Something that a check found in a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was looked for.
    pub check: Check,
    /// The index of the filter in the stack.
    pub filter: usize,
    /// The rule that it is about; `None` if it is about the filter as a whole, or the filter has no text.
    pub site: Option<Site>,
    /// The architectures on which it was found; empty if it does not depend on them.
    pub arches: Vec<Arch>,
    /// The syscalls that it is about.
    pub syscalls: Vec<&'static str>,
    /// What was found, as a sentence without a full stop.
    pub message: String,
    /// What to do about it.
    pub help: Help,
    /// Syscalls that show it, with the verdicts of the whole stack.
    pub examples: Vec<Example>,
}

impl Finding {
    /// The message, with the architectures unless it names the only one.
    pub fn line(&self) -> String {
        let arches: Vec<&str> = self.arches.iter().map(|arch| arch.name()).collect();
        match arches.as_slice() {
            [arch] if !self.message.contains(arch) => format!("{arch}: {}", self.message),
            [_, _, ..] => format!("{}: {}", arches.join(", "), self.message),
            _ => self.message.clone(),
        }
    }
}

impl Explanation {
    /// The explanation with these findings as notes.
    #[must_use]
    pub fn with_notes(self, findings: &[Finding]) -> Explanation {
        Explanation { notes: findings.iter().map(Finding::line).collect(), ..self }
    }
}

/// A syscall and what the filters do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Example {
    /// Its ABI.
    pub arch: Arch,
    /// Number and arguments.
    pub data: SeccompData,
    /// The verdict.
    pub verdict: Verdict,
}
