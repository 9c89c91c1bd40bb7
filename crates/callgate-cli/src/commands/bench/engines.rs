//! `callgate bench engines`: measures the engines for user space.

use std::ffi::OsString;
use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::time::Duration;

use callgate_measure::engines::workloads::{self, EngineInputs, Workload};
use callgate_measure::engines::{self as measure, Cost, Executed};
use callgate_vm::{EngineError, EngineKind};
use clap::ValueHint;
use clap::builder::PossibleValuesParser;

use super::options::seconds;
use super::report::VERSION;
use crate::called::called;
use crate::commands::simulate::engines;
use crate::options::Format;
use crate::output;
use crate::packets::Packet;
use crate::report::{self, Result};
use crate::source::{AnyFilter, AnyFilterOptions, Compile, SocketFilter, Source};
use crate::text::printable;
use callgate_requests::json::Json;
use callgate_requests::syscall;

/// The default of --call.
const DEFAULT_CALL: &str = "getpid";

/// Measure the engines that run filters in user space
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without a SOURCE, measures the standard workloads: two filters of tcpdump,
allowlists of 2, 10 and 200 syscalls, and the built-in profile. A SOURCE may
also be a socket filter, such as the output of `tcpdump -ddd`.

  executed    executed instructions of the program, counted by the interpreter
  hot ns      nanoseconds per run with the same input
  cold ns     nanoseconds per run over a sequence of 50,000 different syscalls,
              or of 10,000 packets
  compile µs  microseconds to prepare the engine for the program
  bytes       size of the code or data that the engine runs
Times are the minimum of several rounds, which suits busy machines.

Syscalls are generated from the constants of the program. Generated packets are
Ethernet frames, 75 % IPv4 and 25 % IPv6, most of them TCP or UDP with port 22,
443 or a random one, and at most 1,400 bytes of data. With --packet or
--packets, the first packet is the hot input and all of them in sequence are the
cold ones.

Examples:
  callgate bench engines
  callgate bench engines --workload port-22 --workload ten-calls
  callgate bench engines container-default --call openat --call-arg -100
  callgate bench engines filter.bpf --engine decoded --format json
  tcpdump -ddd tcp port 443 | callgate bench engines - --packets capture.pcap

Exit status: 0 success, 2 error.")]
pub(crate) struct EnginesArgs {
    /// The filter, a SOURCE (see `callgate --help`) [default: the standard workloads]
    #[arg(value_hint = ValueHint::FilePath)]
    source: Option<OsString>,

    /// Measure only this standard workload; may be repeated
    #[arg(
        long,
        value_name = "NAME",
        value_parser = PossibleValuesParser::new(workloads::names()),
        conflicts_with_all = ["source", "packet", "packets"]
    )]
    workload: Vec<String>,

    #[command(flatten)]
    call: SyscallOptions,

    /// An engine to measure; may be repeated [default: all]
    #[arg(long, value_name = "ENGINE", value_parser = engines())]
    engine: Vec<EngineKind>,

    /// The time to measure all workloads and engines [default: about a second per workload]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    time: Option<u32>,

    /// The format of the report
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,

    #[command(flatten)]
    subject: AnyFilterOptions,
}

/// The syscall that is repeated.
#[derive(Debug, clap::Args)]
#[group(id = "call-options", multiple = true, requires = "source")]
struct SyscallOptions {
    /// The hot input: the name of a syscall, or its number as the filter sees it
    /// [default: getpid]
    #[arg(long, value_name = "SYSCALL", conflicts_with = "workload")]
    call: Option<String>,

    /// An argument of the syscall; may be repeated, in order
    #[arg(long, value_name = "ARG", allow_negative_numbers = true, conflicts_with = "workload")]
    call_arg: Vec<String>,

    /// The arch token of the syscall (AUDIT_ARCH_*), overrides --arch; --call must be a number
    #[arg(long, value_name = "TOKEN", value_parser = syscall::parse_token, conflicts_with = "workload")]
    token: Option<u32>,
}

/// The measurements of a workload.
struct EngineRow {
    name: String,
    packets: bool,
    /// The number of cold inputs.
    inputs: usize,
    insns: usize,
    executed: Executed,
    costs: Vec<(EngineKind, std::result::Result<Cost, EngineError>)>,
}

pub(crate) fn run(args: &EnginesArgs) -> Result<u8> {
    let mut rows = Vec::new();
    let named = once(&args.engine);
    let is_quiet = args.format == Format::Text || !io::stderr().is_terminal();
    let workloads = workloads(args)?;
    let engines = if named.is_empty() { EngineKind::ALL.len() } else { named.len() };
    let time = args
        .time
        .map(|time| Duration::from_secs(time.into()) / (workloads.len() * engines).max(1) as u32);
    for workload in workloads {
        if !is_quiet {
            report::note(&format!("measuring {}\n", printable(&workload.name)));
        }
        let row = EngineRow::of(&workload, &named, time);
        // Each workload takes about a second, so each is printed at once.
        if args.format == Format::Text {
            let blank = if rows.is_empty() { "" } else { "\n" };
            output::print(&format!("{blank}{}", row.text()))?;
        }
        rows.push(row);
    }
    if args.format == Format::Json {
        output::print(&json(&rows))?;
    }
    Ok(0)
}

