//! Frequencies of syscalls in the workloads of the comparison.
//!
//! A workload is a list of names and counts, one syscall per line; `#` begins a comment.

use callgate_bpf::SyscallTable;
use std::fs;
use std::path::Path;

use callgate::compile::{expected_insns, filtered_insns};
use callgate::{Arch, Endian};
use callgate_bpf::syscalls;
use callgate_codegen::{Model, WeightedSyscall, Weights};
use callgate_core::Program;
use callgate_core::diagram::{Func, Store};

use callgate_tasks::Result;
use callgate_tasks::files::stem;

/// The maximum number of frequent syscalls that a compiler gets.
const MAX_HOT: usize = 64;

/// A workload.
pub(super) struct Workload {
    pub(super) name: String,
    /// The kernel for which programs are made that are compared under it.
    pub(super) model: Model,
    /// Whether figures are means of the syscalls with conditions only, which every kernel runs the filter for.
    pub(super) is_filtered: bool,
    pub(super) weights: Weights,
    /// The most frequent syscalls of x86_64, with their share of all syscalls in thousandths; empty if all have
    /// the same weight.
    pub(super) hot: Vec<(u32, u32)>,
}

impl Workload {
    fn new(name: &str, weights: Weights, hot: Vec<(u32, u32)>) -> Workload {
        let name = name.to_owned();
        Workload { name, model: Model::Uncached, is_filtered: false, weights, hot }
    }

    /// The mean number of instructions that a program executes, which has this meaning; `None` if nothing has weight.
    pub(super) fn executed(
        &self,
        (store, meaning): (&Store, Func),
        program: &Program,
        syscalls: &[WeightedSyscall],
    ) -> Option<f64> {
        let mean = if self.is_filtered { filtered_insns } else { expected_insns };
        let has_weight = syscalls.iter().any(|syscall| syscall.weight > 0.0);
        let is_counted = has_weight || self.is_filtered;
        is_counted.then(|| mean(store, meaning, program, syscalls, Endian::Little)).flatten()
    }
}

/// The syscalls with conditions, uniform weights, the two workloads of this project, and those in files.
pub(super) fn all(files: &[impl AsRef<Path>]) -> Result<Vec<Workload>> {
    let uniform = |name| Workload::new(name, Weights::uniform(), Vec::new());
    let mut all = vec![
        Workload { model: Model::Cached, is_filtered: true, ..uniform("args") },
        uniform("uniform"),
        parse("server", include_str!("weights/server.txt"))?,
        parse("skewed", include_str!("weights/skewed.txt"))?,
    ];
    for path in files.iter().map(AsRef::as_ref) {
        let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let workload = parse(&stem(path), &text);
        all.push(workload.map_err(|error| format!("{}: {error}", path.display()))?);
    }
    Ok(all)
}

/// The weights of such a list.
pub(crate) fn weights(text: &str) -> Result<Weights> {
    parse("", text).map(|workload| workload.weights)
}

fn parse(name: &str, text: &str) -> Result<Workload> {
    let mut counts: Vec<(String, f64)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        let count = match words.as_slice() {
            [] => continue,
            [syscall, count] if syscalls::is_known_name(syscall) => count.parse().ok(),
            _ => None,
        };
        let count =
            count.ok_or_else(|| format!("line {}: expected a syscall and a count", index + 1))?;
        counts.push((words[0].to_owned(), count));
    }
    let sum: f64 = counts.iter().map(|(_, count)| count).sum();
    let mut by_count = counts.clone();
    by_count.sort_by(|a, b| b.1.total_cmp(&a.1));
    let share = |(syscall, count): &(String, f64)| {
        Some((Arch::X86_64.number(syscall)?, (1000.0 * count / sum) as u32))
    };
    let hot = by_count.iter().filter_map(share).take(MAX_HOT).collect();
    let weights = Weights::counts(counts).map_err(|error| error.to_string())?;
    Ok(Workload::new(name, weights, hot))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_are_read_the_most_frequent_call_first() {
        let workload = parse("w", "# two\nread 1\n\nfutex 3 # waits\n").unwrap();
        assert_eq!(workload.hot, [(202, 750), (0, 250)]);
        let counts = [("read".to_owned(), 1.0), ("futex".to_owned(), 3.0)];
        assert_eq!(Ok(workload.weights), Weights::counts(counts));
        let error = |text| parse("w", text).err().unwrap();
        assert_eq!(error("read 1\nreed 2"), "line 2: expected a syscall and a count");
        assert_eq!(error("read many"), "line 1: expected a syscall and a count");
        assert!(error("read -1").contains("-1"));
    }

    #[test]
    fn the_own_workloads_are_right() {
        let all = all(&[] as &[&Path]).unwrap();
        assert_eq!(all.len(), 4);
        assert!(all[2].hot.len() > 20 && all[3].hot[0].1 == 900);
    }
}
