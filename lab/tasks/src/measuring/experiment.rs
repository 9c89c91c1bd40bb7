//! `cargo lab experiment`.

use std::path::Path;

use callgate::Arch;
use callgate_core::diagram::Store;
use callgate_experiments::experiment::{Experiment, Options as ExperimentOptions, Runs, Setup};
use callgate_experiments::report::ExperimentReport;
use callgate_experiments::{json, page, text};
use callgate_measure::report::{Report, aggregates, noisy, sections};
use callgate_measure::{MeasurableSyscall, Plan, Samples, Subject, measure, samples, setting};
use callgate_tasks::Result;
use callgate_tasks::files::write;

use super::options::Options;
use super::output::{origin, print};
use super::sources::{Content, ENDIAN, Source};
use crate::compare::weights;

pub(crate) const HELP: &str = "\
usage: cargo lab experiment [NAME [SOURCE]...] [OPTION]...

Repeats a published measurement on the running kernel, with the units that were published. Without
NAME, lists the experiments. As root, it also sets net.core.bpf_jit_enable and bpf_jit_harden for
parts of some, and restores them also when it is killed. Ctrl-C stops and reports what was measured
so far. `callgate bench SOURCE` measures your own filter.

A SOURCE is container-default, a profile (.json, .yaml) or a program (.bpf, .asm). condwait takes
one profile, weighted one profile or several sources; the others have filters of their own.
libseccomp's programs are made by the libseccomp.so.2 of this machine.

  --libseccomp PATH    another library than the libseccomp.so.2 of this machine
  --weights FILE   the frequencies of syscalls for weighted: lines with a name and a count
  --cold[=MIB]     evict caches before each syscall, where the experiment permits it
  --time SECONDS   the time of all measurements together (default: see the list)
  --quick          a fifth of the time
  --cpu N|any      the processor (default: the last)
  --seed N         the seed of the order in which filters are measured
  --precision P    warn if confidence intervals are wider than this percentage of the overhead
                   (default 3, or 10 with --cold or --quick)
  --html FILE      also write a page with charts
  --samples FILE   also write the time of each batch (.csv, .jsonl)
  --json           print JSON

examples:
  cargo lab experiment unixbench-syscall
  cargo lab experiment weighted before.bpf after.bpf --time 60
";

/// With fewer rounds, a confidence interval is narrow by chance.
const LEAST_ROUNDS: usize = 3;

/// The largest number of syscalls that are selected by their frequency.
const MOST_CALLS: usize = 12;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments, &["--cold", "--weights"])?;
    let Some((name, sources)) = options.words.split_first() else { return print(&list()) };
    let experiment = Experiment::ALL.iter().find(|one| one.name() == name).ok_or_else(|| {
        format!("unknown experiment {name:?}; `cargo lab experiment` lists the experiments")
    })?;
    let mut setup = setup(*experiment, sources, &options)?;
    if let Some(time) = options.time {
        setup.set_time(time, experiment.duration(options.quick));
    }
    callgate_measure::on_ctrl_c();
    eprintln!("measuring {name}");
    let own = measured(&setup.plan, &setup)?;
    if own.rounds() == 0 {
        return Err("stopped before the first round was complete".to_owned());
    }
    let runs = setup.vary(own, &mut |plan| measured(plan, &setup));
    let report = report(*experiment, &setup, &runs, &options)?;
    if let Some(path) = &options.html {
        let mut on_page = report.clone();
        on_page.report.setting.extend(origin());
        write(path, page::page(&on_page, &[]))?;
    }
    if let Some(file) = &options.samples {
        let others = runs.others.iter().map(|one| (one.name, &one.plan, &one.samples));
        let all = [("", &setup.plan, &runs.own)].into_iter().chain(others);
        file.write(samples::rows(experiment.name(), all, &setup.bodies))?;
    }
    print(&match options.json {
        true => json::json(&report, &runs.own),
        false => text::text(&report),
    })?;
    if report.report.interrupted {
        return Err("stopped early: the figures are from fewer rounds".to_owned());
    }
    if let Some(why) = &report.report.noisy {
        eprintln!("warning: too noisy for {} %: {why}", options.precision() * 100.0);
    }
    Ok(())
}

/// The experiments with their approximate durations.
fn list() -> String {
    let line = |one: &Experiment| {
        let [full, quick] = [false, true].map(|quick| one.duration(quick).as_secs());
        format!("{:<20}{}: {full} s, --quick {quick} s\n", one.name(), one.about())
    };
    Experiment::ALL.iter().map(line).collect()
}

fn setup(experiment: Experiment, sources: &[String], options: &Options) -> Result<Setup> {
    let name = experiment.name();
    let (takes_rules, takes_weights) = match experiment {
        Experiment::CondWait => (true, false),
        Experiment::Weighted => (true, true),
        _ => (false, false),
    };
    if !takes_rules && !sources.is_empty() {
        return Err(format!("{name} uses its own filters; omit the sources"));
    }
    if options.cold.is_some() && !experiment.can_be_cold() {
        let can_be_cold = Experiment::ALL.iter().filter(|one| one.can_be_cold());
        let can_be_cold: Vec<&str> = can_be_cold.map(|one| one.name()).collect();
        let can_be_cold = can_be_cold.join(", ");
        return Err(format!("{name} cannot be measured with --cold; {can_be_cold} can"));
    }
    if !takes_weights && options.weights.is_some() {
        return Err(format!("{name} takes no --weights; weighted does"));
    }
    let read = match sources.is_empty() {
        true => vec![Source::built_in()?],
        false => sources.iter().map(|source| Source::read(source)).collect::<Result<_>>()?,
    };
    let weights = match &options.weights {
        Some(path) => frequent(path, &read)?,
        None => Vec::new(),
    };
    let (policy, subjects) = match (read.as_slice(), experiment) {
        // The sources replace libseccomp's programs.
        (_, Experiment::Weighted) if !sources.is_empty() => {
            let subjects = read.iter().map(subject).collect::<Result<_>>()?;
            (super::built_in_policy()?, subjects)
        }
        ([Source { content: Content::Profile(policy), .. }], _) => (policy.clone(), Vec::new()),
        _ => return Err(format!("{name} takes one profile, or no source for the built-in one")),
    };
    let options = ExperimentOptions {
        is_given: !sources.is_empty(),
        may_switch_jit: true,
        policy,
        libseccomp: options.libseccomp(),
        subjects,
        weights,
        quick: options.quick,
        cpu: options.cpu,
        cold: options.cold(),
        seed: options.seed,
    };
    experiment.setup(&options).map_err(|error| format!("{name}: {error}\n  help: {}", error.help()))
}

