//! Search trees against the optimum over all trees: for all small instances of a family, and for random larger ones.
//!
//! The optimum is found by brute force over sets of intervals: each part that a comparison leaves is again a set, and
//! there are 2^n of them. Equality tests of single values and order tests at the bounds of intervals are all
//! comparisons that distinguish intervals. Masks that separate two classes are tried exhaustively.

use std::collections::BTreeSet;

use callgate_bpf::random::Rng;

use super::ranges::RangeSearch;
use super::subsets::MAX_EXACT;
use super::*;
use crate::cost::Aim;
use crate::instructions::Instructions;
use callgate_core::diagram::Split;

/// The maximum ratio of the cost of a tree over more than [`MAX_EXACT`] intervals to the optimum. In a long range, an
/// equality test comes first only for the heaviest single value, and only if it is heavy. That is not optimal if another
/// value has nearly the same weight and its neighbours have the same class.
const WORST_GAP: f64 = 1.05;

/// The prices in use: for speed, for size, and for argument words.
const PRICES: [f64; 3] = [0.02, 100.0, 1.0];

/// Intervals without gaps over all 32-bit values; single values have width one.
fn intervals(single: &[bool], class: &[usize], weight: &[f64]) -> Vec<WeightedInterval> {
    let n = single.len();
    let mut first = 0u32;
    (0..n)
        .map(|i| {
            let width = if single[i] { 1 } else { 1000 };
            let last = if i + 1 == n && !single[i] { u32::MAX } else { first + width - 1 };
            let interval = WeightedInterval { first, last, class: class[i], weight: weight[i] };
            first = last.wrapping_add(1);
            interval
        })
        .collect()
}

/// The price of comparisons.
fn comparisons(size: f64) -> Price {
    Price {
        size,
        masks: false,
        mask_insns: 1,
        masks_after_singles: false,
        bitset_tests: false,
        chain: 48,
        whole: 96,
        near: 6,
        is_quick: false,
    }
}

/// Whether a mask separates a set of intervals with two classes.
fn masked(intervals: &[&WeightedInterval], masks: &[u32]) -> bool {
    masks.iter().any(|mask| {
        let side = |interval: &&WeightedInterval, hit: bool| {
            (interval.first..=interval.last).all(|v| (v & mask != 0) == hit)
        };
        let class = |hit: bool| {
            let mut classes = intervals
                .iter()
                .filter(|interval| side(interval, hit))
                .map(|interval| interval.class);
            let class = classes.next()?;
            classes.all(|other| other == class).then_some(class)
        };
        intervals.iter().all(|interval| side(interval, true) || side(interval, false))
            && class(true).is_some()
            && class(false).is_some()
    })
}

/// The cost of the optimal tree; masks of small values only.
fn optimum(intervals: &[WeightedInterval], price: Price) -> f64 {
    let n = intervals.len();
    let masks: Vec<u32> = if price.masks { (1..64).collect() } else { Vec::new() };
    let mut best = vec![0.0f64; 1 << n];
    for set in 1usize..1 << n {
        let inside = |i: &usize| set >> i & 1 == 1;
        let first = set.trailing_zeros() as usize;
        if (0..n).filter(inside).all(|i| intervals[i].class == intervals[first].class) {
            continue;
        }
        let weight: f64 = (0..n).filter(inside).map(|i| intervals[i].weight).sum();
        let mut least = f64::INFINITY;
        for i in (0..n).filter(inside) {
            let below = set & ((1 << i) - 1);
            if below != 0 {
                least = least.min(best[below] + best[set & !below]);
            }
            let single = intervals[i].first == intervals[i].last;
            if single && set != 1 << i {
                least = least.min(best[set & !(1 << i)]);
            }
        }
        let members: Vec<&WeightedInterval> =
            (0..n).filter(inside).map(|i| &intervals[i]).collect();
        if price.masks && masked(&members, &masks) {
            least = least.min(f64::from(price.mask_insns - 1) * (weight + price.size));
        }
        best[set] = least + weight + price.size;
    }
    best[(1 << n) - 1]
}

