//! Symbolic values: the contents of a register as a function of the syscall, or of another input.
//!
//! Most registers of real filters hold a constant, some bits of one word, or what a bitset test computes (`shifted`); these
//! have compact forms. Every other value is 32 predicates, one per bit, on which arithmetic works as in a circuit.
//! Equal [`Value`]s are equal functions of the syscall. The reverse holds for all forms but [`Value::Sum`] and
//! [`Value::Shifted`].

use rustc_hash::FxHashMap as HashMap;

use super::compare::var_of;
use super::shifted::{LOW_BITS, Shifted};
use super::{Compared, Comparison, DiagramError, Func, Pred, Store};
use crate::io_uring::Decision;
use crate::template::{Half, Symbol};
use crate::{Alu, Endian, Layout, Relation, Verdict, Word};

/// A 32-bit value that depends on the syscall.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// The same for every syscall.
    Constant(u32),
    /// `word & mask`, with a mask that is not zero.
    Masked(Word, u32),
    /// `word + k` modulo 2^32, with a constant that is not zero.
    Sum(Word, u32),
    /// The shifted constant with this number in [`ValueTable`].
    Shifted(u32),
    /// The bits with this number in [`ValueTable`].
    Bits(u32),
    /// The symbol with this number in [`ValueTable`]: half of a value that depends on a variable.
    Symbol(u32),
}

/// One predicate per bit of a value, least significant first.
pub(super) type Bits = [Pred; 32];

/// The maximum number of bits of a computed return value that depend on the syscall.
const MAX_RETURN_BITS: u32 = 12;

/// What [`Value`]s refer to by number: values without a compact form, shifted constants, and symbols.
#[derive(Default)]
pub struct ValueTable {
    table: Vec<Bits>,
    index: HashMap<Bits, u32>,
    shifted: Vec<Shifted>,
    shifted_index: HashMap<Shifted, u32>,
    symbols: Vec<(Symbol, Half)>,
}

impl ValueTable {
    /// The value of a whole word.
    pub fn word(word: Word) -> Value {
        Value::Masked(word, u32::MAX)
    }

