//! `callgate optimize`: from a program to a better one with the same meaning.

use std::ffi::OsString;

use callgate::bpf::MAX_INSNS;
use callgate::compile::Options;
use callgate::optimize::{self, Optimized, Unchanged};
use clap::ValueHint;

use crate::emit::{EmitOptions, Figures, Made};
use crate::json::Json;
use crate::options::{CompileOptions, PROMPT, SourceOptions};
use crate::report::{self, Failure, Result};
use crate::source::{self, Filter, FilterContent, Source};
use crate::stopwatch::Stopwatch;

/// Make a program better and prove that it means the same
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every program that the kernel accepts is read, with all instructions. What comes
out is the given program itself when nothing better is found, or when it is too
complex to be understood as a whole (it multiplies two arguments, say): a note
on standard error says why, and the exit status is 0 in both cases.

Programs longer than the kernel accepts (4,096 instructions) are read too, up to
65,536. They never come out: if no program of at most 4,096 is found, that is an
error, with exit status 2.

--model, --optimize and --weights say what better means. With --stats, figures
before and after are shown; `proved` is true when a new program comes out, which
is always proved equal to the given one.

Examples:
  callgate optimize old.bpf -o new.bpf --stats
  callgate optimize bpftext:filter.txt --optimize size --emit asm
  callgate optimize old.bpf --weights counts.txt -o new.bpf --stats")]
pub(crate) struct OptimizeArgs {
    /// The program, a SOURCE (see `callgate --help`)
    #[arg(value_hint = ValueHint::FilePath)]
    source: OsString,

    #[command(flatten)]
    emitting: EmitOptions,

    #[command(flatten)]
    reading: SourceOptions,

    #[command(flatten)]
    compiling: CompileOptions,
}

pub(crate) fn run(args: &OptimizeArgs) -> Result<u8> {
    let filter = Source::parse(&args.source)?.read_to_compile(&args.reading, &args.compiling)?;
    let FilterContent::Program { program, endian, arches } = &filter.content else {
        return Err(Failure::about(&filter.name, "this is a profile, not a program")
            .help("`callgate compile` makes the best program of it"));
    };
    let options = Options { budget: PROMPT, ..args.compiling.read(arches, filter.strict)? };
    let mut stopwatch = Stopwatch::start();
    let observe = &mut |phase| stopwatch.note(phase);
    let optimized = optimize::optimize_observed(program, *endian, arches, &options, observe);
    let optimized = optimized.map_err(|error| {
        let failed = source::failed(&filter.name, &error);
        if program.len() <= MAX_INSNS {
            return failed;
        }
        let why = format!(
            "no program that the kernel takes was found for this one of {} instructions (the limit is \
             {MAX_INSNS}): {error}",
            program.len()
        );
        Failure::about(&filter.name, why).help(error.help().unwrap_or_default()).multiline()
    })?;
    if let Err(why) = &optimized.outcome {
        let help = match why {
            Unchanged::NoOther(_) => "the program given comes out as it is",
            Unchanged::NotBetter(_) => {
                "the program given comes out as it is; --model, --optimize and --weights say what is \
                 better"
            }
        };
        report::warn_about(&filter.name, format!("not optimized: {why}"), help);
    }
    args.emitting.deliver(Made {
        program: &optimized.program,
        source: ("source", filter.name.as_str().into()),
        arches,
        endian: *endian,
        figures: figures(&optimized, &stopwatch, &filter),
    })
}

fn figures(optimized: &Optimized, stopwatch: &Stopwatch, filter: &Filter) -> Figures {
    let (before, after) = (&optimized.before, &optimized.after);
    let change = |before: String, after: String| match &optimized.outcome {
        Ok(_) => format!("{before} -> {after}"),
        Err(_) => after,
    };
    let mean = |mean: Option<f64>| mean.map_or("unknown".to_owned(), |mean| format!("{mean:.2}"));
    let expected = change(mean(before.expected_insns), mean(after.expected_insns));
    let cached = change(before.constant_allow.to_string(), after.constant_allow.to_string());
    let insns = change(before.insns.to_string(), after.insns.to_string());
    let mut figures = Figures::about(&[&filter.name], &filter.arches());
    figures.add("insns", after.insns, "instructions", insns);
    let expected = match after.expected_insns {
        Some(_) => format!("{expected} executed per call (mean under the weights)"),
        None => expected,
    };
    figures.add("expected_insns", after.expected_insns, "expected", expected);
    let calls = format!("{cached} calls");
    figures.add("constant_allow", after.constant_allow, "constant allow", calls);
    figures.json.push((
        "before",
        Json::Object(vec![
            ("insns", before.insns.into()),
            ("expected_insns", before.expected_insns.into()),
            ("constant_allow", before.constant_allow.into()),
        ]),
    ));
    match &optimized.outcome {
        Ok(stats) => {
            figures.add("optimized", true, "optimized", "yes".to_owned());
            figures.json.push(("reason", Json::Null));
            figures.add_work(stats, stopwatch, "the program means what the given one means");
        }
        Err(why) => {
            figures.add("optimized", false, "optimized", "no, it is the program given".to_owned());
            figures.add("reason", why.to_string(), "reason", why.to_string());
            let unknown = ["nodes", "compile_us", "prove_us"].map(|key| (key, Json::Null));
            figures.json.extend(unknown);
            figures.json.push(("proved", false.into()));
        }
    }
    figures
}
