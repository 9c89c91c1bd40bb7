//! Findings about whole filters: listeners, costs, examples, and our own profile.

use callgate::lint::{Check, Level, Subject, lint};
use callgate::{Arch, Endian, Filter, Verdict, arg};
use callgate_core::{Insn, LongProgram, Op, Program};
use callgate_formats::oci::Dialect;
use callgate_formats::{CapSet, container_default};

use super::{entry, line, of_program, options, profile, read};

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

/// The findings for our own profile, each of which lab/results/lint.md explains.
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
