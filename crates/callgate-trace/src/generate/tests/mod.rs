//! What a profile grants, and that its text means the same in every form.

mod forms;

use super::*;
use crate::recording::{Bounds, CallId, Caveat, Effect, Recording, Run, Values};
use callgate_bpf::syscalls::Arch;
use callgate_bpf::verdict::Verdict;

const X86_64: Arch = Arch::X86_64;

fn call(name: &str) -> CallId {
    CallId::new(X86_64, X86_64.number(name).unwrap())
}

/// A recording of calls with their first arguments, each this many times.
fn recorded(times: u64, calls: &[(&str, &[u64])]) -> Recording {
    let mut recording = Recording::of(Run::default());
    for (name, args) in calls {
        let mut all = [0; 6];
        all.iter_mut().zip(*args).for_each(|(to, from)| *to = *from);
        (0..times).for_each(|_| recording.observe(call(name), &all));
    }
    recording
}

/// Only what was recorded, for nobody.
fn bare() -> Options {
    Options { complete: false, runtime: Runtime::None, ..Options::default() }
}

/// What is granted, but for the calls that the kernel makes.
fn names(draft: &Draft) -> Vec<&str> {
    let grants = draft.grants().filter(|grant| grant.reason != Reason::Kernel);
    grants.map(|grant| grant.name).collect()
}

fn grant<'d>(draft: &'d Draft, name: &str) -> &'d Grant {
    draft.grants().find(|grant| grant.name == name).unwrap_or_else(|| panic!("{name}"))
}

fn limits(draft: &Draft, name: &str) -> Vec<String> {
    grant(draft, name).limits.iter().map(ToString::to_string).collect()
}

#[test]
fn only_what_was_recorded_is_granted() {
    let draft = generate(&[recorded(1, &[("read", &[]), ("stat", &[])])], &bare()).unwrap();
    assert_eq!(names(&draft), ["read", "stat"]);
    let complete = Options { complete: true, ..bare() };
    let draft = generate(&[recorded(1, &[("read", &[]), ("stat", &[])])], &complete).unwrap();
    assert_eq!(
        names(&draft),
        ["fstat", "lseek", "lstat", "newfstatat", "read", "readv", "stat", "statx"]
    );
    assert!(matches!(grant(&draft, "statx").reason, Reason::Sibling { of: "stat", .. }));
}

/// Nobody records them unless a signal comes, and without them the first one ends the program.
#[test]
fn calls_that_the_kernel_makes_are_always_granted() {
    let by_kernel = |draft: &Draft| -> Vec<&'static str> {
        let grants = draft.grants().filter(|grant| grant.reason == Reason::Kernel);
        grants.map(|grant| grant.name).collect()
    };
    let draft = generate(&[recorded(1, &[("read", &[])])], &bare()).unwrap();
    assert_eq!(by_kernel(&draft), ["restart_syscall", "rt_sigreturn"]);
    let draft = generate(&[recorded(1, &[("rt_sigreturn", &[])])], &bare()).unwrap();
    assert_eq!(by_kernel(&draft), ["restart_syscall"]);
    // systemd adds it by itself.
    for form in [Form::Oci, Form::Kafel] {
        let text = draft.write(form).unwrap().text;
        assert!(text.contains("restart_syscall"), "{text}");
    }
}

/// How a connection ends depends on the other side: the day of the recording says nothing about it.
#[test]
fn what_is_up_to_chance_comes_with_the_call() {
    let complete = Options { complete: true, ..bare() };
    let draft = generate(&[recorded(1, &[("accept4", &[])])], &complete).unwrap();
    assert_eq!(names(&draft), ["accept", "accept4", "shutdown"]);
    assert!(matches!(grant(&draft, "shutdown").reason, Reason::Sibling { of: "accept4", .. }));
    let draft = generate(&[recorded(1, &[("clone", &[0x3d_0f00])])], &complete).unwrap();
    assert_eq!(limits(&draft, "futex"), ["op & 0xfffffe7f in {0, 1, 3, 4, 5, 9, 10}"]);
    let off = Options { arguments: Arguments::Off, ..complete };
    let draft = generate(&[recorded(1, &[("clone", &[0x3d_0f00])])], &off).unwrap();
    assert_eq!(limits(&draft, "futex"), [""; 0]);
}

