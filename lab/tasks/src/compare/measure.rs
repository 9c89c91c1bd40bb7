//! Measures programs: size, executed instructions, syscalls that the kernel can cache, and equivalence.

use callgate_bpf::SyscallTable;
use std::time::{Duration, Instant};

use callgate::compile::{CompileError, Compiled, Options, compile, recompile};
use callgate::{Arch, Endian};
use callgate_codegen::query::{Difference, differences};
use callgate_codegen::{Aim, Model, WeightedSyscall, Weights};
use callgate_core::diagram::{Func, Store};
use callgate_core::policy::Policy;
use callgate_core::{Program, is_constant_allow};

use super::peers::{self, Missing, Peer, Peers};
use super::rules::{Narrow, Rules};
use super::workloads::Workload;
use callgate_tasks::Result;

/// For how long a compilation is repeated to compute its median.
pub(super) const REPEAT: Duration = Duration::from_millis(250);
/// The time limit of another compiler for one case.
pub(super) const LIMIT: Duration = Duration::from_secs(10);
const MAX_RUNS: usize = 501;

/// The byte order of the machines in the comparison.
const ENDIAN: Endian = Endian::Little;

/// One compiler on one rule set.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) outcome: Result<Figures, Missing>,
}

/// The figures of a program.
pub(super) struct Figures {
    pub(super) insns: usize,
    /// The mean number of executed instructions for each workload; `None` if no syscall has weight, or the kernel
    /// does not accept the program.
    pub(super) executed: Vec<Option<f64>>,
    /// The number of known syscalls that are constant allow.
    pub(super) constant_allow: usize,
    pub(super) time: Duration,
    pub(super) meaning: Meaning,
    /// Syscalls that are omitted because the compiler does not know their names.
    pub(super) unknown: Vec<(Arch, u32)>,
    /// Arguments of which the compiler compares only the bits of their types.
    pub(super) narrow: Vec<Narrow>,
    /// Callgate's program for exactly the function of this program, for each workload, or why there is none. Empty
    /// for its own programs.
    pub(super) ours: Vec<Result<Ours>>,
}

/// The size and the mean number of executed instructions of a program.
#[derive(Clone, Copy)]
pub(super) struct Ours {
    pub(super) insns: usize,
    pub(super) executed: Option<f64>,
}

impl Ours {
    /// Whether it is neither longer nor slower.
    fn is_ahead_of(self, other: Ours) -> bool {
        self.insns <= other.insns
            && self.executed.zip(other.executed).is_none_or(|(own, other)| own <= other)
    }
}

/// Whether a program is equivalent to the rules.
pub(super) enum Meaning {
    /// Callgate's own proof.
    Proved,
    /// The same node as the rules, with the edges of the program's compiler.
    Same,
    /// The differences, as text.
    Differs(Vec<String>),
    /// It could not be executed symbolically.
    Unknown(String),
}

/// The rules as an MTBDD, with the weighted syscalls.
struct Reference {
    store: Store,
    root: Func,
    arches: Vec<Arch>,
    syscalls: Vec<Vec<WeightedSyscall>>,
}

impl Reference {
    fn new(policy: &Policy, workloads: &[Workload]) -> Result<Reference> {
        let mut store = Store::default();
        let root = store.policy(policy).map_err(|error| error.to_string())?;
        let arches: Vec<Arch> = policy.arches().collect();
        let resolve = |workload: &Workload| workload.weights.resolve(&store, root, &arches);
        let syscalls = workloads.iter().map(resolve).collect();
        Ok(Reference { store, root, arches, syscalls })
    }

    /// The mean number of executed instructions; `None` if no syscall has weight.
    fn executed(&self, program: &Program, index: usize, workload: &Workload) -> Option<f64> {
        workload.executed((&self.store, self.root), program, &self.syscalls[index])
    }

    fn constant_allow(&self, program: &Program) -> usize {
        let syscalls =
            self.arches.iter().flat_map(|arch| arch.syscalls().map(|(nr, _)| (arch.token(), nr)));
        syscalls.filter(|(token, nr)| is_constant_allow(program, *token, *nr)).count()
    }
}

/// The four configurations of Callgate in the comparison.
const WAYS: [(&str, Model, Aim); 4] = [
    ("Callgate, speed", Model::Uncached, Aim::Speed),
    ("Callgate, size", Model::Uncached, Aim::Size),
    ("Callgate, cached, speed", Model::Cached, Aim::Speed),
    ("Callgate, cached, size", Model::Cached, Aim::Size),
];

