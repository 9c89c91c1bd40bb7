//! Writes the programs that subcommands generate, and their statistics.

mod errors;
mod packets;
mod targets;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use callgate::compile::Stats;
use callgate::emit::{SourceLanguage, SourceOptions, template_source};
use callgate::{Arch, Endian};
use callgate_bpf::FilterFlags;
use callgate_bpf::disasm::{self, Dialect, ListingOptions};
use callgate_core::template::Template;
use callgate_core::{LongProgram, Program, RawInsn};
use clap::{ValueEnum, ValueHint};

use crate::options::Format;
use crate::output;
use crate::report::{self, Failure, Result};
use crate::stopwatch::Stopwatch;
use crate::text::{counted, printable};
use callgate_requests::json::Json;
use callgate_requests::template::variables_json;

/// Where and how a program is written.
#[derive(Debug, clap::Args)]
pub(crate) struct EmitOptions {
    /// Write the program to this file, atomically [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// The format of the program [default: bpf, or json with --format json and without -o]
    #[arg(long, value_name = "FORMAT")]
    emit: Option<Emit>,

    /// The name of the array in C, Rust and Go [default: filter]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// The package of a Go file with --installer or --target [default: $GOPACKAGE, which go generate sets, or
    /// main]
    #[arg(long, value_name = "NAME")]
    package: Option<String>,

    /// Also write functions that install the filter: in all threads, or in the calling one (C, Rust, Go)
    #[arg(long)]
    installer: bool,

    /// Print the size of the program, the mean number of executed instructions, and the time to compile it
    #[arg(long)]
    stats: bool,

    /// The format of the report of --stats
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
    /// The annotation for an OCI configuration with which crun installs the program
    Crun,
    /// JSON: figures about the program, and its instructions as arrays of numbers
    Json,
}

/// The annotation of crun for a program in base64, which replaces `linux.seccomp` (crun(1)).
const BPF_DATA: &str = "run.oci.seccomp_bpf_data";

/// A generated program and its figures.
pub(crate) struct Generated<'a> {
    pub(crate) program: &'a Program,
    /// The program with its variables, if it has any.
    pub(crate) template: Option<&'a Template>,
    /// The name of the source, with its JSON key.
    pub(crate) source: (&'static str, Json),
    pub(crate) arches: &'a [Arch],
    pub(crate) endian: Endian,
    /// The flags with which the filter is to be installed.
    pub(crate) flags: FilterFlags,
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

/// How a policy is written instead of a program.
pub(crate) struct PolicyOutput<'a> {
    pub(crate) output: Option<&'a Path>,
    pub(crate) name: Option<&'a str>,
    pub(crate) format: Format,
}

impl EmitOptions {
    /// The options that also hold for a policy.
    ///
    /// # Errors
    /// If others are given.
    pub(crate) fn of_policy(&self) -> Result<PolicyOutput<'_>> {
        let given = [
            ("--emit", self.emit.is_some()),
            ("--package", self.package.is_some()),
            ("--installer", self.installer),
            ("--stats", self.stats),
        ];
        if let Some((option, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
            return Err(Failure::new(format!(
                "{option} is about a program, and --to writes a policy"
            ))
            .help("omit one of them"));
        }
        Ok(PolicyOutput {
            output: self.output.as_deref(),
            name: self.name.as_deref(),
            format: self.format,
        })
    }
}

impl Emit {
    /// The dialect of a text form.
    pub(crate) fn dialect(self) -> Option<Dialect> {
        match self {
            Emit::Asm => Some(Dialect::Annotated),
            Emit::C => Some(Dialect::C),
            Emit::Rust => Some(Dialect::Rust),
            Emit::Go => Some(Dialect::Go),
            Emit::Bpf | Emit::Crun | Emit::Json => None,
        }
    }

    /// The language of source code.
    fn language(self) -> Option<SourceLanguage> {
        match self {
            Emit::C => Some(SourceLanguage::C),
            Emit::Rust => Some(SourceLanguage::Rust),
            Emit::Go => Some(SourceLanguage::Go),
            Emit::Bpf | Emit::Asm | Emit::Crun | Emit::Json => None,
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
            Emit::Crun | Emit::Json => "json",
        }
    }
}

impl EmitOptions {
    /// The form of the program, and the file for it.
    fn form(&self) -> (Emit, Option<&Path>) {
        let output = self.output.as_deref().filter(|path| path.as_os_str() != "-");
        let emit = self.emit.unwrap_or(match self.format {
            Format::Json if output.is_none() => Emit::Json,
            _ => Emit::Bpf,
        });
        (emit, output)
    }

