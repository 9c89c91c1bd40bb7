//! Irredundant sums of products (ISOP) of the values of one word.
//!
//! As the [sums over all words](crate::query::products), but of [functions of one word](super::WordFuncs): the sets of values are
//! functions with two exits, so that no predicate enters the diagram.

use rustc_hash::FxHashMap as HashMap;

use super::super::cover::Cube;
use super::nodes::{PairTable, WordFunc, WordFuncs};

/// The maximum number of operations on sets of one sum. Sums of few products need some for each node of the function.
const MAX_OPERATIONS: usize = 100_000;

impl WordFuncs {
    /// An irredundant sum of products of the values that lead to an exit (Minato–Morreale); `None` if it has more than
    /// `limit` products, or takes too many operations.
    pub(crate) fn cover(
        &mut self,
        func: WordFunc,
        exit: WordFunc,
        limit: usize,
    ) -> Option<Vec<Cube>> {
        let [none, all] = self.add_exits();
        let values = self.indicator(func, exit, [none, all]);
        let mut cover = Cover {
            funcs: self,
            none,
            all,
            sets: PairTable::new(),
            sums: HashMap::default(),
            literals: Vec::new(),
        };
        let sum = cover.irredundant(values, values, limit)?;
        let mut cubes = Vec::with_capacity(sum.products);
        cover.add_cubes(sum.terms, Cube::ALL, &mut cubes);
        Some(cubes)
    }
}

/// A sum of products, and their union.
#[derive(Clone, Copy)]
struct Sum {
    terms: Terms,
    products: usize,
    union: WordFunc,
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
    bit: u32,
    parts: [Terms; 3],
}

#[derive(Clone, Copy)]
enum Operation {
    And,
    Or,
    AndNot,
}

struct Cover<'a> {
    funcs: &'a mut WordFuncs,
    /// The exit of the values that are not in a set.
    none: WordFunc,
    /// The exit of the values that are.
    all: WordFunc,
    /// The results of operations.
    sets: PairTable,
    sums: HashMap<(WordFunc, WordFunc), Sum>,
    /// Sums share their parts, so that they are copied only once, at the end.
    literals: Vec<Literals>,
}

impl Cover<'_> {
    /// An operation on two sets. Each recursion is at a later bit.
    fn operate(&mut self, operation: Operation, a: WordFunc, b: WordFunc) -> WordFunc {
        let (none, all) = (self.none, self.all);
        match operation {
            Operation::And if a == none || b == none => return none,
            Operation::And if a == all || a == b => return b,
            Operation::And if b == all => return a,
            Operation::Or if a == all || b == all => return all,
            Operation::Or if a == none || a == b => return b,
            Operation::Or if b == none => return a,
            Operation::AndNot if a == none || b == all || a == b => return none,
            Operation::AndNot if b == none => return a,
            _ => {}
        }
        if let Some(done) = self.sets.get(operation as u64, a, b) {
            return done;
        }
        let bit = self.funcs.top_bit(a).max(self.funcs.top_bit(b));
        let ([a0, a1], [b0, b1]) = (self.cofactors(a, bit), self.cofactors(b, bit));
        let (low, high) = (self.operate(operation, a0, b0), self.operate(operation, a1, b1));
        let set = self.funcs.node(bit, low, high);
        self.sets.insert(operation as u64, a, b, set);
        set
    }

    /// The cofactors for a bit above which the set has none.
    fn cofactors(&self, set: WordFunc, bit: u32) -> [WordFunc; 2] {
        if self.funcs.top_bit(set) == bit { self.funcs.children(set) } else { [set; 2] }
    }

    /// At most `limit` products, whose union contains `lower` and is contained in `upper`. Each recursion is at a later bit.
    fn irredundant(&mut self, lower: WordFunc, upper: WordFunc, limit: usize) -> Option<Sum> {
        if lower == self.none {
            return Some(Sum { terms: Terms::None, products: 0, union: self.none });
        }
        if limit == 0 || self.sets.len() > MAX_OPERATIONS {
            return None;
        }
        if upper == self.all {
            return Some(Sum { terms: Terms::All, products: 1, union: self.all });
        }
        if let Some(done) = self.sums.get(&(lower, upper)) {
            return Some(*done).filter(|done| done.products <= limit);
        }
        let bit = self.funcs.top_bit(lower).max(self.funcs.top_bit(upper));
        let ([l0, l1], [u0, u1]) = (self.cofactors(lower, bit), self.cofactors(upper, bit));
        // Products with the negative literal, with the positive literal, and without the bit.
        let lower_clear = self.operate(Operation::AndNot, l0, u1);
        let clear = self.irredundant(lower_clear, u0, limit)?;
        let lower_set = self.operate(Operation::AndNot, l1, u0);
        let left = limit.checked_sub(clear.products)?;
        let set = self.irredundant(lower_set, u1, left)?;
        let left = left.checked_sub(set.products)?;
        let rest_clear = self.operate(Operation::AndNot, l0, clear.union);
        let rest_set = self.operate(Operation::AndNot, l1, set.union);
        let lower_free = self.operate(Operation::Or, rest_clear, rest_set);
        let upper_free = self.operate(Operation::And, u0, u1);
        let free = self.irredundant(lower_free, upper_free, left)?;
        let low = self.operate(Operation::Or, clear.union, free.union);
        let high = self.operate(Operation::Or, set.union, free.union);
        let terms = Terms::Of(self.literals.len());
        self.literals.push(Literals { bit, parts: [clear.terms, set.terms, free.terms] });
        let products = clear.products + set.products + free.products;
        let sum = Sum { terms, products, union: self.funcs.node(bit, low, high) };
        self.sums.insert((lower, upper), sum);
        Some(sum)
    }

    /// Adds the products of a sum, with the literals of `path`: those with a bit clear first, then those with it set. Each
    /// recursion is at a later bit.
    fn add_cubes(&self, terms: Terms, path: Cube, cubes: &mut Vec<Cube>) {
        let Literals { bit, parts: [clear, set, free] } = match terms {
            Terms::None => return,
            Terms::All => return cubes.push(path),
            Terms::Of(number) => &self.literals[number],
        };
        self.add_cubes(*clear, path.with(*bit, false), cubes);
        self.add_cubes(*set, path.with(*bit, true), cubes);
        self.add_cubes(*free, path, cubes);
    }
}
