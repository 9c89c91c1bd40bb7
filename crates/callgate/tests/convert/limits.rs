//! Expensive filters end with a message.

use std::time::Duration;

use callgate::convert::{ConvertOptions, convert};
use callgate::{Arch, Description, Endian, ErrorKind, Verdict};
use callgate_core::policy::{Cmp, Condition, Field, Policy, Rule, Section, Test};
use callgate_core::{Insn, LongProgram, Op, Program, SyscallSet};
use callgate_testing::languages::to;
use callgate_testing::processor_time::within;

use super::support::{closest_options, is_too_complex};

/// Processor time; an unoptimized build takes a fraction of it.
const LIMIT: Duration = Duration::from_secs(20);

fn program(code: impl IntoIterator<Item = Insn>) -> LongProgram {
    let mut insns = vec![
        Insn::new(Op::LdWordAbs, 4),
        Insn::branch(Op::JeqK, Arch::X86_64.token(), 1, 0),
        Insn::new(Op::RetK, Verdict::KILL_THREAD.0),
    ];
    insns.extend(code);
    Program::new(insns).unwrap().into()
}

fn error(program: &LongProgram) -> String {
    let filter = Description::program(program, Endian::Little);
    let results = [to("kafel"), to("oci")].map(|target| {
        let mut options = ConvertOptions::new(target);
        options.closest = true;
        let converted = within(LIMIT, target.name(), || convert(filter, &options));
        converted.unwrap_err().to_string()
    });
    assert_eq!(results[0], results[1]);
    results[0].clone()
}

/// The parity of 30 bits of an argument has 2^29 alternatives.
#[test]
fn conditions_that_explode_are_an_error_with_the_limit() {
    let mut code = vec![
        Insn::new(Op::LdWordAbs, 0),
        Insn::branch(Op::JeqK, 1, 1, 0),
        Insn::new(Op::RetK, Verdict::KILL_THREAD.0),
        Insn::new(Op::LdWordAbs, 16),
    ];
    for shift in [16, 8, 4, 2, 1] {
        code.extend([Insn::new(Op::Tax, 0), Insn::new(Op::RshK, shift), Insn::new(Op::XorX, 0)]);
    }
    code.extend([
        Insn::branch(Op::JsetK, 1, 0, 1),
        Insn::new(Op::RetK, Verdict::ALLOW.0),
        Insn::new(Op::RetK, Verdict::KILL_THREAD.0),
    ]);
    let message = error(&program(code));
    assert_eq!(
        message,
        "the conditions of write (x86_64) compare too many values; the limit is 4096 alternatives per syscall"
    );
}

/// Every other number is allowed.
#[test]
fn too_many_numbers_are_an_error_with_the_limit() {
    let message = error(&program([
        Insn::new(Op::LdWordAbs, 0),
        Insn::branch(Op::JsetK, 1, 0, 1),
        Insn::new(Op::RetK, Verdict::ALLOW.0),
        Insn::new(Op::RetK, Verdict::KILL_THREAD.0),
    ]));
    assert_eq!(
        message,
        "the syscall numbers of x86_64 have more than 16384 intervals, which is the limit"
    );
}

/// Two ranges become 900 rules of two comparisons, for each of 300 syscalls.
#[test]
fn policies_that_readers_reject_as_too_large_are_an_error_with_the_limit() {
    let in_range = |arg| {
        let field = Field::arg_low(arg).unwrap();
        let (first, last) = (Test::new(field, Cmp::Ge, 5), Test::new(field, Cmp::Le, 0x8000_0005));
        Condition::all([Condition::test(first), Condition::test(last)])
    };
    let when = Condition::all([in_range(0), in_range(1)]);
    let rule = Rule { syscalls: SyscallSet::range(0, 299), when, verdict: Verdict::errno(1) };
    let section = Section::new(Arch::X86_64, vec![rule], Verdict::ALLOW);
    let policy = Policy::new(vec![section], Verdict::KILL_THREAD).unwrap();
    for (target, limit) in [
        (to("oci"), "614400 comparisons; the limit is 150000"),
        (to("minijail"), "bytes, the maximum is 10485760"),
        (to("k8s"), "the limit for YAML is 2097152 bytes"),
    ] {
        let result = within(LIMIT, target.name(), || convert(&policy, &closest_options(target)));
        let error = result.unwrap_err();
        let message = error.to_string();
        let start = format!(
            "the {target} policy of this filter would be too large, so nothing was written: "
        );
        assert!(message.starts_with(&start) && message.contains(limit), "{message}");
        assert!(is_too_complex(&message), "{message}");
        let ErrorKind::Convert(error) = error.kind() else { panic!("{error}") };
        assert!(
            !error.is_defect() && !error.help().contains("nearest stricter policy"),
            "{}",
            error.help()
        );
    }
}
