//! What is written is read as the same policies; what is wrong is refused with its line. Random policies are in
//! `crates/callgate/tests/policy_text.rs`.

use callgate_core::policy::{
    Cmp, Condition, Field, FieldTest, Policy, Rule, Section, Test, VariableRelation, VariableTest,
};
use callgate_core::template::{Symbol, Variable};
use callgate_core::{Arch, SyscallSet, Verdict};

use super::{MAX_DEPTH, PolicyText, read, write};

fn arg(index: u8) -> Field {
    Field::arg(index).unwrap()
}

/// A policy with one rule about `personality`.
fn one_rule(when: Condition, variables: Vec<Variable>) -> Policy {
    let rule = Rule { syscalls: SyscallSet::one(135), when, verdict: Verdict::ALLOW };
    let section = Section::new(Arch::X86_64, vec![rule], Verdict::errno(1));
    Policy::with_variables(vec![section], Verdict::KILL_PROCESS, variables).unwrap()
}

#[track_caller]
fn round_trip(policies: &[Policy]) -> String {
    let is_stack = policies.len() > 1;
    let text = write(policies, is_stack, &["two\nlines\u{7}".to_owned()]).unwrap();
    assert!(text.contains("\n# two\n# lines?\n"), "{text}");
    let expected = PolicyText { policies: policies.to_vec(), is_stack };
    assert_eq!(read(&text).as_ref(), Ok(&expected), "{text}");
    text
}

#[test]
fn tests_groups_and_constants_are_read_as_they_are_written() {
    let tests = [Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge].map(|cmp| {
        Condition::any([
            Condition::test(Test::new(arg(1), cmp, u64::MAX)),
            Condition::test(Test { mask: 0, ..Test::new(arg(2).low32(), cmp, 9) }),
            Condition::all([
                Condition::test(Test::masked_eq(Field::instruction_pointer(), 0xf0, 10)),
                Condition::never(),
                Condition::test(Test::eq(arg(0), 8)),
            ]),
            Condition::test(Test::eq(arg(0), 0x20008)),
        ])
    });
    let text = round_trip(&[one_rule(Condition::all(tests), Vec::new())]);
    assert!(
        text.contains("    arg0 == 0x20008                     # PER_LINUX32|UNAME26\n"),
        "{text}"
    );
    assert!(text.contains("    arg2.low & 0 <= 9\n"), "{text}");
    round_trip(&[one_rule(Condition::never(), Vec::new())]);
    round_trip(&[one_rule(Condition::always(), Vec::new())]);
}

#[test]
fn stacks_and_both_abis_of_a_token_are_kept() {
    let both = Section::new(Arch::X86_64, vec![], Verdict::LOG).and_arch(Arch::X32).unwrap();
    let x32 = Section::new(Arch::X32, vec![], Verdict::LOG);
    let policies = [both, x32].map(|section| Policy::new(vec![section], Verdict(7)).unwrap());
    let text = round_trip(&policies);
    assert!(text.contains("\nstack "), "{text}");
    let big =
        Policy::new(vec![Section::new(Arch::S390x, vec![], Verdict::LOG)], Verdict(7)).unwrap();
    assert!(round_trip(std::slice::from_ref(&big)).contains("\nbyte-order big\n"));
    let [first, _] = policies;
    let mixed = write(&[first, big], true, &[]).unwrap_err().to_string();
    assert!(mixed.contains("byte orders"), "{mixed}");
}

#[test]
fn variables_are_words() {
    let variables = || vec![Variable::u32("fd").unwrap(), Variable::u64("flags").unwrap()];
    let test = |relation, index| VariableTest::new(arg(0), relation, Symbol::new(index));
    let when = Condition::all([
        Condition::variable(test(VariableRelation::Cmp(Cmp::Ge), 0).masked(0xff)),
        Condition::variable(test(VariableRelation::AnyBit, 1)),
        Condition::variable(test(VariableRelation::NoBit, 1).masked(0xff)),
    ]);
    let policy = one_rule(when, variables());
    let text = round_trip(std::slice::from_ref(&policy));
    assert!(text.contains("variable fd 32\nvariable flags 64\n"), "{text}");
    assert!(text.contains("  arg0 & 0xff >= $fd\n  arg0 & $flags != 0\n"), "{text}");
    let sum = VariableTest { symbol: Symbol::new(0).plus(1), ..test(VariableRelation::AnyBit, 0) };
    for refused in
        [vec![one_rule(Condition::variable(sum), variables())], vec![policy.clone(), policy]]
    {
        let error = write(&refused, refused.len() > 1, &[]).unwrap_err().to_string();
        assert!(error.contains("variable") || error.contains("$fd"), "{error}");
    }
}

