//! What numbers mean, for comments.

use callgate_bpf::SyscallTable;
use callgate_bpf::constants::Family;
use callgate_bpf::syscalls::list_syscalls;
use callgate_core::policy::Test;
use callgate_core::{Arch, SyscallSet};

/// The names of the syscalls of an interval; of a large one only the first, because they are a range, not a list.
pub(super) fn of_interval(token: u32, first: u32, last: u32) -> String {
    let shown = if last - first < 512 { 512 } else { 8 };
    list_syscalls(token, &SyscallSet::range(first, last), None, shown)
}

/// The constant with which an argument is compared; empty if it has none, or the rule is about several syscalls.
pub(super) fn of_value(token: u32, syscalls: &SyscallSet, test: &Test) -> String {
    let [(nr, last)] = syscalls.ranges() else { return String::new() };
    let Some((argument, _)) = test.field.low_word().argument().filter(|_| nr == last) else {
        return String::new();
    };
    let named = Arch::of_syscall(token, *nr).and_then(|arch| {
        let family = Family::of(arch, arch.syscall_name(*nr)?, argument)?;
        match test.mask == test.field.full_mask() {
            true => family.name(arch, test.value),
            false => family.name_masked(arch, test.mask, test.value),
        }
    });
    named.unwrap_or_default()
}
