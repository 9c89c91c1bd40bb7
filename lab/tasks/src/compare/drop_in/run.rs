//! Draws the sets, and has both libraries make filters of them.

use std::path::Path;

use callgate::Endian;
use callgate_core::Program;
use callgate_core::diagram::{Budget, Store};
use callgate_core::policy::Policy;
use callgate_tasks::files::{make, read, remove, write};
use callgate_tasks::{Result, c_library, workspace};

use super::driver::{Answer, Driver};
use super::options::Options;
use super::report::{Report, Row};
use crate::compare::peers::Peer;
use crate::compare::tournament::kinds::Set;
use crate::compare::{sets, text};

/// The processes per library whose loading is measured.
const LOADS: usize = 200;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let own = match &options.own {
        Some(own) => own.clone(),
        None => c_library::build_shared()?,
    };
    let directory = std::env::temp_dir().join(format!("callgate-drop-in-{}", std::process::id()));
    make(&directory)?;
    let report = measure(&directory, [own.as_path(), options.original.as_path()], &options);
    remove(&directory)?;
    print!("{}", report?.markdown(options.rows));
    Ok(())
}

fn measure(directory: &Path, libraries: [&Path; 2], options: &Options) -> Result<Report> {
    let headers = workspace().join("crates/callgate-seccomp/include");
    let build = |name: &str, library| Driver::build(&directory.join(name), &headers, library);
    let drivers = [build("own", libraries[0])?, build("original", libraries[1])?];
    let mut report = Report { loading: loading(&drivers)?, ..Report::default() };
    let container = sets::container()?;
    let numbers = match options.only {
        Some(only) => only..only + 1,
        None => 0..options.sets,
    };
    let kept = options.keep.as_deref();
    kept.map_or(Ok(()), make)?;
    for number in numbers.clone() {
        let set = Set::draw(options.seed, number, &container)?;
        if number % 20 == 0 {
            eprintln!("drop-in: set {number} of {}", numbers.end);
        }
        let rules = match kept {
            Some(kept) => kept.join(set.number.to_string()),
            None => directory.join("rules"),
        };
        write(&rules, text::write(&set.rules))?;
        let name = format!("set {}, {}", set.number, set.kind.name());
        // One after the other, so that what else the machine does is shared by both.
        let ours = drivers[0].make(&rules, options.rounds)?;
        let theirs = drivers[1].make(&rules, options.rounds)?;
        match (ours, theirs) {
            (
                Answer::Made { insns, times },
                Answer::Made { insns: of_original, times: their_times },
            ) => {
                let edges = Peer::LibseccompLinear.edges(&set.rules);
                let policy = set.rules.with_edges(edges).to_policy()?;
                // The original's, which was written last.
                let program = read(&rules.with_extension("bpf"))?;
                report.rows.push(Row {
                    name,
                    insns: [insns, of_original],
                    times: [median(times), median(their_times)],
                    is_right: is_right(&program, &policy),
                });
            }
            (Answer::Made { .. }, Answer::Refused(why)) => {
                report.only_ours.push(format!("{name}: {why}"));
            }
            (Answer::Made { .. }, Answer::Slow) => {
                report.only_ours.push(format!("{name}: it takes seconds"));
            }
            (Answer::Refused(why), Answer::Made { insns, .. }) => {
                let line = format!("{name}: {why}; the original's has {insns} instructions");
                report.only_theirs.push(line);
            }
            (Answer::Slow, Answer::Made { .. }) => {
                report.only_theirs.push(format!("{name}: it takes seconds"));
            }
            _ => {}
        }
    }
    Ok(report)
}

/// The medians of the times of loading.
fn loading(drivers: &[Driver; 2]) -> Result<[f64; 2]> {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..LOADS {
        for (driver, times) in drivers.iter().zip(&mut times) {
            times.push(driver.load()?);
        }
    }
    Ok(times.map(median))
}

/// Whether a program means what a policy says. What cannot be decided counts as right.
fn is_right(program: &[u8], policy: &Policy) -> bool {
    let Ok(program) = Program::from_bytes(program, Endian::Little) else { return true };
    let mut store = Store::new(Budget { nodes: 500_000, steps: 3_000_000 });
    let functions = store.program(&program, Endian::Little).and_then(|function| {
        let meant = store.policy(policy)?;
        Ok(function == meant)
    });
    functions.unwrap_or(true)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
