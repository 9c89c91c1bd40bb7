//! Jump threading for seccomp filters that load words of the input again.
//!
//! Many compilers test rule after rule, and load the words that a rule compares although another rule has compared them:
//! `ld [high]; jeq #0; ld [low]; jeq #5; …; ld [high]; jeq #0; ld [low]; jeq #6`. Where the paths of a rule that does not match
//! meet, the facts of the [forward pass](super::facts) about each of them are lost. So this pass, which runs before, follows each
//! edge through the loads and the comparisons that its own facts decide, and leads it to where they end. The comparisons of one
//! word that remain are next to each other, and engines make a table of them.
//!
//! Facts are intervals of words, as in [value range propagation](https://en.wikipedia.org/wiki/Value_range_analysis). Branches
//! of classic BPF only go forward, so that one pass is exact.

use callgate_core::cfg::Successors;
use callgate_core::{Endian, Insn, Op, Relation, Source, Word};

/// How many words have facts at a time. Filters test the architecture, the number, and few words of arguments.
const WORDS: usize = 4;

/// How many instructions all edges together may be followed through, per instruction of the program.
const STEPS: usize = 512;

/// In how many places paths must meet before a load, so that the time is well spent.
const MEETINGS: usize = 4;

/// The program with threaded edges; `None` if no edge gets another destination, or hardly one would.
pub(super) fn threaded(insns: &[Insn], endian: Endian) -> Option<Vec<Insn>> {
    (meetings(insns) >= MEETINGS).then(|| Threading::of(insns, endian))?.program()
}

/// The number of loads before which paths meet.
fn meetings(insns: &[Insn]) -> usize {
    let mut edges = vec![0u8; insns.len()];
    let mut count = 0;
    for (at, insn) in insns.iter().enumerate() {
        for to in insn.successors(at) {
            if let Some(edges) = edges.get_mut(to) {
                *edges = edges.saturating_add(1);
            }
        }
        // Edges lead forward, so all of those to it have been seen.
        let meets = insn.op == Op::LdWordAbs && edges.get(at).is_some_and(|&edges| edges > 1);
        count += usize::from(meets);
    }
    count
}

/// A word that a program loads, by its offset.
type Offset = u32;

/// An interval of values of a word, not that of all values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fact {
    word: Offset,
    min: u32,
    max: u32,
}

impl Fact {
    /// The outcome of a comparison, if it is the same for all values.
    fn decides(self, relation: Relation, k: u32) -> Option<bool> {
        let Fact { min, max, .. } = self;
        match relation {
            _ if min == max => Some(relation.holds(min, k)),
            Relation::Equal => (k < min || k > max).then_some(false),
            Relation::Greater if min > k => Some(true),
            Relation::Greater => (max <= k).then_some(false),
            Relation::AtLeast if min >= k => Some(true),
            Relation::AtLeast => (max < k).then_some(false),
            Relation::Shares => (k == 0).then_some(false),
        }
    }

    /// The values for which a comparison that is not decided holds, or does not.
    fn assume(self, relation: Relation, k: u32, holds: bool) -> Fact {
        let Fact { word, min, max } = self;
        let (min, max) = match (relation, holds) {
            (Relation::Equal, true) => (k, k),
            (Relation::Equal, false) => (min + u32::from(k == min), max - u32::from(k == max)),
            (Relation::Greater, true) => (k.saturating_add(1), max),
            (Relation::Greater, false) => (min, k),
            (Relation::AtLeast, true) => (k, max),
            (Relation::AtLeast, false) => (min, k.saturating_sub(1)),
            (Relation::Shares, _) => (min, max),
        };
        Fact { word, min, max }
    }
}

/// What is known before an instruction.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// The word whose value A holds.
    a: Option<Offset>,
    facts: [Option<Fact>; WORDS],
}

impl Known {
    fn about(&self, word: Offset) -> Fact {
        let found = self.facts.iter().flatten().find(|fact| fact.word == word);
        found.copied().unwrap_or(Fact { word, min: 0, max: u32::MAX })
    }

    /// Remembers a fact, instead of the oldest one if there are too many.
    fn learn(&mut self, fact: Fact) {
        if (fact.min, fact.max) == (0, u32::MAX) {
            return;
        }
        let is_about = |slot: &Option<Fact>| slot.is_some_and(|own| own.word == fact.word);
        let at = self.facts.iter().position(is_about);
        let at = at.or_else(|| self.facts.iter().position(Option::is_none));
        match at.and_then(|at| self.facts.get_mut(at)) {
            Some(slot) => *slot = Some(fact),
            None => {
                self.facts.rotate_left(1);
                if let Some(last) = self.facts.last_mut() {
                    *last = Some(fact);
                }
            }
        }
    }

