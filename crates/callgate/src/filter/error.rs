//! Errors in rules.

use std::fmt;

use super::value::ArgValue;
use callgate_bpf::syscalls::{ArgumentError, nearest_name};
use callgate_core::template::VariableError;
use callgate_core::{Action, Arch, Verdict};

/// The largest errno that the kernel returns (`MAX_ERRNO` in `include/linux/err.h`; `__seccomp_filter` in kernel/seccomp.c).
const MAX_ERRNO: u16 = 4095;

/// An error in a rule of a [`FilterBuilder`](crate::FilterBuilder).
///
/// ```
/// use callgate::{Arch, ErrorKind, Filter};
///
/// let error = Filter::builder(Arch::X86_64).allow(["read"])?.allow(["wriet"]).unwrap_err();
/// let ErrorKind::Rule(rule) = error.kind() else { return Err(error) };
/// assert_eq!((rule.number(), rule.syscall()), (2, "wriet"));
/// assert_eq!(error.to_string(), r#"rule 2: unknown syscall "wriet"; did you mean "write"?"#);
/// # Ok::<(), callgate::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    pub(super) number: usize,
    pub(super) syscall: String,
    pub(super) arch: Option<Arch>,
    pub(super) cause: Box<Cause>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    UnknownName,
    OnNoArch { arches: Vec<Arch>, others: Vec<Arch> },
    NotASyscallNumber { given: i128 },
    AmbiguousNumber { arches: Vec<Arch> },
    ForeignArch { arch: Arch, arches: Vec<Arch> },
    OtherAbi { abi: Arch },
    ThroughMultiplexer { via: &'static str },
    Decided { earlier: Verdict, verdict: Verdict },
    Errno { given: u16 },
    Argument(ArgumentError),
    NoSignature { name: String },
    UnknownWidth { argument: String },
    DoesNotFit { given: ArgValue, argument: String, bits: u8 },
    Signed { given: ArgValue, argument: String },
    OutsideMask { given: ArgValue, mask: ArgValue },
    EmptyMask { argument: String },
    EmptyRange { first: ArgValue, last: ArgValue },
    TooDeep { limit: usize },
    Variable(VariableError),
    Defect(&'static str),
}

impl From<ArgumentError> for Cause {
    fn from(error: ArgumentError) -> Cause {
        Cause::Argument(error)
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

    /// The architecture, if the error concerns a single one.
    pub fn arch(&self) -> Option<Arch> {
        self.arch
    }
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RuleError { number, syscall, arch, cause } = self;
        match (&**cause, arch) {
            // These messages contain the syscall.
            (Cause::UnknownName | Cause::OnNoArch { .. } | Cause::NotASyscallNumber { .. }, _) => {
                write!(f, "rule {number}: ")?;
            }
            (_, Some(arch)) => write!(f, "rule {number}, {syscall} on {arch}: ")?,
            (_, None) => write!(f, "rule {number}, {syscall}: ")?,
        }
        match &**cause {
            Cause::UnknownName => {
                write!(f, "unknown syscall {syscall:?}")?;
                match nearest_name(syscall) {
                    Some(nearest) => write!(f, "; did you mean {nearest:?}?"),
                    None => f.write_str("; give its number if it is newer than the tables"),
                }
            }
            Cause::OnNoArch { arches, others } => {
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
            Cause::NotASyscallNumber { given } => {
                write!(f, "{given} is not a syscall number; numbers are 0 to {}", u32::MAX)
            }
            Cause::AmbiguousNumber { arches } => write!(
                f,
                "the number is a different syscall on each of {}; give the name, or \
                 Syscall::on(arch, {syscall})",
                names(arches)
            ),
            Cause::ForeignArch { arch, arches } => write!(
                f,
                "the filter is for {}, not for {arch}; give {arch} to Filter::builder",
                names(arches)
            ),
            Cause::OtherAbi { abi } => write!(
                f,
                "this is a syscall number of {abi}, which the filter gives a separate verdict; add {abi} \
                 to the architectures of Filter::builder"
            ),
            Cause::ThroughMultiplexer { via } => write!(
                f,
                "it can also be called through {via}(2), whose arguments a filter cannot read; give the \
                 syscall as Syscall::name({syscall:?}).direct(), and add a rule for {via:?}"
            ),
            Cause::Decided { earlier, verdict } => write!(
                f,
                "the rule has no effect: an earlier rule gives the syscall {earlier} unconditionally, \
                 and the first match decides; move the rule with {verdict} before it"
            ),
            Cause::Errno { given } => write_errno(f, *given),
            Cause::Argument(error) => error.fmt(f),
            Cause::NoSignature { name } => write!(
                f,
                "the number has no name, so its argument {name:?} is unknown; give the argument by \
                 number, 0 to 5"
            ),
            Cause::UnknownWidth { argument } => write!(
                f,
                "the number of bits that the kernel reads of {argument} is unknown; use .low32() or .u64()"
            ),
            Cause::DoesNotFit { given, argument, bits } => {
                write!(f, "{given} does not fit into the {bits} compared bits of {argument}")?;
                if *bits == 32 { f.write_str("; use .u64() to compare all 64") } else { Ok(()) }
            }
            Cause::Signed { given, argument } => write!(
                f,
                "order comparison of {argument} with {given}, but order comparisons are unsigned; give \
                 the unsigned value, or use non_negative()"
            ),
            Cause::OutsideMask { given, mask } => write!(
                f,
                "{given} has bits outside the mask {mask}, so the comparison has the same result for \
                 every syscall"
            ),
            Cause::EmptyMask { argument } => {
                write!(f, "the mask of {argument} is 0; give at least one bit")
            }
            Cause::EmptyRange { first, last } => {
                write!(f, "the range from {first} to {last} is empty")
            }
            Cause::TooDeep { limit } => {
                write!(f, "the condition nests deeper than {limit} levels (the limit)")
            }
            Cause::Variable(error) => error.fmt(f),
            Cause::Defect(what) => write!(f, "{what} (a defect of callgate)"),
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
        match &*self.cause {
            Cause::Argument(error) => Some(error),
            _ => None,
        }
    }
}

/// A list of architectures in words.
pub(super) fn names(arches: &[Arch]) -> String {
    let names: Vec<&str> = arches.iter().map(|arch| arch.name()).collect();
    names.join(", ")
}
