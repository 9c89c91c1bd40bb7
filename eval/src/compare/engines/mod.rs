//! `cargo xtask compare engines`: the same program run by our engines and by others, in one run.
//!
//! The others ([`peers`]) are libpcap's interpreter, two in Go, and rbpf, which is given the program as
//! eBPF ([`ebpf`]); the limit is the program as C ([`translate`]), compiled by `gcc -O2`. Each of them
//! measures itself with the same rounds over the same inputs, from a file, and prints a hash of what it
//! returned, which must be the reference's: what disagrees is not measured. Interpreters of packets get
//! the words of a call in network order, as they read them. [`tables`] compares the figures.
//!
//! The inputs of other programs than the classic workloads are made from their constants.

mod ebpf;
mod peers;
mod tables;
mod translate;

use std::fs;
use std::path::Path;
use std::time::Duration;

use callgate::bpf::{Program, is_constant_allow};
use callgate::compile::{Options, compile};
use callgate::{Arch, Endian, SeccompData};
use callgate_measure::engines as measure;
use callgate_measure::engines::workloads::{self, EngineInputs, Workload};
use callgate_vm::EngineKind;

use super::{files, generate, stem};
use crate::Result;
use peers::{Contender, Peers};

// Rows that others are compared with, and one of our own.
const GCC: &str = "gcc -O2";
const LIBPCAP: &str = "libpcap";
const GVISOR: &str = "gVisor pkg/bpf";
const NATIVE_IN_C: &str = "callgate, jit, in C";

/// How often everybody is measured, one after the other: a busy moment does not meet one of them alone.
const PASSES: usize = 3;

/// The length of the program that shows how long compiling takes.
const LONG: usize = 400;

/// What one of them takes for an input.
#[derive(Clone, Copy, Debug)]
struct Times {
    /// Nanoseconds, the same input all the time.
    hot: f64,
    /// Nanoseconds, inputs that all differ.
    cold: f64,
}

/// One way to run a program, and what it took or why it was not measured.
struct Row {
    name: String,
    times: Result<Times>,
    compile: Option<Duration>,
    bytes: Option<usize>,
}

/// One workload.
struct Section {
    name: String,
    insns: usize,
    executed: measure::Executed,
    /// Whether the hot input is a call that is allowed by its number alone.
    constant: bool,
    rows: Vec<Row>,
}

/// All workloads.
pub(super) struct Engines {
    versions: Vec<String>,
    sections: Vec<Section>,
}

/// Measures the classic workloads, and the filters of a directory.
pub(super) fn measure(
    directory: &Path,
    filters: Option<&Path>,
    progress: impl Fn(&str),
) -> Result<Engines> {
    let directory = directory.join("engines");
    let peers = Peers::build(&directory);
    let versions = peers.versions();
    versions.iter().for_each(|version| progress(version));
    let mut workloads = workloads::all();
    workloads.push(long()?);
    for path in filters.map_or(Ok(Vec::new()), |filters| files(filters, "bpf"))? {
        let read = || {
            let bytes = fs::read(&path).map_err(|error| error.to_string())?;
            Program::from_bytes(&bytes, Endian::Little).map_err(|error| error.to_string())
        };
        let program = read().map_err(|error| format!("{}: {error}", path.display()))?;
        workloads.push(workloads::of_calls(stem(&path), program, Endian::Little, openat()));
    }
    let mut sections = Vec::new();
    for workload in &workloads {
        progress(&workload.name);
        let contenders = peers.prepare(workload)?;
        let pass = || own(workload).chain(contenders.iter().map(Contender::measure));
        let mut rows: Vec<Row> = pass().collect();
        for _ in 1..PASSES {
            rows = rows.into_iter().zip(pass()).map(|(row, again)| row.or_better(again)).collect();
        }
        sections.push(Section {
            name: workload.name.clone(),
            insns: insns(workload).len(),
            executed: measure::executed(workload),
            constant: match &workload.inputs {
                EngineInputs::Calls { program, hot, .. } => {
                    is_constant_allow(program, hot.arch, hot.nr)
                }
                EngineInputs::Packets { .. } => false,
            },
            rows,
        });
    }
    Ok(Engines { versions, sections })
}

fn openat() -> SeccompData {
    SeccompData { arch: Arch::X86_64.token(), nr: 257, ..SeccompData::default() }
}

/// A program of [`LONG`] instructions or a few more: as many random rules as make it so long.
fn long() -> Result<Workload> {
    for rules in 1..=LONG as u32 {
        let policy = generate::random(rules).to_policy()?;
        let compiled = compile(&policy, &Options::default()).map_err(|error| error.to_string())?;
        if compiled.program.len() >= LONG {
            let name = format!("{rules}-random-rules");
            return Ok(workloads::of_calls(name, compiled.program, Endian::Little, openat()));
        }
    }
    Err(format!("{LONG} rules make no program of {LONG} instructions"))
}

fn insns(workload: &Workload) -> &[callgate::bpf::Insn] {
    match &workload.inputs {
        EngineInputs::Calls { program, .. } => program.insns(),
        EngineInputs::Packets { program, .. } => program.insns(),
    }
}

/// Our own engines.
fn own(workload: &Workload) -> impl Iterator<Item = Row> {
    EngineKind::ALL.iter().filter_map(|&kind| {
        let name = format!("callgate, {kind}");
        Some(match measure::measure(kind, workload).transpose()? {
            Ok(cost) => Row {
                name,
                times: Ok(Times { hot: cost.hot_ns, cold: cost.cold_ns }),
                compile: Some(cost.compile),
                bytes: Some(cost.code_bytes),
            },
            Err(why) => Row { name, times: Err(why.to_string()), compile: None, bytes: None },
        })
    })
}

impl Row {
    /// The best of two measurements.
    fn or_better(self, other: Row) -> Row {
        let times = match (self.times, other.times) {
            (Ok(one), Ok(two)) => {
                Ok(Times { hot: one.hot.min(two.hot), cold: one.cold.min(two.cold) })
            }
            // What fails once is not measured.
            (Err(why), _) | (_, Err(why)) => Err(why),
        };
        let compile = self.compile.into_iter().chain(other.compile).min();
        Row { times, compile, ..self }
    }
}

impl Engines {
    /// What was measured, in what version.
    pub(super) fn versions(&self) -> &[String] {
        &self.versions
    }
}
