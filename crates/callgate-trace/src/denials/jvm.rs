//! Error logs of the JVM (`hs_err_pid7.log`) about `SIGSYS`: the header or the line `siginfo:`, and the registers below it.
//!
//! The kernel restores the registers before it sends the signal (`syscall_rollback` in `__seccomp_filter`, `kernel/seccomp.c`), so
//! that of the number has it, and its name tells the architecture (`os::print_context` in HotSpot's `os_cpu/linux_*`). x86-64 has an `R8`,
//! too, but prints `RAX` before it.

use callgate_bpf::SyscallTable;
use callgate_core::Arch;

use super::model::kept;
use crate::recording::SyscallId;

/// How many lines below the header the registers may be: the stack of the thread is before them.
const MAX_LINES: u64 = 600;

/// A header whose registers may follow.
#[derive(Debug)]
pub(super) struct JvmLog {
    /// The line of the header.
    pub(super) line: u64,
    /// The start of it.
    pub(super) text: String,
    /// Whether a process sent the signal, and not a filter.
    is_sent: bool,
    register: Option<SyscallId>,
}

/// `#  SIGSYS (0x1f) at pc=0x…, pid=7, tid=8`, `siginfo: si_signo: 31 (SIGSYS), si_code: 1 (…)`.
pub(super) fn header(text: &str, line: u64) -> Option<JvmLog> {
    let is_info = text.trim_start().starts_with("siginfo:")
        && ["si_signo: 31 (SIGSYS)", "si_signo=SIGSYS"].iter().any(|part| text.contains(part));
    let is_header = is_info || text.contains("SIGSYS (0x1f) at pc=");
    is_header.then(|| JvmLog { line, text: kept(text), is_sent: is_sent(text), register: None })
}

/// Whether a line with the code of the signal says that a process sent it: SYS_SECCOMP is 1.
fn is_sent(text: &str) -> bool {
    let code = ["si_code: ", "si_code="].iter().find_map(|key| text.split_once(key));
    code.is_some_and(|(_, rest)| rest.split([' ', ',']).next() != Some("1"))
}

impl JvmLog {
    /// Reads a line below the header; returns whether more lines may tell.
    pub(super) fn line(&mut self, text: &str, line: u64) -> bool {
        self.is_sent |= text.trim_start().starts_with("siginfo:") && is_sent(text);
        let Some((arch, value)) = register(text) else { return line < self.line + MAX_LINES };
        // A newer kernel may have it.
        let may_be_new = |nr: &u32| *nr < 4096 || arch.syscall_name(*nr).is_some();
        let nr = u32::try_from(value).ok().filter(may_be_new);
        self.register = nr.map(|nr| SyscallId::new(arch, nr));
        false
    }

    /// The syscall.
    pub(super) fn syscall(&self) -> Option<SyscallId> {
        self.register.filter(|_| !self.is_sent)
    }
}

/// The register of the number in a line of registers: `RAX=0x00000000000000a5, RBX=…`, `R8=0x…`, `  r7  = 0x…`.
fn register(text: &str) -> Option<(Arch, u64)> {
    let (name, rest) = text.split_once('=')?;
    let arch = match name.trim() {
        "RAX" => Arch::X86_64,
        "EAX" => Arch::X86,
        "R8" => Arch::Aarch64,
        "r7" => Arch::Arm,
        _ => return None,
    };
    let digits = rest.trim_start().strip_prefix("0x")?;
    let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
    Some((arch, u64::from_str_radix(digits.get(..end)?, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{one, read};

    const HEAD: &str = "#\n# A fatal error has been detected by the Java Runtime Environment:\n#\n\
                        #  SIGSYS (0x1f) at pc=0x00007f0012345678, pid=7, tid=8\n#\n# JRE version: OpenJDK (21.0.4)\n";

    fn log(info: &str, registers: &str) -> String {
        let frames = "C  [libc.so.6+0x11ea9d]  syscall+0x1d\n".repeat(60);
        format!("{HEAD}{frames}\nsiginfo: si_signo: 31 (SIGSYS), {info}\n\nRegisters:\n{registers}")
    }

    const SECCOMP: &str = "si_code: 1 (unknown)";

    #[test]
    fn the_register_of_the_number_names_the_syscall_and_the_architecture() {
        let x86_64 = "RAX=0x00000000000001a9, RBX=0x0000000000000000, RCX=0x0\n\
                      RSP=0x00007f0012345678, RBP=0x0, RSI=0x0, RDI=0x0\nR8 =0x0000000000000028, R9 =0x0\n";
        let aarch64 = "R0=0x0000000000000000\nR1=0x0000000000000001\nR8=0x0000000000000028\n";
        for (registers, expected) in [
            (x86_64, "x86_64 io_uring_setup"),
            (aarch64, "aarch64 mount"),
            ("EAX=0x00000015, EBX=0x0\n", "x86 mount"),
            ("  r0  = 0x00000000\n  r7  = 0x00000015\n", "arm mount"),
        ] {
            let denial = one(&log(SECCOMP, registers));
            let id = denial.call.syscall;
            assert_eq!(format!("{} {}", id.arch, id.name().unwrap()), expected);
            assert!(denial.has_signal && denial.count == 1);
        }
    }

    #[test]
    fn without_the_registers_or_the_filter_no_syscall_is_known() {
        for text in [
            log(SECCOMP, ""),
            log(SECCOMP, "RAX=0x00007f0012345678, RBX=0x0\n"),
            log("si_code: 0 (SI_USER)", "RAX=0x00000000000000a5, RBX=0x0\n"),
            HEAD.to_owned(),
        ] {
            let found = read(text.as_bytes(), 64);
            assert_eq!((found.denials.len(), found.unread.count), (0, 1), "{text}");
        }
    }
}
