//! `callgate bench SOURCE…`: what filters cost on the running kernel.

use std::time::{Duration, Instant};

use callgate_measure::experiment::{self, Experiment, Varied};
use callgate_measure::published::Published;
use callgate_measure::report::{self as results, Finding, Report, Shown};
use callgate_measure::{Body, Plan, Samples, Subject, measure, page, setting};

use super::calls;
use super::options::FiltersArgs;
use super::report as shown;
use super::samples::SamplesFile;
use super::selection::{selected, weighted};
use super::sources::read;
use super::status::{self, INTERRUPTED};
use crate::options::{Format, SourceOptions};
use crate::output::{self, NewFile};
use crate::page_facts;
use crate::progress::Progress;
use crate::report::{self, Failure, Result};
use crate::source::{BUILT_IN, Filter, FilterContent, Source, Stack};

/// The default time, in seconds.
const TIME: u32 = 10;
const QUICK_TIME: u32 = 2;

/// With fewer rounds, which --time may cause, a confidence interval is narrow by chance.
const LEAST_ROUNDS: usize = 3;

/// Measures what the filters of the sources cost.
pub(super) fn compare(args: &FiltersArgs) -> Result<u8> {
    deliver(args, || measure_sources(args))
}

/// Repeats a published experiment.
pub(super) fn repeat_experiment(args: &FiltersArgs, experiment: Experiment) -> Result<u8> {
    deliver(args, || measure_experiment(args, experiment))
}

/// A measurement and what it is of.
struct Measured {
    experiment: Option<Experiment>,
    title: String,
    plan: Plan,
    samples: Samples,
    bodies: Vec<Shown>,
    findings: Vec<Finding>,
    published: Published,
    /// The samples under other conditions.
    others: Vec<Varied>,
    /// The first subject that is not a baseline.
    first: usize,
}

/// Measures, and writes the report.
fn deliver(args: &FiltersArgs, measure: impl FnOnce() -> Result<Measured>) -> Result<u8> {
    // The measurement may take long, so first check that the files can be written.
    let page = args.html.as_deref().map(NewFile::prepare).transpose()?;
    let samples_file = args.samples.as_ref().map(SamplesFile::prepare).transpose()?;
    let origin = page.is_some().then(page_facts::origin).transpose()?;
    let measured = measure()?;
    let report = measured.report(args);
    let written = page.map_or(Ok(()), |file| {
        let setting = report.setting.iter().cloned().chain(origin.into_iter().flatten()).collect();
        let on_page = Report { setting, ..report.clone() };
        file.finish(page::page(&on_page, &page_facts::warnings()).as_bytes())
    });
    let Measured { experiment, plan, samples, bodies, others, .. } = &measured;
    let experiment = experiment.map(Experiment::name);
    let sampled = samples_file.map_or(Ok(()), |file| {
        let others = others.iter().map(|one| (one.name, &one.plan, &one.samples));
        let all = [("", plan, samples)].into_iter().chain(others);
        file.of_batches(experiment.unwrap_or("bench"), all, bodies)
    });
    output::print(&match args.format {
        Format::Text => shown::text(&report),
        Format::Json => shown::json(&report, experiment, samples),
    })?;
    written?;
    sampled?;
    Ok(status::finish(report.interrupted, report.noisy.as_deref(), args.precision(), args.noise))
}

fn measure_sources(args: &FiltersArgs) -> Result<Measured> {
    let stacks = read(args, &args.reading)?;
    let own = subjects(args, &stacks)?;
    let calls = selected(args, &stacks, &own)?;
    let mut subjects = vec![Subject::none(), Subject::constant_allow()];
    subjects.extend(own);
    let shown: Vec<Shown> = calls
        .syscalls
        .iter()
        .map(|call| Shown {
            title: calls::title(call),
            treatments: subjects.iter().map(|one| one.treatment(&call.data())).collect(),
            is_claimed: true,
        })
        .collect();
    let bodies: Vec<Body> = calls.syscalls.iter().copied().map(Body::from).collect();
    let mean = calls.mean(&subjects, &bodies)?;
    let plan = Plan {
        subjects,
        bodies,
        mean,
        batches: args.batches(),
        min_rounds: match args.time {
            Some(_) => 1,
            // A cold syscall takes up to a hundred times as long.
            None if args.cold().is_some() || args.quick => 5,
            None => 15,
        },
        max_rounds: 10_000,
        time: Duration::from_secs(
            args.time.unwrap_or(if args.quick { QUICK_TIME } else { TIME }).into(),
        ),
        precision: args.precision() / 100.0,
        seed: args.seed,
    };
    let samples = take(&plan, &shown)?;
    let title = if args.cold().is_some() { "cost of filters, cold" } else { "cost of filters" };
    Ok(Measured {
        experiment: None,
        title: title.to_owned(),
        plan,
        samples,
        bodies: shown,
        findings: Vec::new(),
        published: Published::default(),
        others: Vec::new(),
        first: 2,
    })
}

