//! Builds the driver for each library, and measures all rule sets.

use std::path::{Path, PathBuf};

use super::driver::{Driver, Sample};
use super::options::Options;
use crate::compare::rule_sets;
use crate::table::{Table, count};
use callgate_tasks::Result;
use callgate_tasks::c_library;
use callgate_tasks::files::{make, remove, write};

/// How many contexts a library makes before it is the turn of the next one.
const TURN: usize = 5;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let own = match &options.own {
        Some(own) => own.clone(),
        None => c_library::build_shared()?,
    };
    let directory = std::env::temp_dir().join(format!("callgate-speed-{}", std::process::id()));
    make(&directory)?;
    let result = measure(&directory, own, &options);
    remove(&directory)?;
    print!("{}", result?);
    Ok(())
}

/// Measures all rule sets; the table in Markdown.
fn measure(directory: &Path, own: PathBuf, options: &Options) -> Result<String> {
    let libraries = std::iter::once(own).chain(options.libraries.iter().cloned());
    let drivers = libraries.enumerate().map(|(index, library)| {
        Driver::build(&directory.join(index.to_string()), &options.header, &library)
    });
    let drivers: Vec<Driver> = drivers.collect::<Result<_>>()?;
    let columns = ["µs", "load", "faults", "KiB", "insns"].iter().copied();
    let columns: Vec<&str> = columns.chain(options.count.then_some("machine insns")).collect();
    let head = ["rule set".to_owned(), "level".to_owned()].into_iter();
    let of_libraries = drivers.iter().flat_map(|driver| {
        columns.iter().map(|column| format!("{}: {column}", driver.name)).collect::<Vec<_>>()
    });
    let ratios = drivers.iter().skip(1).map(|driver| format!("ratio to {}", driver.name));
    let mut table = Table::new(head.chain(of_libraries).chain(ratios));
    let mut notes = Vec::new();
    for (name, text) in rule_sets(options.profiles.as_deref(), &mut notes)? {
        if !name.contains(&options.set) {
            continue;
        }
        let rules = directory.join("rules");
        write(&rules, text)?;
        for level in [1, 2] {
            eprintln!("{name}, level {level}");
            let Some(samples) = samples(&drivers, &rules, level, options.rounds)? else {
                notes.push(format!("`{name}`: libseccomp cannot express it."));
                break;
            };
            let mut cells = vec![name.clone(), level.to_string()];
            for (driver, samples) in drivers.iter().zip(&samples) {
                cells.extend(figures(samples));
                if options.count {
                    let log = directory.join("callgrind.log");
                    cells.push(count(driver.count(&rules, level, &log)?));
                }
            }
            let (ours, others) = samples.split_first().ok_or("no library")?;
            cells.extend(others.iter().map(|theirs| format!("{:.2}", ratio(ours, theirs))));
            table.row(cells);
        }
    }
    Ok(table.markdown() + &notes.iter().map(|note| format!("{note}\n")).collect::<String>())
}

/// The samples of each library; `None` if one cannot express the rules.
fn samples(
    drivers: &[Driver],
    rules: &Path,
    level: u32,
    rounds: usize,
) -> Result<Option<Vec<Vec<Sample>>>> {
    let mut samples: Vec<Vec<Sample>> = drivers.iter().map(|_| Vec::new()).collect();
    while samples.first().is_some_and(|first| first.len() < rounds) {
        for (driver, samples) in drivers.iter().zip(&mut samples) {
            match driver.measure(rules, level, TURN)? {
                Some(more) => samples.extend(more),
                None => return Ok(None),
            }
        }
    }
    Ok(Some(samples))
}

/// The medians.
fn figures(samples: &[Sample]) -> Vec<String> {
    let of = |field: fn(&Sample) -> f64| median(samples.iter().map(field).collect());
    vec![
        format!("{:.0}", of(|sample| sample.total)),
        format!("{:.0}", of(|sample| sample.load)),
        format!("{:.0}", of(|sample| sample.faults)),
        format!("{:.0}", of(|sample| sample.memory)),
        count(of(|sample| sample.insns) as usize),
    ]
}

/// The median of the ratios of the times of neighbouring turns.
fn ratio(ours: &[Sample], theirs: &[Sample]) -> f64 {
    let of_turn = |turn: &[Sample]| median(turn.iter().map(|sample| sample.total).collect());
    let turns = ours.chunks(TURN).zip(theirs.chunks(TURN));
    median(turns.map(|(ours, theirs)| of_turn(ours) / of_turn(theirs)).collect())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_those_of_neighbouring_turns() {
        let sample = |total| Sample { total, load: 0.0, faults: 0.0, memory: 0.0, insns: 0.0 };
        // The machine becomes ten times slower after the first turn.
        let turns = |factor: f64| {
            let times = [1.0, 10.0, 10.0].into_iter().flat_map(|time| [time; TURN]);
            times.map(|time| sample(time * factor)).collect::<Vec<_>>()
        };
        assert_eq!(ratio(&turns(3.0), &turns(2.0)), 1.5);
    }
}
