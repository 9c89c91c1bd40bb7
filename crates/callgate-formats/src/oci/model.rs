//! The typed model of a profile: every member has been checked, and what they mean together is still open.

use super::gate::Gate;
use crate::profile::Listener;
use crate::ruleset::Comparison;
use callgate_bpf::FilterFlags;
use callgate_bpf::syscalls::{KnownSyscall, is_known_name};
use callgate_core::Verdict;

/// A name of a syscall or an architecture, after its byte offset.
pub(super) type Name<'n> = (usize, &'n str);

/// A name of a syscall in an entry. It is looked up once, because all architectures need the result.
#[derive(Clone, Copy)]
pub(super) struct SyscallName<'n> {
    pub(super) at: usize,
    pub(super) name: &'n str,
    /// The syscall, if an architecture that we know has it.
    pub(super) syscall: Option<KnownSyscall>,
}

impl<'n> SyscallName<'n> {
    pub(super) fn new((at, name): Name<'n>) -> SyscallName<'n> {
        SyscallName { at, name, syscall: KnownSyscall::named(name) }
    }

    /// The name after its byte offset.
    pub(super) fn origin(self) -> Name<'n> {
        (self.at, self.name)
    }

    /// Whether it is the name of a syscall, also of one that no architecture that we know has.
    pub(super) fn is_known(self) -> bool {
        self.syscall.is_some() || is_known_name(self.name)
    }
}

/// A profile.
pub(super) struct Model<'n> {
    pub(super) at: usize,
    pub(super) default: ProfileAction,
    pub(super) arches: ProfileArches<'n>,
    pub(super) flags: FilterFlags,
    pub(super) listener: Option<Listener>,
    pub(super) entries: Vec<Entry<'n>>,
}

/// An action, with the verdict that includes its errno or data.
#[derive(Clone, Copy)]
pub(super) struct ProfileAction {
    pub(super) at: usize,
    pub(super) name: &'static str,
    pub(super) verdict: Verdict,
}

/// The architectures that a profile names.
pub(super) enum ProfileArches<'n> {
    /// Neither `architectures` nor `archMap`.
    Unspecified,
    /// `architectures`
    List(Vec<Name<'n>>),
    /// `archMap`
    Map(Vec<ArchMapEntry<'n>>),
}

/// An entry of `archMap`.
pub(super) struct ArchMapEntry<'n> {
    pub(super) arch: Name<'n>,
    pub(super) sub_arches: Vec<Name<'n>>,
}

/// An entry of `syscalls`.
pub(super) struct Entry<'n> {
    pub(super) names: Vec<SyscallName<'n>>,
    pub(super) action: ProfileAction,
    /// The conditions in disjunctive normal form: all comparisons of at least one list must hold. Without a list,
    /// the entry never applies.
    pub(super) alternatives: Vec<Vec<Comparison>>,
    pub(super) includes: Gate,
    pub(super) excludes: Gate,
}
