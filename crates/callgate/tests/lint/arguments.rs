//! Arguments and conditions: comparisons that do not mean what they seem to mean.

use callgate::lint::{Check, Level, Subject, lint};
use callgate::source::{Reading, SourceContent, SourceFormat, SourceText};
use callgate::{Arch, Expr, Filter, FilterBuilder, Verdict, arg, instruction_pointer, source};
use callgate_bpf::syscalls::KernelVersion;
use callgate_core::LongProgram;
use callgate_formats::oci;
use callgate_formats::oci::Dialect;

use super::{entry, found, found_on, line, of_program, only, options, profile};

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
