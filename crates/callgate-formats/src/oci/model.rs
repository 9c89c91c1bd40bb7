//! The typed model of a profile: every member has been checked, and what they mean together is still open.

use super::options::ReadOptions;
use crate::capabilities::CapSet;
use crate::profile::Listener;
use crate::ruleset::Comparison;
use callgate_bpf::FilterFlags;
use callgate_bpf::syscalls::{KernelVersion, KnownSyscall, is_known_name};
use callgate_core::{Arch, Verdict};

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
    /// How much its syscalls should count; 0 without `priority`.
    pub(super) priority: u8,
}

// Gates: the conditions of `includes` and `excludes` on capabilities, architecture and kernel version, which
// decide whether an entry applies.

/// The content of `includes` or `excludes`; without any condition if the key is absent.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// The known capabilities of the list.
    pub(super) caps: CapSet,
    /// Whether the list also has an unknown capability, which no container has.
    pub(super) has_unknown_cap: bool,
    pub(super) arches: Option<Vec<Arch>>,
    pub(super) min_kernel: Option<KernelVersion>,
}

impl Gate {
    /// Why an entry with these `includes` does not apply, as a clause; `None` if it does.
    pub(super) fn missing(&self, options: &ReadOptions) -> Option<String> {
        if self.has_unknown_cap {
            return Some("it needs an unknown capability".to_owned());
        }
        if !options.caps.includes(self.caps) {
            let missing = list(self.caps.without(options.caps));
            return Some(format!("it needs {missing}, which the process does not have"));
        }
        if self.on_arch(options) == Some(false) {
            return Some(format!("it is not for {}", options.main_arch()));
        }
        let min = self.min_kernel.filter(|_| self.on_kernel(options) == Some(false))?;
        Some(format!("it needs Linux {min} or later, and the kernel is {}", options.kernel))
    }

    /// Why an entry with these `excludes` is left out, as a clause; `None` if it is not.
    pub(super) fn excluded(&self, options: &ReadOptions) -> Option<String> {
        if options.caps.overlaps(self.caps) {
            let present = list(self.caps.intersection(options.caps));
            return Some(format!("it is only for processes without {present}"));
        }
        if self.on_arch(options) == Some(true) {
            return Some(format!("it is not for {}", options.main_arch()));
        }
        let min = self.min_kernel.filter(|_| self.on_kernel(options) == Some(true))?;
        Some(format!("it is for kernels before Linux {min}, and the kernel is {}", options.kernel))
    }

    fn on_arch(&self, options: &ReadOptions) -> Option<bool> {
        self.arches.as_ref().map(|arches| arches.contains(&options.main_arch()))
    }

    fn on_kernel(&self, options: &ReadOptions) -> Option<bool> {
        self.min_kernel.map(|min| options.kernel >= min)
    }
}

/// The names of capabilities.
fn list(caps: CapSet) -> String {
    caps.names().collect::<Vec<_>>().join(", ")
}
