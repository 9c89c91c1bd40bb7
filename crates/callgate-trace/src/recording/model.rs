//! The model of a recording.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::caveat::{self, Caveat};
use super::values::{Join, Values};
use callgate_bpf::syscalls::{self, Arch};

/// The largest count of a call; counts that add up to more stay at it.
pub const MAX_COUNT: u64 = i64::MAX as u64;

/// A call as a filter sees it: the interface and the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId {
    /// Whose call it is.
    pub arch: Arch,
    /// Its number; x32's with its bit.
    pub nr: u32,
}

impl CallId {
    /// A call of an architecture by its number.
    pub const fn new(arch: Arch, nr: u32) -> CallId {
        CallId { arch, nr }
    }

    /// The call of the arch token and the number that a filter sees; `None` for an unknown token.
    pub fn of(token: u32, nr: u32) -> Option<CallId> {
        Arch::of_call(token, nr).map(|arch| CallId { arch, nr })
    }

    /// Its name; `None` when our tables do not know the number.
    pub fn name(self) -> Option<&'static str> {
        self.arch.call_name(self.nr)
    }

    /// How many arguments are worth keeping: the registers behind them hold anything. On 32-bit
    /// interfaces all six, because some calls pass a wide argument in two of them.
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

/// What was seen of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    count: u64,
    runs: u64,
    args: Vec<Values>,
}

impl Seen {
    pub(crate) fn new(call: CallId) -> Seen {
        Seen { count: 0, runs: 1, args: vec![Values::default(); call.arity()] }
    }

    /// How often the call was made, at most [`MAX_COUNT`].
    pub fn count(&self) -> u64 {
        self.count
    }

    /// In how many runs the call was made: 1 unless recordings were merged.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// What was seen of its arguments, as many as it has.
    pub fn args(&self) -> &[Values] {
        &self.args
    }

    /// Whether the value of an argument was seen each time that the call was made.
    pub fn is_known(&self, arg: usize) -> bool {
        self.args.get(arg).is_some_and(|values| values.observed() >= self.count)
    }

    /// More calls of the same run of which nothing else is known.
    pub(crate) fn add(&mut self, count: u64) {
        self.count = self.count.saturating_add(count).min(MAX_COUNT);
    }

    /// One more call of the same run, with the values that are known.
    pub(crate) fn observe(&mut self, args: impl IntoIterator<Item = Option<u64>>) {
        self.add(1);
        for (values, arg) in self.args.iter_mut().zip(args) {
            if let Some(arg) = arg {
                values.observe(arg);
            }
        }
    }

    fn join(&mut self, count: u64, runs: u64, args: impl IntoIterator<Item = Values>, join: Join) {
        self.add(count);
        self.runs = join.join(self.runs, runs);
        for (values, more) in self.args.iter_mut().zip(args) {
            values.join(&more, join);
        }
    }
}

/// How calls became known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// The kernel counted them at its tracepoint `raw_syscalls:sys_enter`.
    Tracepoint,
    /// A tracer saw each of them.
    Ptrace,
    /// A log of strace.
    Strace,
    /// Records of the audit log about what a filter logged or denied.
    Audit,
    /// A list of counts: two columns, `strace -c`, `perf trace -s`.
    Counts,
    /// It is not said.
    #[default]
    Unknown,
}

impl How {
    /// All ways.
    pub const ALL: &'static [How] =
        &[How::Tracepoint, How::Ptrace, How::Strace, How::Audit, How::Counts, How::Unknown];

    /// Its name in a recording.
    pub const fn name(self) -> &'static str {
        match self {
            How::Tracepoint => "tracepoint",
            How::Ptrace => "ptrace",
            How::Strace => "strace",
            How::Audit => "audit",
            How::Counts => "counts",
            How::Unknown => "unknown",
        }
    }
}

/// One thing that was recorded: a run of a command, or a log.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    /// How its calls became known.
    pub how: How,
    /// The command and its arguments; bytes that are no UTF-8 are replaced. Empty when not known.
    pub command: Vec<String>,
    /// Whether the first call is the `execve` of the command itself, so that what its parent did
    /// before is not in the counts. Otherwise it is not known what came first.
    pub from_execve: bool,
    /// The processes, where they were counted, the command itself among them.
    pub processes: Option<u64>,
    /// The threads of all processes, where they were counted.
    pub threads: Option<u64>,
    /// The calls that happened but are not in the counts.
    pub lost: u64,
    /// The status with which the command ended, 128 and the number for a signal.
    pub status: Option<u8>,
    /// The release of the kernel, as `uname -r` prints it.
    pub kernel: Option<String>,
    /// The version of Callgate that recorded.
    pub callgate: Option<String>,
    /// What is to be said against it.
    pub caveats: Vec<Caveat>,
}

