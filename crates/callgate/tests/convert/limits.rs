//! Expensive filters end with a message.

use std::time::Duration;

use callgate::bpf::{Insn, LongProgram, Op, Program};
use callgate::convert::{ConvertOptions, Target, convert};
use callgate::{Arch, Description, Endian, Verdict};
use callgate_testing::processor_time::within;

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
    let results = [Target::Kafel, Target::Oci].map(|target| {
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