    /// The value of a loaded word: the union of its parts. `None` if there is no word at the offset.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub(super) fn loaded(
        &mut self,
        store: &mut Store,
        offset: u32,
        endian: Endian,
    ) -> Result<Option<Value>, DiagramError> {
        if store.layout() == Layout::Seccomp {
            return Ok(Word::from_offset(offset, endian).map(ValueTable::word));
        }
        let mut bits = [Pred::NEVER; 32];
        let mut parts = store.layout().parts(offset, endian).peekable();
        if parts.peek().is_none() {
            return Ok(None);
        }
        for (word, mask) in parts {
            for (bit, pred) in (0..).zip(bits.iter_mut()).filter(|(bit, _)| mask >> bit & 1 == 1) {
                *pred = store.make(var_of(word, bit), Pred::NEVER, Pred::ALWAYS)?;
            }
        }
        self.value(store, bits).map(Some)
    }

    /// The value of the constant that a patch sets.
    pub(super) fn symbol(&mut self, symbol: Symbol, half: Half) -> Value {
        let known = self.symbols.iter().position(|other| *other == (symbol, half));
        let number = known.unwrap_or(self.symbols.len());
        if known.is_none() {
            self.symbols.push((symbol, half));
        }
        Value::Symbol(number as u32)
    }

    pub(super) fn bits(&self, store: &mut Store, value: Value) -> Result<Bits, DiagramError> {
        let mut bits = [Pred::NEVER; 32];
        match value {
            Value::Constant(k) => bits = constant(k),
            Value::Masked(word, mask) => {
                for (i, bit) in bits.iter_mut().enumerate() {
                    if mask >> i & 1 == 1 {
                        *bit = store.make(var_of(word, i as u32), Pred::NEVER, Pred::ALWAYS)?;
                    }
                }
            }
            Value::Sum(word, k) => {
                let whole = self.bits(store, ValueTable::word(word))?;
                bits = add(store, &whole, &constant(k), Pred::NEVER)?;
            }
            Value::Shifted(number) => {
                let shifted = self.shifted(number)?;
                for (i, bit) in (0..).zip(bits.iter_mut()) {
                    *bit = shifted.pred(store, |value| value >> i & 1 == 1)?;
                }
            }
            Value::Bits(number) => {
                let unknown = DiagramError::defect("a value of 32 predicates is in the table");
                bits = *self.table.get(number as usize).ok_or(unknown)?;
            }
            Value::Symbol(_) => return Err(DiagramError::COMPUTED),
        }
        Ok(bits)
    }

    pub(super) fn value(&mut self, store: &mut Store, bits: Bits) -> Result<Value, DiagramError> {
        let known = |p: &Pred| *p == Pred::NEVER || *p == Pred::ALWAYS;
        if bits.iter().all(known) {
            let k = bits.iter().rev().fold(0, |k, bit| k << 1 | u32::from(*bit == Pred::ALWAYS));
            return Ok(Value::Constant(k));
        }
        let first = bits.iter().find(|bit| !known(bit));
        let word = |bit: &Pred| store.word_of(store.var(*bit));
        if let Some(word) = first.and_then(word) {
            let all = self.bits(store, ValueTable::word(word))?;
            let mut mask = 0;
            let plain = bits.iter().zip(all).enumerate().all(|(i, (bit, whole))| {
                mask |= u32::from(*bit == whole) << i;
                *bit == whole || *bit == Pred::NEVER
            });
            if plain {
                return Ok(Value::Masked(word, mask));
            }
        }
        let next = self.table.len() as u32;
        let number = *self.index.entry(bits).or_insert(next);
        if number == next {
            self.table.push(bits);
        }
        Ok(Value::Bits(number))
    }

    /// `a op b`.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn alu(
        &mut self,
        store: &mut Store,
        op: Alu,
        a: Value,
        b: Value,
    ) -> Result<Value, DiagramError> {
        if let (Value::Constant(a), Value::Constant(b)) = (a, b) {
            if let Some(result) = op.apply(a, b) {
                return Ok(Value::Constant(result));
            }
        }
        if let (Alu::And, Value::Masked(word, mask), Value::Constant(k))
        | (Alu::And, Value::Constant(k), Value::Masked(word, mask)) = (op, a, b)
        {
            let mask = mask & k;
            return Ok(if mask == 0 { Value::Constant(0) } else { Value::Masked(word, mask) });
        }
        if let Some(value) = self.compact(op, a, b) {
            return Ok(value);
        }
        let (x, y) = (self.bits(store, a)?, self.bits(store, b)?);
        let bits = match op {
            Alu::And => each(store, &x, &y, Store::and)?,
            Alu::Or => each(store, &x, &y, Store::or)?,
            Alu::Xor => each(store, &x, &y, Store::xor)?,
            Alu::Add => add(store, &x, &y, Pred::NEVER)?,
            Alu::Sub => {
                let inverted = invert(store, &y)?;
                add(store, &x, &inverted, Pred::ALWAYS)?
            }
            Alu::Mul => multiply(store, &x, &y)?,
            Alu::Div => divide(store, &x, &y)?.0,
            Alu::Mod => divide(store, &x, &y)?.1,
            Alu::Lsh => shift(store, &x, &y, |i, by| i.checked_sub(by))?,
            Alu::Rsh => shift(store, &x, &y, |i, by| Some(i + by))?,
        };
        self.value(store, bits)
    }

    /// The compact form of `a op b`, if it is a sum or a shifted constant.
    fn compact(&mut self, op: Alu, a: Value, b: Value) -> Option<Value> {
        if let (Alu::Lsh | Alu::Rsh, Value::Constant(constant)) = (op, a) {
            // Zero stays zero, and a constant has only one form.
            if constant == 0 {
                return Some(a);
            }
            let (word, added) = match b {
                Value::Masked(word, mask) if mask & LOW_BITS == LOW_BITS => (word, 0),
                Value::Sum(word, k) => (word, k & LOW_BITS),
                _ => return None,
            };
            let shifted = Shifted { constant, op, word, added };
            let next = self.shifted.len() as u32;
            let number = *self.shifted_index.entry(shifted).or_insert(next);
            if number == next {
                self.shifted.push(shifted);
            }
            return Some(Value::Shifted(number));
        }
        let (word, before, k) = match (a, b) {
            (Value::Masked(word, u32::MAX), Value::Constant(k)) => (word, 0, k),
            (Value::Sum(word, before), Value::Constant(k)) => (word, before, k),
            _ => return None,
        };
        match op.apply(before, k).filter(|_| matches!(op, Alu::Add | Alu::Sub))? {
            0 => Some(ValueTable::word(word)),
            sum => Some(Value::Sum(word, sum)),
        }
    }

    fn shifted(&self, number: u32) -> Result<Shifted, DiagramError> {
        let unknown = DiagramError::defect("a shifted constant is in the table");
        self.shifted.get(number as usize).copied().ok_or(unknown)
    }

    /// `a relation b`.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn relation(
        &self,
        store: &mut Store,
        relation: Relation,
        a: Value,
        b: Value,
    ) -> Result<Pred, DiagramError> {
        if let (Value::Masked(word, mask), Value::Constant(k)) = (a, b) {
            return store.relation_of_word(word, mask, relation, k);
        }
        // Of two words, the diagram has too many nodes in any case.
        if let (Value::Masked(word, u32::MAX), Value::Masked(other, u32::MAX)) = (a, b) {
            if store.layout() == Layout::Seccomp {
                let (mask, other) = (u32::MAX, Compared::Word(other));
                return store.comparison(Comparison { word, mask, relation, other });
            }
        }
        if let (Value::Shifted(number), Value::Constant(k)) = (a, b) {
            return self.shifted(number)?.pred(store, |value| relation.holds(value, k));
        }
        if let Value::Symbol(number) = b {
            let (word, mask) = match a {
                Value::Masked(word, mask) => (word, mask),
                Value::Constant(0) => (Word::NR, 0),
                _ => return Err(DiagramError::COMPUTED),
            };
            let unknown = DiagramError::defect("a symbol is in the table");
            let (symbol, half) = *self.symbols.get(number as usize).ok_or(unknown)?;
            let other = Compared::Half(symbol, half);
            return store.comparison(Comparison { word, mask, relation, other });
        }
        let (x, y) = (self.bits(store, a)?, self.bits(store, b)?);
        let mut rest = Pred::constant(matches!(relation, Relation::Equal | Relation::AtLeast));
        // From the least significant bit up: `rest` decides when all higher bits are equal.
        for (x, y) in x.into_iter().zip(y) {
            rest = match relation {
                Relation::Equal => {
                    let differ = store.xor(x, y)?;
                    store.if_then_else(differ, Pred::NEVER, rest)?
                }
                Relation::Greater | Relation::AtLeast => {
                    let when_set = store.if_then_else(y, rest, Pred::ALWAYS)?;
                    let when_clear = store.if_then_else(y, Pred::NEVER, rest)?;
                    store.if_then_else(x, when_set, when_clear)?
                }
                Relation::Shares => {
                    let both = store.and(x, y)?;
                    store.or(both, rest)?
                }
            };
        }
        Ok(rest)
    }

    /// The function whose verdict is the value.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn returned(&self, store: &mut Store, value: Value) -> Result<Func, DiagramError> {
        if let Layout::IoUring(_) = store.layout() {
            let [allow, deny] = [Decision::Allow, Decision::Deny].map(Decision::value).map(Verdict);
            let allows = self.relation(store, Relation::Greater, value, Value::Constant(0))?;
            let (allow, deny) = (store.verdict(allow)?, store.verdict(deny)?);
            return store.select(allows, allow, deny);
        }
        let bits = self.bits(store, value)?;
        let free = bits.iter().filter(|bit| !matches!(**bit, Pred::NEVER | Pred::ALWAYS)).count();
        if free as u32 > MAX_RETURN_BITS {
            return Err(DiagramError::return_bits(MAX_RETURN_BITS, free as u32));
        }
        // All combinations of the bits so far; each further variable bit doubles them.
        let mut partial: Vec<u32> = vec![0];
        let mut deciding = Vec::new();
        for (i, bit) in bits.into_iter().enumerate() {
            match bit {
                Pred::NEVER => {}
                Pred::ALWAYS => partial.iter_mut().for_each(|value| *value |= 1 << i),
                bit => {
                    let with: Vec<u32> = partial.iter().map(|value| value | 1 << i).collect();
                    partial.extend(with);
                    deciding.push(bit);
                }
            }
        }
        let mut funcs = Vec::with_capacity(partial.len());
        for value in partial {
            funcs.push(store.verdict(Verdict(value))?);
        }
        // Bit `n` of an index is the n-th deciding bit, so the last one is folded first.
        for bit in deciding.into_iter().rev() {
            let half = funcs.len() / 2;
            let (clear, set) = funcs.split_at(half);
            let pairs: Vec<(Func, Func)> = clear.iter().copied().zip(set.iter().copied()).collect();
            funcs.clear();
            for (clear, set) in pairs {
                funcs.push(store.select(bit, set, clear)?);
            }
        }
        funcs.first().copied().ok_or(DiagramError::defect("a returned value has a verdict"))
    }
}

