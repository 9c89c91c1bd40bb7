//! Lowering: from the diagram to the code graph, one word at a time.
//!
//! Each function of the diagram becomes one piece of code, shared by all its uses: it loads its first word and
//! finds the exit of the word's value. Arch and number get dispatch trees over intervals of values, weighted by
//! the expected syscalls. These paths contain only loads of the two words and comparisons, so that the
//! kernel recognizes constant allow. Arguments may also be tested by masks.
//!
//! In filters of io_uring requests, the opcode has the role of the number, and there is no constant allow. Its word, like that
//! of the flags, is a part of a loaded word, whose other bits are cleared or not read.

use rustc_hash::{FxHashMap as HashMap, FxHashSet};

use super::code::{Code, CodeId, Graph, Held, Reached};
use super::rules::ByRules;
use super::tree::tree_code;
use super::weights::WeightedSyscall;
use super::word::{After, Plan, Planner, State};
use super::{Aim, Instructions, Result};
use crate::query::{self, Cube, OnlyValue, WordFunc};
use callgate_core::diagram::{Compared, Comparison, DiagramError, Func, Store};
use callgate_core::template::{Half, Symbol};
use callgate_core::{Layout, Op, Relation, Verdict, Word};

pub(super) struct Lowering<'a> {
    pub(super) store: &'a mut Store,
    pub(super) graph: Graph,
    pub(super) done: HashMap<(Func, Guards), CodeId>,
    pub(super) aim: Aim,
    pub(super) instructions: Instructions,
    /// Per function of the number, its syscall numbers with weights; until it is searched.
    pub(super) numbers: HashMap<Func, Vec<(u32, f64)>>,
    pub(super) arches: Vec<(u32, f64)>,
    /// The functions of the number.
    of_number: Vec<Func>,
    /// Their exits, when they are needed.
    entries: Option<FxHashSet<Func>>,
    /// The number of functions of arguments for which all alternatives may still be tried.
    pub(super) effort: u32,
    /// The code of functions that first compare with a variable, where A holds the operand, or two words, which A and X hold.
    pub(super) compared: HashMap<(Func, Guards), CodeId>,
    /// Per exit of the number, the share of its syscalls.
    pub(super) shares: HashMap<Func, f64>,
    /// Code for an exit of the number, from the rules.
    pub(super) by_rules: &'a mut ByRules<'a>,
    /// What is reached from the chosen code of exits of the number.
    pub(super) chosen: Reached,
    /// Whether the code of an exit of the number is being made.
    pub(super) is_in_entry: bool,
}

