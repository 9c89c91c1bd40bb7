//! The model of a recording: counts and argument values per syscall.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::evidence::{Evidence, RunRelation};
use super::labels::CommonLabels;
use super::limits::MAX_COUNT;
use super::run::{Caveat, Run, RunId, combined_caveats, digest};
use super::values::ArgValues;
use callgate_bpf::{SyscallTable, syscalls};
use callgate_core::Arch;

/// A syscall as a filter sees it: the ABI and the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SyscallId {
    /// The ABI.
    pub arch: Arch,
    /// The number, for x32 with its bit.
    pub nr: u32,
}

impl SyscallId {
    /// The syscall of an architecture with this number.
    pub const fn new(arch: Arch, nr: u32) -> SyscallId {
        SyscallId { arch, nr }
    }

    /// The syscall with this arch token and number; `None` for an unknown token.
    pub fn of(token: u32, nr: u32) -> Option<SyscallId> {
        Arch::of_syscall(token, nr).map(|arch| SyscallId { arch, nr })
    }

    /// The name; `None` if the syscall tables do not have the number.
    pub fn name(self) -> Option<&'static str> {
        self.arch.syscall_name(self.nr)
    }

    /// How many argument registers are recorded: the syscall ignores the others. All six on 32-bit ABIs,
    /// because some syscalls pass a 64-bit argument in two registers.
    fn arity(self) -> usize {
        let facts = self.name().and_then(syscalls::facts).filter(|facts| facts.args_known);
        match facts {
            Some(facts) if self.arch.is_64bit() || self.arch == Arch::X32 => {
                facts.args.len().min(6)
            }
            _ => 6,
        }
    }
}

/// How often a syscall was made, and the values of its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SyscallStats {
    count: u64,
    seen: Evidence,
    /// In a recording of one run, not set: its labels are those of the run.
    common: CommonLabels,
    args: Vec<ArgValues>,
}

impl SyscallStats {
    pub(crate) fn new(syscall: SyscallId) -> SyscallStats {
        SyscallStats {
            count: 0,
            seen: Evidence::default(),
            common: CommonLabels::default(),
            args: vec![ArgValues::default(); syscall.arity()],
        }
    }

    /// How often the syscall was made, at most [`MAX_COUNT`].
    pub fn count(&self) -> u64 {
        self.count
    }

    /// In how many runs the syscall was made: 1 unless recordings were merged.
    pub fn runs(&self) -> u64 {
        self.seen.runs()
    }

    /// In which runs the syscall was made.
    pub fn seen(&self) -> Evidence {
        self.seen
    }

    /// The values of each argument that the syscall has.
    pub fn args(&self) -> &[ArgValues] {
        &self.args
    }

    /// Whether the value of an argument is known for every occurrence.
    pub fn is_known(&self, arg: usize) -> bool {
        self.known(arg).is_some()
    }

    /// The values of an argument if they are known for every occurrence.
    pub(crate) fn known(&self, arg: usize) -> Option<&ArgValues> {
        self.args.get(arg).filter(|values| values.observed() >= self.count)
    }

    /// Adds occurrences of one run whose values are not known.
    pub(crate) fn add(&mut self, count: u64) {
        self.count = self.count.saturating_add(count).min(MAX_COUNT);
    }

    /// Adds one occurrence, with the known values.
    pub(crate) fn observe(&mut self, args: impl IntoIterator<Item = Option<u64>>) {
        self.add(1);
        for (values, arg) in self.args.iter_mut().zip(args) {
            if let Some(arg) = arg {
                values.observe(arg);
            }
        }
    }

    /// The labels that all runs have in common which made the syscall, if recordings were merged.
    pub fn common_labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.common.iter()
    }

    /// Says in which run it was made, and its values were seen, where this is not known.
    fn attribute(&mut self, run: u64, labels: &CommonLabels) {
        self.common = labels.clone();
        self.seen.attribute(run);
        self.args.iter_mut().for_each(|values| values.attribute(run));
    }

    fn join(
        &mut self,
        count: u64,
        seen: Evidence,
        args: impl IntoIterator<Item = ArgValues>,
        relation: RunRelation,
    ) {
        self.add(count);
        self.seen = self.seen.join(seen, relation);
        for (values, more) in self.args.iter_mut().zip(args) {
            values.join(&more, relation);
        }
    }
}

/// The syscalls of one or several runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    syscalls: BTreeMap<SyscallId, SyscallStats>,
    runs: Vec<Run>,
}

impl Recording {
    /// A recording of one run, without syscalls yet.
    pub fn of(run: Run) -> Recording {
        Recording::of_syscalls(run, [])
    }

    /// A recording of one run with these syscalls, each of which is given once.
    pub(crate) fn of_syscalls(
        run: Run,
        syscalls: impl IntoIterator<Item = (SyscallId, SyscallStats)>,
    ) -> Recording {
        Recording { syscalls: syscalls.into_iter().collect(), runs: vec![run] }
    }

    fn entry(&mut self, syscall: SyscallId) -> &mut SyscallStats {
        self.syscalls.entry(syscall).or_insert_with(|| SyscallStats::new(syscall))
    }

    /// Adds one occurrence with the values of its six argument registers. Registers that the syscall ignores are not
    /// kept.
    pub fn observe(&mut self, syscall: SyscallId, args: &[u64; 6]) {
        self.entry(syscall).observe(args.map(Some));
    }

