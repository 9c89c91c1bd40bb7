//! Stacks of every engine, the merged program, and a table of verdicts, against `callgate::stack::Stack`.

use callgate::compile::Options;
use callgate::{Description, stack};
use callgate_bpf::random::Rng;
use callgate_core::diagram::Budget;
use callgate_core::{Arch, Endian, Program, SeccompData, Verdict};
use callgate_vm::{Cached, Decoded, EngineKind, EngineStack, SeccompEngine, differential};

/// Syscalls derived from the constants of the programs.
fn syscalls(programs: &[&Program], rng: &mut Rng) -> Vec<SeccompData> {
    let mut syscalls = Vec::new();
    for program in programs {
        syscalls.extend((0..100).map(|_| differential::syscall(rng, program)));
    }
    syscalls
}

fn check(programs: &[&Program], rng: &mut Rng) {
    let endian = Endian::Little;
    let filters = programs.iter().map(|program| Description::program(program, endian)).collect();
    let meaning = stack::Stack::new(filters).unwrap();
    let syscalls = syscalls(programs, rng);
    for &kind in EngineKind::ALL {
        let engines = programs.iter().map(|program| kind.seccomp(program, endian).unwrap());
        let engine = EngineStack::new(engines);
        for data in &syscalls {
            assert_eq!(engine.verdict(data), meaning.run(data), "{kind}: {data:x?}");
        }
    }
    let decoded = EngineStack::new(programs.iter().map(|program| Decoded::new(program, endian)));
    let cached = Cached::of_stack(decoded, programs, endian, &[Arch::X86_64, Arch::X32]);
    for data in &syscalls {
        assert_eq!(cached.verdict(data), meaning.run(data), "{data:x?}");
    }
    // Programs that are too complex to merge are omitted.
    let budget = Budget { nodes: 100_000, steps: 300_000 };
    let options = Options { budget, ..Options::default() };
    if let Ok(merged) = stack::merge(&meaning, &[Arch::X86_64], &options) {
        for &kind in EngineKind::ALL {
            let engine = kind.seccomp(&merged.compiled.program, endian).unwrap();
            for data in &syscalls {
                assert_eq!(engine.verdict(data), meaning.run(data), "merged, {kind}: {data:x?}");
            }
        }
    }
}

#[test]
fn stacks_of_random_programs_return_the_kernels_verdict() {
    let mut rng = Rng::new(2);
    for _ in 0..60 {
        let programs: Vec<Program> =
            (0..1 + rng.below(4)).map(|_| differential::seccomp_program(&mut rng)).collect();
        check(&programs.iter().collect::<Vec<_>>(), &mut rng);
    }
}

#[test]
fn an_empty_stack_allows() {
    let stack = EngineStack::<Decoded>::new([]);
    assert_eq!(stack.verdict(&SeccompData::default()), Verdict::ALLOW);
}