/// Follows a tree down for a value: the class, and how many instructions were executed.
fn find(tree: &Tree, value: u32, price: Price) -> (usize, usize) {
    let (mut at, mut tests) = (tree.nodes.len() - 1, 0);
    loop {
        match tree.nodes[at] {
            Node::Leaf { class } => return (class, tests),
            Node::Test { split, then, otherwise } => {
                assert!(then < at && otherwise < at, "children precede their parent");
                tests += 1;
                let holds = match split {
                    Split::Equal(k) => value == k,
                    Split::AtLeast(k) => value >= k,
                };
                at = if holds { then } else { otherwise };
            }
            Node::AnyBit { mask, then, otherwise } => {
                assert!(then < at && otherwise < at, "children precede their parent");
                for child in [then, otherwise] {
                    assert!(matches!(tree.nodes[child], Node::Leaf { .. }), "A may be overwritten");
                }
                tests += price.mask_insns as usize;
                at = if value & mask != 0 { then } else { otherwise };
            }
            Node::Bitset { base, bits, then, otherwise } => {
                assert!(then < at && otherwise < at, "children precede their parent");
                tests += bitset_insns(base);
                let bit = value.checked_sub(base).filter(|bit| *bit < 32);
                let bit = bit.expect("only values in range reach a bitset test");
                at = if bits >> bit & 1 == 1 { then } else { otherwise };
            }
        }
    }
}

/// The number of instructions of a bitset test.
fn bitset_insns(base: u32) -> usize {
    if base == 0 { 4 } else { 5 }
}

/// Checks that each value reaches its class, and that the cost of the tree is right.
fn check(intervals: &[WeightedInterval], price: Price) -> f64 {
    let tree = search_tree(intervals, price);
    let mut cost = 0.0;
    for interval in intervals {
        let (_, tests) = find(&tree, interval.first, price);
        cost += interval.weight * tests as f64;
        for value in
            [interval.first, interval.last, interval.first + (interval.last - interval.first) / 2]
        {
            let found = find(&tree, value, price);
            assert_eq!(found.0, interval.class, "{value:#x} in {intervals:?}: {tree:?}");
        }
    }
    let insns = |node: &Node| match node {
        Node::Leaf { .. } => 0,
        Node::Test { .. } => 1,
        Node::AnyBit { .. } => price.mask_insns as usize,
        Node::Bitset { base, .. } => bitset_insns(*base),
    };
    cost += tree.nodes.iter().map(insns).sum::<usize>() as f64 * price.size;
    let off = (tree.cost - cost).abs();
    assert!(
        off <= 1e-9 * cost.max(1.0),
        "says {} costs {cost}: {intervals:?}\n{tree:?}",
        tree.cost
    );
    tree.cost
}

/// All assignments of classes to `n` intervals in which neighbours differ, in order of first occurrence.
fn classes(n: usize, most: usize) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = vec![vec![0]];
    for _ in 1..n {
        all = all
            .into_iter()
            .flat_map(|classes| {
                let next = classes.iter().max().map_or(0, |max| max + 1);
                let last = classes[classes.len() - 1];
                (0..=next).filter(move |c| *c != last && *c < most).map(move |class| {
                    let mut classes = classes.clone();
                    classes.push(class);
                    classes
                })
            })
            .collect();
    }
    all
}

/// Calls `visit` with all words of `n` letters.
fn words(letters: &[f64], n: usize, mut visit: impl FnMut(&[f64])) {
    let mut word = vec![letters[0]; n];
    for number in 0..letters.len().pow(n as u32) {
        let mut rest = number;
        for letter in &mut word {
            *letter = letters[rest % letters.len()];
            rest /= letters.len();
        }
        visit(&word);
    }
}

#[derive(Default)]
struct Gap {
    worst: f64,
    example: String,
    instances: usize,
    beyond: usize,
}

impl Gap {
    fn measure(&mut self, intervals: &[WeightedInterval], price: Price) {
        let (cost, best) = (check(intervals, price), optimum(intervals, price));
        assert!(cost >= best - 1e-9 * best.max(1.0), "cheaper than possible: {intervals:?}");
        self.instances += 1;
        let gap = if best > 0.0 { cost / best } else { 1.0 };
        self.beyond += usize::from(gap > 1.0 + 1e-9);
        if gap > self.worst {
            self.worst = gap;
            let intervals: Vec<String> = intervals
                .iter()
                .map(|interval| {
                    let kind = if interval.first == interval.last { "single" } else { "wide" };
                    format!("{kind} class {} weight {}", interval.class, interval.weight)
                })
                .collect();
            self.example = format!("{cost} against {best} at {price:?}: {}", intervals.join(", "));
        }
    }
}

/// All instances up to a number of intervals, with weights from these letters, that sum up to one.
fn family(most: usize, letters: &[f64], mut visit: impl FnMut(&[WeightedInterval])) {
    for n in 1..=most {
        for classes in classes(n, 3) {
            for kinds in 0..1usize << n {
                let single: Vec<bool> = (0..n).map(|i| kinds >> i & 1 == 1).collect();
                words(letters, n, |weight| {
                    let total: f64 = weight.iter().sum();
                    let weight: Vec<f64> = weight.iter().map(|w| w / total.max(1.0)).collect();
                    visit(&intervals(&single, &classes, &weight));
                });
            }
        }
    }
}

