//! Irredundant sums of products (ISOP), and the predicates that they are made of.

use crate::Result;
use std::collections::BTreeSet;

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use super::word_funcs::WordFuncs;
use callgate_core::diagram::{DiagramError, Func, Pred, Store, VARS};
use callgate_core::{Verdict, Word};

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

/// An irredundant sum of products of the syscalls that get a verdict; `None` if its products test more than `limit` words
/// together, where one that tests none counts as well.
///
/// # Errors
/// If the diagram exceeds its budget.
pub fn products(
    store: &mut Store,
    func: Func,
    verdict: Verdict,
    limit: usize,
) -> Result<Option<Vec<Product>>> {
    let set = has_verdict(store, func, verdict)?;
    let mut cover = Cover::default();
    Ok(cover.irredundant(store, set, set, limit)?.map(|sum| cover.products(sum)))
}

/// An irredundant sum of products of the values of a word that lead to an exit (Minato–Morreale); `None` if it has
/// more than `limit` cubes, or takes too long. The function must not test an earlier word.
///
/// # Errors
/// If the diagram exceeds its budget, from which the steps are taken.
pub fn cover(
    store: &mut Store,
    func: Func,
    word: Word,
    exit: Func,
    limit: usize,
) -> Result<Option<Vec<Cube>>> {
    let (cubes, steps) = cover_in_steps(store, func, word, exit, limit);
    store.charge_steps(steps)?;
    Ok(cubes)
}

/// As [`cover`], for few cubes: the steps are not taken from the budget.
pub fn few_cubes(
    store: &Store,
    func: Func,
    word: Word,
    exit: Func,
    limit: usize,
) -> Option<Vec<Cube>> {
    cover_in_steps(store, func, word, exit, limit).0
}

/// A cover, and the steps that it took.
fn cover_in_steps(
    store: &Store,
    func: Func,
    word: Word,
    exit: Func,
    limit: usize,
) -> (Option<Vec<Cube>>, u64) {
    let mut funcs = WordFuncs::new(word);
    let (func, exit) = (funcs.copy(store, func), funcs.copy(store, exit));
    let cubes = funcs.cover(func, exit, limit);
    (cubes, funcs.take_steps())
}

impl Cube {
    /// All values.
    pub(super) const ALL: Cube = Cube { mask: 0, wanted: 0 };

    /// The values that also have this bit, or do not have it.
    pub(super) fn with(self, bit: u32, set: bool) -> Cube {
        Cube { mask: self.mask | bit, wanted: self.wanted | if set { bit } else { 0 } }
    }
}

/// A sum of products, and their union.
#[derive(Clone, Copy)]
struct Sum {
    terms: Terms,
    /// The number of products.
    products: usize,
    /// The number of words that they test together; 1 for the product that tests none.
    words: usize,
    /// The first word of some products, and how many they are. No product begins with an earlier one.
    first: Option<(Word, usize)>,
    union: Pred,
}

/// The products of a sum.
#[derive(Clone, Copy)]
enum Terms {
    None,
    /// The empty product, which always holds.
    All,
    /// Those of the [`Literals`] with this number.
    Of(usize),
}

/// The products that contain a bit clear, set, or not at all.
struct Literals {
    word: Word,
    bit: u32,
    parts: [Terms; 3],
}

impl Sum {
    const NONE: Sum =
        Sum { terms: Terms::None, products: 0, words: 0, first: None, union: Pred::NEVER };
    const ALL: Sum =
        Sum { terms: Terms::All, products: 1, words: 1, union: Pred::ALWAYS, ..Sum::NONE };

    /// The number of products that test a word, before which they test none.
    fn testing(&self, word: Word) -> usize {
        self.first.filter(|(first, _)| *first == word).map_or(0, |(_, products)| products)
    }

    /// The number of words that the products test together, each of them also this one.
    fn words_with(&self, word: Word) -> usize {
        match self.terms {
            Terms::All => self.words,
            _ => self.words + self.products - self.testing(word),
        }
    }
}

/// Sums share their parts, so that they are copied only once, at the end.
#[derive(Default)]
struct Cover {
    memo: HashMap<(Pred, Pred), Sum>,
    literals: Vec<Literals>,
}

impl Cover {
    /// Products that test at most `limit` words together, whose union contains `lower` and is contained in `upper`. Stops
    /// as soon as there are more, because most functions of unrelated values have very many.
    fn irredundant(
        &mut self,
        store: &mut Store,
        lower: Pred,
        upper: Pred,
        limit: usize,
    ) -> Result<Option<Sum>> {
        if lower == Pred::NEVER {
            return Ok(Some(Sum::NONE));
        }
        if limit == 0 {
            return Ok(None);
        }
        if upper == Pred::ALWAYS {
            return Ok(Some(Sum::ALL));
        }
        let key = (lower, upper);
        if let Some(done) = self.memo.get(&key) {
            return Ok(Some(*done).filter(|done| done.words <= limit));
        }
        let (var, (l0, l1), (u0, u1)) = store.expand(lower, upper);
        let Some(word) = Word::from_index(usize::from(var / 32)) else { return Ok(None) };
        let bit = 1 << (31 - u32::from(var % 32));
        // Products with the negative literal, with the positive literal, and without the variable.
        let lower_clear = without(store, l0, u1)?;
        let Some(clear) = self.irredundant(store, lower_clear, u0, limit)? else {
            return Ok(None);
        };
        let lower_set = without(store, l1, u0)?;
        let Some(left) = limit.checked_sub(clear.words_with(word)) else { return Ok(None) };
        let Some(set) = self.irredundant(store, lower_set, u1, left)? else {
            return Ok(None);
        };
        let Some(left) = left.checked_sub(set.words_with(word)) else { return Ok(None) };
        let rest = [without(store, l0, clear.union)?, without(store, l1, set.union)?];
        let free = match rest {
            [Pred::NEVER, Pred::NEVER] => Sum::NONE,
            [clear, set] => {
                let (lower, both) = (store.or(clear, set)?, store.and(u0, u1)?);
                match self.irredundant(store, lower, both, left)? {
                    Some(free) => free,
                    None => return Ok(None),
                }
            }
        };
        let low = store.or(clear.union, free.union)?;
        let high = store.or(set.union, free.union)?;
        let terms = Terms::Of(self.literals.len());
        self.literals.push(Literals { word, bit, parts: [clear.terms, set.terms, free.terms] });
        let sum = Sum {
            terms,
            products: clear.products + set.products + free.products,
            words: clear.words_with(word) + set.words_with(word) + free.words,
            first: Some((word, clear.products + set.products + free.testing(word))),
            union: store.make(var, low, high)?,
        };
        self.memo.insert(key, sum);
        Ok(Some(sum))
    }

