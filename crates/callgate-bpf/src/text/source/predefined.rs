//! What is defined without the text: by compilers for Linux, and by the headers of the kernel and the C library.
//!
//! Names of the architecture and of its sizes follow from the architecture. Names of headers count as in the headers of the
//! Linux version that the tables are from; in conditions, only where [`headers`](super::headers) knows them to be included. What differs between compilers, versions
//! or builds is open: it is decided by an option, never by a guess.

use super::headers::has_word;
use super::integer::{Model, Type};
use crate::disasm::CODE_PARTS;
use crate::symbols::Names;
use crate::syscalls::name_in_constant;
use crate::{SyscallTable, constants};
use callgate_core::{Arch, Endian, errno_number};

/// What is known about a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Defined {
    No,
    /// As a number of a type.
    As(i128, Type),
    /// As something else, such as its own name.
    Somehow,
    /// Not known.
    Open,
    /// Depends on the architecture, which is not known.
    OfArch,
}

/// What compilers for Linux define as 1.
const ALWAYS: &str = "__linux__ __linux linux __gnu_linux__ __unix__ __unix unix __ELF__ __STDC__ \
    __STDC_HOSTED__";

/// What is not defined where seccomp filters are: other systems, and other languages than C.
const NEVER: &str = "_WIN32 WIN32 _WIN64 WIN64 __WIN32__ _MSC_VER __MINGW32__ __MINGW64__ __CYGWIN__ __APPLE__ \
    __MACH__ __FreeBSD__ __FreeBSD_kernel__ __OpenBSD__ __NetBSD__ __DragonFly__ __bsdi__ \
    __sun sun __sun__ __SVR4 __svr4__ _AIX __hpux __sgi __osf__ __HAIKU__ __QNX__ __Fuchsia__ \
    __GNU__ __EMSCRIPTEN__ __wasm__ __VMS __cplusplus __OBJC__ __ASSEMBLER__ __ASSEMBLY__ \
    __KERNEL__";

/// What the compilers of architectures define as 1.
#[rustfmt::skip]
const OF_ARCHES: &[(&[Arch], &[&str])] = &[
    (&[Arch::X86_64, Arch::X32], &["__x86_64__", "__x86_64", "__amd64__", "__amd64"]),
    (&[Arch::X86], &["__i386__", "__i386", "i386"]),
    (&[Arch::Aarch64], &["__aarch64__", "__AARCH64EL__"]),
    (&[Arch::Arm], &["__arm__", "__arm", "__ARMEL__", "__ARM_EABI__"]),
    (&[], &["__AARCH64EB__", "__ARMEB__", "__ia64__", "__alpha__", "__sparc__", "__sparc", "__sparc64__", "__nios2__",
        "__arch64__", "__arc__", "__csky__", "__hexagon__", "__microblaze__", "__or1k__", "__xtensa__", "__tilegx__",
        "__aarch32__", "__nds32__", "__metag__", "__score__", "__unicore32__", "__frv__", "__cris__", "__bfin__",
        "__avr32__", "__m32r__", "__mn10300__"]),
    (&[Arch::Riscv64], &["__riscv"]),
    (&[Arch::S390x, Arch::S390], &["__s390__"]),
    (&[Arch::S390x], &["__s390x__"]),
    (&[Arch::Ppc64le, Arch::Ppc64, Arch::Ppc], &["__powerpc__", "__PPC__", "__PPC"]),
    (&[Arch::Ppc64le, Arch::Ppc64], &["__powerpc64__", "__PPC64__", "__ppc64__"]),
    (&[Arch::Loongarch64], &["__loongarch__", "__loongarch64", "__loongarch_lp64"]),
    (&[Arch::Mips, Arch::Mipsel, Arch::Mips64, Arch::Mipsel64, Arch::Mips64n32, Arch::Mipsel64n32],
        &["__mips__", "__mips"]),
    (&[Arch::Mips64, Arch::Mipsel64, Arch::Mips64n32, Arch::Mipsel64n32], &["__mips64"]),
    (&[Arch::Mips, Arch::Mips64, Arch::Mips64n32], &["__MIPSEB__", "__MIPSEB"]),
    (&[Arch::Mipsel, Arch::Mipsel64, Arch::Mipsel64n32], &["__MIPSEL__", "__MIPSEL"]),
    (&[Arch::M68k], &["__m68k__"]),
    (&[Arch::Parisc, Arch::Parisc64], &["__hppa__", "__hppa"]),
    (&[Arch::Parisc64], &["__hppa64__"]),
    (&[Arch::Sh, Arch::Sheb], &["__sh__"]),
];

