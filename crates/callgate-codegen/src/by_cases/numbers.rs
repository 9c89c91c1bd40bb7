//! Code that decides the intervals of a word without code graph, from the last instruction on: parts of intervals that few tests decide are
//! chosen from left to right, and order tests that halve the weight separate them.

use callgate_bpf::SyscallTable;
use callgate_core::{Arch, Cases, Insn, NumberInterval, Op, SectionCases, Verdict};

use crate::tree::{MaskTest, WeightedInterval, mask_test};

/// The maximum number of intervals that a mask decides.
const MAX_MASKED: usize = 16;

/// The maximum number of equality tests of a part. Where mostly the values that they find occur, more of them execute more
/// instructions than an order test and half of them.
const MAX_CHAIN: usize = 4;

/// The maximum number of instructions that other values of a part execute in its equality tests, as a share of one for
/// each syscall. With 0.15, denylists of 12 syscalls take one instruction more than with 0.2, and execute 0.07 fewer; with 0.1,
/// two more, and 0.1 fewer.
const MAX_OTHERS: f64 = 0.2;

/// The maximum number of equality tests before order tests.
const MAX_FIRST: usize = 3;

/// What follows for the values of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Return(Verdict),
    /// The code at a place.
    Place(usize),
}

/// The intervals of the values of a word. Of numbers, the classes are lists of the cases, and weights are numbers of syscalls.
pub(super) struct Numbers<'t> {
    /// Per class.
    targets: &'t [Target],
    pub(super) intervals: Vec<WeightedInterval>,
    /// Where numbers begin that no list of equality tests has.
    unlisted: u32,
}

/// Consecutive intervals that few tests decide.
#[derive(Clone, Copy)]
struct Part {
    start: usize,
    end: usize,
    kind: Kind,
    /// The weight of the values that no earlier test finds.
    weight: f64,
}

/// How a part is decided.
#[derive(Clone, Copy)]
enum Kind {
    /// By a mask that separates two classes.
    Mask(MaskTest),
    /// By equality tests of all values that do not have this class, which all other intervals have.
    Chain { rest: usize },
}

