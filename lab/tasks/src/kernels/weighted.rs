//! The mean cost of a filter under weights.
//!
//! The cost of a filter does not depend on what a syscall does, so syscalls are made with arguments that make them
//! fail early, all ones. If a filter permits a syscall only with other arguments, the relevant ones are set, and
//! the rest are ones. The same syscall with the same arguments is also timed without a filter.

use callgate_bpf::SyscallTable;
use std::collections::BTreeMap;

use callgate::{Arch, SeccompData, Verdict};
use callgate_codegen::Count;
use callgate_core::Program;

use super::answers::Answers;
use super::plan::{Call, Line, Plan};
use super::programs::{Candidate, harmless};

/// Syscalls that are not made at all: they do not return, end or stop the process, or affect other processes.
const NOT_MADE: [&str; 13] = [
    "exit",
    "exit_group",
    "fork",
    "vfork",
    "clone",
    "clone3",
    "pause",
    "restart_syscall",
    "rt_sigreturn",
    "sched_yield",
    "sigreturn",
    "sync",
    "vhangup",
];

/// Arguments with which syscalls fail: closed descriptors, invalid addresses and flags.
const USELESS: [u64; 6] = [u64::MAX; 6];

/// The programs of a guest, and the syscalls with which each is timed.
pub(super) struct Weighted {
    /// The total weight, including syscalls that are not made.
    whole: f64,
    filters: Vec<Filter>,
    /// All syscalls with which a program is timed, and their rows.
    rows: BTreeMap<Made, usize>,
}

/// A number and arguments.
type Made = (u32, [u64; 6]);

struct Filter {
    /// Without verdicts that end a process; `None` if it computes its verdicts.
    program: Option<Program>,
    /// The permitted syscalls and their weights.
    calls: Vec<(Made, f64)>,
}

/// The lines of the plan: without a filter, and under each.
pub(super) struct WeighedLines {
    without: Line,
    with: Vec<Option<Line>>,
}

/// The mean cost that a filter adds to a syscall.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Overhead {
    pub(super) instructions: f64,
    /// The share of the weight that the mean covers: syscalls that are made and permitted.
    pub(super) share: f64,
}

impl Weighted {
    /// Selects the syscalls for each program.
    pub(super) fn new<'a>(
        arch: Arch,
        counts: &[Count],
        candidates: impl Iterator<Item = (&'a Candidate, &'a Vec<SeccompData>)>,
    ) -> Weighted {
        let of_arch = counts.iter().filter(|count| count.arch.is_none_or(|of| of == arch));
        let mut weights: BTreeMap<u32, (&str, f64)> = BTreeMap::new();
        for count in of_arch {
            if let Some(nr) = arch.number(&count.name) {
                weights.entry(nr).or_insert((&count.name, 0.0)).1 += count.count;
            }
        }
        let whole = weights.values().map(|(_, count)| count).sum();
        weights.retain(|_, (name, _)| !NOT_MADE.contains(name));
        let mut rows: BTreeMap<Made, usize> = BTreeMap::new();
        let filter = |(candidate, calls): (&Candidate, &Vec<SeccompData>)| {
            let permitted =
                permitted(arch, &candidate.program, calls, rows.keys().copied(), &weights);
            let mut calls = Vec::new();
            for made in permitted {
                let next = rows.len();
                rows.entry(made).or_insert(next);
                calls.push((made, weights.get(&made.0).map_or(0.0, |(_, count)| *count)));
            }
            Filter { program: harmless(&candidate.program), calls }
        };
        let filters = candidates.map(filter).collect();
        Weighted { whole, filters, rows }
    }

    /// Adds the syscalls to the plan.
    pub(super) fn plan(&self, plan: &mut Plan) -> WeighedLines {
        let call = |(nr, args): Made| Call::plain(nr, args);
        let mut all: Vec<(usize, Made)> =
            self.rows.iter().map(|(made, row)| (*row, *made)).collect();
        all.sort_unstable();
        let all: Vec<Call> = all.into_iter().map(|(_, made)| call(made)).collect();
        let without = plan.time(&all, &[]);
        let with = self.filters.iter().map(|filter| {
            let calls: Vec<Call> = filter.calls.iter().map(|(made, _)| call(*made)).collect();
            Some(plan.time(&calls, std::slice::from_ref(filter.program.as_ref()?)))
        });
        WeighedLines { without, with: with.collect() }
    }

    /// The cost of each program; `None` if it could not be timed, or permits none of the syscalls.
    pub(super) fn overheads(
        &self,
        lines: &WeighedLines,
        answers: &Answers,
    ) -> Vec<Option<Overhead>> {
        let overhead = |(filter, line): (&Filter, &Option<Line>)| {
            let (mut sum, mut weight) = (0.0, 0.0);
            for (row, (made, count)) in filter.calls.iter().enumerate() {
                let without = answers.time(lines.without, *self.rows.get(made)?)?;
                sum += count * (answers.time((*line)?, row)? - without);
                weight += count;
            }
            let share = weight / self.whole;
            (weight > 0.0).then(|| Overhead { instructions: sum / weight, share })
        };
        self.filters.iter().zip(&lines.with).map(overhead).collect()
    }
}

