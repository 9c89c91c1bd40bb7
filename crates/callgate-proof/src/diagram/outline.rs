//! Comparisons of one word before what they lead to.
//!
//! A program may look at a word after one that comes later in the diagram: at the high half of an
//! argument behind the low one, say. Put together comparison by comparison, what follows would be
//! taken apart and rebuilt at each of them. So comparisons of a word first make an *outline*: a function
//! of that word alone that ends in placeholders. It is filled in once, when all comparisons of the word
//! are in it.

use rustc_hash::FxHashMap as HashMap;

use super::Split;
use super::compare::var_of;
use super::seen::Seen;
use super::{DiagramError, Func, Pred, Store, VARS, Var};
use callgate_bpf::data::Word;

/// What a state of a program means.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Meaning {
    Whole(Func),
    /// A comparison of a word that would be an outline, and what it leads to. Many are alone, and an
    /// outline is worth it for several.
    One(Word, Condition, [Func; 2]),
    /// A function of a word with placeholders.
    Outline(Word, Func),
}

/// What the states of a program mean, found from the last to the first.
pub(super) struct Meanings {
    meanings: Vec<Option<Meaning>>,
    /// Outlines that were filled in.
    filled: HashMap<(Word, Func), Func>,
}

/// Jumps go forward, so a state's successors have their meaning before it.
const UNKNOWN_STATE: DiagramError =
    DiagramError::defect("a state of a program has a meaning after those it leads to");

impl Meanings {
    pub(super) fn new(states: usize) -> Meanings {
        Meanings { meanings: vec![None; states], filled: HashMap::default() }
    }

    fn of(&self, state: usize) -> Result<Meaning, DiagramError> {
        self.meanings.get(state).copied().flatten().ok_or(UNKNOWN_STATE)
    }

    fn set(&mut self, state: usize, meaning: Meaning) -> Result<(), DiagramError> {
        *self.meanings.get_mut(state).ok_or(UNKNOWN_STATE)? = Some(meaning);
        Ok(())
    }

    pub(super) fn is(&mut self, state: usize, func: Func) -> Result<(), DiagramError> {
        self.set(state, Meaning::Whole(func))
    }

    /// A state means the same as the one that follows it.
    pub(super) fn goes_on(&mut self, state: usize, next: usize) -> Result<(), DiagramError> {
        self.set(state, self.of(next)?)
    }

    pub(super) fn are_same(&self, [a, b]: [usize; 2]) -> Result<bool, DiagramError> {
        Ok(self.of(a)? == self.of(b)?)
    }

    /// The function of a state.
    pub(super) fn whole(&mut self, store: &mut Store, state: usize) -> Result<Func, DiagramError> {
        match self.of(state)? {
            Meaning::Whole(func) => Ok(func),
            Meaning::One(_, condition, sides) => {
                let func = store.compared(condition, sides)?;
                self.is(state, func)?;
                Ok(func)
            }
            Meaning::Outline(word, outline) => {
                if let Some(func) = self.filled.get(&(word, outline)) {
                    return Ok(*func);
                }
                let func = store.filled_in(outline, word)?;
                self.filled.insert((word, outline), func);
                Ok(func)
            }
        }
    }

    /// A state leads to the first side where a condition holds.
    pub(super) fn branches(
        &mut self,
        store: &mut Store,
        state: usize,
        condition: Condition,
        sides: [usize; 2],
    ) -> Result<(), DiagramError> {
        let word = match condition {
            Condition::Split(word, _) => Some(word),
            Condition::Other(word, _) => word,
        };
        let meaning = match word {
            Some(word) => self.of_word(store, word, condition, sides)?,
            None => {
                let sides = [self.whole(store, sides[0])?, self.whole(store, sides[1])?];
                Meaning::Whole(store.compared(condition, sides)?)
            }
        };
        self.set(state, meaning)
    }

    fn of_word(
        &mut self,
        store: &mut Store,
        word: Word,
        condition: Condition,
        sides: [usize; 2],
    ) -> Result<Meaning, DiagramError> {
        let first = var_of(word, 31);
        let is_same = |meaning: Meaning| matches!(meaning, Meaning::Outline(of, _) | Meaning::One(of, ..) if of == word);
        let [then, otherwise] = sides;
        if !is_same(self.of(then)?) && !is_same(self.of(otherwise)?) {
            let funcs = [self.whole(store, then)?, self.whole(store, otherwise)?];
            return Ok(if funcs.iter().any(|func| store.var(*func) < first) {
                Meaning::One(word, condition, funcs)
            } else {
                Meaning::Whole(store.compared(condition, funcs)?)
            });
        }
        let outlines = [
            self.outline(store, (word, first), then)?,
            self.outline(store, (word, first), otherwise)?,
        ];
        Ok(Meaning::Outline(word, store.compared(condition, outlines)?))
    }

    /// The outline of a state for a word with this first variable.
    fn outline(
        &mut self,
        store: &mut Store,
        (word, first): (Word, Var),
        state: usize,
    ) -> Result<Func, DiagramError> {
        match self.of(state)? {
            Meaning::Outline(of, outline) if of == word => Ok(outline),
            Meaning::One(of, condition, sides) if of == word => {
                let outline = store.outlined(first, sides)?;
                let outline = store.compared(condition, outline)?;
                self.set(state, Meaning::Outline(word, outline))?;
                Ok(outline)
            }
            _ => {
                let func = self.whole(store, state)?;
                let [func, _] = store.outlined(first, [func, func])?;
                Ok(func)
            }
        }
    }
}

