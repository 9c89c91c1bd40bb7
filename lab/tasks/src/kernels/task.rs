//! Prepares each guest, measures in it, and writes the report.

use std::path::Path;

use callgate::Arch;
use callgate_codegen::Count;
use callgate_trace::counts;

use super::costs;
use super::options::Options;
use super::prepare::prepare;
use super::report::Report;
use super::{run, specification};
use crate::machine;
use callgate_tasks::files::{files, make, read, stem, write};
use callgate_tasks::{Result, workspace};

/// The default weights.
const SERVER: &str = include_str!("../compare/weights/server.txt");

/// Runs the task.
pub(crate) fn run_task(arguments: &[String]) -> Result<()> {
    if let Some((word, rest)) = arguments.split_first()
        && let Some(run) = subcommand(word)
    {
        return run(rest);
    }
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
    if let Some(output) = options.document(|| workspace().join("lab/results")) {
        make(&output)?;
        let path = output.join("kernels.md");
        write(&path, report.markdown())?;
        println!("wrote {}", path.display());
    }
    report.verdict()
}

/// What a subcommand runs.
fn subcommand(word: &str) -> Option<fn(&[String]) -> Result<()>> {
    match word {
        "costs" => Some(costs::run_task),
        "specification" => Some(specification::run_task),
        _ => None,
    }
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
