//! Functions of a few bits by truth table, built without operations of the store: what tests of MTBDDs compare with.
//!
//! A boolean function of n bits is represented by its truth table, a number less than 2^(2^n): bit `i` is the value
//! of the function if bit `j` of `i` is the j-th input bit. Input bits are variables spread over the words, in
//! the order of the diagram.

use callgate_core::diagram::{DiagramError, Func, Node, Pred, Store, var_of};
use callgate_core::{SeccompData, Verdict, Word};

/// An input bit: a word and a bit of it.
pub type Bit = (Word, u32);

/// The verdicts of [`digits`].
pub const VERDICTS: [Verdict; 3] = [Verdict::errno(1), Verdict::ALLOW, Verdict::LOG];

/// A syscall with the input bits of an index, and `noise` in all other bits.
pub fn syscall(bits: &[Bit], index: usize, noise: u32) -> SeccompData {
    let mut data = SeccompData::default();
    for word in Word::all() {
        data.set_word(word, noise);
    }
    for (i, (word, bit)) in bits.iter().enumerate() {
        let cleared = data.word(*word) & !(1 << bit);
        data.set_word(*word, cleared | ((index >> i & 1) as u32) << bit);
    }
    data
}

/// The node with these leaves by index, built bottom-up.
///
/// # Errors
/// If the diagram exceeds its budget.
///
/// # Panics
/// If there is not one leaf for each value of the bits.
pub fn built<N: Node>(store: &mut Store, bits: &[Bit], leaves: &[N]) -> Result<N, DiagramError> {
    assert_eq!(leaves.len(), 1 << bits.len(), "a leaf for each value of the bits");
    // The first variable is bit 0 of an index, so the last one is folded first.
    let mut level = leaves.to_vec();
    for (word, bit) in bits.iter().rev() {
        let (low, high) = level.split_at(level.len() / 2);
        let var = var_of(*word, *bit);
        let nodes = low.iter().zip(high).map(|(low, high)| store.make(var, *low, *high));
        level = nodes.collect::<Result<_, _>>()?;
    }
    Ok(level[0])
}

/// The predicate with this truth table.
///
/// # Errors
/// If the diagram exceeds its budget.
pub fn predicate(store: &mut Store, bits: &[Bit], table: u32) -> Result<Pred, DiagramError> {
    let leaves: Vec<Pred> =
        (0..1usize << bits.len()).map(|i| Pred::constant(table >> i & 1 == 1)).collect();
    built(store, bits, &leaves)
}

/// The function with these verdicts by index.
///
/// # Errors
/// If the diagram exceeds its budget.
pub fn function(
    store: &mut Store,
    bits: &[Bit],
    verdicts: &[Verdict],
) -> Result<Func, DiagramError> {
    let leaves: Vec<Func> =
        verdicts.iter().map(|verdict| store.verdict(*verdict)).collect::<Result<_, _>>()?;
    built(store, bits, &leaves)
}

/// Verdicts by index: the base-3 digits of `number`.
pub fn digits(mut number: usize, count: usize) -> Vec<Verdict> {
    let mut digits = Vec::new();
    for _ in 0..count {
        digits.extend(VERDICTS.get(number % 3));
        number /= 3;
    }
    digits
}
