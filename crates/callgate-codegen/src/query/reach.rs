//! Reachability: which instructions and edges of branches a program can reach, and with which syscalls.
//!
//! After the symbolic execution of the program, a forward pass computes for each state the predicate of the syscalls
//! that lead to it. If that is [`Pred::NEVER`], the code is proved dead. Otherwise, each path to true is a syscall
//! that reaches it.
//!
//! Predicates grow where paths merge, so this may need more nodes than the function itself. Above a limit, only one
//! of the merging paths is followed: syscalls are still found, but code without one is [`Reachable::Unknown`],
//! never reported as dead.

use super::found::syscall_to;
use crate::Result;
use callgate_core::diagram::from_program::{Execution, Next, State, Step};
use callgate_core::diagram::symbolic::Value;
use callgate_core::diagram::{DiagramError, Pred, Store};
use callgate_core::{Endian, Insn, Program, SeccompData, Source, Word};

/// Whether some code is reachable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reachable {
    /// No syscall reaches it.
    Never,
    /// These syscalls reach it; others may, too.
    By(Pred),
    /// The budget was exhausted before a result.
    Unknown,
}

/// The reachable code of a program.
#[derive(Clone, Debug)]
pub struct Reach {
    /// Per instruction, the predicates that it is reached, that its condition is false, and that it is true. The
    /// latter two are for branches only.
    insns: Vec<[Pred; 3]>,
    /// The number of instructions with complete predicates, and the error at the next.
    stopped: Option<(usize, DiagramError)>,
}

/// The maximum number of nodes for merging paths; the rest of the budget is for single paths.
const MERGE_NODES: usize = 1_000_000;

const BAD_STATE: DiagramError = DiagramError::defect("states of a program are numbered");

impl Reach {
    /// Whether the instruction with this index is reachable.
    pub fn insn(&self, index: usize) -> Reachable {
        self.get(index, 0)
    }

    /// Whether an edge of the branch with this index is reachable: the taken edge, or the one for a false condition.
    /// An instruction that is not a branch has no reachable edges.
    pub fn edge(&self, index: usize, holds: bool) -> Reachable {
        self.get(index, 1 + usize::from(holds))
    }

    /// The error that prevented complete predicates, if any.
    pub fn stopped(&self) -> Option<DiagramError> {
        self.stopped.map(|(_, why)| why)
    }

    fn get(&self, index: usize, which: usize) -> Reachable {
        let pred = self.insns.get(index).and_then(|insn| insn.get(which)).copied();
        match (pred, self.stopped) {
            (Some(Pred::NEVER) | None, Some((end, _))) if index >= end => Reachable::Unknown,
            (Some(Pred::NEVER) | None, _) => Reachable::Never,
            (Some(pred), _) => Reachable::By(pred),
        }
    }
}

/// Computes the reachable code of a program on machines of this byte order, within the budget of the store; see
/// [`Reach::stopped`].
pub fn reach(store: &mut Store, program: &Program, endian: Endian) -> Reach {
    let insns = program.insns();
    let mut reach = Reach { insns: vec![[Pred::NEVER; 3]; insns.len()], stopped: None };
    let execution = match Execution::explore(store, program, endian) {
        Ok(execution) => execution,
        Err(why) => {
            reach.stopped = Some((0, why));
            return reach;
        }
    };
    let mut reached_by = vec![Pred::NEVER; execution.len()];
    if let Some(first) = reached_by.first_mut() {
        *first = Pred::ALWAYS;
    }
    let max_nodes = store.len().saturating_add(MERGE_NODES);
    let mut pass = Pass { store, execution: &execution, reached_by, reach };
    for (index, insn) in insns.iter().enumerate() {
        if pass.reach.stopped.is_none() && pass.store.len() > max_nodes {
            pass.reach.stopped = Some((index, DiagramError::nodes(MERGE_NODES)));
        }
        let mut result = pass.insn(index, *insn);
        if let (Err(why), None) = (result, pass.reach.stopped) {
            pass.reach.stopped = Some((index, why));
            pass.store.reset_steps();
            result = pass.insn(index, *insn);
        }
        if result.is_err() {
            break;
        }
    }
    pass.reach
}

struct Pass<'s> {
    store: &'s mut Store,
    execution: &'s Execution,
    /// The predicate of each state, complete when its instruction is visited.
    reached_by: Vec<Pred>,
    reach: Reach,
}

