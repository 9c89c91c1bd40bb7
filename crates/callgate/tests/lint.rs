//! Each check finds its mistake, with a syscall that shows it, and nothing where the mistake is corrected.
#![cfg(feature = "sources")]

use callgate::lint::{Check, Finding, Level, Subject, lint};
use callgate::source::{self, Reading, SourceContent, SourceFormat, SourceText};
use callgate::{Arch, Endian, Expr, Filter, FilterBuilder, Verdict, arg, instruction_pointer};
use callgate_bpf::SyscallTable;
use callgate_bpf::syscalls::KernelVersion;
use callgate_core::policy::{Condition, Policy, Rule, Section};
use callgate_core::{Insn, LongProgram, Op, Program, SyscallSet};
use callgate_formats::kafel;
use callgate_formats::oci::{self, Dialect, ReadOptions};
use callgate_formats::{CapSet, Profile, container_default};

fn options(arches: &[Arch], dialect: Dialect) -> ReadOptions {
    let kernel = KernelVersion { major: 6, minor: 18 };
    let mut options = ReadOptions::new(Arch::X86_64, kernel);
    options.arches = arches.to_vec();
    options.dialect = Some(dialect);
    options.statements = true;
    options.caps = CapSet::all();
    options
}

fn read(text: &str, arches: &[Arch]) -> Profile {
    oci::read(text, &options(arches, Dialect::Podman)).unwrap()
}

/// A profile of these entries, each in a line of its own, from line 2 on.
fn profile(default: &str, entries: &[&str]) -> String {
    format!(
        "{{\"defaultAction\": \"SCMP_ACT_{default}\", \"syscalls\": [\n{}\n]}}",
        entries.join(",\n")
    )
}

fn entry(names: &[&str], action: &str, args: &[(u8, &str, u64, u64)]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    let args: Vec<String> = args
        .iter()
        .map(|(index, op, value, two)| {
            format!(
                "{{\"index\": {index}, \"op\": \"SCMP_CMP_{op}\", \"value\": {value}, \"valueTwo\": {two}}}"
            )
        })
        .collect();
    format!(
        "{{\"names\": [{}], \"action\": \"SCMP_ACT_{action}\", \"args\": [{}]}}",
        names.join(", "),
        args.join(", ")
    )
}

/// What every program needs.
fn needed() -> String {
    entry(&["rt_sigreturn", "restart_syscall", "exit", "exit_group", "sigreturn"], "ALLOW", &[])
}

/// The findings of a check for a profile.
fn found_on(arches: &[Arch], default: &str, entries: &[&str], check: Check) -> Vec<Finding> {
    let profile = read(&profile(default, entries), arches);
    let all = lint(&[Subject::profile(&profile)], arches).unwrap();
    all.into_iter().filter(|finding| finding.check == check).collect()
}

fn found(default: &str, entries: &[&str], check: Check) -> Vec<Finding> {
    found_on(&[Arch::X86_64], default, entries, check)
}

fn line(finding: &Finding) -> u32 {
    finding.site.as_ref().unwrap().position.line
}

/// The only finding, at a line.
fn only(found: Vec<Finding>, at: u32) -> Finding {
    let [finding] = <[Finding; 1]>::try_from(found).unwrap();
    assert_eq!(line(&finding), at, "{finding:?}");
    finding
}

#[test]
fn high_bits_evade_a_comparison_of_64_bits() {
    let deny = entry(&["socket"], "ERRNO", &[(0, "EQ", 40, 0)]);
    let finding = only(found("ALLOW", &[&deny], Check::HighBits), 2);
    assert_eq!(finding.check.level(), Level::Error);
    assert_eq!(finding.syscalls, ["socket"]);
    let [denied, allowed] = finding.examples.as_slice() else { panic!("{finding:?}") };
    assert_eq!((denied.data.args[0], denied.verdict), (40, Verdict::errno(1)));
    assert_eq!((allowed.data.args[0] as u32, allowed.verdict), (40, Verdict::ALLOW));
    assert!(allowed.data.args[0] > u64::from(u32::MAX));

    // With a mask there is nothing to evade, and a list of allowed values fails with other high bits.
    let low = entry(&["socket"], "ERRNO", &[(0, "MASKED_EQ", 0xffff_ffff, 40)]);
    assert_eq!(found("ALLOW", &[&low], Check::HighBits), []);
    let allow = entry(&["socket"], "ALLOW", &[(0, "EQ", 40, 0)]);
    assert_eq!(found("ERRNO", &[&allow], Check::HighBits), []);
    // The kernel reads 64 bits of a length.
    let wide = entry(&["write"], "ERRNO", &[(2, "EQ", 40, 0)]);
    assert_eq!(found("ALLOW", &[&wide], Check::HighBits), []);
    // Registers of 32 bits have no high half.
    assert_eq!(found_on(&[Arch::X86], "ALLOW", &[&deny], Check::HighBits), []);
}

