//! What several lists mean together.

use callgate::{Arch, Verdict};
use callgate_formats::android::{AndroidPolicy, FilterKind, ListKind, ReadOptions};
use callgate_testing::reader::numbered;

use crate::android::support::{TRAP, allowed, base, list, options, read, read_for};

fn of_app(base_text: &str, block: &str, allow: &str) -> AndroidPolicy {
    let lists = [base(base_text), list(ListKind::Allow, allow), list(ListKind::Block, block)];
    read_for(&lists, &options())
}

#[test]
fn a_filter_is_the_base_without_the_blocked_and_with_the_allowed_syscalls() {
    let base = "read(int) all\nchroot(const char*) all\nclose(int) lp64\n";
    let policy = of_app(base, "chroot(const char*) lp32\n", "open(const char*, int) lp32\n");
    assert_eq!(allowed(&policy, Arch::Aarch64), ["chroot", "close", "read"]);
    assert_eq!(allowed(&policy, Arch::Arm), ["open", "read"]);
}

#[test]
fn an_allow_list_has_precedence_over_a_block_list() {
    let policy = of_app("read() all\nchroot() all", "chroot() all", "chroot() arm");
    assert_eq!(allowed(&policy, Arch::Aarch64), ["read"]);
    assert_eq!(allowed(&policy, Arch::Arm), ["chroot", "read"]);
}

#[test]
fn the_order_of_lists_does_not_matter() {
    let lists = [
        list(ListKind::Block, "chroot() all"),
        list(ListKind::Allow, "open() arm"),
        base("read() all"),
        base("chroot() all"),
    ];
    let policy = read_for(&lists, &options());
    assert_eq!(allowed(&policy, Arch::Arm), ["open", "read"]);
}

#[test]
fn all_other_syscalls_and_architectures_are_trapped() {
    let policy = read("read(int) all").policy;
    let call = |arch: Arch, nr| policy.evaluate(&numbered(arch, nr, &[]));
    assert_eq!(call(Arch::Aarch64, 63), Verdict::ALLOW);
    assert_eq!(call(Arch::Aarch64, 64), TRAP);
    assert_eq!(call(Arch::Aarch64, u32::MAX), TRAP);
    assert_eq!(call(Arch::Arm, 3), Verdict::ALLOW);
    assert_eq!(call(Arch::X86_64, 0), TRAP);
    let policy = read_for(&[base("read(int) all")], &ReadOptions::new(Arch::X86_64)).policy;
    let x32 = numbered(Arch::X86_64, 1 << 30, &[]);
    assert_eq!(policy.evaluate(&x32), TRAP);
}

#[test]
fn app_zygotes_may_change_their_group() {
    let base_text = "read() all\nsetresgid:setresgid32() lp32\nsetresgid() lp64\nsetgid() all\n";
    let block = "setresgid32()\tlp32\nsetresgid() lp64\nsetgid() all\n";
    let lists = [base(base_text), list(ListKind::Block, block)];
    let mut options = options();
    assert_eq!(allowed(&read_for(&lists, &options), Arch::Aarch64), ["read"]);
    options.is_app_zygote = true;
    let policy = read_for(&lists, &options);
    assert_eq!(allowed(&policy, Arch::Aarch64), ["read", "setresgid"]);
    assert_eq!(allowed(&policy, Arch::Arm), ["read", "setresgid32"]);
}

/// The build omits lines, so blanks before the name matter.
#[test]
fn only_lines_that_begin_with_the_name_are_ignored_for_app_zygotes() {
    let options = ReadOptions { is_app_zygote: true, ..options() };
    let is_allowed = |base_text: &str, block: &str| {
        let lists = [base(base_text), list(ListKind::Block, block)];
        allowed(&read_for(&lists, &options), Arch::Aarch64).contains(&"setresgid")
    };
    let new = "read() all\nsetresgid() lp64\n";
    assert!(is_allowed(new, "# c\nsetresgid() lp64"));
    assert!(!is_allowed(new, "# c\n setresgid() lp64"));
    let old = "int read() all\nint setresgid() lp64\n";
    assert!(is_allowed(old, "int \t setresgid() lp64"));
    assert!(!is_allowed(old, "long setresgid() lp64"));
}

#[test]
fn filters_have_lists() {
    let names = |kind: FilterKind, list: ListKind| -> Vec<&str> {
        let files = kind.files().iter().filter(move |file| file.kind == list);
        files.map(|file| file.names[0]).collect()
    };
    let app = ["SECCOMP_BLOCKLIST_COMMON.TXT", "SECCOMP_BLOCKLIST_APP.TXT"];
    assert_eq!(names(FilterKind::App, ListKind::Block), app);
    assert_eq!(names(FilterKind::AppZygote, ListKind::Block), app);
    let system = ["SECCOMP_ALLOWLIST_COMMON.TXT", "SECCOMP_ALLOWLIST_SYSTEM.TXT"];
    assert_eq!(names(FilterKind::System, ListKind::Allow), system);
    assert_eq!(names(FilterKind::Global, ListKind::Block), ["SECCOMP_BLOCKLIST_COMMON.TXT"]);
    assert_eq!(names(FilterKind::Common, ListKind::Allow), ["SECCOMP_ALLOWLIST.TXT"]);
}