/// The gap of a family at one price.
fn gap(
    most: usize,
    letters: &[f64],
    size: f64,
    chosen: impl Fn(&[WeightedInterval]) -> bool,
) -> Gap {
    let mut gap = Gap::default();
    family(most, letters, |intervals| {
        if chosen(intervals) {
            gap.measure(intervals, comparisons(size));
        }
    });
    gap
}

#[test]
fn small_trees_are_optimal() {
    for size in PRICES {
        for gap in
            [gap(4, &[0.0, 1.0, 7.0], size, |_| true), gap(5, &[0.0, 1.0, 4.0], size, |_| true)]
        {
            assert_eq!(gap.beyond, 0, "of {}: {}", gap.instances, gap.example);
        }
    }
}

/// Intervals of one to five values, so that all masks can be tried.
fn small_values(rng: &mut Rng, n: usize) -> Vec<WeightedInterval> {
    let mut first = rng.below(8) as u32;
    let mut intervals: Vec<WeightedInterval> = Vec::new();
    for _ in 0..n {
        let last = first + [0, 0, 0, 1, 2, 4][rng.below(6)];
        let other = rng.below(8) / 7;
        let class = intervals.last().map_or(0, |interval| (interval.class + 1 + other) % 3);
        let weight = [0.0, 0.1, 0.1, 0.4][rng.below(4)];
        intervals.push(WeightedInterval { first, last, class, weight });
        first = last + 1;
    }
    intervals
}

#[test]
fn trees_up_to_the_exact_size_are_optimal() {
    let mut rng = Rng::new(0xe4ac7);
    for _ in 0..150 {
        let n = MAX_EXACT - rng.below(4);
        let intervals = small_values(&mut rng, n);
        for price in PRICES.map(comparisons) {
            let masks = Price { masks: true, masks_after_singles: true, ..price };
            for price in [price, masks, Price { mask_insns: 2, ..masks }] {
                let (cost, best) = (check(&intervals, price), optimum(&intervals, price));
                assert!(
                    (cost - best).abs() <= 1e-9 * best.max(1.0),
                    "{cost} {best}: {intervals:?}"
                );
            }
        }
    }
}

#[test]
fn trees_above_the_exact_size_are_close_to_the_best_of_all() {
    let mut rng = Rng::new(0xc105e);
    for size in PRICES {
        let mut gap = Gap::default();
        for n in MAX_EXACT + 1..=MAX_EXACT + 3 {
            for _ in 0..60 {
                gap.measure(&many(&mut rng, n), comparisons(size));
                gap.measure(&small_values(&mut rng, n), comparisons(size));
            }
        }
        println!("{} of {} beyond, worst {}", gap.beyond, gap.instances, gap.worst);
        assert!(gap.worst <= WORST_GAP, "{}: {}", gap.worst, gap.example);
    }
}

#[test]
fn trees_over_intervals_of_equal_weight_are_optimal() {
    for size in PRICES {
        for letter in [0.0, 1.0] {
            let gap = gap(7, &[letter], size, |_| true);
            assert_eq!(gap.beyond, 0, "{}", gap.example);
        }
    }
}

#[test]
fn trees_without_single_values_are_optimal() {
    let wide = |intervals: &[WeightedInterval]| {
        intervals.iter().all(|interval| interval.first != interval.last)
    };
    for size in PRICES {
        let gap = gap(6, &[0.0, 1.0, 4.0], size, wide);
        assert_eq!(gap.beyond, 0, "{}", gap.example);
    }
}

#[test]
fn trees_for_size_have_the_fewest_tests() {
    const SIZE: f64 = 100.0;
    family(5, &[0.0, 1.0, 4.0], |intervals| {
        let price = comparisons(SIZE);
        let (cost, best) = (check(intervals, price), optimum(intervals, price));
        // The total weight is at most one, so the number of tests dominates the cost.
        assert!(cost - best < SIZE / 2.0, "{cost} against {best}: {intervals:?}");
    });
}

