//! Tracebacks of Go programs that got `SIGSYS`: the header, the frames of goroutines and the registers below them.
//!
//! Go's runtime has a handler for the signal, so this is how a filter that returns TRAP ends a Go program. The kernel restores the
//! registers before it sends the signal (`syscall_rollback` in `__seccomp_filter`, `kernel/seccomp.c`), so that of the number has
//! it, and names the architecture (`dumpregs` in Go's `runtime/signal_*.go` prints one register a line). Where the registers are cut
//! off, the frame of the function that makes syscalls has the number as its first argument, unless a question mark says that it may
//! have changed since.

use callgate_core::Arch;

use super::model::kept;
use crate::recording::SyscallId;

/// How many lines below the header the registers may be: each goroutine has its frames before them.
const MAX_LINES: u64 = 10_000;

/// A header whose registers may follow.
#[derive(Debug)]
pub(super) struct GoTraceback {
    /// The line of the header.
    pub(super) line: u64,
    /// The start of it.
    pub(super) text: String,
    /// Whether a process sent the signal, and not a filter.
    is_sent: bool,
    /// Whether the registers are those of 32-bit ARM, which begin with the number of the trap.
    is_arm: bool,
    frame: Option<u32>,
    register: Option<SyscallId>,
}

/// `SIGSYS: bad system call`.
pub(super) fn header(text: &str, line: u64) -> Option<GoTraceback> {
    let is_header = text.trim() == "SIGSYS: bad system call";
    is_header.then(|| GoTraceback {
        line,
        text: kept(text),
        is_sent: false,
        is_arm: false,
        frame: None,
        register: None,
    })
}

impl GoTraceback {
    /// Reads a line below the header; returns whether more lines may tell.
    pub(super) fn line(&mut self, text: &str, line: u64) -> bool {
        // `PC=0x47b2a4 m=0 sigcode=1`: SYS_SECCOMP.
        let code = text.split_ascii_whitespace().find_map(|word| word.strip_prefix("sigcode="));
        self.is_sent |= code.is_some_and(|code| code != "1");
        self.frame = self.frame.or_else(|| frame(text));
        self.is_arm |= text.starts_with("trap ");
        self.register = register(text, self.is_arm);
        self.register.is_none() && line < self.line + MAX_LINES
    }

    /// The syscall, and whether its architecture is that of this reader.
    pub(super) fn syscall(&self, arch: Arch) -> Option<(SyscallId, bool)> {
        let of_register = self.register.map(|syscall| (syscall, false));
        let of_frame = || self.frame.map(|nr| (SyscallId::new(arch, nr), true));
        of_register.or_else(of_frame).filter(|_| !self.is_sent)
    }
}

/// The number in the frame of a function that makes any syscall: `syscall.RawSyscall6(0xa5, 0x0, …)`.
fn frame(text: &str) -> Option<u32> {
    let (function, rest) = text.trim().split_once("(0x")?;
    let name = function.rsplit('.').next()?.to_ascii_lowercase();
    const NAMES: [&str; 7] = [
        "syscall",
        "syscall6",
        "rawsyscall",
        "rawsyscall6",
        "rawsyscallnoerror",
        "syscallnoerror",
        "rawvforksyscall",
    ];
    let end = rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len());
    let (digits, after) = rest.split_at(end);
    let is_exact = !after.starts_with('?');
    let nr = u32::from_str_radix(digits, 16).ok();
    nr.filter(|_| is_exact && function.contains('.') && NAMES.contains(&name.as_str()))
}

/// The syscall in the line of the register of its number: `rax    0xa5`, on RISC-V with another register behind it.
fn register(text: &str, is_arm: bool) -> Option<SyscallId> {
    let mut words = text.split_ascii_whitespace();
    let (arch, is_alone) = match words.next()? {
        // That of x86-64 has an `r8`, too, which follows.
        "rax" => (Arch::X86_64, true),
        "eax" => (Arch::X86, true),
        "r7" if is_arm => (Arch::Arm, true),
        // Other architectures print several registers in a line.
        "r8" => (Arch::Aarch64, true),
        "a7" => (Arch::Riscv64, false),
        _ => return None,
    };
    let digits = words.next()?.strip_prefix("0x")?;
    let nr = u32::from_str_radix(digits, 16).ok()?;
    (words.next().is_none() == is_alone).then(|| SyscallId::new(arch, nr))
}
