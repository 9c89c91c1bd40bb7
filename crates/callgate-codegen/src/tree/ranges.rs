//! Many runs: a dynamic program over ranges of runs.
//!
//! It chooses between
//! - what [`Few`] found, for ranges of few runs,
//! - an order test that splits the range,
//! - an equality test on the heaviest single value that is left, when it is heavy enough to come
//!   first (in an optimal tree it is the heaviest that is tested for equality first),
//! - a chain of equality tests, where all but some single values lead to the same place,
//! - a chain of equality tests and a mask that tells the rest apart,
//! - a *window*, where allowed: up to 32 values in a row with two places to lead to are looked up in
//!   a constant with a bit for each (`sub`, `tax`, `ld #bits`, `rsh x`, `jset #1`).

use rustc_hash::FxHashMap as HashMap;

use super::few::{Few, Set};
use super::{Node, Price, Run, Tree, bits};
use callgate_proof::diagram::Split;

/// An equality test comes before an order test only for a value with at least this share of the
/// weight: below, splitting the rest is worth more.
const HEAVY: f64 = 0.2;

/// The most runs that a mask is looked for.
const MAX_MASKED: usize = 14;

/// How many instructions a window takes, all of which are executed; one fewer when its base is 0.
const WINDOW_INSNS: f64 = 5.0;

/// Small, because there is one for each range. A range has at most [`Price::whole`] runs.
#[derive(Clone, Copy, PartialEq)]
enum Choice {
    Leaf,
    Few,
    /// The right part begins with this run.
    Split(u16),
    /// This run is tested for equality.
    Equal(u16),
    Chain,
    Masked,
    Window,
}

/// The runs `low..=high` without the `holes` heaviest single values among them, which are known not
/// to occur any more.
type Range = (usize, usize, usize);

pub(super) struct Ranges<'a> {
    runs: &'a [Run],
    price: Price,
    few: Few<'a>,
    /// Sums of the weights of all runs before each.
    before: Vec<f64>,
    /// For ranges without holes: choices by `low * n + high`.
    choices: Vec<Choice>,
    /// Their costs by `low * n + high`, and again by `high * n + low`, so that both parts of all
    /// splits of a range stand in a row.
    costs_from: Vec<f64>,
    costs_to: Vec<f64>,
    /// Per run, the last one that a chain beginning with it can end with.
    chain_end: Vec<usize>,
    /// Per run, what a chain from there to the current end is about.
    outline: Vec<Outline>,
    /// Per run, the first one after it that no mask can spread to.
    mask_end: Vec<usize>,
    /// Per run, the heaviest single value of the range from there to the current end.
    heaviest_from: Vec<Option<usize>>,
    holed: HashMap<Range, (f64, Choice)>,
}

