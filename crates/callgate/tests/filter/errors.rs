//! Every message of the builder, and what an error can be asked.

use callgate_bpf::SyscallTable;
use std::error::Error as _;

use callgate::{
    Arch, BuildError, Endian, Error, ErrorKind, Expr, Filter, FilterBuilder, Result, RuleErrorKind,
    Syscall, Verdict, arg, instruction_pointer,
};
use callgate_bpf::diagnostic::Position;
use callgate_codegen::Weights;
use callgate_trace::generate::{self, Draft, GenerateOptions};
use callgate_trace::recording::Recording;
use callgate_trace::{counts, read};

fn x86_64() -> FilterBuilder {
    Filter::builder(Arch::X86_64)
}

#[track_caller]
fn says(result: Result<FilterBuilder>, expected: &str) {
    assert_eq!(result.unwrap_err().to_string(), expected);
}

#[test]
fn unknown_names() {
    says(x86_64().allow(["raed"]), r#"rule 1: unknown syscall "raed"; did you mean "read"?"#);
    says(
        x86_64().allow(["read"]).unwrap().deny(["write", "completely wrong"]),
        r#"rule 2: unknown syscall "completely wrong"; give its number if it is newer than the tables"#,
    );
    says(
        x86_64().allow(["waitpid"]),
        r#"rule 1: x86_64 has no syscall "waitpid"; x86, ppc64le and 8 others have it"#
            .replace("x86, ppc64le and 8 others", &others("waitpid"))
            .as_str(),
    );
    says(
        Filter::builder([Arch::Aarch64, Arch::X86_64]).deny(["sigreturn"]),
        &format!(
            r#"rule 1: aarch64, x86_64 has no syscall "sigreturn"; {} have it"#,
            others("sigreturn")
        ),
    );
    let alpha = "osf_getsysinfo";
    if callgate_bpf::syscalls::is_known_name(alpha) {
        says(
            x86_64().deny([alpha]),
            r#"rule 1: x86_64 has no syscall "osf_getsysinfo"; no architecture with a table has it"#,
        );
    }
}

/// The architectures that have a syscall, as a message lists them.
fn others(name: &str) -> String {
    let has = |arch: &&Arch| arch.number(name).is_some() || arch.multiplexed(name).is_some();
    let all: Vec<&Arch> = Arch::ALL.iter().filter(has).collect();
    assert!(all.len() > 3);
    format!("{}, {} and {} others", all[0], all[1], all.len() - 2)
}

#[test]
fn numbers_that_do_not_say_what_they_mean() {
    says(x86_64().allow([-1]), "rule 1: -1 is not a syscall number; numbers are 0 to 4294967295");
    says(
        x86_64().allow([1u64 << 32]),
        "rule 1: 4294967296 is not a syscall number; numbers are 0 to 4294967295",
    );
    says(
        Filter::builder([Arch::X86_64, Arch::X86]).allow([3]),
        "rule 1, 3: the number is a different syscall on each of x86_64, x86; give the name, or \
         Syscall::on(arch, 3)",
    );
    says(
        x86_64().allow([Syscall::on(Arch::X86, 3)]),
        "rule 1, 3: the filter is for x86_64, not for x86; give x86 to Filter::builder",
    );
    says(
        x86_64().deny([0x4000_0000]),
        "rule 1, 1073741824 on x86_64: this is a syscall number of x32, which the filter gives a separate \
         verdict; add x32 to the architectures of Filter::builder",
    );
    says(
        Filter::builder(Arch::X32).deny([0]),
        "rule 1, 0 on x32: this is a syscall number of x86_64, which the filter gives a separate verdict; \
         add x86_64 to the architectures of Filter::builder",
    );
}

#[test]
fn rules_without_effect() {
    let denied = x86_64().allow(["read", "ptrace"]).unwrap();
    let text = "rule 2, ptrace on x86_64: the rule has no effect: an earlier rule gives the syscall \
                ALLOW unconditionally, and the first match decides; move the rule with ERRNO(EPERM) before it";
    says(denied.clone().deny(["ptrace"]), text);
    says(denied.deny_if("ptrace", arg(0).eq(16)), text);
    // What is denied through a multiplexer must not be allowed before.
    let allowed = Filter::builder(Arch::X86).allow(["socketcall"]).unwrap();
    assert!(allowed.deny(["bind"]).unwrap_err().to_string().contains("has no effect"));
}

#[test]
fn errnos_that_the_kernel_would_replace() {
    says(
        x86_64().rule(Verdict::errno(60000), ["read"]),
        "rule 1, read: the errno is 60000, but must be from 0 to 4095: the kernel would return 4095; give an errno that exists",
    );
    let error = x86_64().rule(Verdict::errno(60000), ["read"]).unwrap_err();
    let ErrorKind::Rule(rule) = error.kind() else { panic!("{error}") };
    assert_eq!(rule.kind(), &RuleErrorKind::Errno { given: 60000, limit: 4095 });
    let conditional = x86_64().rule_if(Verdict::errno(4096), "read", arg("fd").eq(0));
    assert!(conditional.unwrap_err().to_string().contains("the errno is 4096"));
    let read = || x86_64().allow(["read"]).unwrap();
    for (builder, method) in [
        (read().default(Verdict::errno(4096)), "default"),
        (read().bad_arch(Verdict::errno(4096)), "bad_arch"),
        (read().x32(Verdict::errno(4096)), "x32"),
    ] {
        let error = builder.build().unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Build(BuildError::Errno { method, given: 4096 }));
        assert!(error.to_string().starts_with(&format!("{method}: the errno is 4096")), "{error}");
    }
    assert!(read().default(Verdict::errno(4095)).build().is_ok());
}

