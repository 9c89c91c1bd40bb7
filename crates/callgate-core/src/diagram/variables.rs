//! Comparisons with variables.
//!
//! A comparison of (bits of) a word with half of a [`Symbol`] is a variable of the diagram of its own, after the bits
//! of the syscall. So a function with variables is a function of the syscall and of the outcomes of these comparisons.
//!
//! This is sound: whatever the values of the variables are, they determine the outcomes; so two functions that are the
//! same node are equal for all values of all variables. It is not complete: the outcomes are taken as independent of
//! each other and of the bits of the word. Functions that are equal only because of a relation between outcomes (`arg
//! > v` excludes `arg == v`) are different nodes. So a generator that works on the diagram cannot use such a relation.

use crate::template::Half;
use crate::{Relation, SeccompData, Verdict, Word};

use super::compare::NO_VERDICT;
use super::comparison::{Comparison, MAX_COMPARISONS};
use super::node_table::{BITS, VARS};
use super::{DiagramError, Func, NodeSet, Pred, Store, Var};
use crate::policy::{Cmp, VariableRelation, VariableTest};

impl Store {
    /// The predicate of a comparison with a variable.
    ///
    /// # Errors
    /// If the diagram exceeds its budget, the variable is not one of the [store](Store::with_variables), or there are more
    /// than [`MAX_COMPARISONS`] different comparisons.
    pub fn variable_test(&mut self, test: &VariableTest) -> Result<Pred, DiagramError> {
        let mask = test.mask & test.field.full_mask();
        let low = (test.field.low_word(), mask as u32, Half::Low);
        // A field of 32 bits has the high half 0.
        let high = (test.field.high_word().unwrap_or(Word::NR), (mask >> 32) as u32, Half::High);
        let mut half = |relation, (word, mask, half)| {
            self.comparison(Comparison { word, mask, relation, symbol: test.symbol, half })
        };
        let (cmp, negated) = match test.relation {
            VariableRelation::Cmp(cmp @ (Cmp::Eq | Cmp::Gt | Cmp::Ge)) => (cmp, false),
            VariableRelation::Cmp(cmp) => (cmp.negated(), true),
            VariableRelation::AnyBit | VariableRelation::NoBit => {
                let (high, low) = (half(Relation::Shares, high)?, half(Relation::Shares, low)?);
                let any = self.or(high, low)?;
                return if test.relation == VariableRelation::AnyBit {
                    Ok(any)
                } else {
                    self.not(any)
                };
            }
        };
        let equal = half(Relation::Equal, high)?;
        let holds = match cmp {
            Cmp::Eq => {
                let low = half(Relation::Equal, low)?;
                self.and(equal, low)?
            }
            _ => {
                let relation = if cmp == Cmp::Gt { Relation::Greater } else { Relation::AtLeast };
                let above = half(Relation::Greater, high)?;
                let low = half(relation, low)?;
                self.if_then_else(equal, low, above)?
            }
        };
        if negated { self.not(holds) } else { Ok(holds) }
    }

    /// The predicate of the comparison of a word with half of a symbol.
    ///
    /// # Errors
    /// As [`Store::variable_test`].
    pub fn comparison(&mut self, comparison: Comparison) -> Result<Pred, DiagramError> {
        let Comparison { word, mask, relation, symbol, half } = comparison;
        let variable = self.variables().get(symbol.variable()).ok_or(DiagramError::VARIABLES)?;
        if let Some(constant) = symbol.constant_half(half, variable) {
            return match relation {
                Relation::Equal => self.compare_word(word, mask, Cmp::Eq, constant),
                Relation::Greater => self.compare_word(word, mask, Cmp::Gt, constant),
                Relation::AtLeast => self.compare_word(word, mask, Cmp::Ge, constant),
                Relation::Shares => self.any_bit(word, mask & constant),
            };
        }
        let comparison = match (mask, relation) {
            (0, Relation::Greater | Relation::Shares) => return Ok(Pred::NEVER),
            // 0 is at least a value only if they are equal.
            (0, _) => Comparison { word: Word::NR, relation: Relation::Equal, ..comparison },
            _ => comparison,
        };
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

    /// The comparison with a variable that a function tests first; `None` if it tests a bit of the syscall first, and for a
    /// constant.
    pub fn top_comparison(&self, func: Func) -> Option<Comparison> {
        let index = self.var(func).checked_sub(BITS)?;
        self.comparisons.get(usize::from(index)).copied()
    }

    /// Whether a function tests comparisons with variables.
    pub fn has_comparisons(&self, func: Func) -> bool {
        if self.comparisons.is_empty() {
            return false;
        }
        let mut seen = NodeSet::new(self.len());
        let mut pending = vec![func];
        while let Some(node) = pending.pop() {
            if (BITS..VARS).contains(&self.var(node)) {
                return true;
            }
            if seen.insert(node) {
                pending.extend(<[Func; 2]>::from(self.children(node)));
            }
        }
        false
    }

    /// The verdict of a function for a syscall when the variables have these values; a variable without a value counts
    /// as 0.
    ///
    /// # Errors
    /// [`DiagramError`] if the function belongs to another store, or ends in a placeholder.
    pub fn evaluate_given(
        &self,
        func: Func,
        data: &SeccompData,
        values: &[u64],
    ) -> Result<Verdict, DiagramError> {
        self.check_owner(func)?;
        let mut node = func;
        while self.var(node) < VARS {
            let (low, high) = self.children(node);
            let holds = match (self.top_word(node), self.top_comparison(node)) {
                (Some(word), _) => {
                    data.word(word) >> (31 - u32::from(self.var(node) % 32)) & 1 == 1
                }
                (None, Some(comparison)) => comparison.holds(data, values),
                (None, None) => return Err(NO_VERDICT),
            };
            node = if holds { high } else { low };
        }
        self.as_verdict(node).ok_or(NO_VERDICT)
    }
}
