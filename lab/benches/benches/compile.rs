//! Compilation with its proof, and symbolic execution.
//!
//! `cargo bench --manifest-path lab/Cargo.toml -p callgate-benches`; the library documents environment variables.
#![allow(missing_docs)]

use std::hint::black_box;
use std::time::Duration;

use callgate::Endian;
use callgate::compile::{Options, compile, recompile};
use callgate_benches::{ONE, THREE, profiles, programs, reading, synthetic};
use callgate_codegen::{Aim, Model};
use callgate_core::diagram::Store;
use callgate_formats::{CONTAINER_DEFAULT, oci};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// From policy to proved program; reading the text is measured separately.
fn compilation(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("compile");
    for (arches, name) in [(ONE, "1 arch"), (THREE, "3 arches")] {
        for (profile, policy) in profiles(arches) {
            group.bench_function(BenchmarkId::new(profile, name), |bencher| {
                bencher.iter(|| compile(black_box(&policy), &Options::default()));
            });
        }
    }
    let built_in = profiles(ONE).into_iter().next();
    if let Some((profile, policy)) = built_in {
        let aims = |&model| Aim::ALL.iter().map(move |&aim| (model, aim));
        for (model, aim) in Model::ALL.iter().flat_map(aims) {
            let options = Options { model, aim, ..Options::default() };
            let id = format!("{profile}, {}, {}", model.name(), aim.name());
            group.bench_function(id, |bencher| {
                bencher.iter(|| compile(black_box(&policy), &options));
            });
        }
    }
    group.finish();
}

fn reading_profiles(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("read");
    for (arches, name) in [(ONE, "1 arch"), (THREE, "3 arches")] {
        let options = reading(arches);
        group.bench_function(BenchmarkId::new("container-default", name), |bencher| {
            bencher.iter(|| oci::read(black_box(CONTAINER_DEFAULT), &options));
        });
    }
    group.finish();
}

/// From few rules to more than usual.
fn growth(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("growth");
    for rules in [10, 40, 150, 600, 1500, 4000] {
        let policy = synthetic(rules);
        group.throughput(Throughput::Elements(rules.into()));
        group.bench_with_input(BenchmarkId::from_parameter(rules), &policy, |bencher, policy| {
            bencher.iter(|| compile(black_box(policy), &Options::default()));
        });
    }
    group.finish();
}

/// From program to MTBDD: the cost of a proof, and half of that of `diff` and `explain`.
fn execution(criterion: &mut Criterion) {
    let mut programs = programs();
    for (name, policy) in profiles(THREE).into_iter().take(1) {
        if let Ok(compiled) = compile(&policy, &Options::default()) {
            programs.push((name, compiled.program.into_program()));
        }
    }
    let mut group = criterion.benchmark_group("symbolic execution");
    for (name, program) in &programs {
        group.throughput(Throughput::Elements(program.len() as u64));
        group.bench_with_input(BenchmarkId::from_parameter(name), program, |bencher, program| {
            bencher.iter(|| Store::default().program(black_box(program), Endian::Little));
        });
    }
    group.finish();
    let mut group = criterion.benchmark_group("recompile");
    for (name, program) in &programs {
        group.bench_with_input(BenchmarkId::from_parameter(name), program, |bencher, program| {
            let options = Options::default();
            bencher.iter(|| recompile(black_box(program), Endian::Little, THREE, &options));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .sample_size(40);
    targets = compilation, reading_profiles, growth, execution
}
criterion_main!(benches);
