//! `callgate bench SOURCE…`: what filters cost on the running kernel.

use std::time::{Duration, Instant};

use callgate::diagram::Store;
use callgate::syscalls::nearest_name;
use callgate_measure::experiment::{self, Experiment};
use callgate_measure::published::Published;
use callgate_measure::report::{self as results, Finding, Report, Shown};
use callgate_measure::{
    Body, Mean, MeasurableSyscall, Plan, Samples, Subject, choose_syscalls, measure, page, setting,
};

use super::options::FiltersArgs;
use super::report as shown;
use super::sources::read;
use super::status::{self, INTERRUPTED};
use crate::options::{Format, SourceOptions, native_arch};
use crate::output::{self, NewFile};
use crate::page_facts;
use crate::progress::Progress;
use crate::report::{self, Failure, Result};
use crate::source::{BUILT_IN, Filter, FilterContent, Source, Stack};

/// The default time, in seconds.
const TIME: u32 = 10;
const QUICK_TIME: u32 = 2;

/// The maximum number of syscalls that --weights selects.
const MOST_CALLS: usize = 12;

/// Measures what the filters of the sources cost.
pub(super) fn compare(args: &FiltersArgs) -> Result<u8> {
    deliver(args, || measure_sources(args))
}

/// Repeats a published experiment.
pub(super) fn repeat_experiment(args: &FiltersArgs, experiment: Experiment) -> Result<u8> {
    deliver(args, || measure_experiment(args, experiment))
}

/// Measures, and writes the report.
fn deliver(args: &FiltersArgs, measure: impl FnOnce() -> Result<Report>) -> Result<u8> {
    // The measurement may take long, so first check that the page can be written.
    let page = args.html.as_deref().map(NewFile::prepare).transpose()?;
    let origin = page.is_some().then(page_facts::origin).transpose()?;
    let report = measure()?;
    let written = page.map_or(Ok(()), |file| {
        let setting = report.setting.iter().cloned().chain(origin.into_iter().flatten()).collect();
        let on_page = Report { setting, ..report.clone() };
        file.finish(page::page(&on_page, &page_facts::warnings()).as_bytes())
    });
    output::print(&match args.format {
        Format::Text => shown::text(&report),
        Format::Json => shown::json(&report),
    })?;
    written?;
    Ok(status::finish(report.interrupted, report.noisy.as_deref(), args.precision()))
}

fn measure_sources(args: &FiltersArgs) -> Result<Report> {
    let stacks = read(args, &args.reading)?;
    let own = subjects(args, &stacks)?;
    let weights = match args.compiling.has_weights() {
        true => Some(weights(args, &stacks)?),
        false => None,
    };
    let calls: Vec<MeasurableSyscall> = match (&weights, args.calls.as_slice()) {
        (None, []) => choose_syscalls(&own),
        (_, names @ [_, ..]) => named(names)?,
        (Some(weights), []) => weights.calls.iter().map(|(call, _)| *call).collect(),
    };
    let mut subjects = vec![Subject::none(), Subject::constant_allow()];
    subjects.extend(own);
    let bodies: Vec<Shown> = calls
        .iter()
        .map(|call| Shown {
            title: call.show(),
            treatments: subjects.iter().map(|one| one.treatment(&call.data())).collect(),
            is_claimed: true,
        })
        .collect();
    let mean = weights.as_ref().map(|weights| {
        let of = |call: &MeasurableSyscall| weights.calls.iter().find(|(other, _)| other == call);
        let own: Vec<f64> =
            calls.iter().map(|call| of(call).map_or(0.0, |(_, own)| *own)).collect();
        let share = own.iter().sum::<f64>() * 100.0;
        Mean { title: format!("weighted mean ({share:.1} % of all syscalls)"), weights: own }
    });
    if mean.as_ref().is_some_and(|mean| mean.weights.iter().sum::<f64>() <= 0.0) {
        return Err(Failure::new("none of these syscalls has a weight")
            .help("omit --calls, or give syscalls that have a weight"));
    }
    let plan = Plan {
        subjects,
        bodies: calls.iter().copied().map(Body::from).collect(),
        mean,
        batches: args.batches(),
        // A cold syscall takes up to a hundred times as long.
        min_rounds: if args.cold().is_some() || args.quick { 5 } else { 15 },
        max_rounds: 10_000,
        time: Duration::from_secs(
            args.time.unwrap_or(if args.quick { QUICK_TIME } else { TIME }).into(),
        ),
        precision: args.precision() / 100.0,
        seed: args.seed,
    };
    let samples = take(&plan, &bodies)?;
    let title = if args.cold().is_some() { "cost of filters, cold" } else { "cost of filters" };
    Ok(made(args, title, &plan, &samples, &bodies, Vec::new(), 2))
}