/// The given values without repetitions.
fn once<T: Clone + PartialEq>(given: &[T]) -> Vec<T> {
    let first = |(at, one): &(usize, &T)| !given[..*at].contains(one);
    given.iter().enumerate().filter(first).map(|(_, one)| one.clone()).collect()
}

/// The workloads to measure.
fn workloads(args: &EnginesArgs) -> Result<Vec<Workload>> {
    if let Some(source) = &args.source {
        return Ok(vec![of_source(args, source)?]);
    }
    warn_about_unused(args);
    Ok(match args.workload.as_slice() {
        [] => workloads::all(),
        names => once(names).iter().filter_map(|name| workloads::by_name(name)).collect(),
    })
}

/// Warns about options that need a source.
fn warn_about_unused(args: &EnginesArgs) {
    let AnyFilterOptions { reading, compiling, .. } = &args.subject;
    let mut given = reading.arguments();
    given.retain(|one| one.starts_with("--"));
    given.extend(compiling.given().map(str::to_owned));
    for option in given {
        report::warn(
            format!("{option} has no effect without a SOURCE"),
            "give a SOURCE to measure it instead of the standard workloads",
        );
    }
}

fn of_source(args: &EnginesArgs, source: &OsString) -> Result<Workload> {
    let AnyFilterOptions { packets, reading, compiling } = &args.subject;
    let SyscallOptions { call, call_arg, token } = &args.call;
    match Source::parse(source)?.read_any(&args.subject)? {
        AnyFilter::Syscalls(filter) => {
            let call = call.as_deref().unwrap_or(DEFAULT_CALL);
            let hot = called(call, call_arg, *token, reading, &filter.arches)?.data;
            let program = filter.kernel_program(compiling)?;
            Ok(workloads::of_syscalls(filter.name.clone(), program.into(), filter.endian(), hot))
        }
        AnyFilter::Packets(SocketFilter { name, program, .. }) => {
            let given = [
                ("--call", call.is_some()),
                ("--call-arg", !call_arg.is_empty()),
                ("--token", token.is_some()),
            ];
            for (option, _) in given.into_iter().filter(|(_, given)| *given) {
                report::warn_about(
                    &name,
                    format!("{option} has no effect: this is a socket filter, which takes packets"),
                    "give packets with --packet or --packets",
                );
            }
            if !packets.are_given() {
                return Ok(workloads::of_packets(name, program));
            }
            let packets = packets.read()?;
            let cold: Vec<Vec<u8>> = packets.into_iter().map(|Packet(bytes)| bytes).collect();
            let hot = cold.first().cloned().unwrap_or_default();
            Ok(Workload { name, inputs: EngineInputs::Packets { program, hot, cold } })
        }
    }
}

impl EngineRow {
    fn of(workload: &Workload, named: &[EngineKind], time: Option<Duration>) -> EngineRow {
        let (kinds, named) =
            if named.is_empty() { (EngineKind::ALL, false) } else { (named, true) };
        let (packets, insns, inputs) = match &workload.inputs {
            EngineInputs::Syscalls { program, cold, .. } => (false, program.len(), cold.len()),
            EngineInputs::Packets { program, cold, .. } => (true, program.len(), cold.len()),
        };
        let measured = |kind| match time {
            Some(time) => measure::measure_for(kind, workload, time),
            None => measure::measure(kind, workload),
        };
        let cost = |&kind: &EngineKind| match measured(kind).transpose() {
            Some(cost) => Some((kind, cost)),
            // The engine does not support this kind of program; shown only if it was requested.
            None if named => {
                Some((kind, Err(EngineError::new(kind.name(), "it supports only seccomp filters"))))
            }
            None => None,
        };
        EngineRow {
            name: workload.name.clone(),
            packets,
            inputs,
            insns,
            executed: measure::executed(workload),
            costs: kinds.iter().filter_map(cost).collect(),
        }
    }

    fn text(&self) -> String {
        let Executed { hot, cold } = self.executed;
        let mut text = format!(
            "{}: {} instructions, executed {hot} hot, {cold:.1} cold\n",
            printable(&self.name),
            self.insns
        );
        let _ = writeln!(
            text,
            "  {:<12}{:>10}{:>10}{:>14}{:>10}",
            "engine", "hot ns", "cold ns", "compile µs", "bytes"
        );
        for (kind, cost) in &self.costs {
            let _ = write!(text, "  {:<12}", kind.name());
            match cost {
                Ok(cost) => {
                    let (hot, cold, compile) = (cost.hot_ns, cost.cold_ns, microseconds(cost));
                    let bytes = cost.code_bytes;
                    let _ = writeln!(text, "{hot:>10.2}{cold:>10.2}{compile:>14.2}{bytes:>10}");
                }
                Err(why) => {
                    output::wrap(&mut text, &format!("not measured: {}", why.reason()), 14, 14);
                }
            }
        }
        text
    }
}

fn microseconds(cost: &Cost) -> f64 {
    cost.compile.as_secs_f64() * 1e6
}

fn json(rows: &[EngineRow]) -> String {
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
            ("cold_inputs", row.inputs.into()),
            ("insns", row.insns.into()),
            ("executed_hot", row.executed.hot.into()),
            ("executed_cold", row.executed.cold.into()),
            ("engines", Json::array(engines)),
        ])
    });
    let value = Json::Object(vec![
        ("callgate", "bench engines".into()),
        ("version", VERSION.into()),
        ("workloads", Json::array(workloads)),
    ]);
    format!("{value}\n")
}
