//! Stacks: all engines one by one, the merged program, and the table in front of them, against what
//! the core crate says a stack means.

use callgate::bpf::Program;
use callgate::compile::Options;
use callgate::diagram::Budget;
use callgate::random::Rng;
use callgate::{Arch, Endian, SeccompData, Verdict};
use callgate::{Description, stack};
use callgate_vm::workloads::{self, Body};
use callgate_vm::{Cached, Decoded, EngineKind, SeccompEngine, Stack, differential};

/// Calls that the programs tell apart.
fn calls(programs: &[&Program], rng: &mut Rng) -> Vec<SeccompData> {
    let of_one = |program: &&Program| workloads::calls(program, Arch::X86_64.token(), rng);
    programs.iter().flat_map(of_one).step_by(97).collect()
}

fn check(programs: &[&Program], rng: &mut Rng) {
    let endian = Endian::Little;
    let filters = programs.iter().map(|program| Description::program(program, endian)).collect();
    let meaning = stack::Stack::new(filters).unwrap();
    let calls = calls(programs, rng);
    for &kind in EngineKind::ALL {
        let engine = Stack::of_kind(kind, programs, endian).unwrap();
        for data in &calls {
            assert_eq!(engine.verdict(data), meaning.run(data), "{kind}: {data:x?}");
        }
    }
    let decoded = Stack::new(programs.iter().map(|program| Decoded::new(program, endian)));
    let cached = Cached::of_stack(decoded, programs, endian, &[Arch::X86_64, Arch::X32]);
    for data in &calls {
        assert_eq!(cached.verdict(data), meaning.run(data), "{data:x?}");
    }
    // What is too complex to be merged is not merged.
    let budget = Budget { nodes: 100_000, steps: 300_000 };
    let options = Options { budget, ..Options::default() };
    if let Ok(merged) = stack::merge(&meaning, &[Arch::X86_64], &options) {
        for &kind in EngineKind::ALL {
            let engine = kind.seccomp(&merged.compiled.program, endian).unwrap();
            for data in &calls {
                assert_eq!(engine.verdict(data), meaning.run(data), "merged, {kind}: {data:x?}");
            }
        }
    }
}

#[test]
fn stacks_of_the_workloads_say_what_the_kernel_would() {
    let all = workloads::all();
    let programs: Vec<&Program> = all
        .iter()
        .filter_map(|workload| match &workload.body {
            Body::Calls { program, .. } => Some(program),
            Body::Packets { .. } => None,
        })
        .collect();
    let mut rng = Rng::new(1);
    for stack in [&programs[..], &programs[2..], &programs[..2], &programs[..1]] {
        check(stack, &mut rng);
    }
}

#[test]
fn stacks_of_random_programs_say_what_the_kernel_would() {
    let mut rng = Rng::new(2);
    for _ in 0..60 {
        let programs: Vec<Program> =
            (0..1 + rng.below(4)).map(|_| differential::seccomp_program(&mut rng)).collect();
        check(&programs.iter().collect::<Vec<_>>(), &mut rng);
    }
}

#[test]
fn a_stack_without_filters_allows() {
    let stack = Stack::<Decoded>::new([]);
    assert_eq!(stack.verdict(&SeccompData::default()), Verdict::ALLOW);
}
