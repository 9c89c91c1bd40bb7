//! `callgate fuzz`: whether all forms of a filter say the same, call by call.

mod kernel;
mod options;
mod report;

use std::ffi::{OsStr, OsString};
use std::time::{Duration, Instant};

use callgate::bpf::Program;
use callgate::codegen::{Aim, Model};
use callgate::fuzz::{self, Input, Options, Report, Subject, plain_program};
use clap::ValueHint;

use crate::commands::simulate::By;
use crate::options::{CompileOptions, Format, KernelArg};
use crate::output;
use crate::progress::Progress;
use crate::report::{Failure, Result};
use crate::source::{BUILT_IN, Filter, Meaning, Source};
use crate::stopwatch::Stopwatch;

/// Look for calls on which the forms of a filter differ
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The forms of a profile are its rules, a plain program of one test after the
other, and the programs that the compiler makes for every model and aim; those
of a program are the program as it is, and compiled anew. Calls come from the
constants in them, and from the decision diagram, until every instruction and
both directions of every branch were executed or are proved unreachable; then
follow random calls.

With --kernel the running kernel is asked too, in a child process and without
executing a call: each value that a program returns is replaced by an errno.
It answers for calls of this machine's own interface at which the instruction
pointer does not matter. --kernel X.Y is what it is elsewhere, the version that
a profile's conditions ask about.

Examples:
  callgate fuzz profile.json
  callgate fuzz filter.bpf --kernel
  callgate fuzz profile.json --arch aarch64 --time 60 --seed 42

Exit status: 0 no mismatch and everything covered, 1 mismatch, 2 trouble.")]
pub(crate) struct FuzzArgs {
    /// The filter, a SOURCE (see `callgate --help`) [default: container-default]
    #[arg(value_hint = ValueHint::FilePath)]
    source: Option<OsString>,

    /// Where random choices begin
    #[arg(long, value_name = "N", default_value_t = Options::default().seed)]
    seed: u64,

    /// How many random calls follow when everything is covered [default: 20000; with --time as
    /// many as fit]
    #[arg(long, value_name = "N")]
    runs: Option<u64>,

    /// How many seconds it may go on with random calls
    #[arg(long, value_name = "SECONDS")]
    time: Option<u32>,

    /// The form of the report
    #[arg(long, value_name = "FORM", default_value = "text")]
    format: Format,

    #[command(flatten)]
    reading: options::Reading,

    #[command(flatten)]
    compiling: options::Compiling,
}

/// One form of the filter.
struct Form {
    name: String,
    by: AskedBy,
}

/// The command that asks a form about one call.
enum AskedBy {
    /// `callgate simulate` with these options.
    Simulate(Vec<String>),
    /// This command again: nothing else asks the kernel.
    Fuzz,
}

/// Something that was not compared, and why.
struct Omission {
    name: String,
    why: String,
    help: String,
    /// Whether it was asked for by an option.
    is_trouble: bool,
}

/// Everything that the report tells.
struct Outcome {
    source: String,
    /// The reference first, then as the comparisons are.
    forms: Vec<Form>,
    report: Report,
    omissions: Vec<Omission>,
    elapsed: Duration,
    /// The source and how it is read, as a command line says it.
    source_arguments: Vec<String>,
    /// What else this command was told.
    own_arguments: Vec<String>,
}

pub(crate) fn run(args: &FuzzArgs) -> Result<u8> {
    let outcome = search(args)?;
    let text = match args.format {
        Format::Text => report::text(&outcome),
        Format::Json => report::json(&outcome),
    };
    output::print(&text)?;
    status(&outcome)
}

fn search(args: &FuzzArgs) -> Result<Outcome> {
    let start = Instant::now();
    let source = source(args)?;
    let filter = Source::parse(source)?.read_to_compile(&args.reading.0, &args.compiling.0)?;
    let asks_kernel =
        matches!(args.reading.0.kernel, Some(KernelArg::Running | KernelArg::Source(_)));
    if asks_kernel {
        kernel::check(&filter)?;
    }
    let mut omissions = Vec::new();
    let (mut forms, programs) = forms(&filter, &args.compiling.0, &mut omissions)?;
    let arches = filter.arches();
    let policy = match &filter.meaning {
        Meaning::Profile(profile) => Some(&profile.policy),
        Meaning::Program { .. } => None,
    };
    let input = Input { policy, programs: &programs, arches: &arches, endian: filter.endian() };
    let options = Options {
        seed: args.seed,
        runs: args.runs.unwrap_or(match args.time {
            Some(_) => u64::MAX,
            None => Options::default().runs,
        }),
        ..Options::default()
    };
    let mut progress = Progress::new(start);
    let limit = args.time.map(|seconds| Duration::from_secs(seconds.into()));
    let mut tell = |calls| {
        progress.tell(|| format!("{calls} calls"));
        limit.is_none_or(|limit| start.elapsed() < limit)
    };
    let mut report = fuzz::fuzz(&input, &options, &mut tell);
    if asks_kernel {
        kernel::ask(&input, &mut forms, &mut report, &mut omissions);
    }
    progress.clear();
    let mut source_arguments = vec![source.to_string_lossy().into_owned()];
    source_arguments.extend(args.reading.0.arguments());
    Ok(Outcome {
        source: filter.name,
        forms,
        report,
        omissions,
        elapsed: start.elapsed(),
        source_arguments,
        own_arguments: args.own_arguments(),
    })
}