#[test]
fn a_negative_number_has_two_forms() {
    let allow = entry(&["openat"], "ALLOW", &[(0, "EQ", 0xffff_ff9c, 0)]);
    let finding = only(found("ERRNO", &[&allow], Check::SignExtension), 2);
    let verdicts: Vec<_> = finding.examples.iter().map(|one| one.verdict.permits()).collect();
    assert_eq!(verdicts, [true, false]);
    assert_eq!(finding.examples[1].data.args[0], 0xffff_ffff_ffff_ff9c);
    let both = [&*allow, &entry(&["openat"], "ALLOW", &[(0, "EQ", 0xffff_ffff_ffff_ff9c, 0)])];
    assert_eq!(found("ERRNO", &both, Check::SignExtension), []);
    // A rule on the extended form alone cannot be evaded, but the other form of the number does not match it.
    let extended = entry(&["openat"], "ALLOW", &[(0, "EQ", 0xffff_ffff_ffff_ff9c, 0)]);
    assert_eq!(found("ERRNO", &[&extended], Check::HighBits), []);
    assert_eq!(found("ERRNO", &[&extended], Check::SignExtension).len(), 1);
    let unsigned = entry(&["personality"], "ALLOW", &[(0, "EQ", 0xffff_ffff, 0)]);
    assert_eq!(found("ERRNO", &[&unsigned], Check::SignExtension), []);
}

#[test]
fn a_low_half_is_not_a_length() {
    let low = entry(&["write"], "ALLOW", &[(2, "MASKED_EQ", 0xffff_ffff, 7)]);
    let finding = only(found("ERRNO", &[&low], Check::LowHalf), 2);
    assert!(finding.examples.iter().all(|one| one.verdict.permits()));
    assert_ne!(finding.examples[0].data.args[2], finding.examples[1].data.args[2]);
    let whole = entry(&["write"], "ALLOW", &[(2, "EQ", 7, 0)]);
    assert_eq!(found("ERRNO", &[&whole], Check::LowHalf), []);
    // Some bits of the protection; `clone` truncates its flags, and `unshare` refuses unknown ones.
    let bits = entry(&["mmap"], "ALLOW", &[(2, "MASKED_EQ", 4, 0)]);
    assert_eq!(found("ERRNO", &[&bits], Check::LowHalf), []);
    let clone = entry(&["clone"], "ALLOW", &[(0, "MASKED_EQ", 0xffff_ffff, 0x11)]);
    assert_eq!(found("ERRNO", &[&clone], Check::LowHalf), []);
    let unshare = entry(&["unshare"], "ALLOW", &[(0, "MASKED_EQ", 0xffff_ffff, 0x400)]);
    assert_eq!(found("ERRNO", &[&unshare], Check::LowHalf), []);
}

/// As many rules as a search for a covering rule per rule could not compare.
#[test]
fn many_overlapping_rules_are_examined() {
    let ranges: Vec<String> = (0..3000)
        .map(|i| format!("ALLOW {{ ioctl {{ cmd >= {} && cmd <= {} }} }}", 2 * i, 2 * i + 3))
        .collect();
    let text = format!("{} DEFAULT KILL", ranges.join(", "));
    let options = kafel::ReadOptions { statements: true, ..kafel::ReadOptions::new(Arch::X86_64) };
    let profile = kafel::read(&text, &options).unwrap();
    let all = lint(&[Subject::profile(&profile)], &[Arch::X86_64]).unwrap();
    let covered = all
        .iter()
        .filter(|one| one.check == Check::ConditionWithoutEffect || one.check == Check::Duplicate);
    // Every other rule is covered by its neighbours.
    assert!(covered.count() > 1000);
}

#[test]
fn pointers_are_compared_with_null_only() {
    let address = entry(&["openat"], "ALLOW", &[(1, "EQ", 0x1234_5678, 0)]);
    let finding = only(found("ERRNO", &[&address], Check::PointerValue), 2);
    assert_eq!(finding.examples[0].data.args[1], 0x1234_5678);
    assert!(finding.examples[0].verdict.permits() && !finding.examples[1].verdict.permits());
    for op in ["EQ", "NE"] {
        let null = entry(&["openat"], "ALLOW", &[(1, op, 0, 0)]);
        assert_eq!(found("ERRNO", &[&null], Check::PointerValue), [], "{op}");
    }
}

