//! Which functions return to their caller: abort, exit and those that always call them do not. The code after such a call
//! is not executed, so values that it would have must not count.

use rustc_hash::{FxHashMap, FxHashSet};

use super::state::State;
use super::value::{Atom, Value};
use crate::code::{Convention, Flow, Insn, decode};
use crate::image::Image;
use crate::program::{FunctionId, Program};
use crate::reach::Reach;

/// Instructions of a function; larger ones are assumed to return.
const MAX_INSNS: usize = 512;
/// Functions that call each other; deeper ones are assumed to return.
const MAX_DEPTH: u32 = 12;

/// Which functions return.
#[derive(Debug)]
pub(crate) struct Returns<'a> {
    program: Program<'a>,
    reach: &'a Reach,
    known: FxHashMap<FunctionId, bool>,
}

impl<'a> Returns<'a> {
    pub(crate) fn new(program: Program<'a>, reach: &'a Reach) -> Returns<'a> {
        Returns { program, reach, known: FxHashMap::default() }
    }

    /// The calls of a function that do not return.
    pub(crate) fn final_calls(&mut self, caller: FunctionId) -> Vec<u64> {
        self.final_calls_at(caller, 0)
    }

    fn final_calls_at(&mut self, caller: FunctionId, depth: u32) -> Vec<u64> {
        let mut calls: Vec<(u64, bool)> = Vec::new();
        for call in self.reach.calls_by(caller) {
            let returns = self.returns(call.callee, depth);
            match calls.last_mut().filter(|(at, _)| *at == call.at) {
                // A word may be bound to several functions.
                Some((_, any)) => *any |= returns,
                None => calls.push((call.at, returns)),
            }
        }
        calls.into_iter().filter(|(_, returns)| !returns).map(|(at, _)| at).collect()
    }

    fn returns(&mut self, id: FunctionId, depth: u32) -> bool {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        if depth >= MAX_DEPTH {
            return true;
        }
        // Functions that call themselves return, unless something else shows otherwise.
        self.known.insert(id, true);
        let returns = self.compute(id, depth).unwrap_or(true);
        self.known.insert(id, returns);
        returns
    }

    /// Whether a return or a jump to a function that returns is reachable.
    fn compute(&mut self, id: FunctionId, depth: u32) -> Option<bool> {
        let (image, _, function) = self.program.function(id)?;
        let bytes =
            image.layout.bytes(function.start, function.end.checked_sub(function.start)?)?;
        let insns = decode(image.machine, bytes, function.start, MAX_INSNS);
        if insns.len() >= MAX_INSNS {
            return None;
        }
        let ends = self.final_calls_at(id, depth + 1);
        let number_of = |address: u64| insns.binary_search_by_key(&address, |insn| insn.at).ok();
        let targets: FxHashSet<u64> = insns
            .iter()
            .filter_map(|insn| match insn.flow {
                Flow::Jump(target) | Flow::Branch(target) => Some(target),
                _ => None,
            })
            .collect();
        let mut seen = vec![false; insns.len()];
        let mut open = vec![0];
        while let Some(number) = open.pop() {
            let Some(insn) = insns.get(number) else { return Some(true) };
            let Some(seen) = seen.get_mut(number).filter(|seen| !**seen) else { continue };
            *seen = true;
            let mut jump = |target: u64| match number_of(target) {
                Some(target) => {
                    open.push(target);
                    false
                }
                // To another function.
                None => ends.binary_search(&insn.at).is_err(),
            };
            match insn.flow {
                Flow::Syscall
                    if is_final(insns.get(..=number).unwrap_or_default(), &targets, image) => {}
                Flow::Next | Flow::Syscall => open.push(number + 1),
                Flow::Call(_) => {
                    if ends.binary_search(&insn.at).is_err() {
                        open.push(number + 1);
                    }
                }
                Flow::Jump(target) => {
                    if jump(target) {
                        return Some(true);
                    }
                }
                Flow::Branch(target) => {
                    if jump(target) {
                        return Some(true);
                    }
                    open.push(number + 1);
                }
                Flow::JumpAnywhere => {
                    if ends.binary_search(&insn.at).is_err() {
                        return Some(true);
                    }
                }
                Flow::Return => return Some(true),
                Flow::Stop | Flow::Halt => {}
            }
        }
        Some(false)
    }
}

/// Instructions before a syscall that are looked at for its number.
const MAX_BEFORE: usize = 16;

/// Whether the instructions up to a syscall give it the number of one that does not return, such as exit, on every path.
fn is_final(until: &[Insn], targets: &FxHashSet<u64>, image: &Image) -> bool {
    let convention = Convention::of(image.machine);
    let Some((syscall, before)) = until.split_last() else { return false };
    if targets.contains(&syscall.at) {
        return false;
    }
    let start = before.len().saturating_sub(MAX_BEFORE);
    let near = before.get(start..).unwrap_or_default();
    // Other paths may lead to a target of a jump, and to what follows a jump.
    let jumps = |insn: &Insn| !matches!(insn.flow, Flow::Next);
    let after_jump = near.iter().rposition(jumps).map_or(0, |last| last + 1);
    let target = near.iter().rposition(|insn| targets.contains(&insn.at)).unwrap_or(0);
    let mut state = State::unknown(&convention);
    for insn in near.get(after_jump.max(target)..).unwrap_or_default() {
        insn.effects.iter().for_each(|effect| state.apply(effect));
    }
    match state.register(convention.number) {
        Value::One(Atom::Const(number)) => convention.final_syscalls.contains(&number),
        _ => false,
    }
}
