//! From the diagram to the code graph, one word at a time.
//!
//! Each function of the diagram becomes one piece of code, however often it is used: it loads its
//! first word and finds out where the word's value leads. Arch and number are searched by runs of
//! values, weighted by the calls that happen; nothing but loads of these two words and comparisons
//! stands on such a path, so that the kernel finds every call constant allow that is one.
//! Arguments may also be tested by masks.

use rustc_hash::FxHashMap as HashMap;

use super::code::{Code, CodeId, Graph, Held};
use super::tree::{Node, Price, Run, Tree, search_tree};
use super::weights::WeightedCall;
use super::word::{Plan, Planner};
use super::{Aim, Model};
use crate::bpf::Op;
use crate::data::Word;
use crate::diagram::{Func, Interval, OutOfBudget, Split, Store};

/// What all calls weigh together that have no weight but are always allowed (those of further
/// architectures, or that a recording did not see), relative to all with weight.
const UNSEEN: f64 = 0.1;

/// The same for the calls that are not: enough to decide between trees that are otherwise equal.
const UNLIKELY: f64 = 0.01;

pub(super) struct Lowering<'a> {
    store: &'a mut Store,
    pub(super) graph: Graph,
    done: HashMap<Func, CodeId>,
    aim: Aim,
    /// Values of arch and number that lead to a function of the next word, with their weights.
    numbers: HashMap<Func, Vec<(u32, f64)>>,
    arches: Vec<(u32, f64)>,
    /// Numbers of what was ever [`Pending`]: its exit, mask and rest, and the number of what is around
    /// it.
    pending: HashMap<(Func, u32, Func, usize), usize>,
}

