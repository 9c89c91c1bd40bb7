//! Builds, verifies and measures the programs.

use callgate::Arch;
use callgate_bpf::random::Rng;
use callgate_linux::dump;

use super::builder::{Builder, Program};
use super::measure::{Sample, Waiting, median, sample};
use super::options::Options;
use super::report::{Report, Row};
use super::variants::{LIMIT, OTHER_LIMITS, VARIANTS, Variant, When};
use super::verify::{Verified, verify};
use crate::machine::said;
use callgate_tasks::Result;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let builder = Builder::new(options.libseccomp.as_deref())?;
    let mut report = Report::new(&options);
    let mut programs: Vec<(&Variant, Program, Vec<Sample>)> = Vec::new();
    for variant in VARIANTS {
        eprintln!("building: {}", variant.name);
        match (variant.build)(&builder) {
            Ok(program) => programs.push((variant, program, Vec::new())),
            Err(why) => {
                eprintln!("left out: {why}");
                report.left_out(variant.name, &why);
            }
        }
    }
    report.load("before");
    let mut random = Rng::new(0);
    for _ in 0..options.rounds {
        // A process delays the next one while the kernel removes it, so each must follow each other one.
        random.shuffle(&mut programs);
        for (variant, program, samples) in &mut programs {
            let sample = sample(&program.stripped, LIMIT);
            samples.push(sample.map_err(|why| format!("{} failed: {why}", variant.name))?);
        }
    }
    report.load("after");
    programs.sort_by_key(|(variant, ..)| VARIANTS.iter().position(|one| one.name == variant.name));
    let arch = Arch::native().ok_or("unknown architecture")?;
    for (variant, program, samples) in &programs {
        let verified = variant.compiled.map(|compiled| installed(program, compiled, arch));
        let verified = verified.transpose().map_err(|why| format!("{}: {why}", variant.name))?;
        let median = median(samples).ok_or("missing samples")?;
        report.rows.push(Row::new(variant, program, median, verified.flatten()));
    }
    report.publish(&options)
}

/// Reads the filter that a program installs, and compares it with the policy; `None` without the capability.
fn installed(program: &Program, compiled: When, arch: Arch) -> Result<Option<Verified>> {
    if said("id", &["-u"]).as_deref() != Some("0") {
        return Ok(None);
    }
    let others = OTHER_LIMITS.into_iter().filter(|_| compiled != When::BuildWithValues);
    let mut found = None;
    for limit in others.chain([LIMIT]) {
        let process = Waiting::start(&program.stripped, limit)?;
        let dump = dump(process.id()).map_err(|error| error.to_string())?;
        let [filter] = dump.filters.as_slice() else {
            return Err(format!("{} filters are installed", dump.filters.len()));
        };
        found = Some(verify(&filter.program, arch, limit)?);
    }
    Ok(found)
}