impl Numbers<'_> {
    /// The intervals of a section. As in [`BY_PERMISSION`](crate::BY_PERMISSION), permitted syscalls for which every kernel runs the filter,
    /// because they have conditions or are logged, are together as frequent as the always-allowed ones, and denied ones are rare.
    pub(super) fn of_section<'t>(
        cases: &Cases,
        targets: &'t [Target],
        section: &SectionCases,
        arch: Arch,
    ) -> Numbers<'t> {
        let is_cached = |class| cases.verdict(class) == Some(Verdict::ALLOW);
        let (mut cached, mut run) = (0.0, 0.0);
        let mut intervals = Vec::with_capacity(section.intervals.len());
        for NumberInterval { first, last, list: class } in section.intervals.iter().copied() {
            let weight = match cases.verdict(class) {
                Some(verdict) if !verdict.permits() => 0.0,
                _ => arch.syscall_numbers_within(first, last).count() as f64,
            };
            *if is_cached(class) { &mut cached } else { &mut run } += weight;
            intervals.push(WeightedInterval { first, last, class, weight });
        }
        if cached > 0.0 && run > 0.0 {
            let run_ones = intervals.iter_mut().filter(|one| !is_cached(one.class));
            run_ones.for_each(|interval| interval.weight *= cached / run);
        }
        Numbers { targets, intervals, unlisted: Arch::X32.first_number() }
    }

    /// The intervals of a word that is compared with single values.
    pub(super) fn of_values(targets: &[Target], intervals: Vec<WeightedInterval>) -> Numbers<'_> {
        Numbers { targets, intervals, unlisted: u32::MAX }
    }

    /// The place of the code that decides them, where A holds the word.
    pub(super) fn placed(&self, masks: bool, code: &mut Backwards) -> Option<usize> {
        let mut parts = self.parts(masks, MAX_CHAIN, MAX_OTHERS);
        if let Some(chain) = self.longer_chain(&parts) {
            parts = self.parts(masks, chain, f64::INFINITY);
        }
        self.halved(&parts, code)
    }

    /// The place of the code of a class.
    fn target(&self, class: usize, code: &mut Backwards) -> Option<usize> {
        Some(match *self.targets.get(class)? {
            Target::Return(verdict) => code.verdict(verdict),
            Target::Place(place) => place,
        })
    }

    /// The maximum number of equality tests of a part with which there are few order tests: the program shall not be longer than a
    /// list of equality tests by more than a twentieth and an instruction. `None` if it is not with these parts.
    fn longer_chain(&self, parts: &[Part]) -> Option<usize> {
        let is_known = |interval: &&WeightedInterval| interval.first < self.unlisted;
        let unknown = self.intervals.iter().rfind(is_known)?.class;
        let of_x32 = self.intervals.iter().filter(|interval| !is_known(interval)).count();
        let known = self.intervals.iter().filter(is_known);
        let listed = known.filter(|one| one.class != unknown && one.is_single()).count();
        let tests = parts.iter().map(|part| match part.kind {
            Kind::Mask(_) => 1,
            Kind::Chain { rest } => {
                let part = self.intervals.get(part.start..part.end).unwrap_or_default();
                part.iter().filter(|one| one.class != rest).count()
            }
        });
        let equalities: usize = tests.sum();
        let more = 1 + (listed + 8) / 20;
        let is_longer = equalities + parts.len() - 1 > listed + of_x32 + more;
        is_longer.then(|| listed.div_ceil(more + 1).max(1))
    }

    /// All intervals in parts, each of which has few tests for its number of intervals: chains of at most that many equality tests,
    /// in which other values execute at most that share.
    fn parts(&self, masks: bool, max_chain: usize, max_others: f64) -> Vec<Part> {
        let total = weight_of(&self.intervals);
        let mut parts = Vec::with_capacity(self.intervals.len());
        let mut rest = self.intervals.as_slice();
        while let Some(first) = rest.first() {
            // An order test separates a part from the next one.
            let (mut len, mut tests, mut kind) = (1, 1, Kind::Chain { rest: first.class });
            let mut add = |to: usize, own_tests: usize, of: Kind| {
                let with_order = own_tests + 1;
                if with_order * len < tests * to {
                    (len, tests, kind) = (to, with_order, of);
                }
            };
            for class in rest.iter().take(2).map(|interval| interval.class) {
                let (mut equalities, mut others) = (0, 0.0);
                for (at, interval) in rest.iter().enumerate() {
                    if interval.class == class {
                        others += interval.weight;
                    } else if interval.is_single() && equalities < max_chain {
                        equalities += 1;
                    } else {
                        break;
                    }
                    // The last test of all is not worse than an order test.
                    let is_last = equalities == 1 && at + 1 == rest.len();
                    if is_last || others * equalities as f64 <= max_others * total {
                        add(at + 1, equalities, Kind::Chain { rest: class });
                    }
                }
            }
            if masks {
                for to in 3..=rest.len().min(MAX_MASKED) {
                    let Some(test) = rest.get(..to).and_then(|part| mask_test(part.iter())) else {
                        break;
                    };
                    add(to, 1, Kind::Mask(test));
                }
            }
            let Some((part, others)) = rest.split_at_checked(len) else { break };
            let start = self.intervals.len() - rest.len();
            parts.push(Part { start, end: start + len, kind, weight: weight_of(part) });
            rest = others;
        }
        parts
    }

    /// The place of the code that finds the part of a number and decides it. The number of intervals limits the recursion.
    fn halved(&self, parts: &[Part], code: &mut Backwards) -> Option<usize> {
        if let [part] = parts {
            return self.decided(part, code);
        }
        let total: f64 = parts.iter().map(|part| part.weight).sum();
        if let Some(first) = self.found_first(parts, total) {
            let others = parts.iter().map(|part| Part { weight: 0.0, ..*part });
            let entry = self.halved(&others.collect::<Vec<Part>>(), code)?;
            return self.chain(first, entry, code);
        }
        // A small weight per part, so that parts without weight are halved, too.
        let floor = if total > 0.0 { total / 8.0 } else { 1.0 } / parts.len() as f64;
        let half = (total + floor * parts.len() as f64) / 2.0;
        let (mut at, mut left) = (1, parts.first()?.weight + floor);
        for part in parts.get(1..parts.len() - 1)? {
            let with = left + part.weight + floor;
            if with - half > half - left {
                break;
            }
            (at, left) = (at + 1, with);
        }
        let (below, above) = parts.split_at_checked(at)?;
        let first = self.intervals.get(above.first()?.start)?.first;
        // The heavier half follows the test.
        let (then, otherwise);
        if left > half {
            then = self.halved(above, code)?;
            otherwise = self.halved(below, code)?;
        } else {
            otherwise = self.halved(below, code)?;
            then = self.halved(above, code)?;
        }
        code.test(Op::JgeK, first, then, otherwise)
    }

    /// The place of the code that decides a part.
    fn decided(&self, part: &Part, code: &mut Backwards) -> Option<usize> {
        match part.kind {
            Kind::Mask(MaskTest { mask, set, clear }) => {
                let then = self.target(set, code)?;
                let otherwise = self.target(clear, code)?;
                code.test(Op::JsetK, mask, then, otherwise)
            }
            Kind::Chain { rest } => {
                let entry = self.target(rest, code)?;
                self.chain(self.singles(std::slice::from_ref(part)), entry, code)
            }
        }
    }

    /// The values that equality tests find in parts.
    fn singles(&self, parts: &[Part]) -> Vec<&WeightedInterval> {
        let mut singles = Vec::with_capacity(MAX_CHAIN);
        for part in parts {
            let Kind::Chain { rest } = part.kind else { continue };
            for interval in self.intervals.get(part.start..part.end).unwrap_or_default() {
                // Where nothing has weight any more, values with weight are already found.
                if interval.class != rest && interval.weight <= part.weight {
                    singles.push(interval);
                }
            }
        }
        singles
    }

    /// The few values of several parts that are found first, because no others have weight.
    fn found_first(&self, parts: &[Part], total: f64) -> Option<Vec<&WeightedInterval>> {
        if total == 0.0 {
            return None;
        }
        let mut singles = self.singles(parts);
        singles.retain(|interval| interval.weight > 0.0);
        let weight: f64 = singles.iter().map(|interval| interval.weight).sum();
        (singles.len() <= MAX_FIRST && weight == total).then_some(singles)
    }

    /// Equality tests before the code at a place, the heaviest first.
    fn chain(
        &self,
        mut singles: Vec<&WeightedInterval>,
        otherwise: usize,
        code: &mut Backwards,
    ) -> Option<usize> {
        singles.sort_by(|a, b| a.weight.total_cmp(&b.weight));
        singles.iter().try_fold(otherwise, |entry, single| {
            let then = self.target(single.class, code)?;
            code.test(Op::JeqK, single.first, then, entry)
        })
    }
}

