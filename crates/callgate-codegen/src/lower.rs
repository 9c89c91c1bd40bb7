//! From the diagram to the code graph, one word at a time.
//!
//! Each function of the diagram becomes one piece of code, however often it is used: it loads its
//! first word and finds out where the word's value leads. Arch and number are searched by runs of
//! values, weighted by the calls that happen; nothing but loads of these two words and comparisons
//! stands on such a path, so that the kernel finds every call constant allow that is one.
//! Arguments may also be tested by masks.

use rustc_hash::{FxHashMap as HashMap, FxHashSet};

use super::code::{Code, CodeId, Graph, Held};
use super::numbers::MAX_RUNS;
use super::tree::{Node, Tree};
use super::weights::WeightedCall;
use super::word::{Plan, Planner};
use super::{Aim, Model};
use crate::query::{self, Cube};
use callgate_bpf::Op;
use callgate_bpf::data::Word;
use callgate_bpf::verdict::Verdict;
use callgate_proof::diagram::{DiagramError, Func, Split, Store};

/// What all calls weigh together that have no weight but are always allowed (those of further
/// architectures, or that a recording did not see), relative to all with weight.
const UNSEEN: f64 = 0.1;

/// The same for the calls that are not: enough to decide between trees that are otherwise equal.
const UNLIKELY: f64 = 0.01;