impl<'a> Ranges<'a> {
    pub(super) fn new(runs: &'a [Run], price: Price) -> Ranges<'a> {
        let mut before = vec![0.0];
        let mut sum = 0.0;
        for run in runs {
            sum += run.weight;
            before.push(sum);
        }
        let n = runs.len();
        let mut ranges = Ranges {
            runs,
            price,
            few: Few::new(runs, price),
            before,
            choices: vec![Choice::Leaf; n * n],
            costs_from: vec![0.0; n * n],
            costs_to: vec![0.0; n * n],
            chain_end: Vec::new(),
            outline: vec![Outline::default(); n],
            mask_end: Vec::new(),
            heaviest_from: vec![None; n],
            holed: HashMap::default(),
        };
        ranges.chain_end = (0..n).map(|low| ranges.last_of_chain(low)).collect();
        if price.masks && price.masked_rests {
            let near = |low: usize| &runs[low..n.min(low + MAX_MASKED)];
            ranges.mask_end = (0..n).map(|low| low + bits::spread(near(low))).collect();
        }
        ranges
    }

    pub(super) fn build(mut self, tree: &mut Tree) -> usize {
        let n = self.runs.len();
        for high in 0..n {
            for low in (0..=high).rev() {
                self.heaviest_from[low] = self.heavier(self.heaviest_from[low], high);
                if high <= self.chain_end[low] {
                    self.outline[low].add(&self.runs[low..=high]);
                }
            }
            for low in (0..=high).rev() {
                let (cost, choice) = self.best_plain(low, high);
                self.choices[low * n + high] = choice;
                self.costs_from[low * n + high] = cost;
                self.costs_to[high * n + low] = cost;
            }
        }
        let (cost, _) = self.solve((0, n - 1, 0));
        tree.cost += cost;
        self.emit((0, n - 1, 0), tree)
    }

    /// The heavier of a single value and a run, if that is a single value; the former when equal.
    fn heavier(&self, best: Option<usize>, run: usize) -> Option<usize> {
        let weight = self.runs[run].weight;
        if self.runs[run].is_single() && best.is_none_or(|best| weight > self.runs[best].weight) {
            Some(run)
        } else {
            best
        }
    }

    fn last_of_chain(&self, low: usize) -> usize {
        let mut wide: Option<usize> = None;
        let mut others = 0;
        for (i, run) in self.runs.iter().enumerate().skip(low) {
            if !run.is_single() {
                let known = wide.get_or_insert(run.class);
                if *known != run.class {
                    return i - 1;
                }
            } else {
                others += 1;
            }
            // Single values may lead to the same place as the wide runs, so this is generous.
            if others > 2 * self.price.chain {
                return i - 1;
            }
        }
        self.runs.len() - 1
    }

    /// The best choice for a range without holes, when those of all its parts are known.
    fn best_plain(&mut self, low: usize, high: usize) -> (f64, Choice) {
        if low == high {
            return (0.0, Choice::Leaf);
        }
        let mut best = if self.few.holds(high + 1 - low) {
            (self.few.cost(Set::new(low, high, &[])), Choice::Few)
        } else {
            self.best_of_many(low, high)
        };
        if let Some(cost) = self.window_cost(low, high).filter(|cost| *cost < best.0) {
            best = (cost, Choice::Window);
        }
        best
    }

    fn best_of_many(&mut self, low: usize, high: usize) -> (f64, Choice) {
        let n = self.runs.len();
        let left = &self.costs_from[low * n + low..low * n + high];
        let right = &self.costs_to[high * n + low + 1..high * n + high + 1];
        let (least, at) = least_sum(left, right);
        let weight = self.weight(low, high);
        let test = weight + self.price.size;
        let mut best = (least + test, Choice::Split((low + 1 + at) as u16));
        if self.chain_end[low] >= high {
            if let Some(cost) = self.plain_chain(low, high, weight, best.0) {
                best = (cost, if cost > 0.0 { Choice::Chain } else { Choice::Leaf });
            }
        }
        if let Some((cost, ..)) = self.masked(low, high).filter(|(cost, ..)| *cost < best.0) {
            best = (cost, Choice::Masked);
        }
        if let Some(single) = self.heaviest_from[low].filter(|run| self.is_heavy(*run, weight)) {
            let cost = self.solve((low, high, 1)).0 + test;
            if cost < best.0 {
                best = (cost, Choice::Equal(single as u16));
            }
        }
        best
    }

    /// The cost of a window over a range, when it can be one.
    fn window_cost(&self, low: usize, high: usize) -> Option<f64> {
        // Three or four tests are no dearer.
        if !self.price.windows || high - low < 4 {
            return None;
        }
        let (first, last) = (self.runs[low].first, self.runs[high].last);
        if last - first >= 32 {
            return None;
        }
        let classes = [self.runs[low].class, self.runs[low + 1].class];
        let two = self.runs[low..=high].iter().all(|run| classes.contains(&run.class));
        let insns = if first == 0 { WINDOW_INSNS - 1.0 } else { WINDOW_INSNS };
        two.then(|| insns * (self.price.size + self.weight(low, high)))
    }

    /// Single values one after the other, the heaviest first, and a mask that tells the rest apart;
    /// and the cost of it.
    fn masked(&self, low: usize, high: usize) -> Option<(f64, Vec<usize>, bits::Pair)> {
        self.mask_end.get(low).filter(|end| high < **end)?;
        let (mut singles, pair) = bits::peeled(&self.runs[low..=high])?;
        singles.iter_mut().for_each(|single| *single += low);
        self.heaviest_first(&mut singles);
        let rest: f64 = singles.iter().map(|single| self.runs[*single].weight).sum();
        let rest = self.weight(low, high) - rest;
        Some((self.chain_cost(&singles, rest) + self.price.size + rest, singles, pair))
    }

    fn is_heavy(&self, single: usize, weight: f64) -> bool {
        self.runs[single].weight >= HEAVY * weight && self.runs[single].weight > 0.0
    }

    fn weight(&self, low: usize, high: usize) -> f64 {
        self.before[high + 1] - self.before[low]
    }

    /// Sorts runs by weight; at equal weight the first comes first.
    fn heaviest_first(&self, singles: &mut [usize]) {
        singles
            .sort_by(|a, b| self.runs[*b].weight.total_cmp(&self.runs[*a].weight).then(a.cmp(b)));
    }

    /// The holes of a range.
    fn holes(&self, (low, high, holes): Range) -> Vec<usize> {
        if holes == 0 {
            return Vec::new();
        }
        let mut singles: Vec<usize> =
            (low..=high).filter(|run| self.runs[*run].is_single()).collect();
        self.heaviest_first(&mut singles);
        singles.truncate(holes);
        singles
    }

    fn solve(&mut self, range: Range) -> (f64, Choice) {
        let (low, high, holes) = range;
        if holes == 0 {
            let at = low * self.runs.len() + high;
            return (self.costs_from[at], self.choices[at]);
        }
        if let Some(done) = self.holed.get(&range) {
            return *done;
        }
        let best = self.best_holed(range);
        self.holed.insert(range, best);
        best
    }

    /// The range that a split leaves on one side.
    fn part(&self, low: usize, high: usize, holes: &[usize]) -> Range {
        (low, high, holes.iter().filter(|hole| (low..=high).contains(hole)).count())
    }

    fn best_holed(&mut self, range: Range) -> (f64, Choice) {
        let (low, high, _) = range;
        let holes = self.holes(range);
        if self.few.holds(high + 1 - low) {
            return (self.few.cost(Set::new(low, high, &holes)), Choice::Few);
        }
        let mut best = (f64::INFINITY, Choice::Leaf);
        if let Some(chain) = self.chain(low, high, &holes) {
            if chain.singles.is_empty() {
                return (0.0, Choice::Leaf);
            }
            best = (chain.cost, Choice::Chain);
        }
        let hole_weight: f64 = holes.iter().map(|hole| self.runs[*hole].weight).sum();
        let weight = self.weight(low, high) - hole_weight;
        let test = weight + self.price.size;
        for at in low + 1..=high {
            let (left, right) = (self.part(low, at - 1, &holes), self.part(at, high, &holes));
            // A side of holes alone needs no test to be told apart.
            if left.2 == at - low || right.2 == high + 1 - at {
                continue;
            }
            let cost = self.solve(left).0 + self.solve(right).0 + test;
            if cost < best.0 {
                best = (cost, Choice::Split(at as u16));
            }
        }
        let heaviest =
            (low..=high).filter(|i| !holes.contains(i)).fold(None, |b, i| self.heavier(b, i));
        if let Some(single) = heaviest.filter(|run| self.is_heavy(*run, weight)) {
            let cost = self.solve((low, high, holes.len() + 1)).0 + test;
            if cost < best.0 {
                best = (cost, Choice::Equal(single as u16));
            }
        }
        best
    }

    /// The cost of a chain in a range without holes, when it is below a bound.
    fn plain_chain(&self, low: usize, high: usize, weight: f64, bound: f64) -> Option<f64> {
        let outline = &self.outline[low];
        let cost = match outline.cost(weight, self.price) {
            _ if outline.others > self.price.chain => return None,
            Cost::Is(cost) => cost,
            Cost::AtLeast(least) if least >= bound => return None,
            Cost::AtLeast(_) => self.chain(low, high, &[])?.cost,
        };
        Some(cost).filter(|cost| *cost < bound)
    }

    /// A chain of equality tests, when all runs but a few single values lead to the same place.
    fn chain(&self, low: usize, high: usize, holes: &[usize]) -> Option<Chain> {
        let live = (low..=high).filter(|i| holes.is_empty() || !holes.contains(i));
        // The place is that of the runs that are no single values, else of the heaviest single.
        let mut wide: Option<usize> = None;
        let mut heaviest: Option<usize> = None;
        for i in live.clone() {
            let run = &self.runs[i];
            if !run.is_single() {
                match wide {
                    Some(class) if class != run.class => return None,
                    _ => wide = Some(run.class),
                }
            } else if heaviest.is_none_or(|best| run.weight > self.runs[best].weight) {
                heaviest = Some(i);
            }
        }
        let class = wide.or_else(|| heaviest.map(|i| self.runs[i].class))?;
        let mut singles = Vec::new();
        let mut rest = 0.0;
        for i in live {
            let run = &self.runs[i];
            if run.class == class {
                rest += run.weight;
            } else if singles.len() < self.price.chain {
                singles.push(i);
            } else {
                return None;
            }
        }
        self.heaviest_first(&mut singles);
        let cost = self.chain_cost(&singles, rest);
        Some(Chain { class, singles, cost })
    }

    /// What it costs to test single values one after the other, before a rest of this weight.
    fn chain_cost(&self, singles: &[usize], rest: f64) -> f64 {
        let mut cost = singles.len() as f64 * (self.price.size + rest);
        for (depth, single) in singles.iter().enumerate() {
            cost += (depth + 1) as f64 * self.runs[*single].weight;
        }
        cost
    }

    /// Adds the chosen tree of a range; ranges nest at most as deep as they have runs and holes.
    fn emit(&mut self, range: Range, tree: &mut Tree) -> usize {
        let (low, high, _) = range;
        let holes = self.holes(range);
        let first_live = || (low..=high).find(|i| !holes.contains(i)).unwrap_or(low);
        match self.solve(range).1 {
            Choice::Leaf => tree.leaf(self.runs[first_live()].class),
            Choice::Few => self.few.emit(Set::new(low, high, &holes), tree),
            Choice::Split(at) => {
                let at = usize::from(at);
                let (left, right) = (self.part(low, at - 1, &holes), self.part(at, high, &holes));
                let otherwise = self.emit(left, tree);
                let then = self.emit(right, tree);
                let split = Split::AtLeast(self.runs[at].first);
                tree.push(Node::Test { split, then, otherwise })
            }
            Choice::Equal(single) => {
                let otherwise = self.emit((low, high, holes.len() + 1), tree);
                tree.equal(&self.runs[usize::from(single)], otherwise)
            }
            Choice::Chain => {
                let Some(chain) = self.chain(low, high, &holes) else {
                    return tree.leaf(self.runs[first_live()].class);
                };
                let rest = tree.leaf(chain.class);
                self.emit_chain(&chain.singles, rest, tree)
            }
            Choice::Masked => {
                let Some((_, singles, pair)) = self.masked(low, high) else {
                    return tree.leaf(self.runs[low].class);
                };
                let rest = tree.any_bit(pair);
                self.emit_chain(&singles, rest, tree)
            }
            Choice::Window => {
                let runs = &self.runs[low..=high];
                let (base, set) = (self.runs[low].first, self.runs[low + 1].class);
                let of_set = runs.iter().filter(|run| run.class == set);
                let bits = of_set.flat_map(|run| run.first..=run.last);
                let bits = bits.fold(0, |bits, value| bits | 1 << (value - base));
                let then = tree.leaf(set);
                let otherwise = tree.leaf(self.runs[low].class);
                tree.push(Node::Window { base, bits, then, otherwise })
            }
        }
    }

    /// Tests single values one after the other before a rest that is there already.
    fn emit_chain(&self, singles: &[usize], rest: usize, tree: &mut Tree) -> usize {
        let tests = singles.iter().rev();
        tests.fold(rest, |otherwise, single| tree.equal(&self.runs[*single], otherwise))
    }
}

/// The least sum of two numbers that stand at the same place in both rows, and the first such place.
///
/// This is the innermost loop of the dynamic program. Four minima at a time do not wait for each
/// other.
fn least_sum(left: &[f64], right: &[f64]) -> (f64, usize) {
    let mut least = [f64::INFINITY; 4];
    let (left_fours, right_fours) = (left.chunks_exact(4), right.chunks_exact(4));
    let (left_rest, right_rest) = (left_fours.remainder(), right_fours.remainder());
    for (left, right) in left_fours.zip(right_fours) {
        for ((least, left), right) in least.iter_mut().zip(left).zip(right) {
            let sum = left + right;
            *least = if sum < *least { sum } else { *least };
        }
    }
    let rest = left_rest.iter().zip(right_rest).map(|(left, right)| left + right);
    let least = least.into_iter().chain(rest).fold(f64::INFINITY, f64::min);
    let at = left.iter().zip(right).position(|(left, right)| left + right == least);
    (least, at.unwrap_or(0))
}

/// What is known of a chain without sorting its single values.
#[derive(Clone, Copy, Debug, Default)]
struct Outline {
    /// The class of the runs that are no single values.
    wide: Option<usize>,
    /// How many single values there are of other classes, and their weights: together, the most and
    /// the least.
    others: usize,
    tested: f64,
    heaviest: f64,
    lightest: f64,
}

enum Cost {
    Is(f64),
    AtLeast(f64),
}

impl Outline {
    /// Adds the last of these runs, the others being known.
    fn add(&mut self, runs: &[Run]) {
        let Some((last, before)) = runs.split_last() else { return };
        match self.wide {
            Some(_) => self.test(last),
            // Before the first wide run it is not known which single values are tested.
            None if last.is_single() => {}
            None => {
                self.wide = Some(last.class);
                before.iter().for_each(|run| self.test(run));
            }
        }
    }

