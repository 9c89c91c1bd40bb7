//! Chooses for each recorded syscall a stand-in: a syscall that can be measured in a loop.
//!
//! The cost of a filter depends on the number of instructions that it executes, not on the syscall. So a stand-in is a
//! syscall for which the filters execute as many instructions, or nearly as many.

use super::call::ProcessCall;
use crate::subject::{Subject, Treatment};
use crate::syscalls::MeasurableSyscall;

/// The most stand-ins.
const MOST_MEASURED: usize = 16;

/// The most combinations of recorded arguments that are tried for a syscall.
const MOST_TRIED: usize = 64;

/// What the filters do with a recorded syscall, and its stand-ins.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The least and the largest number of executed instructions; if the kernel's cache answers the syscall, the kernel executes
    /// none of them.
    pub executed: (usize, usize),
    /// Whether the kernel's cache answers it.
    pub is_cached: bool,
    /// Whether the filters deny it, with some and with all of the recorded arguments.
    pub is_denied: (bool, bool),
    /// Whether arguments may be missing in the recording. With those, the filters may execute more or fewer instructions.
    pub is_uncertain: bool,
    /// The indices of the stand-ins for the least and for the largest number of instructions; `None` if there is none.
    pub measured: Option<(usize, usize)>,
}

/// The paths of all recorded syscalls.
#[derive(Clone, Debug)]
pub struct Paths {
    measured: Vec<Candidate>,
    of_calls: Vec<Path>,
}

/// A syscall that can be measured under the filters.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    call: MeasurableSyscall,
    is_cached: bool,
    executed: usize,
}

impl Candidate {
    /// `None` if the filters deny it: the kernel would skip it, so its time would not be theirs.
    fn of(call: MeasurableSyscall, filters: &Subject) -> Option<Candidate> {
        let data = call.data();
        let treatment = filters.treatment(&data);
        let is_cached = treatment == Treatment::Cached;
        let candidate = Candidate { call, is_cached, executed: filters.executed(&data) };
        (treatment != Treatment::Denied).then_some(candidate)
    }
}

impl Paths {
    /// Finds the stand-ins of each syscall. `calls` starts with the most frequent ones, because there are at most 16 stand-ins.
    pub fn of(calls: &[ProcessCall], filters: &Subject) -> Paths {
        // A signal frame costs more than most filters.
        let usable = MeasurableSyscall::all().filter(|call| !call.is_signal_return());
        let all = usable.filter_map(|call| Candidate::of(call, filters)).collect::<Vec<_>>();
        let mut paths = Paths { measured: Vec::new(), of_calls: Vec::new() };
        for call in calls {
            let path = paths.path(call, filters, &all);
            paths.of_calls.push(path);
        }
        paths
    }

    /// The syscalls to measure.
    pub fn measured(&self) -> impl Iterator<Item = MeasurableSyscall> + '_ {
        self.measured.iter().map(|one| one.call)
    }

    /// The number of instructions that the filters execute for a measured syscall.
    pub fn executed(&self, measured: usize) -> Option<usize> {
        self.measured.get(measured).map(|one| one.executed)
    }

    /// The path of each syscall, in their order.
    pub fn of_calls(&self) -> &[Path] {
        &self.of_calls
    }

    fn path(&mut self, call: &ProcessCall, filters: &Subject, all: &[Candidate]) -> Path {
        let treatments = || call.seen.iter().map(|data| filters.treatment(data));
        let denied = |treatment: Treatment| treatment == Treatment::Denied;
        let executed = || call.seen.iter().map(|data| filters.executed(data));
        let least = executed().min().unwrap_or_default();
        let most = executed().max().unwrap_or_default();
        // The cache looks at the number alone.
        let is_cached = treatments().all(|treatment| treatment == Treatment::Cached);
        // The syscall itself: first with its safe arguments, then with recorded arguments that are safe as well.
        let with_args = |own: MeasurableSyscall| {
            let seen = call.seen.iter().take(MOST_TRIED);
            let chosen = seen.filter_map(move |data| own.with_args(data.args).ok());
            std::iter::once(own).chain(chosen)
        };
        let own = call.stand_in.into_iter().flat_map(with_args);
        let own: Vec<_> = own.filter_map(|call| Candidate::of(call, filters)).collect();
        let mut stand_in = |executed| self.stand_in(&own, is_cached, executed, all);
        let measured = stand_in(least).zip(stand_in(most));
        Path {
            executed: (least, most),
            is_cached,
            is_denied: (treatments().any(denied), treatments().all(denied)),
            is_uncertain: call.are_others,
            measured,
        }
    }

    /// The index of the stand-in with the nearest number of instructions. Of several, the recorded syscall itself is preferred
    /// (`own`), then one that is measured already.
    fn stand_in(
        &mut self,
        own: &[Candidate],
        is_cached: bool,
        executed: usize,
        all: &[Candidate],
    ) -> Option<usize> {
        let is_full = self.measured.len() >= MOST_MEASURED;
        let known = self.measured.iter().copied();
        let others = own.iter().copied().chain(known.clone()).chain(all.iter().copied());
        let distance = |one: &Candidate| one.executed.abs_diff(executed);
        let usable = |one: &Candidate| one.is_cached == is_cached;
        // The first of several.
        let nearest = match is_full {
            true => known.filter(usable).min_by_key(distance),
            false => others.filter(usable).min_by_key(distance),
        }?;
        let at = self.measured.iter().position(|one| one.call == nearest.call);
        Some(at.unwrap_or_else(|| {
            self.measured.push(nearest);
            self.measured.len() - 1
        }))
    }
}

