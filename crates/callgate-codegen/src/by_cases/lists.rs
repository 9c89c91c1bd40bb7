//! Lists of clauses, and their code.

use callgate_core::{Cases, Clause, Literal, Op, SeccompData, Verdict, Word, WordTest};
use rustc_hash::FxHashMap as HashMap;

use super::arrangement::{Order, arranged, effective};
use super::in_order::{Emit, are_apart, in_order};
use super::literals::{Literals, MAX_LITERALS, Remaining, is_guard, of_zero, remove_last};
use super::values::partition;
use crate::Instructions;
use crate::code::{AnyBit, Code, CodeId, Graph, Held};
use crate::cost::Aim;
use crate::query::Interval;
use crate::tree::{Price, WeightedInterval, search_tree, tree_code};

/// Whether tests that several clauses have in common are repeated on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeated {
    /// Each test is made once. Each combination of results may need code of its own.
    No,
    /// A result counts only for the clause that is tested and those right after it that [are
    /// informed](callgate_core::is_informed): the code is about as long as all clauses together.
    Yes,
}

/// Where tests may be repeated on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeating {
    /// In long lists of clauses whose code is shorter then.
    IfShorter,
    /// In all long lists of clauses. The proof of such code takes fewer steps.
    Always,
}

/// From this number of comparisons on, a list is long: code for each combination of results may be longer than repeated tests.
const MANY_FOR_ONE_FORM: usize = 10;

/// The maximum number of clauses in all lists, 8 MB.
const MAX_REMAINING: usize = 1 << 18;

/// The lists per clause for which there is memory at once, up to this number: most clauses test both halves of one or two arguments.
const LISTS_OF_CLAUSE: usize = 4;
const USUAL_LISTS: usize = 224;

/// The maximum number of clauses of a list in all orders that are tried.
const MAX_TRIED: usize = 1 << 10;

/// A list of clauses that is reduced, the last of which always holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct List {
    /// The first clauses.
    head: Vec<Remaining>,
    /// Where the others start in [`Lists::base`].
    tail: usize,
}

/// A list, and whether A holds the first word that its code tests.
type Key = (List, bool);

/// What follows a decision.
enum Target {
    Return(Verdict),
    /// The list, and the first word that its code tests.
    List(Key, Word),
}

/// What the code of a list decides.
enum Decision {
    /// The value of the word; the targets of intervals.
    Values(Vec<Interval<usize>>),
    /// A test; the targets if it holds, and if not.
    Test(WordTest),
}

/// A list whose code is made when that of its targets is known.
struct Pending {
    key: Key,
    word: Word,
    decision: Decision,
    /// Those whose code is not known yet, and the code of those before.
    targets: std::vec::IntoIter<Target>,
    codes: Vec<CodeId>,
}

/// The code of lists of clauses.
pub(crate) struct Lists<'c> {
    cases: &'c Cases,
    pub(super) graph: Graph,
    pub(super) aim: Aim,
    repeating: Repeating,
    /// For the list whose code is being made.
    pub(super) repeated: Repeated,
    pub(super) instructions: Instructions,
    price: Price,
    pub(super) literals: Literals,
    /// Where tests are repeated, the whole list whose code is being made: what remains of it mostly ends as it does.
    base: Vec<Remaining>,
    /// The code of lists, where tests are repeated for the base, and where not.
    codes: [HashMap<Key, CodeId>; 2],
    /// The code of the lists of the cases.
    of_cases: Vec<Option<CodeId>>,
    listed: usize,
    /// How many more lists may be decided: as many as make code that is not too long.
    left: usize,
}

