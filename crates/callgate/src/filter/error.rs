//! Errors in rules.

use std::fmt;

use super::value::ArgValue;
use callgate_bpf::syscalls::{ArgumentError, nearest_name};
use callgate_core::template::VariableError;
use callgate_core::{Action, Arch, Verdict};

/// The largest errno that the kernel returns (`MAX_ERRNO` in `include/linux/err.h`; `__seccomp_filter` in kernel/seccomp.c).
pub(super) const MAX_ERRNO: u16 = 4095;

/// An error in a rule of a [`FilterBuilder`](crate::FilterBuilder).
///
/// ```
/// use callgate::{Arch, ErrorKind, Filter, RuleErrorKind};
///
/// let error = Filter::builder(Arch::X86_64).allow(["read"])?.allow(["wriet"]).unwrap_err();
/// let ErrorKind::Rule(rule) = error.kind() else { return Err(error) };
/// assert_eq!((rule.number(), rule.syscall(), rule.kind()), (2, "wriet", &RuleErrorKind::UnknownName));
/// assert_eq!(error.to_string(), r#"rule 2: unknown syscall "wriet"; did you mean "write"?"#);
/// # Ok::<(), callgate::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    pub(super) number: usize,
    pub(super) syscall: String,
    pub(super) arch: Option<Arch>,
    pub(super) kind: Box<RuleErrorKind>,
}

/// What is wrong with a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuleErrorKind {
    /// No architecture has a syscall of this name.
    UnknownName,
    /// No architecture of the filter has the syscall.
    OnNoArch {
        /// The architectures of the filter.
        arches: Vec<Arch>,
        /// Those that have it.
        others: Vec<Arch>,
    },
    /// A number that no syscall can have.
    NotASyscallNumber {
        /// The number.
        given: i128,
    },
    /// A number without an architecture, which is another syscall on each.
    AmbiguousNumber {
        /// The architectures of the filter.
        arches: Vec<Arch>,
    },
    /// The syscall of an architecture that the filter is not for.
    ForeignArch {
        /// That architecture.
        arch: Arch,
        /// The architectures of the filter.
        arches: Vec<Arch>,
    },
    /// The number is one of another ABI with the same token.
    OtherAbi {
        /// That ABI.
        abi: Arch,
    },
    /// A condition, but the syscall can also be made through `socketcall` or `ipc`.
    ThroughMultiplexer {
        /// The other syscall.
        via: &'static str,
    },
    /// The rule has no effect, because an earlier one decides.
    Decided {
        /// The verdict of the earlier rule.
        earlier: Verdict,
        /// The verdict of this one.
        verdict: Verdict,
    },
    /// An errno that the kernel would replace by the limit.
    Errno {
        /// The errno.
        given: u16,
        /// The largest one.
        limit: u16,
    },
    /// The syscall has no such argument.
    Argument(ArgumentError),
    /// An argument by name of a syscall without names.
    NoSignature {
        /// The name of the argument.
        name: String,
    },
    /// How many bits the kernel reads is unknown.
    UnknownWidth {
        /// The argument.
        argument: String,
    },
    /// A value that is larger than the argument.
    DoesNotFit {
        /// The value.
        given: ArgValue,
        /// The argument.
        argument: String,
        /// How many bits of it are compared.
        bits: u8,
    },
    /// An order comparison with a negative value.
    Signed {
        /// The value.
        given: ArgValue,
        /// The argument.
        argument: String,
    },
    /// A value with bits that its mask removes.
    OutsideMask {
        /// The value.
        given: ArgValue,
        /// The mask.
        mask: ArgValue,
    },
    /// A mask of 0.
    EmptyMask {
        /// The argument.
        argument: String,
    },
    /// A range without values.
    EmptyRange {
        /// Its first value.
        first: ArgValue,
        /// Its last value.
        last: ArgValue,
    },
    /// A comparison of some bits of an argument with another argument.
    PartOfArgument {
        /// The left argument.
        argument: String,
    },
    /// A condition that nests too deep.
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// An invalid variable.
    Variable(VariableError),
    /// A defect of this crate.
    Defect(&'static str),
}

impl From<ArgumentError> for RuleErrorKind {
    fn from(error: ArgumentError) -> RuleErrorKind {
        RuleErrorKind::Argument(error)
    }
}

impl RuleError {
    /// The number of the rule in the builder, from 1.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The syscall as given.
    pub fn syscall(&self) -> &str {
        &self.syscall
    }

    /// What is wrong.
    pub fn kind(&self) -> &RuleErrorKind {
        &self.kind
    }