/// A program: if the arch differs from `token`, the verdict `other`; then the denial of `mount`.
fn denies_mount(token: Option<u32>, other: Verdict) -> LongProgram {
    let mut insns = Vec::new();
    if let Some(token) = token {
        insns.extend([
            Insn::new(Op::LdWordAbs, 4),
            Insn::branch(Op::JeqK, token, 1, 0),
            Insn::new(Op::RetK, other.0),
        ]);
    }
    insns.extend([
        Insn::new(Op::LdWordAbs, 0),
        Insn::branch(Op::JeqK, 165, 0, 1),
        Insn::new(Op::RetK, Verdict::errno(1).0),
        Insn::new(Op::RetK, Verdict::ALLOW.0),
    ]);
    Program::new(insns).unwrap().into()
}

fn of_program(program: &LongProgram, arches: &[Arch], check: Check) -> Vec<Finding> {
    let all = lint(&[Subject::program(program, Endian::Little)], arches).unwrap();
    all.into_iter().filter(|finding| finding.check == check).collect()
}

#[test]
fn other_architectures_are_checked() {
    let token = Some(Arch::X86_64.token());
    let native = [Arch::X86_64];
    for program in [denies_mount(None, Verdict::ALLOW), denies_mount(token, Verdict::ALLOW)] {
        let found = of_program(&program, &native, Check::ArchNotChecked);
        let [finding] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(finding.syscalls[0], "mount");
        let [denied, allowed] = finding.examples.as_slice() else { panic!("{finding:?}") };
        assert_eq!((denied.arch, denied.verdict), (Arch::X86_64, Verdict::errno(1)));
        assert_eq!(
            (allowed.arch, allowed.data.nr, allowed.verdict),
            (Arch::X86, 21, Verdict::ALLOW)
        );
    }
    let checked = denies_mount(token, Verdict::KILL_PROCESS);
    assert_eq!(of_program(&checked, &native, Check::ArchNotChecked), []);
    // A program whose numbers are those of x86 as well.
    let found = of_program(&checked, &native, Check::X32NotDenied);
    let [finding] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(finding.syscalls, ["mount"]);
    assert_eq!(finding.examples[1].data.nr, 0x4000_0000 + 165);
    // A filter that permits everything has nothing to evade.
    let all = Program::new(vec![Insn::new(Op::RetK, Verdict::ALLOW.0)]).unwrap().into();
    assert_eq!(of_program(&all, &native, Check::ArchNotChecked), []);
    assert_eq!(of_program(&all, &native, Check::AllowsAll).len(), 1);
    assert_eq!(of_program(&checked, &native, Check::AllowsAll), []);
}

#[test]
fn abis_have_the_same_rules() {
    let section = |arch: Arch, allowed: &[&str]| {
        let rules = allowed.iter().map(|name| Rule {
            syscalls: SyscallSet::one(arch.number(name).unwrap()),
            when: Condition::always(),
            verdict: Verdict::ALLOW,
        });
        Section::new(arch, rules.collect(), Verdict::errno(1))
    };
    let arches = [Arch::X86_64, Arch::X86];
    let of = |compat: &[&str]| {
        let sections = vec![section(Arch::X86_64, &["read"]), section(Arch::X86, compat)];
        let policy = Policy::new(sections, Verdict::KILL_PROCESS).unwrap();
        let all = lint(&[Subject::new(&policy)], &arches).unwrap();
        all.into_iter().filter(|finding| finding.check == Check::OtherAbi).collect::<Vec<_>>()
    };
    // x86-64 has no `waitpid`, so there is nothing to compare.
    assert_eq!(of(&["read", "waitpid"]), []);
    let found = of(&["read", "mount", "kill"]);
    let [finding] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(
        (finding.syscalls.as_slice(), finding.arches[0]),
        (["mount", "kill"].as_slice(), Arch::X86)
    );
}

