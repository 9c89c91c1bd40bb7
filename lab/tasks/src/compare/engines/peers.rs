//! Other engines: how to build and run them.
//!
//! Each has a driver in `../drivers/engines/` that measures itself: those in C share `bench.c`, those in Go and
//! Rust do the same. A driver reads a program and a file of inputs, and prints the nanoseconds for the first
//! input, the mean for the others, and a hash of all returned values.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use callgate::Endian;
use callgate_core::NoAncillary;
use callgate_measure::engines::workloads::{EngineInputs, Workload};
use callgate_vm::Jit;

use super::super::peers;
use super::figures::{GCC, GVISOR, LIBPCAP, NATIVE_IN_C, Row, Times, insns};
use super::{ebpf, translate};
use crate::versions;
use callgate_tasks::Result;
use callgate_tasks::files::output;

const X_NET: &str = "v0.47.0";
const RBPF: &str = "0.4.1";

const BENCH: &str = include_str!("../drivers/engines/bench.c");
const LIBPCAP_DRIVER: &str = include_str!("../drivers/engines/libpcap.c");
const NATIVE_DRIVER: &str = include_str!("../drivers/engines/native.c");
const GO: &str = include_str!("../drivers/engines/main.go");
const RUST: &str = include_str!("../drivers/engines/rbpf.rs");

/// The available drivers.
pub(super) struct Peers {
    directory: PathBuf,
    libpcap: Result<PathBuf>,
    go: Result<PathBuf>,
    rbpf: Result<PathBuf>,
}

/// A driver with a workload.
pub(super) struct Contender {
    name: &'static str,
    driver: Result<PathBuf>,
    program: Result<PathBuf>,
    inputs: PathBuf,
    /// More arguments of the driver.
    variant: Vec<&'static str>,
    /// The hash of the values that the reference interpreter returns.
    expected: u64,
}

impl Contender {
    /// Runs its driver.
    pub(super) fn measure(&self) -> Row {
        let times = || -> Result<Times> {
            let mut command = Command::new(self.driver.as_ref()?);
            command.arg(self.program.as_ref()?).arg(&self.inputs).args(&self.variant);
            reported(&output(&mut command)?, self.expected)
        };
        Row { name: self.name.to_owned(), times: times(), compile: None, bytes: None }
    }
}

impl Peers {
    pub(super) fn build(directory: &Path) -> Peers {
        Peers {
            directory: directory.to_owned(),
            libpcap: libpcap(&directory.join("libpcap")),
            go: go_driver(&directory.join("go")),
            rbpf: rbpf(&directory.join("rbpf")),
        }
    }

    /// The versions of the engines.
    pub(super) fn versions(&self) -> Vec<String> {
        let said = |program: &str| {
            let text = output(Command::new(program).arg("--version")).unwrap_or_default();
            text.lines().next().unwrap_or("of a version unknown").to_owned()
        };
        let version = |name: &str, driver: &Result<PathBuf>, version: String| match driver {
            Ok(_) => version,
            Err(why) => format!("{name} is not measured: {why}"),
        };
        let go = format!("gvisor.dev/gvisor {}, golang.org/x/net {X_NET}", versions::GVISOR);
        vec![
            said("gcc"),
            version("libpcap", &self.libpcap, format!("libpcap {}", said("pcap-config"))),
            version("Go", &self.go, go),
            version("rbpf", &self.rbpf, format!("rbpf {RBPF}")),
        ]
    }

    /// All drivers, ready to measure a workload.
    pub(super) fn prepare(&self, workload: &Workload) -> Result<Vec<Contender>> {
        let put = |name: &str, bytes: &[u8]| {
            let path = self.directory.join(name);
            fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))?;
            Ok::<_, String>(path)
        };
        let (raw, packets) = match &workload.inputs {
            EngineInputs::Syscalls { program, .. } => (program.to_bytes(Endian::NATIVE), false),
            EngineInputs::Packets { program, .. } => (program.to_bytes(Endian::NATIVE), true),
        };
        let (native, network) = inputs(workload);
        let (native, network) = (put("inputs", &native)?, put("inputs-network", &network)?);
        let classic = Ok(put("program", &raw)?);
        let extended = match ebpf::to_ebpf(insns(workload), packets) {
            Ok(code) => Ok(put("program-ebpf", &code)?),
            Err(why) => Err(format!("the program cannot be translated to eBPF: {why}")),
        };
        let expected = expected(workload);
        let contender = |name: &'static str,
                         driver: &Result<PathBuf>,
                         program: &Result<PathBuf>,
                         inputs: &Path,
                         variant: &[&'static str]| Contender {
            name,
            driver: driver.clone(),
            program: program.clone(),
            inputs: inputs.to_owned(),
            variant: variant.to_vec(),
            expected,
        };
        let kind = if packets { "packets" } else { "calls" };
        Ok(vec![
            contender(NATIVE_IN_C, &self.native(workload), &classic, &native, &[]),
            contender(GCC, &self.gcc(workload), &classic, &native, &[]),
            contender(LIBPCAP, &self.libpcap, &classic, &network, &[]),
            contender(GVISOR, &self.go, &classic, &network, &["gvisor"]),
            contender("golang.org/x/net/bpf", &self.go, &classic, &network, &["x-net"]),
            contender("rbpf, interpreter", &self.rbpf, &extended, &native, &["interpreter", kind]),
            contender("rbpf, jit", &self.rbpf, &extended, &native, &["jit", kind]),
        ])
    }

    /// Our native code, linked and called like that of the C compiler, so that only the code differs.
    fn native(&self, workload: &Workload) -> Result<PathBuf> {
        let directory = self.directory.join("native");
        create(&directory)?;
        let code = match &workload.inputs {
            EngineInputs::Syscalls { program, endian, .. } => {
                Jit::new(program, *endian).map(|jit| jit.code().to_vec())
            }
            EngineInputs::Packets { program, .. } => {
                Jit::new_packet(program).map(|jit| jit.code().to_vec())
            }
        };
        fs::write(directory.join("code"), code.map_err(|why| why.to_string())?)
            .map_err(|error| format!("code: {error}"))?;
        c(&directory, &[("native.c", NATIVE_DRIVER)], &[])
    }

    /// The program as C.
    fn gcc(&self, workload: &Workload) -> Result<PathBuf> {
        let packets = matches!(workload.inputs, EngineInputs::Packets { .. });
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
    c(directory, &[("libpcap.c", LIBPCAP_DRIVER)], &["-lpcap"]).map_err(|error| {
        match error.contains("pcap") {
            true => "Debian's package libpcap-dev is not installed".to_owned(),
            false => error,
        }
    })
}