fn measure_experiment(args: &FiltersArgs, experiment: Experiment) -> Result<Report> {
    let (takes_rules, takes_weights) = match experiment {
        Experiment::CondWait => (true, false),
        Experiment::Weighted => (true, true),
        _ => (false, false),
    };
    if !takes_rules && !args.sources.is_empty() {
        return Err(Failure::new(format!(
            "the experiment {} uses its own filters",
            experiment.name()
        ))
        .help("omit the sources, or omit --experiment to measure them"));
    }
    if args.cold().is_some() && !experiment.can_be_cold() {
        let can_be_cold = Experiment::ALL.iter().filter(|one| one.can_be_cold());
        let can_be_cold: Vec<&str> = can_be_cold.map(|one| one.name()).collect();
        return Err(Failure::new(format!(
            "the experiment {} cannot be measured with --cold",
            experiment.name()
        ))
        .help(format!("omit --cold; it works with {}", can_be_cold.join(", "))));
    }
    if !takes_weights && args.compiling.has_weights() {
        report::warn(
            "--weights has no effect on this experiment",
            "use it with --experiment weighted",
        );
    }
    let reading = match takes_weights && !args.sources.is_empty() {
        // The sources replace libseccomp's programs.
        true => args.reading.native()?,
        false => args.reading.for_libseccomp()?,
    };
    let stacks = read(args, &reading)?;
    let policy = match stacks.first().and_then(|stack| stack.filters.first()) {
        Some(filter) => match &filter.content {
            FilterContent::Profile(profile) => Some(profile.policy.clone()),
            FilterContent::Program { .. } => None,
        },
        None => None,
    };
    let (policy, subjects) = match (experiment, policy) {
        (Experiment::Weighted, _) if !args.sources.is_empty() => (None, subjects(args, &stacks)?),
        (_, Some(policy)) if stacks.len() == 1 => (Some(policy), Vec::new()),
        _ => {
            return Err(Failure::new(format!(
                "the experiment {} takes one profile",
                experiment.name()
            ))
            .help("give one profile, or no source for the built-in one"));
        }
    };
    let weights = match takes_weights && args.compiling.has_weights() {
        true => weights(args, &stacks)?.calls,
        false => Vec::new(),
    };
    let options = experiment::Options {
        is_given: !args.sources.is_empty(),
        may_switch_jit: true,
        policy: policy.map_or_else(|| built_in_policy(&args.reading.for_libseccomp()?), Ok)?,
        subjects,
        weights,
        quick: args.quick,
        cpu: args.cpu(),
        cold: args.cold(),
        seed: args.seed,
    };
    let setup = experiment.setup(&options).map_err(|error| {
        Failure::new(format!("the experiment {}: {error}", experiment.name()))
            .help("try another profile or another --arch")
    })?;
    let samples = take(&setup.plan, &setup.bodies)?;
    let runs = setup.vary(samples, &mut |plan| {
        take(plan, &setup.bodies).map_err(|failure| failure.message().to_owned())
    });
    let findings = (setup.findings)(&runs.own);
    let report = made(args, &setup.title, &setup.plan, &runs.own, &setup.bodies, findings, 1);
    Ok(Report { published: setup.published(&runs), ..report })
}

/// The rules of the built-in profile.
fn built_in_policy(reading: &SourceOptions) -> Result<callgate::policy::Policy> {
    let stack = Source::parse(BUILT_IN.as_ref())?.read(reading)?;
    match stack.filters.into_iter().next().map(|filter| filter.content) {
        Some(FilterContent::Profile(profile)) => Ok(profile.policy),
        _ => Err(Failure::new("the built-in profile is not a profile")),
    }
}

fn subjects(args: &FiltersArgs, stacks: &[Stack]) -> Result<Vec<Subject>> {
    let subject = |stack: &Stack| {
        let programs = stack.filters.iter().map(|filter| filter.program_as_it_is(&args.compiling));
        let programs = programs.collect::<Result<Vec<_>>>()?;
        Subject::new(stack.name.clone(), programs)
            .map_err(|error| Failure::about(&stack.name, error.to_string()))
    };
    if !stacks.iter().flat_map(|stack| &stack.filters).any(Filter::is_profile) {
        args.compiling.warn_without_profiles();
    }
    stacks.iter().map(subject).collect()
}

