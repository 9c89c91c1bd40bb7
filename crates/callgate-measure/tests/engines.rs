//! The engines on the classic workloads: stacks of them, and tables of verdicts in front of them.

use callgate::{Arch, Endian, SeccompData, Verdict};
use callgate::{Description, stack};
use callgate_bpf::random::Rng;
use callgate_core::diagram::Store;
use callgate_core::{Program, Word};
use callgate_measure::engines::workloads::{self, EngineInputs};
use callgate_testing::{TestResult, Trial};
use callgate_vm::{CACHED_NUMBERS, Cached, Decoded, EngineKind, EngineStack, SeccompEngine};

/// The tests of this module.
pub(crate) fn trials() -> Vec<Trial> {
    callgate_testing::trials![
        stacked_engines_return_the_kernels_verdict,
        threads_share_an_engine,
        the_table_knows_every_verdict_that_the_diagram_knows
    ]
}

const X86_64: u32 = Arch::X86_64.token();

/// The seccomp filters among the workloads.
fn filters() -> Vec<(String, Program, Endian, Vec<SeccompData>)> {
    let filter = |workload: workloads::Workload| match workload.inputs {
        EngineInputs::Syscalls { program, endian, cold, .. } => {
            Some((workload.name, program, endian, cold))
        }
        EngineInputs::Packets { .. } => None,
    };
    workloads::all().into_iter().filter_map(filter).collect()
}

/// The engine behind the table, if it is asked.
const ASKED: Verdict = Verdict(0xdead_beef);

struct Refusing;

impl SeccompEngine for Refusing {
    fn verdict(&self, _data: &SeccompData) -> Verdict {
        ASKED
    }

    fn code_bytes(&self) -> usize {
        0
    }
}

fn stacked_engines_return_the_kernels_verdict() -> TestResult {
    let filters = filters();
    let programs: Vec<&Program> = filters.iter().map(|(_, program, ..)| program).collect();
    let mut rng = Rng::new(1);
    for programs in [&programs[..], &programs[2..], &programs[..2], &programs[..1]] {
        let endian = Endian::Little;
        let stacked =
            programs.iter().map(|program| Description::program(program, endian)).collect();
        let meaning = stack::Stack::new(stacked).unwrap();
        let syscalls: Vec<SeccompData> = programs
            .iter()
            .flat_map(|program| workloads::syscalls(program, X86_64, &mut rng))
            .step_by(97)
            .collect();
        for &kind in EngineKind::ALL {
            let engines = programs.iter().map(|program| kind.seccomp(program, endian).unwrap());
            let engine = EngineStack::new(engines);
            for data in &syscalls {
                assert_eq!(engine.verdict(data), meaning.run(data), "{kind}: {data:x?}");
            }
        }
        let decoded =
            EngineStack::new(programs.iter().map(|program| Decoded::new(program, endian)));
        let cached = Cached::of_stack(decoded, programs, endian, &[Arch::X86_64, Arch::X32]);
        let merged = stack::merge(&meaning, &[Arch::X86_64], &Default::default()).unwrap();
        for data in &syscalls {
            let expected = meaning.run(data);
            assert_eq!(cached.verdict(data), expected, "{data:x?}");
            assert_eq!(merged.compiled.program.run(data, endian).verdict, expected, "{data:x?}");
        }
    }
    Ok(())
}

fn threads_share_an_engine() -> TestResult {
    for (_, program, endian, cold) in filters() {
        let decoded = Decoded::new(&program, endian);
        let engine = Cached::new(decoded, &program, endian, &[Arch::X86_64]);
        std::thread::scope(|scope| {
            for part in cold.chunks(cold.len() / 4) {
                let (engine, program) = (&engine, &program);
                scope.spawn(move || {
                    for data in part {
                        assert_eq!(engine.verdict(data), program.run(data, endian).verdict);
                    }
                });
            }
        });
    }
    Ok(())
}

/// For filters in common use the table is exact: what it leaves to the engine does depend on an
/// argument.
fn the_table_knows_every_verdict_that_the_diagram_knows() -> TestResult {
    for (name, program, endian, _) in filters() {
        let engine = Cached::new(Refusing, &program, endian, &[Arch::X86_64]);
        let mut store = Store::default();
        let filter = store.program(&program, endian).unwrap();
        let filter = store.follow(filter, Word::ARCH, X86_64);
        for nr in 0..CACHED_NUMBERS {
            let of_nr = store.follow(filter, Word::NR, nr);
            let always = store.as_verdict(of_nr).unwrap_or(ASKED);
            let data = SeccompData { nr, arch: X86_64, args: [9; 6], ..SeccompData::default() };
            assert_eq!(engine.verdict(&data), always, "{name}: {nr}");
        }
    }
    Ok(())
}