/// Constants of headers that are not macros, or are macros for their own names.
const ENUMERATORS: &[&str] =
    &["IPPROTO_", "SOCK_", "RLIMIT_", "PTRACE_", "MSG_", "SHUT_", "ITIMER_", "PRIO_"];
/// Constants of headers that are macros with a number as value.
const MACROS: &[&str] = &[
    "SECCOMP_", "CLONE_", "AF_", "PF_", "O_", "PR_", "SIG", "MAP_", "PROT_", "MADV_", "FUTEX_",
    "TIOC", "AT_", "F_", "S_I", "MS_", "NS_", "CAP_", "SA_", "LOCK_", "SOL_", "SO_", "ARCH_",
    "PER_", "GRND_", "MFD_", "ADDR_", "KEYCTL_",
];

/// What is known about a name without the text.
pub(super) fn defined(name: &str, names: &Names, model: Model) -> Defined {
    let one = Defined::As(1, Type::INT);
    if has_word(ALWAYS, name) {
        return one;
    }
    if has_word(NEVER, name) {
        return Defined::No;
    }
    if name == "__riscv_xlen" {
        return match names.arch() {
            Some(Arch::Riscv64) => Defined::As(64, Type::INT),
            Some(_) => Defined::No,
            None => Defined::OfArch,
        };
    }
    if let Some((arches, _)) = OF_ARCHES.iter().find(|(_, own)| own.contains(&name)) {
        return match names.arch() {
            _ if arches.is_empty() => Defined::No,
            Some(arch) if arches.contains(&arch) => one,
            Some(_) => Defined::No,
            None => Defined::OfArch,
        };
    }
    of_sizes(name, names, model).unwrap_or_else(|| of_headers(name, names))
}

/// Names for the sizes of types and the byte order.
fn of_sizes(name: &str, names: &Names, model: Model) -> Option<Defined> {
    let long = |is_signed| model.long(is_signed);
    let most = |kind: Type| {
        let bits = kind.bits() - u8::from(kind.is_signed());
        Defined::As((1i128 << bits) - 1, kind)
    };
    let int = |number| Defined::As(number, Type::INT);
    let is_long = model.long_bits == 64;
    let only = |holds: bool| if holds { int(1) } else { Defined::No };
    let of_long = match name {
        "__LP64__" | "_LP64" => only(is_long),
        "__ILP32__" | "_ILP32" => {
            // Only compilers for architectures with both define it.
            let has_both = names
                .arch()
                .is_none_or(|arch| matches!(arch, Arch::X32 | Arch::X86 | Arch::X86_64) || is_long);
            if has_both { only(!is_long) } else { Defined::Open }
        }
        "__SIZEOF_POINTER__" | "__SIZEOF_LONG__" | "__SIZEOF_SIZE_T__" => {
            int(i128::from(model.long_bits / 8))
        }
        "__WORDSIZE" | "__BITS_PER_LONG" | "BITS_PER_LONG" | "LONG_BIT" => {
            int(i128::from(model.long_bits))
        }
        "LONG_MAX" | "__LONG_MAX__" => most(long(true)),
        "ULONG_MAX" => most(long(false)),
        "SIZE_MAX" | "UINTPTR_MAX" | "__SIZE_MAX__" | "__UINTPTR_MAX__" => most(model.size()),
        "__CHAR_UNSIGNED__" => match model.is_char_signed {
            Some(is_signed) => only(!is_signed),
            None => return Some(Defined::OfArch),
        },
        _ => return of_byte_order(name, names),
    };
    Some(if model.is_known { of_long } else { Defined::OfArch })
}

