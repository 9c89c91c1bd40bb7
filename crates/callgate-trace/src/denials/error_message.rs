//! Error messages of programs about a syscall that failed as filters let syscalls fail: `unshare: unshare failed: Operation not
//! permitted`, `perf_event_open: Permission denied`.
//!
//! The syscall is the word directly before the text of the error, as `perror(3)` prints it, or that of a sentence of a
//! well-known program whose source says which syscall failed ([`SENTENCES`]). Other messages are not read:
//! `./run: Permission denied` may be about any syscall.
//!
//! Such an error may have other reasons than a filter, so it counts like a failed syscall of strace.
//!
//! Sources: `mount.c`, `unshare.c`, `nsenter.c`, `hwclock.c` of util-linux, `bubblewrap.c`, `date.c`, `chroot.c` of coreutils, `linux_ptrace_init_warnings`
//! and `maybe_disable_address_space_randomization` in gdb, `perf` of the kernel's tools, liburing's examples.

use callgate_bpf::syscalls::{known_name, name_in_constant};

/// The maximum length of a message in bytes.
const MAX_LINE: usize = 1024;

/// The texts of the errors that filters return, in lower case, with the name of the error.
const ERRORS: [(&str, Errno); 3] = [
    ("operation not permitted", Errno::Perm),
    ("permission denied", Errno::Access),
    ("function not implemented", Errno::NoSys),
];

/// An error that filters return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Errno {
    Perm,
    Access,
    NoSys,
}

/// A program's message: how it begins, what it has, the syscall that failed, and its error if the message has another text.
struct Sentence {
    program: &'static str,
    has: &'static str,
    syscall: &'static str,
    errno: Option<Errno>,
}

const fn sentence(program: &'static str, has: &'static str, syscall: &'static str) -> Sentence {
    Sentence { program, has, syscall, errno: None }
}

const SENTENCES: [Sentence; 15] = [
    sentence("bwrap", "Creating new namespace failed", "clone"),
    sentence("bwrap", NO_NAMESPACE, "clone"),
    sentence("bwrap", "Failed to make / slave", "mount"),
    sentence("chroot", "cannot change root directory", "chroot"),
    sentence("date", "cannot set date", "clock_settime"),
    sentence("mount", "mounting ", "mount"),
    sentence("unshare", "cannot change root filesystem propagation", "mount"),
    // For EPERM, mount says this.
    Sentence { errno: Some(Errno::Perm), ..sentence("mount", "permission denied", "mount") },
    sentence("nsenter", "reassociate to namespace", "setns"),
    sentence("strace", "ptrace(", "ptrace"),
    sentence("strace", "PTRACE_", "ptrace"),
    sentence("umount", ": ", "umount2"),
    sentence("unshare", "mount ", "mount"),
    sentence("warning", "Error disabling address space randomization", "personality"),
    sentence("warning", "ptrace", "ptrace"),
];

/// What bubblewrap says instead of the error if `clone` fails with EPERM.
pub(super) const NO_NAMESPACE: &str = "No permissions to creat";

/// What programs say in any place of a message, and the syscall that failed: those that use io_uring, GLib (`gspawn.c`), Chromium
/// (`sandbox.c`), crun (`linux.c`), podman (`rootless_linux.c`), runc (`rootfs_linux.go`).
const PHRASES: [(&str, &str); 10] = [
    ("create io_uring", "io_uring_setup"),
    ("init linux io_uring", "io_uring_setup"),
    ("initializing io_uring", "io_uring_setup"),
    ("initialize io_uring", "io_uring_setup"),
    ("setup io_uring", "io_uring_setup"),
    ("Failed to close file descriptor for child process", "close_range"),
    ("Failed to move to new namespace", "clone"),
    ("create keyring `", "keyctl"),
    ("create NETLINK socket", "socket"),
    ("error mounting \"", "mount"),
];

