//! Quantification of predicates over words, and the share of inputs for which a predicate holds.

use crate::Result;
use rustc_hash::FxHashMap as HashMap;

use callgate_core::Word;
use callgate_core::diagram::{Pred, Store, VARS};

/// For how many values of the quantified words a predicate must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantifier {
    /// For at least one: existential quantification.
    Some,
    /// For all: universal quantification.
    All,
}

/// The predicate that another one holds for some or for all values of these words. It does not depend on them.
///
/// # Errors
/// If the diagram exceeds its budget.
pub fn quantified(
    store: &mut Store,
    pred: Pred,
    words: &[Word],
    quantifier: Quantifier,
) -> Result<Pred> {
    let Some(last) = words.iter().map(|word| word.index()).max() else { return Ok(pred) };
    Quantification { words, last, quantifier, done: HashMap::default() }.of(store, pred)
}

struct Quantification<'a> {
    words: &'a [Word],
    /// The index of the last word; later ones are not changed.
    last: usize,
    quantifier: Quantifier,
    done: HashMap<Pred, Pred>,
}

impl Quantification<'_> {
    /// Each recursion is at least one variable deeper.
    fn of(&mut self, store: &mut Store, pred: Pred) -> Result<Pred> {
        let var = store.var(pred);
        let index = usize::from(var / 32);
        if var == VARS || index > self.last {
            return Ok(pred);
        }
        if let Some(done) = self.done.get(&pred) {
            return Ok(*done);
        }
        store.charge()?;
        let (low, high) = store.children(pred);
        let (low, high) = (self.of(store, low)?, self.of(store, high)?);
        let is_quantified = self.words.iter().any(|word| word.index() == index);
        let result = match (is_quantified, self.quantifier) {
            (false, _) => store.make(var, low, high)?,
            (true, Quantifier::Some) => store.or(low, high)?,
            (true, Quantifier::All) => store.and(low, high)?,
        };
        self.done.insert(pred, result);
        Ok(result)
    }
}

/// The share of all inputs for which a predicate holds, from 0 to 1, rounded to the precision of `f64`.
pub fn share(store: &Store, pred: Pred) -> f64 {
    share_memo(store, pred, &mut HashMap::default())
}

/// Each recursion is at least one variable deeper.
fn share_memo(store: &Store, pred: Pred, done: &mut HashMap<Pred, f64>) -> f64 {
    if pred == Pred::NEVER {
        return 0.0;
    }
    if pred == Pred::ALWAYS {
        return 1.0;
    }
    if let Some(done) = done.get(&pred) {
        return *done;
    }
    let (low, high) = store.children(pred);
    let share = f64::midpoint(share_memo(store, low, done), share_memo(store, high, done));
    done.insert(pred, share);
    share
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_testing::truth_table::predicate;

    /// Every predicate over two bits of one word and one of a later word, beside its definition.
    #[test]
    fn quantification_and_shares_are_those_of_truth_tables() {
        let [first, second] = [0, 1].map(|arg| Word::arg_low(arg).unwrap());
        let bits = [(first, 1), (first, 0), (second, 7)];
        for table in 0..=255_u32 {
            let mut store = Store::default();
            let pred = predicate(&mut store, &bits, table).unwrap();
            assert!((share(&store, pred) - f64::from(table.count_ones()) / 8.0).abs() < 1e-12);
            for (words, fixed) in [
                (&[first][..], 0b100),
                (&[second][..], 0b011),
                (&[second, first][..], 0),
                (&[][..], 0b111),
            ] {
                for quantifier in [Quantifier::Some, Quantifier::All] {
                    let found = quantified(&mut store, pred, words, quantifier).unwrap();
                    let of = |index: u32| {
                        let mut same = (0..8).filter(|other| (other ^ index) & fixed == 0);
                        let holds = |other: u32| table >> other & 1 == 1;
                        match quantifier {
                            Quantifier::Some => same.any(holds),
                            Quantifier::All => same.all(holds),
                        }
                    };
                    let expected = (0..8).fold(0, |all, index| all | u32::from(of(index)) << index);
                    let expected = predicate(&mut store, &bits, expected).unwrap();
                    assert_eq!(found, expected, "{table:#x} {words:?} {quantifier:?}");
                }
            }
        }
    }
}
