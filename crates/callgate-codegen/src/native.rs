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
//! [`KERNELS`] has what Debian's newest kernels execute in emulation, where instructions are counted exactly: `cargo lab kernels
//! costs --check` repeats the measurement, and `lab/results/kernels.md` shows the figures of more kernels.

use callgate_core::Arch;

pub use crate::kernel::{Constant, Kernel, Next};
pub use crate::measured::KERNELS;

/// What a taken jump costs besides its instruction, in machine instructions: it interrupts the fetch of instructions. On
/// the machine of the [cost models](crate::cost), a conditional jump with its comparison takes 0.134 ns if it is not taken
/// and 0.36 ns if it is taken.
pub const TAKEN: f64 = (0.36 - 0.134) / (0.134 / 2.0);

/// The kernel for whose costs a filter of this arch token is generated. Other machines than arm64 get that of x86-64, which makes
/// one machine instruction of most eBPF instructions.
pub fn kernel(token: u32) -> &'static Kernel {
    let [amd64, arm64] = &KERNELS;
    let is_arm = [Arch::Aarch64, Arch::Arm].iter().any(|arch| arch.token() == token);
    if is_arm { arm64 } else { amd64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_core::Op;

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
                    let [when, otherwise] = of(Next::True);
                    assert_eq!(otherwise, when + with_ja, "{}", kernel.name);
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
