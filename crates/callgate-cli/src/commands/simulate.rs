//! `callgate simulate`: what a filter says to one call.

use std::ffi::OsString;
use std::fmt::Write;

use callgate::bpf::{Run, Step, is_constant_allow};
use callgate::{Arch, SeccompData};
use clap::ValueHint;

use crate::call;
use crate::json::Json;
use crate::options::{CompileOptions, Format, SourceOptions, native_arch};
use crate::output;
use crate::report::{Failure, Result};
use crate::source::Source;

/// Say what a filter does with one call
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callgate simulate container-default unshare 0x10000000
  callgate simulate filter.bpf --arch aarch64 --trace socket 38 5 0
  callgate simulate profile.json --arch x86 socketcall 1

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

pub(crate) fn run(args: &SimulateArgs) -> Result<u8> {
    let filter = Source::parse(&args.source)?.read_to_compile(&args.reading, &args.compiling)?;
    let arch = match *args.reading.arch.as_slice() {
        [arch] => arch,
        [] => default_arch(&filter.arches())?,
        _ => {
            return Err(Failure::new("a call is made on one architecture, and several are given")
                .help("give --arch once"));
        }
    };
    let nr = call::number(arch, &args.call)?;
    let mut data = SeccompData {
        nr,
        arch: arch.token(),
        instruction_pointer: args.ip.unwrap_or(0),
        args: [0; 6],
    };
    if args.args.len() > data.args.len() {
        return Err(Failure::new(format!(
            "{} arguments are given, and a call has 6 at most",
            args.args.len()
        )));
    }
    for (slot, text) in data.args.iter_mut().zip(&args.args) {
        *slot = call::parse_argument(arch, text)?;
    }

    let endian = filter.endian();
    let program = filter.program(&args.compiling)?;
    let mut steps = Vec::new();
    let run = program.trace(&data, endian, |step| steps.push(step));
    // The kernel's cache has no place for the numbers of x32.
    let constant = arch != Arch::X32 && is_constant_allow(&program, data.arch, data.nr);
    let text = match args.format {
        Format::Json => json(arch, &data, &run, constant, args.trace.then_some(&steps)),
        Format::Text => {
            let mut text = String::new();
            if args.trace {
                for step in &steps {
                    let _ = writeln!(text, "{}", trace_line(step));
                }
            }
            let _ = writeln!(
                text,
                "{arch} {}: {}, {} of {} instructions executed{}",
                call::show(Some(arch), &data),
                run.verdict,
                run.executed,
                program.len(),
                if constant { " (none once the kernel's cache knows it)" } else { "" }
            );
            text
        }
    };
    output::print(&text)?;
    Ok(0)
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

fn json(
    arch: Arch,
    data: &SeccompData,
    run: &Run,
    constant: bool,
    trace: Option<&Vec<Step>>,
) -> String {
    let mut fields = vec![
        ("arch", arch.name().into()),
        ("call", arch.call_name(data.nr).into()),
        ("nr", data.nr.into()),
        ("args", Json::array(data.args)),
        ("instruction_pointer", data.instruction_pointer.into()),
        ("verdict", run.verdict.to_string().into()),
        ("value", run.verdict.0.into()),
        ("permitted", run.verdict.permits().into()),
        ("executed", run.executed.into()),
        ("constant_allow", constant.into()),
    ];
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
