//! `callgate simulate`: what a filter says to one call.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::Write;

use callgate::bpf::{Program, Step, is_constant_allow};
use callgate::fuzz::plain_program;
use callgate::policy::Policy;
use callgate::{Arch, SeccompData, Verdict};
use callgate_vm::{EngineError, EngineKind, SeccompEngine};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ValueEnum, ValueHint};

use crate::call;
use crate::json::Json;
use crate::options::{CompileOptions, Format, SourceOptions, native_arch};
use crate::output;
use crate::report::{self, Failure, Result};
use crate::source::{Filter, Meaning, Source};

/// Say what a filter does with one call
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callgate simulate container-default unshare 0x10000000
  callgate simulate filter.bpf --arch aarch64 --trace socket 38 5 0
  callgate simulate profile.json --arch x86 socketcall 1
  callgate simulate profile.json --by rules openat -100 0 0x80000
  callgate simulate profile.json --engine decoded getpid

Exit status: 0 whatever the verdict is, 2 trouble.")]
pub(crate) struct SimulateArgs {
    /// The filter, a SOURCE (see `callgate --help`)
    #[arg(value_hint = ValueHint::FilePath)]
    source: OsString,

    /// The call: its name, or its number as the filter sees it
    call: String,

    /// Up to six arguments, decimal, hexadecimal (0x), octal (0o) or negative; the others are 0
    #[arg(value_name = "ARG", allow_negative_numbers = true)]
    args: Vec<String>,

    /// Who answers
    #[arg(long, value_name = "WHO", default_value = "program")]
    by: By,

    /// What runs the program: the plain interpreter, or one of the faster engines, which say the same
    #[arg(long, value_name = "ENGINE", default_value = "reference", value_parser = engines())]
    engine: EngineKind,

    /// The arch token of the call (AUDIT_ARCH_*), whatever --arch says; the call is then a number
    #[arg(long, value_name = "TOKEN", value_parser = call::parse_token)]
    token: Option<u32>,

    /// The instruction pointer of the call
    #[arg(long, value_name = "ADDRESS", value_parser = call::parse_value)]
    ip: Option<u64>,

    /// Print the instructions that are executed, with the registers before each
    #[arg(long)]
    trace: bool,

    /// The form of the result
    #[arg(long, value_name = "FORM", default_value = "text")]
    format: Format,

    #[command(flatten)]
    reading: SourceOptions,

    #[command(flatten)]
    compiling: CompileOptions,
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
    /// What a program did: instructions executed, of how many.
    executed: Option<(usize, usize)>,
    constant: bool,
}

pub(crate) fn run(args: &SimulateArgs) -> Result<u8> {
    output::print(&answer(args)?)?;
    Ok(0)
}

/// What is printed.
pub(crate) fn answer(args: &SimulateArgs) -> Result<String> {
    let filter = Source::parse(&args.source)?.read_to_compile(&args.reading, &args.compiling)?;
    let (arch, mut data) = called(&args.call, &args.args, args.token, &args.reading, &filter)?;
    data.instruction_pointer = args.ip.unwrap_or(0);
    let endian = filter.endian();
    let mut steps = Vec::new();
    let finding = match answering_program(args.by, &filter, &args.compiling)? {
        Answering::Policy(policy) => {
            if args.trace {
                report::warn(
                    "--trace has no effect: rules have no instructions",
                    "--by plain runs a program that does what the rules say one by one",
                );
            }
            if args.engine != EngineKind::Reference {
                report::warn(
                    "--engine has no effect: rules are no program",
                    "--by plain runs a program that does what the rules say one by one",
                );
            }
            let verdict = policy.evaluate(&data);
            Finding { arch, data: &data, verdict, executed: None, constant: false }
        }
        Answering::Program(program) => {
            let run = program.trace(&data, endian, |step| steps.push(step));
            // The kernel's cache has no place for the numbers of x32.
            let constant =
                arch != Some(Arch::X32) && is_constant_allow(&program, data.arch, data.nr);
            let executed = Some((run.executed, program.len()));
            let verdict = match args.engine {
                EngineKind::Reference => run.verdict,
                kind => {
                    let engine = kind.seccomp(&program, endian).map_err(no_engine)?;
                    checked(kind, engine.verdict(&data), run.verdict)?
                }
            };
            Finding { arch, data: &data, verdict, executed, constant }
        }
    };
    Ok(match args.format {
        Format::Json => json(&finding, args.trace.then_some(&steps)),
        Format::Text => {
            let mut text = String::new();
            if args.trace {
                for step in &steps {
                    let _ = writeln!(text, "{}", trace_line(step));
                }
            }
            text.push_str(&finding.line());
            text
        }
    })
}

