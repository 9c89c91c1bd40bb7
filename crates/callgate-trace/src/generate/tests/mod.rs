//! What profiles grant, and warnings about them.

mod formats;
mod kafel;
mod namespaces;
mod systemd;

use super::*;
use crate::recording::{ArgValues, Bounds, Caveat, Effect, Recording, Run, SyscallId};
use callgate_bpf::SyscallTable;
use callgate_core::Arch;
use callgate_formats::languages::LanguageId;

const X86_64: Arch = Arch::X86_64;

fn to(name: &str) -> LanguageId {
    name.parse().unwrap()
}

fn id(arch: Arch, name: &str) -> SyscallId {
    SyscallId::new(arch, arch.number(name).unwrap())
}

fn syscall(name: &str) -> SyscallId {
    id(X86_64, name)
}

/// A recording of syscalls with their first arguments, each this many times.
fn recorded(times: u64, syscalls: &[(&str, &[u64])]) -> Recording {
    let mut recording = Recording::of(Run::default());
    for (name, args) in syscalls {
        let mut all = [0; 6];
        all.iter_mut().zip(*args).for_each(|(to, from)| *to = *from);
        (0..times).for_each(|_| recording.observe(syscall(name), &all));
    }
    recording
}

/// Only recorded syscalls, without a runtime.
fn bare() -> GenerateOptions {
    GenerateOptions {
        complete: false,
        runtime: Runtime::None,
        runtime_calls: false,
        ..GenerateOptions::default()
    }
}

/// The profile from a recording of syscalls with their first arguments, each this many times.
fn drafted(times: u64, syscalls: &[(&str, &[u64])], options: &GenerateOptions) -> Draft {
    generate(&[recorded(times, syscalls)], options).unwrap()
}

/// The granted syscalls, except those that the kernel makes programs call.
fn names(draft: &Draft) -> Vec<&str> {
    let grants = draft.grants().filter(|grant| grant.reason != GrantReason::Kernel);
    grants.map(|grant| grant.name).collect()
}

fn grant<'d>(draft: &'d Draft, name: &str) -> &'d Grant {
    draft.grants().find(|grant| grant.name == name).unwrap_or_else(|| panic!("{name}"))
}

fn limits(draft: &Draft, name: &str) -> Vec<String> {
    grant(draft, name).limits.iter().map(ToString::to_string).collect()
}

#[test]
fn recorded_syscalls_and_their_families_are_granted() {
    let draft = drafted(1, &[("read", &[]), ("stat", &[])], &bare());
    assert_eq!(names(&draft), ["read", "stat"]);
    let complete = GenerateOptions { complete: true, ..bare() };
    let draft = drafted(1, &[("read", &[]), ("stat", &[])], &complete);
    assert_eq!(
        names(&draft),
        ["fstat", "lseek", "lstat", "newfstatat", "read", "readv", "stat", "statx"]
    );
    assert!(matches!(grant(&draft, "statx").reason, GrantReason::Sibling { of: "stat", .. }));
}

/// Recordings have them only if a signal arrived, and without them the first signal kills the program.
#[test]
fn syscalls_that_the_kernel_makes_programs_call_are_always_granted() {
    let by_kernel = |draft: &Draft| -> Vec<&'static str> {
        let grants = draft.grants().filter(|grant| grant.reason == GrantReason::Kernel);
        grants.map(|grant| grant.name).collect()
    };
    let draft = drafted(1, &[("read", &[])], &bare());
    assert_eq!(by_kernel(&draft), ["restart_syscall", "rt_sigreturn"]);
    let draft = drafted(1, &[("rt_sigreturn", &[])], &bare());
    assert_eq!(by_kernel(&draft), ["restart_syscall"]);
    // systemd adds it itself.
    for format in [to("oci"), to("kafel")] {
        let text = draft.write(format).unwrap().text;
        assert!(text.contains("restart_syscall"), "{text}");
    }
}

