//! Tests of rules, transactions and programs.

use callgate::{Arch, Endian, Program, SeccompData, Verdict};
use callgate_bpf::SyscallTable;
use callgate_formats::ruleset::{Comparison, Op};

use super::*;
use crate::error::Error;
use crate::kernel::support::SUPPORT;

const ERRNO: Verdict = Verdict::errno(1);

fn context(default: Verdict, arches: &[Arch]) -> Context {
    let mut context = Context::new(default, &SUPPORT).unwrap();
    let native = Arch::native().unwrap();
    if !arches.contains(&native) {
        context.remove_arch(native).unwrap();
    }
    for arch in arches.iter().filter(|arch| **arch != native) {
        context.add_arch(*arch).unwrap();
    }
    context
}

fn rule(verdict: Verdict, nr: i32, comparisons: &[(u8, Op, u64)]) -> NewRule {
    let comparisons = comparisons.iter();
    let comparisons =
        comparisons.map(|(arg, op, value)| Comparison::new(*arg, *op, *value).unwrap());
    NewRule { verdict, nr, comparisons: comparisons.collect(), is_exact: false }
}

fn verdict(context: &mut Context, arch: Arch, nr: u32, args: [u64; 6]) -> Verdict {
    let endian = context.filters()[0].arch().endian();
    let program = context.program().unwrap();
    assert_eq!(program.bytes().len(), 8 * usize::from(program.insns()));
    let program = Program::from_bytes(program.bytes(), endian).unwrap();
    let data = SeccompData { nr, arch: arch.token(), args, ..SeccompData::default() };
    program.run(&data, endian).verdict
}

fn native(name: &str) -> i32 {
    Arch::native().unwrap().number(name).unwrap() as i32
}

#[test]
fn a_new_context_gives_every_syscall_the_default() {
    let arch = Arch::native().unwrap();
    let mut context = context(ERRNO, &[arch]);
    assert_eq!(verdict(&mut context, arch, 1, [0; 6]), ERRNO);
    assert_eq!(verdict(&mut context, Arch::Riscv64, 1, [0; 6]), Verdict::KILL_THREAD);
}

#[test]
fn numbers_are_native_and_translated_by_name() {
    let arches = [Arch::X86_64, Arch::X86, Arch::Aarch64];
    let mut context = context(ERRNO, &arches);
    context.add_rule(&rule(Verdict::ALLOW, native("getpid"), &[])).unwrap();
    for arch in arches {
        let nr = arch.number("getpid").unwrap();
        assert_eq!(verdict(&mut context, arch, nr, [0; 6]), Verdict::ALLOW, "{arch}");
        assert_eq!(verdict(&mut context, arch, nr + 1, [0; 6]), ERRNO, "{arch}");
    }
    // A number without a name cannot be translated, and no architecture gets the rule.
    assert_eq!(context.add_rule(&rule(Verdict::ALLOW, 9999, &[])), Err(Error::Internal));
    let nr = native("getpid") as u32;
    assert_eq!(verdict(&mut context, Arch::X86_64, nr, [0; 6]), Verdict::ALLOW);
}

#[test]
fn a_multiplexed_syscall_gets_two_rules() {
    let mut context = context(ERRNO, &[Arch::X86]);
    context.add_rule(&rule(Verdict::ALLOW, native("connect"), &[(1, Op::Eq, 7)])).unwrap();
    let through = Arch::X86.number("socketcall").unwrap();
    let direct = Arch::X86.number("connect").unwrap();
    assert_eq!(verdict(&mut context, Arch::X86, through, [3, 7, 0, 0, 0, 0]), Verdict::ALLOW);
    assert_eq!(verdict(&mut context, Arch::X86, through, [3, 8, 0, 0, 0, 0]), ERRNO);
    assert_eq!(verdict(&mut context, Arch::X86, through, [4, 7, 0, 0, 0, 0]), ERRNO);
    assert_eq!(verdict(&mut context, Arch::X86, direct, [3, 7, 0, 0, 0, 0]), Verdict::ALLOW);
    let exact = NewRule { is_exact: true, ..rule(Verdict::LOG, native("bind"), &[(1, Op::Eq, 7)]) };
    assert_eq!(context.add_rule(&exact), Err(Error::Invalid));
}