/// The bits of a constant.
fn constant(k: u32) -> Bits {
    std::array::from_fn(|i| Pred::constant(k >> i & 1 == 1))
}

fn each(
    store: &mut Store,
    x: &Bits,
    y: &Bits,
    op: impl Fn(&mut Store, Pred, Pred) -> Result<Pred, DiagramError>,
) -> Result<Bits, DiagramError> {
    let mut out = [Pred::NEVER; 32];
    for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
        *out = op(store, *x, *y)?;
    }
    Ok(out)
}

fn invert(store: &mut Store, x: &Bits) -> Result<Bits, DiagramError> {
    each(store, x, x, |store, bit, _| store.not(bit))
}

/// A ripple-carry adder, modulo 2^32.
fn add(store: &mut Store, x: &Bits, y: &Bits, carry: Pred) -> Result<Bits, DiagramError> {
    let mut carry = carry;
    let mut out = [Pred::NEVER; 32];
    for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
        let sum = store.xor(*x, *y)?;
        *out = store.xor(sum, carry)?;
        carry = store.if_then_else(sum, carry, *x)?;
    }
    Ok(out)
}

/// Shift and add.
fn multiply(store: &mut Store, x: &Bits, y: &Bits) -> Result<Bits, DiagramError> {
    // A constant multiplier needs fewer additions.
    let known = |bits: &Bits| bits.iter().all(|b| matches!(*b, Pred::NEVER | Pred::ALWAYS));
    let (x, y) = if known(x) { (y, x) } else { (x, y) };
    let mut sum = [Pred::NEVER; 32];
    for (i, bit) in y.iter().enumerate().filter(|(_, bit)| **bit != Pred::NEVER) {
        let mut term = [Pred::NEVER; 32];
        for (to, from) in term.iter_mut().skip(i).zip(x) {
            *to = store.and(*bit, *from)?;
        }
        sum = add(store, &sum, &term, Pred::NEVER)?;
    }
    Ok(sum)
}

