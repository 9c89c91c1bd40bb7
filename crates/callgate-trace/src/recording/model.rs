//! The model of a recording: counts and argument values per syscall.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::caveat::Caveat;
use super::limits::MAX_COUNT;
use super::run::{Run, combined_caveats};
use super::syscall::SyscallId;
use super::values::{ArgValues, RunRelation};

/// How often a syscall was made, and the values of its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyscallStats {
    count: u64,
    runs: u64,
    args: Vec<ArgValues>,
}

impl SyscallStats {
    pub(crate) fn new(syscall: SyscallId) -> SyscallStats {
        SyscallStats { count: 0, runs: 1, args: vec![ArgValues::default(); syscall.arity()] }
    }

    /// How often the syscall was made, at most [`MAX_COUNT`].
    pub fn count(&self) -> u64 {
        self.count
    }

    /// In how many runs the syscall was made: 1 unless recordings were merged.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// The values of each argument that the syscall has.
    pub fn args(&self) -> &[ArgValues] {
        &self.args
    }

    /// Whether the value of an argument is known for every occurrence.
    pub fn is_known(&self, arg: usize) -> bool {
        self.args.get(arg).is_some_and(|values| values.observed() >= self.count)
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

    fn join(
        &mut self,
        count: u64,
        runs: u64,
        args: impl IntoIterator<Item = ArgValues>,
        relation: RunRelation,
    ) {
        self.add(count);
        self.runs = relation.total_runs(self.runs, runs);
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
        self.add_of_runs(syscall, count, 1, args);
    }

    /// Like [`add`](Recording::add), for occurrences of several runs.
    pub(crate) fn add_of_runs(
        &mut self,
        syscall: SyscallId,
        count: u64,
        runs: u64,
        args: impl IntoIterator<Item = ArgValues>,
    ) {
        if count > 0 {
            self.entry(syscall).join(count, runs, args, RunRelation::Same);
        }
    }

    /// Adds a recording of other runs: counts add up (to at most [`MAX_COUNT`]), sets of values are united. The
    /// result does not depend on the order in which recordings are merged.
    pub fn merge(&mut self, other: Recording) {
        for (syscall, SyscallStats { count, runs, args }) in other.syscalls {
            match self.syscalls.entry(syscall) {
                Entry::Vacant(free) => _ = free.insert(SyscallStats { count, runs, args }),
                Entry::Occupied(mut known) => {
                    known.get_mut().join(count, runs, args, RunRelation::Different);
                }
            }
        }
        self.runs.extend(other.runs);
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

    /// The recorded runs, to add what is known only at the end of a run.
    pub(crate) fn runs_mut(&mut self) -> &mut [Run] {
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