    /// The products of a sum: those with a bit clear first, then those with it set.
    fn products(&self, sum: Sum) -> Vec<Product> {
        let mut products = Vec::with_capacity(sum.products);
        self.add_products(sum.terms, &mut Vec::new(), &mut products);
        products
    }

    /// Adds the products of a sum, with the literals of `path`. Each recursion is at a later variable.
    fn add_products(&self, terms: Terms, path: &mut Product, products: &mut Vec<Product>) {
        let Literals { word, bit, parts: [clear, set, free] } = match terms {
            Terms::None => return,
            Terms::All => return products.push(path.clone()),
            Terms::Of(number) => &self.literals[number],
        };
        for (terms, is_set) in [(clear, false), (set, true)] {
            match path.last().copied() {
                Some(last @ (same, cube)) if same == *word => {
                    path.pop();
                    path.push((same, cube.with(*bit, is_set)));
                    self.add_products(*terms, path, products);
                    path.pop();
                    path.push(last);
                }
                _ => {
                    path.push((*word, Cube::ALL.with(*bit, is_set)));
                    self.add_products(*terms, path, products);
                    path.pop();
                }
            }
        }
        self.add_products(*free, path, products);
    }
}

/// The values of `a` that are not in `b`.
fn without(store: &mut Store, a: Pred, b: Pred) -> Result<Pred> {
    if a == b || a == Pred::NEVER { Ok(Pred::NEVER) } else { store.and_not(a, b) }
}

/// The predicate that a function has this verdict.
///
/// # Errors
/// If the diagram exceeds its budget.
pub fn has_verdict(store: &mut Store, func: Func, verdict: Verdict) -> Result<Pred> {
    has_verdict_memo(store, func, verdict, &mut HashMap::default())
}

fn has_verdict_memo(
    store: &mut Store,
    func: Func,
    verdict: Verdict,
    memo: &mut HashMap<Func, Pred>,
) -> Result<Pred> {
    if store.var(func) == VARS {
        let only =
            store.as_verdict(func).ok_or(DiagramError::defect("a function ends in verdicts"))?;
        return Ok(Pred::constant(only == verdict));
    }
    if let Some(done) = memo.get(&func) {
        return Ok(*done);
    }
    store.charge()?;
    let (low, high) = store.children(func);
    let low = has_verdict_memo(store, low, verdict, memo)?;
    let high = has_verdict_memo(store, high, verdict, memo)?;
    let pred = store.make(store.var(func), low, high)?;
    memo.insert(func, pred);
    Ok(pred)
}

/// The support of a predicate: the words that it depends on, in their order.
pub fn support(store: &Store, pred: Pred) -> Vec<Word> {
    let mut seen = HashSet::default();
    let mut words = BTreeSet::new();
    let mut pending = vec![pred];
    while let Some(node) = pending.pop() {
        if store.var(node) < VARS && seen.insert(node) {
            words.insert(usize::from(store.var(node) / 32));
            pending.extend(<[Pred; 2]>::from(store.children(node)));
        }
    }
    words.into_iter().filter_map(Word::from_index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_core::Verdict;
    use callgate_core::diagram::{Budget, Split};
    use callgate_testing::truth_table::built;

    /// A function of the low four bits of a word that allows the numbers in `set`; and ALLOW.
    fn four_bits(store: &mut Store, word: Word, set: u16) -> (Func, Func) {
        let [allow, deny] =
            [Verdict::ALLOW, Verdict::errno(1)].map(|verdict| store.verdict(verdict).unwrap());
        let bits = [3, 2, 1, 0].map(|bit| (word, bit));
        // The first bit of an index is the highest of a number.
        let number = |index: u16| index.reverse_bits() >> 12;
        let leaves = (0..16).map(|index| if set >> number(index) & 1 == 1 { allow } else { deny });
        (built(store, &bits, &leaves.collect::<Vec<_>>()).unwrap(), allow)
    }

    #[test]
    fn a_cover_is_exact_and_irredundant() {
        let mut store = Store::default();
        let word = Word::arg_low(0).unwrap();
        for set in (0..=u16::MAX).step_by(7) {
            let (func, allow) = four_bits(&mut store, word, set);
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
        assert_eq!(products(&mut store, func, Verdict::ALLOW, 64), Ok(None));
        store.reset_steps();
        for limit in 0..20 {
            let found = cover(&mut store, few, word, allow, limit).unwrap();
            assert_eq!(found.is_some(), limit >= 16, "{limit}");
        }
    }
}