    /// The architecture, if the error concerns a single one.
    pub fn arch(&self) -> Option<Arch> {
        self.arch
    }
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RuleError { number, syscall, arch, kind } = self;
        match (&**kind, arch) {
            // These messages contain the syscall.
            (
                RuleErrorKind::UnknownName
                | RuleErrorKind::OnNoArch { .. }
                | RuleErrorKind::NotASyscallNumber { .. },
                _,
            ) => {
                write!(f, "rule {number}: ")?;
            }
            (_, Some(arch)) => write!(f, "rule {number}, {syscall} on {arch}: ")?,
            (_, None) => write!(f, "rule {number}, {syscall}: ")?,
        }
        match &**kind {
            RuleErrorKind::UnknownName => {
                write!(f, "unknown syscall {syscall:?}")?;
                match nearest_name(syscall) {
                    Some(nearest) => write!(f, "; did you mean {nearest:?}?"),
                    None => f.write_str("; give its number if it is newer than the tables"),
                }
            }
            RuleErrorKind::OnNoArch { arches, others } => {
                write!(f, "{} has no syscall {syscall:?}", names(arches))?;
                match others.as_slice() {
                    [] => f.write_str("; no architecture with a table has it"),
                    [one] => write!(f, "; only {one} has it"),
                    [one, two] => write!(f, "; {one} and {two} have it"),
                    [one, two, more @ ..] => {
                        write!(f, "; {one}, {two} and {} others have it", more.len())
                    }
                }
            }
            RuleErrorKind::NotASyscallNumber { given } => {
                write!(f, "{given} is not a syscall number; numbers are 0 to {}", u32::MAX)
            }
            RuleErrorKind::AmbiguousNumber { arches } => write!(
                f,
                "the number is a different syscall on each of {}; give the name, or \
                 Syscall::on(arch, {syscall})",
                names(arches)
            ),
            RuleErrorKind::ForeignArch { arch, arches } => write!(
                f,
                "the filter is for {}, not for {arch}; give {arch} to Filter::builder",
                names(arches)
            ),
            RuleErrorKind::OtherAbi { abi } => write!(
                f,
                "this is a syscall number of {abi}, which the filter gives a separate verdict; add {abi} \
                 to the architectures of Filter::builder"
            ),
            RuleErrorKind::ThroughMultiplexer { via } => write!(
                f,
                "it can also be called through {via}(2), whose arguments a filter cannot read; give the \
                 syscall as Syscall::name({syscall:?}).direct(), and add a rule for {via:?}"
            ),
            RuleErrorKind::Decided { earlier, verdict } => write!(
                f,
                "the rule has no effect: an earlier rule gives the syscall {earlier} unconditionally, \
                 and the first match decides; move the rule with {verdict} before it"
            ),
            RuleErrorKind::Errno { given, .. } => write_errno(f, *given),
            RuleErrorKind::Argument(error) => error.fmt(f),
            RuleErrorKind::NoSignature { name } => write!(
                f,
                "the number has no name, so its argument {name:?} is unknown; give the argument by \
                 number, 0 to 5"
            ),
            RuleErrorKind::UnknownWidth { argument } => write!(
                f,
                "the number of bits that the kernel reads of {argument} is unknown; use .low32() or .u64()"
            ),
            RuleErrorKind::DoesNotFit { given, argument, bits } => {
                write!(f, "{given} does not fit into the {bits} compared bits of {argument}")?;
                if *bits == 32 { f.write_str("; use .u64() to compare all 64") } else { Ok(()) }
            }
            RuleErrorKind::Signed { given, argument } => write!(
                f,
                "order comparison of {argument} with {given}, but order comparisons are unsigned; give \
                 the unsigned value, or use non_negative()"
            ),
            RuleErrorKind::OutsideMask { given, mask } => write!(
                f,
                "{given} has bits outside the mask {mask}, so the comparison has the same result for \
                 every syscall"
            ),
            RuleErrorKind::EmptyMask { argument } => {
                write!(f, "the mask of {argument} is 0; give at least one bit")
            }
            RuleErrorKind::EmptyRange { first, last } => {
                write!(f, "the range from {first} to {last} is empty")
            }
            RuleErrorKind::PartOfArgument { argument } => write!(
                f,
                "{argument} is compared with another argument in some bits only; compare all bits of both, or each with \
                 numbers"
            ),
            RuleErrorKind::TooDeep { limit } => {
                write!(f, "the condition nests deeper than {limit} levels (the limit)")
            }
            RuleErrorKind::Variable(error) => error.fmt(f),
            RuleErrorKind::Defect(what) => write!(f, "{what} (a defect of callgate)"),
        }
    }
}

/// An errno that the kernel would replace.
pub(crate) fn write_errno(f: &mut fmt::Formatter<'_>, given: u16) -> fmt::Result {
    write!(
        f,
        "the errno is {given}, but must be from 0 to {MAX_ERRNO}: the kernel would return {MAX_ERRNO}; \
         give an errno that exists"
    )
}

/// The errno of a verdict, if it is larger than the kernel's limit.
pub(super) fn too_large_errno(verdict: Verdict) -> Option<u16> {
    match verdict.action() {
        Action::Errno(given) if given > MAX_ERRNO => Some(given),
        _ => None,
    }
}

impl std::error::Error for RuleError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.kind {
            RuleErrorKind::Argument(error) => Some(error),
            RuleErrorKind::Variable(error) => Some(error),
            _ => None,
        }
    }
}

/// A list of architectures in words.
pub(super) fn names(arches: &[Arch]) -> String {
    let names: Vec<&str> = arches.iter().map(|arch| arch.name()).collect();
    names.join(", ")
}
