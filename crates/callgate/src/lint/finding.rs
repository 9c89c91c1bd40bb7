//! Findings, and their list while checks run.

use std::hash::BuildHasher;

use callgate_bpf::diagnostic::Help;
use callgate_core::{Arch, SeccompData, Verdict};
use callgate_formats::statements::Site;
use rustc_hash::{FxBuildHasher, FxHashMap as HashMap};

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

/// What the checks found so far.
#[derive(Default)]
pub(super) struct Findings {
    all: Vec<Finding>,
    /// The index of each, by a hash of what makes it the same on another architecture.
    known: HashMap<u64, Vec<usize>>,
}

impl Finding {
    /// A finding without a place, examples and advice.
    pub(super) fn new(check: Check, message: impl Into<String>) -> Finding {
        Finding {
            check,
            filter: 0,
            site: None,
            arches: Vec::new(),
            syscalls: Vec::new(),
            message: message.into(),
            help: Help::default(),
            examples: Vec::new(),
        }
    }

    pub(super) fn at(self, (filter, site): (usize, Option<Site>)) -> Finding {
        Finding { filter, site, ..self }
    }

    pub(super) fn on(self, arch: Arch) -> Finding {
        Finding { arches: vec![arch], ..self }
    }

    pub(super) fn about(self, syscalls: impl IntoIterator<Item = &'static str>) -> Finding {
        Finding { syscalls: syscalls.into_iter().collect(), ..self }
    }

    pub(super) fn help(self, help: impl Into<Help>) -> Finding {
        Finding { help: help.into(), ..self }
    }

    pub(super) fn examples(self, examples: impl IntoIterator<Item = Option<Example>>) -> Finding {
        Finding { examples: examples.into_iter().flatten().collect(), ..self }
    }
}

impl Findings {
    /// Adds a finding, or its architectures to the same finding on another one.
    pub(super) fn add(&mut self, finding: Finding) {
        // systemd installs a filter for each architecture, from the same line.
        let key = |one: &Finding| {
            let filter = if one.site.is_some() { 0 } else { one.filter };
            let place = one.site.as_ref().map(|site| (site.file.clone(), site.position));
            (one.check, filter, place, one.syscalls.clone(), one.message.clone())
        };
        let own = key(&finding);
        let same = self.known.entry(FxBuildHasher.hash_one(&own)).or_default();
        match same
            .iter()
            .find_map(|index| self.all.get(*index).filter(|one| key(one) == own).map(|_| *index))
        {
            Some(index) => {
                if let Some(same) = self.all.get_mut(index) {
                    same.arches.extend(finding.arches);
                }
            }
            None => {
                same.push(self.all.len());
                self.all.push(finding);
            }
        }
    }

    /// All, the most serious first, then in the order of the text; of each check at most [`MAX_OF_CHECK`].
    pub(super) fn sorted(mut self) -> Vec<Finding> {
        sort(&mut self.all);
        let mut counts: HashMap<Check, usize> = HashMap::default();
        self.all.retain(|finding| {
            let count = counts.entry(finding.check).or_default();
            *count += 1;
            *count <= MAX_OF_CHECK
        });
        for (check, count) in counts {
            if let Some(more @ 1..) = count.checked_sub(MAX_OF_CHECK) {
                let message = format!("{more} more findings of `{check}` are left out");
                self.all.push(Finding::new(check, message));
            }
        }
        sort(&mut self.all);
        self.all
    }
}

/// The most findings of one check.
const MAX_OF_CHECK: usize = 1000;

/// Sorts by level, place and check.
pub(super) fn sort(findings: &mut [Finding]) {
    let place = |finding: &Finding| {
        let site = finding.site.as_ref();
        (finding.filter, site.is_none(), site.map(|site| (site.file.clone(), site.position)))
    };
    findings.sort_by_cached_key(|finding| {
        (std::cmp::Reverse(finding.check.level()), place(finding), finding.check)
    });
}

/// The most names that a message lists.
const MAX_NAMES: usize = 8;

/// Names for a message: `a`, `b` and 3 more.
pub(super) fn listed(names: &[&str]) -> String {
    let quoted = |names: &[&str]| {
        names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    };
    match names.split_at_checked(MAX_NAMES) {
        Some((first, more @ [_, _, ..])) => format!("{} and {} more", quoted(first), more.len()),
        _ => match names.split_last() {
            Some((last, others @ [_, ..])) => format!("{} and `{last}`", quoted(others)),
            _ => quoted(names),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_cut() {
        let names: Vec<String> = (0..12).map(|i| i.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(listed(&names[..1]), "`0`");
        assert_eq!(listed(&names[..3]), "`0`, `1` and `2`");
        assert_eq!(listed(&names[..9]), "`0`, `1`, `2`, `3`, `4`, `5`, `6`, `7` and `8`");
        assert!(listed(&names).ends_with("`7` and 4 more"));
    }

    #[test]
    fn of_many_findings_the_first_are_kept() {
        let mut findings = Findings::default();
        for i in 0..MAX_OF_CHECK + 5 {
            findings.add(Finding::new(Check::Duplicate, i.to_string()));
        }
        let all = findings.sorted();
        assert_eq!(all.len(), MAX_OF_CHECK + 1);
        assert!(
            all.iter().any(|finding| finding.message.starts_with("5 more findings of `duplicate`"))
        );
    }

    #[test]
    fn a_finding_on_two_architectures_is_one() {
        let mut findings = Findings::default();
        for arch in [Arch::X86_64, Arch::X86] {
            findings.add(Finding::new(Check::HighBits, "same").on(arch).about(["socket"]));
        }
        findings.add(Finding::new(Check::HighBits, "same").on(Arch::X86).about(["bind"]));
        let all = findings.sorted();
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].arches, [Arch::X86_64, Arch::X86]);
    }
}
