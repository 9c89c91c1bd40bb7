//! `struct scmp_arg_cmp`.

use callgate_formats::ruleset::{Comparison, Op};
use libc::{c_int, c_uint};

use crate::error::{Error, Result};

/// A comparison of an argument, as callers pass it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ArgCmp {
    arg: c_uint,
    op: c_int,
    datum_a: u64,
    datum_b: u64,
}

/// The largest number of comparisons in a rule: one per argument.
pub(super) const MAX_ARGS: usize = 6;

impl ArgCmp {
    /// `SCMP_CMP(arg, op, datum_a, datum_b)`.
    pub const fn new(arg: c_uint, op: c_int, datum_a: u64, datum_b: u64) -> ArgCmp {
        ArgCmp { arg, op, datum_a, datum_b }
    }

    /// The comparison; an error for an unknown operator or argument.
    fn parse(self) -> Result<Comparison> {
        let (op, value) = match self.op {
            1 => (Op::Ne, self.datum_a),
            2 => (Op::Lt, self.datum_a),
            3 => (Op::Le, self.datum_a),
            4 => (Op::Eq, self.datum_a),
            5 => (Op::Ge, self.datum_a),
            6 => (Op::Gt, self.datum_a),
            7 => (Op::MaskedEq(self.datum_a), self.datum_b),
            _ => return Err(Error::Invalid),
        };
        let arg = u8::try_from(self.arg).map_err(|_| Error::Invalid)?;
        Comparison::new(arg, op, value).ok_or(Error::Invalid)
    }
}

/// The comparisons of a rule, at most one per argument.
pub(super) fn comparisons(given: &[ArgCmp]) -> Result<Vec<Comparison>> {
    let mut comparisons: Vec<Comparison> = Vec::with_capacity(given.len());
    for arg in given {
        let comparison = arg.parse()?;
        if comparisons.iter().any(|other| other.arg() == comparison.arg()) {
            return Err(Error::Invalid);
        }
        comparisons.push(comparison);
    }
    Ok(comparisons)
}
