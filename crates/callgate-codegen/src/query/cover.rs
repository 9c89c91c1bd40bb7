//! Irredundant sums of products (ISOP), and the part of a function that does not depend on some bits.

use rustc_hash::FxHashMap as HashMap;

use super::bits::memo;
use callgate_bpf::data::Word;
use callgate_proof::diagram::var_of;
use callgate_proof::diagram::{DiagramError, Func, Pred, Store};

/// A set of values of a word: those with `value & mask == wanted`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cube {
    /// The bits that it fixes.
    pub mask: u32,
    /// Their values.
    pub wanted: u32,
}

/// A set of syscalls: those whose words are in all of these cubes. Each word occurs at most once, in order.
pub type Product = Vec<(Word, Cube)>;

/// An irredundant sum of products of the syscalls that get a verdict; `None` if it has more than `limit` products.
///
/// # Errors
/// If the diagram exceeds its budget.
pub fn products(
    store: &mut Store,
    func: Func,
    verdict: Func,
    limit: usize,
) -> Result<Option<Vec<Product>>, DiagramError> {
    let mut memo = memo();
    let set = verdict_predicate(store, func, verdict, &mut memo)?;
    let mut cover = Cover::<Product>::default();
    Ok(cover.irredundant(store, set, set, limit)?.map(|(products, _)| products))
}

/// The predicate that a syscall gets a verdict.
fn verdict_predicate(
    store: &mut Store,
    func: Func,
    verdict: Func,
    memo: &mut HashMap<Func, Pred>,
) -> Result<Pred, DiagramError> {
    if store.top_word(func).is_none() {
        return Ok(Pred::constant(func == verdict));
    }
    if let Some(done) = memo.get(&func) {
        return Ok(*done);
    }
    let (low, high) = store.children(func);
    let low = verdict_predicate(store, low, verdict, memo)?;
    let high = verdict_predicate(store, high, verdict, memo)?;
    let set = store.make(store.var(func), low, high)?;
    memo.insert(func, set);
    Ok(set)
}

/// An irredundant sum of products of the values of a word that lead to an exit (Minato–Morreale); `None` if it has
/// more than `limit` cubes.
///
/// # Errors
/// If the diagram exceeds its budget.
pub fn cover(
    store: &mut Store,
    func: Func,
    word: Word,
    exit: Func,
    limit: usize,
) -> Result<Option<Vec<Cube>>, DiagramError> {
    let set = store.leads_to(func, word, exit)?;
    let mut cover = Cover::<Cube>::default();
    Ok(cover.irredundant(store, set, set, limit)?.map(|(cubes, _)| cubes))
}

/// The function of a word with the same exit where it does not depend on the `free` bits, and `otherwise` where it
/// does.
///
/// # Errors
/// If the diagram exceeds its budget.
pub(crate) fn independent_of(
    store: &mut Store,
    func: Func,
    word: Word,
    free: u32,
    otherwise: Func,
) -> Result<Func, DiagramError> {
    let mut agreed = memo();
    let mut done = memo();
    independent_of_memo(store, func, word, free, otherwise, &mut agreed, &mut done)
}

fn independent_of_memo(
    store: &mut Store,
    func: Func,
    word: Word,
    free: u32,
    otherwise: Func,
    agreed: &mut HashMap<(Func, Func), Func>,
    done: &mut HashMap<Func, Func>,
) -> Result<Func, DiagramError> {
    if store.top_word(func) != Some(word) {
        return Ok(func);
    }
    if let Some(done) = done.get(&func) {
        return Ok(*done);
    }
    let var = store.var(func);
    let (low, high) = store.children(func);
    let low = independent_of_memo(store, low, word, free, otherwise, agreed, done)?;
    let high = independent_of_memo(store, high, word, free, otherwise, agreed, done)?;
    let result = if free >> (31 - u32::from(var % 32)) & 1 == 1 {
        let merge = Merge { word, same: None, different: Some(otherwise) };
        merged(store, low, high, merge, agreed)?
    } else {
        store.make(var, low, high)?
    };
    done.insert(func, result);
    Ok(result)
}

