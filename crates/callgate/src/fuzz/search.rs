//! The search: generates syscalls, records what they execute, and counts mismatches.

use callgate_bpf::random::Rng;
use callgate_codegen::query::{self, Reach, Reachable};
use callgate_core::diagram::Store;
use callgate_core::policy::Policy;
use callgate_core::{Arch, Endian, SeccompData, Verdict, Word};
use rustc_hash::FxHashSet as HashSet;

use super::candidates::{Candidates, around, origins};
use super::report::{
    Comparison, Contradiction, Coverage, Edge, Executed, Input, Mismatch, Report, Search, Subject,
    edges,
};

/// The maximum number of syscalls that are kept, to avoid repetition and as a basis for random ones.
const KEPT: usize = 1 << 18;

/// The maximum number of variations for the branches of all programs together; those near constants come first.
const AROUND: usize = 300_000;

/// The maximum number of syscalls with the arguments of one and the number of another.
const CROSSED: usize = 100_000;

/// The number of syscalls between calls of `progress`.
const PROGRESS_INTERVAL: u64 = 64;

/// Compares all forms of a filter.
///
/// `progress` is called every 64 syscalls with their number so far. If it returns false, no further random syscalls are
/// generated; the other parts are not shortened, because the length of the programs bounds them.
pub fn fuzz(input: &Input<'_>, search: &Search, progress: &mut dyn FnMut(u64) -> bool) -> Report {
    let Input { policy, programs, arches, endian } = *input;
    let rules = policy.map(|policy| Form::of("rules", Evaluated::Rules(policy)));
    let own = programs.iter().enumerate();
    let own = own.map(|(index, subject)| Form::of(&subject.name, Evaluated::Program(index)));
    let forms = rules.into_iter().chain(own).collect();
    let policies = policy.into_iter().collect();
    Fuzzer::new(Subjects { forms, policies, programs, arches, endian }, search, progress).run()
}

/// What is compared.
pub(super) struct Subjects<'a> {
    /// The reference, and what is compared with it.
    pub(super) forms: Vec<Form<'a>>,
    /// The policies whose constants are tried.
    pub(super) policies: Vec<&'a Policy>,
    /// The programs whose coverage is reported.
    pub(super) programs: &'a [Subject],
    pub(super) arches: &'a [Arch],
    pub(super) endian: Endian,
}

/// Something that has a verdict for each syscall.
pub(super) struct Form<'a> {
    pub(super) name: &'a str,
    /// Filters on top of each other, the oldest first.
    pub(super) members: Vec<Evaluated<'a>>,
}

/// A filter of a form.
#[derive(Clone, Copy)]
pub(super) enum Evaluated<'a> {
    Rules(&'a Policy),
    /// The program with this index.
    Program(usize),
}

impl<'a> Form<'a> {
    fn of(name: &'a str, member: Evaluated<'a>) -> Form<'a> {
        Form { name, members: vec![member] }
    }

    /// Its verdict for a syscall, for which the programs have these.
    fn verdict(&self, data: &SeccompData, of_programs: &[Verdict]) -> Verdict {
        let verdict = |member: &Evaluated<'_>| match member {
            Evaluated::Rules(policy) => policy.evaluate(data),
            Evaluated::Program(index) => {
                of_programs.get(*index).copied().unwrap_or(Verdict::KILL_PROCESS)
            }
        };
        match self.members.as_slice() {
            [only] => verdict(only),
            all => Verdict::of_stack(all.iter().rev().map(verdict)),
        }
    }
}

pub(super) struct Fuzzer<'a> {
    subjects: Subjects<'a>,
    search: &'a Search,
    progress: &'a mut dyn FnMut(u64) -> bool,
    executed: Vec<Executed>,
    reach: Vec<Reach>,
    comparisons: Vec<Comparison>,
    contradictions: Vec<Contradiction>,
    known: HashSet<SeccompData>,
    kept: Vec<SeccompData>,
    syscalls: u64,
    /// The verdicts of the programs for the current syscall.
    verdicts: Vec<Verdict>,
}