/// Functions of C libraries with the name of a syscall that make another one, and which syscall to ask about.
const WRAPPERS: [(&str, &str); 16] = [
    ("open", "open in the C library makes openat: callgate why SOURCE openat tells"),
    (
        "creat",
        "creat in the C library makes openat on most architectures: callgate why SOURCE openat tells",
    ),
    ("fork", "fork in the C library makes clone: callgate why SOURCE clone tells"),
    ("vfork", "vfork in the C library makes vfork or clone: callgate why SOURCE clone tells"),
    (
        "stat",
        "stat in the C library makes newfstatat or statx: callgate why SOURCE newfstatat tells",
    ),
    (
        "lstat",
        "lstat in the C library makes newfstatat or statx: callgate why SOURCE newfstatat tells",
    ),
    (
        "fstat",
        "fstat in the C library makes newfstatat or fstat: callgate why SOURCE newfstatat tells",
    ),
    (
        "getrlimit",
        "getrlimit in the C library makes prlimit64: callgate why SOURCE prlimit64 tells",
    ),
    (
        "setrlimit",
        "setrlimit in the C library makes prlimit64: callgate why SOURCE prlimit64 tells",
    ),
    ("send", "send in the C library makes sendto: callgate why SOURCE sendto tells"),
    ("recv", "recv in the C library makes recvfrom: callgate why SOURCE recvfrom tells"),
    ("waitpid", "waitpid in the C library makes wait4: callgate why SOURCE wait4 tells"),
    ("nice", "nice in the C library makes setpriority: callgate why SOURCE setpriority tells"),
    ("eventfd", "eventfd in the C library makes eventfd2: callgate why SOURCE eventfd2 tells"),
    ("signalfd", "signalfd in the C library makes signalfd4: callgate why SOURCE signalfd4 tells"),
    ("pipe", "pipe in the C library makes pipe2 or pipe: callgate why SOURCE pipe2 tells"),
];

/// Which syscall to ask about instead of a function that has the name of another one.
pub(super) fn wrapped(function: &str) -> Option<&'static str> {
    WRAPPERS.iter().find(|(name, _)| *name == function).map(|(_, why)| *why)
}

const NO_MAPPING: &str = "no filter denied this: the kernel refused what was written to uid_map or gid_map; see /etc/subuid and \
                          /etc/subgid, whether newuidmap and newgidmap have their capabilities or are setuid, and no_new_privs";

/// Functions of C libraries that make one of several syscalls, and errors that no filter causes.
const SEVERAL: [(&str, &str); 5] = [
    (
        "pthread_create",
        "pthread_create makes clone3, or clone before glibc 2.34 and in musl: callgate why SOURCE clone3 tells",
    ),
    (
        "initialize Background Jobs",
        "the thread that Redis starts is made with clone3, or clone before glibc 2.34 and in musl: callgate why SOURCE clone3 tells",
    ),
    ("write to uid_map failed", NO_MAPPING),
    ("write to gid_map failed", NO_MAPPING),
    (
        "cannot access",
        "stat in the C library makes statx or newfstatat: callgate why SOURCE statx tells, and an older libseccomp may not know it",
    ),
];

/// What a message is about.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Message<'l> {
    pub(super) syscall: &'static str,
    pub(super) errno: Errno,
    pub(super) program: Option<&'l str>,
}