/// What a branch asks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Condition {
    Split(Word, Split),
    /// A predicate, and the word if it is one alone.
    Other(Option<Word>, Pred),
}

/// Predicates with more nodes are not looked through.
const MANY_NODES: usize = 256;

/// Up to so many places an outline is filled in place by place.
const FEW_PLACES: usize = 8;

const NO_PLACE: DiagramError = DiagramError::defect("every path of an outline has an end");

impl Store {
    /// The word that a predicate looks at, if it is one alone and the predicate is small.
    pub(super) fn only_word(&self, pred: Pred) -> Option<Word> {
        let word = Word::from_index(usize::from(self.var(pred) / 32))?;
        let mut seen = Seen::new(self.len());
        let mut nodes = 0;
        let mut stack = vec![pred];
        while let Some(node) = stack.pop() {
            if self.var(node) < VARS && seen.insert(node) {
                nodes += 1;
                if self.var(node) > var_of(word, 0) || nodes > MANY_NODES {
                    return None;
                }
                stack.extend(<[Pred; 2]>::from(self.children(node)));
            }
        }
        Some(word)
    }

    /// The first function where a condition holds.
    fn compared(
        &mut self,
        condition: Condition,
        [then, otherwise]: [Func; 2],
    ) -> Result<Func, DiagramError> {
        match condition {
            Condition::Split(word, split) => self.split(word, split, then, otherwise),
            Condition::Other(_, condition) => self.select(condition, then, otherwise),
        }
    }

    /// Placeholders for the functions that look at a variable before `first`.
    fn outlined(&mut self, first: Var, mut funcs: [Func; 2]) -> Result<[Func; 2], DiagramError> {
        for func in &mut funcs {
            if self.var(*func) < first {
                *func = self.placeholder(*func)?;
            }
        }
        Ok(funcs)
    }

    /// An outline of a word with what its placeholders stand for.
    fn filled_in(&mut self, outline: Func, word: Word) -> Result<Func, DiagramError> {
        let Some(places) = self.exits(outline, word, FEW_PLACES) else {
            return self.filled_in_bit_by_bit(outline, word);
        };
        let mut filled: Option<Func> = None;
        for place in places {
            let func = self.behind(place);
            filled = Some(match filled {
                None => func,
                Some(others) => {
                    let here = self.leads_to(outline, word, place)?;
                    self.select(here, func, others)?
                }
            });
        }
        filled.ok_or(NO_PLACE)
    }

    /// The same for many places, from the last bit of the word to the first.
    fn filled_in_bit_by_bit(&mut self, outline: Func, word: Word) -> Result<Func, DiagramError> {
        let mut filled = HashMap::default();
        let mut stack = vec![(outline, false)];
        while let Some((node, children_done)) = stack.pop() {
            if filled.contains_key(&node) {
                continue;
            }
            if self.top_word(node) != Some(word) {
                let func = self.behind(node);
                filled.insert(node, func);
                continue;
            }
            let (low, high) = self.children(node);
            if !children_done {
                stack.extend([(node, true), (low, false), (high, false)]);
                continue;
            }
            let side = |side: Func| filled.get(&side).copied().ok_or(NO_PLACE);
            let (low, high) = (side(low)?, side(high)?);
            let bit = self.make(self.var(node), Pred::NEVER, Pred::ALWAYS)?;
            let func = self.select(bit, high, low)?;
            filled.insert(node, func);
        }
        filled.get(&outline).copied().ok_or(NO_PLACE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::verdict::Verdict;

    /// Comparisons of a low half that lead to comparisons of a high half: few places, and many.
    #[test]
    fn an_outline_filled_in_is_what_its_comparisons_are_one_by_one() {
        for places in [2u32, 30] {
            let mut store = Store::default();
            let [high, low] = [Word::arg_high(0).unwrap(), Word::arg_low(0).unwrap()];
            let deny = store.verdict(Verdict::errno(100)).unwrap();
            let mut one_by_one = deny;
            let mut meanings = Meanings::new(121);
            meanings.is(120, deny).unwrap();
            for value in 0..60u32 {
                let allow = store.verdict(Verdict::errno((value % places) as u16)).unwrap();
                let at_least = Split::AtLeast(value % places + 1);
                let behind = store.split(high, at_least, deny, allow).unwrap();
                let split = Split::Equal(value * 7);
                one_by_one = store.split(low, split, behind, one_by_one).unwrap();
                // State 120 is the last one, each comparison has two before those that are there.
                let (state, then) = (118 - 2 * value as usize, 119 - 2 * value as usize);
                meanings.is(then, behind).unwrap();
                let condition = Condition::Split(low, split);
                let sides = [then, state + 2];
                meanings.branches(&mut store, state, condition, sides).unwrap();
                assert!(!matches!(meanings.of(state), Ok(Meaning::Whole(_))));
            }
            assert_eq!(meanings.whole(&mut store, 0).unwrap(), one_by_one);
        }
    }

    #[test]
    fn a_predicate_of_one_word_is_known_as_such() {
        let mut store = Store::default();
        let [high, low] = [Word::arg_high(0).unwrap(), Word::arg_low(0).unwrap()];
        let one = store.any_bit(low, 0x8001).unwrap();
        let other = store.any_bit(high, 2).unwrap();
        let both = store.and(one, other).unwrap();
        assert_eq!(store.only_word(one), Some(low));
        assert_eq!(store.only_word(both), None);
        assert_eq!(store.only_word(Pred::ALWAYS), None);
    }
}