fn weight_of(intervals: &[WeightedInterval]) -> f64 {
    intervals.iter().map(|interval| interval.weight).sum()
}

/// Instructions from the last to the first. A place is the number of instructions after it.
#[derive(Default)]
pub(super) struct Backwards {
    insns: Vec<Insn>,
    returns: Vec<(Verdict, usize)>,
    /// Instructions with the places of their successors, and where they are: equal code exists once.
    known: Vec<(Op, u32, [usize; 2], usize)>,
}

impl Backwards {
    /// The instructions, in order.
    pub(super) fn into_insns(mut self) -> Vec<Insn> {
        self.insns.reverse();
        self.insns
    }

    /// The place of the return of a verdict.
    pub(super) fn verdict(&mut self, verdict: Verdict) -> usize {
        if let Some((_, at)) = self.returns.iter().find(|(known, _)| *known == verdict) {
            return *at;
        }
        let at = self.add(Insn::new(Op::RetK, verdict.0));
        self.returns.push((verdict, at));
        at
    }

    /// A load before the code at a place; `None` as for [`Backwards::before`].
    pub(super) fn load(&mut self, offset: u32, next: usize) -> Option<usize> {
        self.before(next, Insn::new(Op::LdWordAbs, offset))
    }

    /// An instruction before the code at a place, with which it continues; `None` unless that is the latest, or a test, which is made again.
    pub(super) fn before(&mut self, next: usize, insn: Insn) -> Option<usize> {
        if let Some(known) = self.known(insn.op, insn.k, [next; 2]) {
            return Some(known);
        }
        if next + 1 != self.insns.len() {
            let (op, k, targets, _) = *self.known.iter().find(|(.., place)| *place == next)?;
            self.add_test(op, k, targets)?;
        }
        Some(self.add_known(insn, [next; 2]))
    }

    /// A test, unless both results lead to the same place; `None` if a target is too far away.
    pub(super) fn test(&mut self, op: Op, k: u32, then: usize, otherwise: usize) -> Option<usize> {
        if then == otherwise {
            return Some(then);
        }
        self.known(op, k, [then, otherwise]).or_else(|| self.add_test(op, k, [then, otherwise]))
    }

    fn add_test(&mut self, op: Op, k: u32, [then, otherwise]: [usize; 2]) -> Option<usize> {
        let distance = |to: usize| u8::try_from(self.insns.len().checked_sub(to + 1)?).ok();
        let (jt, jf) = (distance(then)?, distance(otherwise)?);
        let is_test = op.is_branch();
        is_test.then(|| self.add_known(Insn::branch(op, k, jt, jf), [then, otherwise]))
    }

    fn known(&self, op: Op, k: u32, successors: [usize; 2]) -> Option<usize> {
        let is_same =
            |one: &&(Op, u32, [usize; 2], usize)| (one.0, one.1, one.2) == (op, k, successors);
        self.known.iter().find(is_same).map(|(.., place)| *place)
    }

    fn add_known(&mut self, insn: Insn, successors: [usize; 2]) -> usize {
        let place = self.add(insn);
        self.known.push((insn.op, insn.k, successors, place));
        place
    }

    fn add(&mut self, insn: Insn) -> usize {
        self.insns.push(insn);
        self.insns.len() - 1
    }
}