impl Pass<'_> {
    /// Propagates the predicates of all states of an instruction to their successors.
    fn insn(&mut self, index: usize, insn: Insn) -> Result<()> {
        let [mut entered, mut failing, mut holding] = [Pred::NEVER; 3];
        let execution = self.execution;
        for number in execution.states_at(index) {
            let here = *self.reached_by.get(number).ok_or(BAD_STATE)?;
            if here == Pred::NEVER {
                continue;
            }
            keep(&mut entered, here);
            match execution.step_of(number)? {
                Step::Return(_) => {}
                Step::Goto(next) => {
                    let State { a, x, .. } = execution.state(number)?;
                    match decided(index, insn, a, x)? {
                        Some(true) => keep(&mut holding, here),
                        Some(false) => keep(&mut failing, here),
                        None => {}
                    }
                    self.arrive(next, here)?;
                }
                Step::Branch { relation, a, b, taken, otherwise } => {
                    let condition = execution.values.relation(self.store, relation, a, b)?;
                    let yes = self.store.and(here, condition)?;
                    let not = self.store.not(condition)?;
                    let no = self.store.and(here, not)?;
                    if insn.op.is_branch() {
                        keep(&mut holding, yes);
                        keep(&mut failing, no);
                    }
                    for (next, more) in [(taken, yes), (otherwise, no)] {
                        if let Next::State(next) = next {
                            self.arrive(next, more)?;
                        }
                    }
                }
            }
        }
        *self.reach.insns.get_mut(index).ok_or(BAD_STATE)? = [entered, failing, holding];
        Ok(())
    }

    /// Adds syscalls to those that lead to a state.
    fn arrive(&mut self, state: usize, more: Pred) -> Result<()> {
        let known = self.reached_by.get_mut(state).ok_or(BAD_STATE)?;
        // A return has no successors, so some of its syscalls suffice. So do some of all if paths are not merged.
        let is_end = matches!(self.execution.step_of(state)?, Step::Return(_));
        let is_enough = *known != Pred::NEVER && (is_end || self.reach.stopped.is_some());
        if !is_enough {
            *known = self.store.or(*known, more)?;
        }
        Ok(())
    }
}

/// A syscall for which the predicate holds, near `start`; `None` if there is none, and if none was found that fulfills comparisons
/// of two arguments.
pub fn example(store: &Store, pred: Pred, start: SeccompData) -> Option<SeccompData> {
    let mut data = start;
    let mut node = pred;
    // Every node except `NEVER` has a path to true.
    while let Some(word) = Word::from_index(usize::from(store.var(node) / 32)) {
        let bit = 1 << (31 - u32::from(store.var(node) % 32));
        let (low, high) = store.children(node);
        let value = data.word(word);
        let goes_high = if value & bit != 0 { high != Pred::NEVER } else { low == Pred::NEVER };
        data.set_word(word, if goes_high { value | bit } else { value & !bit });
        node = if goes_high { high } else { low };
    }
    match node {
        Pred::ALWAYS => Some(data),
        Pred::NEVER => None,
        _ => syscall_to(store, [pred], start, |[end]| end == Pred::ALWAYS),
    }
}

/// Keeps the first predicate that is not `NEVER`.
fn keep(slot: &mut Pred, pred: Pred) {
    if *slot == Pred::NEVER {
        *slot = pred;
    }
}

