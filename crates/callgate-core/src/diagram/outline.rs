//! Outlines: the comparisons of one word with placeholders as terminals.
//!
//! A program may test words in another order than the variables of the diagram, for example the low half of an
//! argument before the high half. If comparisons were applied one by one, each of them would rebuild the
//! functions of its successors. Instead, all comparisons of a word are first combined to an *outline*: a function
//! of that word alone whose terminals are placeholders for the successors. Then the placeholders are replaced
//! once.
//!
//! Equalities and thresholds are not applied one by one either: they are collected as [pieces](super::pieces). An outline
//! is only built for other comparisons, and where there are too many pieces.

use rustc_hash::FxHashMap as HashMap;

use super::branch::BranchCondition;
use super::compare::var_of;
use super::conjunctions::Conjunctions;
use super::pieces::{PieceTable, Pieces, Side};
use super::{DiagramError, Func, Split, Store, Var};
use crate::Word;

/// The function of a state of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
enum StateFunc {
    Whole(Func),
    /// A single comparison of a word and its successors. It becomes an outline when another comparison of the
    /// same word leads to it.
    Branch(Word, BranchCondition, [Func; 2]),
    /// A comparison of a word before other comparisons, all of which must hold.
    Joined(Word, Joined),
    /// An outline of this word.
    Outline(Word, Func),
    /// Comparisons of these bits of this word, after which no earlier word is tested; nor the word itself, unless the mask has
    /// all of its bits.
    Pieces((Word, u32), Pieces),
    /// Comparisons of this word, with placeholders for functions that test an earlier one.
    OutlinePieces(Word, Pieces),
}

/// A comparison with its successors, one of which decides between two functions, one of which is the other successor.
/// If each comparison became a function at once, the common function would be rebuilt for each of them.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Joined {
    condition: BranchCondition,
    /// The states after the comparison.
    sides: [usize; 2],
    /// The number of the first of all comparisons in [`StateFuncs::links`], and the functions where all of them hold and
    /// elsewhere.
    first: usize,
    funcs: [Func; 2],
}

/// One of several words that must have certain values, and the number of the next one.
#[derive(Clone, Copy, Debug)]
struct Link {
    value: (Word, u32),
    next: Option<usize>,
}

/// The functions of the states of a program, computed from the last state to the first.
pub(super) struct StateFuncs {
    funcs: Vec<Option<StateFunc>>,
    pieces: PieceTable,
    links: Vec<Link>,
    /// The functions of outlines whose placeholders were replaced.
    filled: HashMap<(Word, Func), Func>,
    /// The same for pieces.
    filled_pieces: HashMap<(Word, Pieces), Func>,
}

/// Jumps go forward, so the successors of a state are computed before it.
const MISSING_STATE: DiagramError =
    DiagramError::defect("the successors of a state have functions");

const MISSING_LINK: DiagramError = DiagramError::defect("joined comparisons are linked");

impl StateFuncs {
    pub(super) fn new(states: usize) -> StateFuncs {
        StateFuncs {
            funcs: vec![None; states],
            pieces: PieceTable::for_states(states),
            links: Vec::new(),
            filled: HashMap::default(),
            filled_pieces: HashMap::default(),
        }
    }

    fn of(&self, state: usize) -> Result<StateFunc, DiagramError> {
        self.funcs.get(state).copied().flatten().ok_or(MISSING_STATE)
    }

    fn set(&mut self, state: usize, meaning: StateFunc) -> Result<(), DiagramError> {
        *self.funcs.get_mut(state).ok_or(MISSING_STATE)? = Some(meaning);
        Ok(())
    }

    pub(super) fn set_whole(&mut self, state: usize, func: Func) -> Result<(), DiagramError> {
        self.set(state, StateFunc::Whole(func))
    }

    /// The function of a state is that of its only successor.
    pub(super) fn continues_at(&mut self, state: usize, next: usize) -> Result<(), DiagramError> {
        self.set(state, self.of(next)?)
    }

    pub(super) fn are_same(&self, [a, b]: [usize; 2]) -> Result<bool, DiagramError> {
        Ok(self.of(a)? == self.of(b)?)
    }

