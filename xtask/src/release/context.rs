//! What all parts of a release share.

use std::path::{Path, PathBuf};
use std::process::Command;

use callgate_tasks::files::{make, run};
use callgate_tasks::{Result, workspace};

use crate::owner::Owner;
use crate::paths::remap;

/// A machine that a release has binaries for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Machine {
    /// Its name in targets of Rust and in names of files.
    pub(super) name: &'static str,
    /// Its name in Debian.
    pub(super) debian: &'static str,
    /// Its name in Go, and so in images.
    pub(super) go: &'static str,
}

impl Machine {
    /// The target of Rust with a C library: with glibc for libraries, with musl for static binaries.
    pub(super) fn target(self, libc: Libc) -> String {
        let libc = if libc == Libc::Glibc { "gnu" } else { "musl" };
        format!("{}-unknown-linux-{libc}", self.name)
    }

    /// The directory of libraries in Debian.
    pub(super) fn libdir(self) -> String {
        format!("/usr/lib/{}-linux-gnu", self.name)
    }
}

/// A C library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Libc {
    Glibc,
    Musl,
}

/// The machines with binaries.
pub(super) const MACHINES: [Machine; 2] = [
    Machine { name: "x86_64", debian: "amd64", go: "amd64" },
    Machine { name: "aarch64", debian: "arm64", go: "arm64" },
];

/// What all parts of a release share.
pub(super) struct Context {
    /// The root of the tree.
    pub(super) root: PathBuf,
    /// The version, such as `0.1.0`.
    pub(super) version: String,
    /// The directory of the release: `target/release-VERSION`, or `target/release-VERSION-part` without all parts and machines.
    pub(super) output: PathBuf,
    /// A directory for what is built on the way: `target/release-work`.
    pub(super) work: PathBuf,
    /// The time of the commit in seconds since 1970, which all files in archives have.
    pub(super) epoch: u64,
    /// Who publishes the release.
    pub(super) owner: Owner,
    /// The machines to build for.
    pub(super) machines: Vec<Machine>,
    /// Whether it is built without checks, also from files that are not committed.
    pub(super) is_trial: bool,
    /// What was built so far.
    pub(super) built: Vec<Built>,
}

/// A file of the release that was built.
pub(super) struct Built {
    /// The name of the part that made it.
    pub(super) part: &'static str,
    /// Its path below `output`, with `/`.
    pub(super) path: String,
    /// The machine that it is for; `None` for any.
    pub(super) machine: Option<Machine>,
}

impl Context {
    /// A context for the commit that is checked out.
    pub(super) fn new(
        version: String,
        machines: Vec<Machine>,
        is_complete: bool,
        is_trial: bool,
    ) -> Result<Context> {
        let root = workspace();
        let owner = Owner::of(&root)?;
        let mut git = Command::new("git");
        git.current_dir(&root).args(["log", "-1", "--format=%ct"]);
        let epoch = run(&mut git)?;
        let epoch = epoch.trim().parse().map_err(|_| format!("git log: no time: {epoch:?}"))?;
        let target = crate::wasm::target();
        // A part must not replace a finished release.
        let part = if is_complete { "" } else { "-part" };
        let output = target.join(format!("release-{version}{part}"));
        let work = target.join("release-work");
        make(&output)?;
        make(&work)?;
        let built = Vec::new();
        Ok(Context { root, version, output, work, epoch, owner, machines, is_trial, built })
    }

    /// Cargo in the root of the tree. Compilers write no path and no time of this machine, and find the time of the commit in
    /// `SOURCE_DATE_EPOCH`; `flags` are for rustc.
    pub(super) fn cargo(&self, arguments: &[&str], flags: &[&str]) -> Result<Command> {
        let mut all = remap(&self.root)?;
        all.extend(flags.iter().map(|flag| (*flag).to_owned()));
        let mut cargo =
            self.command(&std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
        // Separated by 0x1f, so that paths may have blanks.
        cargo.args(arguments).env("CARGO_ENCODED_RUSTFLAGS", all.join("\u{1f}"));
        Ok(cargo)
    }

    /// A program in the root of the tree, with the time of the commit in `SOURCE_DATE_EPOCH`.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root).env("SOURCE_DATE_EPOCH", self.epoch.to_string());
        command
    }

    /// The time of the commit as RFC 3339 writes it, in UTC.
    pub(super) fn time(&self) -> Result<String> {
        let mut date = Command::new("date");
        date.args(["--utc", "+%Y-%m-%dT%H:%M:%SZ"]).arg(format!("--date=@{}", self.epoch));
        Ok(run(&mut date)?.trim().to_owned())
    }

    /// Whether the release is for the machine that builds it, whose programs it can run.
    pub(super) fn is_native(&self, machine: Machine) -> bool {
        machine.name == std::env::consts::ARCH
    }

    /// A static program for a machine: as it is, or in the emulator of user space (Debian: qemu-user). One that is linked with
    /// libraries finds them in `QEMU_LD_PREFIX`.
    pub(super) fn program(&self, machine: Machine, program: &Path) -> Command {
        if self.is_native(machine) {
            return Command::new(program);
        }
        let mut emulator = Command::new(format!("qemu-{}", machine.name));
        emulator.arg(program);
        emulator
    }

    /// An empty directory in `work`.
    pub(super) fn scratch(&self, name: &str) -> Result<PathBuf> {
        let directory = self.work.join(name);
        callgate_tasks::files::remove(&directory)?;
        make(&directory)?;
        Ok(directory)
    }

    /// The path of a file below `output`, with `/`.
    pub(super) fn relative(&self, path: &Path) -> Result<String> {
        let below = path
            .strip_prefix(&self.output)
            .map_err(|_| format!("{}: is not below {}", path.display(), self.output.display()))?;
        Ok(below.to_string_lossy().into_owned())
    }
}

/// Runs a command, whose output is that of this process.
pub(super) fn execute(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let first = command
        .get_args()
        .next()
        .map_or_else(String::new, |word| format!(" {}", word.to_string_lossy()));
    let status = command.status().map_err(|error| format!("{name}: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{name}{first}: {status}")),
    }
}
