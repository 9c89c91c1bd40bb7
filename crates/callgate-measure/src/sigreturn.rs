//! `rt_sigreturn`, made with a signal frame that this process writes itself.
//!
//! The syscall returns to the registers of the frame that the stack pointer points to. Here the frame returns to the
//! instruction after the syscall, with the stack pointer as before; the other registers are lost, as declared. If a filter
//! denies the syscall, execution continues there, too. It is possible on x86-64 only: on aarch64 the frame needs a record
//! with all vector registers.
//!
//! The signal mask of the frame is empty, its alternate stack disabled, and it has no floating-point state, which the
//! kernel therefore resets to the values that Rust assumes.

#[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
mod frame {
    use std::cell::UnsafeCell;
    use std::mem::offset_of;

    /// `struct sigcontext` of x86-64 (arch/x86/include/uapi/asm/sigcontext.h).
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Registers {
        /// r8 to r15, di, si.
        others: [u64; 10],
        bp: u64,
        bx: u64,
        /// dx, ax, cx.
        scratch: [u64; 3],
        sp: u64,
        ip: u64,
        flags: u64,
        /// cs, gs, fs, ss.
        segments: [u16; 4],
        /// err, trapno, oldmask, cr2.
        trap: [u64; 4],
        fpstate: u64,
        reserved: [u64; 8],
    }

    /// `struct ucontext` (asm-generic). The stack pointer of the syscall is its address.
    #[repr(C, align(64))]
    #[derive(Clone, Copy)]
    struct Context {
        flags: u64,
        link: u64,
        stack: [u64; 3],
        registers: Registers,
        mask: u64,
    }

    const SP: usize = offset_of!(Context, registers) + offset_of!(Registers, sp);
    const IP: usize = offset_of!(Context, registers) + offset_of!(Registers, ip);
    const BP: usize = offset_of!(Context, registers) + offset_of!(Registers, bp);
    const BX: usize = offset_of!(Context, registers) + offset_of!(Registers, bx);

    /// The frame, and space below it for a signal that arrives while the stack pointer points to it.
    #[repr(C, align(64))]
    struct Stack {
        below: [u8; 32 << 10],
        context: Context,
        /// The kernel reads `siginfo` behind the context only for debuggers.
        behind: [u8; 256],
    }

    const EMPTY: Stack = Stack {
        below: [0; 32 << 10],
        context: Context {
            // UC_SIGCONTEXT_SS and UC_STRICT_RESTORE_SS: ss is that of the frame.
            flags: 6,
            link: 0,
            // SS_DISABLE.
            stack: [0, 2, 0],
            registers: Registers {
                others: [0; 10],
                bp: 0,
                bx: 0,
                scratch: [0; 3],
                sp: 0,
                ip: 0,
                // Interrupts are enabled; bit 1 is always set.
                flags: 0x202,
                // The user's code and stack segments (arch/x86/include/asm/segment.h).
                segments: [0x33, 0, 0, 0x2b],
                trap: [0; 4],
                fpstate: 0,
                reserved: [0; 8],
            },
            mask: 0,
        },
        behind: [0; 256],
    };

    /// A frame. It exists before filters are installed, because they may deny what an allocation needs.
    pub(crate) struct SignalFrame(Box<UnsafeCell<Stack>>);

    impl SignalFrame {
        pub(crate) fn new() -> SignalFrame {
            SignalFrame(Box::new(UnsafeCell::new(EMPTY)))
        }

        /// Makes the syscall.
        #[inline]
        pub(crate) fn signal_return(&self) {
            // SAFETY: the place is in the allocation. This thread alone uses it: the type is not `Sync`.
            let context = unsafe { &raw mut (*self.0.get()).context };
            // SAFETY: the kernel loads the registers that were written here. The stack pointer, the base pointer and rbx keep
            // their values, execution continues at the label, and all other registers are declared as changed. Nothing is
            // written to the stack meanwhile.
            unsafe {
                std::arch::asm!(
                    "mov [r12 + {bx}], rbx",
                    "mov [r12 + {bp}], rbp",
                    "mov [r12 + {sp}], rsp",
                    "lea rax, [rip + 2f]",
                    "mov [r12 + {ip}], rax",
                    "mov r13, rsp",
                    "mov rsp, r12",
                    "xor edi, edi",
                    "xor esi, esi",
                    "xor edx, edx",
                    "xor r8d, r8d",
                    "xor r9d, r9d",
                    "xor r10d, r10d",
                    "mov eax, 15",
                    "syscall",
                    // Only if it was denied.
                    "mov rsp, r13",
                    "2:",
                    bx = const BX,
                    bp = const BP,
                    sp = const SP,
                    ip = const IP,
                    inout("r12") context => _,
                    out("r13") _, out("r14") _, out("r15") _,
                    clobber_abi("C"),
                );
            }
        }
    }
}

#[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
pub(crate) use frame::SignalFrame;

/// Whether it can be made on this machine.
pub(crate) const IS_POSSIBLE: bool = cfg!(all(target_arch = "x86_64", target_pointer_width = "64"));

/// Does nothing: [`IS_POSSIBLE`] is false.
#[cfg(not(all(target_arch = "x86_64", target_pointer_width = "64")))]
pub(crate) struct SignalFrame;

#[cfg(not(all(target_arch = "x86_64", target_pointer_width = "64")))]
impl SignalFrame {
    pub(crate) fn new() -> SignalFrame {
        SignalFrame
    }

    pub(crate) fn signal_return(&self) {}
}

#[cfg(all(test, target_arch = "x86_64", target_pointer_width = "64"))]
mod tests {
    use super::*;

    /// The registers of the caller, its stack and floating point survive.
    #[test]
    fn execution_continues_after_the_syscall() {
        let frame = SignalFrame::new();
        let mut sum = 0.0f64;
        let numbers: Vec<u64> = (0..100).collect();
        for number in &numbers {
            let before = std::hint::black_box(*number);
            frame.signal_return();
            sum += before as f64 * 0.5;
        }
        assert_eq!(sum, 2475.0);
        assert_eq!(numbers.iter().sum::<u64>(), 4950);
    }
}