/// A line as an error message. In a log, which has what others chose, it must begin with the program.
pub(super) fn message(line: &str, is_given: bool) -> Option<Message<'_>> {
    let line = without_prompt(line);
    let said = line.trim().strip_prefix("bwrap: ");
    if said.is_some_and(|said| said.starts_with(NO_NAMESPACE)) {
        return Some(Message { syscall: "clone", errno: Errno::Perm, program: Some("bwrap") });
    }
    let (before, errno) = split(line)?;
    let mut parts: Vec<&str> = before.split(": ").map(str::trim).collect();
    if parts.len() > 3 && !is_given || parts.iter().all(|part| part.is_empty()) {
        return None;
    }
    let program = parts.first().copied().filter(|first| is_word(first));
    let is_named = |program: &&str| !["warning", "error", "Error", "fatal"].contains(program);
    if program.is_none() && !is_given {
        return None;
    }
    if let Some(found) = program.and_then(|program| of_program(program, line)) {
        let errno = found.errno.unwrap_or(errno);
        return Some(Message { syscall: found.syscall, errno, program: program.filter(is_named) });
    }
    // They may be in any place of a message, so they are for what somebody gives as one.
    let is_said = |words: &str| is_given && line.contains(words);
    if parts.last() == Some(&"cannot clone") {
        return Some(Message { syscall: "clone", errno, program: program.filter(is_named) });
    }
    if let Some((_, syscall)) = PHRASES.iter().find(|(words, _)| is_said(words)) {
        return Some(Message { syscall, errno, program: program.filter(is_named) });
    }
    let syscall = parts.pop().and_then(|part| named(part).or_else(|| among(part)))?;
    if wrapped(syscall).is_some() {
        return None;
    }
    Some(Message {
        syscall,
        errno,
        program: program.filter(is_named).filter(|_| !parts.is_empty()),
    })
}

/// A line of a terminal without the prompt of a shell before it: `└─# mount: permission denied`.
fn without_prompt(line: &str) -> &str {
    const PROMPTS: [&str; 7] = ["└─# ", "└─$ ", "❯ ", "➜ ", "# ", "$ ", "% "];
    let text = line.trim_start();
    PROMPTS.iter().find_map(|prompt| text.strip_prefix(prompt)).map_or(line, str::trim_start)
}

/// Messages without the text of an error, and which syscall to ask about: of Python, and of curl.
const WITHOUT_ERROR: [(&str, &str); 2] = [
    (
        "can't start new thread",
        "the thread is made with clone3, or clone before glibc 2.34 and in musl: callgate why SOURCE clone3 tells",
    ),
    (
        "thread failed to start",
        "the thread is made with clone3, or clone before glibc 2.34 and in musl: callgate why SOURCE clone3 tells",
    ),
];

/// Why a line with the text of an error that filters return names no syscall; `None` for other lines.
pub(super) fn unnamed(line: &str) -> Option<&'static str> {
    let is_short = line.len() <= MAX_LINE;
    let found = WITHOUT_ERROR.iter().find(|(words, _)| is_short && line.contains(words));
    if let Some((_, why)) = found {
        return Some(why);
    }
    let (before, _) = split(line)?;
    if let Some(why) = before.rsplit(": ").next().and_then(named).and_then(wrapped) {
        return Some(why);
    }
    let known = SEVERAL.iter().find(|(words, _)| line.contains(words)).map(|(_, why)| *why);
    let unknown = "the error is one that filters return, but the line does not name the syscall";
    Some(known.unwrap_or(unknown))
}

/// The text before that of the error, and the error.
fn split(line: &str) -> Option<(&str, Errno)> {
    if line.len() > MAX_LINE {
        return None;
    }
    let text = line.trim();
    // A message in the fields of a log.
    let text = ERRORS
        .iter()
        .find_map(|(words, _)| {
            let at = text.to_ascii_lowercase().find(&format!("{words}\""))?;
            text.get(..at + words.len())
        })
        .unwrap_or(text);
    let text = text.trim_end_matches(['.', '"', '\'', ')', ']']);
    // `(os error 1` of Rust.
    let text = match text.rsplit_once(" (") {
        Some((before, code)) if is_code(code) || code == "are you root?" => before,
        _ => text,
    };
    // `[system:1` of C++.
    let text = match text.rsplit_once(" [") {
        Some((before, code)) if is_code(code) => before,
        _ => text,
    };
    let lower = text.to_ascii_lowercase();
    let (at, errno) = ERRORS
        .iter()
        .find_map(|(words, errno)| Some((lower.strip_suffix(words)?.len(), *errno)))?;
    let before = text.get(..at)?.trim_end();
    // `[Errno 1] ` of Python.
    let before = before.rsplit_once("[Errno ").map_or(before, |(before, _)| before.trim_end());
    let before = before.trim_end_matches(['(', ' ']).trim_end_matches(|c| ":-–,".contains(c));
    Some((before.trim_end(), errno))
}