#[test]
fn multiplexers_hide_arguments() {
    let socket = entry(&["socket"], "ALLOW", &[(0, "NE", 40, 0)]);
    let multiplexer = entry(&["socketcall"], "ALLOW", &[]);
    let x86 = [Arch::X86];
    let [others, finding] = <[Finding; 2]>::try_from(found_on(
        &x86,
        "ERRNO",
        &[&multiplexer, &socket],
        Check::Multiplexer,
    ))
    .unwrap();
    assert_eq!((line(&others), line(&finding)), (2, 3));
    assert!(others.syscalls.contains(&"listen"));
    assert_eq!(finding.syscalls, ["socket"]);
    let [denied, allowed] = finding.examples.as_slice() else { panic!("{finding:?}") };
    assert_eq!((denied.data.args[0], denied.verdict), (40, Verdict::errno(1)));
    assert_eq!((allowed.data.nr, allowed.data.args[0], allowed.verdict), (102, 1, Verdict::ALLOW));
    let all = entry(&["socket"], "ALLOW", &[]);
    assert_eq!(found_on(&x86, "ERRNO", &[&all], Check::Multiplexer), []);
    assert_eq!(found("ERRNO", &[&multiplexer, &socket], Check::Multiplexer), []);
}

#[test]
fn syscalls_with_the_same_effect_are_denied_together() {
    let deny = entry(&["mount"], "ERRNO", &[]);
    let finding = only(found("ALLOW", &[&deny], Check::SameEffect), 2);
    assert_eq!(finding.syscalls, ["mount", "move_mount"]);
    let both = entry(&["mount", "move_mount"], "ERRNO", &[]);
    assert_eq!(found("ALLOW", &[&both], Check::SameEffect), []);
    // It needs a mount that is not attached yet.
    let others = entry(&["mount", "fsmount", "open_tree"], "ERRNO", &[]);
    assert_eq!(found("ALLOW", &[&others], Check::SameEffect), []);
    // An allowlist without a syscall says nothing about it.
    let open = entry(&["openat"], "ALLOW", &[]);
    assert_eq!(found("ERRNO", &[&open], Check::SameEffect), []);
    // Flags of clone3 are in memory.
    let clone = entry(&["clone"], "ALLOW", &[(0, "MASKED_EQ", 0x1000_0000, 0)]);
    let clone3 = entry(&["clone3"], "ALLOW", &[]);
    let finding = only(found("ERRNO", &[&clone, &clone3], Check::SameEffect), 2);
    assert_eq!(finding.syscalls, ["clone", "clone3"]);
    assert!(finding.help.contains("ENOSYS"));
    assert_eq!(found("ERRNO", &[&clone], Check::SameEffect), []);
}

#[test]
fn rings_and_powerful_syscalls() {
    let ring = entry(&["io_uring_setup", "io_uring_enter"], "ALLOW", &[]);
    let finding = only(found("ERRNO", &[&ring], Check::IoUring), 2);
    assert!(finding.syscalls.contains(&"openat"));
    // A ring can work without io_uring_enter, but not without io_uring_setup.
    let half = entry(&["io_uring_enter"], "ALLOW", &[]);
    assert_eq!(found("ERRNO", &[&half], Check::IoUring), []);
    let polled = entry(&["io_uring_setup"], "ALLOW", &[]);
    assert_eq!(found("ERRNO", &[&polled], Check::IoUring).len(), 1);

    let ptrace = entry(&["ptrace"], "ALLOW", &[]);
    assert_eq!(only(found("ERRNO", &[&ptrace], Check::PowerfulCall), 2).syscalls, ["ptrace"]);
    let traceme = entry(&["ptrace"], "ALLOW", &[(0, "EQ", 0, 0)]);
    assert_eq!(found("ERRNO", &[&traceme], Check::PowerfulCall), []);
}

