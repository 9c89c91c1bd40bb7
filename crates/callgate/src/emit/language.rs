//! The languages, how they name the architectures for which they are compiled, and why there is no source code.

use callgate_bpf::disasm::Dialect;
use callgate_bpf::printable::visible;
use callgate_core::Arch;

/// A language of source code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum SourceLanguage {
    C,
    Rust,
    Go,
}

impl SourceLanguage {
    /// The notation of instructions.
    pub(super) fn dialect(self) -> Dialect {
        match self {
            SourceLanguage::C => Dialect::C,
            SourceLanguage::Rust => Dialect::Rust,
            SourceLanguage::Go => Dialect::Go,
        }
    }
}

impl std::fmt::Display for SourceLanguage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            SourceLanguage::C => "C",
            SourceLanguage::Rust => "Rust",
            SourceLanguage::Go => "Go",
        })
    }
}

/// The names of an architecture.
struct Target {
    arch: Arch,
    /// A condition of the preprocessor of gcc and clang.
    c: &'static str,
    /// `target_arch`, and what tells ABIs with the same one apart; `None` if Rust has no such target.
    rust: Option<(&'static str, Option<&'static str>)>,
    /// `GOARCH`; `None` if Go has no such target.
    go: Option<&'static str>,
}

const fn target(
    arch: Arch,
    c: &'static str,
    rust: Option<(&'static str, Option<&'static str>)>,
    go: Option<&'static str>,
) -> Target {
    Target { arch, c, rust, go }
}

const LITTLE: Option<&str> = Some("target_endian = \"little\"");
const BIG: Option<&str> = Some("target_endian = \"big\"");
const BITS_32: Option<&str> = Some("target_pointer_width = \"32\"");
const BITS_64: Option<&str> = Some("target_pointer_width = \"64\"");
const BIG_64: Option<&str> = Some("target_pointer_width = \"64\", target_endian = \"big\"");
const BIG_32: Option<&str> = Some("target_pointer_width = \"32\", target_endian = \"big\"");
const LITTLE_64: Option<&str> = Some("target_pointer_width = \"64\", target_endian = \"little\"");
const LITTLE_32: Option<&str> = Some("target_pointer_width = \"32\", target_endian = \"little\"");

