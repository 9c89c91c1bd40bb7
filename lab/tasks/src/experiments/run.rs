//! The task.

use std::time::Duration;

use callgate_experiments::experiment::Experiment;

use super::measured::{measured, options};
use super::{published, text};
use crate::machine;
use callgate_tasks::files::write;
use callgate_tasks::{Result, workspace};

pub(crate) const HELP: &str = "\
usage: cargo lab experiments [--time SECONDS] [--update] [--without-figures]

Repeats the experiments of `cargo lab experiment` on this machine, each with the filters that it
defines, and prints a page in Markdown: each published table, ours beside it, and why they differ.
Ctrl-C stops and prints the page of what was measured so far; it is not written then.

  --time SECONDS     the time of each experiment (default: its own, about 10 minutes in all)
  --update           write lab/results/experiments.md and lab/results/published.md
  --without-figures  measure nothing: write lab/results/published.md with links in the place of our figures

As root, also measures with other settings of the kernel's JIT compiler, where the kernel permits that.
";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (mut time, mut update, mut without_figures) = (None, false, false);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--update" => update = true,
            "--without-figures" => without_figures = true,
            "--time" => {
                let seconds = words.next().and_then(|text| text.parse().ok());
                let seconds = seconds.filter(|seconds| *seconds > 0);
                let seconds = seconds.ok_or("--time needs a positive number of seconds")?;
                time = Some(Duration::from_secs(seconds));
            }
            _ => return Err(format!("unknown option: {word}\n\n{HELP}")),
        }
    }
    let table = workspace().join("lab/results/published.md");
    if without_figures {
        if update || time.is_some() {
            return Err("--without-figures measures nothing; omit the other options".to_owned());
        }
        return write(&table, published::page(&[]));
    }
    callgate_measure::on_ctrl_c();
    let options = options()?;
    let load = machine::load("before");
    let mut all = Vec::new();
    let mut is_whole = true;
    for experiment in Experiment::ALL {
        eprintln!("{}", experiment.name());
        let one = measured(*experiment, &options, time)?;
        is_whole = one.as_ref().is_some_and(|one| one.is_whole);
        all.extend(one);
        if !is_whole {
            break;
        }
    }
    let page = text::page(&all, load, time);
    if update && is_whole {
        write(&table, published::page(&all))?;
        return write(&workspace().join("lab/results/experiments.md"), page);
    }
    print!("{page}");
    match is_whole {
        true => Ok(()),
        false => {
            Err("stopped early: the last figures are from fewer rounds, and others are missing"
                .to_owned())
        }
    }
}