/// The names of the engines, for the command line.
pub(crate) fn engines() -> impl TypedValueParser<Value = EngineKind> {
    let names = EngineKind::ALL.iter().map(|kind| kind.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<EngineKind>())
}

/// What an engine says, which is what the interpreter says.
fn checked(kind: EngineKind, given: Verdict, expected: Verdict) -> Result<Verdict> {
    if given == expected {
        return Ok(given);
    }
    Err(Failure::new(format!(
        "the engine `{kind}` says {given} and the interpreter {expected}: this is a mistake in callgate"
    ))
    .help("please report it, with the filter and the call"))
}

/// This machine has no such engine.
pub(crate) fn no_engine(error: EngineError) -> Failure {
    Failure::new(error.to_string()).help("--engine reference and --engine decoded work everywhere")
}

/// Who answers, ready to be asked.
enum Answering<'a> {
    Policy(&'a Policy),
    Program(Cow<'a, Program>),
}

fn answering_program<'a>(
    by: By,
    filter: &'a Filter,
    options: &CompileOptions,
) -> Result<Answering<'a>> {
    let program = match (by, &filter.meaning) {
        (By::Program, _) => filter.program(options)?,
        (By::Optimized, _) => Cow::Owned(filter.compile(options)?.program),
        (By::Rules, Meaning::Profile(profile)) => return Ok(Answering::Policy(&profile.policy)),
        (By::Plain, Meaning::Profile(profile)) => match plain_program(&profile.policy) {
            Ok(program) => Cow::Owned(program),
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

fn trace_line(step: &Step) -> String {
    format!("{:>5}: a={:#010x} x={:#010x}  {}", step.index, step.a, step.x, step.insn)
}

impl Finding<'_> {
    fn line(&self) -> String {
        let arch = call::arch_name(self.arch, self.data.arch);
        let mut text = format!("{arch} {}: {}", call::show(self.arch, self.data), self.verdict);
        let _ = match self.executed {
            Some((executed, len)) => write!(text, ", {executed} of {len} instructions executed"),
            None => write!(text, ", by the rules"),
        };
        text.push_str(if self.constant {
            " (none once the kernel's cache knows it)\n"
        } else {
            "\n"
        });
        text
    }
}

fn json(finding: &Finding<'_>, trace: Option<&Vec<Step>>) -> String {
    let Finding { arch, data, verdict, executed, constant } = *finding;
    let mut fields = call::fields(arch, data);
    fields.extend([
        ("verdict", verdict.to_string().into()),
        ("value", verdict.0.into()),
        ("permitted", verdict.permits().into()),
        ("executed", executed.map(|(executed, _)| executed).into()),
        ("constant_allow", constant.into()),
    ]);
    if let Some(steps) = trace {
        let steps = steps.iter().map(|step| {
            Json::Object(vec![
                ("index", step.index.into()),
                ("insn", step.insn.to_string().into()),
                ("a", step.a.into()),
                ("x", step.x.into()),
            ])
        });
        fields.push(("trace", Json::array(steps)));
    }
    format!("{}\n", Json::Object(fields))
}