fn measure_experiment(args: &FiltersArgs, experiment: Experiment) -> Result<Measured> {
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
        true => weighted(args, &stacks)?,
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
    let mut setup = experiment.setup(&options).map_err(|error| {
        Failure::new(format!("the experiment {}: {error}", experiment.name())).help(error.help())
    })?;
    if let Some(seconds) = args.time {
        setup.set_time(Duration::from_secs(seconds.into()), experiment.duration(args.quick));
    }
    let samples = take(&setup.plan, &setup.bodies)?;
    let runs = setup.vary(samples, &mut |plan| {
        take(plan, &setup.bodies).map_err(|failure| failure.message().to_owned())
    });
    Ok(Measured {
        experiment: Some(experiment),
        findings: (setup.findings)(&runs.own),
        published: setup.published(&runs),
        others: runs.others,
        title: setup.title,
        plan: setup.plan,
        samples: runs.own,
        bodies: setup.bodies,
        first: if experiment == Experiment::Weighted { 2 } else { 1 },
    })
}

/// The rules of the built-in profile.
fn built_in_policy(reading: &SourceOptions) -> Result<callgate_core::policy::Policy> {
    let stack = Source::parse(BUILT_IN.as_ref())?.read(reading)?;
    match stack.filters.into_iter().next().map(|filter| filter.content) {
        Some(FilterContent::Profile(profile)) => Ok(profile.policy),
        _ => Err(Failure::new("the built-in profile is not a profile")),
    }
}

fn subjects(args: &FiltersArgs, stacks: &[Stack]) -> Result<Vec<Subject>> {
    let subject = |stack: &Stack| {
        let program = |filter: &Filter| Ok(filter.program_as_it_is(&args.compiling)?.into());
        let programs = stack.filters.iter().map(program).collect::<Result<Vec<_>>>()?;
        Subject::new(stack.name.clone(), programs)
            .map_err(|error| Failure::about(&stack.name, error.to_string()))
    };
    if !stacks.iter().flat_map(|stack| &stack.filters).any(Filter::is_profile) {
        args.compiling.warn_without_profiles();
    }
    stacks.iter().map(subject).collect()
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

impl Measured {
    /// Why the precision was not reached.
    fn noisy(&self, args: &FiltersArgs, plan: &Plan, samples: &Samples) -> Option<String> {
        match samples.rounds() {
            few if few < LEAST_ROUNDS => {
                Some(format!("{few} rounds are too few for confidence intervals"))
            }
            _ => {
                let sections = results::sections(plan, samples, &self.bodies);
                results::noisy(&sections, args.precision() / 100.0, |row| row >= self.first)
            }
        }
    }

    fn report(&self, args: &FiltersArgs) -> Report {
        let Measured { plan, samples, bodies, first, .. } = self;
        let sections = results::sections(plan, samples, bodies);
        let (rounds, batches) = (samples.rounds(), &plan.batches);
        // The default precision is not that of cold syscalls.
        let hot = self.others.iter().filter(|one| one.plan.batches.cold.is_none());
        let noisy = self.noisy(args, plan, samples).or_else(|| {
            hot.filter_map(|one| {
                let noisy = self.noisy(args, &one.plan, &one.samples)?;
                Some(format!("{}: {noisy}", one.name))
            })
            .next()
        });
        let mut setting = setting(batches);
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
            title: self.title.clone(),
            setting,
            sections,
            aggregates: results::aggregates(plan, samples, *first),
            findings: self.findings.clone(),
            published: self.published.clone(),
            noisy,
            interrupted: samples.interrupted,
        }
    }
}