/// For example, how a connection ends depends on the peer.
#[test]
fn companions_are_granted_with_a_syscall() {
    let complete = GenerateOptions { complete: true, ..bare() };
    let draft = drafted(1, &[("accept4", &[])], &complete);
    assert_eq!(names(&draft), ["accept", "accept4", "shutdown"]);
    assert!(matches!(grant(&draft, "shutdown").reason, GrantReason::Sibling { of: "accept4", .. }));
    let draft = drafted(1, &[("clone", &[0x3d_0f00])], &complete);
    assert_eq!(limits(&draft, "futex"), ["op & 0xfffffe7f in {0, 1, 3, 4, 5, 9, 10}"]);
    let off = GenerateOptions { arguments: LimitedArgs::Off, ..complete };
    let draft = drafted(1, &[("clone", &[0x3d_0f00])], &off);
    assert_eq!(limits(&draft, "futex"), [""; 0]);
}

#[test]
fn the_order_of_recordings_does_not_matter() {
    let a = recorded(1, &[("socket", &[1, 1, 0]), ("read", &[])]);
    let b = recorded(2, &[("socket", &[2, 1, 0])]);
    let draft = generate(&[a.clone(), b.clone()], &GenerateOptions::default()).unwrap();
    assert_eq!(limits(&draft, "socket")[0], "family in {1, 2}");
    assert_eq!(grant(&draft, "socket").reason, GrantReason::Recorded(3));
    let other = generate(&[b, a], &GenerateOptions::default()).unwrap();
    assert!(draft.grants().eq(other.grants()));
}

