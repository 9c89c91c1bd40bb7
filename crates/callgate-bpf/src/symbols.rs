//! The values of names in program text: constants of the kernel's headers, and syscalls.

use crate::SyscallTable;
use crate::advice::Advice;
use crate::diagnostic::Help;
use std::cell::Cell;

use crate::disasm::CODE_PARTS;
use crate::syscalls::nearest_name;
use crate::text::TextOptions;
use crate::token::{Token, quote};
use crate::{constants, names};
use callgate_core::{Arch, Endian, X32_SYSCALL_BIT, errno_number};

/// The machine whose names a text uses.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// The architecture of syscalls and constants, if it is known.
    arch: Option<Arch>,
    pub(crate) endian: Endian,
    /// How many unknown names may still get a suggestion, which takes a comparison with all names.
    suggestions: Cell<u32>,
}

/// As many as there are messages.
const MAX_SUGGESTIONS: u32 = 20;

/// Why a name has no value.
pub(crate) struct Missing {
    pub(crate) message: String,
    pub(crate) help: Help,
}

/// Constants that no other table has.
const OTHERS: &[(&str, u32)] = &[
    ("SECCOMP_RET_DATA", 0xffff),
    ("SECCOMP_RET_ACTION", 0x7fff_0000),
    ("SECCOMP_RET_ACTION_FULL", 0xffff_0000),
    ("__X32_SYSCALL_BIT", X32_SYSCALL_BIT),
    ("X32_SYSCALL_BIT", X32_SYSCALL_BIT),
    ("__AUDIT_ARCH_64BIT", 0x8000_0000),
    ("__AUDIT_ARCH_LE", 0x4000_0000),
    ("EM_386", 3),
    ("EM_ARM", 40),
    ("EM_X86_64", 62),
    ("EM_AARCH64", 183),
    ("EM_RISCV", 243),
    ("UINT32_MAX", u32::MAX),
    ("STDIN_FILENO", 0),
    ("STDOUT_FILENO", 1),
    ("STDERR_FILENO", 2),
    ("ETH_P_IP", 0x0800),
    ("ETH_P_ARP", 0x0806),
    ("ETH_P_IPV6", 0x86dd),
    ("IPPROTO_ICMP", 1),
    ("IPPROTO_TCP", 6),
    ("IPPROTO_UDP", 17),
    ("SKF_AD_OFF", callgate_core::SKF_AD_OFF),
    ("SKF_NET_OFF", callgate_core::SKF_NET_OFF),
    ("SKF_LL_OFF", callgate_core::SKF_LL_OFF),
    ("__LITTLE_ENDIAN", 1234),
    ("__BIG_ENDIAN", 4321),
    ("__ORDER_LITTLE_ENDIAN__", 1234),
    ("__ORDER_BIG_ENDIAN__", 4321),
];

/// Constants of `golang.org/x/net/bpf`.
#[rustfmt::skip]
const GO: &[(&str, u32)] = &[
    ("RegA", 0), ("RegX", 1),
    ("ALUOpAdd", 0x00), ("ALUOpSub", 0x10), ("ALUOpMul", 0x20), ("ALUOpDiv", 0x30), ("ALUOpOr", 0x40),
    ("ALUOpAnd", 0x50), ("ALUOpShiftLeft", 0x60), ("ALUOpShiftRight", 0x70), ("ALUOpMod", 0x90),
    ("ALUOpXor", 0xa0),
    ("JumpEqual", 0), ("JumpNotEqual", 1), ("JumpGreaterThan", 2), ("JumpLessThan", 3),
    ("JumpGreaterOrEqual", 4), ("JumpLessOrEqual", 5), ("JumpBitsSet", 6), ("JumpBitsNotSet", 7),
    ("ExtLen", 1), ("ExtProto", 0), ("ExtType", 4), ("ExtInterfaceIndex", 8), ("ExtNetlinkAttr", 12),
    ("ExtNetlinkAttrNested", 16), ("ExtMark", 20), ("ExtQueue", 24), ("ExtLinkLayerType", 28),
    ("ExtRXHash", 32), ("ExtCPUID", 36), ("ExtVLANTag", 44), ("ExtVLANTagPresent", 48),
    ("ExtPayloadOffset", 52), ("ExtRand", 56), ("ExtVLANProto", 60),
];