#[test]
fn recordings_are_taken_together_in_any_order() {
    let a = recorded(1, &[("socket", &[1, 1, 0]), ("read", &[])]);
    let b = recorded(2, &[("socket", &[2, 1, 0])]);
    let draft = generate(&[a.clone(), b.clone()], &Options::default()).unwrap();
    assert_eq!(limits(&draft, "socket")[0], "family in {1, 2}");
    assert_eq!(grant(&draft, "socket").reason, Reason::Recorded(3));
    let other = generate(&[b, a], &Options::default()).unwrap();
    assert!(draft.grants().eq(other.grants()));
}

/// A recording says of itself that it is not whole, and a profile of it would end the program some day.
#[test]
fn a_recording_that_lacks_calls_makes_a_profile_on_demand_alone() {
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
    assert!(message(&[lost]).contains("at least 3"));
    let partial = Options { partial: true, ..bare() };
    let all = [missing, denied.clone()];
    let remarks = remarks(&all, &generate(&all, &partial).unwrap(), Form::Oci);
    let text: String = remarks.iter().map(|remark| format!("{}\n", remark.message)).collect();
    for part in [
        "unrecorded-threads happened: the profile may be too small",
        "x happened\n",
        "denied-calls happened: the profile allows them",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    generate(&[denied], &bare()).unwrap();
}

#[test]
fn arguments_that_are_no_privilege_are_limited_when_they_are_stable() {
    let one = recorded(1, &[("ioctl", &[3, 0x5421])]);
    let often = recorded(4, &[("ioctl", &[3, 0x5421])]);
    let other = recorded(4, &[("ioctl", &[3, 0x541b])]);
    let limited = |recordings: &[Recording], arguments| {
        let draft = generate(recordings, &Options { arguments, ..bare() }).unwrap();
        limits(&draft, "ioctl").len() == 1
    };
    assert!(!limited(std::slice::from_ref(&one), Arguments::Stable), "seen once");
    assert!(limited(std::slice::from_ref(&often), Arguments::Stable), "seen often");
    assert!(limited(&[one.clone(), one.clone()], Arguments::Stable), "the same twice");
    assert!(!limited(&[often.clone(), other.clone()], Arguments::Stable), "not the same");
    assert!(limited(&[often, other], Arguments::All));
    assert!(!limited(&[one.clone(), one.clone()], Arguments::Off));
    // A recording without the call says nothing of it.
    let without = recorded(1, &[("read", &[])]);
    assert!(limited(&[one.clone(), without, one], Arguments::Stable));
}

#[test]
fn values_that_are_not_known_limit_nothing() {
    let mut recording = recorded(9, &[("socket", &[1, 1, 0])]);
    recording.count(call("socket"), 1);
    let draft = generate(&[recording], &Options { arguments: Arguments::All, ..bare() }).unwrap();
    assert_eq!(limits(&draft, "socket"), [""; 0]);
    assert_eq!(grant(&draft, "socket").unlimited.len(), 3);
}

#[test]
fn only_the_bits_that_matter_are_compared() {
    let fork = &[0x0120_0011_u64][..];
    let thread = &[0xdead_0000_003d_0f00_u64][..];
    let draft = generate(&[recorded(1, &[("clone", fork), ("clone", thread)])], &bare()).unwrap();
    assert_eq!(limits(&draft, "clone"), ["clone_flags & 0x7e020000 == 0"]);
    // What the kernel does not look at is not compared.
    let wide = &[0, 0xffff_ffff_0000_5421_u64][..];
    let draft = generate(&[recorded(4, &[("ioctl", wide)])], &bare()).unwrap();
    assert_eq!(limits(&draft, "ioctl"), ["cmd in {0x5401, 0x5413, 0x5421, 0x802c542a}"]);
    assert_eq!(grant(&draft, "ioctl").limits[0].mask, 0xffff_ffff);
}

#[test]
fn of_many_values_bits_are_left_or_nothing() {
    let mut recording = Recording::default();
    let bounds = Bounds { min: 1, max: 0x100b, ever: 0x100b, always: 1 };
    let many = Values::many(99, bounds);
    recording.add(call("mprotect"), 99, [many.clone(), many.clone(), many.clone()]);
    recording.add(call("ioctl"), 99, [many.clone(), many]);
    let draft = generate(&[recording], &bare()).unwrap();
    assert_eq!(limits(&draft, "mprotect"), ["prot & 0x4 == 0"]);
    assert_eq!(grant(&draft, "ioctl").unlimited[0].why, "more than 32 values were seen");
}

#[test]
fn a_call_of_the_runtime_widens_limits_or_ends_them() {
    let runc = Options { runtime: Runtime::Runc, ..bare() };
    let calls: &[(&str, &[u64])] = &[("fcntl", &[3, 9]), ("prctl", &[15]), ("mmap", &[0, 1, 1])];
    let draft = generate(&[recorded(4, calls)], &runc).unwrap();
    assert_eq!(limits(&draft, "fcntl"), ["cmd in {0, 1, 2, 3, 4, 9, 1030}"]);
    assert_eq!(limits(&draft, "prctl"), [""; 0]);
    assert_eq!(limits(&draft, "mmap"), ["prot & 0x6 in {0, 2}"]);
    assert!(grant(&draft, "mmap").at_start && grant(&draft, "mmap").is_recorded());
    assert_eq!(grant(&draft, "capset").reason, Reason::Runtime);
    assert_eq!(limits(&draft, "futex"), ["op & 0xfffffe7f in {0, 1, 3, 4, 5, 9, 10}"]);
}

#[test]
fn what_libraries_do_on_any_day_is_granted() {
    // A lock that was only released, once, and memory that was only made read-only.
    let calls: &[(&str, &[u64])] = &[("futex", &[0, 0x81]), ("mprotect", &[0, 0, 1])];
    let draft = generate(&[recorded(1, calls)], &bare()).unwrap();
    assert_eq!(limits(&draft, "futex"), ["op & 0xfffffe7f in {0, 1, 3, 4, 5, 9, 10}"]);
    assert_eq!(limits(&draft, "mprotect"), ["prot & 0x6 in {0, 2}"]);
    // What is unusual still needs to be seen often.
    let draft = generate(&[recorded(3, &[("futex", &[0, 6])])], &bare()).unwrap();
    assert_eq!(limits(&draft, "futex"), [""; 0]);
    let draft = generate(&[recorded(4, &[("futex", &[0, 6])])], &bare()).unwrap();
    assert_eq!(limits(&draft, "futex"), ["op & 0xfffffe7f in {0, 1, 3, 4, 5, 6, 9, 10}"]);
}

#[test]
fn clone3_does_not_undo_the_limit_of_clone() {
    let complete = Options { complete: true, ..bare() };
    let fork = [recorded(1, &[("clone", &[0x0120_0011])])];
    let draft = generate(&fork, &complete).unwrap();
    let by_chance = ["futex", "madvise", "munmap", "sched_yield"];
    let siblings = names(&draft).into_iter().filter(|name| !by_chance.contains(name));
    assert!(siblings.eq(["clone", "fork", "vfork"]));
    assert_eq!(draft.refused(), ["clone3"]);
    // Where others fail with EPERM, it needs its own rule, or nobody would fall back.
    for (deny, said) in [(Deny::Enosys, false), (Deny::Eperm, true), (Deny::Log, false)] {
        let draft = generate(&fork, &Options { deny, ..complete.clone() }).unwrap();
        let text = draft.write(Form::Oci).unwrap().text;
        assert_eq!(text.contains("clone3"), said, "{deny:?}");
    }
    // One that was recorded is granted.
    let both = recorded(1, &[("clone", &[0x0120_0011]), ("clone3", &[])]);
    let draft = generate(&[both], &complete).unwrap();
    assert!(draft.refused().is_empty());
    assert_eq!(grant(&draft, "clone3").unlimited[0].name, "uargs");
    // One that stands for another call of the family does not undo it either.
    for options in [complete.clone(), Options::default()] {
        let draft = generate(&[recorded(1, &[("fork", &[])])], &options).unwrap();
        assert_eq!(limits(&draft, "clone"), ["clone_flags & 0x7e020000 == 0"]);
        assert_eq!(draft.refused(), ["clone3"]);
    }
    let off = Options { arguments: Arguments::Off, ..complete.clone() };
    let draft = generate(&[recorded(1, &[("fork", &[])])], &off).unwrap();
    assert_eq!(grant(&draft, "clone3").limits, []);
    // And brings clone without new namespaces.
    let draft = generate(&[recorded(1, &[("clone3", &[])])], &complete).unwrap();
    assert_eq!(limits(&draft, "clone"), ["clone_flags & 0x7e020000 == 0"]);
}

#[test]
fn an_architecture_that_is_named_twice_is_one() {
    let options = Options { arches: vec![X86_64, Arch::X86, X86_64], ..bare() };
    let draft = generate(&[recorded(1, &[("read", &[])])], &options).unwrap();
    assert_eq!(draft.arches(), [X86_64, Arch::X86]);
    draft.write(Form::Oci).unwrap();
}

#[test]
fn a_limit_that_keeps_nothing_out_is_none() {
    // Written, executed, and both at once, as a compiler at run time does it.
    let calls: &[(&str, &[u64])] = &[("mprotect", &[0, 0, 5]), ("mprotect", &[0, 0, 7])];
    let draft = generate(&[recorded(1, calls)], &bare()).unwrap();
    let mprotect = grant(&draft, "mprotect");
    assert_eq!((mprotect.limits.len(), mprotect.unlimited[0].name), (0, "prot"));
    draft.write(Form::Oci).unwrap();
}

#[test]
fn runc_finds_its_calls_on_32_bit_interfaces() {
    let mut recording = Recording::default();
    recording.observe(CallId::new(Arch::Arm, Arch::Arm.number("read").unwrap()), &[0; 6]);
    let options = Options { complete: false, ..Options::default() };
    let draft = generate(&[recording], &options).unwrap();
    assert_eq!(limits(&draft, "mmap2"), ["prot & 0x6 in {0, 2}"]);
    assert_eq!(grant(&draft, "fcntl64").reason, Reason::Runtime);
}

#[test]
fn siblings_share_limits_where_their_arguments_are_the_same() {
    let mut recording = Recording::default();
    let futex = CallId::new(Arch::Arm, Arch::Arm.number("futex").unwrap());
    (0..4).for_each(|_| recording.observe(futex, &[0, 0x80, 0, 0, 0, 0]));
    let draft = generate(&[recording], &Options { complete: true, ..bare() }).unwrap();
    assert_eq!(names(&draft), ["futex", "futex_time64"]);
    assert_eq!(limits(&draft, "futex_time64"), limits(&draft, "futex"));
}

#[test]
fn arguments_at_another_place_are_not_limited() {
    let mut recording = Recording::default();
    for (arch, name) in [(Arch::S390x, "clone"), (Arch::S390x, "mmap")] {
        recording.observe(CallId::new(arch, arch.number(name).unwrap()), &[0; 6]);
    }
    let draft = generate(&[recording], &bare()).unwrap();
    assert_eq!(draft.grants().map(|grant| grant.limits.len()).sum::<usize>(), 0);
    assert_eq!(grant(&draft, "clone").unlimited[0].why, "on s390x it stands elsewhere");
}

#[test]
fn a_32_bit_interface_has_no_high_halves() {
    let mut recording = Recording::default();
    let ptrace = CallId::new(Arch::X86, Arch::X86.number("ptrace").unwrap());
    recording.observe(ptrace, &[0xffff_ffff_ffff_ff9c, 0, 0, 0, 0, 0]);
    let draft = generate(&[recording], &bare()).unwrap();
    assert_eq!(limits(&draft, "ptrace"), ["request == 0xffffff9c"]);
}

#[test]
fn limits_of_one_call_are_few_rules() {
    // 8 families, 5 types, 6 protocols, none of which differ in one bit from another.
    let mut calls: Vec<[u64; 3]> = Vec::new();
    for family in [0, 3, 5, 6, 9, 10, 12, 15] {
        calls.push([family, 1, 0]);
    }
    calls.extend([1, 2, 4, 7, 8].map(|kind| [0, kind, 0]));
    calls.extend([0, 3, 5, 6, 9, 10].map(|protocol| [0, 1, protocol]));
    let mut recording = Recording::default();
    for [a, b, c] in calls.iter().cycle().take(calls.len() * 9) {
        recording.observe(call("socket"), &[*a, *b, *c, 0, 0, 0]);
    }
    let draft = generate(&[recording], &bare()).unwrap();
    let socket = grant(&draft, "socket");
    assert_eq!(
        socket.limits.iter().map(|limit| limit.name).collect::<Vec<_>>(),
        ["type", "protocol"]
    );
    assert_eq!(socket.unlimited[0].name, "family");
    draft.write(Form::Oci).unwrap();
}

#[test]
fn trouble_has_a_reason_and_a_way_out() {
    let message = |recordings: &[Recording], options: &Options, form| {
        let error = generate(recordings, options).and_then(|draft| draft.write(form)).unwrap_err();
        assert!(!error.help().is_empty());
        error.to_string()
    };
    let read = recorded(1, &[("read", &[])]);
    let mut foreign = read.clone();
    foreign.count(CallId::new(Arch::S390x, 3), 1);
    let mut multilib = read.clone();
    multilib.count(CallId::new(Arch::X86, 3), 1);
    let on_arm = Options { arches: vec![Arch::Aarch64], ..bare() };
    assert_eq!(message(&[], &bare(), Form::Oci), "nothing was recorded");
    assert_eq!(
        message(&[read], &on_arm, Form::Oci),
        "no calls were recorded for aarch64, only for x86_64"
    );
    assert!(message(&[foreign], &bare(), Form::Systemd).contains("different byte orders"));
    assert_eq!(
        message(&[multilib], &bare(), Form::Kafel),
        "a Kafel policy is for one architecture, but the profile would be for 2: x86_64, x86"
    );
}

#[test]
fn what_may_be_missing_is_remarked() {
    let all = |recording: Recording, options: &Options, form| {
        let recordings = [recording];
        let draft = generate(&recordings, options).unwrap();
        let remarks = remarks(&recordings, &draft, form);
        remarks.into_iter().map(|remark| remark.message).collect::<Vec<_>>().join("\n")
    };
    let good = recorded(1, &[("socket", &[1, 1, 0])]);
    assert_eq!(all(good.clone(), &bare(), Form::Oci), "");
    let lost = Run { lost: 7, status: Some(139), ..Run::default() };
    let mut bad = good.clone();
    bad.push_run(lost);
    bad.count(CallId::new(X86_64, 4000), 3);
    bad.count(CallId::new(Arch::X86, 3), 1);
    let options = Options { arches: vec![X86_64], partial: true, ..bare() };
    let text = all(bad, &options, Form::Systemd);
    for part in [
        "calls happened that are not in the recording, at least 7",
        "ended with status 139",
        "calls of x86 were recorded, too",
        "no call with the number 4000, which was recorded 3 times",
        "limits are left out (calls with limits: 1)",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let mut once = good.clone();
    once.count(CallId::new(X86_64, 4000), 1);
    assert!(all(once, &bare(), Form::Oci).contains("4000, which was recorded once: it is denied"));
    let audit = Run { how: crate::recording::How::Audit, ..Run::default() };
    let mut denied = Recording::of(audit);
    denied.count(call("ptrace"), 1);
    let text = all(denied, &bare(), Form::Oci);
    assert!(text.contains("audit log") && text.contains("no values of arguments"), "{text}");
}

#[test]
fn limits_that_are_lost_because_values_are_not_known_are_remarked() {
    // As logs of strace are: numbers for some arguments, names for those that could be limited.
    let mut log = Recording::of(Run { how: crate::recording::How::Strace, ..Run::default() });
    let unknown = || Values::default();
    log.add(call("socket"), 1, [unknown(), unknown(), Values::few(1, [0])]);
    log.add(call("mmap"), 2, [Values::few(2, [0]), Values::few(2, [4096]), unknown()]);
    log.add(call("read"), 1, [Values::few(1, [3]), unknown()]);
    let good = recorded(9, &[("socket", &[1, 1, 0]), ("mmap", &[0, 4096, 1]), ("setns", &[3, 0])]);
    let remarked = |recordings: &[Recording], options: &Options, form| {
        let draft = generate(recordings, options).unwrap();
        let remarks = remarks(recordings, &draft, form);
        remarks
            .iter()
            .map(|remark| format!("{} / {}", remark.message, remark.help))
            .collect::<String>()
    };
    let text = remarked(&[log.clone()], &bare(), Form::Oci);
    assert!(text.contains("more than was recorded: mmap, socket / "), "{text}");
    assert!(text.contains("strace -e raw=all"), "{text}");
    // A good recording beside it does not help, and the log takes its limits away.
    assert_eq!(remarked(std::slice::from_ref(&good), &bare(), Form::Oci), "");
    let both = [good, log.clone()];
    assert!(remarked(&both, &bare(), Form::Kafel).contains(": mmap, socket / "));
    // Where nothing would be limited, nothing is lost.
    assert_eq!(remarked(&both, &bare(), Form::Systemd).matches("than was recorded").count(), 0);
    let off = Options { arguments: Arguments::Off, ..bare() };
    assert_eq!(remarked(&both, &off, Form::Oci), "");
    // However many there are, it is one line.
    for name in ["bpf", "clone", "fcntl", "futex", "ioctl", "keyctl", "mprotect", "prctl", "ptrace"]
    {
        log.count(call(name), 1);
    }
    let text = remarked(&[log], &bare(), Form::Oci);
    assert!(
        text.contains("bpf, clone, fcntl, futex, ioctl, keyctl, mmap, mprotect and 3 more / "),
        "{text}"
    );
}