impl<'c> Lists<'c> {
    /// The code of cases, which is added to a graph.
    pub(crate) fn new(
        cases: &'c Cases,
        graph: Graph,
        (aim, repeating): (Aim, Repeating),
        instructions: Instructions,
    ) -> Lists<'c> {
        Lists {
            cases,
            graph,
            aim,
            repeating,
            repeated: Repeated::No,
            instructions,
            price: Price::of_argument(aim, instructions),
            literals: Literals::default(),
            base: Vec::new(),
            codes: Default::default(),
            of_cases: vec![None; cases.lists()],
            listed: 0,
            left: usize::MAX,
        }
    }

    /// The code graph, without everything else.
    pub(super) fn into_graph(self) -> Graph {
        self.graph
    }

    /// Code that needs a word in A, and loads it.
    pub(super) fn loaded(&mut self, word: Word, next: CodeId) -> CodeId {
        match self.graph.get(next) {
            // All values of the word have the same code.
            Code::Return(_) | Code::Load { .. } => next,
            _ => self.graph.load(word, next),
        }
    }

    /// The code of a list of the cases; `None` if that is too much.
    pub(super) fn code(&mut self, list: usize) -> Option<CodeId> {
        if let Some(code) = self.of_cases.get(list).copied().flatten() {
            return Some(code);
        }
        let cases = self.cases;
        let given: Vec<Clause<'_>> = cases.list(list).collect();
        let literals: usize = given.iter().map(|clause| clause.literals.len()).sum();
        let is_excluded = given.iter().any(|clause| clause.verdict.is_none());
        if is_excluded || literals >= MANY_FOR_ONE_FORM && are_apart(&given) {
            let code = in_order(self, &given)?;
            *self.of_cases.get_mut(list)? = Some(code);
            return Some(code);
        }
        let clauses = self.clauses_of(list)?;
        let tests: usize = clauses.iter().map(|clause| usize::from(clause.count)).sum();
        let alone = match *clauses.as_slice() {
            [clause, last] if last.is_always() => self.alone(clause, last.verdict),
            _ => None,
        };
        let code = match self.repeating {
            _ if alone.is_some() => alone?,
            _ if tests < MANY_FOR_ONE_FORM => self.made_with(Repeated::No, clauses)?,
            Repeating::Always => self.made_with(Repeated::Yes, clauses)?,
            Repeating::IfShorter => self.shorter(clauses)?,
        };
        *self.of_cases.get_mut(list)? = Some(code);
        Some(code)
    }

    /// The code of one clause, and of another verdict where it does not hold: that of a list of both, in less time, because nothing
    /// remains that could be shared. `None` if the clause has several tests of a word.
    fn alone(&mut self, clause: Remaining, otherwise: Verdict) -> Option<CodeId> {
        let mut literals = [None; MAX_LITERALS];
        for (place, literal) in literals.iter_mut().zip(self.literals.of(&clause)) {
            *place = Some((is_guard(literal), *literal));
        }
        let literals = literals.get_mut(..usize::from(clause.count))?;
        // As in `next_word`.
        literals.sort_unstable_by_key(|one| one.map(|(is_guard, one)| (is_guard, one.test.word)));
        let mut words = 0u16;
        for (_, literal) in literals.iter().flatten() {
            let word = 1 << literal.test.word.index();
            if words & word != 0 {
                return None;
            }
            words |= word;
        }
        let (mut next, otherwise) = (self.graph.ret(clause.verdict), self.graph.ret(otherwise));
        for (_, Literal { test, holds }) in literals.iter().rev().flatten() {
            let targets = if *holds { [next, otherwise] } else { [otherwise, next] };
            let code = self.over_test(*test, test.word, &targets)?;
            next = self.loaded(test.word, code);
        }
        Some(next)
    }

    /// The clauses of a list of the cases.
    fn clauses_of(&mut self, list: usize) -> Option<Vec<Remaining>> {
        let cases = self.cases;
        cases.list(list).map(|clause| self.literals.clause(clause)).collect()
    }

    /// The code of a list of the cases in several forms, in a graph that is the same each time: where tests are repeated, and where
    /// each is made once, in the order of the clauses and in [others](arranged), also by syscalls.
    pub(crate) fn forms(
        &mut self,
        list: usize,
        samples: &[SeccompData],
        graph: &mut Graph,
    ) -> Vec<CodeId> {
        let Some(clauses) = self.clauses_of(list) else { return Vec::new() };
        let clauses = effective(&self.literals, clauses);
        let with: &[&[SeccompData]] = if samples.is_empty() { &[&[]] } else { &[&[], samples] };
        std::mem::swap(&mut self.graph, graph);
        self.listed = 0;
        self.codes = Default::default();
        let (mut forms, mut tried) = (Vec::new(), Vec::new());
        let most = (MAX_TRIED / clauses.len().max(1)).max(1);
        for (order, samples) in
            Order::ALL.iter().flat_map(|order| with.iter().map(move |with| (order, with)))
        {
            if tried.len() == most {
                break;
            }
            let clauses = arranged(&self.literals, &clauses, *order, samples);
            if !tried.contains(&clauses) {
                // Where each test is made once, checks of high halves come last, so of equally good code, it is the first.
                let [repeated, single] = self.both(clauses.clone()).0;
                forms.extend([single, repeated].into_iter().flatten());
                tried.push(clauses);
            }
        }
        std::mem::swap(&mut self.graph, graph);
        forms
    }

    /// The shorter code of a long list of clauses.
    fn shorter(&mut self, clauses: Vec<Remaining>) -> Option<CodeId> {
        let start = self.graph.len();
        let (forms, insns) = self.both(clauses);
        match forms {
            [Some(repeated), Some(single)] if self.graph.insns_since(start, single) > insns => {
                Some(repeated)
            }
            [repeated, single] => single.or(repeated),
        }
    }

    /// The code of clauses where tests are repeated, and where each is made once; and the number of instructions of the former. Code
    /// for each combination of results is given up when it needs more decisions than the other code has instructions.
    fn both(&mut self, clauses: Vec<Remaining>) -> ([Option<CodeId>; 2], usize) {
        let start = self.graph.len();
        let repeated = self.made_with(Repeated::Yes, clauses.clone());
        let insns = repeated.map_or(usize::MAX, |code| self.graph.insns_since(start, code));
        // Where values are searched for, the other code is the same, or longer.
        let root = List { head: Vec::new(), tail: 0 };
        let has_values = |word| self.has_values(&root, word);
        if repeated.is_some() && self.next_word(&root).is_some_and(has_values) {
            return ([repeated, None], insns);
        }
        self.left = insns;
        let single = self.made_with(Repeated::No, clauses);
        self.left = usize::MAX;
        ([repeated, single], insns)
    }

    fn made_with(&mut self, repeated: Repeated, clauses: Vec<Remaining>) -> Option<CodeId> {
        self.repeated = repeated;
        self.base.clear();
        self.codes[repeated as usize].reserve((LISTS_OF_CLAUSE * clauses.len()).min(USUAL_LISTS));
        match repeated {
            Repeated::No => self.decided(List { head: clauses, tail: 0 }),
            Repeated::Yes => {
                self.codes[repeated as usize].clear();
                self.base = clauses;
                self.decided(List { head: Vec::new(), tail: 0 })
            }
        }
    }

    /// The clauses of a list.
    pub(super) fn clauses<'l>(
        &'l self,
        list: &'l List,
    ) -> impl Iterator<Item = &'l Remaining> + Clone {
        list.head.iter().chain(self.base.get(list.tail..).unwrap_or_default())
    }

    /// The code of a list of clauses, the last of which always holds. Lists may be nested as deeply as there are clauses, so this
    /// does not recurse.
    fn decided(&mut self, list: List) -> Option<CodeId> {
        let (key, word) = match self.target(list, None)? {
            Target::Return(verdict) => return Some(self.graph.ret(verdict)),
            Target::List(key, word) => (key, word),
        };
        let form = self.repeated as usize;
        if let Some(code) = self.codes[form].get(&key) {
            return Some(*code);
        }
        let mut pending = vec![self.pending(key, word)?];
        loop {
            let last = pending.last_mut()?;
            match last.targets.next() {
                Some(Target::Return(verdict)) => last.codes.push(self.graph.ret(verdict)),
                Some(Target::List(key, word)) => match self.codes[form].get(&key) {
                    Some(code) => last.codes.push(*code),
                    None => pending.push(self.pending(key, word)?),
                },
                None => {
                    let Pending { key, word, decision, codes, .. } = pending.pop()?;
                    let code = match decision {
                        Decision::Values(intervals) => self.over_values(&intervals, word, &codes),
                        Decision::Test(test) => self.over_test(test, word, &codes)?,
                    };
                    let code = if key.1 { code } else { self.loaded(word, code) };
                    self.codes[form].insert(key, code);
                    match pending.last_mut() {
                        Some(parent) => parent.codes.push(code),
                        None => return Some(code),
                    }
                }
            }
        }
    }

    /// What follows where these clauses remain and A holds the word `held`.
    fn target(&self, mut list: List, held: Option<Word>) -> Option<Target> {
        self.reduce(&mut list);
        let first = self.clauses(&list).next()?;
        if first.is_always() {
            return Some(Target::Return(first.verdict));
        }
        let word = self.next_word(&list)?;
        Some(Target::List((list, held == Some(word)), word))
    }

    /// Removes the clauses that have no effect.
    fn reduce(&self, List { head, tail }: &mut List) {
        if let Some(always) = head.iter().position(Remaining::is_always) {
            head.truncate(always + 1);
            *tail = self.base.len();
        }
        match self.base.get(*tail..).unwrap_or_default() {
            [] => {
                let Some(last) = head.pop() else { return };
                remove_last(head, last.verdict);
                head.push(last);
            }
            [last] => remove_last(head, last.verdict),
            _ => {}
        }
        // Equal lists have as short a head as possible.
        let before = |tail: usize| tail.checked_sub(1).and_then(|at| self.base.get(at));
        while !head.is_empty() && head.last() == before(*tail) {
            head.pop();
            *tail -= 1;
        }
    }

    /// What the code of a list decides; `None` if that is too much.
    fn pending(&mut self, key: Key, word: Word) -> Option<Pending> {
        let list = &key.0;
        self.listed += 1 + list.head.len();
        self.left = self.left.checked_sub(1)?;
        if self.listed > MAX_REMAINING {
            return None;
        }
        let (decision, targets) = match self.has_values(list, word) {
            true => {
                let all: Vec<Remaining> = self.clauses(list).copied().collect();
                let (intervals, lists) = partition(&self.literals, &all, word)?;
                let whole = |head| List { head, tail: self.base.len() };
                let targets = lists.into_iter().map(|list| self.target(whole(list), None));
                (Decision::Values(intervals), targets.collect::<Option<Vec<Target>>>()?)
            }
            false => {
                let is_of_word = |literal: &&Literal| literal.test.word == word;
                let first = self.clauses(list).next()?;
                let test = self.literals.of(first).find(is_of_word)?.test;
                let held = self.keeps(test).then_some(word);
                let informed = self.informed(self.clauses(list), test);
                let count = informed.max(list.head.len());
                let side = |holds| {
                    let remains = |(at, clause): (usize, &Remaining)| match at < informed {
                        true => self.given(clause, test, holds),
                        false => Some(*clause),
                    };
                    let mut head = Vec::with_capacity(count);
                    head.extend(self.clauses(list).take(count).enumerate().filter_map(remains));
                    let tail = list.tail + (count - list.head.len());
                    self.target(List { head, tail }, held)
                };
                (Decision::Test(test), vec![side(true)?, side(false)?])
            }
        };
        let codes = Vec::with_capacity(targets.len());
        Some(Pending { key, word, decision, targets: targets.into_iter(), codes })
    }

    /// The code of a search tree over the values of a word, which A holds, with the codes of the targets.
    fn over_values(
        &mut self,
        intervals: &[Interval<usize>],
        word: Word,
        targets: &[CodeId],
    ) -> CodeId {
        // The class of each code.
        let mut codes: Vec<CodeId> = Vec::with_capacity(targets.len());
        let mut classes: Vec<usize> = Vec::with_capacity(targets.len());
        let mut class_of: HashMap<CodeId, usize> = HashMap::default();
        for code in targets {
            let class = *class_of.entry(*code).or_insert(codes.len());
            if class == codes.len() {
                codes.push(*code);
            }
            classes.push(class);
        }
        let mut merged: Vec<WeightedInterval> = Vec::with_capacity(intervals.len());
        for Interval { first, last, then } in intervals {
            let (class, last) = (classes[*then], *last);
            match merged.last_mut() {
                Some(before) if before.class == class => before.last = last,
                _ => merged.push(WeightedInterval { first: *first, last, class, weight: 0.0 }),
            }
        }
        let weight = 1.0 / merged.len() as f64;
        merged.iter_mut().for_each(|interval| interval.weight = weight);
        let tree = search_tree(&merged, self.price);
        let held = Held::whole(word);
        tree_code(&mut self.graph, self.instructions, &tree, &codes, &codes, held)
    }

    /// Whether a test holds exactly where no bit of its mask is set, and the mask has not all bits.
    fn is_clear(test: WordTest) -> bool {
        !test.is_order && test.mask != u32::MAX && test.value == 0
    }

    fn any_bit(&self, mask: u32) -> AnyBit {
        AnyBit::new(self.instructions, u32::MAX, mask).forgetting()
    }

    /// Whether A still holds the word after the code of a test.
    fn keeps(&self, test: WordTest) -> bool {
        let has_bits = || Self::is_clear(test) && self.any_bit(test.mask).keeps_a();
        test.mask == u32::MAX || has_bits()
    }

    /// The code that decides a test of a word, which A holds, with the codes if it holds and if not.
    fn over_test(&mut self, test: WordTest, word: Word, targets: &[CodeId]) -> Option<CodeId> {
        let WordTest { mask, is_order, value, .. } = test;
        let [then, otherwise] = *<&[CodeId; 2]>::try_from(targets).ok()?;
        let any_bit = self.any_bit(mask);
        let graph = &mut self.graph;
        let whole = Held::whole(word);
        if Self::is_clear(test) {
            return Some(any_bit.add(graph, word, otherwise, then));
        }
        if test == of_zero(word) {
            // As all code that checks high halves, so that they share it.
            return Some(graph.branch(whole, Op::JgeK, 1, otherwise, then));
        }
        let op = if is_order { Op::JgeK } else { Op::JeqK };
        let next = graph.branch(Held { word, mask }, op, value, then, otherwise);
        Some(if mask == u32::MAX { next } else { graph.and(whole, mask, next) })
    }

    /// What remains of a clause if a test has this result; `None` if the clause cannot hold. The proof draws the same conclusions.
    fn given(&self, clause: &Remaining, test: WordTest, holds: bool) -> Option<Remaining> {
        let fact = Literal { test, holds };
        let is_possible =
            self.literals.of(clause).all(|literal| fact.decides(*literal) != Some(false));
        is_possible.then(|| self.literals.with(clause, |literal| fact.decides(*literal).is_none()))
    }
}

impl Emit for Lists<'_> {
    type At = CodeId;

    fn returned(&mut self, verdict: Verdict) -> CodeId {
        self.graph.ret(verdict)
    }

    fn tested(&mut self, test: WordTest, targets: [CodeId; 2]) -> Option<CodeId> {
        self.over_test(test, test.word, &targets)
    }

    fn loaded(&mut self, word: Word, next: CodeId) -> Option<CodeId> {
        Some(Lists::loaded(self, word, next))
    }

    fn keeps(&self, test: WordTest) -> bool {
        Lists::keeps(self, test)
    }
}
