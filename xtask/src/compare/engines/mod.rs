//! `cargo xtask compare engines`: the same program run by our engines and by others, in one run.
//!
//! The others are libpcap's and two Go interpreters; the limit is the program as C, compiled by
//! `gcc -O2`. Each of them measures itself with the same rounds over the same inputs, from a file,
//! and prints a hash of what it returned, which must be the reference's: what disagrees is not
//! measured. Interpreters of packets get the words of a call in network order, as they read them.
//!
//! The inputs of other programs than the classic workloads are made from their constants.

mod translate;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use callgate::bpf::{NoAncillary, Program};
use callgate::{Arch, Endian, SeccompData};
use callgate_vm::workloads::{self, Body, Workload};
use callgate_vm::{EngineKind, Jit, measure};

use super::peers::{go, output};
use super::table::Table;
use super::{files, stem};
use crate::Result;

const GVISOR: &str = super::peers::GVISOR;
const X_NET: &str = "v0.47.0";

const BENCH: &str = include_str!("../drivers/engines/bench.c");
const LIBPCAP: &str = include_str!("../drivers/engines/libpcap.c");
const NATIVE: &str = include_str!("../drivers/engines/native.c");
const GO: &str = include_str!("../drivers/engines/main.go");

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
    rows: Vec<Row>,
}

/// All workloads.
pub(super) struct Engines {
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
    let mut workloads = workloads::all();
    for path in filters.map_or(Ok(Vec::new()), |filters| files(filters, "bpf"))? {
        let read = || {
            let bytes = fs::read(&path).map_err(|error| error.to_string())?;
            Program::from_bytes(&bytes, Endian::Little).map_err(|error| error.to_string())
        };
        let program = read().map_err(|error| format!("{}: {error}", path.display()))?;
        let hot = SeccompData { arch: Arch::X86_64.token(), nr: 257, ..SeccompData::default() };
        workloads.push(workloads::of_calls(stem(&path), program, Endian::Little, hot));
    }
    let mut sections = Vec::new();
    for workload in &workloads {
        progress(&workload.name);
        let mut rows = own(workload)?;
        rows.extend(peers.rows(workload)?);
        let insns = insns(workload).len();
        let executed = measure::executed(workload);
        sections.push(Section { name: workload.name.clone(), insns, executed, rows });
    }
    Ok(Engines { sections })
}

fn insns(workload: &Workload) -> &[callgate::bpf::Insn] {
    match &workload.body {
        Body::Calls { program, .. } => program.insns(),
        Body::Packets { program, .. } => program.insns(),
    }
}

/// Our own engines.
fn own(workload: &Workload) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for &kind in EngineKind::ALL {
        let name = format!("callgate, {kind}");
        let row = match measure::measure(kind, workload) {
            Ok(None) => continue,
            Ok(Some(cost)) => Row {
                name,
                times: Ok(Times { hot: cost.hot_ns, cold: cost.cold_ns }),
                compile: Some(cost.compile),
                bytes: Some(cost.code_bytes),
            },
            Err(why) => Row { name, times: Err(why.to_string()), compile: None, bytes: None },
        };
        rows.push(row);
    }
    Ok(rows)
}

/// The drivers that are there.
struct Peers {
    directory: PathBuf,
    libpcap: Result<PathBuf>,
    go: Result<PathBuf>,
}

impl Peers {
    fn build(directory: &Path) -> Peers {
        Peers {
            directory: directory.to_owned(),
            libpcap: libpcap(&directory.join("libpcap")),
            go: go_driver(&directory.join("go")),
        }
    }

    fn rows(&self, workload: &Workload) -> Result<Vec<Row>> {
        let put = |name: &str, bytes: &[u8]| {
            let path = self.directory.join(name);
            fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))?;
            Ok::<_, String>(path)
        };
        let (native, network) = inputs(workload);
        let raw: Vec<u8> = match &workload.body {
            Body::Calls { program, .. } => program.to_bytes(Endian::NATIVE),
            Body::Packets { program, .. } => program.to_bytes(Endian::NATIVE),
        };
        let program = put("program", &raw)?;
        let (native, network) = (put("inputs", &native)?, put("inputs-network", &network)?);
        let expected = expected(workload);
        let run = |name: &str, driver: &Result<PathBuf>, inputs: &Path, variant: Option<&str>| {
            let times = driver.clone().and_then(|driver| {
                let mut command = Command::new(driver);
                command.args([&*program, inputs]).args(variant);
                reported(&output(&mut command)?, expected)
            });
            Row { name: name.to_owned(), times, compile: None, bytes: None }
        };
        Ok(vec![
            run("callgate, jit, in C", &self.native(workload), &native, None),
            run("gcc -O2", &self.gcc(workload), &native, None),
            run("libpcap", &self.libpcap, &network, None),
            run("gVisor pkg/bpf", &self.go, &network, Some("gvisor")),
            run("golang.org/x/net/bpf", &self.go, &network, Some("x-net")),
        ])
    }

    /// Our native code, linked and called as that of the C compiler is: the difference between the two
    /// is the code alone.
    fn native(&self, workload: &Workload) -> Result<PathBuf> {
        let directory = self.directory.join("native");
        create(&directory)?;
        let code = match &workload.body {
            Body::Calls { program, endian, .. } => {
                Jit::new(program, *endian).map(|jit| jit.code().to_vec())
            }
            Body::Packets { program, .. } => {
                Jit::new_packet(program).map(|jit| jit.code().to_vec())
            }
        };
        fs::write(directory.join("code"), code.map_err(|why| why.to_string())?)
            .map_err(|error| format!("code: {error}"))?;
        c(&directory, &[("native.c", NATIVE)], &[])
    }

    /// The program as C.
    fn gcc(&self, workload: &Workload) -> Result<PathBuf> {
        let packets = matches!(workload.body, Body::Packets { .. });
        let directory = self.directory.join("gcc");
        let source = translate::to_c(insns(workload), packets);
        c(&directory, &[("filter.c", &source)], &[])
    }
}

