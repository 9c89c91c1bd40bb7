//! Version 1: numbers of allowed syscalls.

use callgate::Arch;
use callgate_testing::reader::numbered;

use crate::lxc::support::{on, read, read_for, syscall, warnings};

#[test]
fn numbers_are_allowed_and_all_others_kill_the_thread() {
    let profile = read("1\nallowlist\n0\n 3 # close\n500\n");
    assert_eq!(syscall(&profile, "read", &[]), "ALLOW");
    assert_eq!(syscall(&profile, "close", &[]), "ALLOW");
    assert_eq!(syscall(&profile, "write", &[]), "KILL_THREAD");
    let unknown = numbered(Arch::X86_64, 500, &[]);
    assert_eq!(profile.policy.evaluate(&unknown).to_string(), "ALLOW");
}

#[test]
fn the_filter_has_the_architecture_of_the_host_alone() {
    let profile = read("1\nallowlist\n3\n1073741827\n");
    assert_eq!(on(&profile, Arch::X86, "read", &[]), "KILL_THREAD");
    assert_eq!(on(&profile, Arch::X32, "close", &[]), "KILL_THREAD");
    assert_eq!(
        warnings("1\nallowlist\n1073741827\n"),
        "3:1: 1073741827 is a number of x32, which version 1 kills (use version 2, which has x32)\n\
         2:1: no rule has an effect: every syscall gets KILL_THREAD (add rules, or sections for this host's architecture)"
            .split('\n')
            .rev()
            .collect::<Vec<_>>()
            .join("\n")
    );
}

#[test]
fn a_number_of_a_multiplexed_syscall_also_allows_the_sub_call() {
    let profile = read_for("1\nallowlist\n359\n", Arch::X86);
    assert_eq!(on(&profile, Arch::X86, "socket", &[]), "ALLOW");
    assert_eq!(on(&profile, Arch::X86, "socketcall", &[1]), "ALLOW");
    assert_eq!(on(&profile, Arch::X86, "socketcall", &[2]), "KILL_THREAD");
}