impl<'a> Fuzzer<'a> {
    pub(super) fn new(
        subjects: Subjects<'a>,
        search: &'a Search,
        progress: &'a mut dyn FnMut(u64) -> bool,
    ) -> Fuzzer<'a> {
        let mut names = subjects.forms.iter().map(|form| form.name);
        let reference = names.next().unwrap_or_default();
        let comparisons = names.map(|name| Comparison::new(reference, name)).collect();
        let executed = subjects.programs.iter().map(|one| Executed::new(&one.program)).collect();
        Fuzzer {
            subjects,
            search,
            progress,
            executed,
            reach: Vec::new(),
            comparisons,
            contradictions: Vec::new(),
            known: HashSet::default(),
            kept: Vec::new(),
            syscalls: 0,
            verdicts: Vec::new(),
        }
    }

    pub(super) fn run(mut self) -> Report {
        let Subjects { programs, arches, endian, .. } = self.subjects;
        if programs.is_empty() && self.comparisons.is_empty() {
            return self.report();
        }
        let policies = self.subjects.policies.clone();
        let code = programs.iter().map(|one| &one.program);
        let candidates = Candidates::new(&policies, code, arches, endian);
        candidates.sweep(&mut |data| self.syscall(data));
        for policy in policies {
            candidates.rules(policy, &mut |data| self.syscall(data));
        }
        self.reach_unexecuted();
        self.around_branches();
        let some = self.witnesses();
        candidates.cross(&some, CROSSED, &mut |data| self.syscall(data));
        let mut rng = Rng::new(self.search.seed);
        let near = self.kept.clone();
        for _ in 0..self.search.runs {
            if self.syscalls % PROGRESS_INTERVAL == 0 && !(self.progress)(self.syscalls) {
                break;
            }
            self.run_again(candidates.random(&near, &mut rng));
        }
        self.report()
    }

    /// Runs all forms for a syscall that was not run before.
    fn syscall(&mut self, data: SeccompData) {
        if self.kept.len() < KEPT {
            if self.known.insert(data) {
                self.kept.push(data);
                self.run_again(data);
            }
        } else if !self.known.contains(&data) {
            self.run_again(data);
        }
    }

    fn run_again(&mut self, data: SeccompData) {
        self.syscalls += 1;
        if self.syscalls % PROGRESS_INTERVAL == 0 {
            let _ = (self.progress)(self.syscalls);
        }
        let Subjects { forms, programs, endian, .. } = &self.subjects;
        self.verdicts.clear();
        for (subject, seen) in programs.iter().zip(&mut self.executed) {
            self.verdicts.push(seen.run(&subject.program, &data, *endian));
        }
        let mut of_forms = forms.iter().map(|form| form.verdict(&data, &self.verdicts));
        let Some(reference) = of_forms.next() else { return };
        for (comparison, verdict) in self.comparisons.iter_mut().zip(of_forms) {
            comparison.add(&data, reference, verdict);
        }
    }

    /// Runs syscalls from the diagram that reach code which was not executed yet.
    fn reach_unexecuted(&mut self) {
        let Subjects { programs, arches, endian, .. } = self.subjects;
        let arch = arches.first().map_or(0, |arch| arch.token());
        let start = SeccompData { arch, ..SeccompData::default() };
        for number in 0..programs.len() {
            let Some(subject) = programs.get(number) else { break };
            let mut store = Store::new(self.search.budget);
            let reach = query::reach(&mut store, &subject.program, endian);
            let example = |reachable| match reachable {
                Reachable::By(pred) => query::example(&store, pred, start),
                Reachable::Never | Reachable::Unknown => None,
            };
            for index in 0..subject.program.len() {
                if self.executed.get(number).is_some_and(|seen| seen.has_insn(index)) {
                    continue;
                }
                if let Some(data) = example(reach.insn(index)) {
                    self.syscall(data);
                }
            }
            for edge in edges(&subject.program) {
                if self.taken_by(number, edge).is_some() {
                    continue;
                }
                let Some(data) = example(reach.edge(edge.index, edge.holds)) else { continue };
                self.syscall(data);
                if self.taken_by(number, edge).is_none() {
                    let name = subject.name.clone();
                    let taken = false;
                    self.contradictions.push(Contradiction { name, edge, data, taken });
                }
            }
            self.reach.push(reach);
        }
    }

    /// For each edge of each branch, a syscall that takes it.
    fn witnesses(&self) -> Vec<SeccompData> {
        let mut syscalls = Vec::new();
        for (number, subject) in self.subjects.programs.iter().enumerate().rev() {
            syscalls.extend(edges(&subject.program).filter_map(|edge| self.taken_by(number, edge)));
        }
        syscalls
    }

    fn taken_by(&self, number: usize, edge: Edge) -> Option<SeccompData> {
        self.executed.get(number).and_then(|seen| seen.taken_by(edge))
    }

    /// Runs variations of a syscall that takes an edge, for each edge of each branch.
    fn around_branches(&mut self) {
        let Subjects { programs, endian, .. } = self.subjects;
        let all: usize = programs.iter().map(|one| edges(&one.program).count()).sum();
        let max_variations = AROUND / all.max(1);
        for (number, subject) in programs.iter().enumerate() {
            let origins = origins(&subject.program, endian);
            for edge in edges(&subject.program) {
                let insn = subject.program.insns().get(edge.index).copied();
                let words = origins.get(edge.index).copied().unwrap_or(0);
                let (Some(insn), Some(data)) = (insn, self.taken_by(number, edge)) else {
                    continue;
                };
                for data in around(insn, words, data).into_iter().take(max_variations.max(8)) {
                    self.syscall(data);
                }
            }
        }
    }

    fn report(mut self) -> Report {
        let mut coverage = Vec::new();
        for (number, subject) in self.subjects.programs.iter().enumerate() {
            coverage.extend(self.coverage(number, subject));
        }
        for number in 0..self.comparisons.len() {
            self.simplify(number);
        }
        Report {
            coverage,
            comparisons: self.comparisons,
            contradictions: self.contradictions,
            syscalls: self.syscalls,
            kept: self.kept,
            seed: self.search.seed,
            without_coverage: Vec::new(),
        }
    }

    fn coverage(&mut self, number: usize, subject: &Subject) -> Option<Coverage> {
        let (seen, reach) = (self.executed.get(number)?, self.reach.get(number)?);
        let insns = subject.program.len();
        let mut coverage = Coverage {
            name: subject.name.clone(),
            insns,
            insns_executed: (0..insns).filter(|index| seen.has_insn(*index)).count(),
            dead_insns: Vec::new(),
            edges: edges(&subject.program).count(),
            edges_taken: 0,
            dead_edges: Vec::new(),
            missed_edges: Vec::new(),
            why: reach.stopped(),
        };
        for index in (0..insns).filter(|index| !seen.has_insn(*index)) {
            if reach.insn(index) == Reachable::Never {
                coverage.dead_insns.push(index);
            }
        }
        for edge in edges(&subject.program) {
            let is_dead = reach.edge(edge.index, edge.holds) == Reachable::Never;
            match seen.taken_by(edge) {
                Some(data) => {
                    coverage.edges_taken += 1;
                    if is_dead {
                        let name = subject.name.clone();
                        let taken = true;
                        self.contradictions.push(Contradiction { name, edge, data, taken });
                    }
                }
                None if is_dead => coverage.dead_edges.push(edge),
                None => coverage.missed_edges.push(edge),
            }
        }
        Some(coverage)
    }

    /// Simplifies the first mismatch of a comparison: words that do not matter become 0.
    fn simplify(&mut self, number: usize) {
        let Some(first) = self.comparisons.get(number).and_then(|one| one.first) else { return };
        let mut plain = first;
        // The arch and the number identify the syscall, so they remain.
        for word in Word::all().skip(2) {
            let mut data = plain.data;
            data.set_word(word, 0);
            let (left, right) = self.both(number, &data);
            if left != right {
                plain = Mismatch { data, left, right };
            }
        }
        if let Some(comparison) = self.comparisons.get_mut(number) {
            comparison.first = Some(plain);
        }
    }

    /// The verdicts of both forms of a comparison for a syscall.
    fn both(&self, number: usize, data: &SeccompData) -> (Verdict, Verdict) {
        let Subjects { forms, programs, endian, .. } = &self.subjects;
        let run = |subject: &Subject| subject.program.run(data, *endian).verdict;
        let verdicts: Vec<Verdict> = programs.iter().map(run).collect();
        let verdict = |index: usize| {
            let form = forms.get(index);
            form.map_or(Verdict::KILL_PROCESS, |form| form.verdict(data, &verdicts))
        };
        (verdict(0), verdict(number + 1))
    }
}
