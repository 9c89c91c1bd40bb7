//! `callgate bench --workload NAME`: the throughput of servers under filters.

use std::time::{Duration, Instant};

use callgate_measure::workload::{self, Plan, Report, Runs, Variant, Workload};
use callgate_measure::{Batches, libseccomp, setting};

use super::options::FiltersArgs;
use super::samples::SamplesFile;
use super::sources;
use super::status::{self, INTERRUPTED};
use super::throughput;
use crate::options::Format;
use crate::output::{self, NewFile};
use crate::page_facts;
use crate::progress::Progress;
use crate::report::{Failure, Result};
use crate::source::{FilterContent, Stack};
use crate::text::counted;

/// The default time in seconds, and with --quick.
const TIME: u32 = 120;
const QUICK_TIME: u32 = 30;

/// The approximate duration of a client run in seconds, and with --quick.
const RUN: u32 = 3;
const QUICK_RUN: u32 = 1;

/// The shortest run.
const SHORTEST: Duration = Duration::from_millis(100);

/// The number of rounds for which there should be time.
const GOAL: u32 = 6;

/// The minimum and maximum number of rounds.
const ROUNDS: (usize, usize) = (3, 200);

/// The maximum time until a server accepts connections.
const READY: Duration = Duration::from_secs(30);

pub(super) fn run(args: &FiltersArgs, workload: &Workload) -> Result<u8> {
    let load = load(args, workload)?;
    let variants = variants(args)?;
    let (server_cpu, client_cpu) = processors(args);
    // Without a filter twice.
    let runs_per_round = variants.all.len() as u32 + 1;
    let longest = if args.quick { QUICK_RUN } else { RUN };
    let longest = Duration::from_secs(longest.into());
    let run = args.time.map_or(longest, |time| {
        (Duration::from_secs(time.into()) / runs_per_round / GOAL).clamp(SHORTEST, longest)
    });
    let plan = Plan {
        variants: variants.all,
        run,
        load,
        threads: args.threads,
        ready: READY,
        min_rounds: if args.time.is_some() { 1 } else { ROUNDS.0 },
        max_rounds: ROUNDS.1,
        time: Duration::from_secs(
            args.time.unwrap_or(if args.quick { QUICK_TIME } else { TIME }).into(),
        ),
        precision: args.precision() / 100.0,
        server_cpu,
        client_cpu,
        seed: args.seed,
    };
    // The measurement may take long, so first check that the files can be written.
    let page = args.html.as_deref().map(NewFile::prepare).transpose()?;
    let samples = args.samples.as_ref().map(SamplesFile::prepare).transpose()?;
    let origin = page.is_some().then(page_facts::origin).transpose()?;
    let runs = take(workload, &plan)?;
    let noisy = noisy(&plan, &runs);
    let mut result = Report {
        workload,
        setting: facts(workload, &plan, &runs),
        plan: &plan,
        runs: &runs,
        pairs: &variants.pairs,
        noisy: noisy.as_deref(),
    };
    output::print(&match args.format {
        Format::Text => throughput::text(&result),
        Format::Json => throughput::json(&result),
    })?;
    if let Some(page) = page {
        result.setting.extend(origin.into_iter().flatten());
        page.finish(result.page(&page_facts::warnings()).as_bytes())?;
    }
    if let Some(samples) = samples {
        samples.of_runs(workload.name(), &plan, &runs)?;
    }
    Ok(status::finish(runs.interrupted, noisy.as_deref(), args.precision(), args.noise))
}

/// The chosen load of a workload.
fn load(args: &FiltersArgs, workload: &Workload) -> Result<Option<&'static str>> {
    let loads = workload.loads();
    if loads.is_empty() && (args.load.is_some() || args.threads.is_some()) {
        let given = if args.load.is_some() { "--load" } else { "--threads" };
        return Err(Failure::new(format!("the workload {} has no {given}", workload.name()))
            .help(format!("omit {given}, or use it with --workload mariadb")));
    }
    let Some(name) = &args.load else { return Ok(None) };
    match loads.iter().find(|load| *load == name) {
        Some(load) => Ok(Some(load)),
        None => Err(Failure::new(format!("the workload {} has no load {name}", workload.name()))
            .help(format!("choose one of {}", loads.join(", ")))),
    }
}

/// The variants of the server, and which are compared.
struct Variants {
    all: Vec<Variant>,
    /// For each source, the indices of the reference and of Callgate's variant.
    pairs: Vec<(usize, usize)>,
}