/// Measurable syscalls, each with its share of all syscalls.
struct WeightedSyscalls {
    calls: Vec<(MeasurableSyscall, f64)>,
}

fn weights(args: &FiltersArgs, stacks: &[Stack]) -> Result<WeightedSyscalls> {
    let native = native_arch()?;
    let Some(first) = stacks.first() else { return Ok(WeightedSyscalls { calls: Vec::new() }) };
    let options = args.compiling.read(&[native], args.reading.strict)?;
    let mut store = Store::default();
    let root = first.diagram(&mut store)?;
    let all = options.weights.resolve(&store, root, &[native]);
    let sum: f64 = all.iter().map(|call| call.weight).sum();
    let known = MeasurableSyscall::all().filter_map(|call| {
        let own = all.iter().find(|own| own.nr == call.data().nr && own.weight > 0.0)?;
        Some((call, own.weight / sum))
    });
    let mut calls: Vec<(MeasurableSyscall, f64)> = known.collect();
    calls.sort_by(|a, b| b.1.total_cmp(&a.1));
    calls.truncate(MOST_CALLS);
    if calls.is_empty() {
        return Err(Failure::new("none of the syscalls with a weight can be measured")
            .help("--list-calls prints the syscalls that can be measured"));
    }
    Ok(WeightedSyscalls { calls })
}

fn named(names: &[String]) -> Result<Vec<MeasurableSyscall>> {
    let mut calls: Vec<MeasurableSyscall> = Vec::new();
    for name in names {
        let Some(call) = MeasurableSyscall::find(name) else {
            let known = native_arch()?.number(name).is_some();
            let name = if name.is_empty() { "the empty name" } else { name };
            let what =
                if known { "cannot be measured" } else { "is not a syscall of this machine" };
            let near = nearest_name(name).filter(|_| !known);
            let near = near.map_or_else(String::new, |near| format!("; did you mean \"{near}\"?"));
            return Err(Failure::new(format!("{name} {what}"))
                .help(format!("--list-calls prints the syscalls that can be measured{near}")));
        };
        if !calls.contains(&call) {
            calls.push(call);
        }
    }
    Ok(calls)
}

/// Measures and shows the progress.
pub(crate) fn take(plan: &Plan, bodies: &[Shown]) -> Result<Samples> {
    callgate_measure::on_ctrl_c();
    let mut progress = Progress::new(Instant::now());
    let samples = measure(plan, &mut |share| progress.tell(|| bar(share)));
    progress.clear();
    let samples = samples.map_err(|error| {
        let body = error.body().and_then(|at| bodies.get(at));
        let at = body.map_or(String::new(), |body| format!(" (measuring {})", body.title));
        let message = format!("{error}{at}");
        let failure = match error.subject() {
            Some(subject) => Failure::about(subject, message),
            None => Failure::new(message),
        };
        failure.help(error.help())
    })?;
    if samples.rounds() == 0 {
        return Err(Failure::new("stopped before the first round was complete")
            .help("a round measures each filter once; with fewer --calls it is shorter")
            .status(INTERRUPTED));
    }
    Ok(samples)
}

fn bar(share: f64) -> String {
    const WIDTH: usize = 40;
    let full = (share * WIDTH as f64).round() as usize;
    format!("measuring [{:<WIDTH$}] {:3.0} %", "#".repeat(full.min(WIDTH)), share * 100.0)
}

fn made(
    args: &FiltersArgs,
    title: &str,
    plan: &Plan,
    samples: &Samples,
    bodies: &[Shown],
    findings: Vec<Finding>,
    first_claimed: usize,
) -> Report {
    let sections = results::sections(plan, samples, bodies);
    let noisy = results::noisy(&sections, samples.outliers(), args.precision() / 100.0, |row| {
        row >= first_claimed
    });
    let mut setting = setting(&plan.batches);
    let (rounds, batches) = (samples.rounds(), &plan.batches);
    setting.push((
        "measured",
        format!(
            "{rounds} rounds of {} batches of {} syscalls in {:.1} s",
            batches.count,
            batches.iterations,
            samples.elapsed.as_secs_f64()
        ),
    ));
    setting.push(("outliers", format!("{:.1} % of the batches", samples.outliers() * 100.0)));
    Report {
        title: title.to_owned(),
        setting,
        sections,
        findings,
        published: Published::default(),
        noisy,
        interrupted: samples.interrupted,
    }
}
