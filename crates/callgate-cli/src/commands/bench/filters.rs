//! `callgate bench SOURCE…`: what filters cost on the running kernel.

use std::time::{Duration, Instant};

use callgate_measure::report::{self as results, Report, Shown};
use callgate_measure::{Body, Mean, Plan, Samples, Subject, measure, page, setting};

use super::calls;
use super::options::FiltersArgs;
use super::report as shown;
use super::samples::SamplesFile;
use super::selection::selected;
use super::sources::read;
use super::status::{self, INTERRUPTED};
use crate::options::Format;
use crate::output::{self, NewFile};
use crate::page_facts;
use crate::progress::Progress;
use crate::report::{Failure, Result};
use crate::source::{Compile, SourceFilter, SourceStack};

/// The default time, in seconds.
const TIME: u32 = 10;
const QUICK_TIME: u32 = 2;

/// The subjects before those of the sources: no filter, and the smallest one.
const BASELINES: usize = 2;

/// With fewer rounds, which --time may cause, a confidence interval is narrow by chance.
const LEAST_ROUNDS: usize = 3;

/// A measurement and what it is of.
struct Measured {
    title: &'static str,
    plan: Plan,
    samples: Samples,
    bodies: Vec<Shown>,
}

/// Measures what the filters of the sources cost, and writes the report.
pub(super) fn compare(args: &FiltersArgs) -> Result<u8> {
    // The measurement may take long, so first check that the files can be written.
    let page = args.html.as_deref().map(NewFile::prepare).transpose()?;
    let samples_file = args.samples.as_ref().map(SamplesFile::prepare).transpose()?;
    let origin = page.is_some().then(page_facts::origin).transpose()?;
    let measured = measure_sources(args)?;
    let report = measured.report(args);
    let written = page.map_or(Ok(()), |file| {
        let setting = report.setting.iter().cloned().chain(origin.into_iter().flatten()).collect();
        let on_page = Report { setting, ..report.clone() };
        file.finish(page::page(&on_page, &page_facts::warnings()).as_bytes())
    });
    let Measured { plan, samples, bodies, .. } = &measured;
    let sampled = samples_file.map_or(Ok(()), |file| file.of_batches(plan, samples, bodies));
    output::print(&match args.format {
        Format::Text => shown::as_text(&report),
        Format::Json => shown::as_json(&report, samples),
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
    let plan = plan(args, subjects, bodies, mean);
    let samples = take(&plan, &shown)?;
    let title = if args.cold().is_some() { "cost of filters, cold" } else { "cost of filters" };
    Ok(Measured { title, plan, samples, bodies: shown })
}

/// What the options say about how long and how precisely to measure.
pub(super) fn plan(
    args: &FiltersArgs,
    subjects: Vec<Subject>,
    bodies: Vec<Body>,
    mean: Option<Mean>,
) -> Plan {
    Plan {
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
    }
}

fn subjects(args: &FiltersArgs, stacks: &[SourceStack]) -> Result<Vec<Subject>> {
    let subject = |stack: &SourceStack| {
        let program = |filter: &SourceFilter| Ok(filter.program_as_it_is(&args.compiling)?.into());
        let programs = stack.filters.iter().map(program).collect::<Result<Vec<_>>>()?;
        Subject::new(stack.name.clone(), programs)
            .map_err(|error| Failure::about(&stack.name, error.to_string()))
    };
    if !stacks.iter().flat_map(|stack| &stack.filters).any(SourceFilter::is_profile) {
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

/// Why the precision was not reached.
pub(super) fn noisy(
    args: &FiltersArgs,
    samples: &Samples,
    sections: &[results::Section],
) -> Option<String> {
    match samples.rounds() {
        few if few < LEAST_ROUNDS => {
            Some(format!("{few} rounds are too few for confidence intervals"))
        }
        _ => results::noisy(sections, args.precision() / 100.0, |row| row >= BASELINES),
    }
}

impl Measured {
    fn report(&self, args: &FiltersArgs) -> Report {
        let Measured { plan, samples, bodies, .. } = self;
        let sections = results::sections(plan, samples, bodies);
        let mut setting = setting(&plan.batches);
        setting.extend(samples.facts(&plan.batches));
        Report {
            title: self.title.to_owned(),
            setting,
            noisy: noisy(args, samples, &sections),
            sections,
            aggregates: results::aggregates(plan, samples, BASELINES),
            interrupted: samples.interrupted,
        }
    }
}
