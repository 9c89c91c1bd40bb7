//! Comparisons with variables, and of two words.
//!
//! A comparison of (bits of) a word with half of a [`Symbol`](crate::template::Symbol), or with another word, is a variable of the
//! diagram of its own, after the bits of the syscall. So a function with comparisons is a function of the syscall and of the
//! outcomes of these comparisons.
//!
//! This is sound: the syscall and the values of the variables determine the outcomes; so two functions that are the
//! same node are equal for all syscalls and all values of all variables. It is not complete: the outcomes are taken as independent
//! of each other and of the bits of the words. Functions that are equal only because of a relation between outcomes (`arg
//! > v` excludes `arg == v`) are different nodes. So a generator that works on the diagram cannot use such a relation.
//! Only the outcomes of the comparisons of the same two words exclude each other as they should: no function depends on
//! `word > other` where `word == other` ([`Store::words`]).

use crate::template::Half;
use crate::{FilterInput, Layout, Relation, Verdict, Word};

use super::compare::NO_VERDICT;
use super::comparison::{Compared, Comparison, MAX_COMPARISONS};
use super::node_table::{BITS, VARS};
use super::{DiagramError, Func, Node, Pred, Store, Var};
use crate::policy::{Cmp, FieldTest, VariableRelation, VariableTest};

impl Store {
    /// The predicate of a comparison with a variable.
    ///
    /// # Errors
    /// If the diagram exceeds its budget, the variable is not one of the [store](Store::with_variables), or there are more
    /// than [`MAX_COMPARISONS`] different comparisons.
    pub fn variable_test(&mut self, test: &VariableTest) -> Result<Pred, DiagramError> {
        let mask = test.mask & test.field.full_mask();
        // A field of 32 bits has the high half 0.
        let high = test.field.high_word().unwrap_or(Word::NR);
        self.by_halves(test.relation, |store, relation, half| {
            let word = if half == Half::High { high } else { test.field.low_word() };
            let other = Compared::Half(test.symbol, half);
            store.comparison(Comparison { word, mask: half.of(mask), relation, other })
        })
    }

    /// The predicate of a comparison of two fields.
    ///
    /// # Errors
    /// If the diagram exceeds its budget, a field is not one of syscalls, or there are more than [`MAX_COMPARISONS`] different
    /// comparisons.
    pub fn field_test(&mut self, test: &FieldTest) -> Result<Pred, DiagramError> {
        self.check_layout(test.left.layout())?;
        self.check_layout(test.right.layout())?;
        self.by_halves(test.relation, |store, relation, half| {
            let [left, right] = [test.left, test.right].map(|field| match half {
                Half::Low => Some(field.low_word()),
                Half::High => field.high_word(),
            });
            match (left, right, relation) {
                (Some(word), Some(other), _) => store.words(word, relation, other),
                // A field of 32 bits has the high half 0.
                (Some(word), None, _) => store.relation_of_word(word, u32::MAX, relation, 0),
                (None, Some(word), Relation::Equal | Relation::AtLeast) => {
                    store.relation_of_word(word, u32::MAX, Relation::Equal, 0)
                }
                (None, _, _) => Ok(Pred::constant(right.is_none() && relation.holds(0, 0))),
            }
        })
    }

    /// The predicate of a relation of two numbers of 64 bits, of which `half` relates the halves.
    fn by_halves(
        &mut self,
        relation: VariableRelation,
        half: impl Fn(&mut Store, Relation, Half) -> Result<Pred, DiagramError>,
    ) -> Result<Pred, DiagramError> {
        let (cmp, negated) = match relation {
            VariableRelation::Cmp(cmp @ (Cmp::Eq | Cmp::Gt | Cmp::Ge)) => (cmp, false),
            VariableRelation::Cmp(cmp) => (cmp.negated(), true),
            VariableRelation::AnyBit | VariableRelation::NoBit => {
                let high = half(self, Relation::Shares, Half::High)?;
                let low = half(self, Relation::Shares, Half::Low)?;
                let any = self.or(high, low)?;
                return if relation == VariableRelation::AnyBit { Ok(any) } else { self.not(any) };
            }
        };
        let equal = half(self, Relation::Equal, Half::High)?;
        let holds = match cmp {
            Cmp::Eq => {
                let low = half(self, Relation::Equal, Half::Low)?;
                self.and(equal, low)?
            }
            _ => {
                let relation = if cmp == Cmp::Gt { Relation::Greater } else { Relation::AtLeast };
                let above = half(self, Relation::Greater, Half::High)?;
                let low = half(self, relation, Half::Low)?;
                self.if_then_else(equal, low, above)?
            }
        };
        if negated { self.not(holds) } else { Ok(holds) }
    }