/// Whether a branch on constants holds; `None` for any other instruction.
fn decided(index: usize, insn: Insn, a: Value, x: Value) -> Result<Option<bool>> {
    let Some((_, source)) = insn.comparison() else { return Ok(None) };
    let constant = |value| match value {
        Value::Constant(k) => Ok(k),
        _ => Err(DiagramError::defect("a branch with one successor compares constants")),
    };
    let x = if source == Source::X { constant(x)? } else { 0 };
    Ok(callgate_core::Step { index, insn, a: constant(a)?, x }.holds())
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_core::Op;

    fn reach_of(insns: Vec<Insn>) -> (Store, Reach) {
        let mut store = Store::default();
        let reach = reach(&mut store, &Program::new(insns).unwrap(), Endian::Little);
        (store, reach)
    }

    #[test]
    fn dead_code_is_proved_dead_and_live_code_has_a_syscall() {
        let insns = vec![
            Insn::new(Op::LdWordAbs, 0),
            Insn::branch(Op::JgeK, 10, 0, 4),
            // Below 10 is not at or above 10.
            Insn::branch(Op::JgtK, 5, 1, 0),
            Insn::new(Op::RetK, 1),
            Insn::branch(Op::JeqK, 7, 0, 1),
            Insn::new(Op::RetK, 2),
            Insn::new(Op::RetK, 3),
        ];
        let program = Program::new(insns.clone()).unwrap();
        let (store, reach) = reach_of(insns);
        assert_eq!(reach.stopped(), None);
        let dead = [3, 5];
        for index in 0..program.len() {
            match reach.insn(index) {
                Reachable::Never => assert!(dead.contains(&index), "{index}"),
                Reachable::By(pred) => {
                    let data = example(&store, pred, SeccompData::default()).unwrap();
                    let mut seen = false;
                    program.trace(&data, Endian::Little, |step| seen |= step.index == index);
                    assert!(seen && !dead.contains(&index), "{index}");
                }
                Reachable::Unknown => panic!("{index}"),
            }
        }
        assert_eq!(reach.edge(2, false), Reachable::Never);
        assert_eq!(reach.edge(4, true), Reachable::Never);
        assert!(matches!(reach.edge(1, false), Reachable::By(_)));
        assert_eq!(reach.edge(0, false), Reachable::Never, "no branch");
    }

    #[test]
    fn branches_on_constants_have_one_edge() {
        let (_, reach) = reach_of(vec![
            Insn::new(Op::LdxImm, 4),
            Insn::new(Op::LdImm, 9),
            Insn::branch(Op::JgtX, 0, 0, 1),
            Insn::new(Op::RetK, 1),
            Insn::new(Op::RetK, 2),
        ]);
        assert_eq!(reach.edge(2, true), Reachable::By(Pred::ALWAYS));
        assert_eq!(reach.edge(2, false), Reachable::Never);
        assert_eq!(reach.insn(4), Reachable::Never);
    }

    #[test]
    fn a_division_by_zero_ends_the_program() {
        let (store, reach) = reach_of(vec![
            Insn::new(Op::LdWordAbs, 16),
            Insn::new(Op::AndK, 0xf),
            Insn::new(Op::Tax, 0),
            Insn::new(Op::DivX, 0),
            Insn::new(Op::Txa, 0),
            Insn::branch(Op::JeqK, 0, 0, 1),
            Insn::new(Op::RetK, 1),
            Insn::new(Op::RetK, 2),
        ]);
        assert_eq!(reach.edge(5, true), Reachable::Never);
        let Reachable::By(pred) = reach.insn(7) else { panic!() };
        let data = example(&store, pred, SeccompData::default()).unwrap();
        assert_ne!(data.args[0] & 0xf, 0);
    }

    #[test]
    fn code_beyond_the_budget_is_unknown() {
        let mut store = Store::new(callgate_core::diagram::Budget { nodes: 2_000, steps: 20_000 });
        let mut insns = vec![
            Insn::new(Op::LdWordAbs, 16),
            Insn::new(Op::Tax, 0),
            Insn::branch(Op::JeqK, 3, 0, 0),
            Insn::new(Op::LdWordAbs, 24),
            Insn::new(Op::MulX, 0),
            Insn::branch(Op::JeqK, 77, 0, 1),
        ];
        insns.extend([Insn::new(Op::RetK, 1), Insn::new(Op::RetK, 2)]);
        let reach = reach(&mut store, &Program::new(insns).unwrap(), Endian::Little);
        assert!(reach.stopped().is_some());
        assert_eq!(reach.edge(5, true), Reachable::Unknown);
        assert_eq!(reach.insn(7), Reachable::Unknown);
    }
    /// Branches on many words whose edges merge: a predicate of all paths would be huge.
    #[test]
    fn above_the_limit_single_paths_are_followed() {
        let mut insns = Vec::new();
        let mut rng = callgate_bpf::random::Rng::new(3);
        for _ in 0..1000 {
            insns.push(Insn::new(Op::LdWordAbs, 16 + 4 * rng.below(12) as u32));
            let k = rng.next() as u32;
            insns.push(Insn::branch(Op::JgtK, k, rng.below(4) as u8, rng.below(4) as u8));
        }
        insns.extend([Insn::new(Op::RetK, 1); 5]);
        let program = Program::new(insns.clone()).unwrap();
        let (store, reach) = reach_of(insns);
        assert!(reach.stopped().is_some());
        let mut found = 0;
        for index in (0..program.len()).filter(|index| program.insns()[*index].op.is_branch()) {
            for holds in [false, true] {
                let Reachable::By(pred) = reach.edge(index, holds) else { continue };
                let data = example(&store, pred, SeccompData::default()).unwrap();
                let mut taken = false;
                program.trace(&data, Endian::Little, |step| {
                    taken |= step.index == index && step.holds() == Some(holds);
                });
                assert!(taken, "{index} {holds}");
                found += 1;
            }
        }
        assert!(found > 1000, "{found}");
    }
}