impl<'a> Lowering<'a> {
    pub(super) fn new(
        store: &'a mut Store,
        root: Func,
        calls: &[WeightedCall],
        model: Model,
        aim: Aim,
    ) -> Lowering<'a> {
        let weigh = |call: &WeightedCall| {
            call.weight * if call.always_allowed { model.constant_allow_weight() } else { 1.0 }
        };
        let total: f64 = calls.iter().map(weigh).sum();
        let scale = if total > 0.0 { 1.0 / total } else { 0.0 };
        let share = |of: f64, is: &dyn Fn(&WeightedCall) -> bool| {
            of / calls.iter().filter(|call| call.weight == 0.0 && is(call)).count().max(1) as f64
        };
        let unseen = share(UNSEEN, &|call| call.always_allowed);
        let unlikely = share(UNLIKELY, &|call| !call.always_allowed);
        let mut arches: Vec<(u32, f64)> = Vec::new();
        let mut numbers: HashMap<Func, Vec<(u32, f64)>> = HashMap::default();
        for call in calls {
            let weight = match call {
                WeightedCall { weight, .. } if *weight > 0.0 => weigh(call) * scale,
                WeightedCall { always_allowed: true, .. } => unseen,
                _ => unlikely,
            };
            match arches.last_mut().filter(|(token, _)| *token == call.token) {
                Some((_, sum)) => *sum += weight,
                None => arches.push((call.token, weight)),
            }
            let func = store.follow(root, Word::ARCH, call.token);
            numbers.entry(func).or_default().push((call.nr, weight));
        }
        for calls in numbers.values_mut() {
            calls.sort_by_key(|(nr, _)| *nr);
        }
        Lowering {
            store,
            graph: Graph::default(),
            done: HashMap::default(),
            aim,
            numbers,
            arches,
            pending: HashMap::default(),
        }
    }

    /// The code of a function. Words come in order, so it calls itself at most 16 deep.
    pub(super) fn code(&mut self, func: Func) -> Result<CodeId, OutOfBudget> {
        if let Some(done) = self.done.get(&func) {
            return Ok(*done);
        }
        let code = match (self.store.as_verdict(func), self.store.top_word(func)) {
            (None, Some(word)) => {
                let planned = match word {
                    Word::ARCH | Word::NR => self.search(func, word)?,
                    _ => None,
                };
                let next = match planned {
                    Some(next) => next,
                    None => self.planned(func, word)?,
                };
                self.graph.add(Code::Load { word, next })
            }
            (verdict, _) => {
                let verdict = verdict.unwrap_or(crate::Verdict::KILL_PROCESS);
                self.graph.add(Code::Return(verdict))
            }
        };
        self.done.insert(func, code);
        Ok(code)
    }

    /// A search tree for arch or number; `None` when there are too many runs. The limit is far above
    /// what fits into a program: whoever comes near it shall hear how many instructions it would take.
    fn search(&mut self, func: Func, word: Word) -> Result<Option<CodeId>, OutOfBudget> {
        const MAX_RUNS: usize = 1 << 15;
        let Some(intervals) = self.store.partition(func, word, MAX_RUNS) else { return Ok(None) };
        let weights = match word {
            Word::ARCH => self.arches.clone(),
            _ => self.numbers.get(&func).cloned().unwrap_or_default(),
        };
        let mut exits = Vec::new();
        let runs = classify(&intervals, &weights, &mut exits);
        let tree = search_tree(&runs, Price { size: self.aim.size_price(), windows: false });
        let mut codes = Vec::with_capacity(exits.len());
        for exit in exits {
            codes.push(self.code(exit)?);
        }
        Ok(Some(self.tree(&tree, &codes, &codes, Held { word, mask: u32::MAX })))
    }

    /// The code of a search tree whose classes lead to these places; behind a window, where A holds
    /// nothing of the word any more, to those of `behind`.
    fn tree(&mut self, tree: &Tree, places: &[CodeId], behind: &[CodeId], held: Held) -> CodeId {
        let mut ids: Vec<CodeId> = Vec::with_capacity(tree.nodes.len());
        for node in &tree.nodes {
            let id = match *node {
                Node::Leaf { class } => places[class],
                Node::Test { split, then, otherwise } => {
                    let (op, k) = match split {
                        Split::Equal(k) => (Op::JeqK, k),
                        Split::AtLeast(k) => (Op::JgeK, k),
                    };
                    let (then, otherwise) = (ids[then], ids[otherwise]);
                    self.graph.add(Code::Branch { held, op, k, then, otherwise })
                }
                Node::Window { base, bits, then, otherwise } => {
                    let side = |node: usize| match tree.nodes[node] {
                        Node::Leaf { class } => behind[class],
                        _ => ids[node],
                    };
                    let (then, otherwise) = (side(then), side(otherwise));
                    self.graph.add(Code::Window { held, base, bits, then, otherwise })
                }
            };
            ids.push(id);
        }
        ids[tree.nodes.len() - 1]
    }

    fn planned(&mut self, func: Func, word: Word) -> Result<CodeId, OutOfBudget> {
        let mut planner = Planner::new(word);
        let mut done = HashMap::default();
        self.follow_plan(&mut planner, (func, u32::MAX), None, &mut done)
    }

    /// The code of a function of the planner's word in a place where A holds the bits of `held`. Each
    /// step knows more bits, so it calls itself at most 64 deep.
    fn follow_plan(
        &mut self,
        planner: &mut Planner,
        (func, held): (Func, u32),
        pending: Option<&Pending<'_>>,
        done: &mut HashMap<Key, CodeId>,
    ) -> Result<CodeId, OutOfBudget> {
        let key = (func, held, pending.map_or(0, |pending| pending.number));
        if let Some(id) = done.get(&key) {
            return Ok(*id);
        }
        let word = planner.word();
        let holding = Held { word, mask: held };
        let id = match planner.plan(self.store, (func, held))? {
            Plan::Exit => match pending.and_then(|pending| pending.at(func)) {
                Some(pending) => self.resume(planner, held, pending, done)?,
                None => self.code(func)?,
            },
            Plan::Search { tree, exits } => {
                let (mut places, mut behind) = (Vec::new(), Vec::new());
                for exit in exits {
                    places.push(self.follow_plan(planner, (exit, held), pending, done)?);
                    behind.push(self.follow_plan(planner, (exit, 0), pending, done)?);
                }
                self.tree(&tree, &places, &behind, holding)
            }
            Plan::AnyBit { mask, then, otherwise } => {
                let then = self.follow_plan(planner, (then, held), pending, done)?;
                let otherwise = self.follow_plan(planner, (otherwise, held), pending, done)?;
                let (op, k) = (Op::JsetK, mask);
                self.graph.add(Code::Branch { held: holding, op, k, then, otherwise })
            }
            Plan::Value { value, then, otherwise } => {
                let then = self.follow_plan(planner, (then, held), pending, done)?;
                let otherwise = self.follow_plan(planner, (otherwise, held), pending, done)?;
                let (op, k) = (Op::JeqK, value);
                self.graph.add(Code::Branch { held: holding, op, k, then, otherwise })
            }
            Plan::Masked { mask, value, then, otherwise } => {
                let then = if self.store.top_word(then) == Some(word) {
                    let next = self.follow_plan(planner, (then, u32::MAX), pending, done)?;
                    self.graph.add(Code::Load { word, next })
                } else {
                    self.follow_plan(planner, (then, mask), pending, done)?
                };
                let otherwise = self.follow_plan(planner, (otherwise, mask), pending, done)?;
                let (masked, op, k) = (Held { word, mask }, Op::JeqK, value);
                let next = self.graph.add(Code::Branch { held: masked, op, k, then, otherwise });
                self.graph.add(Code::And { held: holding, mask, next })
            }
            Plan::Project { mask, first, exit, then } => {
                let outer = pending.map_or(0, |pending| pending.number);
                let next = self.pending.len() + 1;
                let number = *self.pending.entry((exit, mask, then, outer)).or_insert(next);
                let pending = Pending { number, exit, mask, then, outer: pending };
                self.follow_plan(planner, (first, held), Some(&pending), done)?
            }
        };
        done.insert(key, id);
        Ok(id)
    }

    /// The code that goes on with what is pending in a place where A holds the bits of `held`.
    fn resume(
        &mut self,
        planner: &mut Planner,
        held: u32,
        pending: &Pending<'_>,
        done: &mut HashMap<Key, CodeId>,
    ) -> Result<CodeId, OutOfBudget> {
        let (word, mask) = (planner.word(), pending.mask);
        let next = self.follow_plan(planner, (pending.then, mask), pending.outer, done)?;
        let again = mask & !held != 0;
        let held = Held { word, mask: if again { u32::MAX } else { held } };
        let next = self.graph.add(Code::And { held, mask, next });
        Ok(if again { self.graph.add(Code::Load { word, next }) } else { next })
    }
}

