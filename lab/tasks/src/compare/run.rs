//! Runs the parts, and writes the report.

use std::fs;
use std::path::Path;

use callgate::{Arch, Endian};
use callgate_core::Program;

use super::document::Report;
use super::installed::Installed;
use super::options::{Options, Part};
use super::peers::{self, Peers};
use super::{engines, growth, installed, measure, own, sets, workloads};
use crate::machine;
use callgate_tasks::files::{files, make, stem};
use callgate_tasks::{Result, workspace};

/// Runs the task.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?.or_environment();
    if options.install {
        peers::install()?;
    }
    let progress = |text: &str| eprintln!("compare: {text}");
    let wants = |part| options.part.is_none_or(|only| only == part);
    let directory = workspace().join("target/compare");
    if options.part == Some(Part::Own) {
        if let Some(name) = &options.case {
            return own::once(&options, name);
        }
        make(&directory)?;
        print!("{}", own::table(&options, &directory, progress)?.plain());
        return Ok(());
    }
    progress("building the others");
    // Engines are not compared with these compilers.
    let peers = match options.part {
        Some(Part::Engines) => None,
        _ => Some(Peers::build(&directory)?),
    };
    let mut report = Report {
        command: options.command(),
        machine: machine::lines(),
        versions: peers.as_ref().map(Peers::versions).unwrap_or_default(),
        workloads: workloads::all(&options.weights)?,
        sets: Vec::new(),
        programs: Vec::new(),
        notes: Vec::new(),
        growth: None,
        engines: None,
    };
    report.versions.iter().for_each(|version| progress(version));
    if let Some(peers) = peers.as_ref().filter(|_| wants(Part::Sets)) {
        for set in sets::all(options.profiles.as_deref(), &mut report.notes)? {
            progress(&set.name);
            let rows = measure::rows(&set.rules, peers, &report.workloads)
                .map_err(|error| format!("{}: {error}", set.name))?;
            report.sets.push((set, rows));
        }
        programs(options.filters.as_deref(), &mut report)?;
        examples(&directory, &mut report);
    }
    if let Some(peers) = peers.as_ref().filter(|_| wants(Part::Growth)) {
        report.growth = Some(growth::measure(peers, progress)?);
    }
    if wants(Part::Engines) {
        report.engines = Some(engines::measure(&directory, options.filters.as_deref(), progress)?);
    }
    print!("{}", report.plain());
    if options.part.is_none() {
        let directory = options.output.unwrap_or_else(|| workspace().join("lab/results"));
        let chart = report.growth.as_ref().map(growth::Growth::chart).unwrap_or_default();
        fs::create_dir_all(&directory)
            .map_err(|error| format!("{}: {error}", directory.display()))?;
        for (name, text) in [("comparison.md", report.markdown()), ("growth.svg", chart)] {
            let path = directory.join(name);
            fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
            println!("wrote {}", path.display());
        }
    }
    Ok(())
}

/// Compiles the filters of seacomb's examples again.
fn examples(directory: &Path, report: &mut Report) {
    eprintln!("compare: seacomb's examples");
    match installed::seacomb_examples(directory) {
        Ok(examples) => {
            for Installed { name, program, arches } in examples {
                again(name, &program, arches, report);
            }
        }
        Err(why) => report.notes.push(format!("seacomb's examples are not measured: {why}.")),
    }
}

/// Compiles a program again.
fn again(name: String, program: &Program, arches: &[Arch], report: &mut Report) {
    match measure::again(name.clone(), program, arches, &report.workloads) {
        Ok(again) => report.programs.push(again),
        Err(why) => report.notes.push(format!("`{name}` is not measured: {why}.")),
    }
}

/// Compiles the programs of a directory again.
fn programs(directory: Option<&Path>, report: &mut Report) -> Result<()> {
    let Some(directory) = directory else {
        report.notes.push("No programs were given with `--filters`.".to_owned());
        return Ok(());
    };
    for path in files(directory, "bpf")? {
        let name = stem(&path);
        eprintln!("compare: {name}");
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        match Program::from_bytes(&bytes, Endian::Little) {
            Ok(program) => again(name, &program, &[Arch::X86_64], report),
            Err(why) => report.notes.push(format!("`{name}` is not measured: {why}.")),
        }
    }
    Ok(())
}