impl<'a> Lowering<'a> {
    pub(super) fn new(
        store: &'a mut Store,
        root: Func,
        (syscalls, shares): (&[WeightedSyscall], &[f64]),
        (aim, instructions, effort): (Aim, Instructions, u32),
        by_rules: &'a mut ByRules<'a>,
    ) -> Lowering<'a> {
        let layout = store.layout();
        let number = NumberWord::of(layout);
        let mut shares = shares.iter().copied();
        let mut arches: Vec<(u32, f64)> = Vec::new();
        let mut numbers: HashMap<Func, Vec<(u32, f64)>> = HashMap::default();
        for of_arch in syscalls.chunk_by(|a, b| a.token == b.token) {
            let Some(token) = of_arch.first().map(|syscall| syscall.token) else { continue };
            let by_number = match layout {
                Layout::Seccomp => store.follow(root, Word::ARCH, token),
                Layout::IoUring(_) | Layout::Packet => root,
            };
            let weights = numbers.entry(by_number).or_default();
            weights.reserve(of_arch.len());
            let mut sum = 0.0;
            for (syscall, weight) in of_arch.iter().zip(&mut shares) {
                sum += weight;
                weights.push((number.value(syscall.nr), weight));
            }
            arches.push((token, sum));
        }
        for weights in numbers.values_mut() {
            if weights.is_sorted_by(|(a, _), (b, _)| a < b) {
                continue;
            }
            weights.sort_by_key(|(nr, _)| *nr);
            // Architectures with the same rules share a function and its numbers.
            weights.dedup_by(|(nr, weight), (kept, sum)| {
                *sum += if nr == kept { *weight } else { 0.0 };
                nr == kept
            });
        }
        Lowering {
            store,
            graph: Graph::default(),
            done: HashMap::default(),
            aim,
            instructions,
            of_number: numbers.keys().copied().collect(),
            numbers,
            arches,
            entries: None,
            effort,
            compared: HashMap::default(),
            shares: HashMap::default(),
            by_rules,
            chosen: Reached::default(),
            is_in_entry: false,
        }
    }

    /// The code of a function.
    pub(super) fn code(&mut self, func: Func) -> Result<CodeId> {
        self.guarded(func, Guards::default())
    }

    /// The code of a function, where the guards are still to be checked. Each recursion is at a later word, or at a later
    /// comparison with a variable or of two words: the depth is at most that of 16 words and 256 comparisons
    /// (`MAX_COMPARISONS`).
    fn guarded(&mut self, func: Func, guards: Guards) -> Result<CodeId> {
        if let Some(done) = self.done.get(&(func, guards)) {
            return Ok(*done);
        }
        let code = match self.store.top_word(func) {
            None if self.store.resolve_placeholder(func) != func => {
                self.entry(self.store.resolve_placeholder(func))?
            }
            None => match self.store.top_comparison(func) {
                Some(comparison) => match comparison.other {
                    Compared::Half(symbol, half) => {
                        self.load_and_compare(func, guards, &comparison, (symbol, half))?
                    }
                    Compared::Word(other) => {
                        let next = self.load_second(func, guards, [comparison.word, other])?;
                        self.graph.load(other, next)
                    }
                },
                None => {
                    let no_verdict = DiagramError::defect("a constant function has a verdict");
                    let verdict = self.store.as_verdict(func).ok_or(no_verdict)?;
                    self.guarded_return(verdict, guards)
                }
            },
            Some(word) => match self.as_guard(func, word, guards) {
                Some((rest, guards)) => self.guarded(rest, guards)?,
                None => {
                    let planned = match self.store.layout().selects(word) {
                        true => self.search(func, word)?,
                        false => None,
                    };
                    let next = match planned {
                        Some(next) => next,
                        None => self.planned(func, word, guards)?,
                    };
                    self.load(word, next)
                }
            },
        };
        self.done.insert((func, guards), code);
        Ok(code)
    }

    /// The cofactor of a function for zero as its first word, if every other value leads to the verdict of the
    /// guards, and the cofactor decides between that and one other verdict. The word is not a guard if the
    /// cofactor is also needed without it, for example on a 32-bit architecture with the same rule.
    fn as_guard(&mut self, func: Func, word: Word, guards: Guards) -> Option<(Func, Guards)> {
        let layout = self.store.layout();
        if layout.selects(word) || layout.mask(word) != u32::MAX {
            return None;
        }
        let OnlyValue { value: 0, then: zero, otherwise } =
            query::only_value(self.store, func, word)?
        else {
            return None;
        };
        let otherwise = self.store.as_verdict(otherwise)?;
        let fits = guards.otherwise.is_none_or(|verdict| verdict == otherwise)
            && !self.is_exit_of_number(zero);
        // After a guard it is known, because this function is a part of the one that was checked.
        let two = || {
            guards.otherwise.is_some()
                || self.store.verdicts(zero).iter().filter(|v| **v != otherwise).count() == 1
        };
        (fits && two()).then(|| {
            let words = guards.words | 1 << word.index();
            (zero, Guards { words, otherwise: Some(otherwise) })
        })
    }

    fn is_exit_of_number(&mut self, func: Func) -> bool {
        let number = self.store.layout().number();
        let exits = |of: &Func| self.store.exits(*of, number, usize::MAX).unwrap_or_default();
        let entries = &mut self.entries;
        entries
            .get_or_insert_with(|| self.of_number.iter().flat_map(exits).collect())
            .contains(&func)
    }

    /// A return after the guards. They are checked in a fixed order, so that code is shared.
    fn guarded_return(&mut self, verdict: Verdict, guards: Guards) -> CodeId {
        let mut next = self.graph.ret(verdict);
        let Some(otherwise) = guards.otherwise.filter(|otherwise| *otherwise != verdict) else {
            return next;
        };
        let refused = self.graph.ret(otherwise);
        for word in Word::all().filter(|word| guards.words >> word.index() & 1 == 1) {
            next = self.graph.branch(Held::whole(word), Op::JgeK, 1, refused, next);
            next = self.graph.load(word, next);
        }
        next
    }

    /// The code that loads a word for code that tests it. If the word is a part of the loaded word, `and` clears the other
    /// bits, unless the code never reads them.
    pub(super) fn load(&mut self, word: Word, next: CodeId) -> CodeId {
        let mask = self.store.layout().mask(word);
        if mask == u32::MAX || self.only_reads(next, mask) {
            return self.graph.load(word, next);
        }
        let next = self.graph.and(Held::whole(word), mask, next);
        self.graph.load(word, next)
    }

    /// Whether code reads no other bits of A than these. Long code counts as if it did.
    fn only_reads(&self, code: CodeId, mask: u32) -> bool {
        const MAX_CODES: usize = 16;
        let mut pending = vec![code];
        for _ in 0..MAX_CODES {
            let Some(code) = pending.pop() else { return true };
            match self.graph.get(code) {
                Code::Return(_) | Code::Load { .. } => {}
                Code::And { mask: read, .. } if read & !mask == 0 => {}
                Code::Branch { op: Op::JsetK, k, then, otherwise, .. } if k & !mask == 0 => {
                    pending.extend([then, otherwise]);
                }
                _ => return false,
            }
        }
        false
    }

    pub(super) fn planned(&mut self, func: Func, word: Word, guards: Guards) -> Result<CodeId> {
        let layout = self.store.layout();
        if layout.mask(word) == u32::MAX {
            if let Some(only) = query::only_value(self.store, func, word) {
                return self.equality(word, only, guards);
            }
        }
        let mut planner = Planner::new(layout, word, self.aim, self.instructions, self.effort);
        if let Some(intervals) = self.few_intervals(func, word) {
            return self.over(&intervals, word, guards, planner.price);
        }
        let few = planner.funcs.copy_few(self.store, func);
        if few.is_none() {
            if let Some(intervals) = self.scattered(func, word)? {
                return self.over(&intervals, word, guards, planner.price);
            }
        }
        let func = few.unwrap_or_else(|| planner.funcs.copy(self.store, func));
        let (done, pending) = (HashMap::default(), HashMap::default());
        let mut walk = Walk { planner, guards, done, pending };
        let code = self.follow_plan(&mut walk, (func, layout.mask(word)), None)?;
        self.effort = walk.planner.effort;
        Ok(code)
    }

    /// The code that tells one value of a word from all others. One comparison needs no plan.
    fn equality(
        &mut self,
        word: Word,
        OnlyValue { value, then, otherwise }: OnlyValue,
        guards: Guards,
    ) -> Result<CodeId> {
        let held = Held::whole(word);
        // Next to an end of the range, the interval is compared, as in search trees.
        let (op, k, exits) = match value {
            0 => (Op::JgeK, 1, [then, otherwise]),
            u32::MAX => (Op::JgeK, value, [otherwise, then]),
            _ => (Op::JeqK, value, [otherwise, then]),
        };
        let otherwise = self.code_holding(exits[0], guards, held)?;
        let then = self.code_holding(exits[1], guards, held)?;
        Ok(self.graph.branch(held, op, k, then, otherwise))
    }

    /// The code of a function of the planner's word where A holds the bits `held`. Each step fixes more bits, so the
    /// recursion depth is at most 64.
    fn follow_plan(
        &mut self,
        walk: &mut Walk,
        (func, held): State,
        pending: Option<&Pending<'_>>,
    ) -> Result<CodeId> {
        let key = (func, held, pending.map_or(0, |pending| pending.number));
        if let Some(id) = walk.done.get(&key) {
            return Ok(*id);
        }
        let word = walk.planner.word;
        let holding = Held { word, mask: held };
        let id = match walk.planner.plan(self.store, (func, held))? {
            Plan::Exit => match pending.and_then(|pending| pending.at(func)) {
                Some(pending) => self.resume(walk, held, pending)?,
                None => {
                    let no_exit = DiagramError::defect("a plan ends in an exit of its word");
                    let func = walk.planner.funcs.as_exit(func).ok_or(no_exit)?;
                    self.code_holding(func, walk.guards, holding)?
                }
            },
            Plan::Search { tree, exits } => {
                let (mut codes, mut codes_without_a) = (Vec::new(), Vec::new());
                for exit in exits {
                    codes.push(self.follow_plan(walk, (exit, held), pending)?);
                    codes_without_a.push(self.follow_plan(walk, (exit, 0), pending)?);
                }
                let instructions = self.instructions;
                tree_code(&mut self.graph, instructions, &tree, &codes, &codes_without_a, holding)
            }
            Plan::AnyBit { mask, then, otherwise } => {
                let mut test = walk.planner.any_bit(held, mask);
                let funcs = &walk.planner.funcs;
                if pending.is_none() && funcs.is_exit(then) && funcs.is_exit(otherwise) {
                    test = test.forgetting();
                }
                let (set, clear) = (test.kept_if_set(), test.kept_if_clear());
                let then = self.follow_after_test(walk, (then, held), set, pending)?;
                let otherwise = self.follow_after_test(walk, (otherwise, held), clear, pending)?;
                test.add(&mut self.graph, word, then, otherwise)
            }
            Plan::Products { products, otherwise } => {
                // From the last to the first. A is unchanged until the first `and`.
                let keeps = |walk: &Walk, cube: &Cube| walk.planner.keeps_a(cube, held);
                let first_and = products.iter().position(|(cube, _)| !keeps(walk, cube));
                let left = if first_and.is_some() { 0 } else { held };
                let mut next = self.follow_plan(walk, (otherwise, left), pending)?;
                for (at, (cube, exit)) in products.into_iter().enumerate().rev() {
                    let keeps = keeps(walk, &cube);
                    let then_held = if keeps { held } else { cube.mask };
                    let then = self.follow_plan(walk, (exit, then_held), pending)?;
                    let (op, k) = (Op::JeqK, cube.wanted);
                    next = if cube.mask == held {
                        self.graph.branch(holding, op, k, then, next)
                    } else if keeps {
                        walk.planner.any_bit(held, cube.mask).add(&mut self.graph, word, next, then)
                    } else {
                        let masked = Held { word, mask: cube.mask };
                        let next = self.graph.branch(masked, op, k, then, next);
                        if first_and == Some(at) {
                            self.graph.and(holding, cube.mask, next)
                        } else {
                            let next = self.graph.and(Held::whole(word), cube.mask, next);
                            self.graph.load(word, next)
                        }
                    };
                }
                next
            }
            Plan::Masked { mask, value, then, otherwise } => {
                let then = self.follow_after_test(walk, (then, held), mask, pending)?;
                let otherwise = self.follow_plan(walk, (otherwise, mask), pending)?;
                let masked = Held { word, mask };
                let next = self.graph.branch(masked, Op::JeqK, value, then, otherwise);
                self.graph.and(holding, mask, next)
            }
            Plan::Project { mask, first, exit, then } => {
                let outer = pending.map_or(0, |pending| pending.number);
                let next = walk.pending.len() + 1;
                let number = *walk.pending.entry((exit, mask, then, outer)).or_insert(next);
                let pending = Pending { number, exit, mask, then, outer: pending };
                self.follow_plan(walk, (first, held), Some(&pending))?
            }
        };
        walk.done.insert(key, id);
        Ok(id)
    }

    /// The code of a function after a test. Of the bits that A held, only `kept` are left; the word is loaded again if the
    /// function depends on other bits.
    fn follow_after_test(
        &mut self,
        walk: &mut Walk,
        (func, held): State,
        kept: u32,
        pending: Option<&Pending<'_>>,
    ) -> Result<CodeId> {
        let word = walk.planner.word;
        let After { held, reload } = walk.planner.after_test((func, held), kept);
        let next = self.follow_plan(walk, (func, held), pending)?;
        if reload == 0 {
            return Ok(next);
        }
        let whole = Held::whole(word);
        let next = match self.graph.get(next) {
            _ if held == u32::MAX => next,
            // Two masks are one.
            Code::And { mask, next, .. } => self.graph.and(whole, mask & held, next),
            _ => self.graph.and(whole, held, next),
        };
        Ok(self.graph.load(word, next))
    }

    /// The code of a pending continuation where A holds the bits `held`.
    fn resume(&mut self, walk: &mut Walk, held: u32, pending: &Pending<'_>) -> Result<CodeId> {
        let (word, mask) = (walk.planner.word, pending.mask);
        let next = self.follow_plan(walk, (pending.then, mask), pending.outer)?;
        let again = mask & !held != 0;
        let held = Held { word, mask: if again { u32::MAX } else { held } };
        let next = self.graph.and(held, mask, next);
        Ok(if again { self.graph.load(word, next) } else { next })
    }
}

