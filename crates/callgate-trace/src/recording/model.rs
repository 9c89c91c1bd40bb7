//! The model of a recording: counts and argument values per syscall.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::call::CallId;
use super::caveat::Caveat;
use super::limits::MAX_COUNT;
use super::run::{Run, combined_caveats};
use super::values::{ArgValues, RunRelation};

/// How often a syscall was made, and the values of its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallStats {
    count: u64,
    runs: u64,
    args: Vec<ArgValues>,
}

impl CallStats {
    pub(crate) fn new(call: CallId) -> CallStats {
        CallStats { count: 0, runs: 1, args: vec![ArgValues::default(); call.arity()] }
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

    /// Whether the value of an argument is known for every call.
    pub fn is_known(&self, arg: usize) -> bool {
        self.args.get(arg).is_some_and(|values| values.observed() >= self.count)
    }

    /// Adds calls of the same run whose values are not known.
    pub(crate) fn add(&mut self, count: u64) {
        self.count = self.count.saturating_add(count).min(MAX_COUNT);
    }

    /// Adds one call of the same run, with the known values.
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
    calls: BTreeMap<CallId, CallStats>,
    runs: Vec<Run>,
}

impl Recording {
    /// A recording of one run, without syscalls yet.
    pub fn of(run: Run) -> Recording {
        Recording::of_calls(run, [])
    }

    /// A recording of one run with these syscalls, each of which is given once.
    pub(crate) fn of_calls(
        run: Run,
        calls: impl IntoIterator<Item = (CallId, CallStats)>,
    ) -> Recording {
        Recording { calls: calls.into_iter().collect(), runs: vec![run] }
    }

    fn entry(&mut self, call: CallId) -> &mut CallStats {
        self.calls.entry(call).or_insert_with(|| CallStats::new(call))
    }

    /// Adds one call with the values of its six argument registers. Registers that the syscall ignores are not
    /// kept.
    pub fn observe(&mut self, call: CallId, args: &[u64; 6]) {
        self.entry(call).observe(args.map(Some));
    }

    /// Adds calls whose arguments are not known; a `count` of 0 adds no entry.
    pub fn count(&mut self, call: CallId, count: u64) {
        self.add(call, count, []);
    }

    /// Adds calls of one run with the values of their arguments, starting with the first. Values beyond the
    /// arguments of the syscall are not kept; a `count` of 0 adds no entry.
    pub fn add(&mut self, call: CallId, count: u64, args: impl IntoIterator<Item = ArgValues>) {
        self.add_of_runs(call, count, 1, args);
    }

    /// Like [`add`](Recording::add), for calls of several runs.
    pub fn add_of_runs(
        &mut self,
        call: CallId,
        count: u64,
        runs: u64,
        args: impl IntoIterator<Item = ArgValues>,
    ) {
        if count > 0 {
            self.entry(call).join(count, runs, args, RunRelation::Same);
        }
    }

    /// Adds a recording of other runs: counts add up (to at most [`MAX_COUNT`]), sets of values are united. The
    /// result does not depend on the order in which recordings are merged.
    pub fn merge(&mut self, other: Recording) {
        for (call, CallStats { count, runs, args }) in other.calls {
            match self.calls.entry(call) {
                Entry::Vacant(free) => _ = free.insert(CallStats { count, runs, args }),
                Entry::Occupied(mut known) => {
                    known.get_mut().join(count, runs, args, RunRelation::Different);
                }
            }
        }
        self.runs.extend(other.runs);
        self.runs.sort();
    }

    /// Keeps only the syscalls for which `wanted` returns true, and all runs.
    pub fn retain(&mut self, mut wanted: impl FnMut(CallId) -> bool) {
        self.calls.retain(|call, _| wanted(*call));
    }

    /// The syscalls, ordered by architecture and number.
    pub fn calls(&self) -> impl ExactSizeIterator<Item = (CallId, &CallStats)> {
        self.calls.iter().map(|(call, stats)| (*call, stats))
    }

    /// The entry of one syscall.
    pub fn get(&self, call: CallId) -> Option<&CallStats> {
        self.calls.get(&call)
    }

    /// The sum of all counts.
    pub fn total(&self) -> u64 {
        self.calls.values().fold(0, |sum: u64, stats| sum.saturating_add(stats.count))
    }

    /// Whether the recording has no syscalls.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The recorded runs; sorted if recordings were merged.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The recorded runs, to add what is known only at the end of a run.
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
