//! `callgate bench engines`: how long the engines for user space take.

use std::ffi::OsString;
use std::fmt::Write;

use callgate_vm::measure::{self, Cost, Executed};
use callgate_vm::workloads::{self, Body, COLD_INPUTS, Workload};
use callgate_vm::{EngineError, EngineKind};
use clap::ValueHint;

use crate::call;
use crate::commands::simulate::{called, engines};
use crate::json::Json;
use crate::options::{CompileOptions, Format, SourceOptions};
use crate::output;
use crate::report::{self, Result};
use crate::source::Source;

/// Measure the engines that run programs in user space
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without a SOURCE, the classic workloads are measured: two filters of tcpdump,
lists of 2, 10 and 200 calls, and the built-in profile.

hot: nanoseconds for the same input all the time. cold: for 10,000 different
ones in a row. Both are the best of several rounds, on a busy machine too.
compile: microseconds to make the engine of the program. bytes: what it made.
executed: instructions of the program, as the interpreter counts them.

Examples:
  callgate bench engines
  callgate bench engines container-default --call openat --call-arg -100
  callgate bench engines filter.bpf --engine decoded --format json")]
pub(crate) struct EnginesArgs {
    /// A filter, a SOURCE (see `callgate --help`), in place of the classic workloads
    #[arg(value_hint = ValueHint::FilePath)]
    source: Option<OsString>,

    /// The call that comes all the time: its name, or its number as the filter sees it
    #[arg(long, value_name = "CALL", default_value = "getpid", requires = "source")]
    call: String,

    /// Its arguments, in their order
    #[arg(long, value_name = "ARG", allow_negative_numbers = true, requires = "source")]
    call_arg: Vec<String>,

    /// The arch token of the call (AUDIT_ARCH_*), whatever --arch says; the call is then a number
    #[arg(long, value_name = "TOKEN", value_parser = call::parse_token, requires = "source")]
    token: Option<u32>,

    /// An engine to be measured; without it, all of them
    #[arg(long, value_name = "ENGINE", value_parser = engines())]
    engine: Vec<EngineKind>,

    /// The form of the result
    #[arg(long, value_name = "FORM", default_value = "text")]
    format: Format,

    #[command(flatten)]
    reading: SourceOptions,

    #[command(flatten)]
    compiling: CompileOptions,
}

/// What was measured on a workload.
struct Row {
    name: String,
    packets: bool,
    insns: usize,
    executed: Executed,
    /// Without those that are not for this kind of program.
    costs: Vec<(EngineKind, std::result::Result<Cost, EngineError>)>,
}

pub(crate) fn run(args: &EnginesArgs) -> Result<u8> {
    let workloads = match &args.source {
        None => {
            warn_about_unused(args);
            workloads::all()
        }
        Some(source) => vec![workload(args, source)?],
    };
    let kinds = if args.engine.is_empty() { EngineKind::ALL } else { &args.engine };
    let rows: Vec<Row> = workloads.iter().map(|workload| Row::of(workload, kinds)).collect();
    let text = match args.format {
        Format::Json => json(&rows),
        Format::Text => text(&rows),
    };
    output::print(&text)?;
    Ok(0)
}

/// Options about a source, and there is none.
fn warn_about_unused(args: &EnginesArgs) {
    let given = args.reading.arguments();
    let weights = args.compiling.has_weights().then_some("--weights");
    for option in
        given.iter().map(String::as_str).filter(|one| one.starts_with("--")).chain(weights)
    {
        report::warn(
            format!("{option} has no effect: no source is given"),
            "name a SOURCE to measure it in place of the classic workloads",
        );
    }
}

fn workload(args: &EnginesArgs, source: &OsString) -> Result<Workload> {
    let filter = Source::parse(source)?.read_to_compile(&args.reading, &args.compiling)?;
    let (_, hot) = called(&args.call, &args.call_arg, args.token, &args.reading, &filter)?;
    let program = filter.program(&args.compiling)?.into_owned();
    Ok(workloads::of_calls(filter.name.clone(), program, filter.endian(), hot))
}

impl Row {
    fn of(workload: &Workload, kinds: &[EngineKind]) -> Row {
        let (packets, insns) = match &workload.body {
            Body::Calls { program, .. } => (false, program.len()),
            Body::Packets { program, .. } => (true, program.len()),
        };
        let cost = |&kind| Some((kind, measure::measure(kind, workload).transpose()?));
        Row {
            name: workload.name.clone(),
            packets,
            insns,
            executed: measure::executed(workload),
            costs: kinds.iter().filter_map(cost).collect(),
        }
    }
}

fn text(rows: &[Row]) -> String {
    let mut text = String::new();
    for (at, row) in rows.iter().enumerate() {
        let blank = if at > 0 { "\n" } else { "" };
        let Executed { hot, cold } = row.executed;
        let _ = writeln!(
            text,
            "{blank}{}: {} instructions, executed {hot} hot, {cold:.1} cold",
            row.name, row.insns
        );
        let _ = writeln!(
            text,
            "  {:<12}{:>10}{:>10}{:>14}{:>10}",
            "engine", "hot ns", "cold ns", "compile us", "bytes"
        );
        for (kind, cost) in &row.costs {
            let _ = match cost {
                Ok(cost) => writeln!(
                    text,
                    "  {:<12}{:>10.2}{:>10.2}{:>14.2}{:>10}",
                    kind.name(),
                    cost.hot_ns,
                    cost.cold_ns,
                    microseconds(cost),
                    cost.code_bytes
                ),
                Err(error) => writeln!(text, "  {:<12}{error}", kind.name()),
            };
        }
    }
    text
}

fn microseconds(cost: &Cost) -> f64 {
    cost.compile.as_secs_f64() * 1e6
}

fn json(rows: &[Row]) -> String {
    let workloads = rows.iter().map(|row| {
        let engines = row.costs.iter().map(|(kind, cost)| {
            let mut fields = vec![("engine", kind.name().into())];
            match cost {
                Ok(cost) => fields.extend([
                    ("hot_ns", cost.hot_ns.into()),
                    ("cold_ns", cost.cold_ns.into()),
                    ("compile_us", microseconds(cost).into()),
                    ("code_bytes", cost.code_bytes.into()),
                    ("error", Json::Null),
                ]),
                Err(error) => {
                    let unknown = ["hot_ns", "cold_ns", "compile_us", "code_bytes"];
                    fields.extend(unknown.map(|key| (key, Json::Null)));
                    fields.push(("error", error.to_string().into()));
                }
            }
            Json::Object(fields)
        });
        Json::Object(vec![
            ("name", row.name.as_str().into()),
            ("input", if row.packets { "packets" } else { "calls" }.into()),
            ("insns", row.insns.into()),
            ("executed_hot", row.executed.hot.into()),
            ("executed_cold", row.executed.cold.into()),
            ("engines", Json::array(engines)),
        ])
    });
    let fields = vec![("cold_inputs", COLD_INPUTS.into()), ("workloads", Json::array(workloads))];
    format!("{}\n", Json::Object(fields))
}
