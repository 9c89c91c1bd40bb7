//! What to ask about errors that name no syscall, and errors that no filter causes.
//!
//! Sources: `newosproc` in `os_linux.go` and `gcc_linux.c` of Go's runtime, `fork/exec` in `exec_linux.go`, `fu_daemon_check_syscall_filtering`
//! in fwupd, `builtin-record.c` and `util/evsel.c` of perf, `misc.c` of tar, `setup_newroot` and `network.c` of bubblewrap, the
//! answers of the kernel to netlink messages (`netlink(7)`).

use super::error_message::{function_of, is_about_programs, message};
use super::error_text::{Errno, MAX_LINE, at_end, within};
use super::wrappers::wrapped;

const NO_MAPPING: &str = "no filter denied this: the kernel refused what was written to uid_map or gid_map; see /etc/subuid and \
                          /etc/subgid, whether newuidmap and newgidmap have their capabilities or are setuid, no_new_privs, and \
                          kernel.apparmor_restrict_unprivileged_userns";

const NO_NETLINK: &str = "no filter denied this: it is the kernel's answer to a netlink message; usually CAP_NET_ADMIN is missing, or with \
                          user namespaces, kernel.apparmor_restrict_unprivileged_userns is set";

const NO_MORE: &str = "no filter denied this: a limit of processes or memory is reached, such as `ulimit -u` or pids.max of the control group";

const FWUPD: &str = "no filter denied this: fwupd calls mlock, which the filter of its unit should deny, and it succeeded; `callgate why \
                     fwupd.service mlock` shows whether SystemCallFilter= does";

const THREAD: &str = "the thread is made with clone3, or clone before glibc 2.34 and in musl: callgate why SOURCE clone3 tells; Docker \
                      before 20.10.10 denies clone3 with EPERM";

const EXECUTED: &str = "make and shells check and execute programs with faccessat2, access or execve: callgate why SOURCE faccessat2 tells; \
                        an older Docker or libseccomp denies faccessat2";

const NOT_EXECUTABLE: &str = "a program may not be executed or a file not be opened: its permissions, a file system that is mounted with noexec, AppArmor or \
                              SELinux; filters mostly return EPERM instead: strace -f -o LOG CMD tells";

const PERF: &str = "perf_event_open failed, because of a filter, kernel.perf_event_paranoid or a missing capability CAP_PERFMON: callgate \
                    why SOURCE perf_event_open tells";

const ALONE: &str = "it may name the syscall, but a file may have any text: give this line by itself, callgate why SOURCE 'LINE'";

/// Errors whose text does not tell the syscall, by words of the line.
const SEVERAL: [(&str, &str); 22] = [
    ("thread_create", THREAD),
    ("initialize Background Jobs", THREAD),
    ("spawn worker thread", THREAD),
    ("failed to spawn thread", THREAD),
    ("failed to create thread", THREAD),
    ("write to uid_map failed", NO_MAPPING),
    ("write to gid_map failed", NO_MAPPING),
    ("write failed /proc/self/uid_map", NO_MAPPING),
    ("write failed /proc/self/gid_map", NO_MAPPING),
    ("write failed /proc/self/setgroups", NO_MAPPING),
    ("setting up uid map", NO_MAPPING),
    ("setting up gid map", NO_MAPPING),
    ("RTNETLINK answers", NO_NETLINK),
    ("Failed RTM_NEWADDR", NO_NETLINK),
    ("(nf_tables)", NO_NETLINK),
    (
        "cannot access",
        "stat in the C library makes statx or newfstatat: callgate why SOURCE statx tells, and an older libseccomp may not know it",
    ),
    (
        "Cannot change mode",
        "tar sets modes with fchmodat, newer versions with fchmodat2, which an older Docker or libseccomp denies: callgate why SOURCE \
         fchmodat2 tells",
    ),
    (
        "changing permissions of",
        "chmod calls fchmodat, newer versions fchmodat2, which an older Docker or libseccomp denies: callgate why SOURCE fchmodat2 tells",
    ),
    (
        "Cannot utime",
        "tar sets times with utimensat, on 32-bit machines utimensat_time64, which an older libseccomp denies: callgate why SOURCE \
         utimensat tells, with --arch arm utimensat_time64",
    ),
    (
        "changing ownership of",
        "chown calls fchownat; usually CAP_CHOWN is missing, or the file system refuses it: callgate why SOURCE fchownat tells",
    ),
    (
        "failed switching to",
        "gosu calls setgroups, setgid and setuid; usually CAP_SETUID and CAP_SETGID are missing: callgate why SOURCE setgroups tells",
    ),
    (
        "fork/exec ",
        "Go starts a program with clone and executes it with execve: callgate why SOURCE clone tells",
    ),
];

/// Messages without the text of an error.
const WITHOUT_ERROR: [(&str, &str); 15] = [
    ("can't start new thread", THREAD),
    ("thread failed to start", THREAD),
    ("uv_thread_create", THREAD),
    ("unable to create native thread", THREAD),
    ("increase max user processes (ulimit -u)", NO_MORE),
    ("already; errno=11)", NO_MORE),
    (
        "fatal error: newosproc",
        "the line \"failed to create new OS thread\" above it has the errno: give both",
    ),
    ("syscall filtering is configured but not working", FWUPD),
    ("Access to performance monitoring and observability operations is limited", PERF),
    ("You may not have permission to collect", PERF),
    ("No permission to enable", PERF),
    (
        "io_uring_queue_init",
        "io_uring_setup failed, which Docker's default profile denies: callgate why SOURCE io_uring_setup tells",
    ),
    (
        "pam_chauthtok() failed",
        "PAM does not say which syscall failed, if one did; /etc/shadow may be read-only: strace -f -o LOG CMD tells",
    ),
    (
        "Authentication token manipulation error",
        "PAM does not say which syscall failed, if one did; /etc/shadow may be read-only: strace -f -o LOG CMD tells",
    ),
    (
        "At least one invalid signature",
        "apt says this, too, if gpgv cannot read the clock: on 32-bit machines, an older libseccomp denies clock_gettime64; callgate why \
         SOURCE clock_gettime64 --arch arm tells",
    ),
];