/// Long division, most significant bit first: quotient and remainder.
fn divide(store: &mut Store, x: &Bits, y: &Bits) -> Result<(Bits, Bits), DiagramError> {
    let mut quotient = [Pred::NEVER; 32];
    let mut remainder = [Pred::NEVER; 32];
    let inverted = invert(store, y)?;
    for (q, bit) in quotient.iter_mut().zip(x).rev() {
        // The remainder doubles. If it overflows into a 33rd bit, it exceeds any divisor.
        let overflow = remainder[31];
        remainder.rotate_right(1);
        remainder[0] = *bit;
        let mut at_least = Pred::ALWAYS;
        for (r, d) in remainder.iter().zip(y) {
            let when_set = store.if_then_else(*d, at_least, Pred::ALWAYS)?;
            let when_clear = store.if_then_else(*d, Pred::NEVER, at_least)?;
            at_least = store.if_then_else(*r, when_set, when_clear)?;
        }
        *q = store.or(overflow, at_least)?;
        let less = add(store, &remainder, &inverted, Pred::ALWAYS)?;
        for (r, l) in remainder.iter_mut().zip(less) {
            *r = store.if_then_else(*q, l, *r)?;
        }
    }
    Ok((quotient, remainder))
}

/// A barrel shifter: `source(i, by)` is the index of the bit that moves to `i`.
fn shift(
    store: &mut Store,
    x: &Bits,
    y: &Bits,
    source: impl Fn(usize, usize) -> Option<usize>,
) -> Result<Bits, DiagramError> {
    let mut out = *x;
    for (stage, by) in y.iter().take(5).enumerate() {
        let before = out;
        for (i, bit) in out.iter_mut().enumerate() {
            let moved = source(i, 1 << stage).and_then(|from| before.get(from).copied());
            *bit = store.if_then_else(*by, moved.unwrap_or(Pred::NEVER), *bit)?;
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bitset_test_makes_no_circuit() {
        let (mut store, mut values) = (Store::default(), ValueTable::default());
        let (nr, bits) = (ValueTable::word(Word::NR), Value::Constant(0x8421_90f7));
        let sum = values.alu(&mut store, Alu::Sub, nr, Value::Constant(3)).unwrap();
        assert_eq!(sum, Value::Sum(Word::NR, 3u32.wrapping_neg()));
        for (number, by) in [(0, sum), (1, nr)] {
            let shifted = values.alu(&mut store, Alu::Rsh, bits, by).unwrap();
            assert_eq!(shifted, Value::Shifted(number));
            // The same value has the same number.
            assert_eq!(values.alu(&mut store, Alu::Rsh, bits, by), Ok(shifted));
        }
        let zero = Value::Constant(0);
        assert_eq!(values.alu(&mut store, Alu::Rsh, zero, sum), Ok(zero));
        assert!(store.is_empty());
        let one = Value::Constant(1);
        values.relation(&mut store, Relation::Shares, Value::Shifted(0), one).unwrap();
        assert!(store.len() <= 2 + 31);
    }
}
