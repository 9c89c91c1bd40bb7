//! Writes the programs that subcommands generate, and their statistics.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::Duration;

use callgate::bpf::disasm::{self, Dialect};
use callgate::bpf::{LongProgram, Program, RawInsn};
use callgate::compile::Stats;
use callgate::{Arch, Endian};
use clap::{ValueEnum, ValueHint};

use crate::json::Json;
use crate::options::Format;
use crate::output;
use crate::report::{self, Result};
use crate::stopwatch::Stopwatch;
use crate::text::printable;

/// Where and how a program is written.
#[derive(Debug, clap::Args)]
pub(crate) struct EmitOptions {
    /// Write the program to this file, atomically [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// The format of the program [default: bpf, or json with --format json and without -o]
    #[arg(long, value_name = "FORMAT")]
    emit: Option<Emit>,

    /// Print the size of the program, the mean number of executed instructions, and the time to compile it
    #[arg(long)]
    stats: bool,

    /// The format of --stats
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Emit {
    /// Raw instructions, struct sock_filter
    Bpf,
    /// Assembler text; `callgate asm` reads it
    Asm,
    /// A C array
    C,
    /// A Rust array (crate libc)
    Rust,
    /// A Go slice (golang.org/x/sys/unix)
    Go,
    /// JSON: figures about the program, and its instructions as arrays of numbers
    Json,
}

/// A generated program and its figures.
pub(crate) struct Generated<'a> {
    pub(crate) program: &'a Program,
    /// The name of the source, with its JSON key.
    pub(crate) source: (&'static str, Json),
    pub(crate) arches: &'a [Arch],
    pub(crate) endian: Endian,
    pub(crate) figures: Figures,
}

/// Figures about a program, as JSON and as text.
#[derive(Default)]
pub(crate) struct Figures {
    /// Fields with stable keys.
    pub(crate) json: Vec<(&'static str, Json)>,
    /// Labelled lines.
    pub(crate) text: Vec<(&'static str, String)>,
}

impl Emit {
    /// The dialect of a text form.
    pub(crate) fn dialect(self) -> Option<Dialect> {
        match self {
            Emit::Asm => Some(Dialect::Annotated),
            Emit::C => Some(Dialect::C),
            Emit::Rust => Some(Dialect::Rust),
            Emit::Go => Some(Dialect::Go),
            Emit::Bpf | Emit::Json => None,
        }
    }

    /// The extension of files in this form.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Emit::Bpf => "bpf",
            Emit::Asm => "asm",
            Emit::C => "c",
            Emit::Rust => "rs",
            Emit::Go => "go",
            Emit::Json => "json",
        }
    }
}

impl EmitOptions {
    /// Writes the program and its figures as the options say.
    pub(crate) fn deliver(&self, generated: Generated<'_>) -> Result<u8> {
        let output = self.output.as_deref().filter(|path| path.as_os_str() != "-");
        let emit = self.emit.unwrap_or(match self.format {
            Format::Json if output.is_none() => Emit::Json,
            _ => Emit::Bpf,
        });
        if self.format == Format::Json && emit != Emit::Json && !self.stats {
            report::warn(
                "--format only affects --stats",
                "add --stats, or use --emit json for a program as JSON",
            );
        }
        let Generated { program, source, arches, endian, figures } = generated;
        let figures_text = match self.format {
            Format::Json => format!("{}\n", Json::Object(figures.json.clone())),
            Format::Text => {
                figures.text.iter().map(|(label, value)| format!("{label:<18}{value}\n")).collect()
            }
        };
        // At a terminal, print the figures alone instead of failing because of raw bytes.
        if self.stats && output.is_none() && self.emit.is_none() && io::stdout().is_terminal() {
            output::print(&figures_text)?;
            return Ok(0);
        }
        let text = match (emit, emit.dialect()) {
            (_, Some(dialect)) => Some(text(program, dialect, endian, arches)),
            (Emit::Json, None) => {
                let arches = Json::array(arches.iter().map(|arch| arch.name()));
                let mut fields = vec![source, ("arches", arches)];
                fields.extend(figures.json);
                fields.push(("program", rows(program)));
                Some(format!("{}\n", Json::Object(fields)))
            }
            (_, None) => None,
        };
        match (output, &text) {
            (_, None) => output::write_program(output, &program.to_bytes(endian))?,
            (Some(path), Some(text)) => output::write_file(path, text.as_bytes())?,
            (None, Some(text)) => output::print(text)?,
        }
        match (self.stats, output) {
            (false, _) => {}
            (true, Some(_)) => output::print(&figures_text)?,
            (true, None) => report::note(&figures_text),
        }
        Ok(0)
    }
}

impl Figures {
    /// The figures of a compilation; `proof` describes what was proved.
    pub(crate) fn of(
        stats: &Stats,
        stopwatch: &Stopwatch,
        sources: &[&str],
        arches: &[Arch],
        proof: &str,
    ) -> Figures {
        let mean = match stats.expected_insns {
            Some(mean) => format!("{mean:.2} instructions per syscall (weighted mean)"),
            None => "unknown: no known syscall is permitted".to_owned(),
        };
        let mut figures = Figures::about(sources, arches);
        figures.add("insns", stats.insns, "instructions", stats.insns.to_string());
        figures.add("expected_insns", stats.expected_insns, "executed", mean);
        let calls = format!("{} syscalls", stats.constant_allow);
        figures.add("constant_allow", stats.constant_allow, "constant allow", calls);
        figures.add_work(stats, stopwatch, proof);
        figures
    }

    /// The sources and architectures of a program.
    pub(crate) fn about(sources: &[&str], arches: &[Arch]) -> Figures {
        let arches: Vec<&str> = arches.iter().map(|arch| arch.name()).collect();
        let labels = ["source"].into_iter().chain(std::iter::repeat(""));
        let mut text: Vec<_> =
            labels.zip(sources.iter().map(|source| printable(source).to_string())).collect();
        text.push(("architectures", arches.join(", ")));
        Figures { json: Vec::new(), text }
    }

    /// Adds a figure in both forms.
    pub(crate) fn add(
        &mut self,
        key: &'static str,
        value: impl Into<Json>,
        label: &'static str,
        text: String,
    ) {
        self.json.push((key, value.into()));
        self.text.push((label, text));
    }

    /// Adds the effort of a compilation.
    pub(crate) fn add_work(&mut self, stats: &Stats, stopwatch: &Stopwatch, proof: &str) {
        let (compile, prove) = (microseconds(stopwatch.compile), microseconds(stopwatch.prove));
        self.add("nodes", stats.nodes, "MTBDD", format!("{} nodes", stats.nodes));
        self.add("compile_us", compile, "compiled in", format!("{compile:.0} µs"));
        self.add("prove_us", prove, "proved in", format!("{prove:.0} µs: {proof}"));
        self.json.push(("proved", stats.proved.into()));
    }
}

fn microseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// A program as text.
pub(crate) fn text(
    program: &LongProgram,
    dialect: Dialect,
    endian: Endian,
    arches: &[Arch],
) -> String {
    let options = disasm::ListingOptions { endian, arches: arches.to_vec() };
    disasm::disassemble(program, dialect, &options)
}

/// The fields of the instructions, `[code, jt, jf, k]` each.
pub(crate) fn rows(program: &LongProgram) -> Json {
    Json::array(program.to_raw().into_iter().map(|RawInsn { code, jt, jf, k }| {
        Json::Array(vec![code.into(), jt.into(), jf.into(), k.into()])
    }))
}