#[test]
fn comparisons_of_arguments_are_read_as_they_are_written() {
    let relations =
        [VariableRelation::Cmp(Cmp::Eq), VariableRelation::Cmp(Cmp::Lt), VariableRelation::AnyBit];
    for relation in relations {
        let test = FieldTest { left: arg(0), relation, right: arg(1).low32() };
        round_trip(&[one_rule(Condition::fields(test), Vec::new())]);
        round_trip(&[one_rule(Condition::fields(test.negated()), Vec::new())]);
    }
}

#[test]
fn groups_have_a_maximum_depth() {
    let one = || Condition::test(Test::eq(arg(0), 1));
    let deeper = |inner, depth: usize| match depth % 2 {
        0 => Condition::all([one(), inner]),
        _ => Condition::any([one(), inner]),
    };
    // The outermost `all` is the rule itself.
    let nested = |depth| (1..=depth).rev().fold(one(), deeper);
    round_trip(&[one_rule(nested(MAX_DEPTH), Vec::new())]);
    let error = write(&[one_rule(nested(MAX_DEPTH + 1), Vec::new())], false, &[]);
    assert!(error.unwrap_err().to_string().contains("64"));
    let text = |depth: usize| {
        let lines = |word: &str| format!("{word}\n").repeat(depth);
        let head = "callgate-policy 1\nbyte-order little\nfilter 0\narch 0xc000003e 0\nrule 0\n";
        format!("{head}{}{}", lines("any"), lines("end"))
    };
    assert!(read(&text(MAX_DEPTH)).is_ok());
    assert!(read(&text(MAX_DEPTH + 1)).is_err());
}

/// The line of the error, and its message.
#[track_caller]
fn error_of(text: &str) -> (u32, String) {
    let error = read(text).unwrap_err();
    (error.position.map_or(0, |position| position.line), error.message)
}

#[test]
fn wrong_lines_are_refused_with_their_number() {
    let head = "callgate-policy 1\nbyte-order little\nfilter 0\narch 0xc000003e 0\nrule 0\n";
    for (text, line, message) in [
        (String::new(), 1, "the first line"),
        ("callgate-policy 2\n".to_owned(), 1, "the first line"),
        ("callgate-policy 1\n\nfilter 0\n".to_owned(), 3, "byte-order"),
        ("callgate-policy 1\nbyte-order little\n".to_owned(), 1, "no `filter`"),
        (head.replace("little", "big"), 3, "byte-order"),
        (head.replace("0xc000003e", "0xc000003f"), 4, "token"),
        (head.replace("0xc000003e 0", "0xc000003e 0 aarch64"), 4, "aarch64 is not"),
        (head.replace("rule 0", "rule 0x100000000"), 5, "too large"),
        (head.replace("rule 0", "rule 0X1"), 5, "not a number"),
        (format!("{head}filter 0\n"), 6, "stack"),
        (head.replace("filter", "stack\nfilter"), 6, "at least two"),
        (format!("{head}nr +1\n"), 6, "not a number"),
        (format!("{head}nr 2 - 1\n"), 6, "no number"),
        (format!("{head}any\nnr 1\n"), 7, "inside"),
        (format!("{head}any\nend\nend\n"), 8, "without"),
        (format!("{head}\nall\n"), 7, "not ended"),
        (format!("{head}all\nrule 0\n"), 7, "not ended"),
        (format!("{head}arg6 == 1\n"), 6, "arg6"),
        (format!("{head}arg0 = 1\n"), 6, "a test has the form"),
        (format!("{head}arg0\t== 1\n"), 6, "a test has the form"),
        (format!("{head}arg0 == $x\n"), 6, "not declared"),
        (head.replace("filter", "variable x 8\nfilter"), 3, "32 or 64"),
        (head.replace("filter", "variable x 32\nvariable x 64\nfilter"), 4, "twice"),
        (format!("{head}arg0 == 18446744073709551616\n"), 6, "not a number"),
    ] {
        let (at, said) = error_of(&text);
        assert!(at == line && said.contains(message), "{text}{at}: {said}");
    }
}
