//! The blocks of instructions of a program, and the order in which syscalls are tested.
//!
//! Equal blocks are shared, and a jump names a block, not a position. Per architecture there is a chain of consecutive
//! blocks: the check of the architecture, that of the ABI, the binary search, and one block per syscall. Blocks of argument
//! tests and returns are not in the chain; [`super::layout`] places them after their first use.

use std::collections::{HashMap, VecDeque};

use callgate::{Endian, Verdict};
use callgate_core::policy::Policy;
use callgate_core::{Insn, Op, Word, X32_SYSCALL_BIT};

use super::comparisons::{Comparisons, Edge, Relation};
use super::error::{ShapeError, ShapeErrorKind};
use super::rules::{Action, Filter, Foreign};

/// How libseccomp arranges syscalls (`SCMP_FLTATR_CTL_OPTIMIZE`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// 1: those with the fewest comparisons first, then by number.
    Priority,
    /// 2: a binary search.
    Tree,
}

/// Syscalls in a leaf of the search.
const GROUP: usize = 4;
/// The priority of a syscall without comparisons; each one lowers it.
const HIGHEST_PRIORITY: usize = 0xffff;

/// A block by its contents.
pub(super) type Id = usize;

/// An instruction whose jumps name blocks; without one, the next instruction follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Step {
    pub(super) insn: Insn,
    pub(super) taken: Option<Id>,
    pub(super) otherwise: Option<Id>,
}

impl Step {
    pub(super) fn new(op: Op, k: u32) -> Step {
        Step { insn: Insn::new(op, k), taken: None, otherwise: None }
    }

    fn branch(op: Op, k: u32, taken: Option<Id>, otherwise: Option<Id>) -> Step {
        Step { insn: Insn::branch(op, k, 0, 0), taken, otherwise }
    }
}

/// The contents of the accumulator: a word of the data under a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Accumulator {
    /// `None`: unknown or irrelevant.
    pub(super) offset: Option<u32>,
    pub(super) mask: u32,
}

impl Accumulator {
    pub(super) const UNKNOWN: Accumulator = Accumulator { offset: None, mask: u32::MAX };

    fn word(offset: u32) -> Accumulator {
        Accumulator { offset: Some(offset), mask: u32::MAX }
    }
}

/// A basic block.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) id: Id,
    pub(super) steps: Vec<Step>,
    /// The contents of the accumulator that the block needs at its entry.
    pub(super) start: Accumulator,
    pub(super) end: Accumulator,
}

/// All blocks of a program.
pub(super) struct Blocks {
    /// The chain: blocks that follow each other.
    pub(super) chain: Vec<Block>,
    /// All blocks, by [`Id`].
    pub(super) all: Vec<Block>,
    /// Whether a block is in the chain.
    pub(super) placed: Vec<bool>,
}

/// The blocks of a policy.
pub(super) fn of(filters: &[Filter], policy: &Policy, order: Order) -> Result<Blocks, ShapeError> {
    let mut builder = Builder {
        all: Vec::new(),
        placed: Vec::new(),
        known: HashMap::new(),
        default: 0,
        bad_arch: 0,
        endian: policy.endian(),
        order,
    };
    builder.bad_arch =
        builder.add(vec![Step::new(Op::RetK, policy.bad_arch().0)], Accumulator::UNKNOWN, true);
    let default = filters.first().map_or(policy.bad_arch(), |filter| filter.default);
    builder.default = builder.action(default);

    let load = Step::new(Op::LdWordAbs, Word::ARCH.offset(builder.endian));
    let mut head = builder.chained(vec![load], Accumulator::UNKNOWN);
    head.end = Accumulator::word(Word::ARCH.offset(builder.endian));
    let arches: Vec<VecDeque<Block>> =
        filters.iter().map(|filter| builder.arch(filter)).collect::<Result<_, _>>()?;
    let firsts: Vec<Option<Id>> =
        arches.iter().map(|chain| chain.front().map(|block| block.id)).collect();
    let mut chain = vec![head];
    for (index, mut blocks) in arches.into_iter().enumerate() {
        let next = firsts.get(index + 1).copied().flatten().unwrap_or(builder.bad_arch);
        if let Some(step) = blocks.front_mut().and_then(|check| check.steps.first_mut()) {
            step.otherwise = Some(next);
        }
        chain.extend(blocks);
    }
    chain.push(builder.all[builder.bad_arch].clone());
    Ok(Blocks { chain, all: builder.all, placed: builder.placed })
}