/// The function of a word that is `a` where `a` and `b` differ, and `otherwise` where they are equal.
///
/// # Errors
/// If the diagram exceeds its budget.
pub(crate) fn disagreement(
    store: &mut Store,
    a: Func,
    b: Func,
    word: Word,
    otherwise: Func,
) -> Result<Func, DiagramError> {
    let merge = Merge { word, same: Some(otherwise), different: None };
    merged(store, a, b, merge, &mut memo())
}

/// Merges two functions of a word, value by value.
fn merged(
    store: &mut Store,
    a: Func,
    b: Func,
    merge: Merge,
    memo: &mut HashMap<(Func, Func), Func>,
) -> Result<Func, DiagramError> {
    if a == b {
        return Ok(merge.same.unwrap_or(a));
    }
    let (var, (a0, a1), (b0, b1)) = store.expand(a, b);
    if var > var_of(merge.word, 0) {
        return Ok(merge.different.unwrap_or(a));
    }
    if let Some(done) = memo.get(&(a, b)) {
        return Ok(*done);
    }
    let low = merged(store, a0, b0, merge, memo)?;
    let high = merged(store, a1, b1, merge, memo)?;
    let result = store.make(var, low, high)?;
    memo.insert((a, b), result);
    Ok(result)
}

/// The result where two functions of a word are equal and where they differ; `None` stands for the first function.
#[derive(Clone, Copy)]
struct Merge {
    word: Word,
    same: Option<Func>,
    different: Option<Func>,
}

/// A product of bits.
trait Term: Clone {
    /// The empty product, which always holds.
    fn all() -> Self;

    /// The product with one more literal, of a word that does not follow any word in it.
    fn with(self, word: Word, bit: u32, set: bool) -> Self;
}

impl Term for Cube {
    fn all() -> Cube {
        Cube { mask: 0, wanted: 0 }
    }

    fn with(self, _: Word, bit: u32, set: bool) -> Cube {
        Cube { mask: self.mask | bit, wanted: self.wanted | if set { bit } else { 0 } }
    }
}

impl Term for Product {
    fn all() -> Product {
        Vec::new()
    }

    fn with(mut self, word: Word, bit: u32, set: bool) -> Product {
        match self.first_mut() {
            Some((first, cube)) if *first == word => *cube = cube.with(word, bit, set),
            _ => self.insert(0, (word, Cube::all().with(word, bit, set))),
        }
        self
    }
}

/// Products, and their union as a predicate.
type Sum<T> = (Vec<T>, Pred);

struct Cover<T> {
    memo: HashMap<(Pred, Pred), Sum<T>>,
}

impl<T> Default for Cover<T> {
    fn default() -> Cover<T> {
        Cover { memo: HashMap::default() }
    }
}