    /// Whether figures are written.
    pub(crate) fn has_figures(&self) -> bool {
        self.stats || self.form().0 == Emit::Json
    }

    /// Writes the program and its figures as the options say.
    pub(crate) fn deliver(&self, generated: Generated<'_>) -> Result<u8> {
        let (emit, _) = self.form();
        self.warn_about_format(emit);
        let Generated { program, template, source, arches, endian, flags, figures } = generated;
        self.check_names(emit)?;
        let figures_text = self.figures_text(&figures);
        if self.prints_figures_only() {
            output::print(&figures_text)?;
            return Ok(0);
        }
        let text = match (emit, emit.language(), template) {
            (_, Some(language), template) => {
                let options = self.source_options(language, (endian, arches, flags));
                Some(match template {
                    Some(template) => template_source(template, &options),
                    None => callgate::emit::source(program, &options),
                })
                .transpose()
                .map_err(|error| errors::not_emitted(&error))?
            }
            (Emit::Asm, _, Some(template)) => {
                let options = ListingOptions { endian, arches: arches.to_vec(), name: None };
                Some(disasm::disassemble_template(template, Dialect::Annotated, &options))
            }
            (Emit::Asm, _, None) => Some(self::text(program, Dialect::Annotated, endian, arches)),
            (Emit::Json, _, template) => {
                let arches = Json::array(arches.iter().map(|arch| arch.name()));
                let mut fields = vec![source, ("arches", arches)];
                fields.extend(figures.json);
                fields.push(("program", rows(program)));
                fields.extend(template.into_iter().flat_map(variables_json));
                Some(format!("{}\n", Json::Object(fields)))
            }
            (_, _, Some(template)) => return Err(errors::without_values(template)),
            (Emit::Crun, _, None) => Some(crun(program, endian)),
            (Emit::Bpf | Emit::C | Emit::Rust | Emit::Go, _, None) => None,
        };
        self.write(text.as_deref(), || program.to_bytes(endian), &figures_text)
    }

    fn warn_about_format(&self, emit: Emit) {
        if self.format == Format::Json && emit != Emit::Json && !self.stats {
            report::warn(
                "--format only affects --stats",
                "add --stats, or use --emit json for a program as JSON",
            );
        }
    }

    fn figures_text(&self, figures: &Figures) -> String {
        match self.format {
            Format::Json => format!("{}\n", Json::Object(figures.json.clone())),
            Format::Text => {
                figures.text.iter().map(|(label, value)| format!("{label:<18}{value}\n")).collect()
            }
        }
    }

    /// At a terminal, figures are printed alone instead of failing because of raw bytes.
    fn prints_figures_only(&self) -> bool {
        let (_, output) = self.form();
        self.stats && output.is_none() && self.emit.is_none() && io::stdout().is_terminal()
    }

    /// Writes a program as text, or else its bytes, and its figures.
    fn write(
        &self,
        text: Option<&str>,
        bytes: impl FnOnce() -> Vec<u8>,
        figures_text: &str,
    ) -> Result<u8> {
        let (_, output) = self.form();
        match (output, text) {
            (_, None) => output::write_program(output, &bytes())?,
            (Some(path), Some(text)) => output::write_file(path, text.as_bytes())?,
            (None, Some(text)) => output::print(text)?,
        }
        match (self.stats, output) {
            (false, _) => {}
            (true, Some(_)) => output::print(figures_text)?,
            (true, None) => report::note(figures_text),
        }
        Ok(0)
    }
}

impl EmitOptions {
    fn check_names(&self, emit: Emit) -> Result<()> {
        let option = match (&self.name, self.installer) {
            _ if self.package.is_some() && emit != Emit::Go => {
                return Err(Failure::new("--package is for Go").help("add --emit go, or omit it"));
            }
            _ if matches!(emit, Emit::C | Emit::Rust | Emit::Go) => return Ok(()),
            (Some(_), _) => "--name",
            (None, true) => "--installer",
            (None, false) => return Ok(()),
        };
        Err(Failure::new(format!("{option} is for source code"))
            .help("add --emit c, --emit rust or --emit go"))
    }

