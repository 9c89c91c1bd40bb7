//! Builds programs in C, Rust and Go.

use std::path::{Path, PathBuf};
use std::process::Command;

use callgate::emit::{SourceLanguage, SourceOptions, template_source};
use callgate::{Arch, Options, compile_template};
use callgate_formats::kafel;

use callgate_tasks::files::{make, output, remove, write};
use callgate_tasks::{Result, workspace};

/// The policy, with the variables `output` and `limit`.
pub(super) const POLICY: &str = include_str!("policy.kafel");

const TIMED_C: &str = include_str!("drivers/c/timed.c");
const TIMED_H: &str = include_str!("drivers/c/timed.h");
const TIMED_RUST: &str = include_str!("drivers/rust/timed.rs");
const TIMED_GO: &str = include_str!("drivers/go/timed.go");

/// A program.
pub(super) struct Program {
    /// As the tools of the language build it by default.
    pub(super) default: PathBuf,
    /// Without symbols. This one is measured.
    pub(super) stripped: PathBuf,
    /// The library that it needs, apart from that of C.
    pub(super) library: Option<PathBuf>,
}

/// The directory of all programs, and what they have in common.
pub(super) struct Builder {
    place: PathBuf,
    libseccomp: Option<PathBuf>,
    arch: Arch,
}

/// A file of a program: its path in the directory of the program, and its text.
pub(super) type File<'t> = (&'t str, &'t str);

impl Builder {
    pub(super) fn new(libseccomp: Option<&Path>) -> Result<Builder> {
        let place = workspace().join("target/startup");
        make(&place)?;
        let arch = Arch::native().ok_or("unknown architecture")?;
        Ok(Builder { place, libseccomp: libseccomp.map(Path::to_owned), arch })
    }

    /// The directory with libseccomp.
    pub(super) fn libseccomp(&self) -> Result<&Path> {
        let missing = "--libseccomp is not given".to_owned();
        self.libseccomp.as_deref().ok_or(missing)
    }

    /// The policy as source code with a function that installs the filter.
    pub(super) fn emitted(&self, language: SourceLanguage) -> Result<String> {
        let profile = kafel::read(POLICY, &kafel::ReadOptions::new(self.arch))
            .map_err(|errors| format!("policy.kafel:{errors}"))?;
        let compiled = compile_template(&profile.policy, &Options::default())
            .map_err(|error| error.to_string())?;
        let options = SourceOptions { installer: true, ..SourceOptions::new(language) };
        template_source(&compiled.template, &options).map_err(|error| error.to_string())
    }

    /// An empty directory with these files.
    fn directory(&self, name: &str, files: &[File<'_>]) -> Result<PathBuf> {
        let directory = self.place.join(name);
        remove(&directory)?;
        for (path, text) in files {
            let path = directory.join(path);
            make(path.parent().unwrap_or(&directory))?;
            write(&path, text)?;
        }
        Ok(directory)
    }

    /// Builds a program in C from `main.c`.
    pub(super) fn c(
        &self,
        name: &str,
        files: &[File<'_>],
        arguments: &[String],
        library: Option<PathBuf>,
    ) -> Result<Program> {
        let files = [files, &[("timed.c", TIMED_C), ("timed.h", TIMED_H)]].concat();
        let directory = self.directory(name, &files)?;
        output(
            Command::new("cc")
                // As rustc and hardened distributions link: symbols are bound before main.
                .args(["-O2", "-Wall", "-Werror", "-Wl,-z,relro,-z,now", "-o", "main", "main.c"])
                .arg("timed.c")
                .args(arguments)
                .current_dir(&directory),
        )?;
        stripped(&directory, directory.join("main"), library)
    }

    /// Builds a program in Rust from `src/main.rs` with these lines of `Cargo.toml`.
    pub(super) fn rust(&self, name: &str, files: &[File<'_>], manifest: &str) -> Result<Program> {
        let manifest = format!(
            "[package]\nname = \"{name}\"\nedition = \"2024\"\n\n{manifest}\n[workspace]\n"
        );
        let fixed = [
            ("Cargo.toml", manifest.as_str()),
            ("src/timed.rs", TIMED_RUST),
            ("timed.c", TIMED_C),
            ("timed.h", TIMED_H),
        ];
        let directory = self.directory(name, &[files, &fixed].concat())?;
        // The versions of the workspace, which are at hand without a network.
        let lock = directory.join("Cargo.lock");
        std::fs::copy(workspace().join("Cargo.lock"), &lock)
            .map_err(|why| format!("{}: {why}", lock.display()))?;
        output(Command::new("cc").args(["-O2", "-c", "timed.c"]).current_dir(&directory))?;
        let target = self.place.join("cargo");
        output(
            Command::new("cargo")
                .args(["rustc", "--quiet", "--release", "--target-dir"])
                .arg(&target)
                .args(["--", "-C"])
                .arg(format!("link-arg={}", directory.join("timed.o").display()))
                .current_dir(&directory),
        )?;
        stripped(&directory, target.join("release").join(name), None)
    }

    /// Builds a program in Go with these lines of `go.mod`, after the package `generate` has written `generated.go`.
    pub(super) fn go(
        &self,
        name: &str,
        files: &[File<'_>],
        requirements: &str,
        environment: &[(&str, String)],
    ) -> Result<Program> {
        // The version of Go that gVisor requires; go fetches it if it is older.
        let module = format!("module startup\n\ngo 1.26\n\n{requirements}");
        let sums = std::fs::read_to_string(workspace().join("bindings/go/go.sum"));
        let sums = sums.map_err(|why| format!("bindings/go/go.sum: {why}"))?;
        let fixed = [("go.mod", module.as_str()), ("go.sum", &sums), ("timed.go", TIMED_GO)];
        let directory = self.directory(name, &[files, &fixed].concat())?;
        let go = |arguments: &[&str]| {
            let mut command = Command::new("go");
            command.args(arguments).envs(environment.iter().map(|(key, value)| (key, value)));
            output(command.current_dir(&directory))
        };
        if directory.join("generate").exists() {
            write(&directory.join("generated.go"), go(&["run", "-mod=mod", "./generate"])?)?;
        }
        let default = directory.join("main");
        let stripped = directory.join("stripped");
        go(&["build", "-mod=mod", "-o", "main", "."])?;
        go(&["build", "-mod=mod", "-ldflags=-s -w", "-o", "stripped", "."])?;
        Ok(Program { default, stripped, library: None })
    }
}

/// Makes a program without symbols.
fn stripped(directory: &Path, default: PathBuf, library: Option<PathBuf>) -> Result<Program> {
    let stripped = directory.join("stripped");
    output(Command::new("strip").arg("-o").args([&stripped, &default]))?;
    Ok(Program { default, stripped, library })
}