fn is_code(text: &str) -> bool {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_alphabetic() || " :=".contains(c));
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn of_program(program: &str, line: &str) -> Option<&'static Sentence> {
    SENTENCES.iter().find(|one| one.program == program && line.contains(one.has))
}

/// The syscall that the last words before an error name: `mbind`, `setns()`, `keyctl failed`, `ptrace(PTRACE_TRACEME, ...)`.
fn named(words: &str) -> Option<&'static str> {
    const ENDS: [&str; 6] =
        [" failed with", " failed", " error", " system call", " syscall", " returned"];
    const STARTS: [&str; 4] = ["calling ", "failed to call ", "cannot call ", "call to "];
    let mut words = words.trim_matches(['"', '\'', '`', ' ', '.']);
    while let Some(rest) = ENDS.iter().find_map(|end| words.strip_suffix(end)) {
        words = rest.trim_end();
    }
    for start in STARTS {
        words = words.strip_prefix(start).unwrap_or(words);
    }
    let name = match words.split_once('(') {
        // Pages of the manual about programs and libraries.
        Some((_, "1)" | "3)" | "8)")) => return None,
        Some((name, args)) if args.ends_with(')') || !args.contains(' ') => name,
        Some((name, _)) if words.ends_with("...") => name,
        Some(_) => return None,
        None => words,
    };
    // `Error during unshare(CLONE_NEWUSER)`, `Checking …...ptrace`.
    let is_call = words.ends_with(')');
    let start = if is_call { name.rsplit(' ').next() } else { name.rsplit("...").next() };
    let name = start.unwrap_or(name);
    // Functions of libkeyutils.
    if name.starts_with("keyctl_") {
        return Some("keyctl");
    }
    if ["io_uring_queue_init", "io_uring_queue_init_params", "queue_init"].contains(&name) {
        return Some("io_uring_setup");
    }
    known_name(name_in_constant(name).unwrap_or(name))
}

/// The syscall in words that say that it failed: `perf_event_open for TID 7 failed`. Only names with `_` or a digit at the end
/// count, because others are also words, and only if there is one.
fn among(words: &str) -> Option<&'static str> {
    if !words.contains("failed") && !words.contains("ailed to ") {
        return None;
    }
    let is_own = |name: &str| name.contains('_') || name.ends_with(|c: char| c.is_ascii_digit());
    let names = words.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let mut found = names.filter(|name| is_own(name)).filter_map(known_name);
    let first = found.next()?;
    found.all(|other| other == first).then_some(first)
}