    /// Keeps what is true on another path, too.
    fn join(&mut self, other: &Known) {
        if self.a != other.a {
            self.a = None;
        }
        for slot in &mut self.facts {
            *slot = slot.and_then(|own| {
                let theirs = other.about(own.word);
                let (min, max) = (own.min.min(theirs.min), own.max.max(theirs.max));
                ((min, max) != (0, u32::MAX)).then_some(Fact { min, max, ..own })
            });
        }
    }

    /// These facts on a side of a comparison of A.
    fn on_side(mut self, relation: Relation, k: u32, holds: bool) -> Known {
        if let Some(word) = self.a {
            self.learn(self.about(word).assume(relation, k, holds));
        }
        self
    }
}

/// An instruction and the destinations of its edges, of which unreachable ones have none.
#[derive(Clone, Copy)]
struct Step {
    insn: Insn,
    /// Of a branch that holds, or of any other instruction that does not return.
    to: usize,
    /// Of a branch that does not hold.
    otherwise: usize,
}

struct Threading<'p> {
    insns: &'p [Insn],
    endian: Endian,
    /// The facts before each instruction that an edge leads to.
    known: Vec<Option<Known>>,
    steps: Vec<Option<Step>>,
    /// How many more instructions edges may be followed through.
    budget: usize,
    /// An edge has another destination.
    is_changed: bool,
}