struct Builder {
    all: Vec<Block>,
    placed: Vec<bool>,
    known: HashMap<(Vec<Step>, Accumulator, Accumulator), Id>,
    default: Id,
    bad_arch: Id,
    endian: Endian,
    order: Order,
}

impl Builder {
    /// The block with these contents.
    fn intern(
        &mut self,
        steps: Vec<Step>,
        start: Accumulator,
        end: Accumulator,
        placed: bool,
    ) -> Id {
        let id = *self.known.entry((steps.clone(), start, end)).or_insert(self.all.len());
        if id == self.all.len() {
            self.all.push(Block { id, steps, start, end });
            self.placed.push(placed);
        }
        id
    }

    fn add(&mut self, steps: Vec<Step>, start: Accumulator, placed: bool) -> Id {
        self.intern(steps, start, start, placed)
    }

    /// A block for the chain.
    fn chained(&mut self, steps: Vec<Step>, start: Accumulator) -> Block {
        let id = self.add(steps, start, true);
        self.all[id].clone()
    }

    fn action(&mut self, verdict: Verdict) -> Id {
        self.add(vec![Step::new(Op::RetK, verdict.0)], Accumulator::UNKNOWN, false)
    }

    fn load_nr(&self) -> Step {
        Step::new(Op::LdWordAbs, Word::NR.offset(self.endian))
    }

    fn nr(&self) -> Accumulator {
        Accumulator::word(Word::NR.offset(self.endian))
    }

    /// The chain of an architecture.
    fn arch(&mut self, filter: &Filter) -> Result<VecDeque<Block>, ShapeError> {
        let mut chain = self.syscalls(filter)?;
        let first = |chain: &VecDeque<Block>, default| {
            Some(chain.front().map_or(default, |block| block.id))
        };
        if let Some(foreign) = filter.foreign {
            let (own, other) = (first(&chain, self.default), Some(self.bad_arch));
            let mut steps = vec![self.load_nr()];
            match foreign {
                // -1 is the number of a syscall that a tracer skips.
                Foreign::X32 => steps.extend([
                    Step::branch(Op::JgeK, X32_SYSCALL_BIT, None, own),
                    Step::branch(Op::JeqK, u32::MAX, own, other),
                ]),
                Foreign::X86_64 => {
                    steps.push(Step::branch(Op::JgeK, X32_SYSCALL_BIT, own, other));
                }
            }
            let id = self.intern(steps, Accumulator::UNKNOWN, self.nr(), true);
            chain.push_front(self.all[id].clone());
        }
        let to = first(&chain, self.default);
        let check = Step::branch(Op::JeqK, filter.token, to, None);
        let check = self.chained(vec![check], Accumulator::UNKNOWN);
        chain.push_front(check);
        Ok(chain)
    }

    /// The blocks of the syscalls, with the search in front of groups of them.
    fn syscalls(&mut self, filter: &Filter) -> Result<VecDeque<Block>, ShapeError> {
        let mut sorted = Vec::new();
        for (&nr, action) in filter.syscalls.iter().flatten() {
            let comparisons = match action {
                Action::Always(_) => None,
                Action::Combinations(combinations) => Some(
                    Comparisons::new(combinations, self.endian)
                        .map_err(|why| ShapeError(ShapeErrorKind::NoRule { syscall: nr, why }))?,
                ),
            };
            sorted.push((nr, action, comparisons));
        }
        match self.order {
            Order::Priority => sorted.sort_by_key(|(_, _, comparisons)| {
                let count = comparisons.as_ref().map_or(0, Comparisons::count);
                std::cmp::Reverse(HIGHEST_PRIORITY.saturating_sub(count))
            }),
            Order::Tree => sorted.sort_by_key(|(nr, ..)| std::cmp::Reverse(*nr)),
        }

        let mut search = match self.order {
            Order::Tree if !sorted.is_empty() => Some(Search::new(sorted.len())),
            _ => None,
        };
        let mut chain: VecDeque<Block> = VecDeque::new();
        let last = sorted.len().saturating_sub(1);
        for (done, (nr, action, comparisons)) in sorted.iter().rev().enumerate() {
            let ends_group = search.as_ref().is_some_and(|own| (done + own.empty) % GROUP == 0);
            let next = chain.front().filter(|_| !ends_group).map_or(self.default, |next| next.id);
            // The check of the ABI and the search load the number themselves.
            let loads = done == last && search.is_none() && filter.foreign.is_none();
            let syscall = self.syscall(*nr, action, comparisons.as_ref(), next, loads);
            let id = syscall.id;
            chain.push_front(syscall);
            if let Some(search) = &mut search {
                search.add(self, &mut chain, *nr, id, done + 1);
            }
        }
        if search.is_some() {
            let mut load = self.chained(vec![self.load_nr()], Accumulator::UNKNOWN);
            load.end = self.nr();
            chain.push_front(load);
        }
        Ok(chain)
    }