#[cfg(test)]
mod tests {
    use callgate::Verdict;
    use callgate_core::{Insn, Op, Program};

    use super::super::call::ArgumentValues;
    use super::*;

    /// `getpid` and `gettid` are allowed by number; others have their first argument compared `checks` times, and are allowed, or
    /// denied if it is 5.
    fn filters(checks: usize) -> Subject {
        let number = |name: &str| MeasurableSyscall::find(name).unwrap().data().nr;
        let mut insns = vec![
            Insn::new(Op::LdWordAbs, 0),
            Insn::branch(Op::JeqK, number("getpid"), 2, 0),
            Insn::branch(Op::JeqK, number("gettid"), 1, 0),
            Insn::new(Op::Ja, 1),
            Insn::new(Op::RetK, Verdict::ALLOW.0),
            Insn::new(Op::LdWordAbs, 16),
        ];
        insns.extend((0..checks).map(|_| Insn::branch(Op::JeqK, 6, 0, 0)));
        insns.extend([
            Insn::branch(Op::JeqK, 5, 0, 1),
            Insn::new(Op::RetK, Verdict::errno(1).0),
            Insn::branch(Op::JeqK, 7, 1, 0),
            Insn::new(Op::Ja, 0),
            Insn::new(Op::RetK, Verdict::ALLOW.0),
        ]);
        Subject::new("x", Program::new(insns)).unwrap()
    }

    fn recorded(name: &str, first: &[u64], filters: &Subject) -> ProcessCall {
        let arch = callgate::Arch::native().unwrap();
        let nr = callgate_bpf::SyscallTable::number(arch, name).unwrap();
        let args = [ArgumentValues::All(first.to_vec())];
        let stand_in = MeasurableSyscall::find(name);
        ProcessCall::new(name, 1, (arch.token(), nr), &args, stand_in, filters)
    }

    fn of(calls: &[(&str, &[u64])]) -> (Paths, Vec<String>) {
        let filters = filters(20);
        let calls: Vec<_> =
            calls.iter().map(|(name, first)| recorded(name, first, &filters)).collect();
        let paths = Paths::of(&calls, &filters);
        let measured = paths.measured().map(|call| call.name.to_owned()).collect();
        (paths, measured)
    }

    #[test]
    fn a_syscall_stands_for_itself_if_it_takes_the_same_path() {
        let (paths, measured) = of(&[("gettid", &[]), ("close", &[3]), ("getpid", &[])]);
        assert_eq!(measured, ["gettid", "close", "getpid"]);
        let [gettid, close, getpid] = paths.of_calls() else { panic!("{paths:?}") };
        assert!(gettid.is_cached && !close.is_cached && getpid.is_cached);
        assert_eq!((gettid.measured, close.measured), (Some((0, 0)), Some((1, 1))));
        assert_eq!((getpid.measured, getpid.executed), (Some((2, 2)), (3, 3)));
        assert_eq!((close.is_denied, close.is_uncertain), ((false, false), false));
    }

    #[test]
    fn what_cannot_be_made_takes_the_nearest_path() {
        let (paths, measured) = of(&[("exit_group", &[0]), ("close", &[3])]);
        let [exit, close] = paths.of_calls() else { panic!("{paths:?}") };
        let stand_in = exit.measured.unwrap();
        assert_eq!(paths.executed(stand_in.0), Some(exit.executed.0), "{measured:?}");
        assert_eq!(exit.executed, close.executed);
        assert!(!measured.contains(&"exit_group".to_owned()));
    }

    #[test]
    fn a_denied_syscall_costs_what_an_allowed_one_costs() {
        let (paths, measured) = of(&[("close", &[5])]);
        let [close] = paths.of_calls() else { panic!("{paths:?}") };
        assert_eq!(close.is_denied, (true, true));
        // One instruction less than if it were allowed, with any measurable syscall.
        assert!(paths.executed(0).unwrap().abs_diff(close.executed.0) <= 2, "{measured:?}");
        assert_eq!(close.measured, Some((0, 0)));
    }

    #[test]
    fn arguments_may_select_the_path() {
        let (paths, _) = of(&[("close", &[3, 5, 7])]);
        let [close] = paths.of_calls() else { panic!("{paths:?}") };
        assert_eq!(close.is_denied, (true, false));
        assert!(close.executed.0 < close.executed.1, "{close:?}");
        // The value 7 is on the shortest path that is allowed.
        let shown: Vec<String> = paths.measured().map(|call| call.show()).collect();
        assert_eq!(shown, ["close(7)", "close(-1)"]);
    }

    #[test]
    fn no_more_syscalls_are_measured_than_the_limit() {
        let names: Vec<&str> = MeasurableSyscall::all().map(|call| call.name).take(60).collect();
        let calls: Vec<(&str, &[u64])> = names.iter().map(|name| (*name, &[3][..])).collect();
        let (paths, measured) = of(&calls);
        assert_eq!(measured.len(), MOST_MEASURED);
        assert!(paths.of_calls().iter().all(|path| path.measured.is_some()));
    }
}