    /// The options of source code.
    fn source_options(
        &self,
        language: SourceLanguage,
        (endian, arches, flags): (Endian, &[Arch], FilterFlags),
    ) -> SourceOptions {
        let (name, installer, arches) = (self.name.clone(), self.installer, arches.to_vec());
        let of_generate = || std::env::var("GOPACKAGE").ok().filter(|name| !name.is_empty());
        let package = self.package.clone().or_else(of_generate);
        SourceOptions { language, name, package, installer, flags, endian, arches }
    }
}

/// The members of an OCI configuration with which crun installs a program.
pub(crate) fn crun(program: &LongProgram, endian: Endian) -> String {
    let data = BASE64_STANDARD.encode(program.to_bytes(endian));
    let annotations = Json::Object(vec![(BPF_DATA, data.into())]);
    format!("{}\n", Json::Object(vec![("annotations", annotations)]))
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
        Figures::with(stats, stopwatch, (sources, arches), proof, false)
    }

    /// The same for a program with variables.
    pub(crate) fn of_template(
        stats: &Stats,
        stopwatch: &Stopwatch,
        sources: &[&str],
        arches: &[Arch],
    ) -> Figures {
        let proof = "the program is equivalent to the source for all values of the variables";
        Figures::with(stats, stopwatch, (sources, arches), proof, true)
    }

    fn with(
        stats: &Stats,
        stopwatch: &Stopwatch,
        (sources, arches): (&[&str], &[Arch]),
        proof: &str,
        has_variables: bool,
    ) -> Figures {
        let unknown = match has_variables {
            true => "unknown: it depends on the variables",
            false if stats.nodes == 0 => {
                "unknown: nothing is permitted, or the rules are too complex for a diagram"
            }
            false => "unknown: no known syscall is permitted",
        };
        let mut figures = Figures::about(sources, arches);
        figures.add("insns", stats.insns, "instructions", stats.insns.to_string());
        let mean = |mean: Option<f64>| mean.map(|mean| (mean, format!("{mean:.2}")));
        figures.add_executed([mean(stats.filtered_insns), mean(stats.expected_insns)], unknown);
        let calls = counted(stats.constant_allow as u64, "syscall");
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

    /// Adds the mean numbers of executed instructions as value and text: where every kernel runs the filter, and of all syscalls.
    /// `unknown` is for programs without either.
    pub(crate) fn add_executed(&mut self, means: [Option<(f64, String)>; 2], unknown: &str) {
        let [filtered, all] = means;
        self.json.push(("filtered_insns", filtered.as_ref().map(|(mean, _)| *mean).into()));
        self.json.push(("expected_insns", all.as_ref().map(|(mean, _)| *mean).into()));
        let unit = if filtered.is_some() { "" } else { " instructions" };
        let filtered = filtered.map(|(_, text)| {
            format!("{text} instructions per permitted syscall that runs the filter")
        });
        let all = all
            .map(|(_, text)| format!("{text}{unit} per syscall before Linux 5.11 (weighted mean)"));
        let lines: Vec<String> = [filtered, all].into_iter().flatten().collect();
        let lines = if lines.is_empty() { vec![unknown.to_owned()] } else { lines };
        let labels = ["executed"].into_iter().chain(std::iter::repeat(""));
        self.text.extend(labels.zip(lines));
    }

    /// Adds the effort of a compilation.
    pub(crate) fn add_work(&mut self, stats: &Stats, stopwatch: &Stopwatch, proof: &str) {
        let (compile, prove) = (microseconds(stopwatch.compile), microseconds(stopwatch.prove));
        let diagram = match stats.nodes {
            0 => "not needed: proved by cases".to_owned(),
            nodes => format!("{nodes} nodes"),
        };
        self.add("nodes", stats.nodes, "MTBDD", diagram);
        self.add("compile_us", compile, "compiled in", format!("{compile:.0} µs"));
        self.add("prove_us", prove, "proved in", format!("{prove:.0} µs: {proof}"));
        // Nothing else is compiled.
        self.json.push(("proved", true.into()));
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
    let options = disasm::ListingOptions { endian, arches: arches.to_vec(), name: None };
    disasm::disassemble(program, dialect, &options)
}

/// The fields of the instructions, `[code, jt, jf, k]` each.
pub(crate) fn rows(program: &LongProgram) -> Json {
    rows_of(program.to_raw())
}

/// The same for the instructions of any program.
fn rows_of(insns: Vec<RawInsn>) -> Json {
    Json::array(insns.into_iter().map(|RawInsn { code, jt, jf, k }| {
        Json::Array(vec![code.into(), jt.into(), jf.into(), k.into()])
    }))
}
