//! `callgate simulate`: what a filter says to one call, or a socket filter to packets ([`packets`]).

mod engine;
mod packets;

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::Write;
use std::time::Instant;

use callgate::bpf::{LongProgram, Step, is_constant_allow};
use callgate::fuzz::plain_program;
use callgate::policy::Policy;
use callgate::{Arch, SeccompData, Verdict};
use callgate_vm::{EngineKind, Reference, SeccompEngine, SelectedEngine};
use clap::{ValueEnum, ValueHint};

use crate::call;
use crate::json::Json;
use crate::options::{CompileOptions, Format, SourceOptions, native_arch};
use crate::output;
use crate::report::{self, Failure, Result};
use crate::source::{Filter, Meaning, Source, Subject, SubjectOptions};
use engine::Report;
pub(crate) use engine::engines;

/// Say what a filter does with one call, or a socket filter with packets
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A socket filter, such as `tcpdump -ddd` prints, is asked about packets. The
packet begins where it begins for the filter; what is not in it (the interface,
the mark and so on) is 0. A SOURCE is read as one when packets are given.

Where an engine cannot be used (jit needs x86-64 or aarch64, and memory that may
become executable), `decoded` answers in its place, and a warning, --stats and
the JSON say so.

Examples:
  callgate simulate container-default unshare 0x10000000
  callgate simulate filter.bpf --arch aarch64 --trace socket 38 5 0
  callgate simulate profile.json --arch x86 socketcall 1
  callgate simulate profile.json --by rules openat -100 0 0x80000
  callgate simulate profile.json --engine jit --stats getpid
  tcpdump -ddd port 22 | callgate simulate - --packets capture.pcap
  callgate simulate filter.txt --packet '45 00 00 1c' --trace

Exit status: 0 whatever the verdict is, 2 trouble.")]
pub(crate) struct SimulateArgs {
    /// The filter, a SOURCE (see `callgate --help`)
    #[arg(value_hint = ValueHint::FilePath)]
    source: OsString,

    /// The call: its name, or its number as the filter sees it
    #[arg(conflicts_with_all = ["packet", "packets"])]
    call: Option<String>,

    /// Up to six arguments, decimal, hexadecimal (0x), octal (0o) or negative; the others are 0
    #[arg(value_name = "ARG", allow_negative_numbers = true)]
    args: Vec<String>,

    /// Who answers
    #[arg(long, value_name = "WHO", default_value = "program", conflicts_with_all = ["packet", "packets"])]
    by: By,

    /// What runs the program: the plain interpreter, or one of the faster engines, which say the same
    #[arg(long, value_name = "ENGINE", default_value = "reference", value_parser = engines())]
    engine: EngineKind,

    /// The arch token of the call (AUDIT_ARCH_*), whatever --arch says; the call is then a number
    #[arg(
        long,
        value_name = "TOKEN",
        value_parser = call::parse_token,
        conflicts_with_all = ["packet", "packets"]
    )]
    token: Option<u32>,

    /// The instruction pointer of the call
    #[arg(
        long,
        value_name = "ADDRESS",
        value_parser = call::parse_value,
        conflicts_with_all = ["packet", "packets"]
    )]
    ip: Option<u64>,

    /// Print the instructions that are executed, with the registers before each
    #[arg(long)]
    trace: bool,

    /// Print which engine answered, the size of its code and how long it took to make it
    #[arg(long)]
    stats: bool,

    /// The form of the result
    #[arg(long, value_name = "FORM", default_value = "text")]
    format: Format,

    #[command(flatten)]
    subject: SubjectOptions,
}

/// Who says what the filter does: forms of one filter that should all say the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// The program: a given one as it is, a profile compiled
    Program,
    /// The program compiled anew, also if a program is given
    Optimized,
    /// The rules of a profile, without any program
    Rules,
    /// A profile's plain program, with one test after the other
    Plain,
}

impl By {
    /// The name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            By::Program => "program",
            By::Optimized => "optimized",
            By::Rules => "rules",
            By::Plain => "plain",
        }
    }
}

/// What was found out about a call.
struct Finding<'a> {
    arch: Option<Arch>,
    data: &'a SeccompData,
    verdict: Verdict,
    /// What a program did.
    ran: Option<Ran>,
}