#[test]
fn conditions_behind_a_multiplexer() {
    says(
        Filter::builder([Arch::X86_64, Arch::X86]).allow_if("socket", arg(0).eq(1)),
        "rule 1, socket on x86: it can also be called through socketcall(2), whose arguments a filter cannot \
         read; give the syscall as Syscall::name(\"socket\").direct(), and add a rule for \"socketcall\"",
    );
}

#[test]
fn arguments_that_do_not_exist() {
    let write = |expr: Expr| x86_64().allow_if("write", expr);
    says(
        write(arg("x").eq(1)),
        r#"rule 1, write on x86_64: no argument named "x"; write(2) has fd, buf, count"#,
    );
    says(
        write(arg("cnt").eq(1)),
        r#"rule 1, write on x86_64: no argument named "cnt"; write(2) has fd, buf, count"#,
    );
    says(
        write(arg("cuont").any()),
        "rule 1, write on x86_64: no argument named \"cuont\", did you mean \"count\"?; write(2) has \
         fd, buf, count",
    );
    says(
        write(arg(3).eq(1)),
        "rule 1, write on x86_64: no argument 3; write(2) has fd, buf, count",
    );
    says(
        x86_64().allow_if(9999, arg("fd").eq(1)),
        "rule 1, 9999 on x86_64: the number has no name, so its argument \"fd\" is unknown; give the \
         argument by number, 0 to 5",
    );
    says(
        x86_64().allow_if(9999, arg(-1).low32().eq(1)),
        "rule 1, 9999 on x86_64: no argument 4294967295; a syscall has arguments 0 to 5",
    );
    says(
        x86_64().allow_if(9999, arg(0).eq(1)),
        "rule 1, 9999 on x86_64: the number of bits that the kernel reads of argument 0 is unknown; use \
         .low32() or .u64()",
    );
    assert!(x86_64().allow_if(9999, arg(0).low32().eq(1) & arg(1).u64().eq(2)).is_ok());
    let error = write(arg("x").eq(1)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Rule(_)));
    assert!(error.source().unwrap().is::<callgate_bpf::syscalls::ArgumentError>());
}