fn create(directory: &Path) -> Result<()> {
    fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))
}

/// Builds `bench.c` with other files.
fn c(directory: &Path, sources: &[(&str, &str)], libraries: &[&str]) -> Result<PathBuf> {
    create(directory)?;
    let mut command = Command::new("gcc");
    command.args(["-O2", "-w", "-o", "main"]).current_dir(directory);
    for (name, text) in sources.iter().chain(&[("bench.c", BENCH)]) {
        fs::write(directory.join(name), text).map_err(|error| format!("{name}: {error}"))?;
        command.arg(name);
    }
    output(command.args(libraries))?;
    Ok(directory.join("main"))
}

fn libpcap(directory: &Path) -> Result<PathBuf> {
    c(directory, &[("libpcap.c", LIBPCAP)], &["-lpcap"]).map_err(|error| {
        match error.contains("pcap") {
            true => "Debian's package libpcap-dev is not installed".to_owned(),
            false => error,
        }
    })
}

fn go_driver(directory: &Path) -> Result<PathBuf> {
    create(directory)?;
    fs::write(directory.join("main.go"), GO).map_err(|error| format!("main.go: {error}"))?;
    go(directory, &[("gvisor.dev/gvisor", GVISOR), ("golang.org/x/net", X_NET)])?;
    Ok(directory.join("main"))
}

/// The inputs as the drivers read them, in the order of this machine and in that of the network.
fn inputs(workload: &Workload) -> (Vec<u8>, Vec<u8>) {
    fn file<'a>(inputs: impl ExactSizeIterator<Item = &'a [u8]>) -> Vec<u8> {
        let mut file = (inputs.len() as u32).to_le_bytes().to_vec();
        for input in inputs {
            file.extend((input.len() as u32).to_le_bytes());
            file.extend(input);
        }
        file
    }
    match &workload.body {
        Body::Calls { hot, cold, .. } => {
            let mut bytes: Vec<[u8; 64]> = vec![hot.to_bytes(Endian::NATIVE)];
            bytes.extend(cold.iter().map(|data| data.to_bytes(Endian::NATIVE)));
            let native = file(bytes.iter().map(|bytes| &bytes[..]));
            if Endian::NATIVE == Endian::Little {
                bytes.iter_mut().for_each(|call| {
                    call.as_chunks_mut::<4>().0.iter_mut().for_each(|word| word.reverse());
                });
            }
            (native, file(bytes.iter().map(|bytes| &bytes[..])))
        }
        Body::Packets { hot, cold, .. } => {
            let all: Vec<&[u8]> =
                std::iter::once(hot).chain(cold).map(|packet| &packet[..]).collect();
            let file = file(all.into_iter());
            (file.clone(), file)
        }
    }
}

/// The hash of what the reference returns.
fn expected(workload: &Workload) -> u64 {
    let hash = |hash: u64, value: u32| (hash ^ u64::from(value)).wrapping_mul(0x0100_0000_01b3);
    const START: u64 = 0xcbf2_9ce4_8422_2325;
    match &workload.body {
        Body::Calls { program, endian, hot, cold } => std::iter::once(hot)
            .chain(cold)
            .fold(START, |so_far, data| hash(so_far, program.run(data, *endian).verdict.0)),
        Body::Packets { program, hot, cold } => std::iter::once(hot)
            .chain(cold)
            .fold(START, |so_far, packet| hash(so_far, program.run(packet, &NoAncillary))),
    }
}

/// What a driver prints.
fn reported(text: &str, expected: u64) -> Result<Times> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [hot, cold, hash] = words[..] else { return Err("its driver reports no time".to_owned()) };
    let number = |word: &str| word.parse().map_err(|_| format!("its driver reports {word:?}"));
    if hash.parse() != Ok(expected) {
        return Err("it returns other values than the reference".to_owned());
    }
    Ok(Times { hot: number(hot)?, cold: number(cold)? })
}

impl Engines {
    /// For each workload its table, and how it is headed.
    pub(super) fn tables(&self) -> impl Iterator<Item = (String, Table, Vec<String>)> {
        self.sections.iter().map(|section| {
            let measure::Executed { hot, cold } = section.executed;
            let head = format!(
                "{}: {} instructions, {hot} executed for the hot input, {cold:.1} for a cold one",
                section.name, section.insns
            );
            let mut table =
                Table::new(["engine", "hot ns", "cold ns", "compile \u{b5}s", "code bytes"]);
            let mut notes = Vec::new();
            for Row { name, times, compile, bytes } in &section.rows {
                let times = match times {
                    Ok(times) => times,
                    Err(why) => {
                        notes.push(format!("{name} is not measured: {why}."));
                        continue;
                    }
                };
                table.row([
                    name.clone(),
                    format!("{:.2}", times.hot),
                    format!("{:.2}", times.cold),
                    compile.map_or_else(String::new, |time| {
                        format!("{:.1}", time.as_secs_f64() * 1e6)
                    }),
                    bytes.map_or_else(String::new, |bytes| bytes.to_string()),
                ]);
            }
            (head, table, notes)
        })
    }
}
