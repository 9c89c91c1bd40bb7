//! Crash dumps of Android (tombstones): the sentence about the cause, and the registers below it.
//!
//! The sentence has the number that the kernel put into the signal (`si_syscall`). Where the signal was sent again without it, the
//! sentence says 0, which is a syscall, too; then only the register of the number tells. The kernel restores the registers before
//! it sends the signal (`syscall_rollback` in `__seccomp_filter`, `kernel/seccomp.c`), so the register has the number on
//! all architectures.

use callgate_bpf::SyscallTable;
use callgate_core::Arch;
use callgate_formats::diagnostics::quote::shorten;

use super::model::kept;
use crate::recording::SyscallId;

/// How many lines below the sentence the registers may be.
const MAX_LINES: u64 = 24;

/// A sentence whose registers may follow.
#[derive(Debug)]
pub(super) struct Tombstone {
    /// The line of the sentence.
    pub(super) line: u64,
    arch: Arch,
    /// The number in the sentence.
    said: u32,
    /// The register.
    found: Option<u64>,
    /// The start of the line.
    pub(super) text: String,
}

/// `seccomp prevented call to disallowed x86_64 system call 165`.
pub(super) fn sentence(text: &str, line: u64) -> Option<Result<Tombstone, String>> {
    let (_, rest) = text.split_once("seccomp prevented call to disallowed ")?;
    let (name, rest) = rest.split_once(" system call ")?;
    let Some(arch) = arch_of(name) else {
        return Some(Err(format!("unknown architecture \"{}\"", shorten(name))));
    };
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let number = rest.get(..end).and_then(|digits| digits.parse().ok());
    Some(match number {
        Some(said) => Ok(Tombstone { line, arch, said, found: None, text: kept(text) }),
        None => Err("missing or truncated number of the syscall".to_owned()),
    })
}

/// An architecture as Android names it.
fn arch_of(name: &str) -> Option<Arch> {
    match name {
        "arm64" => Some(Arch::Aarch64),
        other => Arch::from_name(other),
    }
}

/// The registers that have the number of the syscall, the most reliable first.
fn registers(arch: Arch) -> &'static [&'static str] {
    match arch {
        Arch::Aarch64 => &["x8"],
        Arch::Arm => &["r7"],
        Arch::X86_64 => &["orig_rax", "rax"],
        Arch::X86 => &["orig_eax", "eax"],
        Arch::Riscv64 => &["a7"],
        _ => &[],
    }
}

impl Tombstone {
    /// Reads a line below the sentence; returns whether more lines may tell.
    pub(super) fn line(&mut self, text: &str, line: u64) -> bool {
        self.found = registers(self.arch).iter().find_map(|name| register(text, name));
        let is_end = text.contains("backtrace:")
            || text.contains("*** ***")
            || line >= self.line + MAX_LINES;
        self.found.is_none() && !is_end
    }

    /// The syscall, or why it is not known.
    pub(super) fn syscall(&self) -> Result<SyscallId, String> {
        let Tombstone { arch, said, found, .. } = *self;
        let register = registers(arch).last().copied().unwrap_or("the register");
        let name = |nr: u64| {
            let narrow = u32::try_from(nr).ok();
            let name = narrow.and_then(|nr| arch.syscall_name(nr));
            name.map_or_else(|| nr.to_string(), |name| format!("{nr} ({name})"))
        };
        match (u64::from(said), found) {
            (0, None) => Err(format!(
                "the sentence says 0, which stands for an unknown syscall, and the line with the register {register} is missing"
            )),
            (said, Some(nr)) if said != 0 && said != nr => Err(format!(
                "the sentence says {}, but the register {register} has {}",
                name(said),
                name(nr)
            )),
            (said, found) => {
                let nr = found.unwrap_or(said);
                // A newer kernel may have it.
                let may_be_new = |nr: &u32| *nr < 4096 || arch.syscall_name(*nr).is_some();
                let nr = u32::try_from(nr).ok().filter(may_be_new);
                let nr = nr.ok_or_else(|| {
                    format!(
                        "{arch} has no syscall {}, which the register {register} has",
                        name(found.unwrap_or(said))
                    )
                })?;
                Ok(SyscallId::new(arch, nr))
            }
        }
    }
}

/// The value of a register in a line of registers: `x8   00000000000001b2  x9 …`, in some forms with `=` or a colon.
fn register(text: &str, name: &str) -> Option<u64> {
    let mut words =
        text.split([' ', '\t', '\n', '\r', '=', ':', ',']).filter(|word| !word.is_empty());
    words.find(|word| *word == name)?;
    let value = words.next()?;
    let digits = value.strip_prefix("0x").unwrap_or(value);
    u64::from_str_radix(digits, 16).ok().filter(|_| value.len() >= 8 || value != digits)
}