/// The macros are predefined by the compilers: `gcc -dM -E - </dev/null`. An undefined one is 0 in a comparison, so
/// `_MIPS_SIM == _ABI64` is false for other ABIs.
#[rustfmt::skip]
const TARGETS: &[Target] = &[
    target(Arch::X86_64, "defined(__x86_64__) && !defined(__ILP32__)", Some(("x86_64", BITS_64)), Some("amd64")),
    target(Arch::X86, "defined(__i386__)", Some(("x86", None)), Some("386")),
    target(Arch::X32, "defined(__x86_64__) && defined(__ILP32__)", Some(("x86_64", BITS_32)), None),
    target(Arch::Aarch64, "defined(__aarch64__) && !defined(__AARCH64EB__)", Some(("aarch64", LITTLE_64)), Some("arm64")),
    target(Arch::Arm, "defined(__arm__) && defined(__ARM_EABI__) && !defined(__ARMEB__)", Some(("arm", LITTLE)), Some("arm")),
    target(Arch::Riscv64, "defined(__riscv) && __riscv_xlen == 64", Some(("riscv64", None)), Some("riscv64")),
    target(Arch::S390x, "defined(__s390x__)", Some(("s390x", None)), Some("s390x")),
    target(Arch::S390, "defined(__s390__) && !defined(__s390x__)", None, None),
    target(Arch::Ppc64le, "defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)", Some(("powerpc64", LITTLE)), Some("ppc64le")),
    target(Arch::Ppc64, "defined(__powerpc64__) && defined(__BIG_ENDIAN__)", Some(("powerpc64", BIG)), Some("ppc64")),
    target(Arch::Ppc, "defined(__powerpc__) && !defined(__powerpc64__)", Some(("powerpc", None)), None),
    target(Arch::Loongarch64, "defined(__loongarch__) && __loongarch_grlen == 64", Some(("loongarch64", None)), Some("loong64")),
    target(Arch::Mips, "defined(__MIPSEB__) && _MIPS_SIM == _ABIO32", Some(("mips", BIG)), Some("mips")),
    target(Arch::Mipsel, "defined(__MIPSEL__) && _MIPS_SIM == _ABIO32", Some(("mips", LITTLE)), Some("mipsle")),
    target(Arch::Mips64, "defined(__MIPSEB__) && _MIPS_SIM == _ABI64", Some(("mips64", BIG_64)), Some("mips64")),
    target(Arch::Mipsel64, "defined(__MIPSEL__) && _MIPS_SIM == _ABI64", Some(("mips64", LITTLE_64)), Some("mips64le")),
    target(Arch::Mips64n32, "defined(__MIPSEB__) && _MIPS_SIM == _ABIN32", Some(("mips64", BIG_32)), None),
    target(Arch::Mipsel64n32, "defined(__MIPSEL__) && _MIPS_SIM == _ABIN32", Some(("mips64", LITTLE_32)), None),
    target(Arch::M68k, "defined(__m68k__)", Some(("m68k", None)), None),
    target(Arch::Parisc, "defined(__hppa__) && !defined(__LP64__)", None, None),
    target(Arch::Parisc64, "defined(__hppa__) && defined(__LP64__)", None, None),
    target(Arch::Sh, "defined(__sh__) && defined(__LITTLE_ENDIAN__)", None, None),
    target(Arch::Sheb, "defined(__sh__) && defined(__BIG_ENDIAN__)", None, None),
];

/// The condition under which a compiler compiles for an architecture: an expression for `#if` in C, a predicate for
/// `#[cfg(…)]` in Rust, a value of `runtime.GOARCH` in Go. `None` if the language has no such target.
///
/// ```
/// use callgate::Arch;
/// use callgate::emit::{SourceLanguage, target_condition};
///
/// let condition = |language| target_condition(language, Arch::X86_64);
/// assert_eq!(condition(SourceLanguage::C).as_deref(), Some("defined(__x86_64__) && !defined(__ILP32__)"));
/// assert_eq!(
///     condition(SourceLanguage::Rust).as_deref(),
///     Some(r#"all(target_arch = "x86_64", target_pointer_width = "64")"#)
/// );
/// assert_eq!(condition(SourceLanguage::Go).as_deref(), Some("amd64"));
/// ```
pub fn target_condition(language: SourceLanguage, arch: Arch) -> Option<String> {
    let target = TARGETS.iter().find(|target| target.arch == arch)?;
    match (language, target.rust) {
        (SourceLanguage::C, _) => Some(target.c.to_owned()),
        (SourceLanguage::Rust, Some((name, None))) => Some(format!("target_arch = \"{name}\"")),
        (SourceLanguage::Rust, Some((name, Some(more)))) => {
            Some(format!("all(target_arch = \"{name}\", {more})"))
        }
        (SourceLanguage::Rust, None) => None,
        (SourceLanguage::Go, _) => target.go.map(str::to_owned),
    }
}

/// Why there is no source code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmitError(pub(super) EmitErrorKind);

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmitErrorKind {
    /// A name is not an identifier.
    NotAWord {
        /// The name.
        name: String,
    },
    /// The language or its libraries use a name.
    Reserved {
        /// The name.
        name: String,
        /// The language.
        language: SourceLanguage,
    },
    /// The flags contain WAIT_KILLABLE_RECV, which needs a listener, but the filter notifies none.
    WaitKillable,
    /// There is no target.
    NoTarget,
    /// The language has no such target.
    UnknownTarget {
        /// The language.
        language: SourceLanguage,
        /// The target.
        target: Arch,
    },
    /// A target is given twice.
    TargetTwice(Arch),
    /// The programs have different variables.
    OtherVariables {
        /// The first target.
        first: Arch,
        /// One with other variables.
        target: Arch,
    },
    /// A variable has different widths.
    OtherWidths {
        /// The variable.
        variable: String,
        /// The first target, and the bits of the variable.
        first: (Arch, u32),
        /// Another target, and the bits there.
        target: (Arch, u32),
    },
}