    /// The function of a state.
    pub(super) fn whole(&mut self, store: &mut Store, state: usize) -> Result<Func, DiagramError> {
        match self.of(state)? {
            StateFunc::Whole(func) => Ok(func),
            StateFunc::Branch(_, condition, sides) => {
                let func = store.branch_func(condition, sides)?;
                self.set_whole(state, func)?;
                Ok(func)
            }
            StateFunc::Joined(_, Joined { first, funcs, .. }) => {
                let func = self.joined_func(store, first, funcs)?;
                self.set_whole(state, func)?;
                Ok(func)
            }
            StateFunc::Pieces(masked, pieces) => {
                let func = self.pieces.func(store, masked, pieces)?;
                self.set_whole(state, func)?;
                Ok(func)
            }
            StateFunc::OutlinePieces(word, pieces) => {
                if let Some(func) = self.filled_pieces.get(&(word, pieces)) {
                    return Ok(*func);
                }
                let func = self.pieces.filled(store, word, pieces)?;
                self.filled_pieces.insert((word, pieces), func);
                Ok(func)
            }
            StateFunc::Outline(word, outline) => {
                if let Some(func) = self.filled.get(&(word, outline)) {
                    return Ok(*func);
                }
                let func = store.fill_in(outline, word)?;
                self.filled.insert((word, outline), func);
                Ok(func)
            }
        }
    }

    /// Sets the function of a state with two successors, the first of which is taken if the condition holds.
    pub(super) fn set_branch(
        &mut self,
        store: &mut Store,
        state: usize,
        condition: BranchCondition,
        sides: [usize; 2],
    ) -> Result<(), DiagramError> {
        let mut condition = condition;
        if let BranchCondition::Masked(word, mask, split) = condition {
            if let Some(pieces) = self.pieces(store, (word, mask), split, sides)? {
                return self.set(state, StateFunc::Pieces((word, mask), pieces));
            }
            condition = BranchCondition::Other(Some(word), store.masked_split(word, mask, split)?);
        }
        let word = match condition {
            BranchCondition::Split(word, _) | BranchCondition::Masked(word, ..) => Some(word),
            BranchCondition::Other(word, _) => word,
        };
        let meaning = match word {
            Some(word) => self.branch_on_word(store, word, condition, sides)?,
            None => {
                let sides = [self.whole(store, sides[0])?, self.whole(store, sides[1])?];
                StateFunc::Whole(store.branch_func(condition, sides)?)
            }
        };
        self.set(state, meaning)
    }

    fn branch_on_word(
        &mut self,
        store: &mut Store,
        word: Word,
        condition: BranchCondition,
        sides: [usize; 2],
    ) -> Result<StateFunc, DiagramError> {
        let first = var_of(word, 31);
        let is_same = |meaning: StateFunc| matches!(meaning, StateFunc::Outline(of, _) | StateFunc::OutlinePieces(of, _) | StateFunc::Branch(of, ..) | StateFunc::Joined(of, ..) if of == word);
        let [then, otherwise] = sides;
        if !is_same(self.of(then)?) && !is_same(self.of(otherwise)?) {
            if let Some(joined) = self.joined(condition, sides)? {
                return Ok(StateFunc::Joined(word, joined));
            }
            if let BranchCondition::Split(_, split) = condition {
                let all = (word, u32::MAX);
                if let Some(pieces) = self.pieces(store, all, split, sides)? {
                    return Ok(StateFunc::Pieces(all, pieces));
                }
            }
            let funcs = [self.whole(store, then)?, self.whole(store, otherwise)?];
            return Ok(if funcs.iter().any(|func| store.var(*func) < first) {
                StateFunc::Branch(word, condition, funcs)
            } else {
                StateFunc::Whole(store.branch_func(condition, funcs)?)
            });
        }
        if let BranchCondition::Split(_, split) = condition {
            if let Some(pieces) = self.outline_pieces(store, (word, first), split, sides)? {
                return Ok(StateFunc::OutlinePieces(word, pieces));
            }
        }
        let outlines = [
            self.outline(store, (word, first), then)?,
            self.outline(store, (word, first), otherwise)?,
        ];
        Ok(StateFunc::Outline(word, store.branch_func(condition, outlines)?))
    }

    /// The function `then` where all joined comparisons hold, `otherwise` elsewhere.
    fn joined_func(
        &self,
        store: &mut Store,
        first: usize,
        [then, otherwise]: [Func; 2],
    ) -> Result<Func, DiagramError> {
        let mut values = Vec::new();
        let mut next = Some(first);
        while let Some(number) = next {
            let link = self.links.get(number).ok_or(MISSING_LINK)?;
            values.push(link.value);
            next = link.next;
        }
        Conjunctions::of_words(&values).select(store, then, otherwise)
    }