    /// The predicate of the comparison of a word with half of a symbol, or with another word.
    ///
    /// # Errors
    /// As [`Store::variable_test`] and [`Store::field_test`].
    pub fn comparison(&mut self, comparison: Comparison) -> Result<Pred, DiagramError> {
        let Comparison { word, mask, relation, other } = comparison;
        let (symbol, half) = match other {
            Compared::Half(symbol, half) => (symbol, half),
            Compared::Word(_) if mask != u32::MAX => return Err(DiagramError::COMPUTED),
            Compared::Word(other) => return self.words(word, relation, other),
        };
        let variable = self.variables().get(symbol.variable()).ok_or(DiagramError::VARIABLES)?;
        if let Some(constant) = symbol.constant_half(half, variable) {
            return self.relation_of_word(word, mask, relation, constant);
        }
        self.outcome(match (mask, relation) {
            (0, Relation::Greater | Relation::Shares) => return Ok(Pred::NEVER),
            // 0 is at least a value only if they are equal.
            (0, _) => Comparison { word: Word::NR, relation: Relation::Equal, ..comparison },
            _ => comparison,
        })
    }

    /// The predicate of a relation of two words. Its variables are `Equal`, `Greater` and `Shares` of the earlier word and the
    /// later one, and `Greater` decides only where they differ: the three orders of two words are three functions of `Equal` and
    /// `Greater`, and their combinations are functions of the order.
    fn words(&mut self, word: Word, relation: Relation, other: Word) -> Result<Pred, DiagramError> {
        self.check_layout(Layout::Seccomp)?;
        if word == other {
            return match relation {
                Relation::Shares => self.any_bit(word, u32::MAX),
                _ => Ok(Pred::constant(relation != Relation::Greater)),
            };
        }
        let (first, last) = (word.min(other), word.max(other));
        let of = |relation| {
            let other = Compared::Word(last);
            Comparison { word: first, mask: u32::MAX, relation, other }
        };
        if relation == Relation::Shares {
            return self.outcome(of(relation));
        }
        let equal = self.outcome(of(Relation::Equal))?;
        if relation == Relation::Equal {
            return Ok(equal);
        }
        let mut above = self.outcome(of(Relation::Greater))?;
        if word == last {
            above = self.not(above)?;
        }
        self.if_then_else(equal, Pred::constant(relation == Relation::AtLeast), above)
    }

    /// The variable of the outcome of a comparison.
    fn outcome(&mut self, comparison: Comparison) -> Result<Pred, DiagramError> {
        let known = &mut self.comparisons;
        let index = match known.iter().position(|other| *other == comparison) {
            Some(index) => index,
            None if known.len() == MAX_COMPARISONS => {
                return Err(DiagramError::comparisons(MAX_COMPARISONS));
            }
            None => {
                known.push(comparison);
                known.len() - 1
            }
        };
        self.make(BITS + index as Var, Pred::NEVER, Pred::ALWAYS)
    }

    /// The comparison that a function or predicate tests first; `None` if it tests a bit of the syscall first, and for a constant.
    pub fn top_comparison<N: Node>(&self, node: N) -> Option<Comparison> {
        self.comparison_at(self.var(node))
    }

    /// The comparison whose outcome a variable is.
    pub(super) fn comparison_at(&self, var: Var) -> Option<Comparison> {
        self.comparisons.get(usize::from(var.checked_sub(BITS)?)).copied()
    }

    /// Whether functions of the store may test comparisons.
    pub fn may_compare(&self) -> bool {
        !self.comparisons.is_empty()
    }

    /// The verdict of a function for a syscall when the variables have these values; a variable without a value counts
    /// as 0.
    ///
    /// # Errors
    /// [`DiagramError`] if the function belongs to another store, or ends in a placeholder; if the input has another layout.
    pub fn evaluate_given<D: FilterInput>(
        &self,
        func: Func,
        data: &D,
        values: &[u64],
    ) -> Result<Verdict, DiagramError> {
        self.check_owner(func)?;
        let endian = self.endian_of::<D>()?;
        let mut node = func;
        while self.var(node) < VARS {
            let (low, high) = self.children(node);
            let holds = match (self.top_word(node), self.top_comparison(node)) {
                (Some(word), _) => {
                    data.get(word, endian) >> (31 - u32::from(self.var(node) % 32)) & 1 == 1
                }
                (None, Some(comparison)) => comparison.holds(data, endian, values),
                (None, None) => return Err(NO_VERDICT),
            };
            node = if holds { high } else { low };
        }
        self.as_verdict(node).ok_or(NO_VERDICT)
    }
}