/// Every compiler on one rule set.
pub(super) fn rows(rules: &Rules, peers: &Peers, workloads: &[Workload]) -> Result<Vec<Row>> {
    let policy = rules.to_policy()?;
    let reference = Reference::new(&policy, workloads)?;
    let mut rows = Vec::new();
    for (name, model, aim) in WAYS {
        let outcome = own(&policy, &reference, workloads, model, aim)
            .map_err(|error| Missing::Failed(error.to_string()));
        rows.push(Row { name: name.to_owned(), outcome });
    }
    for peer in Peer::ALL {
        let outcome = other(peer, rules, peers, &reference, workloads);
        rows.push(Row { name: peer.name().to_owned(), outcome });
    }
    Ok(rows)
}

/// Compiles repeatedly; returns the last result and the median time.
pub(super) fn repeated<T>(repeat: Duration, mut run: impl FnMut() -> T) -> (T, Duration) {
    let mut times = Vec::new();
    let begin = Instant::now();
    loop {
        let start = Instant::now();
        let result = run();
        times.push(start.elapsed());
        if begin.elapsed() >= repeat || times.len() == MAX_RUNS {
            times.sort_unstable();
            return (result, times[times.len() / 2]);
        }
    }
}

fn own(
    policy: &Policy,
    reference: &Reference,
    workloads: &[Workload],
    model: Model,
    aim: Aim,
) -> Result<Figures, CompileError> {
    let options = |weights: Weights| Options { model, aim, weights, ..Options::default() };
    let uniform = options(Weights::uniform());
    let (compiled, time) = repeated(REPEAT, || compile(policy, &uniform));
    let program = compiled?.program;
    let mut executed = Vec::new();
    for (index, workload) in workloads.iter().enumerate() {
        let told = compile(policy, &options(workload.weights.clone()))?.program;
        executed.push(reference.executed(&told, index, workload));
    }
    Ok(Figures {
        insns: program.len(),
        executed,
        constant_allow: reference.constant_allow(&program),
        time,
        meaning: Meaning::Proved,
        unknown: Vec::new(),
        narrow: Vec::new(),
        ours: Vec::new(),
    })
}

fn other(
    peer: Peer,
    rules: &Rules,
    peers: &Peers,
    reference: &Reference,
    workloads: &[Workload],
) -> Result<Figures, Missing> {
    let compiled = peers.compile(peer, rules, REPEAT, LIMIT)?;
    let insns = compiled.bytes.len() / 8;
    let time = compiled.time;
    let program = match Program::from_bytes(&compiled.bytes, ENDIAN) {
        Ok(program) => program,
        Err(error) => {
            let why = format!("the kernel does not accept its program: {}", first_line(&error));
            let (executed, ours) = (vec![None; workloads.len()], Vec::new());
            let (meaning, unknown) = (Meaning::Unknown(why), compiled.unknown);
            let narrow = compiled.narrow;
            return Ok(Figures {
                insns,
                executed,
                constant_allow: 0,
                time,
                meaning,
                unknown,
                narrow,
                ours,
            });
        }
    };
    let (mut executed, mut ours) = (Vec::new(), Vec::new());
    for (index, workload) in workloads.iter().enumerate() {
        // Compilers that accept frequencies get them.
        let told = if peer.takes_weights() && !workload.hot.is_empty() {
            let rules = Rules { hot: workload.hot.clone(), ..rules.clone() };
            let told = peers.compile(peer, &rules, Duration::ZERO, LIMIT)?;
            Program::from_bytes(&told.bytes, ENDIAN)
                .map_err(|error| Missing::Failed(error.to_string()))?
        } else {
            program.clone()
        };
        let theirs = Ours { insns, executed: reference.executed(&told, index, workload) };
        executed.push(theirs.executed);
        ours.push(best_of_aims(theirs, |aim| {
            let weights = workload.weights.clone();
            let options = Options { model: workload.model, aim, weights, ..Options::default() };
            let again = recompile(&program, ENDIAN, &reference.arches, &options);
            let Compiled { program, .. } = again.map_err(|error| error.to_string())?;
            Ok(Ours {
                insns: program.len(),
                executed: reference.executed(&program, index, workload),
            })
        }));
    }
    let constant_allow = reference.constant_allow(&program);
    let meaning = meaning(peer, rules, &compiled, &program)
        .unwrap_or_else(|error| Meaning::Unknown(error.to_string()));
    let (unknown, narrow) = (compiled.unknown, compiled.narrow);
    Ok(Figures { insns, executed, constant_allow, time, meaning, unknown, narrow, ours })
}

/// The program optimized for speed, or that for size if only that one is ahead in both figures.
fn best_of_aims(theirs: Ours, make: impl Fn(Aim) -> Result<Ours>) -> Result<Ours> {
    let speed = make(Aim::Speed)?;
    if speed.is_ahead_of(theirs) {
        return Ok(speed);
    }
    let size = make(Aim::Size)?;
    Ok(if size.is_ahead_of(theirs) { size } else { speed })
}