/// What follows once the values are known for which the bits outside `mask` matter.
struct Pending<'a> {
    /// Equal for what is equal, all around it included; from 1.
    number: usize,
    /// Where these values do not lead.
    exit: Func,
    mask: u32,
    then: Func,
    outer: Option<&'a Pending<'a>>,
}

/// A function, what A holds, and the number of what is pending.
type Key = (Func, u32, usize);

impl Pending<'_> {
    /// The innermost that goes on at an exit.
    fn at(&self, exit: Func) -> Option<&Pending<'_>> {
        let mut pending = Some(self);
        while let Some(inner) = pending.filter(|pending| pending.exit != exit) {
            pending = inner.outer;
        }
        pending
    }
}

/// Runs with weights, and their exits as classes.
fn classify(intervals: &[Interval], weights: &[(u32, f64)], exits: &mut Vec<Func>) -> Vec<Run> {
    let mut class_of: HashMap<Func, usize> = HashMap::default();
    let mut weights = weights.iter().peekable();
    intervals
        .iter()
        .map(|interval| {
            let class = *class_of.entry(interval.then).or_insert_with(|| {
                exits.push(interval.then);
                exits.len() - 1
            });
            let mut weight = 0.0;
            while let Some((_, w)) = weights.next_if(|(value, _)| *value <= interval.last) {
                weight += w;
            }
            Run { first: interval.first, last: interval.last, class, weight }
        })
        .collect()
}
