//! The task.

use super::compare::compare;
use super::instances::{Instance, Kind};
use super::options::Options;
use super::summary::Summary;
use super::text;
use callgate_codegen::Aim;
use callgate_tasks::files::write;
use callgate_tasks::{Result, workspace};
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let mut all = Vec::new();
    let each = options.instances / Kind::RANDOM.len();
    let random = Kind::RANDOM.iter().map(|kind| (*kind, each));
    for (kind, count) in std::iter::once((Kind::ThreeBits, Kind::THREE_BITS)).chain(random) {
        for aim in [Aim::Speed, Aim::Size] {
            let summary = summary(kind, aim, count, &options)?;
            eprintln!("{}, {}: {} of {}", kind.name(), aim.name(), summary.optimal, count);
            all.push((kind, aim, summary));
        }
    }
    let page = text::page(&all, &options);
    match options.update {
        true => write(&workspace().join("lab/results/optimum.md"), page),
        false => {
            print!("{page}");
            Ok(())
        }
    }
}

/// Compares the functions of a kind, on all processors.
fn summary(kind: Kind, aim: Aim, count: usize, options: &Options) -> Result<Summary> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return Ok::<_, String>(done);
            }
            let instance = Instance::new(kind, number, options.seed);
            let comparison = compare(&instance, aim, options.budget)
                .map_err(|error| format!("{}: {error}", instance.describe()))?;
            done.push((number, instance, comparison));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut all = Vec::new();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            all.extend(worker.join().map_err(|_| "a thread panicked".to_owned())??);
        }
        Ok::<(), String>(())
    })?;
    all.sort_by_key(|(number, ..)| *number);
    let mut summary = Summary { instances: count, ..Summary::default() };
    for (_, instance, comparison) in all {
        summary.add(instance, aim, comparison);
    }
    summary.worst.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
    summary.worst.truncate(options.worst);
    Ok(summary)
}
