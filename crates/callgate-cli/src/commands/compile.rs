//! `callgate compile`: from a source to a proved program.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::Duration;

use callgate::Arch;
use callgate::bpf::disasm::Dialect;
use callgate::compile::Stats;
use clap::{ValueEnum, ValueHint};

use crate::emit;
use crate::json::Json;
use crate::options::{CompileOptions, Format, SourceOptions};
use crate::output;
use crate::report::{self, Result};
use crate::source::{BUILT_IN, Source};

/// Compile a source into a program and prove that it does what the source says
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A source that is a program already is compiled anew from what it does.

The program goes to standard output, but never as raw bytes to a terminal. The
figures of --stats go to standard output when the program goes to a file, else
to standard error.

Examples:
  callgate compile profile.json -o filter.bpf
  callgate compile --arch aarch64 --caps none --emit asm
  callgate compile profile.json -o filter.bpf --stats --format json
  callgate compile docker:seccomp.json --emit c > filter.h
  callgate compile old.bpf --optimize size -o new.bpf")]
pub(crate) struct CompileArgs {
    /// The filter, a SOURCE (see `callgate --help`)
    #[arg(default_value = BUILT_IN, value_hint = ValueHint::FilePath)]
    source: OsString,

    /// Where the program goes; it appears there whole or not at all
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// The form of the program [default: bpf; json with --format json and no -o]
    #[arg(long, value_name = "FORM")]
    emit: Option<Emit>,

    /// Print how large and how fast the program is, and how long it took to make
    #[arg(long)]
    stats: bool,

    /// The form of the figures
    #[arg(long, value_name = "FORM", default_value = "text")]
    format: Format,

    #[command(flatten)]
    reading: SourceOptions,

    #[command(flatten)]
    compiling: CompileOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Emit {
    /// Raw instructions, struct sock_filter
    Bpf,
    /// Assembler text; `callgate asm` reads it
    Asm,
    /// An array in C
    C,
    /// An array in Rust (crate libc)
    Rust,
    /// A slice in Go (golang.org/x/sys/unix)
    Go,
    /// Rows of numbers with the facts about the program
    Json,
}

pub(crate) fn run(args: &CompileArgs) -> Result<u8> {
    let filter = Source::parse(&args.source)?.read_to_compile(&args.reading, &args.compiling)?;
    let output = args.output.as_deref().filter(|path| path.as_os_str() != "-");
    let compiled = filter.compile(&args.compiling)?;
    let program = &compiled.program;
    let arches = filter.arches();
    let emit = args.emit.unwrap_or(match args.format {
        Format::Json if output.is_none() => Emit::Json,
        _ => Emit::Bpf,
    });
    if args.format == Format::Json && emit != Emit::Json && !args.stats {
        report::warn(
            "--format json has no effect: it is the form of the figures, which nobody asked for",
            "add --stats, or --emit json for a program in JSON",
        );
    }
    let figures = || match args.format {
        Format::Json => format!("{}\n", Json::Object(stats(&compiled.stats))),
        Format::Text => stats_text(&compiled.stats, &filter.name, &arches),
    };
    // Whoever asks for the figures at a terminal wants to see them, not an error about raw bytes.
    if args.stats && output.is_none() && args.emit.is_none() && io::stdout().is_terminal() {
        output::print(&figures())?;
        return Ok(0);
    }
    let text = match emit {
        Emit::Bpf => None,
        Emit::Asm => Some(emit::text(program, Dialect::Annotated, &filter)),
        Emit::C => Some(emit::text(program, Dialect::C, &filter)),
        Emit::Rust => Some(emit::text(program, Dialect::Rust, &filter)),
        Emit::Go => Some(emit::text(program, Dialect::Go, &filter)),
        Emit::Json => {
            let mut fields: Vec<(&str, Json)> = vec![
                ("source", filter.name.as_str().into()),
                ("arches", Json::array(arches.iter().map(|arch| arch.name()))),
            ];
            fields.extend(stats(&compiled.stats));
            fields.push(("program", emit::rows(program)));
            Some(format!("{}\n", Json::Object(fields)))
        }
    };
    match (output, &text) {
        (_, None) => output::write_program(output, &program.to_bytes(filter.endian()))?,
        (Some(path), Some(text)) => output::write_file(path, text.as_bytes())?,
        (None, Some(text)) => output::print(text)?,
    }
    match (args.stats, output) {
        (false, _) => {}
        (true, Some(_)) => output::print(&figures())?,
        (true, None) => report::note(&figures()),
    }
    Ok(0)
}

/// The figures with their stable keys.
fn stats(stats: &Stats) -> Vec<(&'static str, Json)> {
    vec![
        ("insns", stats.insns.into()),
        ("expected_insns", stats.expected_insns.into()),
        ("constant_allow", stats.constant_allow.into()),
        ("nodes", stats.nodes.into()),
        ("compile_us", microseconds(stats.compile).into()),
        ("prove_us", microseconds(stats.prove).into()),
        ("proved", stats.proved.into()),
    ]
}

fn microseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

fn stats_text(stats: &Stats, name: &str, arches: &[Arch]) -> String {
    let arches: Vec<&str> = arches.iter().map(|arch| arch.name()).collect();
    format!(
        "source            {name}\n\
         architectures     {}\n\
         instructions      {}\n\
         expected          {:.2} executed per call (mean under the weights)\n\
         constant allow    {} calls\n\
         diagram           {} nodes\n\
         compiled in       {:.0} µs\n\
         proved in         {:.0} µs{}\n",
        arches.join(", "),
        stats.insns,
        stats.expected_insns,
        stats.constant_allow,
        stats.nodes,
        microseconds(stats.compile),
        microseconds(stats.prove),
        if stats.proved { ": the program means what the source says" } else { "" },
    )
}
