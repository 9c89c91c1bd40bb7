//! Comparisons with constants, and evaluation.

use super::node::Node;
use super::{DiagramError, Func, NodeSet, Pred, Store, VARS, Var};
use crate::policy::{Cmp, Field, Test};
use crate::{Endian, FilterInput, Relation, Verdict, Word};

/// The variable of a bit; bit 0 is the least significant.
pub fn var_of(word: Word, bit: u32) -> Var {
    word.index() as Var * 32 + (31 - bit as Var)
}

/// The variable of a bit of a field. A field of 32 or 8 bits has no others.
pub(super) fn var_of_field(field: Field, bit: u32) -> Var {
    match field.high_word() {
        Some(high) if bit >= 32 => var_of(high, bit - 32),
        _ => var_of(field.low_word(), (bit + field.shift()) % 32),
    }
}

/// The variables of these bits of a word, least significant first; the others have none.
pub(super) fn vars_of_word(word: Word, mask: u32) -> [Option<Var>; 32] {
    std::array::from_fn(|bit| (mask >> bit & 1 == 1).then(|| var_of(word, bit as u32)))
}

/// The variables of the bits of a field, least significant first.
pub(super) fn vars_of_field(field: Field) -> Vec<Option<Var>> {
    (0..field.bits()).map(|bit| Some(var_of_field(field, bit))).collect()
}

/// The variables of the bits that a test compares.
fn vars_of(test: &Test) -> [Option<Var>; 64] {
    let mask = test.mask & test.field.full_mask();
    std::array::from_fn(|bit| (mask >> bit & 1 == 1).then(|| var_of_field(test.field, bit as u32)))
}

/// A comparison of a word with a constant, which splits the values of the word in two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// `word == k`.
    Equal(u32),
    /// `word >= k`.
    AtLeast(u32),
}

/// The error for a path that does not end in a verdict.
pub(super) const NO_VERDICT: DiagramError = DiagramError::defect("a function ends in verdicts");

impl Store {
    /// The predicate of a test.
    ///
    /// # Errors
    /// If the diagram exceeds its budget; if the field has another layout than the store.
    pub fn test(&mut self, test: &Test) -> Result<Pred, DiagramError> {
        self.check_layout(test.field.layout())?;
        self.compare(&vars_of(test), test.cmp, test.value, [Pred::ALWAYS, Pred::NEVER])
    }

