//! Compares the verdicts of programs in the guest with those of the reference interpreter.
//!
//! The syscalls are those of the fuzzer: all numbers that are known or compared, the bounds of all rules, a
//! syscall for both outcomes of each branch, and random ones near them. Each is made under the program with an
//! errno in place of each verdict ([`Marked`]), so that no syscall is executed. The first expected errno is wrong
//! on purpose, to detect a guest that does not compare.

use callgate::fuzz::{Input, Search, Subject, fuzz};
use callgate::{Arch, SeccompData, Verdict};
use callgate_core::Program;
use callgate_linux::Marked;

use super::answers::Answers;
use super::guests::Guest;
use super::plan::{Call, Line, Plan};
use super::programs::Candidate;
use callgate_tasks::Result;

/// The maximum number of syscalls per program, and the number of random ones.
#[derive(Clone, Copy)]
pub(super) struct Depth {
    pub(super) calls: usize,
    pub(super) random: u64,
}

/// This many numbers from 0 on are always compared, with two sets of arguments.
const NUMBERS: u32 = 1024;

/// The syscalls to compare for one program, for one ABI of the guest.
pub(super) struct Questions {
    name: String,
    arch: Arch,
    /// Whether the ABI is the guest's native one.
    is_own: bool,
    program: Program,
    calls: Vec<Call>,
    /// The syscalls and their verdicts.
    expected: Vec<(SeccompData, Verdict)>,
    marked: Marked,
}

/// The results of one guest in one mode.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) programs: usize,
    pub(super) calls: u64,
    pub(super) differ: u64,
    /// The first syscalls that differ, as text.
    pub(super) examples: Vec<String>,
}

/// The syscalls to compare for the programs of a guest.
pub(super) fn questions(
    guest: &Guest,
    candidates: &[Candidate],
    calls: &[Vec<SeccompData>],
    depth: Depth,
) -> Result<Vec<Questions>> {
    let mut all = Vec::new();
    for (candidate, calls) in candidates.iter().zip(calls) {
        for arch in [Some(guest.machine.arch), guest.machine.other].into_iter().flatten() {
            let of_arch = |data: &&SeccompData| data.arch == arch.token();
            let own: Vec<SeccompData> = calls.iter().filter(of_arch).copied().collect();
            let is_own = arch == guest.machine.arch;
            all.extend(Questions::new(candidate, (arch, is_own), &own, depth.calls)?);
        }
    }
    Ok(all)
}

/// The syscalls to compare for a program: those of the fuzzer, and many numbers.
pub(super) fn calls(own: Arch, candidate: &Candidate, depth: Depth) -> Result<Vec<SeccompData>> {
    let subjects = [Subject::new(&candidate.name, candidate.program.clone())];
    let input = Input {
        policy: candidate.policy.as_ref(),
        programs: &subjects,
        arches: &candidate.arches,
        endian: own.endian(),
    };
    let options = Search { runs: depth.random, ..Search::default() };
    let report = fuzz(&input, &options, &mut |_| true);
    if !report.agrees() {
        let name = &candidate.name;
        return Err(format!("{name}: rules and interpreter differ; `callgate fuzz` shows where"));
    }
    let sweep = (0..NUMBERS).flat_map(|nr| {
        [[0; 6], [u64::MAX; 6]].map(|args| SeccompData {
            nr,
            arch: own.token(),
            args,
            ..SeccompData::default()
        })
    });
    Ok(sweep.chain(report.kept).collect())
}

impl Questions {
    /// `None` if there is nothing to compare.
    fn new(
        candidate: &Candidate,
        (arch, is_own): (Arch, bool),
        calls: &[SeccompData],
        limit: usize,
    ) -> Result<Option<Questions>> {
        let (program, name) = (&candidate.program, candidate.name.clone());
        let failed = |error: callgate_linux::ProbeError| format!("{name}: {error}");
        let marked = Marked::new(program, calls, arch).map_err(failed)?;
        let chosen = spread(marked.asked(), limit).filter_map(|at| calls.get(at));
        let expected: Vec<(SeccompData, Verdict)> =
            chosen.map(|data| (*data, program.run(data, arch.endian()).verdict)).collect();
        Questions::expecting(name, marked, (arch, is_own), expected)
    }

    /// Those about a marked program, with what is expected.
    pub(super) fn expecting(
        name: String,
        marked: Marked,
        (arch, is_own): (Arch, bool),
        expected: Vec<(SeccompData, Verdict)>,
    ) -> Result<Option<Questions>> {
        let mut calls = Vec::with_capacity(expected.len() + 1);
        for (data, verdict) in &expected {
            let errno = marked.errno(*verdict);
            let errno =
                errno.ok_or_else(|| format!("{name}: no errno is assigned to {verdict}"))?;
            if calls.is_empty() {
                calls.push(Call::expecting(data, errno + 1));
            }
            calls.push(Call::expecting(data, errno));
        }
        let program = marked.program().clone();
        let some = !calls.is_empty();
        Ok(some.then_some(Questions { name, arch, is_own, program, calls, expected, marked }))
    }

