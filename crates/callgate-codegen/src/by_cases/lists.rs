//! Lists of clauses, and their code.

use callgate_core::{
    Cases, Clause, Literal, Op, Verdict, Word, WordTest, are_alternatives, is_informed,
};
use rustc_hash::FxHashMap as HashMap;

use super::in_order::{Emit, are_apart, in_order, is_guard};
use crate::Instructions;
use crate::code::{AnyBit, Code, CodeId, Graph, Held};
use crate::cost::Aim;
use crate::query::Interval;
use crate::tree::{Price, WeightedInterval, search_tree, tree_code};

/// Whether tests that several clauses have in common are repeated on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repeated {
    /// Each test is made once. Each combination of results may need code of its own.
    No,
    /// A result counts only for the clause that is tested and those right after it that [are informed](is_informed): the code is about
    /// as long as all clauses together.
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

/// A list of clauses that is reduced, the last of which always holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct List {
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
pub(super) struct Lists<'c> {
    cases: &'c Cases,
    pub(super) graph: Graph,
    pub(super) aim: Aim,
    repeating: Repeating,
    /// For the list whose code is being made.
    repeated: Repeated,
    pub(super) instructions: Instructions,
    price: Price,
    literals: Literals,
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
    pub(super) fn new(
        cases: &'c Cases,
        (aim, repeating): (Aim, Repeating),
        instructions: Instructions,
    ) -> Lists<'c> {
        // About one node for each interval of numbers, and for each clause.
        let intervals = cases.sections().iter().map(|section| section.intervals.len());
        let clauses = (0..cases.lists()).map(|list| cases.list(list).count());
        Lists {
            cases,
            graph: Graph::with_capacity(intervals.chain(clauses).sum()),
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
        let mut clauses = Vec::new();
        for clause in given {
            clauses.push(self.literals.clause(clause)?);
        }
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

    /// The shorter code of a long list of clauses. Code for each combination of results is given up when it needs more decisions
    /// than the other code has instructions.
    fn shorter(&mut self, clauses: Vec<Remaining>) -> Option<CodeId> {
        let start = self.graph.len();
        let repeated = self.made_with(Repeated::Yes, clauses.clone());
        // Where values are searched for, the other code is the same, or longer.
        let root = List { head: Vec::new(), tail: 0 };
        let has_values = |word| self.has_values(&root, word);
        if repeated.is_some() && self.next_word(&root).is_some_and(has_values) {
            return repeated;
        }
        let insns = repeated.map(|code| self.graph.insns_since(start, code));
        self.left = insns.unwrap_or(usize::MAX);
        let single = self.made_with(Repeated::No, clauses);
        self.left = usize::MAX;
        match (single, repeated, insns) {
            (Some(single), Some(repeated), Some(insns))
                if self.graph.insns_since(start, single) > insns =>
            {
                Some(repeated)
            }
            (single, repeated, _) => single.or(repeated),
        }
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
    fn clauses<'l>(&'l self, list: &'l List) -> impl Iterator<Item = &'l Remaining> + Clone {
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

    /// The word to be tested next: one of the first clause that most clauses test. High halves that must be 0 come last,
    /// because then all lists share the code that tests them.
    ///
    /// Where tests may be repeated, the one that most of the next clauses have in common comes first. What all alternatives of a
    /// comparison of 64 bits demand comes before the rest: so both halves of an argument are tested before the next argument, and
    /// the alternatives are the same list again instead of one for each combination.
    fn next_word(&self, list: &List) -> Option<Word> {
        let first = self.clauses(list).next()?;
        let most = if self.repeated == Repeated::No { usize::MAX } else { MAX_NEAR };
        let near = self.clauses(list).take(most);
        let mut counts = [0u32; 16];
        near.clone().for_each(|clause| {
            self.literals.of(clause).for_each(|one| counts[one.test.word.index()] += 1);
        });
        let count = |literal: &Literal| std::cmp::Reverse(counts[literal.test.word.index()]);
        if self.repeated == Repeated::No {
            let priority = |one: &&Literal| (is_guard(one), count(one), one.test.word);
            return self.literals.of(first).min_by_key(priority).map(|one| one.test.word);
        }
        let others = near.clone().skip(1);
        let is_alternative = |other: &&Remaining| self.are_alternatives(first, other);
        let alternatives = others.clone().take_while(is_alternative).count();
        let is_of_all = |id: LiteralId| {
            let mut alternatives = others.clone().take(alternatives);
            alternatives.all(|other| other.ids().contains(&id))
        };
        let informed = self.informed_each(first, others.clone());
        let mut best: Option<(_, Word)> = None;
        let of_first = first.ids().iter().zip(self.literals.of(first));
        for ((id, one), informed) in of_first.zip(informed) {
            let is_late = if alternatives > 0 { !is_of_all(*id) } else { is_guard(one) };
            let word = one.test.word;
            let priority = (std::cmp::Reverse(informed), is_late, count(one), word);
            if best.is_none_or(|(least, _)| priority < least) {
                best = Some((priority, word));
            }
        }
        best.map(|(_, word)| word)
    }

    /// [`Lists::informed`] for the test of each literal of the first clause. That two clauses are alternatives is found once.
    fn informed_each<'l>(
        &self,
        first: &Remaining,
        others: impl Iterator<Item = &'l Remaining>,
    ) -> [usize; MAX_LITERALS] {
        let mut counts = [1; MAX_LITERALS];
        let mut open = [true; MAX_LITERALS];
        let mut is_alone = None;
        for other in others {
            let alone = *is_alone.get_or_insert_with(|| !self.are_alternatives(first, other));
            let (of_first, of_other) = (self.literals.of(first), self.literals.of(other));
            let mut is_any_open = false;
            // Of the test of a word that no clause has, only alternatives are informed.
            let is_alternative = is_informed(NO_TEST, of_first.clone(), alone, of_other.clone());
            for ((one, count), open) in of_first.zip(&mut counts).zip(&mut open) {
                *open &= is_alternative || of_other.clone().any(|other| other.test == one.test);
                *count += usize::from(*open);
                is_any_open |= *open;
            }
            if !is_any_open {
                break;
            }
        }
        counts
    }

    /// Whether the values of a word are searched for: there are several tests of it, all of the whole word. Where tests are
    /// repeated, they compare it with single values, and are in all clauses, so that no clause is needed twice.
    fn has_values(&self, list: &List, word: Word) -> bool {
        let is_value = |literal: &Literal| {
            literal.test.word == word && literal.holds && !literal.test.is_order
        };
        let has_value = |clause: &Remaining| self.literals.of(clause).any(is_value);
        let clauses = self.clauses(list);
        let is_tested = |clause: &&Remaining| !clause.is_always();
        if self.repeated == Repeated::Yes && !clauses.clone().filter(is_tested).all(has_value) {
            return false;
        }
        let literals = clauses.flat_map(|clause| self.literals.of(clause));
        let mut of_word = literals.filter(|literal| literal.test.word == word);
        let Some(first) = of_word.next() else { return false };
        let (mut are_whole, mut are_several) = (first.test.mask == u32::MAX, false);
        for literal in of_word {
            are_whole &= literal.test.mask == u32::MAX;
            are_several |= literal.test != first.test;
        }
        are_whole && are_several
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

    /// Of how many clauses, the first ones, the result of a test is used. Where tests may be repeated, these are the ones of which a
    /// result removes literals or the whole clause: no other clause needs code for both results.
    fn informed<'l>(
        &self,
        mut clauses: impl Iterator<Item = &'l Remaining> + Clone,
        test: WordTest,
    ) -> usize {
        let Some(first) = clauses.next() else { return 0 };
        if self.repeated == Repeated::No {
            return 1 + clauses.count();
        }
        let second = clauses.clone().next();
        let is_alone = second.is_none_or(|second| !self.are_alternatives(first, second));
        let is_informed = |other: &&Remaining| {
            is_informed(test, self.literals.of(first), is_alone, self.literals.of(other))
        };
        1 + clauses.take_while(is_informed).count()
    }

    fn are_alternatives(&self, one: &Remaining, other: &Remaining) -> bool {
        are_alternatives(self.literals.of(one), self.literals.of(other))
    }
}

/// A test that no clause has: it always holds.
const NO_TEST: WordTest = WordTest { word: Word::NR, mask: 0, is_order: false, value: 0 };

/// The lists per clause for which there is memory at once, up to this number: most clauses test both halves of one or two arguments.
const LISTS_OF_CLAUSE: usize = 4;
const USUAL_LISTS: usize = 224;

/// Among how many clauses those are counted that have a test in common.
const MAX_NEAR: usize = 64;

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

/// The maximum number of evaluated clauses.
const MAX_EVALUATED: usize = 1 << 16;

/// The number of lists among which an equal one is searched for. Most values have the list of the value before, or that of
/// all other values.
const RECENT: usize = 4;

/// A clause for several values of the word.
struct Part {
    /// Its place in the list.
    at: usize,
    /// Its literals of the word.
    literals: Vec<Literal>,
}

/// The values of a word, in order and without gaps, with the indexes of lists.
type Intervals = Vec<Interval<usize>>;

/// Partitions the values of a word into intervals, with the lists of clauses that remain; equal lists may occur twice. The
/// clauses compare the whole word. `None` if that are too many.
fn partition(
    literals: &Literals,
    list: &[Remaining],
    word: Word,
) -> Option<(Intervals, Vec<Vec<Remaining>>)> {
    // The places of clauses for one value of the word, by value; most lists have many of them.
    let mut of_values: Vec<(u32, u32)> = Vec::with_capacity(list.len());
    let mut remaining_at: Vec<Remaining> = Vec::with_capacity(list.len());
    let mut others: Vec<Part> = Vec::new();
    let mut starts: Vec<u32> = Vec::with_capacity(2 * list.len() + 1);
    starts.push(0);
    for (at, clause) in list.iter().enumerate() {
        let of_word = literals.of(clause).filter(|literal| literal.test.word == word);
        for literal in of_word.clone() {
            starts.push(literal.test.value);
            if !literal.test.is_order {
                starts.extend(literal.test.value.checked_add(1));
            }
        }
        let remaining = literals.with(clause, |literal| literal.test.word != word);
        remaining_at.push(remaining);
        let value = of_word.clone().find(|literal| literal.holds && !literal.test.is_order);
        match value.map(|literal| literal.test.value) {
            Some(value) => {
                if of_word.clone().all(|literal| literal.is_true_for(value)) {
                    of_values.push((value, u32::try_from(at).ok()?));
                }
            }
            None => others.push(Part { at, literals: of_word.copied().collect() }),
        }
    }
    of_values.sort_unstable();
    starts.sort_unstable();
    starts.dedup();
    if starts.len() * others.len() > MAX_EVALUATED {
        return None;
    }
    let mut of_values = of_values.as_slice();
    let mut intervals: Intervals = Vec::with_capacity(starts.len());
    let mut different: Vec<Vec<Remaining>> = Vec::new();
    let mut then = Vec::new();
    for (index, first) in starts.iter().copied().enumerate() {
        let last = starts.get(index + 1).map_or(u32::MAX, |next| next - 1);
        let here = of_values.iter().take_while(|(value, _)| *value == first).count();
        let (here, rest) = of_values.split_at(here);
        of_values = rest;
        let holds = |part: &&Part| part.literals.iter().all(|one| one.is_true_for(first));
        let mut others = others.iter().filter(holds).peekable();
        then.clear();
        for (_, at) in here {
            let at = *at as usize;
            while let Some(other) = others.next_if(|other| other.at < at) {
                then.push(remaining_at[other.at]);
            }
            then.push(remaining_at[at]);
        }
        then.extend(others.map(|other| remaining_at[other.at]));
        let recent = different.len().saturating_sub(RECENT);
        let known = different[recent..].iter().position(|known| *known == then);
        let of_list = known.map_or(different.len(), |at| recent + at);
        if of_list == different.len() {
            different.push(then.clone());
        }
        match intervals.last_mut() {
            Some(before) if before.then == of_list => before.last = last,
            _ => intervals.push(Interval { first, last, then: of_list }),
        }
    }
    Some((intervals, different))
}

/// The maximum number of literals of a clause: the halves of six arguments.
const MAX_LITERALS: usize = 12;

/// The index of a literal.
type LiteralId = u16;

/// A clause, or what remains of it: literals of the words that are not yet tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Remaining {
    /// The literals, and then zeros.
    literals: [LiteralId; MAX_LITERALS],
    count: u16,
    pub(super) verdict: Verdict,
}

