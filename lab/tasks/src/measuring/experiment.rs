//! `cargo lab experiment`.

use std::path::Path;

use callgate::Arch;
use callgate_core::diagram::Store;
use callgate_core::policy::Policy;
use callgate_experiments::experiment::{Experiment, Options as ExperimentOptions, Runs, Setup};
use callgate_experiments::report::ExperimentReport;
use callgate_experiments::{json, page, text};
use callgate_measure::report::{Report, Shown, noisy, sections};
use callgate_measure::{MeasurableSyscall, Plan, Samples, Subject, measure, samples, setting};
use callgate_tasks::Result;
use callgate_tasks::files::write;

use super::options::Options;
use super::output::{origin, print};
use super::sources::{Content, ENDIAN, Given, Source, socket_filter};
use crate::compare::weights;
use crate::progress::Progress;

pub(crate) const HELP: &str = "\
usage: cargo lab experiment [NAME [FILTER]...] [OPTION]...

Repeats a published measurement on the running kernel, with the units that were published. Without
NAME, lists the experiments, with the filters that each of them takes. As root, it also sets
net.core.bpf_jit_enable and bpf_jit_harden for parts of some, and restores them also when it is
killed. Ctrl-C stops and reports what was measured so far.

A FILTER is a source, or a stack of several, separated by commas, the oldest first. A source is
container-default, a profile (.json, .yaml) or a program (.bpf, .asm). Experiments measure your
filters beside their own, weighted in place of its own; condwait takes the rules of one profile in
place of the published ones. libseccomp's programs are made by the libseccomp.so.2 of this machine.

  --libseccomp PATH    another library than the libseccomp.so.2 of this machine
  --weights FILE   the frequencies of syscalls for weighted: lines with a name and a count
  --cold[=MIB]     evict caches before each syscall, where the experiment permits it
  --time SECONDS   the time of all measurements together (default: see the list)
  --quick          the shorter time of the list, at most 30 seconds
  --cpu N|any      the processor (default: the last)
  --seed N         the seed of the order in which filters are measured, and of random syscalls
  --precision P    warn if confidence intervals are wider than this percentage of the overhead
                   (default 3, or 10 with --cold or --quick)
  --html FILE      also write a page with charts
  --samples FILE   also write the time of each batch (.csv, .jsonl)
  --json           print JSON