    /// Adds occurrences whose arguments are not known; a `count` of 0 adds no entry.
    pub fn count(&mut self, syscall: SyscallId, count: u64) {
        self.add(syscall, count, []);
    }

    /// Adds occurrences of one run with the values of their arguments, starting with the first. Values beyond the
    /// arguments of the syscall are not kept; a `count` of 0 adds no entry.
    pub fn add(
        &mut self,
        syscall: SyscallId,
        count: u64,
        args: impl IntoIterator<Item = ArgValues>,
    ) {
        self.add_of_runs(syscall, count, Evidence::default(), args);
    }

    /// Like [`add`](Recording::add), for occurrences of several runs.
    pub(crate) fn add_of_runs(
        &mut self,
        syscall: SyscallId,
        count: u64,
        seen: Evidence,
        args: impl IntoIterator<Item = ArgValues>,
    ) {
        if count > 0 {
            self.entry(syscall).join(count, seen, args, RunRelation::Same);
        }
    }

    /// Adds a recording of other runs: counts add up (to at most [`MAX_COUNT`]), sets of values are united. The
    /// result does not depend on the order in which recordings are merged. [`Merger`](super::Merger) merges many
    /// recordings faster, and recognizes runs that are given twice.
    pub fn merge(&mut self, other: Recording) {
        self.absorb(other);
        self.runs.sort();
    }

    /// Like [`merge`](Recording::merge), but the runs are not sorted.
    pub(super) fn absorb(&mut self, mut other: Recording) {
        if other.is_blank() {
            return;
        }
        if self.is_blank() {
            *self = other;
            return;
        }
        self.attribute();
        other.attribute();
        for (syscall, stats) in other.syscalls {
            match self.syscalls.entry(syscall) {
                Entry::Vacant(free) => _ = free.insert(stats),
                Entry::Occupied(mut known) => {
                    let SyscallStats { count, seen, common, args } = stats;
                    let known = known.get_mut();
                    known.common.intersect(&common);
                    known.join(count, seen, args, RunRelation::Different);
                }
            }
        }
        self.runs.append(&mut other.runs);
    }

    /// The labels that all runs have in common.
    pub(super) fn common_labels(&self) -> CommonLabels {
        CommonLabels::of_all(self.runs.iter().map(|run| &run.labels))
    }

    /// Sets the labels that all runs have in common that made a syscall.
    pub(super) fn set_common_labels(&mut self, syscall: SyscallId, labels: CommonLabels) {
        if let Some(stats) = self.syscalls.get_mut(&syscall) {
            stats.common = labels;
        }
    }

    /// Adds a label to all runs that have none with this key.
    pub fn label(&mut self, key: &str, value: &str) {
        let label = |run: &mut Run| {
            run.labels.entry(key.to_owned()).or_insert_with(|| value.to_owned());
        };
        if self.runs.is_empty() {
            self.runs.push(Run::default());
        }
        let had_any = self.runs.iter().any(|run| run.labels.contains_key(key));
        self.runs.iter_mut().for_each(label);
        // If some runs had another value, syscalls of the others are not known.
        if self.runs.len() > 1 && !had_any {
            self.syscalls.values_mut().for_each(|stats| stats.common.insert(key, value));
        }
    }

    fn is_blank(&self) -> bool {
        self.syscalls.is_empty() && self.runs.is_empty()
    }

    /// Identifies the run of a recording of one run, so that others can be distinguished from it.
    fn attribute(&mut self) {
        if self.runs.is_empty() {
            self.runs.push(Run::default());
        }
        if let [run] = self.runs.as_mut_slice() {
            let id = run.id.unwrap_or_else(|| RunId::Digest(digest(&(&*run, &self.syscalls))));
            run.id = Some(id);
            let labels = CommonLabels::of(run.labels.clone());
            self.syscalls.values_mut().for_each(|stats| stats.attribute(id.bits(), &labels));
        }
    }

    pub(super) fn sort_runs(&mut self) {
        self.runs.sort();
    }

    /// Keeps only the syscalls for which `wanted` returns true, and all runs.
    pub fn retain(&mut self, mut wanted: impl FnMut(SyscallId) -> bool) {
        self.syscalls.retain(|syscall, _| wanted(*syscall));
    }

    /// The syscalls, ordered by architecture and number.
    pub fn syscalls(&self) -> impl ExactSizeIterator<Item = (SyscallId, &SyscallStats)> {
        self.syscalls.iter().map(|(syscall, stats)| (*syscall, stats))
    }

    /// The entry of one syscall.
    pub fn get(&self, syscall: SyscallId) -> Option<&SyscallStats> {
        self.syscalls.get(&syscall)
    }

    /// The sum of all counts.
    pub fn total(&self) -> u64 {
        self.syscalls.values().fold(0, |sum: u64, stats| sum.saturating_add(stats.count))
    }

    /// Whether the recording has no syscalls.
    pub fn is_empty(&self) -> bool {
        self.syscalls.is_empty()
    }

    /// The recorded runs; sorted if recordings were merged.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The recorded runs, to add what is known only at the end of a run, before anything is merged.
    pub fn runs_mut(&mut self) -> &mut [Run] {
        &mut self.runs
    }

    /// The caveats of all runs, one per identifier, including lost syscalls.
    pub fn caveats(&self) -> Vec<Caveat> {
        combined_caveats(&self.runs)
    }

    /// Adds a run.
    pub fn push_run(&mut self, run: Run) {
        self.runs.push(run);
    }
}