/// How a program came to its verdict.
struct Ran {
    /// Instructions executed.
    executed: usize,
    /// Of how many.
    len: usize,
    constant: bool,
    engine: Report,
}

pub(crate) fn run(args: &SimulateArgs) -> Result<u8> {
    answer(args, &mut output::print)?;
    Ok(0)
}

/// Prints what the filter says, in pieces.
pub(crate) fn answer(
    args: &SimulateArgs,
    print: &mut impl FnMut(&str) -> Result<()>,
) -> Result<()> {
    let source = Source::parse(&args.source)?;
    let packets = args.subject.packets.are_given();
    match source.read_subject(&args.subject)? {
        Subject::Packets(filter) if packets => packets::answer(args, &filter, print),
        Subject::Packets(filter) => Err(Failure::about(
            filter.name,
            "a socket filter is asked about packets, not about calls",
        )
        .help("give them with --packet HEX or --packets FILE, and no call")),
        Subject::Calls(filter) => match &args.call {
            Some(call) => print(&answer_call(args, &filter, call)?),
            None => Err(Failure::about(filter.name, "it is not said which call is asked about")
                .help("name it behind the source: callgate simulate SOURCE CALL [ARG]...")),
        },
    }
}

fn answer_call(args: &SimulateArgs, filter: &Filter, call: &str) -> Result<String> {
    let (arch, mut data) = called(call, &args.args, args.token, &args.subject.reading, filter)?;
    data.instruction_pointer = args.ip.unwrap_or(0);
    let mut steps = Vec::new();
    let finding = match answering_program(args.by, filter, &args.subject.compiling)? {
        Answering::Policy(policy) => {
            let unused = [
                ("--trace", "rules have no instructions", args.trace),
                ("--engine", "rules are no program", args.engine != EngineKind::Reference),
                ("--stats", "rules are no program", args.stats),
            ];
            for (option, why, _) in unused.into_iter().filter(|(.., given)| *given) {
                report::warn(
                    format!("{option} has no effect: {why}"),
                    "--by plain runs a program that does what the rules say one by one",
                );
            }
            Finding { arch, data: &data, verdict: policy.evaluate(&data), ran: None }
        }
        Answering::Program(program) => {
            let endian = filter.endian();
            let run = program.trace(&data, endian, |step| steps.push(step));
            let start = Instant::now();
            let made = made(args.engine, filter, &program)?;
            let (asked, size) = (args.engine, SeccompEngine::code_bytes);
            let (answering, engine) = Report::of(asked, made, start.elapsed(), size);
            engine.check(answering.verdict(&data).0, run.verdict.0)?;
            let ran = Ran {
                executed: run.executed,
                len: program.len(),
                // The kernel's cache has no place for the numbers of x32.
                constant: arch != Some(Arch::X32)
                    && is_constant_allow(&program, data.arch, data.nr),
                engine,
            };
            Finding { arch, data: &data, verdict: run.verdict, ran: Some(ran) }
        }
    };
    Ok(match args.format {
        Format::Json => {
            let mut fields = finding.fields(args.stats);
            fields.extend(args.trace.then(|| ("trace", trace_json(&steps))));
            format!("{}\n", Json::Object(fields))
        }
        Format::Text => {
            let mut text = if args.trace { trace_text(&steps) } else { String::new() };
            text.push_str(&finding.line());
            if let Some(ran) = finding.ran.filter(|_| args.stats) {
                text.push_str(&ran.engine.line());
            }
            text
        }
    })
}

/// An engine; only the interpreter runs what is too long for the kernel.
fn made(
    kind: EngineKind,
    filter: &Filter,
    program: &LongProgram,
) -> Result<SelectedEngine<dyn SeccompEngine>> {
    let endian = filter.endian();
    if kind == EngineKind::Reference {
        let engine = Box::new(Reference::new(program, endian));
        return Ok(SelectedEngine { engine, kind, fallback: None });
    }
    Ok(kind.seccomp_or_decoded(&filter.for_the_kernel(program)?, endian))
}

