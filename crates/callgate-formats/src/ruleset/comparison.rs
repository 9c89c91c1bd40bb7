//! Comparisons of arguments, and the precedence of the conditions that consist of them.

use callgate_core::policy::{Cmp, Condition, Field, Test};

/// Unsigned comparison operators (`enum scmp_compare`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Op {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// Equal in the bits of this mask; bits of the value outside the mask are ignored.
    MaskedEq(u64),
}

impl Op {
    /// All operators; MASKED_EQ without a mask.
    pub(crate) const ALL: [Op; 7] =
        [Op::Ne, Op::Lt, Op::Le, Op::Eq, Op::Ge, Op::Gt, Op::MaskedEq(0)];

    /// The name of libseccomp's constant, and the sign.
    pub(crate) const fn words(self) -> (&'static str, &'static str) {
        match self {
            Op::Eq => ("SCMP_CMP_EQ", "=="),
            Op::Ne => ("SCMP_CMP_NE", "!="),
            Op::Lt => ("SCMP_CMP_LT", "<"),
            Op::Le => ("SCMP_CMP_LE", "<="),
            Op::Gt => ("SCMP_CMP_GT", ">"),
            Op::Ge => ("SCMP_CMP_GE", ">="),
            Op::MaskedEq(_) => ("SCMP_CMP_MASKED_EQ", "&="),
        }
    }

    /// The operator with a word, which an entry of [`Op::ALL`] is found by, and with this mask.
    pub(crate) fn named(is_it: impl Fn(&str, &str) -> bool, mask: u64) -> Option<Op> {
        let found = Op::ALL.into_iter().find(|op| is_it(op.words().0, op.words().1))?;
        Some(if let Op::MaskedEq(_) = found { Op::MaskedEq(mask) } else { found })
    }
}

/// One comparison of an argument with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Comparison {
    arg: u8,
    op: Op,
    value: u64,
}

impl Comparison {
    /// `argument op value`; `None` if the argument is not from 0 to 5.
    pub const fn new(arg: u8, op: Op, value: u64) -> Option<Comparison> {
        if arg < 6 { Some(Comparison { arg, op, value }) } else { None }
    }

    /// The comparison of argument 0 of a multiplexer, which selects the sub-call.
    pub(super) const fn sub_call(number: u32) -> Comparison {
        Comparison { arg: 0, op: Op::Eq, value: number as u64 }
    }

    /// The argument, 0–5.
    pub const fn arg(&self) -> u8 {
        self.arg
    }

    /// The operator.
    pub const fn op(&self) -> Op {
        self.op
    }

    /// The value that the argument is compared with.
    pub const fn value(&self) -> u64 {
        self.value
    }

    /// What an ABI of this width compares; `None` if the mask is empty there.
    fn on(self, is_64bit: bool) -> Option<Comparison> {
        let bits = if is_64bit { u64::MAX } else { u64::from(u32::MAX) };
        let (op, value) = match self.op {
            Op::MaskedEq(mask) => match mask & bits {
                0 => return None,
                mask => (Op::MaskedEq(mask), self.value & mask),
            },
            op => (op, self.value & bits),
        };
        Some(Comparison { op, value, ..self })
    }

    /// The test in a policy, for a comparison that [`Comparison::on`] returned.
    fn test(self, is_64bit: bool) -> Option<Test> {
        let field = if is_64bit { Field::arg(self.arg) } else { Field::arg_low(self.arg) }?;
        let cmp = match self.op {
            Op::MaskedEq(mask) => return Some(Test::masked_eq(field, mask, self.value)),
            Op::Eq => Cmp::Eq,
            Op::Ne => Cmp::Ne,
            Op::Lt => Cmp::Lt,
            Op::Le => Cmp::Le,
            Op::Gt => Cmp::Gt,
            Op::Ge => Cmp::Ge,
        };
        Some(Test::new(field, cmp, self.value))
    }

    /// Its rank in the order of precedence, and what distinguishes it from comparisons of the same rank.
    fn key(self) -> (Rank, TieBreak) {
        let (class, op, mask) = match self.op {
            Op::Eq => (0, 0, u64::MAX),
            Op::Ne => (0, 1, u64::MAX),
            Op::MaskedEq(mask) => (0, 2, mask),
            Op::Le => (1, 0, u64::MAX),
            Op::Lt => (1, 1, u64::MAX),
            Op::Ge => (2, 0, u64::MAX),
            Op::Gt => (2, 1, u64::MAX),
        };
        let value = if class == 1 { self.value } else { !self.value };
        (Rank { arg: !self.arg, class, value }, TieBreak { mask: !mask, op })
    }
}

/// The rank of a comparison: the smallest decides first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// Inverted: the higher argument first.
    arg: u8,
    /// EQ, NE and MASKED_EQ, then LT and LE, then GT and GE.
    class: u8,
    /// Inverted except for LT and LE: the larger value first, for LT and LE the smaller one.
    value: u64,
}

/// An arbitrary but fixed order of comparisons of the same rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TieBreak {
    /// Inverted.
    mask: u64,
    op: u8,
}

/// Comparisons that must all hold, in normal form: as an ABI of a given width compares, the lower argument first,
/// without duplicates.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Conjunction(Box<[Comparison]>);

impl Conjunction {
    pub(super) fn new(comparisons: &[Comparison], is_64bit: bool) -> Conjunction {
        let mut tests = Vec::with_capacity(comparisons.len());
        tests.extend(comparisons.iter().filter_map(|comparison| comparison.on(is_64bit)));
        // Inside a condition the lower argument comes first, although the higher one takes precedence.
        tests.sort_by_key(|test| (test.arg, test.key()));
        tests.dedup();
        Conjunction(tests.into_boxed_slice())
    }

    pub(super) fn comparisons(&self) -> &[Comparison] {
        &self.0
    }

    /// The number of comparisons.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none, so that the condition always holds.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it consists of some of the comparisons of another condition.
    pub(super) fn is_part_of(&self, other: &Conjunction) -> bool {
        let mut rest = other.0.iter();
        // Both are in the same order.
        self.0.iter().all(|test| rest.any(|known| known == test))
    }

    /// The comparisons at the indices whose bits are set. The result holds wherever this condition holds.
    pub(super) fn subset(&self, bits: u32) -> Conjunction {
        let chosen = self.0.iter().enumerate().filter(|(index, _)| bits >> index & 1 == 1);
        Conjunction(chosen.map(|(_, test)| *test).collect())
    }

    /// The condition in a policy.
    pub(super) fn condition(&self, is_64bit: bool) -> Condition {
        let tests = self.0.iter().filter_map(|comparison| comparison.test(is_64bit));
        Condition::all(tests.map(Condition::test))
    }

    /// Orders conditions by precedence: the smallest decides first. A condition that holds wherever another holds
    /// decides before it.
    pub(super) fn precedence(&self, other: &Conjunction) -> std::cmp::Ordering {
        let ranks = self.0.iter().map(|test| test.key().0);
        ranks.cmp(other.0.iter().map(|test| test.key().0)).then_with(|| {
            let tie_breaks = self.0.iter().map(|test| test.key().1);
            tie_breaks.cmp(other.0.iter().map(|test| test.key().1))
        })
    }
}