/// Random values in an interval of another class: for size, one equality test each, also of more than are searched at once;
/// for speed, order tests keep the paths short.
#[test]
fn long_lists_of_values_take_one_test_each_for_size() {
    let mut rng = Rng::new(0x1157);
    let values: BTreeSet<u32> = (0..800).map(|_| 1 + 2 * rng.below(1 << 30) as u32).collect();
    let weight = 1.0 / (2 * values.len() + 1) as f64;
    let mut intervals = Vec::new();
    let mut first = 0;
    for value in &values {
        intervals.push(WeightedInterval { first, last: value - 1, class: 0, weight });
        intervals.push(WeightedInterval { first: *value, last: *value, class: 1, weight });
        first = value + 1;
    }
    intervals.push(WeightedInterval { first, last: u32::MAX, class: 0, weight });
    let tests = |aim| {
        let price = Price::of_argument(aim, Instructions::All);
        check(&intervals, price);
        search_tree(&intervals, price).insns()
    };
    assert_eq!(tests(Aim::Size), values.len() as f64);
    assert!(tests(Aim::Speed) > values.len() as f64 + 50.0);
}

/// Many intervals, with weights as skewed as in real workloads.
fn many(rng: &mut Rng, n: usize) -> Vec<WeightedInterval> {
    let single: Vec<bool> = (0..n).map(|_| rng.below(2) == 0).collect();
    let mut class = vec![0];
    for i in 1..n {
        class.push((class[i - 1] + 1 + rng.below(3)) % 4);
    }
    let weight: Vec<f64> = (0..n)
        .map(|_| match rng.below(8) {
            0..4 => 0.0,
            4..7 => 1.0 / 256.0,
            _ => 1.0 / (1 + rng.below(64)) as f64,
        })
        .collect();
    intervals(&single, &class, &weight)
}

#[test]
fn large_trees_are_correct_and_shallow() {
    let mut rng = Rng::new(0x5eed_5eed_5eed);
    for n in [8, 20, 95, 96, 97, 98, 150, 191, 400, 2048] {
        for _ in 0..if n > 200 { 2 } else { 6 } {
            let intervals = many(&mut rng, n);
            check(&intervals, comparisons(0.02));
            let tree = search_tree(&intervals, comparisons(0.02));
            let deepest = intervals
                .iter()
                .map(|interval| find(&tree, interval.first, comparisons(0.02)).1)
                .max();
            assert!(deepest <= Some(64), "{n} intervals, {deepest:?} tests");
        }
    }
}

/// Above [`Price::whole`] intervals, the cut must not increase the cost much.
#[test]
fn cut_trees_are_close_to_exact_ones() {
    let mut rng = Rng::new(0x0dd5_eed0);
    let mut worst: f64 = 1.0;
    for n in [97, 110, 130, 160] {
        for size in [0.02, 1.0] {
            let intervals = many(&mut rng, n);
            let price = comparisons(size);
            let mut exact = Tree::default();
            let starts: Vec<usize> = (0..n).collect();
            RangeSearch::new(&intervals, &starts, price).build(&mut exact);
            worst = worst.max(search_tree(&intervals, price).cost / exact.cost);
        }
    }
    println!("worst {worst}");
    assert!(worst <= 1.02, "{worst}");
}

#[test]
fn bitset_tests_find_scattered_values_where_allowed() {
    // Every third of 40 values has another class, at several offsets.
    for base in [0, 3, 0x8901, u32::MAX - 50] {
        let mut intervals = Vec::new();
        let mut interval = |first, last, class| {
            intervals.push(WeightedInterval { first, last, class, weight: 0.01 });
        };
        if base > 0 {
            interval(0, base - 1, 0);
        }
        for third in 0..13 {
            let first = base + 3 * third;
            interval(first, first, 1);
            interval(first + 1, first + 2, 0);
        }
        if let Some(last) = intervals.last_mut() {
            last.last = u32::MAX;
        }
        let is_bitset = |node: &&Node| matches!(node, Node::Bitset { .. });
        let with = Price {
            size: 1.0,
            masks: true,
            mask_insns: 1,
            masks_after_singles: true,
            bitset_tests: true,
            chain: 48,
            whole: 96,
            near: 6,
            is_quick: false,
        };
        let without = Price {
            size: 1.0,
            masks: true,
            mask_insns: 1,
            masks_after_singles: true,
            bitset_tests: false,
            chain: 48,
            whole: 96,
            near: 6,
            is_quick: false,
        };
        let (cheap, dear) = (check(&intervals, with), check(&intervals, without));
        assert!(cheap < dear - 3.0, "{cheap} {dear}");
        assert!(search_tree(&intervals, with).nodes.iter().any(|node| is_bitset(&node)));
        assert!(!search_tree(&intervals, without).nodes.iter().any(|node| is_bitset(&node)));
    }
}
