//! Measures each case with both.

use std::io::IsTerminal;
use std::time::Duration;

use callgate_experiments::experiment::Options as ExperimentOptions;
use callgate_measure::{Plan, Samples, allowed_cpus, interrupt, measure};
use callgate_tasks::Result;

use super::c_loop::CLoop;
use super::cases::{CASES, Case};
use super::load::Load;
use super::options::Options;
use super::report::{CaseReport, Report};
use super::score::Run;
use super::truths::CSamples;
use crate::libseccomp_program::of_machine;
use crate::machine;
use crate::measuring::built_in_policy;

/// How many times as long as a run the C loop takes, beside all runs of a condition.
const C_RUNS: u32 = 8;

/// With fewer rounds of the C loop, its interval is too wide.
const LEAST_ROUNDS: usize = 8;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let names = &options.experiments;
    let is_chosen =
        |case: &&Case| names.is_empty() || names.iter().any(|name| name == case.experiment.name());
    let cases: Vec<&Case> = CASES.iter().filter(is_chosen).collect();
    let mut measuring = Measuring {
        c_loop: CLoop::build()?,
        cpu: allowed_cpus().pop(),
        progress: Progress::new(&options, cases.len()),
        options: &options,
    };
    callgate_measure::on_ctrl_c();
    let mut report = Report { load: options.load, machine: machine::lines(), cases: Vec::new() };
    report.machine.extend(machine::load("before"));
    for case in cases {
        if interrupt::is_requested() {
            break;
        }
        report.cases.push(measuring.case(case)?);
    }
    report.print(options.json)?;
    if interrupt::is_requested() {
        return Err("stopped early: the figures are from fewer runs".to_owned());
    }
    match report.failures().as_slice() {
        [] => Ok(()),
        some => Err(format!("not true: {}", some.join("; "))),
    }
}

/// What all cases share.
struct Measuring<'o> {
    c_loop: CLoop,
    cpu: Option<usize>,
    progress: Progress,
    options: &'o Options,
}

impl Measuring<'_> {
    fn case(&mut self, case: &'static Case) -> Result<CaseReport> {
        let plan = plan(case, self.cpu, self.options.time)?;
        let filters: Vec<Vec<String>> = plan
            .subjects
            .iter()
            .map(|subject| self.c_loop.filters(subject))
            .collect::<Result<_>>()?;
        let names = plan.subjects.iter().map(|subject| subject.name.clone()).collect();
        let mut report = CaseReport::new(case, names);
        let quiet = self.options.quiet;
        report.quiet = self.runs(case, &plan, &filters, (quiet, ""), &mut report.truth)?;
        if self.options.load > 0 && !interrupt::is_requested() {
            let _load = Load::start(self.options.load)?;
            let how = (self.options.runs, " beside busy loops");
            report.loaded = self.runs(case, &plan, &filters, how, &mut report.c_loaded)?;
        }
        Ok(report)
    }

    /// This number of runs of each subject. The C loop has a turn after each run, because a machine is faster at some times than at others.
    fn runs(
        &mut self,
        case: &Case,
        plan: &Plan,
        filters: &[Vec<String>],
        (count, how): (usize, &str),
        c_samples: &mut CSamples,
    ) -> Result<Vec<Vec<Run>>> {
        let time = self.options.time;
        let turn = (time * C_RUNS).div_f64(count as f64);
        let mut runs = vec![Vec::new(); plan.subjects.len()];
        for number in 1..=count {
            self.progress.at(case, &format!("run {number} of {count}{how}"));
            let plan = Plan { seed: number as u64, ..plan.clone() };
            let samples = measure(&plan, &mut |_| {}).map_err(|error| error.to_string())?;
            // The last run is shorter than the others.
            if samples.interrupted {
                break;
            }
            for (subject, runs) in runs.iter_mut().enumerate() {
                runs.extend(estimate(&samples, subject, case.base));
            }
            let least = if number == count { LEAST_ROUNDS } else { c_samples.rounds() + 1 };
            c_samples.add(&self.c_loop, &case.c, self.cpu, filters, turn, least)?;
            if interrupt::is_requested() {
                break;
            }
            self.progress.did(1);
        }
        Ok(runs)
    }
}

fn estimate(samples: &Samples, subject: usize, base: usize) -> Option<Run> {
    let overhead = samples.difference(subject, base, 0)?;
    Some(Run { overhead, is_resolved: overhead.is_resolved(samples.noise(0)?) })
}

/// What `cargo lab experiment NAME --time` measures, for one body and without other settings of the JIT compiler.
fn plan(case: &Case, cpu: Option<usize>, time: Duration) -> Result<Plan> {
    let name = case.experiment.name();
    let options =
        ExperimentOptions { cpu, ..ExperimentOptions::own(built_in_policy()?, of_machine()) };
    let setup = case.experiment.setup(&options);
    let mut setup = setup.map_err(|error| format!("{name}: {error}\n  help: {}", error.help()))?;
    setup.set_time(time, case.experiment.duration(false));
    let body = setup.plan.bodies.get(case.body).cloned().ok_or("missing body")?;
    Ok(Plan { bodies: vec![body], ..setup.plan })
}

/// Shows the share of the work that is done.
struct Progress {
    /// In runs.
    done: usize,
    all: usize,
    is_terminal: bool,
}

impl Progress {
    fn new(options: &Options, cases: usize) -> Progress {
        let loaded = if options.load > 0 { options.runs } else { 0 };
        let all = (options.quiet + loaded) * cases;
        Progress { done: 0, all, is_terminal: std::io::stderr().is_terminal() }
    }

    fn did(&mut self, runs: usize) {
        self.done += runs;
    }

    fn at(&self, case: &Case, what: &str) {
        let percent = 100 * self.done / self.all.max(1);
        let line = format!("{percent:>3} %  {}, {}: {what}", case.experiment.name(), case.what);
        match self.is_terminal {
            true => eprint!("\r\x1b[K{line}"),
            false => eprintln!("{line}"),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_terminal {
            eprintln!();
        }
    }
}
