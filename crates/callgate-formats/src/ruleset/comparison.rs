//! Comparisons of arguments, and the precedence of conditions made of them.

use callgate_proof::policy::{Cmp, Condition, Field, Test};

/// How an argument is compared (`enum scmp_compare`), unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Op {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// Equal in the bits of this mask; bits of the value outside it do not count.
    MaskedEq(u64),
}

/// One comparison of an argument with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Comparison {
    arg: u8,
    op: Op,
    value: u64,
}

impl Comparison {
    /// `argument op value`; `None` when there is no such argument (six exist, 0–5).
    pub const fn new(arg: u8, op: Op, value: u64) -> Option<Comparison> {
        if arg < 6 { Some(Comparison { arg, op, value }) } else { None }
    }

    /// Argument 0 of a multiplexer, which chooses the sub-call.
    pub(super) const fn sub_call(number: u32) -> Comparison {
        Comparison { arg: 0, op: Op::Eq, value: number as u64 }
    }

    /// Which argument, 0–5.
    pub const fn arg(&self) -> u8 {
        self.arg
    }

    /// How it is compared.
    pub const fn op(&self) -> Op {
        self.op
    }

    /// With what.
    pub const fn value(&self) -> u64 {
        self.value
    }

    /// What an interface of the given width compares: `None` when it looks at no bit.
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

    /// The test of a comparison that went through [`Comparison::on`].
    fn test(self, is_64bit: bool) -> Option<Test> {
        let field = if is_64bit { Field::arg(self.arg) } else { Field::arg_low(self.arg) }?;
        Some(match self.op {
            Op::MaskedEq(mask) => Test::masked_eq(field, mask, self.value),
            Op::Eq => Test::new(field, Cmp::Eq, self.value),
            Op::Ne => Test::new(field, Cmp::Ne, self.value),
            Op::Lt => Test::new(field, Cmp::Lt, self.value),
            Op::Le => Test::new(field, Cmp::Le, self.value),
            Op::Gt => Test::new(field, Cmp::Gt, self.value),
            Op::Ge => Test::new(field, Cmp::Ge, self.value),
        })
    }

    /// Its place in the order of conditions.
    fn key(self) -> (Rank, Kind) {
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
        (Rank { arg: !self.arg, class, value }, Kind { mask: !mask, op })
    }
}

/// What counts for the precedence of a comparison; what decides first is smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// Inverted.
    arg: u8,
    /// EQ, NE and MASKED_EQ, then LT and LE, then GT and GE.
    class: u8,
    /// Inverted, but for LT and LE.
    value: u64,
}

/// What else tells two comparisons apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    /// Inverted.
    mask: u64,
    op: u8,
}

/// Comparisons that must all hold, in normal form: as an interface of a given width makes them,
/// the lower argument first, none twice.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tests(Box<[Comparison]>);

impl Tests {
    pub(super) fn new(comparisons: &[Comparison], is_64bit: bool) -> Tests {
        let looks = |comparison: &Comparison| comparison.on(is_64bit);
        let mut tests: Vec<Comparison> = comparisons.iter().filter_map(looks).collect();
        // Inside a condition the lower argument comes first, whereas precedence is the higher one's.
        tests.sort_by_key(|test| (test.arg, test.key()));
        tests.dedup();
        Tests(tests.into_boxed_slice())
    }

    pub(super) fn comparisons(&self) -> &[Comparison] {
        &self.0
    }

    /// How many.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether they hold for every call.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Some of them, at the places whose bits are set: such a condition holds wherever this one does.
    pub(super) fn some(&self, places: u32) -> Tests {
        let chosen = self.0.iter().enumerate().filter(|(place, _)| places >> place & 1 == 1);
        Tests(chosen.map(|(_, test)| *test).collect())
    }

    /// As a condition of a policy.
    pub(super) fn condition(&self, is_64bit: bool) -> Condition {
        let tests = self.0.iter().filter_map(|comparison| comparison.test(is_64bit));
        Condition::all(tests.map(Condition::test))
    }

    /// Orders conditions by precedence: what decides first is smallest. A condition that holds
    /// wherever another does decides before it.
    pub(super) fn precedence(&self, other: &Tests) -> std::cmp::Ordering {
        let ranks = self.0.iter().map(|test| test.key().0);
        ranks.cmp(other.0.iter().map(|test| test.key().0)).then_with(|| {
            let kinds = self.0.iter().map(|test| test.key().1);
            kinds.cmp(other.0.iter().map(|test| test.key().1))
        })
    }
}
