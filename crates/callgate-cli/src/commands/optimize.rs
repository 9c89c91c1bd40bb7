//! `callgate optimize`: replaces a program with a better, equivalent one; also a socket filter.

use std::ffi::OsString;

use callgate::explain::explain;
use callgate::optimize::{self, Optimized, Unchanged};
use callgate_core::MAX_INSNS;
use callgate_core::diagram::Store;
use clap::ValueHint;

use crate::emit::{Figures, Generated};
use crate::generating::GeneratingOptions;
use crate::report::{self, Failure, Result};
use crate::socket_filters;
use crate::source::{AnyFilter, FilterContent, SourceFilter};
use crate::stopwatch::Stopwatch;
use callgate_requests::json::Json;

/// Optimize a BPF program and prove that the result is equivalent
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Reads every program that the kernel accepts. If no better program is found, or
if the program is too complex to analyse (for example, because it multiplies two
arguments), the output is the given program: a warning on standard error gives
the reason, and the exit status is 0.

Also reads programs that are too long for the kernel: up to 65,536 instructions
instead of 4,096. If no equivalent program of at most 4,096 is found, that is an
error.

--model, --optimize and --weights define which program is better. --stats shows
figures before and after; in JSON, `proved` is true if the output is a new
program, because every new program is proved equivalent to the given one.

A socket filter, which takes packets, is optimized as well: instructions and
branches that change nothing for any packet are left out, each step proved.

Examples:
  callgate optimize old.bpf -o new.bpf --stats
  callgate optimize bpftext:filter.txt --optimize size --emit asm
  callgate optimize old.bpf --weights counts.txt -o new.bpf --stats

Exit status: 0 success, 2 error.")]
pub(crate) struct OptimizeArgs {
    /// The program, a SOURCE (see `callgate --help`)
    #[arg(value_hint = ValueHint::FilePath)]
    source: OsString,

    #[command(flatten)]
    generating: GeneratingOptions,
}

pub(crate) fn run(args: &OptimizeArgs) -> Result<u8> {
    let filter = match args.generating.read_any(&args.source)? {
        AnyFilter::Syscalls(filter) => filter,
        AnyFilter::Packets(filter) => return socket_filters::optimize(&args.generating, &filter),
    };
    let FilterContent::Program(program, endian) = &filter.content else {
        return Err(Failure::about(&filter.name, "this is a profile, not a BPF program")
            .help("compile it with `callgate compile`, which also optimizes"));
    };
    let arches = &filter.arches;
    let options = args.generating.compiler(arches)?;
    let mut stopwatch = Stopwatch::start();
    let observe = &mut |phase| stopwatch.note(phase);
    let optimized = optimize::optimize_observed(program, *endian, arches, &options, observe);
    let optimized = optimized.map_err(|error| {
        let failed = Failure::from(filter.failed(&error));
        if program.len() <= MAX_INSNS {
            return failed;
        }
        let why = format!(
            "found no equivalent program that the kernel accepts: the given one has {} instructions, the \
             limit is {MAX_INSNS}: {error}",
            program.len()
        );
        Failure::about(&filter.name, why).help(error.help().unwrap_or_default()).multiline()
    })?;
    if let Err(why) = &optimized.outcome {
        let help = match why {
            Unchanged::NoOther(_) => "the output is the given program",
            Unchanged::NotBetter(_) => {
                "the output is the given program; --model, --optimize and --weights define which is \
                 better"
            }
        };
        report::warn_about(&filter.name, format!("not optimized: {why}"), help);
    }
    args.generating.deliver(Generated {
        program: &optimized.program,
        template: None,
        source: ("source", filter.name.as_str().into()),
        arches,
        endian: *endian,
        flags: filter.flags,
        figures: figures(&optimized, &stopwatch, &filter),
    })
}

fn figures(optimized: &Optimized, stopwatch: &Stopwatch, filter: &SourceFilter) -> Figures {
    let (before, after) = (&optimized.before, &optimized.after);
    let change = |before: String, after: String| match &optimized.outcome {
        Ok(_) => format!("{before} -> {after}"),
        Err(_) => after,
    };
    let mean = |mean: Option<f64>| mean.map_or("unknown".to_owned(), |mean| format!("{mean:.2}"));
    let cached = change(before.constant_allow.to_string(), after.constant_allow.to_string());
    let insns = change(before.insns.to_string(), after.insns.to_string());
    let mut figures = Figures::about(&[&filter.name], &filter.arches);
    figures.add("insns", after.insns, "instructions", insns);
    let means = [
        (before.filtered_insns, after.filtered_insns),
        (before.expected_insns, after.expected_insns),
    ];
    let means = means.map(|(before, after)| Some((after?, change(mean(before), mean(after)))));
    figures.add_executed(means, "unknown");
    let calls = format!("{cached} syscall{}", if cached == "1" { "" } else { "s" });
    figures.add("constant_allow", after.constant_allow, "constant allow", calls);
    figures.json.push((
        "before",
        Json::Object(vec![
            ("insns", before.insns.into()),
            ("filtered_insns", before.filtered_insns.into()),
            ("expected_insns", before.expected_insns.into()),
            ("constant_allow", before.constant_allow.into()),
        ]),
    ));
    if let Some(lengths) = list_lengths(filter) {
        figures.text.push(("as a list", lengths));
    }
    match &optimized.outcome {
        Ok(stats) => {
            figures.add("optimized", true, "optimized", "yes".to_owned());
            figures.json.push(("reason", Json::Null));
            figures.add_work(stats, stopwatch, "the program is equivalent to the given one");
        }
        Err(why) => {
            figures.add(
                "optimized",
                false,
                "optimized",
                "no, the output is the given program".to_owned(),
            );
            figures.add("reason", why.to_string(), "reason", why.to_string());
            let unknown = ["nodes", "compile_us", "prove_us"].map(|key| (key, Json::Null));
            figures.json.extend(unknown);
            figures.json.push(("proved", false.into()));
        }
    }
    figures
}

/// The lengths of the filter as an allowlist and as a denylist; `None` if it is too complex to be analysed.
fn list_lengths(filter: &SourceFilter) -> Option<String> {
    let mut store = Store::default();
    let func = filter.diagram(&mut store).ok()?;
    let arches: Vec<_> = filter.arches.iter().copied().take(1).collect();
    let explained = explain(&store, func, &arches);
    explained.arches.first().and_then(super::explain::list_lengths)
}
