//! The list of frequent syscalls.

use callgate::Arch;
use callgate_formats::android::{AndroidPolicy, ListKind};

use crate::android::support::{allowed, base, list, options, read_for, warnings};

fn with(base_text: &str, priorities: &str) -> AndroidPolicy {
    read_for(&[base(base_text), list(ListKind::Priority, priorities)], &options())
}

#[test]
fn the_order_is_that_of_the_list() {
    let base = "ioctl() all\nfutex() all\nread() all\nio_setup() all\nrestart_syscall() all\n";
    let policy = with(base, "# frequent\n\n  futex \r\nioctl\n");
    assert_eq!(policy.priorities, ["futex", "ioctl"]);
    assert_eq!(policy.warnings, []);
    assert_eq!(with(base, "").priorities, [] as [&str; 0]);
}

#[test]
fn priorities_of_one_architecture_are_kept() {
    let policy = with("read() all\nrestart_syscall() all\nio_setup() all\nopen() lp32", "open\n");
    assert_eq!(policy.priorities, ["open"]);
}

/// bionic's program compares the lowest number without priority first, and traps what is below.
#[test]
fn a_frequent_syscall_below_all_others_is_trapped() {
    let policy = with("read() all\nio_setup() all\nwrite() all\n", "io_setup\nread\n");
    // On arm64, io_setup is 0, read 63 and write 64; on arm 243, 3 and 4.
    assert_eq!(allowed(&policy, Arch::Aarch64), ["write"]);
    assert_eq!(allowed(&policy, Arch::Arm), ["io_setup", "write"]);
    assert_eq!(policy.priorities, ["io_setup"]);
}

#[test]
fn names_without_effect_are_warnings() {
    let of = |priorities: &str| {
        let base = base("read() all\nio_setup() all\nrestart_syscall() all\nfutex() all");
        warnings(&[base, list(ListKind::Priority, priorities)], &options())
    };
    assert_eq!(of("futex"), "");
    assert_eq!(of("futex\nfutex"), "2 2:1: `futex` is ignored: an earlier line has it (remove it)");
    assert_eq!(
        of("futex # first"),
        "2 1:1: `futex # first` is ignored: it is not a name (write one name per line; comments have a line of their own)"
    );
    assert_eq!(of("futx"), "2 1:1: no architecture has a syscall `futx` (did you mean futex?)");
    assert_eq!(of("ioctl"), "2 1:1: `ioctl` has no effect: it is not allowed (remove it)");
    let low = base("read() arm64\nio_setup() arm64\nread() arm\nwrite() arm");
    assert_eq!(
        warnings(&[low, list(ListKind::Priority, "io_setup")], &options()),
        "2 1:1: bionic's program traps `io_setup` on arm64: its number, 0, is below that of `read`, 63, which the \
         program compares first (remove it from the list of priorities to allow it)\n\
         2 1:1: `io_setup` has no effect: it is not allowed (remove it)"
    );
}
