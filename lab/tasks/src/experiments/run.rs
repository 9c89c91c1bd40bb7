//! The task.

use std::time::Duration;

use callgate_experiments::experiment::Experiment;

use super::measured::{measured, options};
use super::text;
use crate::machine;
use callgate_tasks::files::write;
use callgate_tasks::{Result, workspace};

pub(crate) const HELP: &str = "\
usage: cargo lab experiments [--time SECONDS] [--update]

Repeats the experiments of `cargo lab experiment` on this machine, each with the filters that it
defines, and prints a page in Markdown: each published table, ours beside it, and why they differ.

  --time SECONDS  the time of each experiment (default: its own, about 9 minutes in all)
  --update        write docs/experiments.md

As root, also measures with other settings of the kernel's JIT compiler, where the kernel permits that.
";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (mut time, mut update) = (None, false);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--update" => update = true,
            "--time" => {
                let seconds = words.next().and_then(|text| text.parse().ok());
                let seconds = seconds.filter(|seconds| *seconds > 0);
                let seconds = seconds.ok_or("--time needs a positive number of seconds")?;
                time = Some(Duration::from_secs(seconds));
            }
            _ => return Err(format!("unknown option: {word}\n\n{HELP}")),
        }
    }
    callgate_measure::on_ctrl_c();
    let options = options()?;
    let load = machine::load("before");
    let mut all = Vec::new();
    for experiment in Experiment::ALL {
        eprintln!("{}", experiment.name());
        all.push(measured(*experiment, &options, time)?);
    }
    let page = text::page(&all, load, time);
    match update {
        true => write(&workspace().join("docs/experiments.md"), page),
        false => {
            print!("{page}");
            Ok(())
        }
    }
}