/// A profile from such a recording may deny syscalls that the program needs.
#[test]
fn incomplete_recordings_are_accepted_only_on_request() {
    let caveat = |id: &str, effect| Caveat {
        id: id.to_owned(),
        effect,
        count: None,
        text: format!("{id} happened"),
    };
    let with = |run: Run| {
        let mut recording = recorded(1, &[("read", &[])]);
        recording.push_run(run);
        recording
    };
    let missing = [caveat("unrecorded-threads", Effect::Incomplete), caveat("x", Effect::Altered)];
    let missing = with(Run { caveats: missing.to_vec(), ..Run::default() });
    let lost = with(Run { lost: 3, ..Run::default() });
    let denied =
        with(Run { caveats: vec![caveat("denied-calls", Effect::Excess)], ..Run::default() });
    let message = |recordings: &[Recording]| generate(recordings, &bare()).unwrap_err().to_string();
    assert_eq!(
        message(&[denied.clone(), missing.clone()]),
        "the recording is incomplete: unrecorded-threads happened"
    );
    assert!(message(&[lost]).contains("at least 3 syscalls are missing"));
    let partial = GenerateOptions { partial: true, ..bare() };
    let all = [missing, denied.clone()];
    let remarks = remarks(&all, &generate(&all, &partial).unwrap(), to("oci").annotated().unwrap());
    let text: String = remarks.iter().map(|remark| format!("{}\n", remark.message)).collect();
    for part in [
        "unrecorded-threads happened: the profile may deny syscalls that the program needs",
        "x happened\n",
        "denied-calls happened: the profile allows them",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    generate(&[denied], &bare()).unwrap();
}

#[test]
fn arguments_without_privileges_are_limited_if_they_are_stable() {
    let one = recorded(1, &[("ioctl", &[3, 0x5421])]);
    let often = recorded(4, &[("ioctl", &[3, 0x5421])]);
    let other = recorded(4, &[("ioctl", &[3, 0x541b])]);
    let limited = |recordings: &[Recording], arguments| {
        let draft = generate(recordings, &GenerateOptions { arguments, ..bare() }).unwrap();
        limits(&draft, "ioctl").len() == 1
    };
    assert!(!limited(std::slice::from_ref(&one), LimitedArgs::Stable), "seen once");
    assert!(limited(std::slice::from_ref(&often), LimitedArgs::Stable), "seen often");
    assert!(limited(&[one.clone(), one.clone()], LimitedArgs::Stable), "the same twice");
    assert!(!limited(&[often.clone(), other.clone()], LimitedArgs::Stable), "not the same");
    assert!(limited(&[often, other], LimitedArgs::All));
    assert!(!limited(&[one.clone(), one.clone()], LimitedArgs::Off));
    // A recording without the syscall has no influence.
    let without = recorded(1, &[("read", &[])]);
    assert!(limited(&[one.clone(), without, one], LimitedArgs::Stable));
}

#[test]
fn arguments_with_unknown_values_are_not_limited() {
    let mut recording = recorded(9, &[("socket", &[1, 1, 0])]);
    recording.count(syscall("socket"), 1);
    let draft =
        generate(&[recording], &GenerateOptions { arguments: LimitedArgs::All, ..bare() }).unwrap();
    assert_eq!(limits(&draft, "socket"), [""; 0]);
    assert_eq!(grant(&draft, "socket").unlimited.len(), 3);
}

#[test]
fn only_significant_bits_are_compared() {
    let fork = &[0x0120_0011_u64][..];
    let thread = &[0xdead_0000_003d_0f00_u64][..];
    let draft = drafted(1, &[("clone", fork), ("clone", thread)], &bare());
    assert_eq!(limits(&draft, "clone"), ["clone_flags & 0x7e020000 == 0"]);
    // Bits that the kernel does not read are not compared.
    let wide = &[0, 0xffff_ffff_0000_5421_u64][..];
    let draft = drafted(4, &[("ioctl", wide)], &bare());
    assert_eq!(limits(&draft, "ioctl"), ["cmd in {0x5401, 0x5413, 0x5421, 0x802c542a}"]);
    assert_eq!(grant(&draft, "ioctl").limits[0].mask, 0xffff_ffff);
}

#[test]
fn bounds_limit_flags_but_not_commands() {
    let mut recording = Recording::default();
    let bounds = Bounds { min: 1, max: 0x100b, ever: 0x100b, always: 1 };
    let many = ArgValues::from_bounds(99, bounds);
    recording.add(syscall("mprotect"), 99, [many.clone(), many.clone(), many.clone()]);
    recording.add(syscall("ioctl"), 99, [many.clone(), many]);
    let draft = generate(&[recording], &bare()).unwrap();
    assert_eq!(limits(&draft, "mprotect"), ["prot & 0x4 == 0"]);
    assert_eq!(
        grant(&draft, "ioctl").unlimited[0].why,
        "more than 32 distinct values were recorded"
    );
}

#[test]
fn syscalls_of_the_runtime_widen_or_remove_limits() {
    let runc = GenerateOptions { runtime: Runtime::Runc, ..bare() };
    let syscalls: &[(&str, &[u64])] = &[("fcntl", &[3, 9]), ("prctl", &[15]), ("mmap", &[0, 1, 1])];
    let draft = drafted(4, syscalls, &runc);
    assert_eq!(limits(&draft, "fcntl"), ["cmd in {0, 1, 2, 3, 4, 9, 1030}"]);
    assert_eq!(limits(&draft, "prctl"), [""; 0]);
    assert_eq!(limits(&draft, "mmap"), ["prot & 0x6 in {0, 2}"]);
    assert!(grant(&draft, "mmap").at_start && grant(&draft, "mmap").is_recorded());
    assert_eq!(grant(&draft, "capset").reason, GrantReason::Runtime);
    assert_eq!(limits(&draft, "futex"), ["op & 0xfffffe7f in {0, 1, 3, 4, 5, 9, 10}"]);
}

#[test]
fn usual_values_of_libraries_are_allowed() {
    // A lock that was only released, once, and memory that was only made read-only.
    let syscalls: &[(&str, &[u64])] = &[("futex", &[0, 0x81]), ("mprotect", &[0, 0, 1])];
    let draft = drafted(1, syscalls, &bare());
    assert_eq!(limits(&draft, "futex"), ["op & 0xfffffe7f in {0, 1, 3, 4, 5, 9, 10}"]);
    assert_eq!(limits(&draft, "mprotect"), ["prot & 0x6 in {0, 2}"]);
    // Other values must be observed often.
    let draft = drafted(3, &[("futex", &[0, 6])], &bare());
    assert_eq!(limits(&draft, "futex"), [""; 0]);
    let draft = drafted(4, &[("futex", &[0, 6])], &bare());
    assert_eq!(limits(&draft, "futex"), ["op & 0xfffffe7f in {0, 1, 3, 4, 5, 6, 9, 10}"]);
}

/// abort(3) of a program that never aborted while it was recorded: without these, it ends by SIGSEGV.
#[test]
fn runtimes_get_what_they_may_do_at_any_time() {
    let options = GenerateOptions { runtime_calls: true, ..bare() };
    let draft = drafted(1, &[("read", &[])], &options);
    assert_eq!(draft.languages(), [LanguageRuntime::CLibrary]);
    let abort = ["rt_sigprocmask", "rt_sigaction", "getpid", "gettid", "tgkill", "exit_group"];
    for name in abort {
        let reason = grant(&draft, name).reason;
        assert!(matches!(reason, GrantReason::Language { .. }), "{name}");
    }
    assert_eq!(limits(&draft, "mmap"), ["prot & 0x6 in {0, 2}"]);
    // Go preempts with signals.
    let go = [recorded(1, &[("clone", &[0xd_0f00]), ("futex", &[0, 0x80])])];
    let draft = generate(&go, &options).unwrap();
    assert_eq!(draft.languages(), [LanguageRuntime::CLibrary, LanguageRuntime::Go]);
    assert!(["sigaltstack", "epoll_pwait", "nanosleep"].iter().all(|name| {
        matches!(
            grant(&draft, name).reason,
            GrantReason::Language { runtime: LanguageRuntime::Go, .. }
        )
    }));
    assert_eq!(limits(&draft, "clone"), ["clone_flags & 0x7e020000 == 0"]);
    // Not on request.
    let off = GenerateOptions { runtime_calls: false, ..options };
    assert_eq!(names(&generate(&go, &off).unwrap()), ["clone", "futex"]);
}

#[test]
fn an_architecture_may_be_given_twice() {
    let options = GenerateOptions { arches: vec![X86_64, Arch::X86, X86_64], ..bare() };
    let draft = drafted(1, &[("read", &[])], &options);
    assert_eq!(draft.arches(), [X86_64, Arch::X86]);
    draft.write(to("oci")).unwrap();
}

#[test]
fn limits_that_allow_every_value_are_removed() {
    // Readable and executable, then also writable, as by a JIT compiler.
    let syscalls: &[(&str, &[u64])] = &[("mprotect", &[0, 0, 5]), ("mprotect", &[0, 0, 7])];
    let draft = drafted(1, syscalls, &bare());
    let mprotect = grant(&draft, "mprotect");
    assert_eq!((mprotect.limits.len(), mprotect.unlimited[0].name), (0, "prot"));
    draft.write(to("oci")).unwrap();
}

#[test]
fn runc_needs_the_32_bit_variants_on_32_bit_abis() {
    let mut recording = Recording::default();
    recording.observe(id(Arch::Arm, "read"), &[0; 6]);
    let options = GenerateOptions { complete: false, ..GenerateOptions::default() };
    let draft = generate(&[recording], &options).unwrap();
    assert_eq!(limits(&draft, "mmap2"), ["prot & 0x6 in {0, 2}"]);
    assert_eq!(grant(&draft, "fcntl64").reason, GrantReason::Runtime);
}

#[test]
fn variants_with_the_same_arguments_have_the_same_limits() {
    let mut recording = Recording::default();
    let futex = id(Arch::Arm, "futex");
    (0..4).for_each(|_| recording.observe(futex, &[0, 0x80, 0, 0, 0, 0]));
    let draft = generate(&[recording], &GenerateOptions { complete: true, ..bare() }).unwrap();
    assert_eq!(names(&draft), ["futex", "futex_time64"]);
    assert_eq!(limits(&draft, "futex_time64"), limits(&draft, "futex"));
}

#[test]
fn arguments_with_another_meaning_are_not_limited() {
    let mut recording = Recording::default();
    for (arch, name) in [(Arch::S390x, "clone"), (Arch::S390x, "mmap")] {
        recording.observe(id(arch, name), &[0; 6]);
    }
    let draft = generate(&[recording], &bare()).unwrap();
    assert_eq!(limits(&draft, "mmap"), [""; 0]);
    assert_eq!(grant(&draft, "mmap").unlimited[0].why, "on s390x it is a different argument");
}

#[test]
fn high_halves_are_ignored_on_32_bit_abis() {
    let mut recording = Recording::default();
    let ptrace = id(Arch::X86, "ptrace");
    recording.observe(ptrace, &[0xffff_ffff_ffff_ff9c, 0, 0, 0, 0, 0]);
    let draft = generate(&[recording], &bare()).unwrap();
    assert_eq!(limits(&draft, "ptrace"), ["request == 0xffffff9c"]);
}

#[test]
fn the_number_of_rules_for_one_syscall_is_limited() {
    // 8 families, 5 types and 6 protocols, many of which cannot be joined.
    let mut syscalls: Vec<[u64; 3]> = Vec::new();
    for family in [0, 3, 5, 6, 9, 10, 12, 15] {
        syscalls.push([family, 1, 0]);
    }
    syscalls.extend([1, 2, 4, 7, 8].map(|kind| [0, kind, 0]));
    syscalls.extend([0, 3, 5, 6, 9, 10].map(|protocol| [0, 1, protocol]));
    let mut recording = Recording::default();
    for [a, b, c] in syscalls.iter().cycle().take(syscalls.len() * 9) {
        recording.observe(syscall("socket"), &[*a, *b, *c, 0, 0, 0]);
    }
    let draft = generate(&[recording], &bare()).unwrap();
    let socket = grant(&draft, "socket");
    assert_eq!(
        socket.limits.iter().map(|limit| limit.name).collect::<Vec<_>>(),
        ["type", "protocol"]
    );
    assert_eq!(socket.unlimited[0].name, "family");
    draft.write(to("oci")).unwrap();
}

#[test]
fn errors_have_a_reason_and_help() {
    let message = |recordings: &[Recording], options: &GenerateOptions, format: LanguageId| {
        let error =
            generate(recordings, options).and_then(|draft| draft.write(format)).unwrap_err();
        assert!(!error.help().is_empty());
        error.to_string()
    };
    let read = recorded(1, &[("read", &[])]);
    let mut foreign = read.clone();
    foreign.count(SyscallId::new(Arch::S390x, 3), 1);
    let mut multilib = read.clone();
    multilib.count(SyscallId::new(Arch::X86, 3), 1);
    let on_arm = GenerateOptions { arches: vec![Arch::Aarch64], ..bare() };
    assert_eq!(message(&[], &bare(), to("oci")), "nothing was recorded");
    assert_eq!(
        message(&[read], &on_arm, to("oci")),
        "no syscalls were recorded for aarch64, only for x86_64"
    );
    assert!(message(&[foreign], &bare(), to("systemd")).contains("different byte orders"));
    assert_eq!(
        message(&[multilib], &bare(), to("kafel")),
        "a Kafel policy is for one architecture, but the profile is for 2: x86_64, x86"
    );
}

#[test]
fn warnings_about_recordings_and_formats() {
    let all = |recording: Recording, options: &GenerateOptions, format: LanguageId| {
        let recordings = [recording];
        let draft = generate(&recordings, options).unwrap();
        let remarks = remarks(&recordings, &draft, format.annotated().unwrap());
        remarks.into_iter().map(|remark| remark.message).collect::<Vec<_>>().join("\n")
    };
    let good = recorded(1, &[("socket", &[1, 1, 0])]);
    assert_eq!(all(good.clone(), &bare(), to("oci")), "");
    let lost = Run { lost: 7, status: Some(139), ..Run::default() };
    let mut bad = good.clone();
    bad.push_run(lost);
    bad.count(SyscallId::new(X86_64, 4000), 3);
    bad.count(SyscallId::new(Arch::X86, 3), 1);
    let options = GenerateOptions { arches: vec![X86_64], partial: true, ..bare() };
    let text = all(bad, &options, to("systemd"));
    for part in [
        "at least 7 syscalls are missing from the recording",
        "exited with status 139",
        "syscalls of x86 were recorded too",
        "no syscall with the number 4000, which was recorded 3 times",
        "limits are omitted (syscalls with limits: 1)",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let mut once = good.clone();
    once.count(SyscallId::new(X86_64, 4000), 1);
    assert!(all(once, &bare(), to("oci")).contains("4000, which was recorded once: it is denied"));
    let audit = Run { method: crate::recording::RecordingMethod::Audit, ..Run::default() };
    let mut denied = Recording::of(audit);
    denied.count(syscall("ptrace"), 1);
    let text = all(denied, &bare(), to("oci"));
    assert!(text.contains("audit log") && text.contains("no argument values"), "{text}");
}

#[test]
fn unknown_values_that_prevent_limits_cause_a_warning() {
    // As in strace logs: numbers for some arguments, names for those that could be limited.
    let mut log =
        Recording::of(Run { method: crate::recording::RecordingMethod::Strace, ..Run::default() });
    let unknown = || ArgValues::default();
    log.add(syscall("socket"), 1, [unknown(), unknown(), ArgValues::from_values(1, [0])]);
    log.add(
        syscall("mmap"),
        2,
        [ArgValues::from_values(2, [0]), ArgValues::from_values(2, [4096]), unknown()],
    );
    log.add(syscall("read"), 1, [ArgValues::from_values(1, [3]), unknown()]);
    let good = recorded(9, &[("socket", &[1, 1, 0]), ("mmap", &[0, 4096, 1]), ("setns", &[3, 0])]);
    let remarked = |recordings: &[Recording], options: &GenerateOptions, format: LanguageId| {
        let draft = generate(recordings, options).unwrap();
        let remarks = remarks(recordings, &draft, format.annotated().unwrap());
        remarks
            .iter()
            .map(|remark| format!("{} / {}", remark.message, remark.help))
            .collect::<String>()
    };
    let text = remarked(&[log.clone()], &bare(), to("oci"));
    assert!(text.contains("granted without limits on them: mmap, socket / "), "{text}");
    assert!(text.contains("strace -e raw=all"), "{text}");
    // With a complete recording as well, the log still prevents limits.
    assert_eq!(remarked(std::slice::from_ref(&good), &bare(), to("oci")), "");
    let both = [good, log.clone()];
    assert!(remarked(&both, &bare(), to("kafel")).contains(": mmap, socket / "));
    // No warning if there would be no limits.
    assert_eq!(remarked(&both, &bare(), to("systemd")).matches("without limits").count(), 0);
    let off = GenerateOptions { arguments: LimitedArgs::Off, ..bare() };
    assert_eq!(remarked(&both, &off, to("oci")), "");
    // The number of names is limited.
    for name in ["bpf", "clone", "fcntl", "futex", "ioctl", "keyctl", "mprotect", "prctl", "ptrace"]
    {
        log.count(syscall(name), 1);
    }
    let text = remarked(&[log], &bare(), to("oci"));
    assert!(
        text.contains("bpf, fcntl, futex, ioctl, keyctl, mmap, mprotect, prctl and 2 more / "),
        "{text}"
    );
}