    /// Adds them to the plan.
    pub(super) fn ask(&self, plan: &mut Plan) -> Line {
        plan.ask(&self.program, &self.calls, !self.is_own)
    }

    /// Adds the answers of the guest, which are compared with what was expected.
    pub(super) fn count(&self, line: Line, answers: &Answers, tally: &mut Tally) -> Result<()> {
        let name = format!("{} ({})", self.name, self.arch);
        let Some((asked, wrong)) = answers.asked(line) else {
            return Err(format!("{name}: the guest did not answer"));
        };
        let found = answers.wrong(line).first().is_some_and(|(call, _)| *call == 0);
        if asked as usize != self.calls.len() || !found {
            return Err(format!(
                "{name}: the guest did not compare all {} calls",
                self.calls.len()
            ));
        }
        tally.programs += usize::from(self.is_own);
        tally.calls += u64::from(asked) - 1;
        tally.differ += u64::from(wrong) - 1;
        for (call, errno) in answers.wrong(line).iter().skip(1) {
            let Some((data, expected)) = self.expected.get(call - 1) else { continue };
            let got = match self.marked.verdict(*errno) {
                Some(verdict) => verdict.to_string(),
                None => format!("errno {errno}, which is not assigned to a verdict"),
            };
            tally.examples.push(format!(
                "{name}: call {} with {:x?}: {expected} is expected, {got} by the kernel",
                data.nr, data.args
            ));
        }
        Ok(())
    }
}

/// At most this many: half of them from the beginning, the others spread evenly over the rest.
fn spread(all: &[usize], wanted: usize) -> impl Iterator<Item = usize> {
    let first = if all.len() <= wanted { all.len() } else { wanted / 2 };
    let (start, rest) = all.split_at(first);
    let step = rest.len().div_ceil((wanted - wanted / 2).max(1)).max(1);
    start.iter().chain(rest.iter().step_by(step)).copied()
}

#[cfg(test)]
mod tests {
    use callgate_codegen::Weights;

    use super::*;
    use crate::kernels::guests::GUESTS;
    use crate::kernels::programs::candidates;

    const DEPTH: Depth = Depth { calls: 300, random: 10 };

    fn some(guest: &Guest) -> Vec<Questions> {
        let all = candidates(guest, &Weights::uniform(), None, &mut Vec::new()).unwrap();
        let calls = [calls(guest.machine.arch, &all[0], DEPTH).unwrap()];
        questions(guest, &all[..1], &calls, DEPTH).unwrap()
    }

    #[test]
    fn both_interfaces_of_x86_are_asked() {
        let asked =
            |guest| some(guest).iter().map(|one| (one.arch, one.is_own)).collect::<Vec<_>>();
        assert_eq!(asked(&GUESTS[0]), [(Arch::X86_64, true), (Arch::X86, false)]);
        assert_eq!(asked(&GUESTS[4]), [(Arch::S390x, true)]);
    }

    #[test]
    fn answers_are_counted_without_the_question_that_is_wrong_on_purpose() {
        let questions = &some(&GUESTS[4])[0];
        let asked = questions.calls.len();
        assert!(asked > 250 && asked <= 301, "{asked}");
        let count = |text: &str| {
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let mut tally = Tally::default();
            let counted = questions.count(Line(0), &Answers::read(&lines).unwrap(), &mut tally);
            counted.map(|()| tally)
        };
        let tally = count(&format!("wrong 0 0 1\nasked 0 {asked} 1")).unwrap();
        assert_eq!((tally.calls, tally.differ), (asked as u64 - 1, 0));
        let tally = count(&format!("wrong 0 0 1\nwrong 0 2 4000\nasked 0 {asked} 2")).unwrap();
        assert_eq!((tally.differ, tally.examples.len()), (1, 1));
        let example = &tally.examples[0];
        assert!(
            example.contains("call 0 with [ffff") && example.contains("errno 4000"),
            "{example}"
        );
        assert!(count(&format!("asked 0 {asked} 0")).unwrap_err().contains("did not compare"));
        assert!(count("wrong 0 0 1\nasked 0 5 1").unwrap_err().contains("did not compare"));
        assert!(count("").unwrap_err().contains("did not answer"));
    }

    #[test]
    fn a_choice_begins_with_the_first_and_reaches_the_last_part() {
        let all: Vec<usize> = (0..1000).collect();
        let chosen: Vec<usize> = spread(&all, 100).collect();
        assert!(chosen.len() <= 100 && chosen.len() > 90);
        assert_eq!(chosen[..50], all[..50]);
        assert!(*chosen.last().unwrap() > 970);
        assert_eq!(spread(&all, 1000).count(), 1000);
    }
}