impl Remaining {
    fn new(verdict: Verdict) -> Remaining {
        Remaining { literals: [0; MAX_LITERALS], count: 0, verdict }
    }

    fn ids(&self) -> &[LiteralId] {
        &self.literals[..usize::from(self.count)]
    }

    fn is_always(&self) -> bool {
        self.count == 0
    }

    /// `None` if there are too many literals.
    fn push(&mut self, literal: LiteralId) -> Option<()> {
        *self.literals.get_mut(usize::from(self.count))? = literal;
        self.count += 1;
        Some(())
    }
}

/// Different literals.
#[derive(Default)]
struct Literals {
    literals: Vec<Literal>,
    index: HashMap<Literal, LiteralId>,
}

impl Literals {
    /// A clause; `None` if it has no verdict or too many literals, or if there are too many different ones.
    fn clause(&mut self, clause: Clause<'_>) -> Option<Remaining> {
        let mut remaining = Remaining::new(clause.verdict?);
        for literal in clause.literals {
            remaining.push(self.id(*literal)?)?;
        }
        Some(remaining)
    }

    fn id(&mut self, literal: Literal) -> Option<LiteralId> {
        if let Some(id) = self.index.get(&literal) {
            return Some(*id);
        }
        let id = LiteralId::try_from(self.literals.len()).ok()?;
        self.literals.push(literal);
        self.index.insert(literal, id);
        Some(id)
    }

    /// The literals of a clause.
    pub(super) fn of<'l>(
        &'l self,
        clause: &'l Remaining,
    ) -> impl Iterator<Item = &'l Literal> + Clone {
        clause.ids().iter().map(|id| &self.literals[usize::from(*id)])
    }

    /// The clause with those literals for which `keep` returns true.
    pub(super) fn with(&self, clause: &Remaining, keep: impl Fn(&Literal) -> bool) -> Remaining {
        let mut remaining = Remaining::new(clause.verdict);
        for id in clause.ids().iter().filter(|id| keep(&self.literals[usize::from(**id)])) {
            remaining.literals[usize::from(remaining.count)] = *id;
            remaining.count += 1;
        }
        remaining
    }
}

/// Removes the last clauses if they have the verdict of the one after them, which always holds.
fn remove_last(clauses: &mut Vec<Remaining>, verdict: Verdict) {
    while clauses.last().is_some_and(|clause| clause.verdict == verdict) {
        clauses.pop();
    }
}