    fn test(&mut self, run: &Run) {
        if self.wide != Some(run.class) {
            self.lightest =
                if self.others == 0 { run.weight } else { self.lightest.min(run.weight) };
            self.heaviest = self.heaviest.max(run.weight);
            self.others += 1;
            self.tested += run.weight;
        }
    }

    /// What the chain costs in a range of this weight: the rest is behind all tests, the single values
    /// are behind one after the other. The bound is for few and heavy ones.
    fn cost(&self, weight: f64, price: Price) -> Cost {
        let others = self.others as f64;
        let before_rest = others * (price.size + weight - self.tested);
        if self.wide.is_none() {
            Cost::AtLeast(0.0)
        } else if self.heaviest == self.lightest {
            Cost::Is(before_rest + self.heaviest * others * (others + 1.0) / 2.0)
        } else {
            let few = (self.tested / self.heaviest).floor();
            let left = self.tested - few * self.heaviest;
            let tested = self.heaviest * few * (few + 1.0) / 2.0 + left * (few + 1.0);
            // What is off by a rounding is looked at.
            Cost::AtLeast((before_rest + tested) * (1.0 - 1e-9))
        }
    }
}

struct Chain {
    class: usize,
    /// In the order of their tests.
    singles: Vec<usize>,
    cost: f64,
}
