//! The values of names in program text: constants of the kernel's headers, and syscalls.

use std::cell::Cell;

use crate::constants;
use crate::data::Endian;
use crate::disasm::CODE_PARTS;
use crate::lexer::{Token, TokenKind, quote};
use crate::names;
use crate::syscalls::{Arch, X32_SYSCALL_BIT, nearest_name};
use crate::text::TextOptions;
use crate::verdict::errno_number;

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
    pub(crate) help: String,
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
    ("ETH_P_IP", 0x0800),
    ("ETH_P_ARP", 0x0806),
    ("ETH_P_IPV6", 0x86dd),
    ("IPPROTO_ICMP", 1),
    ("IPPROTO_TCP", 6),
    ("IPPROTO_UDP", 17),
    ("SKF_AD_OFF", crate::ancillary::SKF_AD_OFF),
    ("SKF_NET_OFF", crate::ancillary::SKF_NET_OFF),
    ("SKF_LL_OFF", crate::ancillary::SKF_LL_OFF),
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

/// What the compilers of an architecture define.
const PREDEFINED: &[(Arch, &[&str])] = &[
    (Arch::X86_64, &["__x86_64__", "__x86_64", "__amd64__", "__LP64__"]),
    (Arch::X32, &["__x86_64__", "__x86_64", "__amd64__", "__ILP32__"]),
    (Arch::X86, &["__i386__", "__i386", "i386"]),
    (Arch::Aarch64, &["__aarch64__", "__LP64__"]),
    (Arch::Arm, &["__arm__", "__ARM_EABI__"]),
    (Arch::Riscv64, &["__riscv", "__LP64__"]),
    (Arch::S390x, &["__s390x__", "__s390__", "__LP64__"]),
    (Arch::S390, &["__s390__"]),
    (Arch::Ppc64le, &["__powerpc64__", "__powerpc__", "__LP64__"]),
    (Arch::Ppc64, &["__powerpc64__", "__powerpc__", "__LP64__"]),
    (Arch::Ppc, &["__powerpc__"]),
    (Arch::Loongarch64, &["__loongarch__", "__LP64__"]),
    (Arch::Mips, &["__mips__"]),
    (Arch::Mipsel, &["__mips__"]),
    (Arch::Mips64, &["__mips__", "__mips64", "__LP64__"]),
    (Arch::Mipsel64, &["__mips__", "__mips64", "__LP64__"]),
    (Arch::M68k, &["__m68k__"]),
    (Arch::Parisc, &["__hppa__"]),
    (Arch::Parisc64, &["__hppa__", "__LP64__"]),
    (Arch::Sh, &["__sh__"]),
    (Arch::Sheb, &["__sh__"]),
];

impl Names {
    /// The names of a text.
    pub(crate) fn of(tokens: &[Token<'_>], options: &TextOptions) -> Names {
        let named = || {
            let mut arches = tokens
                .iter()
                .filter(|token| {
                    token.kind == TokenKind::Word && token.text.starts_with("AUDIT_ARCH_")
                })
                .filter_map(|token| arch_of_token(token.text));
            let first = arches.next()?;
            arches.all(|arch| arch == first).then_some(first)
        };
        let suggestions = Cell::new(MAX_SUGGESTIONS);
        Names { arch: options.arch(named), endian: options.endian(), suggestions }
    }

    /// The value of a name. `is_go` selects Go's spelling of syscalls (`SYS_READ`).
    pub(crate) fn value(&self, name: &str, is_go: bool) -> Result<Option<u32>, Missing> {
        if let Some((syscall, is_upper)) = syscall(name, is_go) {
            let lower = if is_upper { syscall.to_ascii_lowercase() } else { syscall.to_owned() };
            return self.number(name, &lower).map(Some);
        }
        let part =
            || CODE_PARTS.iter().find(|part| part.name == name).map(|part| u32::from(part.bits));
        let other =
            || OTHERS.iter().chain(GO).find(|(known, _)| *known == name).map(|(_, value)| *value);
        let action = || name.starts_with("SECCOMP_RET_").then(|| names::action(name)).flatten();
        let constant = || self.arch.and_then(|arch| low_word(constants::value(arch, name)?));
        let value = part()
            .or_else(other)
            .or_else(|| action().map(|verdict| verdict.0))
            .or_else(|| arch_of_token(name).map(Arch::token))
            .or_else(|| errno_number(name).map(u32::from))
            .or_else(|| self.of_machine(name))
            .or_else(constant);
        if value.is_none() && self.arch.is_none() && constants::is_name(name) {
            return Err(self.no_arch(name));
        }
        Ok(value)
    }

    /// Whether the preprocessor knows a name.
    pub(crate) fn is_defined(&self, name: &str) -> bool {
        let predefined = || {
            PREDEFINED.iter().any(|(arch, names)| Some(*arch) == self.arch && names.contains(&name))
        };
        match syscall(name, false) {
            Some((name, _)) => self.arch.is_some_and(|arch| arch.number(name).is_some()),
            None => predefined() || matches!(self.value(name, false), Ok(Some(_))),
        }
    }

    /// The number of a syscall.
    fn number(&self, given: &str, name: &str) -> Result<u32, Missing> {
        let Some(arch) = self.arch else { return Err(self.no_arch(given)) };
        if let Some(number) = arch.number(name) {
            return Ok(number);
        }
        let others: Vec<&str> = Arch::ALL
            .iter()
            .filter(|other| other.number(name).is_some())
            .map(|other| other.name())
            .collect();
        if others.is_empty() {
            let message = format!("{} is not a syscall", quote(given));
            let left = self.suggestions.get();
            self.suggestions.set(left.saturating_sub(1));
            let nearest = if left > 0 { nearest_name(name) } else { None };
            let help =
                nearest.map_or(String::new(), |nearest| format!("did you mean `{nearest}`?"));
            return Err(Missing { message, help });
        }
        let shown = others.get(..4).map_or(others.join(", "), |some| some.join(", ") + ", …");
        Err(Missing {
            message: format!("{} does not exist on {arch}, but on {shown}", quote(given)),
            help: "choose the architecture that this program is for (--arch)".to_owned(),
        })
    }

    /// Names whose values depend on the machine only.
    fn of_machine(&self, name: &str) -> Option<u32> {
        let order = || if self.endian == Endian::Little { 1234 } else { 4321 };
        match name {
            // The name that most examples of seccomp filters define.
            "ARCH_NR" => self.arch.map(Arch::token),
            "__BYTE_ORDER" | "__BYTE_ORDER__" => Some(order()),
            _ => None,
        }
    }

    fn no_arch(&self, name: &str) -> Missing {
        Missing {
            message: format!("the value of {} depends on the architecture", quote(name)),
            help: "choose the architecture that this program is for (--arch)".to_owned(),
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

/// A constant as a word; a negative one has 64 bits in the table.
fn low_word(value: u64) -> Option<u32> {
    let is_negative = value >> 31 == (1 << 33) - 1;
    u32::try_from(value).ok().or(is_negative.then_some(value as u32))
}