/// What programs called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    calls: BTreeMap<CallId, Seen>,
    runs: Vec<Run>,
}

impl Recording {
    /// A recording of one run, without calls as yet.
    pub fn of(run: Run) -> Recording {
        Recording::of_calls(run, [])
    }

    /// A recording of one run with these calls, each of which is there once.
    pub(crate) fn of_calls(run: Run, calls: impl IntoIterator<Item = (CallId, Seen)>) -> Recording {
        Recording { calls: calls.into_iter().collect(), runs: vec![run] }
    }

    fn entry(&mut self, call: CallId) -> &mut Seen {
        self.calls.entry(call).or_insert_with(|| Seen::new(call))
    }

    /// One call with the six values in its argument registers. Those that are no arguments of it are
    /// not kept.
    pub fn observe(&mut self, call: CallId, args: &[u64; 6]) {
        self.entry(call).observe(args.map(Some));
    }

    /// Calls of which nothing but the number is known; 0 is none.
    pub fn count(&mut self, call: CallId, count: u64) {
        self.add(call, count, []);
    }

    /// Calls of one run with what is known of their arguments from the first on; what there is in addition
    /// to the arguments that the call has is not kept, and 0 calls are none.
    pub fn add(&mut self, call: CallId, count: u64, args: impl IntoIterator<Item = Values>) {
        self.add_of_runs(call, count, 1, args);
    }

    /// The same for calls of several runs.
    pub fn add_of_runs(
        &mut self,
        call: CallId,
        count: u64,
        runs: u64,
        args: impl IntoIterator<Item = Values>,
    ) {
        if count > 0 {
            self.entry(call).join(count, runs, args, Join::Same);
        }
    }

    /// Takes a recording of other runs in: counts add up (to [`MAX_COUNT`] at the most), values unite. The
    /// result is the same in whatever order recordings are merged.
    pub fn merge(&mut self, other: Recording) {
        for (call, Seen { count, runs, args }) in other.calls {
            match self.calls.entry(call) {
                Entry::Vacant(free) => _ = free.insert(Seen { count, runs, args }),
                Entry::Occupied(mut known) => {
                    known.get_mut().join(count, runs, args, Join::Different);
                }
            }
        }
        self.runs.extend(other.runs);
        self.runs.sort();
    }

    /// Leaves some of the calls, and all runs.
    pub fn retain(&mut self, mut wanted: impl FnMut(CallId) -> bool) {
        self.calls.retain(|call, _| wanted(*call));
    }

    /// The calls, by architecture and number.
    pub fn calls(&self) -> impl ExactSizeIterator<Item = (CallId, &Seen)> {
        self.calls.iter().map(|(call, seen)| (*call, seen))
    }

    /// What was seen of one call.
    pub fn get(&self, call: CallId) -> Option<&Seen> {
        self.calls.get(&call)
    }

    /// How often something was called, together.
    pub fn total(&self) -> u64 {
        self.calls.values().fold(0, |sum: u64, seen| sum.saturating_add(seen.count))
    }

    /// Whether nothing was called.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// What was recorded; sorted when recordings were merged.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The same, to complete what is known only at the end of a run.
    pub fn runs_mut(&mut self) -> &mut [Run] {
        &mut self.runs
    }

    /// What is to be said against the runs, one for each kind, calls that got lost among them.
    pub fn caveats(&self) -> Vec<Caveat> {
        caveat::of(&self.runs)
    }