/// Whether a text can be the name of a program.
fn is_word(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-./+".contains(c);
    !text.is_empty() && text.len() <= 64 && text.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompt_of_a_shell_is_not_the_program() {
        for prompt in ["└─# ", "└─$ ", "❯ ", "$ ", "# "] {
            let line = format!("{prompt}unshare: unshare failed: Operation not permitted");
            let found = message(&line, false).unwrap();
            assert_eq!((found.syscall, found.program), ("unshare", Some("unshare")), "{prompt}");
        }
    }

    #[test]
    fn the_call_before_the_error_is_the_one_that_failed() {
        for (line, syscall, errno) in [
            ("unshare: unshare failed: Operation not permitted", "unshare", Errno::Perm),
            ("mbind: Operation not permitted", "mbind", Errno::Perm),
            ("bwrap: No permissions to create new namespace", "clone", Errno::Perm),
            (
                "bwrap: No permissions to creating new namespace, likely because the kernel does not allow non-privileged user namespaces. On \
                 e.g. debian this can be enabled with 'sysctl kernel.unprivileged_userns_clone=1'.",
                "clone",
                Errno::Perm,
            ),
            (
                "bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces. See \
                 <https://deb.li/bubblewrap> or <file:///usr/share/doc/bubblewrap/README.Debian.gz>.",
                "clone",
                Errno::Perm,
            ),
            ("bwrap: Failed to make / slave: Operation not permitted", "mount", Errno::Perm),
            ("mount: /mnt: permission denied.", "mount", Errno::Perm),
            ("perf_event_open: Operation not permitted", "perf_event_open", Errno::Perm),
            ("keyctl: Permission denied", "keyctl", Errno::Access),
            ("bwrap: Creating new namespace failed: Operation not permitted", "clone", Errno::Perm),
            ("setns: Operation not permitted", "setns", Errno::Perm),
            (
                "nsenter: setns(): can't reassociate to namespace 'net': Operation not permitted",
                "setns",
                Errno::Perm,
            ),
            ("io_uring_queue_init: Operation not permitted", "io_uring_setup", Errno::Perm),
            ("io_uring_queue_init: Function not implemented", "io_uring_setup", Errno::NoSys),
            ("ptrace: Operation not permitted.", "ptrace", Errno::Perm),
            ("set_mempolicy: Operation not permitted", "set_mempolicy", Errno::Perm),
            ("date: cannot set date: Operation not permitted", "clock_settime", Errno::Perm),
            (
                "chroot: cannot change root directory to '/srv/x': Operation not permitted",
                "chroot",
                Errno::Perm,
            ),
            ("strace: ptrace(PTRACE_TRACEME, ...): Operation not permitted", "ptrace", Errno::Perm),
            (
                "warning: Error disabling address space randomization: Operation not permitted",
                "personality",
                Errno::Perm,
            ),
            ("app: userfaultfd() failed: Operation not permitted", "userfaultfd", Errno::Perm),
            ("Error: bpf: Operation not permitted (os error 1)", "bpf", Errno::Perm),
            ("memfd_create: Function not implemented (38)", "memfd_create", Errno::NoSys),
            ("__NR_clone3: Function not implemented", "clone3", Errno::NoSys),
            (
                "io_uring_queue_init: Operation not permitted [system:1]",
                "io_uring_setup",
                Errno::Perm,
            ),
            (
                "Error during unshare(CLONE_NEWUSER): Operation not permitted",
                "unshare",
                Errno::Perm,
            ),
            ("cannot clone: Operation not permitted", "clone", Errno::Perm),
            (
                "Failed to move to new namespace: PID namespaces supported, but failed: errno = Operation not permitted",
                "clone",
                Errno::Perm,
            ),
            (
                "2020-06-12T06:14:42Z: create keyring `x`: Operation not permitted",
                "keyctl",
                Errno::Perm,
            ),
            ("keyctl_read_alloc: Permission denied", "keyctl", Errno::Access),
            (
                "strace: test_ptrace_get_syscall_info: PTRACE_TRACEME: Operation not permitted",
                "ptrace",
                Errno::Perm,
            ),
            (
                "[2:0827/123407:FATAL:x.cc:41] Check failed: . shutdown: Operation not permitted (1)",
                "shutdown",
                Errno::Perm,
            ),
            (
                "x.cc:224] Could not create NETLINK socket: Operation not permitted (1)",
                "socket",
                Errno::Perm,
            ),
            (
                "Checking that ptrace can change numbers...ptrace: Operation not permitted",
                "ptrace",
                Errno::Perm,
            ),
            ("queue_init: Operation not permitted", "io_uring_setup", Errno::Perm),
            (
                "[WARN] perf_event_open for TID 7 failed: Operation not permitted",
                "perf_event_open",
                Errno::Perm,
            ),
            (
                "perf: perf_event_open failed with error: Permission denied",
                "perf_event_open",
                Errno::Access,
            ),
            (
                "The perf_event_open syscall failed for PID 7: Operation not permitted (os error 1)",
                "perf_event_open",
                Errno::Perm,
            ),
            (
                "x.cc:4] Error initializing io_uring: (1) Operation not permitted",
                "io_uring_setup",
                Errno::Perm,
            ),
            (
                "level=error error=\"failed to init linux io_uring ring: Operation not permitted\" name=x",
                "io_uring_setup",
                Errno::Perm,
            ),
            (
                "FATAL:  could not setup io_uring queue: Operation not permitted\",\"pipe\":\"stderr\"}",
                "io_uring_setup",
                Errno::Perm,
            ),
            (
                "x.xml: Failed to close file descriptor for child process (Operation not permitted).",
                "close_range",
                Errno::Perm,
            ),
            (
                "runc run failed: unable to start container process: error mounting \"proc\" to rootfs at \"/proc\": mount proc:/proc \
                 (via /proc/self/fd/7), flags: 0xe: operation not permitted",
                "mount",
                Errno::Perm,
            ),
            (
                "RuntimeException: failed to create io_uring ring fd Operation not permitted",
                "io_uring_setup",
                Errno::Perm,
            ),
        ] {
            let found = message(line, true).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((found.syscall, found.errno), (syscall, errno), "{line}");
        }
    }

    #[test]
    fn other_messages_name_no_syscall() {
        for line in [
            "",
            "Operation not permitted",
            ": Operation not permitted",
            "./run: Permission denied",
            "bash: ./mount: Permission denied",
            "zsh: permission denied: ./x",
            "chmod: changing permissions of 'mount': Operation not permitted",
            "runtime/cgo: pthread_create failed: Operation not permitted",
            "# Fatal: Can't initialize Background Jobs. Error message: Operation not permitted",
            "could not write to file \"x.pid\": Operation not permitted",
            "ls: cannot access '/tmp': Operation not permitted",
            "see mount(8): Operation not permitted",
            "hwloc_set_membind 0x1 (policy 2 flags 0) failed (errno 1 Operation not permitted)",
            "setting interleave mask: Operation not permitted",
            "clone3 and close_range failed: Operation not permitted",
            "rm: cannot remove 'x': Operation not permitted",
            "ssh: connect to host example.org port 22: Permission denied",
            "PermissionError: [Errno 1] Operation not permitted",
            "mount: /mnt: special device x does not exist.",
            "unshare failed: No such file or directory",
            "we should mount it: Operation not permitted",
            "open: Operation not permitted",
            "bwrap: Can't find source path /x: No such file or directory",
            "newuidmap: write to uid_map failed: Operation not permitted",
            "fork: Operation not permitted",
            "sudo: setrlimit(RLIMIT_CORE): Operation not permitted",
            "send: Operation not permitted",
            "git: cannot clone x: Permission denied",
            "gnome-keyring-daemon: failed to create keyring file: Permission denied",
            "user@host: Permission denied (publickey,password).",
        ] {
            assert_eq!(message(line, true), None, "{line}");
        }
        // A log has what others chose.
        let log = "Jan 02 10:00:00 host sshd[7]: user x: note: mount: Operation not permitted";
        assert_eq!(message(log, false), None);
        let request = "GET /failed/clone3 HTTP/1.1 Operation not permitted";
        assert_eq!(message(request, false), None);
        assert!(unnamed("open: Operation not permitted").is_some_and(|why| why.contains("openat")));
        assert!(unnamed("./run: Permission denied").is_some());
        assert!(unnamed("x: No such file").is_none());
        let mapping = unnamed("newuidmap: write to uid_map failed: Operation not permitted");
        assert!(mapping.is_some_and(|why| why.starts_with("no filter denied this")));
        let thread = unnamed("runtime/cgo: pthread_create failed: Operation not permitted");
        assert!(thread.is_some_and(|why| why.contains("clone3")));
        for line in [
            "RuntimeError: can't start new thread",
            "curl: (6) getaddrinfo() thread failed to start",
        ] {
            assert_eq!(message(line, true), None, "{line}");
            assert!(unnamed(line).is_some_and(|why| why.contains("clone3")), "{line}");
        }
    }
}
