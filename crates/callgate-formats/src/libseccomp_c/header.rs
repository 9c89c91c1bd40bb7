//! What libseccomp's header defines, as lines of C.

use crate::ruleset::Op;
use callgate_bpf::syscalls::known_names;
use callgate_core::{Arch, Verdict};

/// `SCMP_ARCH_X32`. All other constants are the arch tokens of the kernel; x32 shares that of x86-64, so libseccomp clears the bit for
/// 64-bit ABIs.
const X32: u32 = 0x4000_003e;

/// The constant of an architecture.
pub(crate) fn token(arch: Arch) -> u32 {
    match arch {
        Arch::X32 => X32,
        other => other.token(),
    }
}

/// The architecture of a constant; `None` for 0, which is the native one, and for unknown constants.
pub(super) fn of_token(given: u32) -> Option<Arch> {
    Arch::ALL.iter().copied().find(|arch| token(*arch) == given)
}

/// The operators, by their numbers from 1 on.
const OPERATORS: [Op; 7] = [Op::Ne, Op::Lt, Op::Le, Op::Eq, Op::Ge, Op::Gt, Op::MaskedEq(0)];

/// The operator with a number; `mask` is that of MASKED_EQ.
pub(super) fn operator(number: i128, mask: u64) -> Option<Op> {
    let index = usize::try_from(number.checked_sub(1)?).ok()?;
    let found = OPERATORS.get(index).copied()?;
    Some(if let Op::MaskedEq(_) = found { Op::MaskedEq(mask) } else { found })
}

/// The attributes, by their numbers from 1 on.
pub(crate) const ATTRIBUTES: [&str; 10] = [
    "ACT_DEFAULT",
    "ACT_BADARCH",
    "CTL_NNP",
    "CTL_TSYNC",
    "API_TSKIP",
    "CTL_LOG",
    "CTL_SSB",
    "CTL_OPTIMIZE",
    "API_SYSRAWRC",
    "CTL_WAITKILL",
];

/// Types and macros. A comparison of 32 bits is one of 64 whose values were converted before.
const MACROS: &str = r"
typedef void *scmp_filter_ctx;
typedef unsigned long long scmp_datum_t;
struct scmp_arg_cmp { unsigned int arg; int op; scmp_datum_t datum_a; scmp_datum_t datum_b; };
#define SCMP_SYS(name) (__SNR_##name)
#define SCMP_CMP64(...) ((struct scmp_arg_cmp){__VA_ARGS__})
#define SCMP_CMP(...) SCMP_CMP64(__VA_ARGS__)
#define SCMP_CMP_OF_32(arg, op, a, b, ...) SCMP_CMP64(arg, op, (unsigned int)(a), (unsigned int)(b))
#define SCMP_CMP32(arg, op, ...) SCMP_CMP_OF_32(arg, op, __VA_ARGS__, 0)
#define __NR_SCMP_ERROR (-1)
#define __NR_SCMP_UNDEF (-2)
#define SCMP_VER_MAJOR 2
#define SCMP_VER_MINOR 6
#define SCMP_VER_MICRO 1
#define SCMP_ARCH_NATIVE 0
";

/// The header.
pub(super) fn header() -> String {
    let mut lines = String::from(MACROS);
    let mut define =
        |name: &str, value: String| lines.push_str(&format!("#define {name} {value}\n"));
    for arg in 0..6 {
        for (suffix, comparison) in
            [("", "SCMP_CMP64"), ("_64", "SCMP_CMP64"), ("_32", "SCMP_CMP32")]
        {
            define(
                &format!("SCMP_A{arg}{suffix}(...)"),
                format!("{comparison}({arg}, __VA_ARGS__)"),
            );
        }
    }
    // The header defines each of these, and its value is not that of a macro.
    for name in known_names() {
        define(&format!("__SNR_{name}"), format!("__SNR_{name}"));
    }
    for (name, verdict) in [
        ("KILL_PROCESS", Verdict::KILL_PROCESS),
        ("KILL_THREAD", Verdict::KILL_THREAD),
        ("KILL", Verdict::KILL_THREAD),
        ("TRAP", Verdict::trap(0)),
        ("NOTIFY", Verdict::user_notif(0)),
        ("LOG", Verdict::LOG),
        ("ALLOW", Verdict::ALLOW),
    ] {
        define(&format!("SCMP_ACT_{name}"), format!("{:#x}u", verdict.0));
    }
    for (name, verdict) in [("ERRNO", Verdict::errno(0)), ("TRACE", Verdict::trace(0))] {
        let value = format!("({:#x}u | ((value) & 0xffffu))", verdict.0);
        define(&format!("SCMP_ACT_{name}(value)"), value);
    }
    for arch in Arch::ALL {
        let name = arch.name().to_ascii_uppercase();
        define(&format!("SCMP_ARCH_{name}"), format!("{:#x}u", token(*arch)));
    }
    for (number, op) in (1u32..).zip(OPERATORS) {
        define(op.words().0, number.to_string());
    }
    for (number, name) in (1u32..).zip(ATTRIBUTES) {
        define(&format!("SCMP_FLTATR_{name}"), number.to_string());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_architecture_has_its_constant() {
        let header = header();
        for arch in Arch::ALL {
            assert_eq!(of_token(token(*arch)), Some(*arch));
        }
        assert_eq!(of_token(0), None);
        for line in [
            "#define SCMP_ARCH_X86 0x40000003u",
            "#define SCMP_ARCH_X32 0x4000003eu",
            "#define SCMP_ACT_ERRNO(value) (0x50000u | ((value) & 0xffffu))",
            "#define SCMP_ACT_KILL_PROCESS 0x80000000u",
            "#define SCMP_CMP_MASKED_EQ 7",
            "#define SCMP_FLTATR_CTL_WAITKILL 10",
            "#define SCMP_A5_32(...) SCMP_CMP32(5, __VA_ARGS__)",
        ] {
            assert!(header.lines().any(|own| own == line), "{line}\n{header}");
        }
    }
}
