//! Runs the task.

use super::options::Options;
use super::record::{installed, recordings};
use super::report::Report;
use super::split::splits;
use super::suite_list::SUITES;
use crate::recording::build;
use callgate_tasks::files::make;
use callgate_tasks::{Result, workspace};

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    if let Some(unknown) =
        options.programs.iter().find(|name| SUITES.iter().all(|suite| suite.program != **name))
    {
        let known: Vec<&str> = SUITES.iter().map(|suite| suite.program).collect();
        return Err(format!("unknown program {unknown}; known: {}", known.join(", ")));
    }
    let callgate = build()?;
    let work = workspace().join("target/suites");
    make(&work)?;
    let mut report = Report::new();
    for suite in SUITES {
        if !options.programs.is_empty()
            && !options.programs.iter().any(|name| name == suite.program)
        {
            continue;
        }
        if !installed(suite) {
            eprintln!("suites: {} is not installed", suite.program);
            continue;
        }
        let recordings = recordings(suite, &callgate, &work, &options.recordings)?;
        report.add(suite.program, recordings.len(), &splits(&recordings)?);
    }
    report.publish(options.update)
}