/// No filter, and for each source the reference and Callgate's program.
fn variants(args: &FiltersArgs) -> Result<Variants> {
    let reading = args.reading.for_libseccomp()?;
    let mut variants = Variants { all: vec![Variant::none()], pairs: Vec::new() };
    for stack in sources::read(args, &reading)? {
        let reference = reference(&stack)?;
        let name = stack.name.clone();
        let filter = stack.into_filter()?;
        let is_profile = filter.is_profile();
        let program = filter.compile(&args.compiling)?.program;
        let name = if is_profile { name } else { format!("{name}, optimized") };
        let next = variants.all.len();
        variants.all.extend([reference, Variant { name, programs: vec![program.into()] }]);
        variants.pairs.push((next, next + 1));
    }
    Ok(variants)
}

/// The reference: libseccomp's list for a profile, or the given programs.
fn reference(stack: &Stack) -> Result<Variant> {
    if let [only] = stack.filters.as_slice()
        && let FilterContent::Profile(profile) = &only.content
    {
        let list = libseccomp::list(&profile.policy).map_err(|error| {
            Failure::about(&stack.name, error.to_string())
                .help("Callgate's program is compared with libseccomp's list; try another --arch or profile")
        })?;
        return Ok(Variant { name: format!("{}, libseccomp", stack.name), programs: vec![list] });
    }
    let programs = stack.filters.iter().filter_map(|filter| match &filter.content {
        FilterContent::Program { program, .. } => Some(filter.for_the_kernel(program)),
        FilterContent::Profile(_) => None,
    });
    let programs = programs.collect::<Result<_>>()?;
    Ok(Variant { name: format!("{}, as given", stack.name), programs })
}

/// The processors of the server and of the client, which are different if there are two.
fn processors(args: &FiltersArgs) -> (Option<usize>, Option<usize>) {
    let server = args.cpu();
    let others = callgate_measure::allowed_cpus().into_iter().find(|cpu| Some(*cpu) != server);
    (server, server.and_then(|server| others.or(Some(server))))
}

fn take(workload: &Workload, plan: &Plan) -> Result<Runs> {
    callgate_measure::on_ctrl_c();
    let mut progress = Progress::new(Instant::now());
    let runs = workload::run(workload, plan, &mut |what, share| {
        progress.tell(|| format!("{:3.0} %  {what}", share * 100.0));
    });
    progress.clear();
    runs.map_err(|error| match error.is_interrupted() {
        true => Failure::new("stopped before the first round was complete")
            .help("a round runs each variant once; with --quick it is shorter")
            .status(INTERRUPTED),
        false => Failure::new(error.to_string()).help(error.help()).multiline(),
    })
}

/// Why the ratios are less precise than requested.
fn noisy(plan: &Plan, runs: &Runs) -> Option<String> {
    if runs.rounds() < ROUNDS.0 {
        return Some(format!(
            "{} of {} rounds are too few for confidence intervals",
            runs.rounds(),
            ROUNDS.0
        ));
    }
    let measures = runs.measures();
    let off = (0..measures.len()).filter_map(|measure| {
        let off = (runs.noise(measure)?.ratio.median - 1.0).abs();
        (off > plan.precision).then(|| {
            format!(
                "{}: two runs without a filter differed by {:.1} %",
                measures[measure].name,
                off * 100.0
            )
        })
    });
    let widest = runs.widest().filter(|(width, ..)| *width > plan.precision);
    let widest = widest.map(|(width, variant, measure)| {
        format!(
            "{} under {}: the confidence interval is {:.1} % wide",
            measures[measure].name,
            plan.variants[variant].name,
            width * 100.0
        )
    });
    widest.or(off.into_iter().next())
}

fn facts(workload: &Workload, plan: &Plan, runs: &Runs) -> Vec<(&'static str, String)> {
    let mut facts = setting(&Batches { cpu: plan.server_cpu, ..Batches::default() });
    if let Some(load) = plan.load.or(workload.loads().first().copied()) {
        let connections = plan.connections();
        facts.push((
            "requests",
            format!("the load {load} with {}", counted(connections.into(), "connection")),
        ));
    }
    let client = match (plan.client_cpu, plan.server_cpu) {
        (None, _) => "not pinned".to_owned(),
        (Some(cpu), Some(server)) if cpu == server => "pinned to the same one".to_owned(),
        (Some(cpu), _) => format!("pinned to number {cpu}"),
    };
    facts.push(("client", client));
    facts.push((
        "measured",
        format!(
            "{} rounds of about {:.1} s for each variant, in {:.1} s",
            runs.rounds(),
            plan.run.as_secs_f64(),
            runs.elapsed.as_secs_f64()
        ),
    ));
    facts
}
