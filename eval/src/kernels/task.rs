//! Prepares each guest, measures in it, and writes the report.

use std::path::Path;
use std::process::Command;

use callgate::Arch;
use callgate::codegen::Count;
use callgate::counts;

use super::fetch;
use super::guests::Guest;
use super::options::Options;
use super::report::Report;
use super::run::{self, Ready};
use crate::files::{files, make, read, stem, write};
use crate::machine;
use crate::task::{Result, workspace};

/// The default weights.
const SERVER: &str = include_str!("../compare/weights/server.txt");

/// Runs the task.
pub(crate) fn run_task(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let progress = |text: &str| eprintln!("kernels: {text}");
    let directory = workspace().join("target/kernels");
    make(&directory)?;
    let (workload, counts) = weights(options.weights.as_deref(), &progress)?;
    if let Some(filters) = &options.filters
        && files(filters, "bpf")?.is_empty()
    {
        return Err(format!("{}: the directory has no *.bpf files", filters.display()));
    }
    let mut report = Report::new(options.command(), machine::today(), workload);
    let mut programs = Vec::new();
    for guest in options.guests() {
        let name = guest.name();
        match prepare(guest, &directory, options.fetch, &mut programs, &progress) {
            Err(why) => report.not_measured(&name, &why),
            Ok(ready) => {
                report.versions.push(format!("{name}: {}", ready.kernel.version));
                let measured =
                    run::measure(guest, &ready, &counts, &options, &mut report.notes, &progress);
                match measured {
                    Ok(results) => report.add(guest, results),
                    Err(why) => report.not_measured(&name, &why),
                }
            }
        }
    }
    report.versions.extend(programs);
    print!("{}", report.plain());
    if report.is_empty() {
        return Err("nothing was measured".to_owned());
    }
    if let Some(output) = options.document(|| workspace().join("docs")) {
        make(&output)?;
        let path = output.join("kernels.md");
        write(&path, report.markdown())?;
        println!("wrote {}", path.display());
    }
    report.verdict()
}

/// Compiles the program of a guest and fetches its kernel; adds the versions of the tools to `tools`.
fn prepare(
    guest: &Guest,
    directory: &Path,
    anew: bool,
    tools: &mut Vec<String>,
    progress: &dyn Fn(&str),
) -> Result<Ready> {
    let machine = guest.machine;
    let missing = |tool: &str, packages: &str| {
        format!("missing {tool}; install it with: apt-get install {packages}")
    };
    for (tool, packages) in [
        (machine.emulator, machine.emulator_package),
        (machine.compiler, machine.compiler_packages),
    ] {
        let version = machine::said(tool, &["--version"]).ok_or_else(|| missing(tool, packages))?;
        let version = version.lines().next().unwrap_or_default().to_owned();
        if !tools.contains(&version) {
            tools.push(version);
        }
    }
    let path = directory.join(format!("guest-{}", machine.name));
    let mut compiler = Command::new(machine.compiler);
    compiler.args(["-O2", "-Wall", "-Wextra", "-Werror", "-static", "-o"]).arg(&path);
    compiler.arg(workspace().join("eval/src/kernels/guest.c"));
    crate::files::run(&mut compiler).map_err(|error| {
        format!("{error}\n{}", missing("a static C library", machine.compiler_packages))
    })?;
    progress(&format!("{}: kernel", guest.name()));
    let kernel = fetch::kernel(guest, directory, anew)?;
    Ok(Ready { kernel, program: read(&path)?, directory: directory.to_owned() })
}

/// The name and the weights of a file, or of the default workload.
fn weights(path: Option<&Path>, progress: &dyn Fn(&str)) -> Result<(String, Vec<Count>)> {
    let (name, text) = match path {
        Some(path) => {
            let text = read(path)?;
            (stem(path), String::from_utf8_lossy(&text).into_owned())
        }
        None => ("server".to_owned(), SERVER.to_owned()),
    };
    let counted = counts::read(&text, Arch::X86_64, false).map_err(|errors| {
        let first: Vec<String> = errors.iter().take(3).map(ToString::to_string).collect();
        format!("{name}: {} errors, the first:\n{}", errors.len(), first.join("\n"))
    })?;
    counted.warnings.iter().for_each(|warning| progress(&format!("{name}: {warning}")));
    Ok((name, counted.counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_weights_are_read() {
        let (name, counts) = weights(None, &|_| ()).unwrap();
        assert_eq!(name, "server");
        assert!(counts.len() > 20);
    }
}