    fn syscall(
        &mut self,
        nr: u32,
        action: &Action,
        comparisons: Option<&Comparisons>,
        next: Id,
        loads: bool,
    ) -> Block {
        let known = if loads { self.nr() } else { Accumulator::UNKNOWN };
        let to = match (action, comparisons) {
            (_, Some(comparisons)) => self.level(comparisons, 0, self.default, known),
            (Action::Always(verdict), None) => self.action(*verdict),
            (Action::Combinations(_), None) => self.default,
        };
        let mut steps = Vec::new();
        let mut start = self.nr();
        if loads {
            steps.push(self.load_nr());
            start = Accumulator::UNKNOWN;
        }
        steps.push(Step::branch(Op::JeqK, nr, Some(to), Some(next)));
        let id = self.intern(steps, start, self.nr(), true);
        self.all[id].clone()
    }

    /// The first block of a level of comparisons; `next` follows its last one.
    ///
    /// The recursion is bounded: each of six arguments has one to three nested levels.
    fn level(
        &mut self,
        comparisons: &Comparisons,
        level: usize,
        next: Id,
        known: Accumulator,
    ) -> Id {
        // Each comparison passes the contents of the accumulator on to the next.
        let mut accumulator = known;
        let mut prepared = Vec::new();
        for comparison in comparisons.level(level) {
            let (mut steps, mut start) = (Vec::new(), accumulator);
            if accumulator.offset != Some(comparison.offset)
                || comparison.mask & accumulator.mask != comparison.mask
            {
                accumulator = Accumulator::word(comparison.offset);
                steps.push(Step::new(Op::LdWordAbs, comparison.offset));
                start = Accumulator::UNKNOWN;
            }
            if comparison.mask != accumulator.mask {
                accumulator.mask = comparison.mask;
                steps.push(Step::new(Op::AndK, comparison.mask));
            }
            prepared.push((comparison, steps, start, accumulator));
        }
        let mut next = next;
        for (comparison, mut steps, start, end) in prepared.into_iter().rev() {
            let to = |builder: &mut Builder, edge| match edge {
                Edge::Next => next,
                Edge::Action(verdict) => builder.action(verdict),
                Edge::Level(level) => builder.level(comparisons, level, next, end),
            };
            let taken = to(self, comparison.taken);
            let otherwise = to(self, comparison.otherwise);
            let op = match comparison.relation {
                Relation::Eq | Relation::MaskedEq => Op::JeqK,
                Relation::Gt => Op::JgtK,
                Relation::Ge => Op::JgeK,
            };
            steps.push(Step::branch(op, comparison.value, Some(taken), Some(otherwise)));
            next = self.intern(steps, start, end, false);
        }
        next
    }
}

/// The binary search tree, which is built while syscalls are added in ascending order.
struct Search {
    /// Per level the last number added, and the block that begins there.
    levels: Vec<Option<(u32, Id)>>,
    /// The number of syscalls that a balanced tree would have in addition, at its end with small numbers.
    empty: usize,
}

impl Search {
    fn new(count: usize) -> Search {
        let (mut levels, mut room) = (2, 2 * GROUP);
        while room < count {
            room *= 2;
            levels += 1;
        }
        Search { levels: vec![None; levels], empty: ((2 * GROUP) << (levels - 1)) - count }
    }

    /// After a syscall with this block: the comparisons that are complete now.
    fn add(
        &mut self,
        builder: &mut Builder,
        chain: &mut VecDeque<Block>,
        nr: u32,
        syscall: Id,
        done: usize,
    ) {
        let total = done + self.empty;
        let complete = |level: &usize| total.is_multiple_of(GROUP << level);
        let Some(top) = (0..self.levels.len()).rev().find(complete) else { return };
        self.levels[top] = Some((nr, syscall));
        let mut above = syscall;
        for (pivot, below) in self.levels[..top].iter().flatten() {
            let step = Step::branch(Op::JgtK, *pivot, Some(above), Some(*below));
            let block = builder.chained(vec![step], Accumulator::UNKNOWN);
            above = block.id;
            chain.push_front(block);
        }
        self.levels[top] = Some((nr, above));
    }
}
