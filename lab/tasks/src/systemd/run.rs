//! Runs the comparison for each suite, and reports.

use callgate::Arch;
use callgate_bpf::random::Rng;
use callgate_formats::systemd::ReadOptions;

use super::compare::{Outcome, compare};
use super::groups;
use super::manager::Manager;
use super::options::Options;
use super::root::Root;
use super::units::{Unit, fixed, random, shipped};
use crate::table::count;
use callgate_tasks::Result;

/// The number of units that run at the same time.
const AT_ONCE: usize = 60;

/// Runs the task.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let mut different = 0;
    for suite in &options.suites {
        different += compare_suite(suite, &options)?;
    }
    match different {
        0 => Ok(()),
        different => Err(format!("{different} units or groups differ")),
    }
}

/// Compares the units of a suite; returns the number of units and groups that differ.
fn compare_suite(suite: &str, options: &Options) -> Result<usize> {
    let root = Root::prepare(suite)?;
    let release = callgate_linux::kernel::release().map_err(|error| error.to_string())?;
    let kernel = release.parse().map_err(|_| format!("the kernel version {release:?}"))?;
    let mut reading = ReadOptions::new(Arch::X86_64, kernel);
    reading.version = root.version;
    reading.libseccomp_lacks.clone_from(&root.lacks);

    let (all_groups, other_groups) = groups::compare(&root.path, root.version)?;
    for name in &other_groups {
        println!("{suite}: the members of {name} differ from those that systemd-analyze lists");
    }

    let mut rng = Rng::new(options.seed);
    let (fixed, shipped) = (fixed(root.version), shipped(&root.path)?);
    let counts = [fixed.len(), shipped.len(), options.random];
    let random = (0..options.random).map(|_| random(&mut rng, root.version));
    let run = std::process::id();
    let units: Vec<Unit> = (0..)
        .zip(fixed.into_iter().chain(shipped).chain(random))
        .map(|(number, directives): (usize, _)| Unit {
            name: format!("callgate-{run}-{number}"),
            directives,
        })
        .collect();

    let (mut equal, mut filters, mut refused, mut different) = (0, 0, 0, 0);
    for units in units.chunks(AT_ONCE) {
        let mut manager = Manager::start(&root.path, units)?;
        let processes = manager.processes(units)?;
        for unit in units {
            match compare(unit, processes.get(&unit.name).copied(), &reading, &root.lacks_on) {
                Outcome::Equal(count) => (equal, filters) = (equal + 1, filters + count),
                Outcome::Refused => refused += 1,
                Outcome::Different(why) => {
                    different += 1;
                    println!("{suite}: {why}\n{}\n", unit.text());
                }
            }
        }
    }
    println!(
        "{suite}, systemd {}: {} units ({} fixed, {} of the packages, {} random): {} with equal filters \
         ({} filters), {} refused by both, {} different; libseccomp lacks {} syscalls, \
         and {} on one architecture",
        root.package,
        count(units.len()),
        counts[0],
        counts[1],
        counts[2],
        count(equal),
        count(filters),
        refused,
        different,
        root.lacks.len(),
        root.lacks_on.len()
    );
    println!(
        "{suite}: {} of {all_groups} groups as systemd-analyze lists them",
        all_groups - other_groups.len()
    );
    Ok(different + other_groups.len())
}
