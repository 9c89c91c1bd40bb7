//! The syscalls of an architecture with the names of their arguments.

use callgate::Arch;
use callgate_bpf::SyscallTable;
use callgate_bpf::syscalls::facts;
use callgate_formats::kafel::names::{internal_names, name_in_table};

/// A syscall by a name of Kafel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) name: &'static str,
    pub(super) arguments: Vec<&'static str>,
}

/// The syscalls of the kernel's table, and those with names that only Kafel has.
pub(super) fn of_arch(arch: Arch) -> Vec<Known> {
    let mut names: Vec<&'static str> = arch.syscalls().map(|(_, name)| name).collect();
    names.extend(internal_names());
    names.sort_unstable();
    names.dedup();
    let is_known = |name: &&str| arch.number(name_in_table(arch, name)).is_some();
    let known = |name| {
        let table = name_in_table(arch, name);
        let arguments = facts(table).map(|facts| facts.args).unwrap_or_default();
        let has_place = |name: &&str| arch.argument(table, name).is_ok();
        Known { name, arguments: arguments.iter().map(|arg| arg.name).filter(has_place).collect() }
    };
    names.into_iter().filter(is_known).map(known).collect()
}