impl Threading<'_> {
    fn of(insns: &[Insn], endian: Endian) -> Threading<'_> {
        let mut threading = Threading {
            insns,
            endian,
            known: vec![None; insns.len()],
            steps: vec![None; insns.len()],
            budget: STEPS * insns.len(),
            is_changed: false,
        };
        if let Some(first) = threading.known.first_mut() {
            *first = Some(Known::default());
        }
        for (at, insn) in insns.iter().enumerate() {
            if let Some(known) = threading.known.get(at).copied().flatten() {
                let step = threading.step(at, *insn, known);
                if let Some(slot) = threading.steps.get_mut(at) {
                    *slot = Some(step);
                }
            }
        }
        threading
    }

    /// Follows the edges of an instruction.
    fn step(&mut self, at: usize, insn: Insn, known: Known) -> Step {
        let comparison = insn.comparison();
        match insn.successors(at) {
            Successors::Return => Step { insn, to: at, otherwise: at },
            Successors::Jump(to) => {
                let to = self.arrive(to, known);
                Step { insn, to, otherwise: to }
            }
            Successors::Branch { taken, otherwise } => {
                let [yes, no] = match comparison {
                    Some((relation, Source::K(k))) => {
                        let decided = known.a.and_then(|a| known.about(a).decides(relation, k));
                        if let Some(holds) = decided {
                            let to = self.arrive(if holds { taken } else { otherwise }, known);
                            self.is_changed = true;
                            return Step { insn: Insn::new(Op::Ja, 0), to, otherwise: to };
                        }
                        [true, false].map(|holds| known.on_side(relation, k, holds))
                    }
                    _ => [known; 2],
                };
                let to = self.arrive(taken, yes);
                Step { insn, to, otherwise: self.arrive(otherwise, no) }
            }
            Successors::Next(next) => {
                let a = match insn.op {
                    Op::LdWordAbs => Some(insn.k),
                    // What does not write A.
                    Op::LdxImm
                    | Op::LdxMem
                    | Op::LdxLen
                    | Op::LdxMsh
                    | Op::St
                    | Op::Stx
                    | Op::Tax => known.a,
                    _ => None,
                };
                let to = self.arrive(next, Known { a, ..known });
                Step { insn, to, otherwise: to }
            }
        }
    }

    /// Leads an edge to the destination that is furthest away, and adds its facts to those before it.
    fn arrive(&mut self, to: usize, known: Known) -> usize {
        let to = self.destination(to, &known);
        if let Some(slot) = self.known.get_mut(to) {
            match slot {
                Some(own) => own.join(&known),
                None => *slot = Some(known),
            }
        }
        to
    }

    /// The last instruction on the way of an edge before which nothing but decided comparisons and loads into A is executed,
    /// and that does not need these loads: A holds the same, or it is written again, or it is not read any more.
    fn destination(&mut self, from: usize, known: &Known) -> usize {
        let (mut at, mut a, mut destination) = (from, known.a, from);
        while let Some(insn) = self.insns.get(at) {
            let is_same = a == known.a && a.is_some() || at == from;
            if is_same {
                destination = at;
            }
            let Some(rest) = self.budget.checked_sub(1) else { break };
            self.budget = rest;
            at = match insn.op {
                Op::RetK => {
                    destination = at;
                    break;
                }
                Op::LdWordAbs if Word::from_offset(insn.k, self.endian).is_some() => {
                    destination = at;
                    a = Some(insn.k);
                    at + 1
                }
                _ => match (insn.successors(at), insn.comparison()) {
                    (Successors::Jump(to), _) => to,
                    (Successors::Branch { taken, otherwise }, Some((relation, Source::K(k)))) => {
                        match a.and_then(|a| known.about(a).decides(relation, k)) {
                            Some(true) => taken,
                            Some(false) => otherwise,
                            None => break,
                        }
                    }
                    _ => break,
                },
            };
        }
        self.is_changed |= destination != from;
        destination
    }

    /// The reachable instructions with their edges, if there are other ones than before.
    fn program(self) -> Option<Vec<Insn>> {
        if !self.is_changed {
            return None;
        }
        // From the last one to the first, so that destinations have their places: their distance from the end.
        let mut places = vec![0; self.steps.len()];
        let mut insns: Vec<Insn> = Vec::with_capacity(self.steps.len());
        for (at, step) in self.steps.iter().enumerate().rev() {
            let Some(step) = step else { continue };
            let distance = |to: usize, len: usize| len - places.get(to).copied().unwrap_or(len);
            let jump = |to: usize, insns: &mut Vec<Insn>| {
                insns.push(Insn::new(Op::Ja, distance(to, insns.len()) as u32));
            };
            match step.insn.successors(at) {
                Successors::Return => insns.push(step.insn),
                Successors::Jump(_) => jump(step.to, &mut insns),
                Successors::Next(_) => {
                    if distance(step.to, insns.len()) > 0 {
                        jump(step.to, &mut insns);
                    }
                    insns.push(step.insn);
                }
                Successors::Branch { .. } => {
                    let Step { insn, to, otherwise } = *step;
                    // With room for both jumps that may be added.
                    let is_far =
                        |to: usize, len: usize| distance(to, len + 1) > usize::from(u8::MAX);
                    let mut near = [to, otherwise].map(|to| (to, None));
                    for (to, place) in &mut near {
                        if is_far(*to, insns.len()) {
                            jump(*to, &mut insns);
                            *place = Some(insns.len());
                        }
                    }
                    let [yes, no] = near.map(|(to, place)| match place {
                        Some(place) => (insns.len() - place) as u8,
                        None => distance(to, insns.len()) as u8,
                    });
                    insns.push(Insn::branch(insn.op, insn.k, yes, no));
                }
            }
            if let Some(place) = places.get_mut(at) {
                *place = insns.len();
            }
        }
        insns.reverse();
        Some(insns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::random::Rng;
    use callgate_core::{Program, Run, SeccompData};

    const ENDIAN: Endian = Endian::Little;
    const NR: u32 = 0;
    const LOW: u32 = 16;
    const HIGH: u32 = 20;

    /// `ld [nr]; jeq #nr; ld [high]; jeq #0; ld [low]; jeq #value` for each rule. A rule that does not match leads to the next.
    fn chain(rules: impl Iterator<Item = (u32, u32)>) -> Vec<Insn> {
        let mut insns = Vec::new();
        for (nr, low) in rules {
            insns.extend([
                Insn::new(Op::LdWordAbs, NR),
                Insn::branch(Op::JeqK, nr, 0, 5),
                Insn::new(Op::LdWordAbs, HIGH),
                Insn::branch(Op::JeqK, 0, 0, 3),
                Insn::new(Op::LdWordAbs, LOW),
                Insn::branch(Op::JeqK, low, 0, 1),
                Insn::new(Op::RetK, 0x7fff_0000),
            ]);
        }
        insns.push(Insn::new(Op::RetK, 0));
        insns
    }

    fn run(insns: &[Insn], data: &SeccompData) -> Run {
        Program::new(insns.to_vec()).unwrap().run(data, ENDIAN)
    }

    #[test]
    fn words_of_a_chain_are_loaded_once() {
        let insns = chain((0..400).map(|rule| (rule / 40, 7 * (rule % 40))));
        let threaded = threaded(&insns, ENDIAN).unwrap();
        let data =
            |nr, arg: u64| SeccompData { nr, args: [arg, 0, 0, 0, 0, 0], ..SeccompData::default() };
        // No value of the last number: its ten numbers, one high word, and forty values are compared.
        let data = data(9, 5);
        assert_eq!(run(&insns, &data).executed, 360 * 2 + 40 * 6 + 1);
        let executed = run(&threaded, &data).executed;
        assert!(executed <= 1 + 10 + 2 + 1 + 40 + 1, "{executed}");
    }

    #[test]
    fn programs_where_no_paths_meet_before_loads_stay_as_they_are() {
        let insns = [
            Insn::new(Op::LdWordAbs, NR),
            Insn::branch(Op::JeqK, 1, 0, 1),
            Insn::new(Op::RetK, 1),
            Insn::new(Op::RetK, 0),
        ];
        assert_eq!(threaded(&insns, ENDIAN), None);
    }

    /// Blocks that load a word and compare it with few constants, sometimes with other instructions between them.
    fn program(rng: &mut Rng) -> Vec<Insn> {
        const CONSTANTS: [u32; 8] = [0, 1, 2, 3, 5, 0x4000_0000, u32::MAX - 1, u32::MAX];
        let most = if rng.below(20) == 0 { 900 } else { 60 };
        let len = 6 + rng.below(most);
        let farthest = if rng.below(3) == 0 { 256 } else { 9 };
        let mut insns = Vec::new();
        for left in (1..=len).rev() {
            let mut skip = || rng.below((left + 2).min(farthest)) as u8;
            let (jt, jf) = (skip(), skip());
            let k = rng.pick(&CONSTANTS).unwrap();
            insns.push(match rng.below(16) {
                0..6 => Insn::new(Op::LdWordAbs, rng.pick(&[NR, 4, LOW, HIGH]).unwrap()),
                6 => Insn::new(Op::Ja, u32::from(jt)),
                7 => {
                    let op =
                        rng.pick(&[Op::AndK, Op::AddK, Op::Txa, Op::Tax, Op::LdImm, Op::LdLen]);
                    Insn::new(op.unwrap(), k)
                }
                8 if rng.below(4) == 0 => Insn::new(Op::RetK, k),
                8 => Insn::branch(Op::JeqX, 0, jt, jf),
                9..13 => Insn::branch(Op::JeqK, k, jt, jf),
                _ => {
                    let op = rng.pick(&[Op::JgtK, Op::JgeK, Op::JsetK]).unwrap();
                    Insn::branch(op, k, jt, jf)
                }
            });
        }
        insns.extend([Insn::new(Op::RetK, 1), Insn::new(Op::RetK, 2), Insn::new(Op::RetA, 0)]);
        insns
    }

    #[test]
    fn threaded_programs_mean_the_same() {
        let mut rng = Rng::new(41);
        let mut changed = 0;
        for _ in 0..if cfg!(miri) { 10 } else { 20_000 } {
            let insns = program(&mut rng);
            let Some(threaded) = threaded(&insns, ENDIAN) else { continue };
            changed += 1;
            let [original, threaded] =
                [&insns, &threaded].map(|insns| Program::new(insns.clone()).unwrap());
            for _ in 0..40 {
                let mut data = SeccompData::default();
                for word in Word::all() {
                    data.set_word(
                        word,
                        rng.pick(&[0, 1, 2, 3, 4, 5, 0x4000_0000, u32::MAX]).unwrap(),
                    );
                }
                assert_eq!(
                    original.run(&data, ENDIAN).verdict,
                    threaded.run(&data, ENDIAN).verdict,
                    "{data:?}\n{:#?}\n{:#?}",
                    original.insns(),
                    threaded.insns()
                );
            }
        }
        assert!(changed > 5, "{changed} programs were changed");
    }

    #[test]
    fn destinations_beyond_the_reach_of_a_branch_get_jumps() {
        let mut insns = vec![Insn::new(Op::LdWordAbs, NR), Insn::branch(Op::JeqK, 1, 0, 0)];
        insns.extend((2..600).map(|at| Insn::new(Op::RetK, at)));
        for to in 250..265 {
            for otherwise in 250..265 {
                let step = |(at, insn): (usize, &Insn)| match at {
                    1 => Step { insn: *insn, to, otherwise },
                    _ => Step { insn: *insn, to: at + 1, otherwise: at + 1 },
                };
                let steps = insns.iter().enumerate().map(|step_at| Some(step(step_at))).collect();
                let threading = Threading {
                    insns: &insns,
                    endian: ENDIAN,
                    known: Vec::new(),
                    steps,
                    budget: 0,
                    is_changed: true,
                };
                let program = threading.program().unwrap();
                for (nr, expected) in [(1, to), (2, otherwise)] {
                    let data = SeccompData { nr, ..SeccompData::default() };
                    assert_eq!(run(&program, &data).verdict.0 as usize, expected);
                }
            }
        }
    }

    #[test]
    fn distant_destinations_get_jumps() {
        // Paths of the first rule that does not match lead past all others.
        let insns = chain((0..500).map(|nr| (nr, 3)));
        let threaded = threaded(&insns, ENDIAN).unwrap();
        for nr in [0, 1, 250, 499, 500] {
            for low in [3, 4] {
                let data = SeccompData { nr, args: [low, 0, 0, 0, 0, 0], ..SeccompData::default() };
                assert_eq!(run(&insns, &data).verdict, run(&threaded, &data).verdict, "{data:?}");
            }
        }
    }
}