fn of_byte_order(name: &str, names: &Names) -> Option<Defined> {
    let is_little = names.endian == Endian::Little;
    let int = |number| Defined::As(number, Type::INT);
    let order = if is_little { 1234 } else { 4321 };
    Some(match name {
        "CHAR_BIT" | "__CHAR_BIT__" | "__SIZEOF_LONG_LONG__" => int(8),
        "__SIZEOF_INT__" => int(4),
        "__SIZEOF_SHORT__" => int(2),
        "INT_MAX" | "__INT_MAX__" | "INT32_MAX" => int(0x7fff_ffff),
        "UINT_MAX" | "UINT32_MAX" => Defined::As(0xffff_ffff, Type::UNSIGNED),
        "UINT8_MAX" | "UCHAR_MAX" => int(0xff),
        "UINT16_MAX" | "USHRT_MAX" => int(0xffff),
        "UINT64_MAX" => Defined::As(i128::from(u64::MAX), Type::UNSIGNED_LONG_LONG),
        "__BYTE_ORDER__" | "__BYTE_ORDER" | "BYTE_ORDER" | "__FLOAT_WORD_ORDER__" => int(order),
        "__ORDER_LITTLE_ENDIAN__" => int(1234),
        "__ORDER_BIG_ENDIAN__" => int(4321),
        "__ORDER_PDP_ENDIAN__" => int(3412),
        "__LITTLE_ENDIAN" | "LITTLE_ENDIAN" => int(1234),
        "__BIG_ENDIAN" | "BIG_ENDIAN" => int(4321),
        "__BIG_ENDIAN__" if is_little => Defined::No,
        "__LITTLE_ENDIAN__" if !is_little => Defined::No,
        "__GNUC__" => Defined::Somehow,
        _ => return None,
    })
}

/// Whether a name that has a value is not always defined: the C library defines the names of both byte orders, the kernel's
/// headers only that of the machine.
pub(super) fn is_sometimes_defined(name: &str, names: &Names) -> bool {
    match names.endian {
        Endian::Little => matches!(name, "__BIG_ENDIAN" | "BIG_ENDIAN"),
        Endian::Big => matches!(name, "__LITTLE_ENDIAN" | "LITTLE_ENDIAN"),
    }
}

/// Names of the headers of the kernel and the C library.
fn of_headers(name: &str, names: &Names) -> Defined {
    let starts = |known: &[&str]| known.iter().any(|start| name.starts_with(start));
    if let Some(syscall) = name_in_constant(name) {
        let is_any = || Arch::ALL.iter().any(|arch| arch.number(syscall).is_some());
        return match names.arch() {
            // No architecture of this version of Linux has it.
            _ if !is_any() && syscall.chars().all(|c| !c.is_ascii_uppercase()) => Defined::No,
            _ if !is_any() => Defined::Open,
            None => Defined::OfArch,
            Some(arch) => arch
                .number(syscall)
                .map_or(Defined::No, |number| Defined::As(i128::from(number), Type::INT)),
        };
    }
    if name == "__X32_SYSCALL_BIT" {
        return match names.arch() {
            Some(Arch::X86_64 | Arch::X86 | Arch::X32) => Defined::As(0x4000_0000, Type::INT),
            Some(_) => Defined::No,
            None => Defined::OfArch,
        };
    }
    let is_own = CODE_PARTS.iter().any(|part| part.name == name)
        || errno_number(name).is_some()
        || starts(MACROS)
        || starts(&["AUDIT_ARCH_", "__AUDIT_ARCH_", "EM_", "SKF_", "ETH_P_"]);
    let value = names.integer(name, false).ok().flatten();
    match value {
        Some((number, _)) if is_own => {
            let types = [Type::INT, Type::UNSIGNED, Type::LONG_LONG];
            let kind = types.into_iter().find(|kind| kind.holds(number));
            Defined::As(number, kind.unwrap_or(Type::UNSIGNED_LONG_LONG))
        }
        Some(_) if starts(ENUMERATORS) => Defined::Somehow,
        None if constants::is_name(name) && starts(MACROS) => match names.arch() {
            Some(_) => Defined::No,
            None => Defined::OfArch,
        },
        _ => Defined::Open,
    }
}