/// Comparisons of arguments with variables, and of two arguments.
impl Lowering<'_> {
    /// The code of a function where A holds `held`. If the function first compares that with a variable or an earlier word, the
    /// word is not loaded again.
    pub(super) fn code_holding(
        &mut self,
        func: Func,
        guards: Guards,
        held: Held,
    ) -> Result<CodeId> {
        let Some(comparison) = self.store.top_comparison(func) else {
            return self.guarded(func, guards);
        };
        match comparison.other {
            Compared::Half(symbol, half) if operand(&comparison) == held => {
                self.compare(func, guards, &comparison, (symbol, half))
            }
            Compared::Word(other) if Held::whole(other) == held => {
                self.load_second(func, guards, [comparison.word, other])
            }
            _ => self.guarded(func, guards),
        }
    }

    /// The code of a function that first compares with a variable: it loads the word.
    fn load_and_compare(
        &mut self,
        func: Func,
        guards: Guards,
        comparison: &Comparison,
        value: (Symbol, Half),
    ) -> Result<CodeId> {
        let held = operand(comparison);
        let mut next = self.compare(func, guards, comparison, value)?;
        if held.mask != u32::MAX {
            next = self.graph.and(Held::whole(held.word), held.mask, next);
        }
        Ok(self.graph.load(held.word, next))
    }

    /// The comparison of A with a variable, and what follows. The recursion depth is that of [`Lowering::guarded`].
    fn compare(
        &mut self,
        func: Func,
        guards: Guards,
        comparison: &Comparison,
        (symbol, half): (Symbol, Half),
    ) -> Result<CodeId> {
        if let Some(done) = self.compared.get(&(func, guards)) {
            return Ok(*done);
        }
        let held = operand(comparison);
        let (low, high) = self.store.children(func);
        let otherwise = self.code_holding(low, guards, held)?;
        let then = self.code_holding(high, guards, held)?;
        let op = jump(comparison.relation);
        let code = self.graph.add(Code::Compare { held, op, symbol, half, then, otherwise });
        self.compared.insert((func, guards), code);
        Ok(code)
    }

    /// The code of a function that first compares two words, the second of which A holds.
    fn load_second(
        &mut self,
        func: Func,
        guards: Guards,
        words @ [word, other]: [Word; 2],
    ) -> Result<CodeId> {
        let next = self.compare_words(func, guards, words)?;
        let next = self.graph.load(word, next);
        Ok(self.graph.add(Code::Tax { word: other, next }))
    }

    /// The code of a function where A and X hold these words. The recursion depth is that of [`Lowering::guarded`].
    fn compare_words(
        &mut self,
        func: Func,
        guards: Guards,
        words @ [word, other]: [Word; 2],
    ) -> Result<CodeId> {
        let of_words = |of: &Comparison| (of.word, of.other) == (word, Compared::Word(other));
        let compared = |store: &Store, func: Func| store.top_comparison(func).filter(of_words);
        let Some(Comparison { relation, .. }) = compared(self.store, func) else {
            return self.code_holding(func, guards, Held::whole(word));
        };
        if let Some(done) = self.compared.get(&(func, guards)) {
            return Ok(*done);
        }
        let (low, high) = self.store.children(func);
        // `==` with the result of `>` or of `<` is one jump.
        let is_order = |of: &Comparison| of.relation == Relation::Greater;
        let order = compared(self.store, low).filter(is_order).map(|_| self.store.children(low));
        let (op, then, otherwise) = match (relation, order) {
            (Relation::Equal, Some((below, above))) if above == high => (Op::JgeK, high, below),
            (Relation::Equal, Some((below, above))) if below == high => (Op::JgtK, above, high),
            _ => (jump(relation), high, low),
        };
        let otherwise = self.compare_words(otherwise, guards, words)?;
        let then = self.compare_words(then, guards, words)?;
        let code = self.graph.add(Code::CompareWords { words, op, then, otherwise });
        self.compared.insert((func, guards), code);
        Ok(code)
    }
}