    /// The node `holds` where a test holds, and `fails` elsewhere; `None` unless both test only variables after those of
    /// its field.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub(super) fn test_before<N: Node>(
        &mut self,
        test: &Test,
        [holds, fails]: [N; 2],
    ) -> Result<Option<N>, DiagramError> {
        self.check_layout(test.field.layout())?;
        if self.var(holds).min(self.var(fails)) <= var_of_field(test.field, 0) {
            return Ok(None);
        }
        self.compare(&vars_of(test), test.cmp, test.value, [holds, fails]).map(Some)
    }

    /// Compares a number with a constant: the node `holds` where the comparison holds, and `fails` elsewhere, both of
    /// which test only variables after those of the number. Its bits are variables, least significant first; a bit without
    /// a variable is zero. The variable of a bit must precede those of lower bits.
    pub(super) fn compare<N: Node>(
        &mut self,
        vars: &[Option<Var>],
        cmp: Cmp,
        value: u64,
        [holds, fails]: [N; 2],
    ) -> Result<N, DiagramError> {
        let (below, equal, above) = match cmp {
            Cmp::Eq => (fails, holds, fails),
            Cmp::Ne => (holds, fails, holds),
            Cmp::Lt => (holds, fails, fails),
            Cmp::Le => (holds, holds, fails),
            Cmp::Gt => (fails, fails, holds),
            Cmp::Ge => (fails, holds, holds),
        };
        let nodes = [below, equal, above].map(Node::id);
        let id = self.around(vars.iter().copied(), value, nodes)?;
        Ok(self.handle(id))
    }

    /// The predicate `(word & mask) cmp value`.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub(crate) fn compare_word(
        &mut self,
        word: Word,
        mask: u32,
        cmp: Cmp,
        value: u32,
    ) -> Result<Pred, DiagramError> {
        let vars = vars_of_word(word, mask);
        self.compare(&vars, cmp, u64::from(value), [Pred::ALWAYS, Pred::NEVER])
    }

    /// The predicate `(word & mask) relation value`.
    pub(super) fn relation_of_word(
        &mut self,
        word: Word,
        mask: u32,
        relation: Relation,
        value: u32,
    ) -> Result<Pred, DiagramError> {
        let cmp = match relation {
            Relation::Equal => Cmp::Eq,
            Relation::Greater => Cmp::Gt,
            Relation::AtLeast => Cmp::Ge,
            Relation::Shares => return self.any_bit(word, mask & value),
        };
        self.compare_word(word, mask, cmp, value)
    }

    /// The predicate `word & mask != 0`.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn any_bit(&mut self, word: Word, mask: u32) -> Result<Pred, DiagramError> {
        let mut rest = Pred::NEVER;
        for bit in (0..32).filter(|bit| mask >> bit & 1 == 1) {
            rest = self.make_ordered(var_of(word, bit), rest, Pred::ALWAYS)?;
        }
        Ok(rest)
    }

    /// `then` where the comparison of the word holds, `otherwise` elsewhere.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn split(
        &mut self,
        word: Word,
        split: Split,
        then: Func,
        otherwise: Func,
    ) -> Result<Func, DiagramError> {
        self.check_owner(then)?;
        self.check_owner(otherwise)?;
        let first = var_of(word, 31);
        if self.var(then) < first || self.var(otherwise) < first {
            return self.split_below(word, split, then, otherwise);
        }
        // Descend along the bits of `k`, recording the other child of each node; then build upwards.
        let mut off_path = [(then, false); 32];
        let (mut t, mut e) = (then, otherwise);
        let (k, at_least) = match split {
            Split::Equal(k) => (k, false),
            Split::AtLeast(k) => (k, true),
        };
        for (bit, off) in (0..32).rev().zip(off_path.iter_mut()) {
            let var = var_of(word, bit);
            let (t0, t1) = self.cofactors(t, var);
            let (e0, e1) = self.cofactors(e, var);
            if k >> bit & 1 == 1 {
                *off = (e0, true);
                (t, e) = (t1, e1);
            } else {
                *off = (if at_least { t1 } else { e1 }, false);
                (t, e) = (t0, e0);
            }
        }
        let mut node = t;
        for (bit, (off, path_is_high)) in (0..32).zip(off_path.into_iter().rev()) {
            let var = var_of(word, bit);
            // All cofactors for a variable test later ones.
            node = if path_is_high {
                self.make_ordered(var, off, node)?
            } else {
                self.make_ordered(var, node, off)?
            };
        }
        Ok(node)
    }

    /// As [`Store::split`], for functions that test earlier words.
    fn split_below(
        &mut self,
        word: Word,
        split: Split,
        then: Func,
        otherwise: Func,
    ) -> Result<Func, DiagramError> {
        let (k, after) = match split {
            Split::Equal(k) => (k, k.checked_add(1)),
            Split::AtLeast(k) => (k, None),
        };
        let mut places = Vec::with_capacity(3);
        places.extend((k > 0).then_some((0, 1)));
        places.push((k, 0));
        places.extend(after.map(|after| (after, 1)));
        match self.join_below(word, &places, vec![then.id(), otherwise.id()])? {
            Some(id) => Ok(self.handle(id)),
            None => self.split_by_predicate(word, split, then, otherwise),
        }
    }

    /// As [`Store::split`], with if-then-else.
    pub(super) fn split_by_predicate(
        &mut self,
        word: Word,
        split: Split,
        then: Func,
        otherwise: Func,
    ) -> Result<Func, DiagramError> {
        let condition = self.masked_split(word, u32::MAX, split)?;
        self.select(condition, then, otherwise)
    }

    /// The verdict of a function for a syscall, or another input of the layout of the store, when all variables are 0.
    ///
    /// # Errors
    /// [`DiagramError`] if the function belongs to another store, or ends in a placeholder; if the input has another layout.
    pub fn evaluate<D: FilterInput>(&self, func: Func, data: &D) -> Result<Verdict, DiagramError> {
        self.evaluate_given(func, data, &[])
    }

    /// The byte order in which inputs have the words of the store: for layouts whose words do not depend on it, any.
    ///
    /// # Errors
    /// If the input has another layout than the store.
    pub(super) fn endian_of<D: FilterInput>(&self) -> Result<Endian, DiagramError> {
        let fits = |endian: &Endian| D::layout(*endian) == self.layout();
        [Endian::Little, Endian::Big].into_iter().find(fits).ok_or(DiagramError::LAYOUT)
    }

    /// The verdicts that occur in a function, each once.
    pub fn verdicts(&self, func: Func) -> Vec<Verdict> {
        const REMEMBERED: usize = 16;
        let mut seen = NodeSet::new(self.len());
        let mut verdicts = Vec::new();
        // The last verdict that was found: most nodes of a path have it as a child.
        let mut last = func;
        let mut stack = vec![func];
        while let Some(mut node) = stack.pop() {
            for step in 0.. {
                let (var, low, high) = self.branch(node);
                let is_terminal = var == VARS;
                if is_terminal {
                    last = node;
                }
                // Remembering every 16th node of a path is enough: paths that meet are walked twice for at most 16 nodes.
                if (is_terminal || step % REMEMBERED == 0) && !seen.insert(node) {
                    break;
                }
                node = match (high == last, low == last) {
                    _ if is_terminal => {
                        verdicts.extend(self.as_verdict(node));
                        break;
                    }
                    (true, _) => low,
                    (_, true) => high,
                    _ => {
                        stack.push(low);
                        high
                    }
                };
            }
        }
        verdicts
    }
}