pub(super) struct Lowering<'a> {
    pub(super) store: &'a mut Store,
    pub(super) graph: Graph,
    pub(super) done: HashMap<(Func, Guards), CodeId>,
    pub(super) aim: Aim,
    /// Values of arch and number that lead to a function of the next word, with their weights.
    pub(super) numbers: HashMap<Func, Vec<(u32, f64)>>,
    pub(super) arches: Vec<(u32, f64)>,
    /// What numbers lead to.
    entries: FxHashSet<Func>,
    /// How many functions of arguments may still be looked at in every way.
    pub(super) effort: u32,
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
        effort: u32,
    ) -> Lowering<'a> {
        let weigh = |call: &WeightedCall| model.weigh(call);
        let total: f64 = calls.iter().map(weigh).sum();
        let scale = if total > 0.0 { 1.0 / total } else { 0.0 };
        let share = |of: f64, is: &dyn Fn(&WeightedCall) -> bool| {
            of / calls.iter().filter(|call| call.weight == 0.0 && is(call)).count().max(1) as f64
        };
        let unseen = share(UNSEEN, &|call| call.always_allowed);
        let unlikely = share(UNLIKELY, &|call| !call.always_allowed);
        let mut arches: Vec<(u32, f64)> = Vec::new();
        let mut func = root;
        let mut numbers: HashMap<Func, Vec<(u32, f64)>> = HashMap::default();
        for call in calls {
            let weight = match call {
                WeightedCall { weight, .. } if *weight > 0.0 => weigh(call) * scale,
                WeightedCall { always_allowed: true, .. } => unseen,
                _ => unlikely,
            };
            match arches.last_mut().filter(|(token, _)| *token == call.token) {
                Some((_, sum)) => *sum += weight,
                None => {
                    arches.push((call.token, weight));
                    func = store.follow(root, Word::ARCH, call.token);
                }
            }
            numbers.entry(func).or_default().push((call.nr, weight));
        }
        for calls in numbers.values_mut() {
            calls.sort_by_key(|(nr, _)| *nr);
            // Architectures with the same rules share a function, and its numbers.
            calls.dedup_by(|(nr, weight), (kept, sum)| {
                *sum += if nr == kept { *weight } else { 0.0 };
                nr == kept
            });
        }
        let mut entries = FxHashSet::default();
        for func in numbers.keys() {
            let runs = query::partition(store, *func, Word::NR, MAX_RUNS).unwrap_or_default();
            entries.extend(runs.into_iter().map(|run| run.then));
        }
        Lowering {
            store,
            graph: Graph::default(),
            done: HashMap::default(),
            aim,
            numbers,
            arches,
            entries,
            effort,
            pending: HashMap::default(),
        }
    }

    /// The code of a function.
    pub(super) fn code(&mut self, func: Func) -> Result<CodeId, DiagramError> {
        self.guarded(func, Guards::default())
    }

    /// The code of a function where the guards still have to be checked. Words come in order, so it
    /// calls itself at most 16 deep.
    fn guarded(&mut self, func: Func, guards: Guards) -> Result<CodeId, DiagramError> {
        if let Some(done) = self.done.get(&(func, guards)) {
            return Ok(*done);
        }
        let code = match self.store.top_word(func) {
            None if self.store.resolve_placeholder(func) != func => {
                self.entry(self.store.resolve_placeholder(func))?
            }
            None => {
                let no_verdict = DiagramError::defect("a constant function has a verdict");
                let verdict = self.store.as_verdict(func).ok_or(no_verdict)?;
                self.guarded_return(verdict, guards)
            }
            Some(word) => match self.as_guard(func, word, guards) {
                Some((rest, guards)) => self.guarded(rest, guards)?,
                None => {
                    let planned = match word {
                        Word::ARCH | Word::NR => self.search(func, word)?,
                        _ => None,
                    };
                    let next = match planned {
                        Some(next) => next,
                        None => self.planned(func, word, guards)?,
                    };
                    self.graph.add(Code::Load { word, next })
                }
            },
        };
        self.done.insert((func, guards), code);
        Ok(code)
    }

    /// What a function is once its first word is zero, if anything else leads to the verdict of the
    /// guards, and the rest decides between that and one other verdict. It is no guard where the
    /// rest is also needed without one: on a 32-bit architecture with the same rule, say.
    fn as_guard(&self, func: Func, word: Word, guards: Guards) -> Option<(Func, Guards)> {
        if word <= Word::NR {
            return None;
        }
        let runs = query::partition(self.store, func, word, 2)?;
        let [zero, other] = runs.as_slice() else { return None };
        let otherwise = self.store.as_verdict(other.then)?;
        let shared = self.entries.contains(&zero.then);
        let fits = zero.last == 0
            && !shared
            && guards.otherwise.is_none_or(|verdict| verdict == otherwise);
        let two =
            || self.store.verdicts(zero.then).iter().filter(|v| **v != otherwise).count() == 1;
        (fits && two()).then(|| {
            let words = guards.words | 1 << word.index();
            (zero.then, Guards { words, otherwise: Some(otherwise) })
        })
    }

    /// A return behind guards. They are checked in one order, so that their ends are shared.
    fn guarded_return(&mut self, verdict: Verdict, guards: Guards) -> CodeId {
        let mut next = self.graph.add(Code::Return(verdict));
        let Some(otherwise) = guards.otherwise.filter(|otherwise| *otherwise != verdict) else {
            return next;
        };
        let refused = self.graph.add(Code::Return(otherwise));
        for word in Word::all().filter(|word| guards.words >> word.index() & 1 == 1) {
            let held = Held { word, mask: u32::MAX };
            let (op, k) = (Op::JgeK, 1);
            next = self.graph.add(Code::Branch { held, op, k, then: refused, otherwise: next });
            next = self.graph.add(Code::Load { word, next });
        }
        next
    }

    /// The code of a search tree whose classes lead to these places; behind a window, where A holds
    /// nothing of the word any more, to those of `behind`.
    pub(super) fn tree(
        &mut self,
        tree: &Tree,
        places: &[CodeId],
        behind: &[CodeId],
        held: Held,
    ) -> CodeId {
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
                Node::AnyBit { mask, then, otherwise } => {
                    let (op, k, then, otherwise) = (Op::JsetK, mask, ids[then], ids[otherwise]);
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

    pub(super) fn planned(
        &mut self,
        func: Func,
        word: Word,
        guards: Guards,
    ) -> Result<CodeId, DiagramError> {
        let planner = Planner::new(word, self.aim, self.effort);
        let mut walk = Walk { planner, guards, done: HashMap::default() };
        let code = self.follow_plan(&mut walk, (func, u32::MAX), None)?;
        self.effort = walk.planner.effort();
        Ok(code)
    }

    /// The code of a function of the planner's word in a place where A holds the bits of `held`. Each
    /// step knows more bits, so it calls itself at most 64 deep.
    fn follow_plan(
        &mut self,
        walk: &mut Walk,
        (func, held): (Func, u32),
        pending: Option<&Pending<'_>>,
    ) -> Result<CodeId, DiagramError> {
        let key = (func, held, pending.map_or(0, |pending| pending.number));
        if let Some(id) = walk.done.get(&key) {
            return Ok(*id);
        }
        let word = walk.planner.word();
        let holding = Held { word, mask: held };
        let id = match walk.planner.plan(self.store, (func, held))? {
            Plan::Exit => match pending.and_then(|pending| pending.at(func)) {
                Some(pending) => self.resume(walk, held, pending)?,
                None => self.guarded(func, walk.guards)?,
            },
            Plan::Search { tree, exits } => {
                let (mut places, mut behind) = (Vec::new(), Vec::new());
                for exit in exits {
                    places.push(self.follow_plan(walk, (exit, held), pending)?);
                    behind.push(self.follow_plan(walk, (exit, 0), pending)?);
                }
                self.tree(&tree, &places, &behind, holding)
            }
            Plan::AnyBit { mask, then, otherwise } => {
                let then = self.follow_plan(walk, (then, held), pending)?;
                let otherwise = self.follow_plan(walk, (otherwise, held), pending)?;
                let (op, k) = (Op::JsetK, mask);
                self.graph.add(Code::Branch { held: holding, op, k, then, otherwise })
            }
            Plan::Products { products, otherwise } => {
                // From the last to the first. A holds the word until the first `and`.
                let keeps = |cube: &Cube| cube.mask == held || cube.wanted == 0;
                let first_and = products.iter().position(|(cube, _)| !keeps(cube));
                let left = if first_and.is_some() { 0 } else { held };
                let mut next = self.follow_plan(walk, (otherwise, left), pending)?;
                for (at, (cube, exit)) in products.into_iter().enumerate().rev() {
                    let then_held = if keeps(&cube) { held } else { cube.mask };
                    let then = self.follow_plan(walk, (exit, then_held), pending)?;
                    let (op, k) = (Op::JeqK, cube.wanted);
                    next = if cube.mask == held {
                        self.graph.add(Code::Branch { held: holding, op, k, then, otherwise: next })
                    } else if cube.wanted == 0 {
                        let (op, k) = (Op::JsetK, cube.mask);
                        let (then, otherwise) = (next, then);
                        self.graph.add(Code::Branch { held: holding, op, k, then, otherwise })
                    } else {
                        let (mask, masked) = (cube.mask, Held { word, mask: cube.mask });
                        let jump = Code::Branch { held: masked, op, k, then, otherwise: next };
                        let next = self.graph.add(jump);
                        if first_and == Some(at) {
                            self.graph.add(Code::And { held: holding, mask, next })
                        } else {
                            let held = Held { word, mask: u32::MAX };
                            let next = self.graph.add(Code::And { held, mask, next });
                            self.graph.add(Code::Load { word, next })
                        }
                    };
                }
                next
            }
            Plan::Masked { mask, value, then, otherwise } => {
                let then = if self.store.top_word(then) == Some(word) {
                    let next = self.follow_plan(walk, (then, u32::MAX), pending)?;
                    self.graph.add(Code::Load { word, next })
                } else {
                    self.follow_plan(walk, (then, mask), pending)?
                };
                let otherwise = self.follow_plan(walk, (otherwise, mask), pending)?;
                let (masked, op, k) = (Held { word, mask }, Op::JeqK, value);
                let next = self.graph.add(Code::Branch { held: masked, op, k, then, otherwise });
                self.graph.add(Code::And { held: holding, mask, next })
            }
            Plan::Project { mask, first, exit, then } => {
                let outer = pending.map_or(0, |pending| pending.number);
                let next = self.pending.len() + 1;
                let number = *self.pending.entry((exit, mask, then, outer)).or_insert(next);
                let pending = Pending { number, exit, mask, then, outer: pending };
                self.follow_plan(walk, (first, held), Some(&pending))?
            }
        };
        walk.done.insert(key, id);
        Ok(id)
    }

    /// The code that goes on with what is pending in a place where A holds the bits of `held`.
    fn resume(
        &mut self,
        walk: &mut Walk,
        held: u32,
        pending: &Pending<'_>,
    ) -> Result<CodeId, DiagramError> {
        let (word, mask) = (walk.planner.word(), pending.mask);
        let next = self.follow_plan(walk, (pending.then, mask), pending.outer)?;
        let again = mask & !held != 0;
        let held = Held { word, mask: if again { u32::MAX } else { held } };
        let next = self.graph.add(Code::And { held, mask, next });
        Ok(if again { self.graph.add(Code::Load { word, next }) } else { next })
    }
}

/// Words that must be zero, for else there is this verdict.
///
/// That an argument fits into 32 bits is checked for many calls. Checked last, right before the
/// return, these checks are the same code for all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Guards {
    /// By their index.
    words: u16,
    otherwise: Option<Verdict>,
}

/// The way through the plans of one word.
struct Walk {
    planner: Planner,
    guards: Guards,
    done: HashMap<Key, CodeId>,
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