fn subject(source: &Source) -> Result<Subject> {
    let program = source.program()?;
    let subject = Subject::new(source.name.clone(), [program]);
    subject.map_err(|error| format!("{}: {error}", source.name))
}

/// The most frequent syscalls of a file that can be measured, each with its share of all syscalls.
fn frequent(path: &Path, sources: &[Source]) -> Result<Vec<(MeasurableSyscall, f64)>> {
    let native = Arch::native().ok_or("unknown architecture")?;
    let text = String::from_utf8_lossy(&callgate_tasks::files::read(path)?).into_owned();
    let weights = weights(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut store = Store::default();
    let [first, ..] = sources else { return Ok(Vec::new()) };
    let root = match &first.content {
        Content::Profile(policy) => store.policy(policy).map_err(|error| error.to_string())?,
        Content::Program(program) => {
            store.program(program, ENDIAN).map_err(|error| error.to_string())?
        }
    };
    let all = weights.resolve(&store, root, &[native]);
    let sum: f64 = all.iter().map(|call| call.weight).sum();
    let known = MeasurableSyscall::all().filter_map(|call| {
        let own = all.iter().find(|own| own.nr == call.data().nr && own.weight > 0.0)?;
        Some((call, own.weight / sum))
    });
    let mut shares: Vec<(MeasurableSyscall, f64)> = known.collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares.truncate(MOST_CALLS);
    match shares.is_empty() {
        true => Err(
            "none of the syscalls with a weight can be measured; `callgate bench --list-calls` \
                     prints those that can"
                .to_owned(),
        ),
        false => Ok(shares),
    }
}

fn measured(plan: &Plan, setup: &Setup) -> Result<Samples> {
    measure(plan, &mut |_| {}).map_err(|error| {
        let subject = error.subject().map_or(String::new(), |subject| format!("{subject}: "));
        let body = error.body().and_then(|at| setup.bodies.get(at));
        let at = body.map_or(String::new(), |body| format!(" (measuring {})", body.title));
        format!("{subject}{error}{at}\n  help: {}", error.help())
    })
}

fn report(
    experiment: Experiment,
    setup: &Setup,
    runs: &Runs,
    options: &Options,
) -> Result<ExperimentReport> {
    // The first subject that is not a baseline.
    let first = if experiment == Experiment::Weighted { 2 } else { 1 };
    let (plan, own) = (&setup.plan, &runs.own);
    let unsteady = |plan: &Plan, samples: &Samples| match samples.rounds() {
        few if few < LEAST_ROUNDS => {
            Some(format!("{few} rounds are too few for confidence intervals"))
        }
        _ => {
            let sections = sections(plan, samples, &setup.bodies);
            noisy(&sections, options.precision(), |row| row >= first)
        }
    };
    // The default precision is not that of cold syscalls.
    let mut hot = runs.others.iter().filter(|one| one.plan.batches.cold.is_none());
    let noisy = unsteady(plan, own).or_else(|| {
        hot.find_map(|one| Some(format!("{}: {}", one.name, unsteady(&one.plan, &one.samples)?)))
    });
    let mut facts = setting(&plan.batches);
    facts.extend(own.facts(&plan.batches));
    if experiment.has_libseccomp() {
        let identity = options.libseccomp().identity().map_err(|error| error.to_string())?;
        facts.push(("libseccomp", identity.to_string()));
    }
    Ok(ExperimentReport {
        name: experiment.name(),
        report: Report {
            title: setup.title.clone(),
            setting: facts,
            sections: sections(plan, own, &setup.bodies),
            aggregates: aggregates(plan, own, first),
            noisy,
            interrupted: own.interrupted,
        },
        findings: (setup.findings)(own),
        published: setup.published(runs),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn experiments_say_what_they_do_not_take() {
        let run = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            run(&words).unwrap_err()
        };
        assert!(run(&["nonsense"]).contains("unknown experiment \"nonsense\""));
        assert!(run(&["getpid", "container-default"]).contains("uses its own filters"));
        assert!(run(&["condwait", "--cold"]).contains("cannot be measured with --cold"));
        assert!(run(&["socket-filters", "--cold"]).contains("getpid"));
        assert!(run(&["getpid", "--weights", "x"]).contains("takes no --weights"));
        let two = ["condwait", "container-default", "container-default"];
        assert!(run(&two).contains("takes one profile"));
    }

    #[test]
    fn the_list_has_durations() {
        assert_eq!(list().lines().count(), Experiment::ALL.len());
        assert!(list().lines().all(|line| line.contains(" s, --quick ")));
    }
}
