//! Measures each workload on all engines.

use std::fs;
use std::path::Path;

use callgate::compile::{Options, compile};
use callgate::{Arch, Endian, SeccompData};
use callgate_bpf::random::Rng;
use callgate_core::{Insn, Op, Program, Verdict, Word, is_constant_allow};
use callgate_measure::engines as measure;
use callgate_measure::engines::workloads::{self, EngineInputs, Workload};
use callgate_vm::EngineKind;

use super::figures::{Engines, LONG, Row, Section, Times, insns};
use super::peers::{Contender, Peers};
use crate::compare::generate;
use callgate_tasks::Result;
use callgate_tasks::files::{files, stem};

/// The number of passes over all engines, so that a busy moment does not affect only one of them.
const PASSES: usize = 3;

/// Measures the classic workloads, and the filters of a directory.
pub(in super::super) fn measure(
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
    workloads.push(reloading()?);
    for path in filters.map_or(Ok(Vec::new()), |filters| files(filters, "bpf"))? {
        let read = || {
            let bytes = fs::read(&path).map_err(|error| error.to_string())?;
            Program::from_bytes(&bytes, Endian::Little).map_err(|error| error.to_string())
        };
        let program = read().map_err(|error| format!("{}: {error}", path.display()))?;
        workloads.push(workloads::of_syscalls(stem(&path), program, Endian::Little, openat()));
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
                EngineInputs::Syscalls { program, hot, .. } => {
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

/// A program of random rules with at least [`LONG`] instructions.
fn long() -> Result<Workload> {
    for rules in 1..=LONG as u32 {
        let policy = generate::random(rules).to_policy()?;
        let compiled = compile(&policy, &Options::default()).map_err(|error| error.to_string())?;
        if compiled.program.len() >= LONG {
            let name = format!("{rules}-random-rules");
            return Ok(workloads::of_syscalls(
                name,
                compiled.program.into(),
                Endian::Little,
                openat(),
            ));
        }
    }
    Err(format!("{LONG} random rules give fewer than {LONG} instructions"))
}

/// How many rules [`reloading`] tests.
const RELOADING: usize = 100;

/// A program that loads all words again for each rule, as those of compilers that translate rule after rule.
fn reloading() -> Result<Workload> {
    let low = Word::arg_low(1).ok_or("no argument 1")?.offset(Endian::Little);
    let high = Word::arg_high(1).ok_or("no argument 1")?.offset(Endian::Little);
    let mut rng = Rng::new(5);
    let mut insns = Vec::new();
    for _ in 0..RELOADING {
        // Of a tenth as many syscalls, so that each has several rules.
        let nr = 3 * rng.below(RELOADING / 10) as u32;
        insns.extend([
            Insn::new(Op::LdWordAbs, Word::NR.offset(Endian::Little)),
            Insn::branch(Op::JeqK, nr, 0, 5),
            Insn::new(Op::LdWordAbs, high),
            Insn::branch(Op::JeqK, 0, 0, 3),
            Insn::new(Op::LdWordAbs, low),
            Insn::branch(Op::JeqK, rng.below(1000) as u32, 0, 1),
            Insn::new(Op::RetK, Verdict::ALLOW.0),
        ]);
    }
    insns.push(Insn::new(Op::RetK, Verdict::errno(1).0));
    let program = Program::new(insns).map_err(|error| error.to_string())?;
    // The number is compared with all rules.
    let hot = SeccompData { nr: 1, ..openat() };
    Ok(workloads::of_syscalls(format!("reloading-{RELOADING}-rules"), program, Endian::Little, hot))
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