examples:
  cargo lab experiment unixbench-syscall
  cargo lab experiment getpid docker.json,unit.bpf merged.bpf --quick
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
    let usual = experiment.duration(false);
    if let Some(time) = options.time.or(options.quick.then(|| experiment.duration(true))) {
        setup.set_time(time, usual);
    }
    callgate_measure::on_ctrl_c();
    let mut progress = Progress::new(format!("measuring {name}"), setup.time());
    let own = measured(&setup.plan, &setup.bodies, &mut progress)?;
    if own.rounds() == 0 {
        return Err("stopped before the first round was complete".to_owned());
    }
    let runs = setup.vary(own, &mut |plan, bodies| measured(plan, bodies, &mut progress));
    drop(progress);
    let report = report(*experiment, &setup, &runs, &options)?;
    if let Some(path) = &options.html {
        let mut on_page = report.clone();
        on_page.report.setting.extend(origin());
        write(path, page::page(&on_page, &[]))?;
    }
    if let Some(file) = &options.samples {
        let rows = |condition, plan, samples, bodies| {
            let one = std::iter::once((condition, plan, samples));
            samples::rows(experiment.name(), one, bodies)
        };
        let own = rows("", &setup.plan, &runs.own, &setup.bodies);
        let others = runs.others.iter();
        file.write(
            own.chain(others.flat_map(|one| rows(one.name, &one.plan, &one.samples, &one.bodies))),
        )?;
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

/// The experiments with their approximate durations, and the filters that they take.
fn list() -> String {
    let line = |one: &Experiment| {
        let [full, quick] = [false, true].map(|quick| one.duration(quick).as_secs());
        let (name, about, accepts) = (one.name(), one.about(), one.accepts());
        format!(
            "{name:<20}{about}: {full} s, --quick {quick} s\n{:<20}your filters: {accepts}\n",
            ""
        )
    };
    Experiment::ALL.iter().map(line).collect()
}

fn setup(experiment: Experiment, words: &[String], options: &Options) -> Result<Setup> {
    let name = experiment.name();
    if options.cold.is_some() && !experiment.can_be_cold() {
        let can_be_cold = Experiment::ALL.iter().filter(|one| one.can_be_cold());
        let can_be_cold: Vec<&str> = can_be_cold.map(|one| one.name()).collect();
        let can_be_cold = can_be_cold.join(", ");
        return Err(format!("{name} cannot be measured with --cold; {can_be_cold} can"));
    }
    if experiment != Experiment::Weighted && options.weights.is_some() {
        return Err(format!("{name} takes no --weights; weighted does"));
    }
    let filters = filters(experiment, words)?;
    let weights = match &options.weights {
        Some(path) => frequent(path, filters.first.as_ref())?,
        None => Vec::new(),
    };
    let is_given = filters.rules.is_some();
    let options = ExperimentOptions {
        is_given,
        may_switch_jit: true,
        policy: filters.rules.map_or_else(super::built_in_policy, Ok)?,
        libseccomp: options.libseccomp(),
        subjects: filters.subjects,
        weights,
        cpu: options.cpu,
        cold: options.cold(),
        seed: options.seed,
    };
    experiment.setup(&options).map_err(|error| format!("{name}: {error}\n  help: {}", error.help()))
}

/// The filters of the command line.
struct Filters {
    /// The rules that replace those of the experiment.
    rules: Option<Policy>,
    /// The filters that are measured as they are.
    subjects: Vec<Subject>,
    /// The first source.
    first: Option<Source>,
}

fn filters(experiment: Experiment, words: &[String]) -> Result<Filters> {
    if experiment == Experiment::SocketFilters {
        let subjects = words.iter().map(|word| socket_filter(word)).collect::<Result<_>>()?;
        return Ok(Filters { rules: None, subjects, first: None });
    }
    let given = words.iter().map(|word| Given::read(word)).collect::<Result<Vec<_>>>()?;
    let rules = match (given.as_slice(), experiment) {
        ([one], Experiment::CondWait) => one.profile().cloned(),
        _ => None,
    };
    if rules.is_some() {
        return Ok(Filters { rules, subjects: Vec::new(), first: None });
    }
    let subjects = given.iter().map(Given::subject).collect::<Result<_>>()?;
    let first = given.into_iter().next().and_then(|one| one.sources.into_iter().next());
    Ok(Filters { rules: None, subjects, first })
}

/// The most frequent syscalls of a file that can be measured, each with its share of all syscalls.
fn frequent(path: &Path, first: Option<&Source>) -> Result<Vec<(MeasurableSyscall, f64)>> {
    let native = Arch::native().ok_or("unknown architecture")?;
    let text = String::from_utf8_lossy(&callgate_tasks::files::read(path)?).into_owned();
    let weights = weights(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut store = Store::default();
    let built_in = Source::built_in()?;
    let root = match &first.unwrap_or(&built_in).content {
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

fn measured(plan: &Plan, bodies: &[Shown], progress: &mut Progress) -> Result<Samples> {
    progress.part(plan.time);
    measure(plan, &mut |share| progress.at(share)).map_err(|error| {
        let subject = error.subject().map_or(String::new(), |subject| format!("{subject}: "));
        let body = error.body().and_then(|at| bodies.get(at));
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
    let unsteady = |plan: &Plan, samples: &Samples, bodies: &[Shown]| match samples.rounds() {
        few if few < LEAST_ROUNDS => {
            Some(format!("{few} rounds are too few for confidence intervals"))
        }
        _ => {
            let sections = sections(plan, samples, bodies);
            noisy(&sections, options.precision(), |row| row >= first)
        }
    };
    // The default precision is not that of cold syscalls.
    let mut hot = runs.others.iter().filter(|one| one.plan.batches.cold.is_none());
    let noisy = unsteady(plan, own, &setup.bodies).or_else(|| {
        hot.find_map(|one| {
            Some(format!("{}: {}", one.name, unsteady(&one.plan, &one.samples, &one.bodies)?))
        })
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
            // The tables in published form have them, with the same estimator as their other figures.
            aggregates: Vec::new(),
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
        assert!(run(&["getpid", "nonsense.kafel"]).contains("nonsense.kafel"));
        assert!(run(&["getpid", "container-default,nonsense.bpf"]).contains("nonsense.bpf"));
        assert!(run(&["socket-filters", "container-default"]).contains("container-default"));
        assert!(run(&["condwait", "--cold"]).contains("cannot be measured with --cold"));
        assert!(run(&["socket-filters", "--cold"]).contains("getpid"));
        assert!(run(&["getpid", "--weights", "x"]).contains("takes no --weights"));
    }

    #[test]
    fn the_list_has_durations_and_filters() {
        let list = list();
        let lines: Vec<&str> = list.lines().collect();
        assert_eq!(lines.len(), 2 * Experiment::ALL.len());
        for two in lines.chunks(2) {
            assert!(
                two[0].contains(" s, --quick ") && two[1].contains("your filters: "),
                "{two:?}"
            );
        }
    }

    #[test]
    fn quick_experiments_end_within_half_a_minute() {
        for one in Experiment::ALL {
            assert!(one.duration(true).as_secs() < 30, "{one:?}");
        }
    }
}
