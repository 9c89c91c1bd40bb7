//! Programs that subcommands make: where they go, in which form, and their figures.

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

/// Where a program goes.
#[derive(Debug, clap::Args)]
pub(crate) struct EmitOptions {
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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Emit {
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

/// A program with what is known of it.
pub(crate) struct Made<'a> {
    pub(crate) program: &'a Program,
    /// Where it comes from, under its key.
    pub(crate) source: (&'static str, Json),
    pub(crate) arches: &'a [Arch],
    pub(crate) endian: Endian,
    pub(crate) figures: Figures,
}

/// Facts about a program, for machines and for people.
#[derive(Default)]
pub(crate) struct Figures {
    /// With their stable keys.
    pub(crate) json: Vec<(&'static str, Json)>,
    /// A line each.
    pub(crate) text: Vec<(&'static str, String)>,
}

impl Emit {
    /// The notation, where it is one.
    pub(crate) fn dialect(self) -> Option<Dialect> {
        match self {
            Emit::Asm => Some(Dialect::Annotated),
            Emit::C => Some(Dialect::C),
            Emit::Rust => Some(Dialect::Rust),
            Emit::Go => Some(Dialect::Go),
            Emit::Bpf | Emit::Json => None,
        }
    }

    /// What names of files in this form end with.
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
    /// Writes the program and its figures to where they are wanted.
    pub(crate) fn deliver(&self, made: Made<'_>) -> Result<u8> {
        let output = self.output.as_deref().filter(|path| path.as_os_str() != "-");
        let emit = self.emit.unwrap_or(match self.format {
            Format::Json if output.is_none() => Emit::Json,
            _ => Emit::Bpf,
        });
        if self.format == Format::Json && emit != Emit::Json && !self.stats {
            report::warn(
                "--format json has no effect: it is the form of the figures, which nobody asked for",
                "add --stats, or --emit json for a program in JSON",
            );
        }
        let Made { program, source, arches, endian, figures } = made;
        let figures_text = match self.format {
            Format::Json => format!("{}\n", Json::Object(figures.json.clone())),
            Format::Text => {
                figures.text.iter().map(|(label, value)| format!("{label:<18}{value}\n")).collect()
            }
        };
        // Whoever asks for the figures at a terminal wants to see them, not an error about raw bytes.
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
    /// What a compilation tells; `proof` says in words what was proved.
    pub(crate) fn of(
        stats: &Stats,
        stopwatch: &Stopwatch,
        sources: &[&str],
        arches: &[Arch],
        proof: &str,
    ) -> Figures {
        let mean = match stats.expected_insns {
            Some(mean) => format!("{mean:.2} executed per call (mean under the weights)"),
            None => "unknown: no known syscall is permitted".to_owned(),
        };
        let mut figures = Figures::about(sources, arches);
        figures.add("insns", stats.insns, "instructions", stats.insns.to_string());
        figures.add("expected_insns", stats.expected_insns, "expected", mean);
        let calls = format!("{} calls", stats.constant_allow);
        figures.add("constant_allow", stats.constant_allow, "constant allow", calls);
        figures.add_work(stats, stopwatch, proof);
        figures
    }

    /// Where a program comes from.
    pub(crate) fn about(sources: &[&str], arches: &[Arch]) -> Figures {
        let arches: Vec<&str> = arches.iter().map(|arch| arch.name()).collect();
        let labels = ["source"].into_iter().chain(std::iter::repeat(""));
        let mut text: Vec<_> =
            labels.zip(sources.iter().map(|source| printable(source).to_string())).collect();
        text.push(("architectures", arches.join(", ")));
        Figures { json: Vec::new(), text }
    }

    /// A fact in both forms.
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

    /// What a compilation took.
    pub(crate) fn add_work(&mut self, stats: &Stats, stopwatch: &Stopwatch, proof: &str) {
        let (compile, prove) = (microseconds(stopwatch.compile), microseconds(stopwatch.prove));
        self.add("nodes", stats.nodes, "diagram", format!("{} nodes", stats.nodes));
        self.add("compile_us", compile, "compiled in", format!("{compile:.0} µs"));
        self.add("prove_us", prove, "proved in", format!("{prove:.0} µs: {proof}"));
        self.json.push(("proved", stats.proved.into()));
    }
}

fn microseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// A program in a notation.
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
