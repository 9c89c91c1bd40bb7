//! Which instructions and which sides of branches a program can reach at all, and with which calls.
//!
//! The same symbolic execution as for the function of a program; then one pass from front to back
//! gives every state the predicate of the calls that lead to it. Where that is [`Pred::NEVER`], no
//! call does: a proof that the code is dead. Where it is not, any path to the truth is a call.
//!
//! Predicates grow where paths join, so this may take more than the function itself. When they grow too
//! much, only one of the paths that join is followed from there on: calls are still found, but what is
//! not reached is [`Reachable::Unknown`], never a guess.

use callgate_bpf::data::{Endian, SeccompData, Word};
use callgate_bpf::{Insn, Program, Source};
use callgate_proof::diagram::from_program::{Execution, Next, State, Step};
use callgate_proof::diagram::symbolic::Value;
use callgate_proof::diagram::{DiagramError, Pred, Store};

/// What is known about reaching some code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reachable {
    /// No call reaches it.
    Never,
    /// These calls reach it; others may, too.
    By(Pred),
    /// The budget did not suffice to tell.
    Unknown,
}

/// Which code of a program calls can reach.
#[derive(Clone, Debug)]
pub struct Reach {
    /// Per instruction: reached at all, with its condition false, with its condition true. The
    /// latter two are for branches only.
    insns: Vec<[Pred; 3]>,
    /// How many instructions were looked at in full, and what stopped that.
    stopped: Option<(usize, DiagramError)>,
}

/// With so many nodes made, paths are not joined any more; there must be room for following single
/// ones.
const JOINED_NODES: usize = 1_000_000;

const BAD_STATE: DiagramError = DiagramError::defect("states of a program are numbered");

impl Reach {
    /// Whether the instruction with this index is executed.
    pub fn insn(&self, index: usize) -> Reachable {
        self.get(index, 0)
    }

    /// Whether the branch with this index is executed while its condition holds, or does not.
    /// Of an instruction that is no branch, no side is reached.
    pub fn side(&self, index: usize, holds: bool) -> Reachable {
        self.get(index, 1 + usize::from(holds))
    }

    /// Why not all ways were followed to the end of the program, if they were not.
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

/// Which code of a program is reached, and by which calls, on machines of this byte order.
///
/// Within the budget of the store; see [`Reach::stopped`].
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
    // The predicate of each state, as far as it is known.
    let mut calls = vec![Pred::NEVER; execution.len()];
    if let Some(first) = calls.first_mut() {
        *first = Pred::ALWAYS;
    }
    let most = store.len().saturating_add(JOINED_NODES);
    for (index, insn) in insns.iter().enumerate() {
        if reach.stopped.is_none() && store.len() > most {
            reach.stopped = Some((index, DiagramError::nodes(JOINED_NODES)));
        }
        let insn = (index, *insn);
        let mut result = reach_insn(store, &execution, insn, &mut calls, &mut reach);
        if let (Err(why), None) = (result, reach.stopped) {
            reach.stopped = Some((index, why));
            store.reset_steps();
            result = reach_insn(store, &execution, insn, &mut calls, &mut reach);
        }
        if result.is_err() {
            break;
        }
    }
    reach
}

/// Propagates the predicates of all states of an instruction to their successors.
fn reach_insn(
    store: &mut Store,
    execution: &Execution,
    (index, insn): (usize, Insn),
    calls: &mut [Pred],
    reach: &mut Reach,
) -> Result<(), DiagramError> {
    let joins = reach.stopped.is_none();
    let [mut entered, mut failing, mut holding] = [Pred::NEVER; 3];
    for number in execution.states_at(index).iter().copied() {
        let here = *calls.get(number).ok_or(BAD_STATE)?;
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
                arrive(store, execution, joins, (next, here), calls)?;
            }
            Step::Branch { relation, a, b, taken, otherwise } => {
                let condition = execution.values.relation(store, relation, a, b)?;
                let yes = store.and(here, condition)?;
                let not = store.not(condition)?;
                let no = store.and(here, not)?;
                if insn.op.is_branch() {
                    keep(&mut holding, yes);
                    keep(&mut failing, no);
                }
                for (next, more) in [(taken, yes), (otherwise, no)] {
                    if let Next::State(next) = next {
                        arrive(store, execution, joins, (next, more), calls)?;
                    }
                }
            }
        }
    }
    *reach.insns.get_mut(index).ok_or(BAD_STATE)? = [entered, failing, holding];
    Ok(())
}

