//! What the functions of all languages have in common.

use crate::emit::variables::Parameters;
use callgate_bpf::FilterFlags;

/// How a filter is installed.
#[derive(Clone, Copy)]
pub(in crate::emit) struct Manner {
    /// The flags of the filter; TSYNC depends on the function.
    pub(in crate::emit) flags: FilterFlags,
    /// Whether the functions return a listener.
    pub(in crate::emit) listens: bool,
}

impl Manner {
    /// The flags that are not chosen by the function, each as a line that `write` makes of its name without
    /// `SECCOMP_FILTER_FLAG_` and its bits.
    pub(super) fn own_flags(self, write: impl Fn(&str, u32) -> String) -> String {
        let own = self.flags.without(FilterFlags::TSYNC).each();
        own.map(|(flag, name, _)| write(name, flag.bits())).collect()
    }
}

/// Whether older headers and packages of a language lack a flag, so that its bits are written.
pub(super) fn is_recent(bits: u32) -> bool {
    bits == FilterFlags::WAIT_KILLABLE_RECV.bits()
}

/// A parameter or an argument in front of a list of others, which may be empty.
pub(super) fn before(first: &str, others: &str) -> String {
    match others {
        "" => first.to_owned(),
        others => format!("{first}, {others}"),
    }
}

/// What is installed.
pub(in crate::emit) enum Installed<'p> {
    /// The array.
    Array,
    /// The array that a function returns or sets for the parameters; `insns` is its length, an expression in C.
    Set { parameters: &'p Parameters, insns: &'p str },
}

impl<'p> Installed<'p> {
    /// The array, or what the function makes of it if there are parameters.
    pub(in crate::emit) fn of(parameters: &'p Parameters, insns: &'p str) -> Installed<'p> {
        match parameters.declared.as_str() {
            "" => Installed::Array,
            _ => Installed::Set { parameters, insns },
        }
    }

    /// The parameters as they are declared, and as they are passed on.
    pub(super) fn parameters(&self) -> (&str, &str) {
        match self {
            Installed::Array => ("", ""),
            Installed::Set { parameters, .. } => (&parameters.declared, &parameters.passed),
        }
    }
}