fn go_driver(directory: &Path) -> Result<PathBuf> {
    create(directory)?;
    fs::write(directory.join("main.go"), GO).map_err(|error| format!("main.go: {error}"))?;
    peers::go(directory, &[("gvisor.dev/gvisor", versions::GVISOR), ("golang.org/x/net", X_NET)])?;
    Ok(directory.join("main"))
}

fn rbpf(directory: &Path) -> Result<PathBuf> {
    create(directory)?;
    fs::write(directory.join("main.rs"), RUST).map_err(|error| format!("main.rs: {error}"))?;
    peers::cargo(directory, "rbpf", RBPF, None)
}

/// The inputs as the drivers read them, in native and in network byte order.
fn inputs(workload: &Workload) -> (Vec<u8>, Vec<u8>) {
    fn file<'a>(inputs: impl ExactSizeIterator<Item = &'a [u8]>) -> Vec<u8> {
        let mut file = (inputs.len() as u32).to_le_bytes().to_vec();
        for input in inputs {
            file.extend((input.len() as u32).to_le_bytes());
            file.extend(input);
        }
        file
    }
    match &workload.inputs {
        EngineInputs::Syscalls { hot, cold, .. } => {
            let mut bytes: Vec<[u8; 64]> = vec![hot.to_bytes(Endian::NATIVE)];
            bytes.extend(cold.iter().map(|data| data.to_bytes(Endian::NATIVE)));
            let native = file(bytes.iter().map(|bytes| &bytes[..]));
            if Endian::NATIVE == Endian::Little {
                bytes.iter_mut().for_each(|syscall| {
                    syscall.as_chunks_mut::<4>().0.iter_mut().for_each(|word| word.reverse());
                });
            }
            (native, file(bytes.iter().map(|bytes| &bytes[..])))
        }
        EngineInputs::Packets { hot, cold, .. } => {
            let all: Vec<&[u8]> =
                std::iter::once(hot).chain(cold).map(|packet| &packet[..]).collect();
            let file = file(all.into_iter());
            (file.clone(), file)
        }
    }
}

/// The hash of the values that the reference interpreter returns.
fn expected(workload: &Workload) -> u64 {
    let hash = |hash: u64, value: u32| (hash ^ u64::from(value)).wrapping_mul(0x0100_0000_01b3);
    const START: u64 = 0xcbf2_9ce4_8422_2325;
    match &workload.inputs {
        EngineInputs::Syscalls { program, endian, hot, cold } => std::iter::once(hot)
            .chain(cold)
            .fold(START, |so_far, data| hash(so_far, program.run(data, *endian).verdict.0)),
        EngineInputs::Packets { program, hot, cold } => std::iter::once(hot)
            .chain(cold)
            .fold(START, |so_far, packet| hash(so_far, program.run(packet, &NoAncillary))),
    }
}

/// Parses the output of a driver.
fn reported(text: &str, expected: u64) -> Result<Times> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [hot, cold, hash] = words[..] else {
        return Err("missing time in the output of its driver".to_owned());
    };
    let number = |word: &str| word.parse().map_err(|_| format!("its driver reports {word:?}"));
    if hash.parse() != Ok(expected) {
        return Err("its values differ from those of the reference interpreter".to_owned());
    }
    Ok(Times { hot: number(hot)?, cold: number(cold)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_that_returns_other_values_is_not_measured() {
        let times = reported("1.5 2.5 7\n", 7).unwrap();
        assert_eq!((times.hot, times.cold), (1.5, 2.5));
        for (text, why) in [
            ("1.5 2.5 8\n", "differ from those"),
            ("1.5 2.5\n", "missing time"),
            ("a 2.5 7\n", "\"a\""),
        ] {
            let error = reported(text, 7).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