/// Adds calls to those that lead to a state.
fn arrive(
    store: &mut Store,
    execution: &Execution,
    joins: bool,
    (state, more): (usize, Pred),
    calls: &mut [Pred],
) -> Result<(), DiagramError> {
    let known = calls.get_mut(state).ok_or(BAD_STATE)?;
    // Nothing follows a return, so some of its calls are enough.
    let is_end = matches!(execution.step_of(state)?, Step::Return(_));
    let is_enough = *known != Pred::NEVER && (is_end || !joins);
    if !is_enough {
        *known = store.or(*known, more)?;
    }
    Ok(())
}

/// A call for which the predicate holds, close to `start`; `None` when there is none.
pub fn example(store: &Store, pred: Pred, start: SeccompData) -> Option<SeccompData> {
    let mut data = start;
    let mut node = pred;
    // Every node but `NEVER` has a way to the truth.
    while let Some(word) = Word::from_index(usize::from(store.var(node) / 32)) {
        let bit = 1 << (31 - u32::from(store.var(node) % 32));
        let (low, high) = store.children(node);
        let value = data.word(word);
        let goes_high = if value & bit != 0 { high != Pred::NEVER } else { low == Pred::NEVER };
        data.set_word(word, if goes_high { value | bit } else { value & !bit });
        node = if goes_high { high } else { low };
    }
    (node == Pred::ALWAYS).then_some(data)
}

/// The first predicate that is not empty stands for all.
fn keep(slot: &mut Pred, pred: Pred) {
    if *slot == Pred::NEVER {
        *slot = pred;
    }
}

/// Whether a branch on constants holds; `None` for any other instruction.
fn decided(index: usize, insn: Insn, a: Value, x: Value) -> Result<Option<bool>, DiagramError> {
    let Some((_, source)) = insn.comparison() else { return Ok(None) };
    let constant = |value| match value {
        Value::Constant(k) => Ok(k),
        _ => Err(DiagramError::defect("a branch with one successor compares constants")),
    };
    let x = if source == Source::X { constant(x)? } else { 0 };
    Ok(callgate_bpf::Step { index, insn, a: constant(a)?, x }.holds())
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::Op;

    fn reach_of(insns: Vec<Insn>) -> (Store, Reach) {
        let mut store = Store::default();
        let reach = reach(&mut store, &Program::new(insns).unwrap(), Endian::Little);
        (store, reach)
    }

    #[test]
    fn dead_code_is_proved_dead_and_live_code_has_a_call() {
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
        assert_eq!(reach.side(2, false), Reachable::Never);
        assert_eq!(reach.side(4, true), Reachable::Never);
        assert!(matches!(reach.side(1, false), Reachable::By(_)));
        assert_eq!(reach.side(0, false), Reachable::Never, "no branch");
    }

    #[test]
    fn branches_on_constants_have_one_side() {
        let (_, reach) = reach_of(vec![
            Insn::new(Op::LdxImm, 4),
            Insn::new(Op::LdImm, 9),
            Insn::branch(Op::JgtX, 0, 0, 1),
            Insn::new(Op::RetK, 1),
            Insn::new(Op::RetK, 2),
        ]);
        assert_eq!(reach.side(2, true), Reachable::By(Pred::ALWAYS));
        assert_eq!(reach.side(2, false), Reachable::Never);
        assert_eq!(reach.insn(4), Reachable::Never);
    }

    #[test]
    fn a_division_by_zero_reaches_nothing_further() {
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
        assert_eq!(reach.side(5, true), Reachable::Never);
        let Reachable::By(pred) = reach.insn(7) else { panic!() };
        let data = example(&store, pred, SeccompData::default()).unwrap();
        assert_ne!(data.args[0] & 0xf, 0);
    }

    #[test]
    fn what_is_out_of_budget_is_unknown() {
        let mut store = Store::new(callgate_proof::diagram::Budget { nodes: 2_000, steps: 20_000 });
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
        assert_eq!(reach.side(5, true), Reachable::Unknown);
        assert_eq!(reach.insn(7), Reachable::Unknown);
    }
    /// Branches on words in turn, whose sides join again: a predicate of all ways would be huge.
    #[test]
    fn where_ways_are_too_many_single_ones_are_followed() {
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
                let Reachable::By(pred) = reach.side(index, holds) else { continue };
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
