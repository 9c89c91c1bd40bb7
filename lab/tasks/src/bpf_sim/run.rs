//! The task.

use super::options::Options;
use super::simulator::Simulator;
use callgate_tasks::Result;
use callgate_tasks::files::read;

/// Runs the filter and prints the verdict.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let simulator = Simulator::new(&read(&options.file)?, options.arch)?;
    let (verdict, executed) = simulator.run(options.nr, options.args);
    println!("{verdict}");
    if options.verbose {
        eprintln!("{executed} instructions");
    }
    Ok(())
}