/// For each number with weight, a syscall that the program permits, if one is known: from `known`, so that
/// equivalent programs are timed with the same syscalls, otherwise one derived from `calls`.
fn permitted(
    arch: Arch,
    program: &Program,
    calls: &[SeccompData],
    known: impl Iterator<Item = Made>,
    weights: &BTreeMap<u32, (&str, f64)>,
) -> BTreeMap<u32, [u64; 6]> {
    let permits = |nr: u32, args: [u64; 6]| {
        let data = SeccompData { nr, arch: arch.token(), args, ..SeccompData::default() };
        program.run(&data, arch.endian()).verdict == Verdict::ALLOW
    };
    let mut found: BTreeMap<u32, [u64; 6]> = BTreeMap::new();
    for (nr, args) in weights.keys().map(|nr| (*nr, USELESS)).chain(known) {
        if !found.contains_key(&nr) && permits(nr, args) {
            found.insert(nr, args);
        }
    }
    for data in calls.iter().filter(|data| data.arch == arch.token()) {
        let (nr, mut args) = (data.nr, data.args);
        if weights.contains_key(&nr) && !found.contains_key(&nr) && permits(nr, args) {
            for place in 0..args.len() {
                let matters = std::mem::replace(&mut args[place], u64::MAX);
                if !permits(nr, args) {
                    args[place] = matters;
                }
            }
            found.insert(nr, args);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::programs;

    const ARCH: Arch = Arch::X86_64;

    fn data(name: &str, args: [u64; 6]) -> SeccompData {
        let nr = ARCH.number(name).unwrap();
        SeccompData { nr, arch: ARCH.token(), args, ..SeccompData::default() }
    }

    /// The syscalls for a list that tests the argument of umask.
    fn weighted(calls: &Vec<SeccompData>) -> Weighted {
        let count = |name: &str, count| Count { arch: None, name: name.to_owned(), count };
        let counts = [
            count("read", 2.0),
            count("umask", 1.0),
            count("kill", 1.0),
            count("exit", 4.0),
            count("s390_pci_mmio_read", 9.0),
        ];
        let candidate = Candidate {
            name: String::new(),
            program: programs::list(ARCH, true).unwrap(),
            policy: None,
            arches: Vec::new(),
            is_weighed: true,
        };
        Weighted::new(ARCH, &counts, [(&candidate, calls)].into_iter())
    }

    #[test]
    fn arguments_that_do_not_matter_are_useless_ones() {
        let calls = vec![data("umask", [0o1000; 6]), data("umask", [0o22; 6])];
        let mut args = USELESS;
        args[0] = 0o22;
        let umask = data("umask", args);
        let read = data("read", USELESS);
        let made: Vec<Made> = weighted(&calls).rows.into_keys().collect();
        assert_eq!(made, [(read.nr, read.args), (umask.nr, umask.args)]);
    }

    #[test]
    fn programs_that_permit_the_same_get_the_same_arguments() {
        let program = programs::list(ARCH, true).unwrap();
        let umask = data("umask", [0; 6]).nr;
        let weights = BTreeMap::from([(umask, ("umask", 1.0))]);
        let calls = [data("umask", [0o22; 6])];
        let known = [(umask, [0o1000; 6]), (umask, [0o77; 6]), (umask, [1; 6])];
        let found = permitted(ARCH, &program, &calls, known.into_iter(), &weights);
        assert_eq!(found, BTreeMap::from([(umask, [0o77; 6])]));
    }

    #[test]
    fn the_mean_is_over_calls_that_are_made_and_permitted() {
        let mean = |calls, answers: &str| {
            let weighted = weighted(&calls);
            let lines = weighted.plan(&mut Plan::new(ARCH.endian()));
            let answers: Vec<String> = answers.lines().map(str::to_owned).collect();
            weighted.overheads(&lines, &Answers::read(&answers).unwrap())
        };
        let read = "time 0 0 100 1\ntime 1 0 130 1";
        let overhead = |instructions, share| [Some(Overhead { instructions, share })];
        assert_eq!(mean(vec![], read), overhead(30.0, 2.0 / 8.0));
        let both = format!("{read}\ntime 0 1 100 1\ntime 1 1 190 1");
        assert_eq!(mean(vec![data("umask", [1; 6])], &both), overhead(50.0, 3.0 / 8.0));
        assert_eq!(mean(vec![data("umask", [1; 6])], read), [None]);
    }
}
