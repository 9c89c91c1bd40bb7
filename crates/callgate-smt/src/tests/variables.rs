//! Filters with variables.

use super::*;
use callgate_core::policy::{VariableRelation, VariableTest};
use callgate_core::template::{Half, Patch, Symbol, Template, Variable};

fn variable(wide: bool) -> Variable {
    if wide { Variable::u64("x") } else { Variable::u32("x") }.unwrap()
}

/// `arg0 == $x`, ALLOW or else ERRNO(1).
fn policy(wide: bool) -> Policy {
    let field = if wide { Field::arg(0) } else { Field::arg_low(0) }.unwrap();
    let test = VariableTest::new(field, VariableRelation::Cmp(Cmp::Eq), Symbol::new(0));
    let rule = Rule {
        syscalls: SyscallSet::one(0),
        when: Condition::variable(test),
        verdict: Verdict::ALLOW,
    };
    let section = Section::new(Arch::X86_64, vec![rule], Verdict::errno(1));
    Policy::with_variables(vec![section], Verdict::KILL_PROCESS, vec![variable(wide)]).unwrap()
}

/// A program that compares the low half of an argument with the low half of the variable.
fn template(wide: bool) -> Template {
    let insns = vec![
        Insn::new(Op::LdWordAbs, 16),
        Insn::branch(Op::JeqK, 0, 0, 1),
        Insn::new(Op::RetK, Verdict::ALLOW.0),
        Insn::new(Op::RetK, Verdict::errno(1).0),
    ];
    let patch = Patch { insn: 1, symbol: Symbol::new(0), half: Half::Low };
    let program = callgate_core::Program::new(insns).unwrap();
    Template::new(program, vec![variable(wide)], vec![patch]).unwrap()
}

fn compared(a: Filter<'_>, b: Filter<'_>) -> Result<String, Untranslatable> {
    script(Endian::Little, &side("one", &[a]), &side("two", &[b]), &[])
}

#[test]
fn variables_of_one_name_are_declared_once() {
    for (wide, declared) in [
        (false, "(declare-const $x.low (_ BitVec 32))"),
        (true, "(declare-const $x (_ BitVec 64))"),
    ] {
        let (policy, template) = (policy(wide), template(wide));
        let text = compared(Filter::Policy(&policy), Filter::Template(&template)).unwrap();
        assert_eq!(text.matches("(declare-const $x").count(), 1, "{text}");
        assert!(text.contains(declared), "{text}");
        assert!(text.contains("(= word16 ((_ extract 31 0) $x))"), "{text}");
    }
}

/// With the width of one side, a solver would search only among the values that the other side does not have to itself.
#[test]
fn variables_of_one_name_with_two_widths_are_refused() {
    let (narrow, wide) = (policy(false), policy(true));
    let (narrow_program, wide_program) = (template(false), template(true));
    let policies = [Filter::Policy(&narrow), Filter::Template(&narrow_program)];
    for narrow in policies {
        for wide in [Filter::Policy(&wide), Filter::Template(&wide_program)] {
            for (a, b) in [(narrow, wide), (wide, narrow)] {
                let error = compared(a, b).unwrap_err().to_string();
                assert!(error.contains("`x` has 32 bits in one filter and 64 bits"), "{error}");
            }
        }
    }
}