    /// A comparison together with those of a successor that decides between the other successor and another function. Each
    /// of them holds for a single value of its word.
    fn joined(
        &mut self,
        condition: BranchCondition,
        sides: [usize; 2],
    ) -> Result<Option<Joined>, DiagramError> {
        for (inner, other, holds) in [(sides[0], sides[1], true), (sides[1], sides[0], false)] {
            let Some(value) = condition.value(holds) else { continue };
            let other = match self.of(other)? {
                StateFunc::Whole(func) => Some(func),
                StateFunc::Outline(of, outline) => self.filled.get(&(of, outline)).copied(),
                StateFunc::OutlinePieces(of, pieces) => {
                    self.filled_pieces.get(&(of, pieces)).copied()
                }
                _ => None,
            };
            let Some(other) = other else { continue };
            let (next, then) = match self.of(inner)? {
                StateFunc::Branch(_, condition, [then, otherwise])
                    if then == other || otherwise == other =>
                {
                    let holds = otherwise == other;
                    let Some(value) = condition.value(holds) else { continue };
                    self.links.push(Link { value, next: None });
                    (self.links.len() - 1, if holds { then } else { otherwise })
                }
                StateFunc::Joined(_, Joined { first, funcs: [then, otherwise], .. })
                    if otherwise == other =>
                {
                    (first, then)
                }
                _ => continue,
            };
            self.links.push(Link { value, next: Some(next) });
            let first = self.links.len() - 1;
            return Ok(Some(Joined { condition, sides, first, funcs: [then, other] }));
        }
        Ok(None)
    }

    /// The pieces of a branch on these bits of a word, unless a side tests an earlier word, or the word itself although the mask
    /// lacks bits of it, or there are too many.
    fn pieces(
        &mut self,
        store: &mut Store,
        (word, mask): (Word, u32),
        split: Split,
        states: [usize; 2],
    ) -> Result<Option<Pieces>, DiagramError> {
        let first = if mask == u32::MAX { var_of(word, 31) } else { var_of(word, 0) + 1 };
        let mut side = |state| {
            if let StateFunc::Pieces(of, pieces) = self.of(state)? {
                if of == (word, mask) {
                    return Ok(Some(Side::Pieces(pieces)));
                }
            }
            let func = self.whole(store, state)?;
            Ok((store.var(func) >= first).then_some(Side::Func(func)))
        };
        match states.map(&mut side) {
            [Ok(Some(then)), Ok(Some(otherwise))] => {
                self.pieces.branch(store, split, [then, otherwise])
            }
            [Err(error), _] | [_, Err(error)] => Err(error),
            _ => Ok(None),
        }
    }

    /// The pieces of a branch, with placeholders for functions that test an earlier word; `None` if there are too many, or if
    /// a successor has an outline.
    fn outline_pieces(
        &mut self,
        store: &mut Store,
        word: (Word, Var),
        split: Split,
        [then, otherwise]: [usize; 2],
    ) -> Result<Option<Pieces>, DiagramError> {
        let Some(then) = self.outline_side(store, word, then)? else { return Ok(None) };
        let Some(otherwise) = self.outline_side(store, word, otherwise)? else { return Ok(None) };
        self.pieces.branch(store, split, [then, otherwise])
    }

    fn outline_side(
        &mut self,
        store: &mut Store,
        (word, first): (Word, Var),
        state: usize,
    ) -> Result<Option<Side>, DiagramError> {
        let (condition, sides) = match self.of(state)? {
            StateFunc::Pieces((of, u32::MAX), pieces) | StateFunc::OutlinePieces(of, pieces)
                if of == word =>
            {
                return Ok(Some(Side::Pieces(pieces)));
            }
            StateFunc::Outline(of, _) if of == word => return Ok(None),
            StateFunc::Branch(of, condition, sides) if of == word => (condition, sides),
            StateFunc::Joined(of, Joined { condition, sides, .. }) if of == word => {
                (condition, [self.whole(store, sides[0])?, self.whole(store, sides[1])?])
            }
            _ => {
                let func = self.whole(store, state)?;
                let [func, _] = store.with_placeholders(first, [func, func])?;
                return Ok(Some(Side::Func(func)));
            }
        };
        let BranchCondition::Split(_, split) = condition else { return Ok(None) };
        let sides = store.with_placeholders(first, sides)?.map(Side::Func);
        let Some(pieces) = self.pieces.branch(store, split, sides)? else { return Ok(None) };
        self.set(state, StateFunc::OutlinePieces(word, pieces))?;
        Ok(Some(Side::Pieces(pieces)))
    }

