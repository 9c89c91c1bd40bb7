//! Error messages of programs about a syscall that failed as filters let syscalls fail: `unshare: unshare failed: Operation not
//! permitted`, `perf_event_open: Permission denied`.
//!
//! The syscall is the word directly before the text of the error, as `perror(3)` prints it, or that of a sentence of a
//! well-known program whose source says which syscall failed (`error_sentences.rs`). Somebody who gives a line as a report may give a
//! longer one, so any call in it counts, if it is the only one: `unshare(CLONE_NEWUSER)`. Other messages are not read:
//! `./run: Permission denied` may be about any syscall, and `make: mkdir: Operation not permitted` is about a program.
//!
//! Such an error may have other reasons than a filter, so it counts like a failed syscall of strace.

use callgate_bpf::syscalls::{known_name, name_in_constant};

use super::error_sentences::{NO_NAMESPACE, PHRASES, of_program};
use super::error_text::{Errno, Failed, MAX_LINE, at_end, within};
use super::wrappers::makes_another;

/// Programs that begin a message with the name of a file or of a program that they were given, which may be that of a syscall.
const OF_FILES: [&str; 62] = [
    "ash", "awk", "bash", "busybox", "cat", "cd", "chgrp", "chmod", "chown", "cmp", "cp", "csh",
    "dash", "dd", "df", "diff", "doas", "du", "env", "exec", "file", "find", "fish", "git",
    "gmake", "grep", "head", "install", "ksh", "less", "ln", "ls", "make", "more", "mv", "nano",
    "ninja", "nohup", "od", "readlink", "realpath", "rm", "rsync", "scp", "sed", "sh", "sort",
    "source", "stat", "sudo", "tail", "tar", "tee", "time", "timeout", "touch", "truncate", "vi",
    "vim", "wc", "xargs", "zsh",
];

/// Verbs that are also names of syscalls, and mostly do not mean these.
const VERBS: [&str; 9] =
    ["break", "close", "exit", "idle", "lock", "read", "security", "tee", "write"];

/// What a message is about.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Message<'l> {
    pub(super) syscall: &'static str,
    pub(super) errno: Errno,
    pub(super) program: Option<&'l str>,
    /// The flags of `clone`, if the program always gives the same.
    pub(super) flags: Option<u64>,
}

/// The flags with which Go's runtime makes a thread (`cloneFlags` in `os_linux.go`): CLONE_VM, CLONE_FS, CLONE_FILES, CLONE_SIGHAND,
/// CLONE_SYSVSEM, CLONE_THREAD.
const FLAGS_OF_GO: u64 = 0x5_0f00;

/// A line as an error message. In a log, which has what others chose, it must begin with the program.
pub(super) fn message(line: &str, is_given: bool) -> Option<Message<'_>> {
    let line = without_prompt(line);
    let said = line.trim().strip_prefix("bwrap: ");
    if said.is_some_and(|said| said.starts_with(NO_NAMESPACE)) {
        let (errno, program) = (Errno::Perm, Some("bwrap"));
        return Some(Message { syscall: "clone", errno, program, flags: None });
    }
    if let Some(errno) = of_go(line) {
        return Some(Message { syscall: "clone", errno, program: None, flags: Some(FLAGS_OF_GO) });
    }
    let failed = at_end(line).or_else(|| if is_given { within(line) } else { None })?;
    let errno = failed.errno;
    let parts: Vec<&str> = failed.before.split(": ").map(str::trim).collect();
    if parts.len() > 3 && !is_given || parts.iter().all(|part| part.is_empty()) {
        return None;
    }
    let program = parts.first().copied().map(without_number).filter(|first| is_word(first));
    let is_named = |program: &&str| !["warning", "error", "Error", "fatal"].contains(program);
    if program.is_none() && !is_given {
        return None;
    }
    // A program may have reported what another one said.
    let before_last = parts.len().saturating_sub(1).max(1);
    let mut sayers = parts.iter().copied().take(if is_given { before_last } else { 1 });
    let said = sayers.find_map(|part| of_program(without_number(part), line));
    let of = |syscall| {
        let errno = said.and_then(|said| said.errno).unwrap_or(errno);
        Some(Message { syscall, errno, program: program.filter(is_named), flags: None })
    };
    if let Some(said) = said {
        return of(said.syscall);
    }
    if is_about_programs(line) {
        return None;
    }
    if parts.last() == Some(&"cannot clone") {
        return of("clone");
    }
    // They may be in any place of a message, so they are for what somebody gives as one.
    let is_said = |words: &str| is_given && line.contains(words);
    if let Some((_, syscall)) = PHRASES.iter().find(|(words, _)| is_said(words)) {
        return of(syscall);
    }
    let last = parts.last().copied();
    let of_last = function_of(&failed).or_else(|| among(last?));
    let syscall = of_last.or_else(|| called(failed.before).filter(|_| is_given))?;
    if makes_another(syscall) {
        return None;
    }
    let is_alone = parts.len() == 1 && of_last.is_some();
    let program = program.filter(is_named).filter(|_| !is_alone);
    Some(Message { syscall, errno, program, flags: None })
}

