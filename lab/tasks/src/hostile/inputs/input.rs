//! A hostile input, and the macro that describes one.

use std::io::Write;

/// A reader of user input.
pub(in crate::hostile) struct Reader {
    pub(in crate::hostile) name: &'static str,
    /// The name of the input file.
    pub(in crate::hostile) file: &'static str,
    /// Other files that the commands need.
    pub(in crate::hostile) beside: &'static [(&'static str, &'static str)],
    /// The maximum size of its inputs in KiB, if that is less than for other readers.
    pub(in crate::hostile) most: Option<u64>,
    /// Whether long inputs are usual.
    pub(in crate::hostile) is_log: bool,
    /// The arguments of `callgate`.
    pub(in crate::hostile) commands: &'static [&'static str],
    pub(in crate::hostile) inputs: &'static [Input],
}

/// An input: a head, a repeated unit, and a tail.
pub(in crate::hostile) struct Input {
    pub(in crate::hostile) name: &'static str,
    pub(in crate::hostile) head: &'static [u8],
    /// Writes the unit with this number.
    pub(in crate::hostile) unit: fn(u64, &mut Vec<u8>),
    /// The maximum number of units; larger inputs would be refused at once.
    pub(in crate::hostile) units: u64,
    pub(in crate::hostile) tail: &'static [u8],
}

impl Input {
    /// An input with as many units as fit.
    pub(super) const fn new(
        name: &'static str,
        head: &'static str,
        unit: fn(u64, &mut Vec<u8>),
        tail: &'static str,
    ) -> Input {
        Input { name, head: head.as_bytes(), unit, units: u64::MAX, tail: tail.as_bytes() }
    }

    /// The input with at most this many units.
    pub(super) const fn at_most(self, units: u64) -> Input {
        Input { units, ..self }
    }
}

macro_rules! input {
    ($name:literal, $head:expr, [$($unit:tt)*], $tail:expr) => {
        Input::new(
            $name,
            $head,
            |_number, out| { let _ = unit!(out, _number, $($unit)*); },
            $tail,
        )
    };
}

macro_rules! unit {
    ($out:ident, $number:ident, $text:literal, $($with:expr),+) => {
        write!($out, $text, $(($with)($number)),+)
    };
    ($out:ident, $number:ident, $text:literal) => { $out.write_all($text.as_bytes()) };
}

/// Writes comparisons of all six arguments with unrelated 64-bit numbers, and signs between them.
pub(super) fn six_unrelated(
    number: u64,
    between: &str,
    comparison: impl Fn(usize, u64) -> String,
    out: &mut Vec<u8>,
) {
    let of = |argument: usize| comparison(argument, unrelated(number * 6 + argument as u64));
    let _ = out.write_all((0..6).map(of).collect::<Vec<_>>().join(between).as_bytes());
}

/// 64-bit numbers without common bits or an order (the output function of SplitMix64).
pub(super) fn unrelated(number: u64) -> u64 {
    let mut value = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

pub(super) use {input, unit};
