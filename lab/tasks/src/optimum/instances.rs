//! Random functions of one word, of several kinds.

use super::function::{Function, HIGHER, VALUES};
use super::search::Cost;
use callgate_bpf::random::Rng;
use callgate_codegen::Aim;
use callgate_core::Word;

/// A kind of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Two to eight intervals of syscall numbers with two or three classes, equally frequent.
    Intervals,
    /// The same; the n-th most frequent interval has 1/n of the weight of the first.
    SkewedIntervals,
    /// One to six values of an argument.
    Values,
    /// The values of an argument in at least one of one to three products of bits.
    Masks,
    /// Any set of 4-bit values of an argument.
    FourBits,
    /// All sets of 3-bit values of an argument.
    ThreeBits,
}

impl Kind {
    /// The kinds of which there are random instances.
    pub(super) const RANDOM: [Kind; 5] =
        [Kind::Intervals, Kind::SkewedIntervals, Kind::Values, Kind::Masks, Kind::FourBits];

    /// The number of sets of 3-bit values except the empty one.
    pub(super) const THREE_BITS: usize = 255;

    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Intervals => "intervals of numbers",
            Kind::SkewedIntervals => "intervals, skewed weights",
            Kind::Values => "values of an argument",
            Kind::Masks => "products of bits",
            Kind::FourBits => "sets of 4-bit values",
            Kind::ThreeBits => "all 255 sets of 3-bit values",
        }
    }

    /// The word that the functions test.
    pub(super) fn word(self) -> Word {
        match self {
            Kind::Intervals | Kind::SkewedIntervals => Word::NR,
            _ => Word::arg_low(0).unwrap_or(Word::NR),
        }
    }

    /// The price of an instruction, as a fraction of the total weight: that of the generator.
    fn size_price(self) -> (u32, u32) {
        match self {
            Kind::Intervals | Kind::SkewedIntervals => (1, 50),
            _ => (1, 1),
        }
    }
}

/// A function with the weights of its values.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    pub(super) kind: Kind,
    pub(super) function: Function,
    weights: [u32; VALUES],
    total: u32,
}

impl Instance {
    /// The instance with this number.
    pub(super) fn new(kind: Kind, number: usize, seed: u64) -> Instance {
        let mut rng = Rng::new(seed.wrapping_mul(1_000_003).wrapping_add(number as u64) << 3);
        let function = loop {
            let function = match kind {
                Kind::Intervals | Kind::SkewedIntervals => intervals(&mut rng),
                Kind::Values => values(&mut rng),
                Kind::Masks => products(&mut rng),
                Kind::FourBits => below(16, 1 + rng.below(65_535)),
                Kind::ThreeBits => below(8, 1 + number),
            };
            if function.class_count() > 1 {
                break function;
            }
        };
        let mut instance = Instance { kind, function, weights: [0; VALUES], total: 0 };
        instance.weigh(&mut rng);
        instance
    }

    /// Gives one value of each interval a weight. Of the values with higher bits, only the first interval counts.
    fn weigh(&mut self, rng: &mut Rng) {
        const WEIGHT: u32 = 840;
        let mut intervals = self.function.intervals();
        intervals.retain(|(first, _)| *first <= HIGHER);
        let mut weights: Vec<u32> = (1..=intervals.len() as u32)
            .map(|rank| match self.kind {
                Kind::SkewedIntervals => WEIGHT / rank,
                _ => WEIGHT,
            })
            .collect();
        rng.shuffle(&mut weights);
        for ((first, last), weight) in intervals.into_iter().zip(weights) {
            let value = first + rng.below(usize::from(last - first) + 1) as u8;
            if let Some(of) = self.weights.get_mut(usize::from(value)) {
                *of = weight;
                self.total += weight;
            }
        }
    }

    /// What programs cost for an aim: for size only the number of instructions.
    pub(super) fn cost(&self, aim: Aim) -> Cost {
        match aim {
            Aim::Size => Cost { weights: [0; VALUES], size_price: 1 },
            Aim::Speed | Aim::Quick => {
                let (of, all) = self.kind.size_price();
                Cost { weights: self.weights, size_price: self.total * of / all }
            }
        }
    }

    /// The unit of costs: one instruction for size, one executed instruction for speed.
    pub(super) fn unit(&self, aim: Aim) -> f64 {
        match aim {
            Aim::Size => 1.0,
            Aim::Speed | Aim::Quick => f64::from(self.total),
        }
    }

    /// The function in words.
    pub(super) fn describe(&self) -> String {
        let class = |value| match self.function.class(value) {
            0 => "errno",
            1 => "allow",
            _ => "log",
        };
        let intervals = self.function.intervals();
        let shown = intervals.iter().filter(|(first, _)| *first <= HIGHER).map(|(first, last)| {
            let weight: u32 = (*first..=*last).map(|value| self.weights[usize::from(value)]).sum();
            let weight = match self.kind {
                Kind::SkewedIntervals => format!(" ({weight})"),
                _ => String::new(),
            };
            let values = match last {
                _ if first == last => first.to_string(),
                ..HIGHER => format!("{first}–{last}"),
                _ => format!("{first}–"),
            };
            format!("{values} {}{weight}", class(*first))
        });
        let mut text = shown.collect::<Vec<_>>().join(", ");
        if intervals.last().is_some_and(|(first, _)| *first > HIGHER) {
            text += "; higher bits do not matter";
        }
        text
    }
}

/// Two to eight intervals; the last one has all values with higher bits.
fn intervals(rng: &mut Rng) -> Function {
    let (count, two) = (2 + rng.below(7), rng.below(2) == 0);
    let mut firsts: Vec<u8> = Vec::new();
    while firsts.len() < count - 1 {
        let first = 1 + rng.below(usize::from(HIGHER)) as u8;
        if !firsts.contains(&first) {
            firsts.push(first);
        }
    }
    // The classes are numbered in the order in which they occur.
    let mut classes = vec![0];
    for _ in 1..count {
        let last = classes.last().copied().unwrap_or(0);
        let known = classes.iter().max().map_or(0, |max| max + 1);
        let other = if two { 1 - last } else { (last + 1 + rng.below(2) as u8) % 3 };
        classes.push(other.min(known));
    }
    Function::new(|value| {
        let before = firsts.iter().filter(|first| **first <= value.min(HIGHER)).count();
        classes.get(before).copied().unwrap_or(0)
    })
}

fn values(rng: &mut Rng) -> Function {
    let count = 1 + rng.below(6);
    let mut values: Vec<u8> = Vec::new();
    while values.len() < count {
        let value = rng.below(usize::from(HIGHER)) as u8;
        if !values.contains(&value) {
            values.push(value);
        }
    }
    Function::new(|value| u8::from(values.contains(&value)))
}

/// Half of them contain no values with higher bits, in the others these bits do not matter.
fn products(rng: &mut Rng) -> Function {
    let (count, only_low) = (1 + rng.below(3), rng.below(2) == 0);
    let product = |rng: &mut Rng| {
        let mask = 1 + rng.below(63) as u8;
        (mask, rng.below(64) as u8 & mask)
    };
    let products: Vec<(u8, u8)> = (0..count).map(|_| product(rng)).collect();
    let contains = |value: u8| products.iter().any(|(mask, wanted)| value & mask == *wanted);
    Function::new(|value| u8::from(contains(value) && !(only_low && value >= HIGHER)))
}

/// The set of values below a limit that are in a bitmap.
fn below(limit: u8, set: usize) -> Function {
    Function::new(|value| if value < limit { (set >> value & 1) as u8 } else { 0 })
}