impl<T: Term> Cover<T> {
    /// At most `limit` products whose union contains `lower` and is contained in `upper`. Stops as soon as there are more,
    /// because most functions of unrelated values have very many.
    fn irredundant(
        &mut self,
        store: &mut Store,
        lower: Pred,
        upper: Pred,
        limit: usize,
    ) -> Result<Option<Sum<T>>, DiagramError> {
        if lower == Pred::NEVER {
            return Ok(Some((Vec::new(), Pred::NEVER)));
        }
        if limit == 0 {
            return Ok(None);
        }
        if upper == Pred::ALWAYS {
            return Ok(Some((vec![T::all()], Pred::ALWAYS)));
        }
        let key = (lower, upper);
        if let Some(done) = self.memo.get(&key) {
            return Ok((done.0.len() <= limit).then(|| done.clone()));
        }
        let (var, (l0, l1), (u0, u1)) = store.expand(lower, upper);
        let Some(word) = Word::from_index(usize::from(var / 32)) else { return Ok(None) };
        let bit = 1 << (31 - u32::from(var % 32));
        let only = |store: &mut Store, a: Pred, b: Pred| {
            let not_b = store.not(b)?;
            store.and(a, not_b)
        };
        // Products with the negative literal, with the positive literal, and without the variable.
        let lower_clear = only(store, l0, u1)?;
        let Some((clear, clear_set)) = self.irredundant(store, lower_clear, u0, limit)? else {
            return Ok(None);
        };
        let lower_set = only(store, l1, u0)?;
        let left = limit - clear.len();
        let Some((set, set_set)) = self.irredundant(store, lower_set, u1, left)? else {
            return Ok(None);
        };
        let left = left - set.len();
        let (rest0, rest1) = (only(store, l0, clear_set)?, only(store, l1, set_set)?);
        let (lower, both) = (store.or(rest0, rest1)?, store.and(u0, u1)?);
        let Some((free, free_set)) = self.irredundant(store, lower, both, left)? else {
            return Ok(None);
        };
        let mut products = Vec::with_capacity(clear.len() + set.len() + free.len());
        products.extend(clear.into_iter().map(|product| product.with(word, bit, false)));
        products.extend(set.into_iter().map(|product| product.with(word, bit, true)));
        products.extend(free);
        let low = store.or(clear_set, free_set)?;
        let high = store.or(set_set, free_set)?;
        let covered = store.make(var, low, high)?;
        let sum = (products, covered);
        self.memo.insert(key, sum.clone());
        Ok(Some(sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::fix_bits;
    use callgate_bpf::Verdict;
    use callgate_proof::diagram::{Budget, Split};

    /// A function of the low four bits of a word that allows the numbers in `set`.
    fn four_bits(store: &mut Store, word: Word, set: u16) -> (Func, Func, Func) {
        let allow = store.verdict(Verdict::ALLOW).unwrap();
        let deny = store.verdict(Verdict::errno(1)).unwrap();
        let mut func = deny;
        for value in (0..16).filter(|value| set >> value & 1 == 1) {
            func = store.split(word, Split::Equal(value), allow, func).unwrap();
        }
        (fix_bits(store, func, word, !15, 0).unwrap(), allow, deny)
    }

    #[test]
    fn a_cover_is_exact_and_irredundant() {
        let mut store = Store::default();
        let word = Word::arg_low(0).unwrap();
        for set in (0..=u16::MAX).step_by(7) {
            let (func, allow, _) = four_bits(&mut store, word, set);
            let cubes = cover(&mut store, func, word, allow, 16).unwrap().unwrap();
            let covered = |cubes: &[Cube]| {
                let has = |v: &u32| cubes.iter().any(|cube| v & cube.mask == cube.wanted);
                (0..16).filter(has).fold(0u16, |all, v| all | 1 << v)
            };
            assert_eq!(covered(&cubes), set, "{cubes:x?}");
            for left_out in 0..cubes.len() {
                let mut fewer = cubes.clone();
                fewer.remove(left_out);
                assert_ne!(covered(&fewer), set, "{cubes:x?}");
            }
        }
    }

    #[test]
    fn the_search_ends_as_soon_as_there_are_more_products_than_the_limit() {
        let mut store = Store::new(Budget { nodes: 200_000, steps: 42_000 });
        let word = Word::arg_low(0).unwrap();
        let allow = store.verdict(Verdict::ALLOW).unwrap();
        let mut func = store.verdict(Verdict::errno(1)).unwrap();
        let mut few = func;
        for number in 0..512_u32 {
            // As many values in each half, and no pattern in the other bits.
            let value = number << 23 | number.wrapping_mul(0x9e37_79b9) >> 9;
            func = store.split(word, Split::Equal(value), allow, func).unwrap();
            few = if number < 16 { func } else { few };
            store.reset_steps();
        }
        assert_eq!(products(&mut store, func, allow, 64), Ok(None));
        store.reset_steps();
        for limit in 0..20 {
            let found = cover(&mut store, few, word, allow, limit).unwrap();
            assert_eq!(found.is_some(), limit >= 16, "{limit}");
        }
    }

    #[test]
    fn a_function_splits_into_parts_that_depend_on_bits_and_do_not() {
        let mut store = Store::default();
        let word = Word::arg_low(0).unwrap();
        let free = 0b0110;
        for set in (0..=u16::MAX).step_by(11) {
            let (func, allow, deny) = four_bits(&mut store, word, set);
            let agreed = independent_of(&mut store, func, word, free, deny).unwrap();
            let rest = disagreement(&mut store, func, agreed, word, deny).unwrap();
            for value in 0..16u32 {
                let others = (0..16u32).filter(|other| other & !free == value & !free);
                let all = others.clone().all(|other| set >> other & 1 == 1);
                let wanted = if all { allow } else { deny };
                assert_eq!(store.follow(agreed, word, value), wanted);
                let alone = !all && set >> value & 1 == 1;
                assert_eq!(store.follow(rest, word, value), if alone { allow } else { deny });
            }
        }
    }
}