#[test]
fn a_refused_rule_is_added_nowhere() {
    let mut context = context(ERRNO, &[Arch::X86_64, Arch::X86]);
    let read = native("read");
    context.add_rule(&rule(Verdict::ALLOW, read, &[(0, Op::Eq, 1)])).unwrap();
    let before = crate::pfc::text(&context);
    let same = rule(Verdict::LOG, read, &[(0, Op::Eq, 1)]);
    assert_eq!(context.add_rule(&same), Err(Error::Exists));
    assert_eq!(crate::pfc::text(&context), before);
}

#[test]
fn transactions_restore_rules_and_architectures() {
    let mut context = context(ERRNO, &[Arch::X86_64]);
    let (read, write) = (native("read"), native("write"));
    context.add_rule(&rule(Verdict::ALLOW, read, &[])).unwrap();
    let before = crate::pfc::text(&context);
    context.start_transaction();
    context.add_arch(Arch::X86).unwrap();
    context.add_rule(&rule(Verdict::ALLOW, write, &[])).unwrap();
    context.start_transaction();
    context.remove_arch(Arch::X86_64).unwrap();
    context.commit_transaction();
    assert!(!context.has_arch(Arch::X86_64));
    context.reject_transaction();
    assert_eq!(crate::pfc::text(&context), before);
    context.reject_transaction();
    context.commit_transaction();
    assert_eq!(crate::pfc::text(&context), before);
    assert_eq!(verdict(&mut context, Arch::X86_64, write as u32, [0; 6]), ERRNO);
}

#[test]
fn merging_needs_equal_attributes_and_other_architectures() {
    let mut one = context(ERRNO, &[Arch::X86_64]);
    assert_eq!(one.merge(&mut context(Verdict::ALLOW, &[Arch::X86])), Err(Error::Invalid));
    assert_eq!(one.merge(&mut context(ERRNO, &[Arch::X86, Arch::X86_64])), Err(Error::Exists));
    assert_eq!(one.merge(&mut context(ERRNO, &[Arch::S390x])), Err(Error::Domain));
    let mut other = context(ERRNO, &[Arch::X86]);
    other.add_rule(&rule(Verdict::ALLOW, native("read"), &[])).unwrap();
    one.merge(&mut other).unwrap();
    let read = Arch::X86.number("read").unwrap();
    assert_eq!(verdict(&mut one, Arch::X86, read, [0; 6]), Verdict::ALLOW);
    assert!(!other.is_valid());
}

#[test]
fn big_endian_programs_are_exported_in_their_byte_order() {
    let mut context = context(ERRNO, &[Arch::S390x]);
    let write = native("write");
    context.add_rule(&rule(Verdict::ALLOW, write, &[(2, Op::Gt, 1 << 40)])).unwrap();
    let nr = Arch::S390x.number("write").unwrap();
    assert_eq!(Arch::S390x.endian(), Endian::Big);
    assert_eq!(verdict(&mut context, Arch::S390x, nr, [0, 0, 1 << 41, 0, 0, 0]), Verdict::ALLOW);
    assert_eq!(verdict(&mut context, Arch::S390x, nr, [0, 0, 1 << 40, 0, 0, 0]), ERRNO);
}

#[test]
fn priorities_change_no_verdict() {
    let mut context = context(ERRNO, &[Arch::X86_64, Arch::X86]);
    let names = ["read", "write", "close", "getpid", "openat", "exit_group", "futex"];
    for name in names {
        context.add_rule(&rule(Verdict::ALLOW, native(name), &[])).unwrap();
    }
    context.prioritize(native("futex"), 200).unwrap();
    context.prioritize(native("mount"), 255).unwrap();
    for arch in [Arch::X86_64, Arch::X86] {
        for (nr, name) in arch.syscalls() {
            let expected = if names.contains(&name) { Verdict::ALLOW } else { ERRNO };
            assert_eq!(verdict(&mut context, arch, nr, [0; 6]), expected, "{arch} {name}");
        }
    }
}

#[test]
fn the_numbers_of_the_other_abi_are_of_a_bad_architecture() {
    let mut context = context(Verdict::ALLOW, &[Arch::X86_64]);
    let arch = Arch::X86_64;
    assert_eq!(verdict(&mut context, arch, 0x4000_0000, [0; 6]), Verdict::KILL_THREAD);
    assert_eq!(verdict(&mut context, arch, u32::MAX, [0; 6]), Verdict::ALLOW);
    context.add_arch(Arch::X32).unwrap();
    assert_eq!(verdict(&mut context, arch, 0x4000_0000, [0; 6]), Verdict::ALLOW);
}
