//! Architectures, ABIs and multiplexers.

use callgate::lint::{Check, Finding, Subject, lint};
use callgate::{Arch, Verdict};
use callgate_bpf::SyscallTable;
use callgate_core::policy::{Condition, Policy, Rule, Section};
use callgate_core::{Insn, LongProgram, Op, Program, SyscallSet};

use super::{entry, found, found_on, line, of_program};

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
    // Numbers without a name count, except those of x32.
    let denies = |numbers: &[u32]| {
        let mut insns = vec![Insn::new(Op::LdWordAbs, 0)];
        for nr in numbers {
            insns.push(Insn::branch(Op::JeqK, *nr, 0, 1));
            insns.push(Insn::new(Op::RetK, Verdict::KILL_PROCESS.0));
        }
        insns.push(Insn::new(Op::RetK, Verdict::ALLOW.0));
        LongProgram::from(Program::new(insns).unwrap())
    };
    assert_eq!(of_program(&denies(&[500, 600]), &native, Check::AllowsAll), []);
    assert_eq!(of_program(&denies(&[0x3fff_ffff]), &native, Check::AllowsAll), []);
    assert_eq!(of_program(&denies(&[0x4000_0001]), &native, Check::AllowsAll).len(), 1);
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
