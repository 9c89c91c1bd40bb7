//! The other compilers: how to build and run them, and which decisions they make on their own.
//!
//! Each has a driver in `drivers/` that reads rules in the form of [`super::text`], measures in its own process
//! and writes the program. A driver is built in a directory below `target/compare/`, with the usual tools of its
//! language. Compilers that cannot be built are reported as not measured.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use callgate::{Arch, Verdict};

use super::rules::{Edges, Narrow, Rules};
use super::text;
use crate::versions::{GVISOR, SEACOMB, SEACOMB_TOOLCHAIN, SECCOMPILER};
use callgate_tasks::Result;
use callgate_tasks::files::output;

const ELASTIC: &str = "v1.5.0";

/// The exit status of a driver if its compiler cannot express the rules.
const CANNOT_EXPRESS: i32 = 3;

const READER: &str = include_str!("drivers/go/rules.go");
const LIBSECCOMP_DRIVER: &str = include_str!("drivers/libseccomp/main.c");
const LIBSECCOMP_RULES: &str = include_str!("drivers/libseccomp/rules.h");
const GVISOR_DRIVER: &str = include_str!("drivers/gvisor/main.go");
const ELASTIC_DRIVER: &str = include_str!("drivers/elastic/main.go");
const SECCOMPILER_DRIVER: &str = include_str!("drivers/seccompiler/main.rs");
const SEACOMB_DRIVER: &str = include_str!("drivers/seacomb/main.rs");

/// A configuration of a compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    LibseccompLinear,
    LibseccompTree,
    GvisorOptimized,
    GvisorPlain,
    Seccompiler,
    Elastic,
    Seacomb,
}

/// A library with its driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Library {
    Libseccomp,
    Gvisor,
    Seccompiler,
    Elastic,
    Seacomb,
}

impl Peer {
    pub(super) const ALL: [Peer; 7] = [
        Peer::LibseccompLinear,
        Peer::LibseccompTree,
        Peer::GvisorOptimized,
        Peer::GvisorPlain,
        Peer::Seccompiler,
        Peer::Elastic,
        Peer::Seacomb,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Peer::LibseccompLinear => "libseccomp, linear",
            Peer::LibseccompTree => "libseccomp, tree",
            Peer::GvisorOptimized => "gVisor, optimized",
            Peer::GvisorPlain => "gVisor, plain",
            Peer::Seccompiler => "seccompiler",
            Peer::Elastic => "go-seccomp-bpf",
            Peer::Seacomb => "seacomb",
        }
    }

    fn library(self) -> Library {
        match self {
            Peer::LibseccompLinear | Peer::LibseccompTree => Library::Libseccomp,
            Peer::GvisorOptimized | Peer::GvisorPlain => Library::Gvisor,
            Peer::Seccompiler => Library::Seccompiler,
            Peer::Elastic => Library::Elastic,
            Peer::Seacomb => Library::Seacomb,
        }
    }

    /// The arguments of the driver.
    fn variant(self) -> &'static str {
        match self {
            Peer::LibseccompLinear => "1",
            Peer::LibseccompTree => "2",
            Peer::GvisorOptimized => "optimized",
            Peer::GvisorPlain => "plain",
            Peer::Seccompiler | Peer::Elastic | Peer::Seacomb => "-",
        }
    }

    /// Whether it accepts frequencies of syscalls.
    pub(super) fn takes_weights(self) -> bool {
        matches!(self.library(), Library::Libseccomp | Library::Gvisor)
    }

    /// Its verdicts for syscalls without rules, which may differ from those of the rules.
    pub(super) fn edges(self, rules: &Rules) -> Edges {
        let default = rules.blocks.first().map_or(rules.edges.bad_arch, |block| block.default);
        let alone = rules.blocks.iter().all(|block| block.arch == Arch::X86_64);
        let (bad_arch, bit_30) = (rules.edges.bad_arch, false);
        let all_x32 = Some((u32::MAX - 1, bad_arch));
        match self.library() {
            // Syscalls of other architectures get the verdict of the rules, and so do x32's numbers, unless x32 is
            // one of the architectures.
            Library::Libseccomp if alone => Edges { bad_arch, x32: all_x32, bit_30 },
            Library::Libseccomp => rules.edges,
            Library::Gvisor => Edges { bad_arch, x32: None, bit_30 },
            Library::Seccompiler => Edges { bad_arch: Verdict::KILL_PROCESS, x32: None, bit_30 },
            Library::Elastic => {
                let x32 = Some((u32::MAX, Verdict::errno(38)));
                Edges { bad_arch: default, x32, bit_30 }
            }
            // x32 is not one of its architectures.
            Library::Seacomb => Edges { bad_arch, x32: all_x32, bit_30: true },
        }
    }
}