#[test]
fn values_that_have_no_meaning() {
    let fcntl = |expr: Expr| x86_64().allow_if("fcntl", expr);
    let rule = "rule 1, fcntl on x86_64: ";
    let fd = || arg("fd");
    says(
        fcntl(fd().eq(0x1_0000_0003u64)),
        &format!(
            "{rule}0x100000003 does not fit into the 32 compared bits of argument \"fd\"; \
             use .u64() to compare all 64"
        ),
    );
    assert!(fcntl(fd().u64().eq(0x1_0000_0003u64)).is_ok());
    says(
        fcntl(fd().is_in([0, i64::MIN])),
        &format!(
            "{rule}-9223372036854775808 does not fit into the 32 compared bits of argument \
             \"fd\"; use .u64() to compare all 64"
        ),
    );
    for expr in [fd().lt(-1), fd().le(-1), fd().gt(-1), fd().ge(-1), fd().is_in_range(-1..3)] {
        says(
            fcntl(expr),
            &format!(
                "{rule}order comparison of argument \"fd\" with -1, but order comparisons are \
                 unsigned; give the unsigned value, or use non_negative()"
            ),
        );
    }
    let outside = "0x1000 has bits outside the mask 15, so the comparison has the same result for every \
                   syscall";
    let masked = || fd().masked(15);
    for expr in [
        masked().eq(0x1000),
        masked().ne(0x1000),
        masked().is_in([0x1000]),
        masked().has_all_bits(0x1000),
        masked().has_any_bit(0x1000),
    ] {
        says(fcntl(expr), &format!("{rule}{outside}"));
    }
    assert!(fcntl(masked().non_negative()).is_err());
    for expr in [fd().masked(0).eq(0), fd().has_all_bits(0), fd().has_any_bit(0)] {
        let text = format!("{rule}the mask of argument \"fd\" is 0; give at least one bit");
        says(fcntl(expr), &text);
    }
    let (first, last) = (9, 3);
    says(fcntl(fd().is_in_range(first..=last)), &format!("{rule}the range from 9 to 3 is empty"));
    says(fcntl(fd().is_in_range(..0)), &format!("{rule}the range from 0 to -1 is empty"));
    says(
        fcntl(instruction_pointer().lt(-1)),
        &format!(
            "{rule}order comparison of the instruction pointer with -1, but order comparisons are \
             unsigned; give the unsigned value, or use non_negative()"
        ),
    );
}

#[test]
fn conditions_that_nest_too_deep() {
    let nested = |levels: usize| {
        (0..levels).fold(arg(0).eq(1), |inner, level| match level % 2 {
            0 => inner & arg(1).eq(2),
            _ => inner | arg(2).eq(3),
        })
    };
    assert!(x86_64().allow_if("fcntl", nested(64)).is_ok());
    for levels in [65, 100_000] {
        says(
            x86_64().allow_if("fcntl", nested(levels)),
            "rule 1, fcntl on x86_64: the condition nests deeper than 64 levels (the limit)",
        );
    }
    // A row of one operator is one level, and negations cancel.
    let row = Expr::any_of((0..10_000).map(|value| arg(0).eq(value)));
    let negated = (0..1000).fold(row, |inner, _| !inner);
    assert!(x86_64().allow_if("fcntl", negated).is_ok());
}

#[test]
fn architectures_that_do_not_go_together() {
    let build = |arches: &[Arch]| Filter::builder(arches).build().unwrap_err();
    let none = build(&[]);
    assert_eq!(none.kind(), &ErrorKind::Build(BuildError::NoArch));
    assert_eq!(none.to_string(), "missing architecture: give at least one to Filter::builder");
    let mixed = build(&[Arch::X86_64, Arch::S390x]).to_string();
    assert!(mixed.contains("different byte orders"), "{mixed}");
    let twice = build(&[Arch::X86_64, Arch::X86_64]).to_string();
    assert_eq!(twice, "x86_64 occurs twice in the section; give it once");
    // The first rule tells, too.
    says(Filter::builder(vec![]).allow(["read"]), &none.to_string());
    for arches in [vec![Arch::Aarch64], vec![Arch::X32], vec![Arch::X86_64, Arch::X32]] {
        let error = Filter::builder(arches).x32(Verdict::ALLOW).build().unwrap_err().to_string();
        assert!(
            error.ends_with("has no effect on aarch64; use it for x86_64 without x32")
                || error.contains("x32; use it for"),
            "{error}"
        );
    }
    let (little, big) = (x86_64().build().unwrap(), Filter::builder(Arch::S390x).build().unwrap());
    let error = callgate::diff(&little, &big, 1).unwrap_err();
    assert!(error.to_string().contains("different byte order"));
}