#[test]
fn rules_without_effect() {
    let always = entry(&["personality"], "ALLOW", &[]);
    let some = entry(&["personality"], "ALLOW", &[(0, "EQ", 8, 0)]);
    let finding = only(found("ERRNO", &[&always, &some], Check::ConditionWithoutEffect), 3);
    assert!(finding.message.contains("at 2:12"), "{}", finding.message);
    assert_eq!(found("ERRNO", &[&some], Check::ConditionWithoutEffect), []);
    let other = entry(&["personality"], "ALLOW", &[(0, "EQ", 9, 0)]);
    assert_eq!(found("ERRNO", &[&other, &some], Check::ConditionWithoutEffect), []);
    assert_eq!(found("ERRNO", &[&other, &some], Check::Duplicate), []);

    assert_eq!(
        only(found("ERRNO", &[&always, &always], Check::Duplicate), 3).syscalls,
        ["personality"]
    );
    assert_eq!(found("ERRNO", &[&always], Check::Duplicate), []);
    // Three that cover each other in part.
    let range = |first: u64, last: u64| {
        entry(&["dup"], "ALLOW", &[(0, "GE", first, 0), (1, "LE", last, 0)])
    };
    assert_eq!(found("ERRNO", &[&range(1, 5), &range(2, 9)], Check::Duplicate), []);

    let log = entry(&["mount"], "LOG", &[]);
    let errno = "{\"names\": [\"mount\"], \"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": 5}";
    let overruled = found("KILL", &[&log, errno], Check::Overruled);
    let at: Vec<_> = overruled.iter().map(line).collect();
    assert_eq!(at.len(), 1, "{overruled:?}");

    let equal = entry(&["mount", "umount2"], "ERRNO", &[]);
    let finding = only(found("ERRNO", &[&always, &equal], Check::EqualsDefault), 3);
    assert_eq!(finding.syscalls, ["mount", "umount2"]);
    let exception = entry(&["personality"], "ERRNO", &[(0, "EQ", 8, 0)]);
    let finding = only(found("ERRNO", &[&always, &exception], Check::EqualsDefault), 3);
    assert!(finding.help.contains("exceptions"), "{finding:?}");
}

#[test]
fn conditions_that_never_hold() {
    let never = entry(&["personality"], "ALLOW", &[(0, "MASKED_EQ", 1, 2)]);
    let text = profile("ERRNO", &[&never]);
    let profile = oci::read(&text, &options(&[Arch::X86_64], Dialect::Oci)).unwrap();
    let all = lint(&[Subject::profile(&profile)], &[Arch::X86_64]).unwrap();
    assert!(all.iter().any(|finding| finding.check == Check::NeverMatches && line(finding) == 2));
    let two = entry(&["personality"], "ALLOW", &[(0, "NE", 1, 0), (0, "NE", 2, 0)]);
    assert_eq!(line(&found("ERRNO", &[&two], Check::OrConditions)[0]), 2);
    assert_eq!(found("ERRNO", &[&two], Check::Profile), []);
}

#[test]
fn alternatives_test_the_same_arguments() {
    let get = entry(&["fcntl"], "ALLOW", &[(1, "EQ", 3, 0)]);
    let set = entry(&["fcntl"], "ALLOW", &[(1, "EQ", 4, 0), (2, "EQ", 0, 0)]);
    let finding = only(found("ERRNO", &[&get, &set], Check::UnevenAlternatives), 2);
    assert_eq!(finding.examples[0].data.args[1], 3);
    assert_eq!(found("ERRNO", &[&set], Check::UnevenAlternatives), []);
}

/// Rules as gVisor has them for `ioctl`: alternatives of which some check the descriptor. The order of the arguments must not
/// matter, nor whether values are listed or masked.
#[test]
fn an_argument_is_checked_in_all_alternatives_or_in_none() {
    let fd = || arg("fd").non_negative();
    let all = || arg("fd").u64().le(i32::MAX);
    let cmd = |value: u32| arg("cmd").eq(value);
    let many = || arg("cmd").is_in((0..900).map(|value| 0x7000 + value * 3));
    let found = |default, rules: &[Expr]| {
        let builder = Filter::builder(Arch::X86_64).default(default);
        let add = |builder: FilterBuilder, rule: &Expr| match default {
            Verdict::ALLOW => builder.deny_if("ioctl", rule.clone()),
            _ => builder.allow_if("ioctl", rule.clone()),
        };
        let filter = rules.iter().try_fold(builder, add).unwrap().build().unwrap();
        let mut all = lint(&[Subject::new(&filter)], &[Arch::X86_64]).unwrap();
        // The same function as a program.
        let program: LongProgram = filter.compile().unwrap().into();
        let of_program = of_program(&program, &[Arch::X86_64], Check::UnevenAlternatives);
        all.retain(|finding| finding.check == Check::UnevenAlternatives);
        assert_eq!(all, of_program);
        for finding in &all {
            let verdicts: Vec<_> = finding.examples.iter().map(|one| one.verdict).collect();
            assert_eq!(verdicts, [Verdict::ALLOW, default]);
        }
        all.into_iter().map(|finding| finding.message).collect::<Vec<_>>()
    };
    let kill = Verdict::KILL_PROCESS;
    let one = found(kill, &[fd() & cmd(1), cmd(2)]);
    assert_eq!(
        one,
        [
            "`ioctl` is allowed if fd.low <= 0x7fffffff and cmd.low == FIBMAP, but if cmd.low == FIGETBSZ, `fd` is not checked"
        ]
    );
    assert_eq!(found(kill, &[all() & cmd(1), cmd(2)]).len(), 1);
    assert_eq!(found(kill, &[cmd(2), all() & cmd(1)]).len(), 1);
    // No example can be made of a list that is too long to be shown.
    let listed = found(kill, &[all() & cmd(1), many()]);
    assert!(listed[0].contains("`fd` is not checked"), "{listed:?}");
    let masked = found(kill, &[all() & cmd(1), arg("cmd").masked(0xff).ne(7) & arg("arg").eq(5)]);
    assert!(masked[0].contains("`fd`"), "{masked:?}");
    let pointer = found(kill, &[instruction_pointer().lt(9000) & cmd(1), cmd(2)]);
    assert!(pointer[0].ends_with("the instruction pointer is not checked"), "{pointer:?}");

    assert_eq!(found(kill, &[all() & cmd(1), all() & cmd(2), all() & many()]), [""; 0]);
    assert_eq!(found(kill, &[fd() & cmd(1), arg("fd").eq(2) & cmd(2)]), [""; 0]);
    assert_eq!(found(kill, &[fd(), cmd(1)]).len(), 1);
    // What is denied leaves everything else unchecked.
    assert_eq!(found(Verdict::ALLOW, &[fd() & cmd(1), cmd(2)]), [""; 0]);
    assert_eq!(found(kill, &[!(arg("fd").eq(1) & cmd(9))]), [""; 0]);
}