impl Library {
    const ALL: [Library; 5] = [
        Library::Libseccomp,
        Library::Gvisor,
        Library::Seccompiler,
        Library::Elastic,
        Library::Seacomb,
    ];

    fn name(self) -> &'static str {
        match self {
            Library::Libseccomp => "libseccomp",
            Library::Gvisor => "gvisor",
            Library::Seccompiler => "seccompiler",
            Library::Elastic => "elastic",
            Library::Seacomb => "seacomb",
        }
    }

    /// Builds the driver; returns its path and the version of the library.
    fn build(self, directory: &Path) -> Result<(PathBuf, String)> {
        let put = |name: &str, text: &str| {
            fs::write(directory.join(name), text).map_err(|error| format!("{name}: {error}"))
        };
        let main = directory.join("main");
        match self {
            Library::Libseccomp => {
                put("main.c", LIBSECCOMP_DRIVER)?;
                put("rules.h", LIBSECCOMP_RULES)?;
                let arguments = ["-O2", "-o", "main", "main.c", "-lseccomp"];
                output(Command::new("cc").args(arguments).current_dir(directory)).map_err(
                    |error| match error.contains("seccomp.h") {
                        true => "Debian's package libseccomp-dev is not installed".to_owned(),
                        false => error,
                    },
                )?;
                let version = output(Command::new(&main).arg("--version"))?;
                Ok((main, format!("libseccomp {} (Debian's libseccomp-dev)", version.trim())))
            }
            Library::Gvisor => {
                put("rules.go", READER)?;
                put("main.go", GVISOR_DRIVER)?;
                go(directory, &[("gvisor.dev/gvisor", GVISOR)])?;
                Ok((main, format!("gvisor.dev/gvisor {GVISOR}, {}", go_version(directory)?)))
            }
            Library::Elastic => {
                put("rules.go", READER)?;
                put("main.go", ELASTIC_DRIVER)?;
                go(directory, &[("github.com/elastic/go-seccomp-bpf", ELASTIC)])?;
                Ok((main, format!("github.com/elastic/go-seccomp-bpf {ELASTIC}")))
            }
            Library::Seccompiler => {
                put("main.rs", SECCOMPILER_DRIVER)?;
                let main = cargo(directory, "seccompiler", SECCOMPILER, None)?;
                Ok((main, format!("seccompiler {SECCOMPILER}")))
            }
            Library::Seacomb => {
                put("main.rs", SEACOMB_DRIVER)?;
                let main = cargo(directory, "seacomb", SEACOMB, Some(SEACOMB_TOOLCHAIN))?;
                Ok((main, format!("seacomb {SEACOMB}, built with Rust {SEACOMB_TOOLCHAIN}")))
            }
        }
    }
}

/// Builds `main.rs` with this version of a crate and of the Rust toolchain; returns the path of the driver.
pub(super) fn cargo(
    directory: &Path,
    name: &str,
    version: &str,
    toolchain: Option<&str>,
) -> Result<PathBuf> {
    let text = format!(
        "[package]\nname = \"main\"\nedition = \"2024\"\n\n\
         [[bin]]\nname = \"main\"\npath = \"main.rs\"\n\n\
         [dependencies]\n{name} = \"={version}\"\n\n[workspace]\n"
    );
    fs::write(directory.join("Cargo.toml"), text)
        .map_err(|error| format!("Cargo.toml: {error}"))?;
    let target = directory.join("target");
    let toolchain = toolchain.map(|version| format!("+{version}"));
    let arguments = ["build", "--quiet", "--release", "--target-dir"];
    let mut command = Command::new("cargo");
    output(command.args(toolchain).args(arguments).arg(&target).current_dir(directory))?;
    Ok(target.join("release/main"))
}

/// Builds a driver in Go with these versions of modules.
pub(super) fn go(directory: &Path, modules: &[(&str, &str)]) -> Result<()> {
    let mut text = "module compare\n\ngo 1.26\n\n".to_owned();
    for (module, version) in modules {
        text += &format!("require {module} {version}\n");
    }
    fs::write(directory.join("go.mod"), text).map_err(|error| format!("go.mod: {error}"))?;
    let arguments = ["build", "-mod=mod", "-o", "main", "."];
    output(Command::new("go").args(arguments).current_dir(directory)).map(|_| ())
}

