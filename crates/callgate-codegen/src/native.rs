//! What the instructions of a program cost in the kernel, in machine instructions.
//!
//! The kernel translates a program to eBPF (`bpf_convert_filter` in `net/core/filter.c`), and a JIT compiler or an
//! interpreter executes that. So the cost of an instruction depends on its form:
//! - A constant from 0x80000000 on would be negative in an eBPF instruction, so a jump on it first moves it into a
//!   register.
//! - A conditional jump is one eBPF instruction if its false side is the next instruction; `jeq`, `jgt` and `jge` also if
//!   the true side is. Otherwise a `ja` to the false side follows. How far the sides are away does not matter.
//! - The JIT compiler of x86-64 emits the epilogue at the first `ret`; the others jump there. That of arm64 emits it after
//!   the last one.
//! - On arm64, a comparison contains 12 bits of a constant, possibly shifted by 12; others are moved into a register
//!   first, 16 bits per instruction.
//!
//! [`KERNELS`] has what Debian's kernels execute in emulation, where instructions are counted exactly: `cargo xtask kernels
//! costs --check` repeats the measurement, and `docs/kernels.md` shows the table.

use callgate_bpf::Op;

pub use crate::measured::KERNELS;

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
    /// Conditional jumps: by operation ([`Kernel::JUMPS`]), by [`Constant`], by [`Next`]; where the result is true, and
    /// where it is false.
    pub jumps: [[[[u16; 2]; 3]; 4]; 4],
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
        let of_op = match op {
            Op::JgtK => &self.jumps[1],
            Op::JgeK => &self.jumps[2],
            Op::JsetK => &self.jumps[3],
            _ => &self.jumps[0],
        };
        of_op[Constant::of(k) as usize][next as usize]
    }
}

/// What a taken jump costs besides its instruction, in machine instructions: it interrupts the fetch of instructions. On
/// the machine of the [cost models](crate::cost), a conditional jump with its comparison takes 0.134 ns if it is not taken
/// and 0.36 ns if it is taken.
pub const TAKEN: f64 = (0.36 - 0.134) / (0.134 / 2.0);

/// The kernel for whose costs a filter of this arch token is generated: the newest one of the machine, with its JIT
/// compiler. Other machines than arm64 get that of x86-64, which makes one machine instruction of most eBPF instructions.
pub fn kernel(token: u32) -> &'static Kernel {
    let machine = match token {
        AARCH64 | ARM => "arm64",
        _ => "amd64",
    };
    let newest = KERNELS.iter().rev().find(|kernel| kernel.name.ends_with(machine));
    newest.unwrap_or(&KERNELS[0])
}

const AARCH64: u32 = callgate_bpf::syscalls::Arch::Aarch64.token();
const ARM: u32 = callgate_bpf::syscalls::Arch::Arm.token();

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::syscalls::Arch;

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

    /// What the code of the kernel says.
    #[test]
    fn the_measured_costs_agree_with_the_translation_to_ebpf() {
        for kernel in &KERNELS {
            for op in Kernel::JUMPS {
                for k in [5, 0x1235, 0x1234_5678] {
                    let of = |next| kernel.jump(op, k, next);
                    let (near, far) = (of(Next::False), of(Next::Neither));
                    assert_eq!(near[0], far[0], "{}", kernel.name);
                    // `ja` for the false side.
                    assert_eq!(near[1] + kernel.ja, far[1], "{}", kernel.name);
                    let with_ja = if op == Op::JsetK { kernel.ja } else { 0 };
                    assert_eq!(of(Next::True)[1], of(Next::True)[0] + with_ja, "{}", kernel.name);
                }
            }
        }
        let x86 = kernel(Arch::X86_64.token());
        assert_eq!(x86.jump(Op::JeqK, 0x7fff_ffff, Next::False), [2, 2]);
        assert_eq!(x86.jump(Op::JeqK, 0x8000_0000, Next::False), [3, 3]);
    }

    #[test]
    fn every_machine_has_a_kernel() {
        assert_eq!(kernel(Arch::X86.token()).name, "6.12 amd64");
        assert_eq!(kernel(Arch::Arm.token()).name, "6.12 arm64");
        assert_eq!(kernel(Arch::S390x.token()).name, "6.12 amd64");
    }
}
