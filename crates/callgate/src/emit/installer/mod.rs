//! Functions that install a filter, in all threads of a process or in the calling one, as source code.
//!
//! A filter without `SECCOMP_FILTER_FLAG_TSYNC` is that of the calling thread and of those that it starts later; in Go, others
//! always exist. With the flag the kernel also sets `no_new_privs` for all threads (`seccomp_sync_threads` in
//! kernel/seccomp.c), and returns the ID of a thread that cannot take the filter, because it has filters that the calling
//! thread does not have. So threads with different filters, such as one for each virtual machine, install them alone.
//!
//! The functions of a filter that notifies a listener return the descriptor of the listener, and have other names than those of
//! a filter that does not: a caller of the others, who would lose the descriptor, does not compile. The functions of a filter
//! without a listener refuse `SECCOMP_FILTER_FLAG_NEW_LISTENER` before the call: afterwards, the filter would be installed,
//! and the descriptor lost. With a listener and TSYNC, the kernel needs `SECCOMP_FILTER_FLAG_TSYNC_ESRCH`, because the result
//! cannot be both a descriptor and the ID of a thread.

mod c;
mod go;
mod rust;

use super::language::Language;
use super::names::Names;
use super::variables::Parameters;
use callgate_bpf::FilterFlags;

pub(super) use c::guarded;
pub(super) use go::imports as go_imports;

/// How a filter is installed.
#[derive(Clone, Copy)]
pub(super) struct Manner {
    /// The flags of the filter; TSYNC depends on the function.
    pub(super) flags: FilterFlags,
    /// Whether the functions return a listener.
    pub(super) listens: bool,
}

impl Manner {
    /// The flags that are not chosen by the function, each as a line that `write` makes of its name without
    /// `SECCOMP_FILTER_FLAG_` and its bits.
    fn own_flags(self, write: impl Fn(&str, u32) -> String) -> String {
        let own = self.flags.without(FilterFlags::TSYNC).each();
        own.map(|(flag, name, _)| write(name, flag.bits())).collect()
    }
}

/// Whether older headers and packages of a language lack a flag, so that its bits are written.
fn is_recent(bits: u32) -> bool {
    bits == FilterFlags::WAIT_KILLABLE_RECV.bits()
}

/// Parameters before others, or arguments before those with which others are passed on.
fn before(first: &str, others: &str) -> String {
    match others {
        "" => first.to_owned(),
        others => format!("{first}, {others}"),
    }
}

/// What is installed.
pub(super) enum Installed<'p> {
    /// The array.
    Array,
    /// The array that a function returns or sets for the parameters; `insns` is its length, an expression in C.
    Set { parameters: &'p Parameters, insns: &'p str },
}

impl<'p> Installed<'p> {
    /// The array, or what the function makes of it if there are parameters.
    pub(super) fn of(parameters: &'p Parameters, insns: &'p str) -> Installed<'p> {
        match parameters.declared.as_str() {
            "" => Installed::Array,
            _ => Installed::Set { parameters, insns },
        }
    }

    /// The parameters as they are declared, and as they are passed on.
    fn parameters(&self) -> (&str, &str) {
        match self {
            Installed::Array => ("", ""),
            Installed::Set { parameters, .. } => (&parameters.declared, &parameters.passed),
        }
    }
}

/// The functions that install a filter.
pub(super) fn functions(
    language: Language,
    names: &Names,
    manner: Manner,
    installed: &Installed<'_>,
) -> String {
    match language {
        Language::C => c::functions(names, manner, installed),
        Language::Rust => rust::functions(names, manner, installed),
        Language::Go => go::functions(names, manner, installed),
    }
}