fn go_version(directory: &Path) -> Result<String> {
    output(Command::new("go").args(["env", "GOVERSION"]).current_dir(directory))
        .map(|version| version.trim().to_owned())
}

/// The Debian packages that drivers in C need: those of the compilers, and of the engines (gcc and libpcap).
const PACKAGES: [&str; 4] = ["gcc", "libc6-dev", "libseccomp-dev", "libpcap-dev"];

/// Installs [`PACKAGES`] and the Rust toolchain of seacomb.
pub(super) fn install() -> Result<()> {
    let run = |program: &str, arguments: &[&str]| {
        let status = Command::new(program).args(arguments).status();
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("{program} {}: {status}", arguments.join(" "))),
            Err(error) => Err(format!("{program}: {error}")),
        }
    };
    run("apt-get", &["update"])?;
    run("apt-get", &[&["install", "-y"][..], &PACKAGES].concat())?;
    run("rustup", &["toolchain", "install", SEACOMB_TOOLCHAIN, "--profile", "minimal"])
}

/// The available compilers.
pub(super) struct Peers {
    directory: PathBuf,
    drivers: Vec<(Library, Result<(PathBuf, String)>)>,
}

/// The result of a compiler.
#[derive(Clone, Debug)]
pub(super) struct Compiled {
    /// A `sock_filter` array.
    pub(super) bytes: Vec<u8>,
    /// The median time.
    pub(super) time: Duration,
    /// The maximum resident memory of the driver in bytes.
    pub(super) memory: u64,
    /// Syscalls that were omitted because the compiler does not know their names.
    pub(super) unknown: Vec<(Arch, u32)>,
    /// Arguments that the compiler compares by their types, which have fewer than 64 bits.
    pub(super) narrow: Vec<Narrow>,
}

/// Why a compiler returned no program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    NotMeasured(String),
    CannotExpress(String),
    Failed(String),
    TookLonger(Duration),
}

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Missing::NotMeasured(why) => write!(f, "not measured: {why}"),
            Missing::CannotExpress(why) => write!(f, "cannot express: {why}"),
            Missing::Failed(why) => write!(f, "failed: {why}"),
            Missing::TookLonger(limit) => write!(f, "took longer than {} s", limit.as_secs()),
        }
    }
}

impl Peers {
    /// Builds all drivers below a directory.
    pub(super) fn build(directory: &Path) -> Result<Peers> {
        Peers::build_some(directory, &Library::ALL)
    }

    fn build_some(directory: &Path, libraries: &[Library]) -> Result<Peers> {
        let build = |library: Library| {
            let own = directory.join(library.name());
            fs::create_dir_all(&own).map_err(|error| format!("{}: {error}", own.display()))?;
            library.build(&own)
        };
        fs::create_dir_all(directory)
            .map_err(|error| format!("{}: {error}", directory.display()))?;
        let drivers = libraries.iter().map(|library| (*library, build(*library)));
        Ok(Peers { directory: directory.to_owned(), drivers: drivers.collect() })
    }

    fn driver(&self, peer: Peer) -> Result<&(PathBuf, String), &String> {
        let library = peer.library();
        let found = self.drivers.iter().find(|(of, _)| *of == library).map(|(_, driver)| driver);
        match found {
            Some(driver) => driver.as_ref(),
            None => unreachable!("the library was not built"),
        }
    }

    /// The versions of the available compilers, and why the others are unavailable.
    pub(super) fn versions(&self) -> Vec<String> {
        let version = |(library, driver): &(Library, Result<(PathBuf, String)>)| match driver {
            Ok((_, version)) => version.clone(),
            Err(why) => format!("{} is not measured: {why}", library.name()),
        };
        self.drivers.iter().map(version).collect()
    }