impl Names {
    /// The names of a text, for the architecture that it names if that is only one.
    pub(crate) fn of(tokens: &[Token<'_>], options: &TextOptions) -> Names {
        Names::new(options.arch(|| only_arch_in(tokens)), options.endian())
    }

    /// The names of an architecture.
    pub(crate) fn new(arch: Option<Arch>, endian: Endian) -> Names {
        Names { arch, endian, suggestions: Cell::new(MAX_SUGGESTIONS) }
    }

    /// The architecture, if it is known.
    pub(crate) fn arch(&self) -> Option<Arch> {
        self.arch
    }

    /// The value of a name with 32 bits. `is_go` selects Go's spelling of syscalls (`SYS_READ`).
    pub(crate) fn value(&self, name: &str, is_go: bool) -> Result<Option<u32>, Missing> {
        let value = self.integer(name, is_go)?;
        let fits = |number: i128| u32::try_from(number).is_ok() || i32::try_from(number).is_ok();
        Ok(value.filter(|(number, _)| fits(*number)).map(|(number, _)| number as u32))
    }

    /// The value of a name, and whether its type is `int`, or `unsigned int` for one that an `int` does not have. The types of
    /// other constants differ between headers.
    pub(crate) fn integer(&self, name: &str, is_go: bool) -> Result<Option<(i128, bool)>, Missing> {
        if let Some((syscall, is_upper)) = syscall(name, is_go) {
            let lower = if is_upper { syscall.to_ascii_lowercase() } else { syscall.to_owned() };
            let is_exact = self.arch != Some(Arch::X32);
            return self.number(name, &lower).map(|number| Some((i128::from(number), is_exact)));
        }
        let exact = |value: u32| (i128::from(value), true);
        let part =
            || CODE_PARTS.iter().find(|part| part.name == name).map(|part| u32::from(part.bits));
        let other =
            || OTHERS.iter().chain(GO).find(|(known, _)| *known == name).map(|(_, value)| *value);
        let action = || name.starts_with("SECCOMP_RET_").then(|| names::action(name)).flatten();
        let constant = || Some((signed(constants::value(self.arch?, name)?), false));
        // Those of MIPS and PA-RISC differ.
        let errno = || {
            let usual = i128::from(errno_number(name)?);
            Some((constant().map_or(usual, |(number, _)| number), true))
        };
        let value = part()
            .map(exact)
            .or_else(|| other().map(|value| (of_other(name, value), !name.starts_with("SKF_"))))
            .or_else(|| action().map(|verdict| exact(verdict.0)))
            .or_else(|| arch_of_token(name).map(|arch| exact(arch.token())))
            .or_else(errno)
            .or_else(|| self.of_machine(name).map(exact))
            .or_else(constant);
        if value.is_none() && self.arch.is_none() && constants::is_name(name) {
            return Err(self.no_arch(name));
        }
        Ok(value)
    }

    /// The number of a syscall.
    fn number(&self, given: &str, name: &str) -> Result<u32, Missing> {
        let Some(arch) = self.arch else { return Err(self.no_arch(given)) };
        if let Some(number) = arch.number(name) {
            return Ok(number);
        }
        let others = Arch::ALL.iter().filter(|other| other.number(name).is_some());
        let others: Vec<&str> = others.map(|other| other.name()).collect();
        if others.is_empty() {
            let left = self.suggestions.get();
            self.suggestions.set(left.saturating_sub(1));
            let nearest = if left > 0 { nearest_name(name) } else { None };
            return Err(Missing {
                message: format!("{} is not a syscall", quote(given)),
                help: nearest
                    .map_or(String::new(), |nearest| format!("did you mean `{nearest}`?"))
                    .into(),
            });
        }
        let shown = others.get(..4).map_or(others.join(", "), |some| some.join(", ") + ", …");
        Err(Missing {
            message: format!("{} does not exist on {arch}, but on {shown}", quote(given)),
            help: Advice::ProgramArch.into(),
        })
    }

    /// Names whose values depend on the machine only.
    fn of_machine(&self, name: &str) -> Option<u32> {
        let order = || if self.endian == Endian::Little { 1234 } else { 4321 };
        match name {
            // The names that most examples of seccomp filters define, and that OpenSSH's configuration does.
            "ARCH_NR" | "SECCOMP_AUDIT_ARCH" => self.arch.map(Arch::token),
            "__BYTE_ORDER" | "__BYTE_ORDER__" => Some(order()),
            _ => None,
        }
    }

    fn no_arch(&self, name: &str) -> Missing {
        Missing {
            message: format!("the value of {} depends on the architecture", quote(name)),
            help: Advice::ProgramArch.into(),
        }
    }
}

/// The syscall of `__NR_read` or `SYS_read`, and whether it is spelled in capitals, as Go does.
fn syscall(name: &str, is_go: bool) -> Option<(&str, bool)> {
    let lower = |name: &str| !name.is_empty() && !name.contains(|c: char| c.is_ascii_uppercase());
    if let Some(name) = name.strip_prefix("__NR_").or_else(|| name.strip_prefix("__SNR_")) {
        return lower(name).then_some((name, false));
    }
    let name = name.strip_prefix("SYS_")?;
    match lower(name) {
        true => Some((name, false)),
        false => is_go.then_some((name, true)),
    }
}

/// The architecture of a name such as `AUDIT_ARCH_X86_64`.
fn arch_of_token(name: &str) -> Option<Arch> {
    Arch::ALL.iter().copied().find(|arch| arch.audit_name() == name)
}

/// A constant of the table, in which a negative one has 64 bits.
fn signed(value: u64) -> i128 {
    let is_negative = value >> 31 == (1 << 33) - 1;
    if is_negative { i128::from(value as i64) } else { i128::from(value) }
}

/// The value of one of the other constants; the offsets of extensions are negative.
fn of_other(name: &str, value: u32) -> i128 {
    if name.starts_with("SKF_") { i128::from(value as i32) } else { i128::from(value) }
}

/// The architecture whose name a text has, if that is only one.
pub(crate) fn only_arch_in(tokens: &[Token<'_>]) -> Option<Arch> {
    let mut arches = tokens
        .iter()
        .filter(|token| token.is_name() && token.text.starts_with("AUDIT_ARCH_"))
        .filter_map(|token| arch_of_token(token.text));
    let first = arches.next()?;
    arches.all(|arch| arch == first).then_some(first)
}