/// The jump on a relation to a constant.
fn jump(relation: Relation) -> Op {
    match relation {
        Relation::Equal => Op::JeqK,
        Relation::Greater => Op::JgtK,
        Relation::AtLeast => Op::JgeK,
        Relation::Shares => Op::JsetK,
    }
}

/// What A holds for a comparison.
fn operand(comparison: &Comparison) -> Held {
    Held { word: comparison.word, mask: comparison.mask }
}

/// The word by whose number rules are selected, and the number of bits below it.
#[derive(Clone, Copy, Debug)]
pub(super) struct NumberWord {
    pub(super) word: Word,
    shift: u32,
}

impl NumberWord {
    pub(super) fn of(layout: Layout) -> NumberWord {
        let word = layout.number();
        NumberWord { word, shift: layout.mask(word).trailing_zeros() }
    }

    /// The value of the word for a syscall number or an opcode.
    pub(super) fn value(self, number: u32) -> u32 {
        number << (self.shift % u32::BITS)
    }
}

/// Words that must be zero; otherwise the verdict is `otherwise`.
///
/// Many syscalls check that an argument fits into 32 bits. If these checks come last, right before the return, all
/// of them share the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Guards {
    /// A bitmap by index.
    words: u16,
    otherwise: Option<Verdict>,
}

/// The traversal of the plans of one word.
struct Walk {
    planner: Planner,
    guards: Guards,
    done: HashMap<Key, CodeId>,
    /// The numbers of all [`Pending`] continuations, by exit, mask, rest, and the number of the outer one.
    pending: HashMap<(WordFunc, u32, WordFunc, usize), usize>,
}

/// The continuation after the values have been separated for which the bits outside `mask` matter.
struct Pending<'a> {
    /// The same for equal continuations with equal outer ones; from 1.
    number: usize,
    /// The exit at which it applies.
    exit: WordFunc,
    mask: u32,
    then: WordFunc,
    outer: Option<&'a Pending<'a>>,
}

/// A function, the bits that A holds, and the number of the pending continuation.
type Key = (WordFunc, u32, usize);

impl Pending<'_> {
    /// The innermost continuation that applies at an exit.
    fn at(&self, exit: WordFunc) -> Option<&Pending<'_>> {
        let mut pending = Some(self);
        while let Some(inner) = pending.filter(|pending| pending.exit != exit) {
            pending = inner.outer;
        }
        pending
    }
}