    /// Compiles rules repeatedly for `repeat`, at most for `limit` in total.
    pub(super) fn compile(
        &self,
        peer: Peer,
        rules: &Rules,
        repeat: Duration,
        limit: Duration,
    ) -> Result<Compiled, Missing> {
        let (driver, _) = self.driver(peer).map_err(|why| Missing::NotMeasured(why.clone()))?;
        let failed = |error: std::io::Error| Missing::Failed(error.to_string());
        let (input, program) = (self.directory.join("rules"), self.directory.join("program"));
        fs::write(&input, text::write(rules)).map_err(failed)?;
        let mut child = Command::new(driver)
            .args([&input, &program])
            .args([peer.variant(), &repeat.as_millis().to_string()])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        if !wait(&mut child, limit).map_err(failed)? {
            return Err(Missing::TookLonger(limit));
        }
        let output = child.wait_with_output().map_err(failed)?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            let why = text.lines().next().unwrap_or("without a message").to_owned();
            return Err(match output.status.code() {
                Some(CANNOT_EXPRESS) => Missing::CannotExpress(why),
                _ => Missing::Failed(why),
            });
        }
        let reported = reported(&String::from_utf8_lossy(&output.stdout)).ok_or_else(|| {
            Missing::Failed("missing time in the output of its driver".to_owned())
        })?;
        let Reported { time, memory, unknown, narrow } = reported;
        let bytes = fs::read(&program).map_err(failed)?;
        Ok(Compiled { bytes, time, memory, unknown, narrow })
    }
}

/// Waits for a process, and kills it at the limit; returns whether it ended by itself.
fn wait(child: &mut Child, limit: Duration) -> std::io::Result<bool> {
    let start = Instant::now();
    while child.try_wait()?.is_none() {
        if start.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(false);
        }
        sleep(Duration::from_millis(2));
    }
    Ok(true)
}

/// What a driver prints.
#[derive(Debug, PartialEq)]
struct Reported {
    time: Duration,
    memory: u64,
    unknown: Vec<(Arch, u32)>,
    narrow: Vec<Narrow>,
}

/// Parses the output of a driver: the median, the memory, the omitted syscalls and the narrow arguments.
fn reported(text: &str) -> Option<Reported> {
    let (mut time, mut memory, mut unknown, mut narrow) = (None, None, Vec::new(), Vec::new());
    for line in text.lines() {
        match line.split_whitespace().collect::<Vec<_>>().as_slice() {
            ["time", _, nanoseconds] => {
                time = Some(Duration::from_nanos(nanoseconds.parse().ok()?));
            }
            ["memory", kib] => memory = Some(kib.parse::<u64>().ok()? * 1024),
            ["unknown", arch, nr] => unknown.push((Arch::from_name(arch)?, nr.parse().ok()?)),
            ["narrow", arch, nr, argument, bits] => narrow.push(Narrow {
                arch: Arch::from_name(arch)?,
                nr: nr.parse().ok()?,
                argument: argument.parse().ok()?,
                bits: bits.parse().ok().filter(|bits| *bits < 64)?,
            }),
            _ => return None,
        }
    }
    Some(Reported { time: time?, memory: memory?, unknown, narrow })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_drivers_are_read() {
        let report = reported(
            "unknown x86_64 461\nunknown x86 7\nnarrow x86_64 72 1 32\ntime 33 1500\nmemory 8\n",
        );
        let unknown = vec![(Arch::X86_64, 461), (Arch::X86, 7)];
        let narrow = vec![Narrow { arch: Arch::X86_64, nr: 72, argument: 1, bits: 32 }];
        let time = Duration::from_nanos(1500);
        assert_eq!(report, Some(Reported { time, memory: 8192, unknown, narrow }));
        assert_eq!(reported("narrow x86_64 72 1 64\ntime 1 1\nmemory 1\n"), None);
        assert_eq!(reported("time 33 1\n"), None);
        assert_eq!(reported("time 33 many\nmemory 1\n"), None);
    }

    #[test]
    fn what_cannot_be_run_is_not_measured() {
        let missing = Err("no compiler".to_owned());
        let drivers = Library::ALL.map(|library| (library, missing.clone())).to_vec();
        let peers = Peers { directory: std::env::temp_dir(), drivers };
        let rules = super::super::generate::numbers(3);
        for peer in Peer::ALL {
            let outcome = peers.compile(peer, &rules, Duration::ZERO, Duration::from_secs(1));
            assert_eq!(outcome.unwrap_err(), Missing::NotMeasured("no compiler".to_owned()));
        }
        assert_eq!(peers.versions()[0], "libseccomp is not measured: no compiler");
    }

    #[test]
    fn a_process_that_takes_too_long_is_ended() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        assert!(!wait(&mut child, Duration::from_millis(20)).unwrap());
        let mut child = Command::new("true").spawn().unwrap();
        assert!(wait(&mut child, Duration::from_secs(60)).unwrap());
    }
}
