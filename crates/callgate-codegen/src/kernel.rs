//! The costs of instructions in one kernel, and the forms that they depend on.

use callgate_core::Op;

/// What the instructions of a program cost in one kernel. All figures are numbers of machine instructions.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// The version and the machine; `interpreter` if there is no JIT compiler, or if it is disabled.
    pub name: &'static str,
    /// `ld` of arch, number, low half and high half of an argument.
    pub loads: [u16; 4],
    /// `and` with a constant below 0x80000000, and from there on.
    pub ands: [u16; 2],
    /// `sub` of a constant.
    pub sub: u16,
    /// `tax`.
    pub tax: u16,
    /// `ld` of a constant.
    pub constant: u16,
    /// `rsh` by X.
    pub shift: u16,
    /// `ja`, also to another `ja`.
    pub ja: u16,
    /// The further cost of a `ret` relative to the only one of a program: the first of several, one that is neither
    /// the first nor the last, and the last.
    pub returns: [u16; 3],
    /// Conditional jumps: comparisons (`jeq`, `jgt`, `jge`) and `jset`, by [`Constant`], by [`Next`]; where the result is true, and
    /// where it is false.
    pub jumps: [[[[u16; 2]; 3]; 4]; 2],
}

/// Classes of constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Constant {
    /// 12 bits, possibly shifted by 12.
    Short,
    /// Others of which only the low half or the high half is not zero.
    Half,
    /// Others below 0x80000000.
    Long,
    /// From 0x80000000 on.
    High,
}

impl Constant {
    /// All classes.
    pub const ALL: [Constant; 4] =
        [Constant::Short, Constant::Half, Constant::Long, Constant::High];

    /// The class of a constant.
    pub const fn of(k: u32) -> Constant {
        match k {
            0x8000_0000.. => Constant::High,
            0..0x1000 => Constant::Short,
            0x1000..0x100_0000 if k & 0xfff == 0 => Constant::Short,
            _ if k & 0xffff == 0 || k >> 16 == 0 => Constant::Half,
            _ => Constant::Long,
        }
    }
}

/// Which side of a conditional jump is the next instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Next {
    /// The true side.
    True,
    /// The false side.
    False,
    /// Neither.
    Neither,
}

impl Next {
    /// All cases.
    pub const ALL: [Next; 3] = [Next::True, Next::False, Next::Neither];

    /// The case of a conditional jump with these displacements.
    pub const fn of(jt: usize, jf: usize) -> Next {
        match (jt, jf) {
            (_, 0) => Next::False,
            (0, _) => Next::True,
            _ => Next::Neither,
        }
    }

    /// Whether the kernel's code takes a jump where the result is true, and where it is false.
    pub fn taken(self, op: Op) -> [bool; 2] {
        match self {
            Next::False => [true, false],
            // The kernel negates the comparison; there is no negation of `jset`, which jumps over a `ja`.
            Next::True => [op == Op::JsetK, true],
            Next::Neither => [true, true],
        }
    }
}

impl Kernel {
    /// The conditional jumps on a constant.
    pub const JUMPS: [Op; 4] = [Op::JeqK, Op::JgtK, Op::JgeK, Op::JsetK];

    /// What a conditional jump costs where its result is true, and where it is false.
    pub fn jump(&self, op: Op, k: u32, next: Next) -> [u16; 2] {
        self.jumps[usize::from(op == Op::JsetK)][Constant::of(k) as usize][next as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_have_classes() {
        use Constant::{Half, High, Long, Short};
        for (k, class) in [
            (0, Short),
            (0xfff, Short),
            (0x1000, Short),
            (0x1001, Half),
            (0xff_f000, Short),
            (0x100_0000, Half),
            (0xffff, Half),
            (0x1_0001, Long),
            (0x7fff_ffff, Long),
            (0x8000_0000, High),
            (u32::MAX, High),
        ] {
            assert_eq!(Constant::of(k), class, "{k:#x}");
        }
        assert!(Constant::ALL.is_sorted() && Next::ALL.is_sorted(), "they are indexes");
    }
}