/// The same alternatives in each language that has conditions on arguments, at the place of the one that checks less.
#[test]
fn alternatives_are_compared_in_every_language() {
    const KAFEL: &str = "ALLOW {\n fcntl {\n cmd == 3 ||\n cmd == 4 && arg == 0\n}\n} DEFAULT KILL";
    let nsjail = format!("seccomp_string: \"{}\"", KAFEL.replace('\n', " "));
    let oci = profile(
        "ERRNO",
        &[
            &entry(&["fcntl"], "ALLOW", &[(1, "EQ", 4, 0), (2, "EQ", 0, 0)]),
            &entry(&["fcntl"], "ALLOW", &[(1, "EQ", 3, 0)]),
        ],
    );
    let firecracker = r#"{"vmm": {"mismatch_action": "trap", "match_action": "allow", "filter": [
        {"syscall": "fcntl", "args": [{"index": 1, "type": "dword", "op": "eq", "val": 4},
            {"index": 2, "type": "qword", "op": "eq", "val": 0}]},
        {"syscall": "fcntl", "args": [{"index": 1, "type": "dword", "op": "eq", "val": 3}]}
    ]}}"#;
    for (language, text, line) in [
        ("oci", oci.as_str(), Some(3)),
        ("docker", &oci, Some(3)),
        ("kafel", KAFEL, Some(2)),
        ("nsjail", &nsjail, Some(1)),
        ("minijail", "fcntl: arg1 == 3 || arg1 == 4 && arg2 == 0\n", Some(1)),
        ("firecracker", firecracker, Some(4)),
        ("lxc", "2\nallowlist\nfcntl allow [1,4,==][2,0,==]\nfcntl allow [1,3,==]\n", Some(4)),
        ("snap", "read\nfcntl - 4 0\nfcntl - 3\n", Some(3)),
    ] {
        let mut reading = Reading::new(Arch::X86_64);
        reading.statements = true;
        reading.kernel = Some(KernelVersion { major: 6, minor: 18 });
        let mut source = SourceText::new(SourceContent::Text(text.to_owned()), reading);
        source.format = SourceFormat::from_name(language);
        assert!(source.format.is_some(), "{language}");
        let mut warnings = Vec::new();
        let stack = source::read(&source, &mut warnings).unwrap_or_else(|errors| {
            let errors: Vec<_> = errors.iter().map(|one| one.diagnostic.to_string()).collect();
            panic!("{language}: {errors:?}")
        });
        let subjects: Vec<Subject<'_>> = stack.filters.iter().map(|one| one.subject()).collect();
        let all = lint(&subjects, &[Arch::X86_64]).unwrap();
        let all = all.iter().filter(|finding| finding.check == Check::UnevenAlternatives);
        let places: Vec<_> = all
            .map(|finding| {
                assert_eq!(finding.syscalls, ["fcntl"], "{language}");
                assert_eq!(finding.examples[0].data.args[1], 3, "{language}");
                finding.site.as_ref().map(|site| site.position.line)
            })
            .collect();
        assert_eq!(places, [line], "{language}");
    }
}

