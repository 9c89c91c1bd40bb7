//! Callgate alone: what every compilation of the corpus makes and costs.
//!
//! The table shows what a change of the code generator changes: sizes and executed instructions are exact, and the
//! number of machine instructions of a compilation is that of callgrind, which no other process influences.

use std::path::Path;
use std::process::{Command, Stdio};

use callgate::compile::{Compiled, Options, compile, recompile};
use callgate::{Arch, Endian};
use callgate_codegen::{Aim, Model};
use callgate_core::Program;
use callgate_core::diagram::{Func, Store};
use callgate_core::policy::Policy;

use super::families;
use super::options;
use super::rules::Rules;
use super::sets;
use super::workloads::{self, Workload};
use crate::table::{Table, count};
use callgate_tasks::Result;
use callgate_tasks::files::{files, output, read, stem};

/// The symbol of [`counted`], for callgrind.
const COUNTED: &str = "*compare::own::counted*";

/// The aims of the columns.
const AIMS: [Aim; 2] = [Aim::Speed, Aim::Size];

/// What is compiled.
enum Description {
    Policy(Policy),
    Program(Program),
}

/// A description with a name.
struct Case {
    name: String,
    description: Description,
}

/// A case that is not built yet.
struct Unbuilt {
    name: String,
    build: Box<dyn FnOnce() -> Result<Description>>,
}

impl Unbuilt {
    fn build(self) -> Result<Case> {
        Ok(Case { description: (self.build)()?, name: self.name })
    }
}

/// The whole corpus: rule sets, growing rule sets, programs of a directory.
fn corpus(options: &options::Options) -> Result<Vec<Unbuilt>> {
    let mut cases = Vec::new();
    let rules = |name, rules: Box<dyn FnOnce() -> Rules>| {
        let build = Box::new(|| Ok(Description::Policy(rules().to_policy()?)));
        Unbuilt { name, build }
    };
    for set in sets::all(options.profiles.as_deref(), &mut Vec::new())? {
        cases.push(rules(set.name, Box::new(|| set.rules)));
    }
    for (name, make) in families::rules() {
        cases.push(rules(name, Box::new(make)));
    }
    if let Some(directory) = options.filters.as_deref() {
        for path in files(directory, "bpf")? {
            let name = stem(&path);
            let build = Box::new(move || Ok(Description::Program(program(&path)?)));
            cases.push(Unbuilt { name, build });
        }
    }
    Ok(cases)
}

fn program(path: &Path) -> Result<Program> {
    Program::from_bytes(&read(path)?, Endian::Little)
        .map_err(|error| format!("{}: {error}", path.display()))
}

impl Case {
    fn compile(&self, options: &Options) -> Result<Compiled> {
        let compiled = match &self.description {
            Description::Policy(policy) => compile(policy, options),
            Description::Program(program) => {
                recompile(program, Endian::Little, &[Arch::X86_64], options)
            }
        };
        compiled.map_err(|error| error.to_string())
    }

    /// The function in a new store, and the architectures with its syscalls.
    fn function(&self) -> Result<(Store, Func, Vec<Arch>)> {
        let mut store = Store::default();
        let (func, arches) = match &self.description {
            Description::Policy(policy) => (store.policy(policy), policy.arches().collect()),
            Description::Program(program) => {
                (store.program(program, Endian::Little), vec![Arch::X86_64])
            }
        };
        Ok((store, func.map_err(|error| error.to_string())?, arches))
    }

    /// The cells of the case: sizes and executed instructions.
    fn row(&self, workloads: &[Workload]) -> Result<Vec<String>> {
        let (store, root, arches) = self.function()?;
        let mut cells = Vec::new();
        for aim in AIMS {
            let options = options(aim);
            match self.compile(&options) {
                Ok(compiled) => cells.push(count(compiled.program.len())),
                // Some of the largest do not fit into a program.
                Err(_) => cells.push("–".to_owned()),
            }
        }
        for workload in workloads {
            let syscalls = workload.weights.resolve(&store, root, &arches);
            let (weights, model) = (workload.weights.clone(), workload.model);
            let told = Options { weights, model, ..options(Aim::Speed) };
            let mean = self.compile(&told).ok().and_then(|compiled| {
                workload.executed((&store, root), &compiled.program, &syscalls)
            });
            cells.push(mean.map_or_else(|| "–".to_owned(), |mean| format!("{mean:.3}")));
        }
        Ok(cells)
    }
}