impl EmitError {
    /// What is wrong.
    pub fn kind(&self) -> &EmitErrorKind {
        &self.0
    }

    /// What to do.
    pub fn help(&self) -> &'static str {
        match &self.0 {
            EmitErrorKind::NotAWord { .. } => {
                "names have letters, digits and _, and do not begin with a digit"
            }
            EmitErrorKind::Reserved { .. } => "give another name",
            EmitErrorKind::WaitKillable => "remove the flag from the filter, or let a rule notify",
            EmitErrorKind::NoTarget
            | EmitErrorKind::UnknownTarget { .. }
            | EmitErrorKind::TargetTwice(_) => "give other targets",
            EmitErrorKind::OtherVariables { .. } => "write a file for each target",
            EmitErrorKind::OtherWidths { .. } => {
                "write a file for each target: a variable has the width of the arguments that are compared with it"
            }
        }
    }
}

impl std::fmt::Display for EmitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            EmitErrorKind::NotAWord { name } => {
                write!(f, "\"{}\" is not a name in source code", visible(name))
            }
            EmitErrorKind::Reserved { name, language } => write!(
                f,
                "`{name}` cannot be a name in the source code: {language} or its libraries use it"
            ),
            EmitErrorKind::WaitKillable => f.write_str(
                "an installer cannot install this filter: its flag SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV needs a \
                 listener, and it notifies none (USER_NOTIF)",
            ),
            EmitErrorKind::NoTarget => f.write_str("no target is given"),
            EmitErrorKind::UnknownTarget { language, target } => {
                write!(f, "{language} has no target {target}")
            }
            EmitErrorKind::TargetTwice(target) => write!(f, "the target {target} is given twice"),
            EmitErrorKind::OtherVariables { first, target } => {
                write!(f, "the filter for {target} has other variables than that for {first}")
            }
            EmitErrorKind::OtherWidths { variable, first, target } => write!(
                f,
                "the variable `{variable}` has {} bits for {} and {} bits for {}",
                first.1, first.0, target.1, target.0
            ),
        }
    }
}

impl std::error::Error for EmitError {}

#[cfg(test)]
mod tests {
    use callgate_core::Endian;

    use super::*;

    #[test]
    fn every_architecture_has_a_target_in_c() {
        for arch in Arch::ALL {
            assert!(target_condition(SourceLanguage::C, *arch).is_some(), "{arch}");
        }
        assert_eq!(target_condition(SourceLanguage::Rust, Arch::Sh), None);
        assert_eq!(target_condition(SourceLanguage::Go, Arch::X32), None);
    }

    /// Each condition holds for one architecture only, that of `Arch::of_target`.
    #[test]
    fn conditions_of_rust_tell_architectures_apart() {
        for target in TARGETS {
            let Some((name, more)) = target.rust else { continue };
            let more = more.unwrap_or_default();
            for (is_64bit, width) in [(true, "\"64\""), (false, "\"32\"")] {
                for (endian, order) in [(Endian::Little, "\"little\""), (Endian::Big, "\"big\"")] {
                    let meets_width = !more.contains("width") || more.contains(width);
                    let meets_order = !more.contains("endian") || more.contains(order);
                    let arch = Arch::of_target(name, is_64bit, endian);
                    let is_real = arch.is_some_and(|arch| arch.is_64bit() == is_64bit);
                    if is_real && meets_width && meets_order {
                        assert_eq!(arch, Some(target.arch), "{name} {more}");
                    }
                }
            }
        }
    }
}