#[test]
fn one_error_for_all_that_can_fail() {
    fn read() -> Result<Filter> {
        use callgate_formats::oci::{ReadOptions, read};
        let options = ReadOptions::new(
            Arch::X86_64,
            callgate_bpf::syscalls::KernelVersion { major: 6, minor: 1 },
        );
        let entry = r#"{"names": ["read"], "action": "SCMP_ACT_NONE"}"#;
        let text =
            format!("{{\n  \"defaultAction\": \"SCMP_ACT_ERRNO\",\n  \"syscalls\": [{entry}]\n}}");
        Ok(read(&text, &options)?.policy.into())
    }
    let error = read().unwrap_err();
    assert!(error.to_string().starts_with("3:"), "{error}");
    assert!(error.to_string().contains("SCMP_ACT_NONE"), "{error}");
    assert_eq!(error.position().map(|position| position.line), Some(3));
    assert!(matches!(error.kind(), ErrorKind::Read(_)));
    assert!(error.source().is_none(), "no error repeats the message");

    fn read_counts() -> Result<Weights> {
        let counted = counts::read("read 12\nreda 7\nwrite x\n", Arch::X86_64, true)?;
        Ok(Weights::of(counted.counts)?)
    }
    let error = read_counts().unwrap_err();
    assert_eq!(error.position(), Some(Position { line: 2, column: 1 }), "{error}");
    let lines: Vec<String> = error.to_string().lines().map(str::to_owned).collect();
    assert!(lines[0].starts_with("2:1: ") && lines[0].contains("reda"), "{error}");
    assert!(lines.iter().any(|line| line.starts_with("3:")), "{error}");

    fn read_recording() -> Result<Recording> {
        let options = read::ReadOptions { arch: Arch::X86_64, strict: false, partial: false };
        Ok(read::read("{\"callgate\": \"recording\",\n \"version\": 1}", &options)?.recording)
    }
    let error = read_recording().unwrap_err();
    assert_eq!(error.position(), Some(Position { line: 1, column: 1 }), "{error}");

    fn read_program() -> Result<Vec<callgate_core::RawInsn>> {
        Ok(callgate_bpf::text::parse("ld [0]\njeq 1\nret ALOW\n", Endian::Little)?)
    }
    let error = read_program().unwrap_err();
    assert_eq!(error.position().map(|position| position.line), Some(2), "{error}");
    assert!(error.to_string().contains("\n3:"), "{error}");

    fn weigh() -> Result<Weights> {
        Ok(Weights::counts([("read".to_owned(), -1.0)])?)
    }
    assert!(matches!(weigh().unwrap_err().kind(), ErrorKind::Weight(_)));

    fn no_profile() -> Result<Draft> {
        Ok(generate::generate(&[], &GenerateOptions::default())?)
    }
    let error = no_profile().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Generate(_)) && error.help().is_some(), "{error}");

    fn compile() -> Result<()> {
        let scattered = |value: u32| u64::from(value.wrapping_mul(0x9e37_79b1));
        let mut builder = x86_64();
        for value in 0..5000u32 {
            let when = arg("family").eq(scattered(value) & 0x7fff_ffff);
            builder = builder.rule_if(Verdict::errno(value as u16 % 4096), "socket", when)?;
        }
        builder.build()?.compile().map(drop)
    }
    let error = compile().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Compile(_)), "{error}");
    assert!(error.to_string().contains("4096"), "{error}");
    let help = error.help().unwrap();
    assert_eq!(format!("{error:?}"), format!("{error}\nhelp: {help}"));
    fn is_usable<T: Send + Sync + 'static>() {}
    is_usable::<Error>();
}