    /// The outline of a state for a word with this first variable.
    fn outline(
        &mut self,
        store: &mut Store,
        (word, first): (Word, Var),
        state: usize,
    ) -> Result<Func, DiagramError> {
        match self.of(state)? {
            StateFunc::Outline(of, outline) if of == word => Ok(outline),
            StateFunc::OutlinePieces(of, pieces) if of == word => {
                let outline = self.pieces.func(store, (word, u32::MAX), pieces)?;
                self.set(state, StateFunc::Outline(word, outline))?;
                Ok(outline)
            }
            StateFunc::Branch(of, condition, sides) if of == word => {
                let outline = store.with_placeholders(first, sides)?;
                let outline = store.branch_func(condition, outline)?;
                self.set(state, StateFunc::Outline(word, outline))?;
                Ok(outline)
            }
            StateFunc::Joined(of, Joined { condition, sides, .. }) if of == word => {
                let sides = [self.whole(store, sides[0])?, self.whole(store, sides[1])?];
                let outline = store.with_placeholders(first, sides)?;
                let outline = store.branch_func(condition, outline)?;
                self.set(state, StateFunc::Outline(word, outline))?;
                Ok(outline)
            }
            _ => {
                let func = self.whole(store, state)?;
                let [func, _] = store.with_placeholders(first, [func, func])?;
                Ok(func)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict;

    /// Comparisons of a low half whose successors compare the high half: few exits, and many.
    #[test]
    fn an_outline_equals_its_comparisons_applied_one_by_one() {
        for exits in [2u32, 30] {
            let mut store = Store::default();
            let [high, low] = [Word::arg_high(0).unwrap(), Word::arg_low(0).unwrap()];
            let deny = store.verdict(Verdict::errno(100)).unwrap();
            let mut one_by_one = deny;
            let mut funcs = StateFuncs::new(121);
            funcs.set_whole(120, deny).unwrap();
            for value in 0..60u32 {
                let allow = store.verdict(Verdict::errno((value % exits) as u16)).unwrap();
                let at_least = Split::AtLeast(value % exits + 1);
                let next = store.split_by_predicate(high, at_least, deny, allow).unwrap();
                let split = Split::Equal(value * 7);
                one_by_one = store.split_by_predicate(low, split, next, one_by_one).unwrap();
                // State 120 is the last one; each comparison has two states before the existing ones.
                let (state, then) = (118 - 2 * value as usize, 119 - 2 * value as usize);
                funcs.set_whole(then, next).unwrap();
                let condition = BranchCondition::Split(low, split);
                let sides = [then, state + 2];
                funcs.set_branch(&mut store, state, condition, sides).unwrap();
                assert!(!matches!(funcs.of(state), Ok(StateFunc::Whole(_))));
            }
            assert_eq!(funcs.whole(&mut store, 0).unwrap(), one_by_one);
        }
    }

    /// Rules that compare three words in any order and fail to the next rule, by either successor; some of them compare a
    /// word twice.
    #[test]
    fn joined_comparisons_equal_those_applied_one_by_one() {
        let mut store = Store::default();
        let words = [0, 1, 2].map(|arg| Word::arg_low(arg).unwrap());
        let mut func = store.verdict(Verdict::errno(1)).unwrap();
        let mut funcs = StateFuncs::new(301);
        funcs.set_whole(300, func).unwrap();
        let (mut state, mut rule, mut joined) = (300, 300, 0);
        for number in 0..40usize {
            let verdict = store.verdict(Verdict::errno(number as u16 % 3)).unwrap();
            let failed = func;
            (state, func) = (state - 1, verdict);
            funcs.set_whole(state, verdict).unwrap();
            for step in 0..3 + number % 2 {
                let word = words[(number * 5 + step * (1 + number / 3 % 2)) % 3];
                let k = (number * 7 + step) as u32 % 5;
                // Of every fifth rule, the words must be 0, as programs test it.
                let is_zero = number % 5 == 3;
                let split = match number % 4 {
                    _ if is_zero => Split::AtLeast(1),
                    0 => Split::AtLeast(k + 1),
                    _ => Split::Equal(k),
                };
                let then_is_rule = is_zero || (number + step) % 3 == 0;
                let order = |of: [usize; 2]| if then_is_rule { [of[1], of[0]] } else { of };
                let sides = order([state, rule]);
                let [then, otherwise] = if then_is_rule { [failed, func] } else { [func, failed] };
                func = store.split_by_predicate(word, split, then, otherwise).unwrap();
                state -= 1;
                let condition = BranchCondition::Split(word, split);
                funcs.set_branch(&mut store, state, condition, sides).unwrap();
                joined += usize::from(matches!(funcs.of(state), Ok(StateFunc::Joined(..))));
            }
            assert_eq!(funcs.whole(&mut store, state).unwrap(), func, "{number}");
            rule = state;
        }
        assert!(joined > 20, "{joined}");
    }

    /// Comparisons of some bits of a word: over functions of later words they are pieces, over functions of the word or of an
    /// earlier one they are not.
    #[test]
    fn masked_comparisons_equal_predicates_applied_one_by_one() {
        let [earlier, word, later] =
            [Word::ARCH, Word::arg_low(0).unwrap(), Word::arg_low(1).unwrap()];
        let mut store = Store::default();
        let [deny, allow] = [1, 2].map(|errno| store.verdict(Verdict::errno(errno)).unwrap());
        let tests = [earlier, word, later].map(|word| {
            let bit = store.any_bit(word, 1 << 30).unwrap();
            store.select(bit, allow, deny).unwrap()
        });
        let mut pieces = 0;
        for leaf in [deny, tests[0], tests[1], tests[2]] {
            // From the last state to the first; state 0 has no successor that is not known.
            let states = 60;
            let mut funcs = StateFuncs::new(states);
            let mut expected = vec![deny; states];
            for (state, func) in [(states - 1, leaf), (states - 2, allow)] {
                funcs.set_whole(state, func).unwrap();
                expected[state] = func;
            }
            for state in (0..states - 2).rev() {
                let k = state as u32 * 37 % 97 + ((state as u32 % 2) << 30);
                let mask = if state % 5 == 0 { 0xff } else { 0xbfff_ffff };
                let split = if state % 3 == 0 { Split::Equal(k) } else { Split::AtLeast(k) };
                let sides = [state + 1 + state % 2, (state + 2 + state % 7).min(states - 1)];
                let holds = store.masked_split(word, mask, split).unwrap();
                expected[state] =
                    store.select(holds, expected[sides[0]], expected[sides[1]]).unwrap();
                let condition = BranchCondition::Masked(word, mask, split);
                funcs.set_branch(&mut store, state, condition, sides).unwrap();
                pieces += usize::from(matches!(funcs.of(state), Ok(StateFunc::Pieces(..))));
            }
            for (state, func) in expected.iter().enumerate() {
                assert_eq!(funcs.whole(&mut store, state).unwrap(), *func, "{state}");
            }
        }
        assert!((60..200).contains(&pieces), "{pieces}");
    }

    /// A comparison of a word over pieces of some of its bits, beside one that tests an earlier word.
    #[test]
    fn pieces_of_a_masked_word_are_not_those_of_the_word() {
        let [earlier, word] = [Word::ARCH, Word::arg_low(0).unwrap()];
        let mut store = Store::default();
        let [deny, allow] = [1, 2].map(|errno| store.verdict(Verdict::errno(errno)).unwrap());
        let bit = store.any_bit(earlier, 1).unwrap();
        let tests_earlier = store.select(bit, allow, deny).unwrap();
        let mut funcs = StateFuncs::new(6);
        for (state, func) in [(5, deny), (4, allow), (3, tests_earlier)] {
            funcs.set_whole(state, func).unwrap();
        }
        let masked = BranchCondition::Masked(word, 0xff, Split::AtLeast(7));
        let [inner, outer] = [100, 5000].map(|k| BranchCondition::Split(word, Split::AtLeast(k)));
        funcs.set_branch(&mut store, 2, masked, [4, 5]).unwrap();
        assert!(matches!(funcs.of(2), Ok(StateFunc::Pieces((_, 0xff), _))));
        funcs.set_branch(&mut store, 1, inner, [3, 5]).unwrap();
        funcs.set_branch(&mut store, 0, outer, [2, 1]).unwrap();
        assert!(matches!(funcs.of(0), Ok(StateFunc::OutlinePieces(..))));
        let [then, otherwise] = [
            store.branch_func(masked, [allow, deny]).unwrap(),
            store.split_by_predicate(word, Split::AtLeast(100), tests_earlier, deny).unwrap(),
        ];
        let all = store.split_by_predicate(word, Split::AtLeast(5000), then, otherwise).unwrap();
        assert_eq!(funcs.whole(&mut store, 0).unwrap(), all);
    }
}