impl FuzzArgs {
    /// The options beside those that say how the source is read.
    fn own_arguments(&self) -> Vec<String> {
        let mut arguments = self.compiling.0.arguments();
        arguments.push(format!("--seed={}", self.seed));
        arguments.extend(self.runs.map(|runs| format!("--runs={runs}")));
        arguments.extend(self.time.map(|seconds| format!("--time={seconds}")));
        arguments
    }
}

/// The source; where `--kernel` was followed by it, clap took it for a version.
fn source(args: &FuzzArgs) -> Result<&OsStr> {
    match (&args.source, &args.reading.0.kernel) {
        (Some(_), Some(KernelArg::Source(odd))) => {
            Err(Failure::new(format!("\"{}\" is no version of a kernel", odd.display()))
                .help("--kernel X.Y names one; --kernel alone asks the running kernel"))
        }
        (None, Some(KernelArg::Source(source))) => Ok(source),
        (Some(source), _) => Ok(source),
        (None, _) => Ok(OsStr::new(BUILT_IN)),
    }
}

/// The forms of a filter, the reference first, and the programs among them.
fn forms(
    filter: &Filter,
    options: &CompileOptions,
    omissions: &mut Vec<Omission>,
) -> Result<(Vec<Form>, Vec<Subject>)> {
    let by = |by: By| vec!["--by".to_owned(), by.name().to_owned()];
    let (mut forms, mut programs) = (Vec::new(), Vec::new());
    let mut add = |name: &str, arguments, program: Option<Program>| {
        forms.push(Form { name: name.to_owned(), by: AskedBy::Simulate(arguments) });
        programs.extend(program.map(|program| Subject::new(name, program)));
    };
    match &filter.meaning {
        Meaning::Profile(profile) => {
            add("rules", by(By::Rules), None);
            match plain_program(&profile.policy) {
                Ok(program) => add("plain", by(By::Plain), Some(program)),
                Err(error) => omissions.push(Omission {
                    name: "plain".to_owned(),
                    why: error.to_string(),
                    help: String::new(),
                    is_trouble: false,
                }),
            }
        }
        Meaning::Program { program, .. } => {
            add("given", by(By::Program), Some(filter.for_the_kernel(program)?));
        }
    }
    // Often several models get the same program.
    let mut compiled: Vec<(Aim, Vec<Model>, Program)> = Vec::new();
    let all = options.read_all(&filter.arches(), filter.strict)?;
    for options in &all {
        let program = match filter.try_compile(options, &mut Stopwatch::start()) {
            Ok(compiled) => compiled.program,
            Err(error) => {
                // What is too complex for one model is so for all.
                omissions.push(Omission {
                    name: "optimized".to_owned(),
                    why: error.to_string(),
                    help: error.help().unwrap_or(
                        "`callgate simulate` says what each form makes of one call".to_owned(),
                    ),
                    is_trouble: true,
                });
                break;
            }
        };
        match compiled.iter_mut().find(|(aim, _, other)| *aim == options.aim && *other == program) {
            Some((_, models, _)) => models.push(options.model),
            None => compiled.push((options.aim, vec![options.model], program)),
        }
    }
    for (aim, models, program) in compiled {
        let names: Vec<&str> = models.iter().map(|model| model.name()).collect();
        let name = if models.len() == Model::ALL.len() {
            format!("{}, all models", aim.name())
        } else {
            format!("{} {}", aim.name(), names.join("/"))
        };
        let mut arguments = by(By::Optimized);
        arguments.extend(names.first().map(|model| format!("--model={model}")));
        arguments.push(format!("--optimize={}", aim.name()));
        arguments.extend(options.weights_arguments());
        add(&name, arguments, Some(program));
    }
    Ok((forms, programs))
}

/// Says what is not as it should be, and with which exit status.
fn status(outcome: &Outcome) -> Result<u8> {
    if !outcome.report.agrees() {
        return Ok(1);
    }
    if let Some(Omission { name, help, .. }) =
        outcome.omissions.iter().find(|omission| omission.is_trouble)
    {
        let message = match outcome.report.comparisons.as_slice() {
            [] => "nothing was compared; the report says why".to_owned(),
            _ => format!("{name} was not compared; the report says why"),
        };
        return Err(Failure::new(message).help(help.as_str()).multiline());
    }
    if let Some(coverage) = outcome.report.coverage.iter().find(|one| !one.is_complete()) {
        let why = coverage.why.map_or_else(String::new, |why| format!(": {why}"));
        return Err(Failure::new(format!(
            "not everything in \"{}\" was executed or proved unreachable{why}",
            coverage.name
        ))
        .help("random calls may find the rest: --time gives them more time"));
    }
    Ok(0)
}

#[cfg(test)]
mod tests;