    /// Adds a run.
    pub fn push_run(&mut self, run: Run) {
        self.runs.push(run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::Effect;
    use proptest::prelude::*;

    #[test]
    fn only_arguments_are_kept() {
        let mut recording = Recording::default();
        let args = [1, 2, 3, 4, 5, 6];
        for (arch, nr, kept) in [
            (Arch::X86_64, 39, 0),
            (Arch::X86_64, 0, 3),
            (Arch::X32, 0x4000_0000, 3),
            (Arch::X86, 3, 6),
            (Arch::X86_64, 9999, 6),
        ] {
            let call = CallId::new(arch, nr);
            recording.observe(call, &args);
            recording.observe(call, &args);
            let seen = recording.get(call).unwrap();
            assert_eq!((seen.count(), seen.args().len()), (2, kept), "{call:?}");
            assert_eq!(seen.is_known(0), kept > 0);
        }
        assert_eq!(recording.total(), 10);
    }

    #[test]
    fn counts_stop_at_the_largest() {
        let call = CallId::new(Arch::X86_64, 0);
        let mut recording = Recording::default();
        recording.count(call, u64::MAX);
        recording.count(call, 5);
        let other = recording.clone();
        recording.merge(other);
        assert_eq!(recording.get(call).unwrap().count(), MAX_COUNT);
    }

    #[test]
    fn nothing_called_is_no_call() {
        let mut recording = Recording::default();
        recording.count(CallId::new(Arch::X86_64, 0), 0);
        assert!(recording.is_empty());
    }

    #[test]
    fn a_merge_has_the_calls_and_runs_of_both() {
        let mut a = Recording::of(Run { command: vec!["a".into()], ..Run::default() });
        let mut b = Recording::of(Run { command: vec!["b".into()], ..Run::default() });
        let close = CallId::new(Arch::X86_64, 3);
        let unknown = CallId::new(Arch::X86_64, 4000);
        a.observe(close, &[1; 6]);
        b.observe(close, &[2; 6]);
        b.observe(unknown, &[3; 6]);
        a.merge(b);
        let commands: Vec<_> = a.runs().iter().map(|run| run.command.concat()).collect();
        assert_eq!(commands, ["a", "b"]);
        assert_eq!(a.get(close).unwrap().args()[0].all(), Some(&[1, 2][..]));
        assert!(a.get(unknown).unwrap().is_known(5));
        assert_eq!(a.calls().len(), 2);
    }
    fn run() -> impl Strategy<Value = Run> {
        let caveat = prop::sample::select(vec!["denied-calls", "lost-calls", "from-tomorrow"]);
        let caveats = prop::collection::vec((caveat, prop::option::of(0_u64..4)), 0..3);
        (prop::sample::select(vec!["a", "b"]), 0_u64..3, caveats).prop_map(
            |(word, lost, caveats)| {
                let caveats = caveats.into_iter().map(|(id, count)| Caveat {
                    id: id.to_owned(),
                    effect: Effect::Altered,
                    count,
                    text: "it was so".to_owned(),
                });
                Run {
                    command: vec![word.to_owned()],
                    lost,
                    caveats: caveats.collect(),
                    ..Run::default()
                }
            },
        )
    }

    /// A recording of one run, with few and many, known and unknown values, and counts at the end.
    fn recording() -> impl Strategy<Value = Recording> {
        let value = prop_oneof![0_u64..4, 0_u64..40, any::<u64>()];
        let nr = prop::sample::select(vec![3_u32, 16, 41, 41, 5000]);
        let count = prop_oneof![4 => 1_u64..4, 1 => Just(MAX_COUNT)];
        let observed = (nr.clone(), prop::array::uniform6(value), 1_usize..3);
        let observed = prop::collection::vec(observed, 0..50);
        let counted = prop::collection::vec((nr, count), 0..2);
        (run(), observed, counted).prop_map(|(run, observed, counted)| {
            let mut recording = Recording::of(run);
            for (nr, args, times) in observed {
                (0..times).for_each(|_| recording.observe(CallId::new(Arch::X86_64, nr), &args));
            }
            for (nr, count) in counted {
                recording.count(CallId::new(Arch::X86_64, nr), count);
            }
            recording
        })
    }

    fn merged(parts: &[&Recording]) -> Recording {
        let mut all = Recording::default();
        parts.iter().for_each(|part| all.merge((*part).clone()));
        all
    }

    proptest! {
        #[test]
        fn recordings_are_merged_in_any_order_and_grouping(
            a in recording(), b in recording(), c in recording(),
        ) {
            let all = merged(&[&a, &b, &c]);
            prop_assert_eq!(&merged(&[&c, &a, &b]), &all);
            prop_assert_eq!(&merged(&[&merged(&[&a, &b]), &c]), &all);
            prop_assert_eq!(&merged(&[&b, &merged(&[&c, &a])]), &all);
            // A file in between changes nothing.
            let options = crate::read::Options {
                arch: Arch::X86_64, strict: true, partial: false,
            };
            for recording in [&a, &all] {
                if recording.is_empty() {
                    continue;
                }
                let read = crate::read::read(&recording.to_json(), &options).unwrap();
                prop_assert_eq!(&read.recording, recording);
            }
            // How many runs had a call, and a value, is known.
            for (call, seen) in all.calls() {
                let had = [&a, &b, &c].into_iter().filter_map(|part| part.get(call));
                prop_assert_eq!(seen.runs(), had.clone().count() as u64);
                for (index, values) in seen.args().iter().enumerate() {
                    for (value, runs) in values.runs() {
                        let had = had.clone().filter(|seen| {
                            let all = seen.args().get(index).and_then(Values::all);
                            all.is_some_and(|all| all.contains(&value))
                        });
                        prop_assert_eq!(runs, had.count() as u64);
                    }
                }
            }
        }
    }
}