/// The function that failed, as the words directly before the error name it; behind it as Node.js does: `EPERM: operation not
/// permitted, mkdir '/x'`.
pub(super) fn function_of(failed: &Failed<'_>) -> Option<&'static str> {
    let last = failed.before.rsplit(": ").next()?;
    let is_of_node = ["EPERM", "EACCES", "ENOSYS"].contains(&last);
    if is_of_node && !failed.after.is_empty() {
        let word = failed.after.split(' ').next()?;
        return known_name(word);
    }
    named(last)
}

/// Whether a message of a shell, or of a program that executes or opens what it is told, is about that: `make: mkdir: …`,
/// `sh: 1: mount: …`, `run.sh: line 7: mount: …`, `exec: "mount": …`.
pub(super) fn is_about_programs(line: &str) -> bool {
    let line = without_prompt(line);
    let Some(failed) = at_end(line).or_else(|| within(line)) else { return false };
    let mut parts = failed.before.split(": ").map(str::trim);
    let Some(program) = parts.next().map(without_number) else { return false };
    let program = program.rsplit('/').next().unwrap_or(program);
    let rest: Vec<&str> = parts.collect();
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_line = |part: &&str| is_number(part.strip_prefix("line ").unwrap_or(part));
    let [before @ .., last] = rest.as_slice() else { return false };
    // One word: with more, the program says what it did.
    let is_name = !last.contains(' ') && !last.contains('(');
    let is_executed = before.last().copied().or(Some(program)) == Some("exec");
    is_name && (OF_FILES.contains(&program) || before.first().is_some_and(is_line) || is_executed)
}

/// A line of a terminal without the prompt of a shell before it: `└─# mount: permission denied`, and without the step and the time
/// of a build: `#16 0.231 make: …`.
fn without_prompt(line: &str) -> &str {
    const PROMPTS: [&str; 7] = ["└─# ", "└─$ ", "❯ ", "➜ ", "# ", "$ ", "% "];
    let text = line.trim_start();
    if let Some(rest) = without_step(text) {
        return rest;
    }
    PROMPTS.iter().find_map(|prompt| text.strip_prefix(prompt)).map_or(line, str::trim_start)
}

fn without_step(text: &str) -> Option<&str> {
    let (step, rest) = text.strip_prefix('#')?.split_once(' ')?;
    let (time, rest) = rest.split_once(' ')?;
    let (seconds, fraction) = time.split_once('.')?;
    let mut numbers = [step, seconds, fraction].into_iter();
    numbers
        .all(|one| !one.is_empty() && one.bytes().all(|byte| byte.is_ascii_digit()))
        .then_some(rest)
}

/// A program without the number of its process: `node[7]`.
fn without_number(text: &str) -> &str {
    match text.strip_suffix(']').and_then(|text| text.rsplit_once('[')) {
        Some((name, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => text,
    }
}

/// The error of `clone` in a message of Go's runtime: `failed to create new OS thread (have 2 already; errno=1)`.
fn of_go(line: &str) -> Option<Errno> {
    let is_short = line.len() <= MAX_LINE;
    let (_, rest) =
        line.split_once("failed to create new OS thread (have ").filter(|_| is_short)?;
    let (_, number) = rest.split_once(" already; errno=")?;
    match number.split(')').next()? {
        "1" => Some(Errno::Perm),
        "13" => Some(Errno::Access),
        "38" => Some(Errno::NoSys),
        _ => None,
    }
}

/// The syscall that the last words before an error name: `mbind`, `setns()`, `keyctl failed`, `ptrace(PTRACE_TRACEME, ...)`, `Unable
/// to unshare`.
fn named(words: &str) -> Option<&'static str> {
    const ENDS: [&str; 7] =
        [" failed with", " failed", " error", " system call", " syscall", " returned", " (1)"];
    const STARTS: [&str; 4] = ["calling ", "failed to call ", "cannot call ", "call to "];
    const UNABLE: [&str; 9] = [
        "Unable to ",
        "unable to ",
        "Failed to ",
        "failed to ",
        "Cannot ",
        "cannot ",
        "Could not ",
        "could not ",
        "Can't ",
    ];
    let mut words = words.trim_matches(['"', '\'', '`', ' ', '.']);
    while let Some(rest) = ENDS.iter().find_map(|end| words.strip_suffix(end)) {
        words = rest.trim_end();
    }
    for start in STARTS {
        words = words.strip_prefix(start).unwrap_or(words);
    }
    if let Some(verb) = UNABLE.iter().find_map(|start| words.strip_prefix(start)) {
        return known_name(verb).filter(|verb| !VERBS.contains(verb));
    }
    let name = match words.split_once('(') {
        // Pages of the manual about programs and libraries.
        Some((_, "1)" | "3)" | "8)")) => return None,
        // Two calls.
        Some((_, args)) if args.contains(") ") => return None,
        Some((name, args)) if args.ends_with(')') || !args.contains(' ') => name,
        Some((name, _)) if words.ends_with("...") => name,
        Some(_) => return None,
        None => words,
    };
    // `Error during unshare(CLONE_NEWUSER)`, `Checking …...ptrace`, `critical: unshare`.
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
    if !["failed", "ailed to ", "rror calling "].iter().any(|text| words.contains(text)) {
        return None;
    }
    let is_own = |name: &str| name.contains('_') || name.ends_with(|c: char| c.is_ascii_digit());
    let names = words.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    only(names.filter(|name| is_own(name)).filter_map(known_name))
}

/// The only call in a text: `statx(STATX_MNT_ID_...)`, `mount('src:'…)`, `unshare(2)`. A function of an object, such as `file.read(3)`, is
/// none, nor is a page of the manual about a program or a library.
fn called(text: &str) -> Option<&'static str> {
    let calls = text.match_indices('(').filter_map(|(at, _)| {
        let (before, after) = (text.get(..at)?, text.get(at + 1..)?);
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = before.rsplit(|c: char| !is_part(c)).next()?;
        let ahead = before.get(..before.len().checked_sub(name.len())?)?;
        let is_method = ahead.ends_with(['.', '>', ':', '/', '-', '$']);
        let is_page = ["1)", "3)", "8)"].iter().any(|page| after.starts_with(page));
        (!is_method && !is_page).then(|| known_name(name))?
    });
    only(calls)
}

/// The name that all of them are.
fn only(mut names: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let first = names.next()?;
    names.all(|other| other == first).then_some(first)
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
            // What runtimes, monitors and builds add.
            ("crun: clone: Operation not permitted: OCI permission denied", "clone", Errno::Perm),
            (
                "OCI runtime create failed: mounting \"proc\" to rootfs at \"/proc\" caused: mount through procfd: operation not permitted: \
                 unknown",
                "mount",
                Errno::Perm,
            ),
            (
                "Error: mode x was asked for; the runner failed: bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
                "mount",
                Errno::Perm,
            ),
            ("#9 1.207 unshare: unshare failed: Operation not permitted", "unshare", Errno::Perm),
            (
                "run 2026-01-02 10:00:00 critical: unshare failed (1): Operation not permitted",
                "unshare",
                Errno::Perm,
            ),
            (
                "<ERROR>Jan 02 10:00:00.1 prof[7]: Error calling perf_event_open on watcher 1.0 (Operation not permitted)",
                "perf_event_open",
                Errno::Perm,
            ),
            // The error by its name or number.
            ("Unable to unshare: EPERM (for features \"ipc net\")", "unshare", Errno::Perm),
            (
                "x [Warning] db: io_uring_queue_init() failed with EPERM: sysctl kernel.io_uring_disabled has the value 2",
                "io_uring_setup",
                Errno::Perm,
            ),
            (
                "x [Warning] db: io_uring_queue_init() failed with errno 1",
                "io_uring_setup",
                Errno::Perm,
            ),
            (
                "runtime: failed to create new OS thread (have 2 already; errno=1)",
                "clone",
                Errno::Perm,
            ),
            ("Error: EPERM: operation not permitted, mkdir '/srv/a'", "mkdir", Errno::Perm),
            // Calls and sentences.
            (
                "error closing fds: get root mount id: statx(STATX_MNT_ID_...) proc/: could not get mount id: operation not permitted",
                "statx",
                Errno::Perm,
            ),
            (
                "[W][1] mountTo():207 mount('src:'x' dst:'/proc' flags:0 isDir:true') dst:'/tmp/r//proc' failed: Operation not permitted",
                "mount",
                Errno::Perm,
            ),
            (
                "bwrap: Can't bind mount /oldroot/ on /newroot/: Operation not permitted",
                "mount",
                Errno::Perm,
            ),
            (
                "Failed to mount proc (type proc) on /proc (MS_NOSUID \"\"): Operation not permitted",
                "mount",
                Errno::Perm,
            ),
            ("error: Failed to ptrace: Operation not permitted", "ptrace", Errno::Perm),
            (
                "libbpf: Error in bpf_object__probe_loading():Operation not permitted(1). Couldn't load a BPF program.",
                "bpf",
                Errno::Perm,
            ),
            (
                "Failed to copy a to b: Error splicing file: Operation not permitted",
                "splice",
                Errno::Perm,
            ),
            ("dmesg: read kernel buffer failed: Operation not permitted", "syslog", Errno::Perm),
            ("nice: cannot set niceness: Permission denied", "setpriority", Errno::Access),
            (
                "modprobe: ERROR: could not insert 'x': Operation not permitted",
                "finit_module",
                Errno::Perm,
            ),
            ("stat: cannot statx '/': Operation not permitted", "statx", Errno::Perm),
            ("ping: socket: Operation not permitted", "socket", Errno::Perm),
            ("unshare(2) failed: EPERM", "unshare", Errno::Perm),
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
            // Names of programs and files.
            "make: mkdir: Operation not permitted",
            "make: /bin/sh: Operation not permitted",
            "bash: mount: Permission denied",
            "sh: 1: umount: Permission denied",
            "/srv/run.sh: line 3: unshare: Operation not permitted",
            "OCI runtime exec failed: exec: \"mount\": permission denied: unknown",
            "cat: keyctl: Permission denied",
            "find: 'mount': Permission denied",
            // Verbs, methods, pages and prose.
            "Failed to read: Permission denied",
            "tar: ./a: Cannot utime: Operation not permitted",
            "utime: Operation not permitted",
            "file.read(3): Permission denied",
            "I get operation not permitted when I mount it",
            "does mount return EPERM or EACCES?",
            "unshare failed with errno 11",
            "clone3(88) and bpf(0) returned EPERM",
        ] {
            assert_eq!(message(line, true), None, "{line}");
        }
        // A log has what others chose.
        let log = "Jan 02 10:00:00 host sshd[7]: user x: note: mount: Operation not permitted";
        assert_eq!(message(log, false), None);
        let request = "GET /failed/clone3 HTTP/1.1 Operation not permitted";
        assert_eq!(message(request, false), None);
    }
}