#[test]
fn siblings_of_syscalls_are_allowed() {
    let old = entry(&["fcntl64", "open", "send"], "ALLOW", &[]);
    let names = |arch: Arch| -> Vec<_> {
        let found = found_on(&[arch], "ERRNO", &[&old], Check::MissingSibling);
        found.iter().map(|finding| finding.syscalls.clone()).collect()
    };
    assert_eq!(names(Arch::X86_64), [["fcntl64", "fcntl"], ["send", "sendto"]]);
    let both = entry(&["fcntl64", "fcntl"], "ALLOW", &[]);
    assert_eq!(found("ERRNO", &[&both], Check::MissingSibling), []);
    let arm = names(Arch::Aarch64);
    assert_eq!(arm, [["fcntl64", "fcntl"], ["open", "openat"], ["send", "sendto"]]);
    // x86 has `send` behind `socketcall`.
    assert_eq!(names(Arch::X86), Vec::<Vec<&str>>::new());
}

#[test]
fn fallbacks_need_enosys() {
    let clone = entry(&["clone"], "ALLOW", &[]);
    let finding = only(found("ERRNO", &[&clone], Check::ErrnoNotEnosys), 2);
    assert_eq!(finding.syscalls, ["clone3", "clone"]);
    let enosys = "{\"names\": [\"clone3\"], \"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": 38}";
    assert_eq!(found("ERRNO", &[&clone, enosys], Check::ErrnoNotEnosys), []);
    assert_eq!(found("KILL", &[&clone], Check::ErrnoNotEnosys), []);
    let neither = entry(&["read"], "ALLOW", &[]);
    assert_eq!(found("ERRNO", &[&neither], Check::ErrnoNotEnosys), []);
}

#[test]
fn every_program_needs_some_syscalls() {
    let read = entry(&["read"], "ALLOW", &[]);
    let names: Vec<_> =
        found("ERRNO", &[&read], Check::NeededCall).iter().map(|one| one.syscalls[0]).collect();
    assert_eq!(names, ["rt_sigreturn", "restart_syscall", "exit_group", "exit"]);
    assert_eq!(found("ERRNO", &[&read, &needed()], Check::NeededCall), []);
    // On x86, how a handler was installed decides by which of the two it returns.
    let one = entry(&["rt_sigreturn", "restart_syscall", "exit", "exit_group"], "ALLOW", &[]);
    let x86 = found_on(&[Arch::X86], "ERRNO", &[&one], Check::NeededCall);
    assert_eq!(x86.iter().map(|one| one.syscalls[0]).collect::<Vec<_>>(), ["sigreturn"]);
    assert_eq!(found_on(&[Arch::X86], "ERRNO", &[&needed()], Check::NeededCall), []);
    // ppc64 has the number, but not the frame.
    assert_eq!(found_on(&[Arch::Ppc64], "ERRNO", &[&one], Check::NeededCall), []);
}

#[test]
fn capabilities_fit_the_syscalls() {
    let gated = |caps: &str, name: &str| {
        format!(
            "{{\"names\": [\"{name}\"], \"action\": \"SCMP_ACT_ALLOW\", \"includes\": {{\"caps\": [\"{caps}\"]}}}}"
        )
    };
    let wrong = gated("CAP_SYS_ADMIN", "reboot");
    assert_eq!(only(found("ERRNO", &[&wrong], Check::Capability), 2).syscalls, ["reboot"]);
    for right in [gated("CAP_SYS_BOOT", "reboot"), gated("CAP_SYS_ADMIN", "syslog")] {
        assert_eq!(found("ERRNO", &[&right], Check::Capability), []);
    }
    // A rule that this container does not get is checked as well.
    let mut options = options(&[Arch::X86_64], Dialect::Docker);
    options.caps = CapSet::none();
    let profile = oci::read(&profile("ERRNO", &[&wrong]), &options).unwrap();
    let all = lint(&[Subject::profile(&profile)], &[Arch::X86_64]).unwrap();
    assert!(all.iter().any(|finding| finding.check == Check::Capability));
}

#[test]
fn numbers_of_newer_kernels() {
    let text = profile("ERRNO", &[&entry(&["read", "openat"], "ALLOW", &[])]);
    let of = |dialect| {
        let profile = oci::read(&text, &options(&[Arch::X86_64], dialect)).unwrap();
        let all = lint(&[Subject::profile(&profile)], &[Arch::X86_64]).unwrap();
        all.into_iter().filter(|finding| finding.check == Check::UnknownNumbers).count()
    };
    // runc lets them fail with ENOSYS.
    assert_eq!((of(Dialect::Docker), of(Dialect::Crun)), (0, 1));
    assert_eq!(found("ALLOW", &[&entry(&["mount"], "ERRNO", &[])], Check::UnknownNumbers).len(), 1);
}