fn options(aim: Aim) -> Options {
    Options { model: Model::Uncached, aim, ..Options::default() }
}

/// The table of the corpus.
pub(super) fn table(
    options: &options::Options,
    directory: &Path,
    progress: impl Fn(&str),
) -> Result<Table> {
    let workloads = workloads::all(&options.weights)?;
    let names = workloads.iter().map(|workload| workload.name.clone());
    let head = ["case", "speed", "size"].map(str::to_owned).into_iter().chain(names);
    let counts = ["machine insns, speed", "machine insns, size"].map(str::to_owned);
    let counts = counts.into_iter().filter(|_| options.count);
    let mut table = Table::new(head.chain(counts));
    for case in corpus(options)? {
        let case = case.build()?;
        progress(&case.name);
        let mut cells = case.row(&workloads).map_err(|error| format!("{}: {error}", case.name))?;
        if options.count {
            for aim in AIMS {
                let machine = machine_insns(options, directory, &case.name, aim)?;
                cells.push(count(machine));
            }
        }
        table.row(std::iter::once(case.name).chain(cells));
    }
    Ok(table)
}

/// Compiles one case once, with its proof: for profilers, and for [`peak`].
pub(super) fn once(options: &options::Options, name: &str) -> Result<()> {
    let aim = options.aim.unwrap_or(Aim::Speed);
    let case = corpus(options)?.into_iter().find(|case| case.name == name);
    let case = case.ok_or_else(|| format!("no case is named {name:?}"))?.build()?;
    // A filter that is too long costs as much as others.
    match counted(&case, aim) {
        Ok(compiled) => println!("{} instructions", compiled.program.len()),
        Err(error) => println!("{error}"),
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if let Some(line) = status.lines().find(|line| line.starts_with(PEAK)) {
        println!("{line}");
    }
    Ok(())
}

/// The name of the maximum resident memory in /proc/PID/status. That of getrusage(2) includes the memory of the parent
/// before execve(2).
const PEAK: &str = "VmHWM:";

/// The maximum resident memory, in bytes, of a process that compiles one case once.
pub(super) fn peak(name: &str) -> Result<u64> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let text = output(Command::new(program).args(["compare", "own", "--case", name]))?;
    let line = text.lines().find_map(|line| line.strip_prefix(PEAK));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.map(|kib| kib * 1024).ok_or_else(|| format!("/proc/self/status has no {PEAK}"))
}

#[inline(never)]
fn counted(case: &Case, aim: Aim) -> Result<Compiled> {
    case.compile(&options(aim))
}

/// The machine instructions of one compilation with its proof.
fn machine_insns(
    options: &options::Options,
    directory: &Path,
    name: &str,
    aim: Aim,
) -> Result<usize> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let log = directory.join("callgrind.log");
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(format!("--toggle-collect={COUNTED}"))
        .arg(format!("--log-file={}", log.display()))
        .arg(program)
        .args(["compare", "own", "--case", name, "--aim", aim.name()]);
    for (option, path) in [("--profiles", &options.profiles), ("--filters", &options.filters)] {
        path.iter().for_each(|path| _ = command.arg(option).arg(path));
    }
    output(command.stdin(Stdio::null()))?;
    let log = read(&log)?;
    let text = String::from_utf8_lossy(&log);
    let collected = text.lines().find_map(|line| line.split_once("Collected : "));
    let number = collected.and_then(|(_, number)| number.trim().parse().ok());
    number.ok_or_else(|| format!("valgrind reports no number of instructions: {text}"))
}
