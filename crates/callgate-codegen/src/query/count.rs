//! Exact counting of the inputs, of 2^512, for which a function has a verdict.

use rustc_hash::FxHashMap as HashMap;
use std::fmt;

use callgate_core::Verdict;
use callgate_core::diagram::{BITS, Func, Store, Var};

const LIMBS: usize = 9;

/// A natural number up to 2^512, exact.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Count([u64; LIMBS]);

impl Count {
    const ZERO: Count = Count([0; LIMBS]);
    const ONE: Count = {
        let mut limbs = [0; LIMBS];
        limbs[0] = 1;
        Count(limbs)
    };

    /// 2 to the power of `exponent`; `None` above 512.
    pub fn power_of_two(exponent: u32) -> Option<Count> {
        (exponent <= 512).then(|| Count::ONE.shifted(exponent as usize))
    }

    /// The number as a `u64`, if it fits.
    pub fn to_u64(self) -> Option<u64> {
        self.0.iter().skip(1).all(|limb| *limb == 0).then_some(self.0[0])
    }

    /// The fraction of all 2^512 inputs.
    pub fn fraction(self) -> f64 {
        let scaled =
            self.0.iter().rev().fold(0.0f64, |sum, limb| sum * 2f64.powi(64) + *limb as f64);
        scaled * 2f64.powi(-512)
    }

    fn plus(self, other: Count) -> Count {
        let mut carry = false;
        Count(std::array::from_fn(|i| {
            let (sum, over) = self.0[i].overflowing_add(other.0[i]);
            let (sum, over_again) = sum.overflowing_add(u64::from(carry));
            carry = over || over_again;
            sum
        }))
    }

    fn shifted(self, by: usize) -> Count {
        let (limbs, bits) = (by / 64, by % 64);
        Count(std::array::from_fn(|i| {
            let from = |back: usize| {
                i.checked_sub(limbs + back).and_then(|i| self.0.get(i)).copied().unwrap_or(0)
            };
            if bits == 0 { from(0) } else { from(0) << bits | from(1) >> (64 - bits) }
        }))
    }
}

impl fmt::Display for Count {
    /// In decimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const CHUNK: u128 = 10_000_000_000_000_000_000;
        let mut rest = self.0;
        let mut chunks = Vec::new();
        while rest.iter().any(|limb| *limb != 0) {
            let mut remainder = 0u128;
            for limb in rest.iter_mut().rev() {
                let dividend = remainder << 64 | u128::from(*limb);
                *limb = (dividend / CHUNK) as u64;
                remainder = dividend % CHUNK;
            }
            chunks.push(remainder as u64);
        }
        match chunks.split_last() {
            None => f.write_str("0"),
            Some((first, others)) => {
                write!(f, "{first}")?;
                others.iter().rev().try_for_each(|chunk| write!(f, "{chunk:019}"))
            }
        }
    }
}

impl fmt::Debug for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The number of inputs, of 2^512, for which the function, which has no variables, has this verdict.
pub fn count(store: &Store, func: Func, verdict: Verdict) -> Count {
    let mut memo = HashMap::default();
    count_memo(store, func, verdict, &mut memo).shifted(usize::from(bit(store, func)))
}

/// The first bit of the syscall that a function tests; [`BITS`] for a constant.
fn bit(store: &Store, func: Func) -> Var {
    store.var(func).min(BITS)
}

/// As [`count`], over the variables from the function's own on.
fn count_memo(
    store: &Store,
    func: Func,
    verdict: Verdict,
    memo: &mut HashMap<Func, Count>,
) -> Count {
    if let Some(value) = store.as_verdict(func) {
        return if value == verdict { Count::ONE } else { Count::ZERO };
    }
    if let Some(done) = memo.get(&func) {
        return *done;
    }
    let var = bit(store, func);
    let (low, high) = store.children(func);
    let count = [low, high].map(|child| {
        let gap = usize::from(bit(store, child).saturating_sub(var + 1));
        count_memo(store, child, verdict, memo).shifted(gap)
    });
    let total = count[0].plus(count[1]);
    memo.insert(func, total);
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_core::Word;
    use callgate_core::diagram::Split;

    #[test]
    fn counts_are_exact() {
        let mut store = Store::default();
        let allow = store.verdict(Verdict::ALLOW).unwrap();
        let deny = store.verdict(Verdict::errno(1)).unwrap();
        let func = store.split(Word::NR, Split::AtLeast(3), deny, allow).unwrap();
        let unit = Count::power_of_two(480).unwrap();
        assert_eq!(count(&store, func, Verdict::ALLOW), unit.plus(unit).plus(unit));
        let all = count(&store, func, Verdict::ALLOW).plus(count(&store, func, Verdict::errno(1)));
        assert_eq!(Some(all), Count::power_of_two(512));
        assert_eq!(count(&store, func, Verdict::LOG).to_u64(), Some(0));
        assert_eq!(count(&store, allow, Verdict::ALLOW).fraction(), 1.0);
    }

    #[test]
    fn counts_print_in_decimal() {
        assert_eq!(Count::ZERO.to_string(), "0");
        assert_eq!(Count::power_of_two(10).unwrap().to_string(), "1024");
        assert_eq!(Count::power_of_two(64).unwrap().to_string(), "18446744073709551616");
        assert_eq!(
            Count::power_of_two(128).unwrap().to_string(),
            "340282366920938463463374607431768211456"
        );
        assert_eq!(Count::power_of_two(513), None);
    }
}