#[test]
fn a_listener_is_mentioned() {
    let notify = entry(&["mount", "mknodat"], "NOTIFY", &[]);
    let text = format!("{{\"listenerPath\": \"/x\", {}", &profile("ERRNO", &[&notify])[1..]);
    let profile = read(&text, &[Arch::X86_64]);
    let all = lint(&[Subject::profile(&profile)], &[Arch::X86_64]).unwrap();
    let finding = all.iter().find(|finding| finding.check == Check::Notify).unwrap();
    assert_eq!((finding.syscalls.as_slice(), line(finding)), (["mount", "mknodat"].as_slice(), 2));
}

#[test]
fn costs_have_figures() {
    let numbers: Vec<u32> = (0..40).map(|i| 3 * i).collect();
    // A list that loads an argument first.
    let mut insns = vec![Insn::new(Op::LdWordAbs, 16), Insn::new(Op::LdWordAbs, 0)];
    for (i, nr) in numbers.iter().enumerate() {
        insns.push(Insn::branch(Op::JeqK, *nr, (numbers.len() - i) as u8, 0));
    }
    insns.extend([Insn::new(Op::RetK, 0), Insn::new(Op::RetK, Verdict::ALLOW.0)]);
    let program: LongProgram = Program::new(insns).unwrap().into();
    let slow = of_program(&program, &[Arch::X86_64], Check::SlowProgram);
    assert!(slow[0].message.starts_with("44 instructions and "), "{}", slow[0].message);
    let cached = of_program(&program, &[Arch::X86_64], Check::NotCached);
    assert_eq!(cached[0].syscalls.len(), 40);

    let filter = Filter::builder(Arch::X86_64).allow(["read", "write"]).unwrap().build().unwrap();
    let fast = filter.compile().unwrap();
    let best: LongProgram = fast.clone().into();
    assert_eq!(of_program(&best, &[Arch::X86_64], Check::SlowProgram), []);
    assert_eq!(of_program(&best, &[Arch::X86_64], Check::NotCached), []);
    let subject = Subject::program(&best, Endian::Little);
    let stacked = lint(&[subject, Subject::new(&filter)], &[Arch::X86_64]).unwrap();
    let merge = stacked.iter().find(|finding| finding.check == Check::UnmergedStack).unwrap();
    assert!(merge.message.starts_with("2 filters have"), "{}", merge.message);
}

/// Every example was run through the whole stack.
#[test]
fn examples_have_the_verdicts_of_the_stack() {
    let builder = || Filter::builder(Arch::X86_64).default(Verdict::ALLOW);
    let one = builder().deny_if("socket", arg(0).eq(40)).unwrap().build().unwrap();
    let two = builder().deny(["mount"]).unwrap().build().unwrap();
    let subjects = [Subject::new(&one), Subject::new(&two)];
    let all = lint(&subjects, &[Arch::X86_64]).unwrap();
    let examples: Vec<_> = all.iter().flat_map(|finding| &finding.examples).collect();
    assert!(examples.len() > 3);
    for example in examples {
        let run = |filter: &Filter| filter.policy().evaluate(&example.data);
        assert_eq!(example.verdict, Verdict::of_stack([run(&two), run(&one)]));
    }
}

#[test]
fn the_documentation_has_all_checks() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/lint.md"));
    let page = page.unwrap();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    for check in Check::ALL {
        let row = format!("| `{}` | {} | ", check.id(), check.level());
        assert!(rows.iter().any(|line| line.starts_with(&row)), "{row}");
    }
}

/// The findings for our own profile, each of which docs/lint.md explains.
#[test]
fn container_default_has_known_findings() {
    let arches = [Arch::X86_64, Arch::X86, Arch::X32];
    let mut options = options(&arches, Dialect::Docker);
    options.caps = CapSet::docker();
    let profile = container_default(&options).unwrap();
    let all = lint(&[Subject::profile(&profile)], &arches).unwrap();
    let serious: Vec<_> =
        all.iter().filter(|one| one.check.level() > Level::Note).map(|one| one.check).collect();
    assert_eq!(serious, [Check::Multiplexer, Check::PowerfulCall]);
}
