//! A rule of libseccomp: comparisons of arguments, and an action.

/// The operator of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the operators")]
pub enum Op {
    Ne,
    Lt,
    Le,
    Eq,
    Ge,
    Gt,
    MaskedEq,
}

impl Op {
    /// All operators, with their names in profiles.
    pub const NAMES: [(&'static str, Op); 7] = [
        ("SCMP_CMP_NE", Op::Ne),
        ("SCMP_CMP_LT", Op::Lt),
        ("SCMP_CMP_LE", Op::Le),
        ("SCMP_CMP_EQ", Op::Eq),
        ("SCMP_CMP_GE", Op::Ge),
        ("SCMP_CMP_GT", Op::Gt),
        ("SCMP_CMP_MASKED_EQ", Op::MaskedEq),
    ];

    /// The operator with this name.
    pub fn from_name(name: &str) -> Option<Op> {
        Op::NAMES.into_iter().find(|(known, _)| *known == name).map(|(_, op)| op)
    }

    /// The priority among comparisons of the same word; the largest comes first.
    pub(crate) fn class(self) -> u8 {
        match self {
            Op::Eq | Op::Ne | Op::MaskedEq => 3,
            Op::Lt | Op::Le => 2,
            Op::Ge | Op::Gt => 1,
        }
    }

    /// Whether it needs more nodes than words, some with the same successor.
    pub(crate) fn is_relational(self) -> bool {
        !matches!(self, Op::Eq | Op::MaskedEq)
    }

    /// Whether smaller constants come first.
    pub(crate) fn is_ascending(self) -> bool {
        matches!(self, Op::Lt | Op::Le)
    }
}

/// A comparison of one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The index of the argument.
    pub arg: usize,
    /// The operator.
    pub op: Op,
    /// The bits that are compared.
    pub mask: u64,
    /// The value with which the argument is compared.
    pub datum: u64,
}

impl Comparison {
    /// Whether it holds for these arguments.
    pub(crate) fn holds(&self, args: &[u64; 6], width: u64) -> bool {
        let (mask, datum) = (self.mask & width, self.datum & width);
        let value = args.get(self.arg).copied().unwrap_or(0) & width;
        match self.op {
            Op::Ne => value != datum,
            Op::Lt => value < datum,
            Op::Le => value <= datum,
            Op::Eq => value == datum,
            Op::Ge => value >= datum,
            Op::Gt => value > datum,
            Op::MaskedEq => value & mask == datum,
        }
    }
}

/// A conditional rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// All must hold; sorted by argument.
    pub comparisons: Vec<Comparison>,
    /// The verdict.
    pub action: u32,
}
