//! Exact scripts for small filters, and random ones evaluated against what filters mean.

mod evaluate;
mod variables;

use callgate_core::policy::{Cmp, Condition, Field, Policy, Rule, Section, Test};
use callgate_core::{
    Arch, Endian, Insn, LongProgram, MAX_READ_INSNS, Op, SeccompData, SyscallSet, Verdict,
};
use callgate_testing::random::{Rng, any_program, small_policy};
use proptest::prelude::*;

use super::*;
use evaluate::Script;

fn side<'a>(name: &'a str, filters: &[Filter<'a>]) -> Side<'a> {
    Side { name, filters: filters.to_vec() }
}

fn compare(endian: Endian, a: &[Filter<'_>], b: &[Filter<'_>]) -> String {
    script(endian, &side("one", a), &side("two", b), &[]).unwrap()
}

/// The part of a text from one string up to another.
fn part<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let start = text.find(from).unwrap();
    let length = text[start..].find(to).unwrap();
    &text[start..start + length]
}

fn program(insns: &[Insn]) -> LongProgram {
    LongProgram::new(insns.to_vec()).unwrap()
}

#[test]
fn a_policy_is_translated_rule_by_rule() {
    let mask = Test::masked_eq(Field::arg(0).unwrap(), 6, 2);
    let low = Test::new(Field::arg_low(1).unwrap(), Cmp::Lt, 5);
    let not_ip = Test::new(Field::instruction_pointer(), Cmp::Ne, 7);
    let tests = [mask, low, not_ip].map(Condition::test);
    let [mask, low, not_ip] = tests;
    let when = Condition::all([mask, Condition::any([low, not_ip])]);
    let rules = vec![
        Rule { syscalls: SyscallSet::from_ranges([(0, 1), (3, 3)]), when, verdict: Verdict::ALLOW },
        Rule { syscalls: SyscallSet::one(2), when: Condition::always(), verdict: Verdict::LOG },
    ];
    let section = Section::new(Arch::X86_64, rules, Verdict::errno(1));
    let policy = Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap();
    let text = compare(Endian::Little, &[Filter::Policy(&policy)], &[Filter::Policy(&policy)]);
    assert_eq!(
        part(&text, "; Filter a: one", "\n; Filter b"),
        "\
; Filter a: one
; Section a.0: arch 0xc000003e (x86_64)
(define-fun a.0.left0 () Bool (= arch #xc000003e))
; ALLOW under a condition: read, write, close
(define-fun a.0.match0 () Bool (and \
(or (and (bvule #x00000000 nr) (bvule nr #x00000001)) (= nr #x00000003)) \
(and (= (bvand arg0 #x0000000000000006) #x0000000000000002) \
(or (bvult (bvand arg1 #x00000000ffffffff) #x0000000000000005) \
(not (= instruction_pointer #x0000000000000007))))))
(define-fun a.0.left1 () Bool (and a.0.left0 (not a.0.match0)))
; LOG: open
(define-fun a.0.match1 () Bool (= nr #x00000002))
(define-fun a.0.left2 () Bool (and a.0.left1 (not a.0.match1)))
; ERRNO(EPERM): default
; Any other arch: KILL_PROCESS
(define-fun a.other () Bool (not a.0.left0))
(define-fun a.returns0 () Bool a.0.left2) ; #x00050001
(define-fun a.returns1 () Bool (and a.0.left1 a.0.match1)) ; #x7ffc0000
(define-fun a.verdict1 () (_ BitVec 32) (ite a.returns1 #x7ffc0000 #x00050001))
(define-fun a.returns2 () Bool (and a.0.left0 a.0.match0)) ; #x7fff0000
(define-fun a.verdict2 () (_ BitVec 32) (ite a.returns2 #x7fff0000 a.verdict1))
(define-fun a.returns3 () Bool a.other) ; #x80000000
(define-fun a.verdict3 () (_ BitVec 32) (ite a.returns3 #x80000000 a.verdict2))
(declare-const verdict_a (_ BitVec 32))
(assert (= verdict_a a.verdict3))
"
    );
}

#[test]
fn a_program_is_translated_instruction_by_instruction() {
    let program = program(&[
        Insn::new(Op::LdWordAbs, 0),
        Insn::branch(Op::JeqK, 59, 0, 1),
        Insn::new(Op::RetK, 0x0005_0001),
        Insn::new(Op::RetK, 0x7fff_0000),
    ]);
    let filter = [Filter::Program(&program)];
    let text = compare(Endian::Little, &filter, &filter);
    assert_eq!(
        part(&text, "; Filter b: two", "\n; Is there"),
        "\
; Filter b: two
(define-fun b.at0 () Bool true) ; ld [0]
(define-fun b.at1 () Bool b.at0) ; jeq #0x3b, +0, +1
(define-fun b.if1 () Bool (= word0 #x0000003b))
(define-fun b.at2 () Bool (and b.at1 b.if1)) ; ret #0x50001
(define-fun b.at3 () Bool (and b.at1 (not b.if1))) ; ret #0x7fff0000
(define-fun b.returns0 () Bool b.at2) ; #x00050001
(define-fun b.returns1 () Bool b.at3) ; #x7fff0000
(define-fun b.verdict1 () (_ BitVec 32) (ite b.returns1 #x7fff0000 #x00050001))
(declare-const verdict_b (_ BitVec 32))
(assert (= verdict_b b.verdict1))
"
    );
    assert!(text.ends_with(
        "
; Is there a syscall for which they return different values?
(assert (not (= verdict_a verdict_b)))
(check-sat)
; After sat, this prints the syscall; remove the semicolon:
;(get-value (nr arch instruction_pointer arg0 arg1 arg2 arg3 arg4 arg5 verdict_a verdict_b))
"
    ));
}

#[test]
fn registers_merge_where_paths_meet() {
    let program = program(&[
        Insn::new(Op::LdWordAbs, 16),
        Insn::new(Op::Tax, 0),
        Insn::branch(Op::JgtX, 0, 1, 0),
        Insn::new(Op::AddK, 3),
        Insn::new(Op::DivX, 0),
        Insn::new(Op::RetA, 0),
    ]);
    let filter = [Filter::Program(&program)];
    let text = compare(Endian::Little, &filter, &filter);
    assert_eq!(
        part(&text, "; Filter a: one", "\n(declare-const verdict_a"),
        "\
; Filter a: one
(define-fun a.at0 () Bool true) ; ld [16]
(define-fun a.at1 () Bool a.at0) ; tax
(define-fun a.at2 () Bool a.at1) ; jgt x, +1, +0
(define-fun a.if2 () Bool (bvugt word16 word16))
(define-fun a.at3 () Bool (and a.at2 (not a.if2))) ; add #0x3
(define-fun a.A3 () (_ BitVec 32) (bvadd word16 #x00000003))
(define-fun a.A4.1 () (_ BitVec 32) (ite a.at3 a.A3 word16))
(define-fun a.at4 () Bool (or (and a.at2 a.if2) a.at3)) ; div x
(define-fun a.A4 () (_ BitVec 32) (bvudiv a.A4.1 word16))
(define-fun a.if4 () Bool (= word16 #x00000000))
(define-fun a.at5 () Bool (and a.at4 (not a.if4))) ; ret a
(define-fun a.returns0 () Bool (and a.at4 a.if4)) ; #x00000000
(define-fun a.returns1 () Bool a.at5) ; a.A4
(define-fun a.verdict1 () (_ BitVec 32) (ite a.returns1 a.A4 #x00000000))"
    );
}

#[test]
fn the_byte_order_determines_which_half_comes_first() {
    let nothing = Policy::new(Vec::new(), Verdict::ALLOW).unwrap();
    let filter = [Filter::Policy(&nothing)];
    let little = compare(Endian::Little, &filter, &filter);
    let big = compare(Endian::Big, &filter, &filter);
    let word = |text: &str, offset| {
        let line = part(text, &format!("(define-fun word{offset} "), "\n").to_owned();
        line.replace(&format!("(define-fun word{offset} () (_ BitVec 32) "), "")
    };
    for text in [&little, &big] {
        assert_eq!((word(text, 0).as_str(), word(text, 4).as_str()), ("nr)", "arch)"));
    }
    assert_eq!(word(&little, 16), "((_ extract 31 0) arg0))");
    assert_eq!(word(&little, 60), "((_ extract 63 32) arg5))");
    assert_eq!(word(&big, 16), "((_ extract 63 32) arg0))");
    assert_eq!(word(&big, 60), "((_ extract 31 0) arg5))");
    assert!(little.contains("little-endian") && big.contains("big-endian"));
}

/// Names are untrusted; they must not end the comment.
#[test]
fn names_cannot_break_out_of_a_comment() {
    let nothing = Policy::new(Vec::new(), Verdict::ALLOW).unwrap();
    let name = "x\n(assert false)\r\u{2028}é";
    let side = side(name, &[Filter::Policy(&nothing)]);
    let text = script(Endian::Little, &side, &side, &[name.to_owned()]).unwrap();
    assert!(text.is_ascii() && !text.contains('\r'));
    assert!(!text.lines().any(|line| line.starts_with("(assert false)")), "{text}");
    assert!(text.contains(r";   a: x\n(assert false)\r\u{2028}\u{e9}"), "{text}");
}

/// Boundary values: the constants of a script, and their neighbours.
struct Constants(Vec<u64>);

impl Constants {
    fn of(text: &str) -> Constants {
        let digits = text.split("#x").skip(1);
        let digits =
            digits.map(|rest| rest.split(|c: char| !c.is_ascii_hexdigit()).next().unwrap());
        Constants(digits.map(|digits| u64::from_str_radix(digits, 16).unwrap()).collect())
    }

    fn value(&self, rng: &mut Rng) -> u64 {
        let known = rng.pick(&self.0).unwrap_or(0);
        match rng.below(8) {
            0 => rng.next(),
            1 => known.wrapping_add(1),
            2 => known.wrapping_sub(1),
            3 => known ^ 1 << rng.below(64),
            4 => known << 32,
            5 => rng.below(20) as u64,
            _ => known,
        }
    }

    fn syscall(&self, rng: &mut Rng) -> SeccompData {
        SeccompData {
            nr: self.value(rng) as u32,
            arch: self.value(rng) as u32,
            instruction_pointer: self.value(rng),
            args: std::array::from_fn(|_| self.value(rng)),
        }
    }
}

/// Checks a script for some syscalls against the verdicts of both sides.
fn agrees(
    text: &str,
    rng: &mut Rng,
    syscalls: usize,
    mut syscall: impl FnMut(&Constants, &mut Rng) -> SeccompData,
    expected: impl Fn(&SeccompData) -> [Verdict; 2],
) {
    let (script, constants) = (Script::read(text), Constants::of(text));
    for _ in 0..syscalls {
        let data = syscall(&constants, rng);
        let answer = script.run(&data);
        let [a, b] = expected(&data);
        let found = (answer.verdict_a, answer.verdict_b, answer.differs);
        assert_eq!(found, (a.0, b.0, a != b), "{data:x?}\n{text}");
    }
}

#[test]
fn random_policies_are_translated_as_they_are_evaluated() {
    let mut rng = Rng::new(1);
    let mut verdicts = std::collections::HashSet::new();
    for _ in 0..300 {
        let (a, b) = (small_policy(&mut rng), small_policy(&mut rng));
        let text = compare(a.endian(), &[Filter::Policy(&a)], &[Filter::Policy(&b)]);
        let tokens: Vec<u32> = a.sections().iter().map(|section| section.token()).collect();
        let syscall = |constants: &Constants, rng: &mut Rng| {
            let mut data = constants.syscall(rng);
            if rng.below(8) > 0 {
                data.arch = rng.pick(&tokens).unwrap();
            }
            if rng.below(2) > 0 {
                data.nr = rng.below(20) as u32;
            }
            data
        };
        let count = std::cell::RefCell::new(&mut verdicts);
        agrees(&text, &mut rng, 100, syscall, |data| {
            let verdict = a.evaluate(data);
            count.borrow_mut().insert(verdict);
            [verdict, b.evaluate(data)]
        });
    }
    assert_eq!(verdicts.len(), 8, "every verdict occurs: {verdicts:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_programs_are_translated_as_they_are_interpreted(
        a in any_program(true),
        b in any_program(true),
        big: bool,
        seed: u64,
    ) {
        let endian = if big { Endian::Big } else { Endian::Little };
        let text = compare(endian, &[Filter::Program(&a)], &[Filter::Program(&b)]);
        let syscalls = 20;
        agrees(&text, &mut Rng::new(seed), syscalls, Constants::syscall, |data| {
            [a.run(data, endian).verdict, b.run(data, endian).verdict]
        });
    }
}

/// Every pair and some triples of verdicts with equal and different precedence.
#[test]
fn a_stack_has_the_verdict_of_the_kernel() {
    let verdicts = [
        0x8000_0000u32,
        0x8000_0001,
        0xffff_ffff,
        0,
        1,
        0x3_0003,
        0x5_0001,
        0x5_0026,
        0x7ff0_0007,
        0x7ffc_0000,
        0x7fff_0000,
        0x7fff_0001,
    ];
    let filters = verdicts.map(|verdict| program(&[Insn::new(Op::RetK, verdict)]));
    // `seccomp_run_filters`: the newest first, `ACTION_ONLY(cur_ret) < ACTION_ONLY(ret)`.
    let kernel = |oldest_first: &[u32]| {
        let action = |verdict: u32| (verdict & 0xffff_0000) as i32;
        let turn = |kept, next| if action(next) < action(kept) { next } else { kept };
        oldest_first.iter().rev().fold(0x7fff_0000, |kept, next| turn(kept, *next))
    };
    let data = SeccompData::default();
    let alone = [Filter::Program(&filters[0])];
    let mut orders = 0;
    for (i, first) in verdicts.iter().enumerate() {
        for (j, second) in verdicts.iter().enumerate() {
            let stack = [Filter::Program(&filters[i]), Filter::Program(&filters[j])];
            let third = [stack[0], stack[1], Filter::Program(&filters[(i + 5 * j) % 12])];
            let verdict = |stack: &[Filter<'_>]| {
                Script::read(&compare(Endian::Little, stack, &alone)).run(&data).verdict_a
            };
            assert_eq!(verdict(&stack), kernel(&[*first, *second]), "{first:#x} {second:#x}");
            let last = verdicts[(i + 5 * j) % 12];
            assert_eq!(verdict(&third), kernel(&[*first, *second, last]));
            orders += usize::from(kernel(&[*first, *second]) != kernel(&[*second, *first]));
        }
    }
    assert!(orders > 4, "the order matters");
    // A single filter keeps data that the kernel ignores.
    let data_of_allow = [Filter::Program(&filters[11])];
    let text = compare(Endian::Little, &data_of_allow, &alone);
    assert_eq!(Script::read(&text).run(&data).verdict_a, 0x7fff_0001);
    assert_eq!(kernel(&[0x7fff_0001]), 0x7fff_0000);
}

/// A program of the maximum length, with a merge at nearly each instruction: the size of the script is linear, and no
/// term is nested.
#[test]
fn long_programs_give_long_scripts_of_short_lines() {
    let mut insns = vec![Insn::new(Op::LdWordAbs, 0)];
    while insns.len() + 3 < MAX_READ_INSNS {
        insns.push(Insn::branch(Op::JsetK, 1, 0, 1));
        insns.push(Insn::new(Op::AddK, 3));
    }
    insns.push(Insn::new(Op::RetA, 0));
    let size = |program: &LongProgram| {
        let filter = [Filter::Program(program)];
        let text = compare(Endian::Little, &filter, &filter);
        assert!(text.lines().all(|line| line.len() < 160));
        text.len() as f64 / program.len() as f64
    };
    let long = size(&program(&insns));
    let short = size(&program(&insns[insns.len() - 2001..]));
    assert!(long < 1.2 * short, "bytes per instruction: {long} and {short}");
}

/// Conditions at the maximum depth.
#[test]
fn conditions_are_translated_without_recursion() {
    let test = |value| Condition::test(Test::eq(Field::arg(0).unwrap(), value));
    let mut when = test(0);
    for level in 1..400 {
        when = match level % 2 {
            0 => Condition::all([test(level), when]),
            _ => Condition::any([when, test(level)]),
        };
    }
    let rule = Rule { syscalls: SyscallSet::one(1), when, verdict: Verdict::ALLOW };
    let section = Section::new(Arch::X86_64, vec![rule], Verdict::errno(1));
    let policy = Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap();
    let filter = [Filter::Policy(&policy)];
    let text = compare(Endian::Little, &filter, &filter);
    let script = Script::read(&text);
    for arg in [0, 1, 2, 3, 398, 399, 400] {
        let args = [arg, 0, 0, 0, 0, 0];
        let data =
            SeccompData { nr: 1, arch: Arch::X86_64.token(), args, ..SeccompData::default() };
        assert_eq!(script.run(&data).verdict_a, policy.evaluate(&data).0, "{arg}");
    }
}