/// Who answers, ready to be asked.
enum Answering<'a> {
    Policy(&'a Policy),
    Program(Cow<'a, LongProgram>),
}

fn answering_program<'a>(
    by: By,
    filter: &'a Filter,
    options: &CompileOptions,
) -> Result<Answering<'a>> {
    let program = match (by, &filter.meaning) {
        (By::Program, _) => filter.code(options)?,
        (By::Optimized, _) => Cow::Owned(filter.compile(options)?.program.into()),
        (By::Rules, Meaning::Profile(profile)) => return Ok(Answering::Policy(&profile.policy)),
        (By::Plain, Meaning::Profile(profile)) => match plain_program(&profile.policy) {
            Ok(program) => Cow::Owned(program.into()),
            Err(error) => {
                let why = format!("the plain program is too long: {error}");
                return Err(Failure::about(&filter.name, why));
            }
        },
        (By::Rules | By::Plain, Meaning::Program { .. }) => {
            let why = format!("--by {}: this is a program and has no rules", by.name());
            return Err(Failure::about(&filter.name, why)
                .help("--by program and --by optimized work for programs too"));
        }
    };
    Ok(Answering::Program(program))
}

/// The call that is asked about, and the interface that it belongs to.
pub(crate) fn called(
    call: &str,
    args: &[String],
    token: Option<u32>,
    reading: &SourceOptions,
    filter: &Filter,
) -> Result<(Option<Arch>, SeccompData)> {
    if args.len() > 6 {
        return Err(Failure::new(format!(
            "{} arguments are given, and a call has 6 at most",
            args.len()
        )));
    }
    let mut data = SeccompData::default();
    let mut arch = None;
    if let Some(token) = token {
        data.arch = token;
        data.nr = call::parse_number(call)?;
    } else {
        let own = one_arch(reading, filter)?;
        data.arch = own.token();
        data.nr = call::number(own, call)?;
        arch = Some(own);
    }
    for (slot, text) in data.args.iter_mut().zip(args) {
        *slot = call::parse_argument(arch, text)?;
    }
    Ok((arch.or_else(|| call::arch_of(&data)), data))
}

fn one_arch(reading: &SourceOptions, filter: &Filter) -> Result<Arch> {
    match *reading.arch.as_slice() {
        [arch] => Ok(arch),
        [] => default_arch(&filter.arches()),
        _ => Err(Failure::new("a call is made on one architecture, and several are given")
            .help("give --arch once, or the token of the call's with --token")),
    }
}

/// The architecture of this machine if the filter is about it, else the filter's first.
fn default_arch(arches: &[Arch]) -> Result<Arch> {
    match Arch::native().filter(|native| arches.contains(native)).or(arches.first().copied()) {
        Some(arch) => Ok(arch),
        None => native_arch(),
    }
}

fn trace_text(steps: &[Step]) -> String {
    let mut text = String::new();
    for Step { index, a, x, insn } in steps {
        let _ = writeln!(text, "{index:>5}: a={a:#010x} x={x:#010x}  {insn}");
    }
    text
}

fn trace_json(steps: &[Step]) -> Json {
    Json::array(steps.iter().map(|step| {
        Json::Object(vec![
            ("index", step.index.into()),
            ("insn", step.insn.to_string().into()),
            ("a", step.a.into()),
            ("x", step.x.into()),
        ])
    }))
}

impl Finding<'_> {
    fn line(&self) -> String {
        let arch = call::arch_name(self.arch, self.data.arch);
        let mut text = format!("{arch} {}: {}", call::show(self.arch, self.data), self.verdict);
        let _ = match &self.ran {
            Some(Ran { executed, len, .. }) => {
                write!(text, ", {executed} of {len} instructions executed")
            }
            None => write!(text, ", by the rules"),
        };
        if self.ran.as_ref().is_some_and(|ran| ran.constant) {
            text.push_str(" (none once the kernel's cache knows it)");
        }
        text + "\n"
    }

    fn fields(&self, stats: bool) -> Vec<(&'static str, Json)> {
        let ran = self.ran.as_ref();
        let mut fields = call::fields(self.arch, self.data);
        fields.extend([
            ("verdict", self.verdict.to_string().into()),
            ("value", self.verdict.0.into()),
            ("permitted", self.verdict.permits().into()),
            ("executed", ran.map(|ran| ran.executed).into()),
            ("constant_allow", ran.is_some_and(|ran| ran.constant).into()),
        ]);
        match ran {
            Some(ran) => fields.extend(ran.engine.fields(stats)),
            None => fields.extend([("engine", Json::Null), ("fallback", Json::Null)]),
        }
        fields
    }
}