/// Whether a line without the text of an error may say that a syscall failed.
pub(super) fn may_be_hint(line: &str) -> bool {
    let is_hint = || WITHOUT_ERROR.iter().any(|(words, _)| line.contains(words));
    line.len() <= MAX_LINE && (line.contains("failed to create new OS thread") || is_hint())
}

/// Why a line about an error that filters return names no syscall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unnamed {
    pub(super) why: &'static str,
    /// Whether it is about this kind of error, and not any.
    pub(super) is_specific: bool,
}

/// Why a line with an error that filters return names no syscall; `None` for other lines.
pub(super) fn unnamed(line: &str, is_given: bool) -> Option<Unnamed> {
    let specific = |why| Some(Unnamed { why, is_specific: true });
    if line.len() > MAX_LINE {
        return None;
    }
    let Some(failed) = at_end(line).or_else(|| within(line)) else {
        let (_, why) = WITHOUT_ERROR.iter().find(|(words, _)| line.contains(words))?;
        return specific(why);
    };
    if let Some((_, why)) = SEVERAL.iter().find(|(words, _)| line.contains(words)) {
        return specific(why);
    }
    if !is_given && message(line, true).is_some() {
        return specific(ALONE);
    }
    let function = function_of(&failed);
    if let Some(why) = function.and_then(wrapped) {
        return specific(why);
    }
    if is_about_programs(line) {
        return specific(match failed.errno {
            Errno::Access => NOT_EXECUTABLE,
            Errno::Perm | Errno::NoSys => EXECUTED,
        });
    }
    let why = "the error is one that filters return, but the line does not name the syscall";
    Some(Unnamed { why, is_specific: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn why(line: &str) -> &'static str {
        assert_eq!(message(line, true), None, "{line}");
        unnamed(line, true).unwrap_or_else(|| panic!("{line}")).why
    }

    #[test]
    fn what_to_ask_about_errors_without_a_syscall() {
        for (line, expected) in [
            ("open: Operation not permitted", "openat"),
            ("runtime/cgo: pthread_create failed: Operation not permitted", "clone3"),
            (
                "[0.1s][warning][os,thread] Failed to start thread \"T\" - pthread_create failed (EPERM) for attributes: x",
                "clone3",
            ),
            (
                "thread 'main' panicked at 'cannot spawn worker thread: Operation not permitted (os error 1)', a.rs:4:2",
                "clone3",
            ),
            ("RuntimeError: can't start new thread", "clone3"),
            ("curl: (6) getaddrinfo() thread failed to start", "clone3"),
            ("#  Assertion failed: (0) == (uv_thread_create(t.get(), run, this))", "clone3"),
            (
                "java.lang.OutOfMemoryError: unable to create native thread: possibly out of memory",
                "clone3",
            ),
            ("make: /bin/sh: Operation not permitted", "faccessat2"),
            ("make: mkdir: Operation not permitted", "faccessat2"),
            ("#7 0.231 make: unshare: Operation not permitted", "faccessat2"),
            ("sh: 1: mount: Permission denied", "noexec"),
            ("/run.sh: line 7: unshare: Operation not permitted", "faccessat2"),
            ("exec: \"mount\": permission denied", "noexec"),
            ("tar: a/b: Cannot change mode to rwxr-xr-x: Operation not permitted", "fchmodat2"),
            ("No permission to enable cycles event.", "perf_event_open"),
            ("chpasswd: Authentication token manipulation error", "strace"),
            (
                "W: GPG error: http://example.org InRelease: At least one invalid signature was encountered.",
                "clock_gettime64",
            ),
            ("EPERM: operation not permitted, stat '/srv/a'", "statx"),
            ("fork/exec /srv/a: operation not permitted", "clone"),
            ("io_uring_queue_init_params failed for all entries", "io_uring_setup"),
            ("fatal error: newosproc", "errno"),
        ] {
            let why = why(line);
            assert!(why.contains(expected), "{line}: {why}");
        }
    }

    #[test]
    fn what_no_filter_denied() {
        for line in [
            "newuidmap: write to uid_map failed: Operation not permitted",
            "unshare: write failed /proc/self/uid_map: Operation not permitted",
            "bwrap: setting up uid map: Permission denied",
            "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted",
            "RTNETLINK answers: Operation not permitted",
            "iptables v1.8.9 (nf_tables): Could not fetch rule set generation id: Permission denied (you must be root)",
            "app[7]: Failed to load daemon: syscall filtering is configured but not working",
            "runtime: failed to create new OS thread (have 9 already; errno=11)",
            "runtime: may need to increase max user processes (ulimit -u)",
        ] {
            assert!(why(line).starts_with("no filter denied this"), "{line}");
        }
    }

    /// A file has what others chose.
    #[test]
    fn lines_of_a_file_are_not_read_as_if_somebody_gave_them() {
        let line = "Jan 02 10:00:00 host app[7]: user x: note: mount: Operation not permitted";
        assert!(message(line, true).is_some() && message(line, false).is_none());
        assert_eq!(unnamed(line, false).map(|found| found.why), Some(ALONE));
        assert_eq!(unnamed("x: No such file", true), None);
        let generic = unnamed("./run: Permission denied", true).unwrap();
        assert!(!generic.is_specific);
        assert_eq!(unnamed(&"uv_thread_create ".repeat(100), true), None, "too long");
    }
}