/// Compares a program with the rules as its compiler interprets them.
fn meaning(
    peer: Peer,
    rules: &Rules,
    compiled: &peers::Compiled,
    program: &Program,
) -> Result<Meaning> {
    let known = rules.without(&compiled.unknown).narrowed(&compiled.narrow);
    let expected = known.with_edges(peer.edges(rules)).to_policy()?;
    let mut store = Store::default();
    let expected = store.policy(&expected).map_err(|error| error.to_string())?;
    let given = store.program(program, ENDIAN).map_err(|error| error.to_string())?;
    if given == expected {
        return Ok(Meaning::Same);
    }
    let differences = differences(&store, expected, given, 3).map_err(|error| error.to_string())?;
    let mut syscalls: Vec<String> = differences.iter().map(show).collect();
    syscalls.dedup();
    Ok(Meaning::Differs(syscalls))
}

/// The first line of an error message.
fn first_line(error: &impl std::fmt::Display) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

/// A difference between rules and program: a syscall with both verdicts. Syscalls that bypass the filter of
/// another compiler are not published.
fn show(difference: &Difference) -> String {
    if difference.right.permits() && !difference.left.permits() {
        return "it permits a syscall that they deny".to_owned();
    }
    let data = &difference.data;
    let arch = Arch::with_token(data.arch).find(|arch| arch.syscall_name(data.nr).is_some());
    let name = arch.and_then(|arch| arch.syscall_name(data.nr));
    let name = name.map_or_else(|| format!("call {:#x}", data.nr), str::to_owned);
    let arch = arch.or(Arch::with_token(data.arch).next());
    let arch = arch.map_or_else(|| format!("arch {:#x}", data.arch), |arch| arch.to_string());
    let last = data.args.iter().rposition(|arg| *arg != 0).map_or(0, |last| last + 1);
    let args: Vec<String> = data.args[..last].iter().map(|arg| format!("{arg:#x}")).collect();
    let (left, right) = (difference.left, difference.right);
    format!("`{arch} {name}({})` gets {right} instead of {left}", args.join(", "))
}

/// A program of another compiler, and Callgate's program for the same function.
pub(super) struct Again {
    pub(super) name: String,
    pub(super) insns: usize,
    pub(super) executed: Vec<Option<f64>>,
    pub(super) speed: Vec<Result<Ours>>,
    pub(super) size: usize,
    pub(super) time: Duration,
}

/// Compiles a program of another compiler for these architectures again.
pub(super) fn again(
    name: String,
    program: &Program,
    arches: &[Arch],
    workloads: &[Workload],
) -> Result<Again> {
    let mut store = Store::default();
    let root = store.program(program, ENDIAN).map_err(|error| error.to_string())?;
    let (mut executed, mut speed) = (Vec::new(), Vec::new());
    for workload in workloads {
        let syscalls = workload.weights.resolve(&store, root, arches);
        let mean = |program: &Program| workload.executed((&store, root), program, &syscalls);
        let weights = workload.weights.clone();
        let options = Options { model: workload.model, weights, ..Options::default() };
        let ours = recompile(program, ENDIAN, arches, &options).map_err(|e| e.to_string())?.program;
        executed.push(mean(program));
        speed.push(Ok(Ours { insns: ours.len(), executed: mean(&ours) }));
    }
    let speedy = Options { model: Model::Uncached, ..Options::default() };
    let (_, time) = repeated(REPEAT, || recompile(program, ENDIAN, arches, &speedy));
    let small = Options { aim: Aim::Size, ..speedy };
    let small = recompile(program, ENDIAN, arches, &small).map_err(|error| error.to_string())?;
    Ok(Again { name, insns: program.len(), executed, speed, size: small.program.len(), time })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_is_aimed_at_where_only_that_is_ahead_in_both() {
        let of = |insns, executed| Ours { insns, executed: Some(executed) };
        let best = |speed: Ours, size: Ours| {
            let make = |aim| Ok(if aim == Aim::Speed { speed } else { size });
            best_of_aims(of(10, 5.0), make).unwrap().insns
        };
        assert_eq!(best(of(9, 4.0), of(8, 4.5)), 9, "both are");
        assert_eq!(best(of(11, 4.0), of(8, 4.5)), 8);
        assert_eq!(best(of(11, 4.0), of(8, 5.5)), 11, "none is");
        assert!(best_of_aims(of(10, 5.0), |_| Err("too complex".into())).is_err());
    }
}
