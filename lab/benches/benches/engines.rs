//! Engines on the classic workloads: with the same input each time, and with many different ones.
//!
//! `cargo bench --manifest-path lab/Cargo.toml -p callgate-benches --bench engines`; `callgate bench engines` prints the same as a table.
#![allow(missing_docs)]

use std::hint::black_box;

use callgate_core::NoAncillary;
use callgate_measure::engines::workloads::{self, EngineInputs};
use callgate_vm::{EngineKind, SeccompEngine};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

fn engines(criterion: &mut Criterion) {
    for workload in workloads::all() {
        for &kind in EngineKind::ALL {
            match &workload.inputs {
                EngineInputs::Syscalls { program, endian, hot, cold } => {
                    let engine = kind.seccomp(program, *endian).unwrap();
                    let run = |data: &_| engine.verdict(black_box(data)).0;
                    measure(criterion, &workload.name, kind, (hot, cold), run);
                }
                EngineInputs::Packets { program, hot, cold } => {
                    let Some(engine) = kind.packet(program) else { continue };
                    let engine = engine.unwrap();
                    let run = |packet: &Vec<u8>| engine.run(black_box(packet), &NoAncillary);
                    measure(criterion, &workload.name, kind, (hot, cold), run);
                }
            }
        }
    }
}

fn measure<I>(
    criterion: &mut Criterion,
    workload: &str,
    kind: EngineKind,
    (hot, cold): (&I, &Vec<I>),
    run: impl Fn(&I) -> u32,
) {
    let mut group = criterion.benchmark_group(format!("engines/{workload}"));
    group.bench_function(BenchmarkId::new(kind.name(), "hot"), |bencher| bencher.iter(|| run(hot)));
    group.throughput(Throughput::Elements(cold.len() as u64));
    group.bench_function(BenchmarkId::new(kind.name(), "cold"), |bencher| {
        bencher.iter(|| cold.iter().fold(0u32, |sum, input| sum.wrapping_add(run(input))));
    });
    group.finish();
}

criterion_group!(benches, engines);
criterion_main!(benches);
