//! Programs that are compiled for the measurement: threads and child processes with musl, glibc and Go.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::uses::Use;
use callgate_tasks::files::{make, output, write};
use callgate_tasks::{Result, workspace};

const C: &str = include_str!("programs/children.c");
const RUST: &str = include_str!("programs/children.rs");
const GO: &str = include_str!("programs/children.go");

const MUSL: &str = "x86_64-unknown-linux-musl";

/// The names of the programs, with the language, and whether they are linked with libraries.
const PROGRAMS: &[(&str, Kind)] = &[
    ("c-musl-static", Kind::C("musl-gcc", &["-O2", "-static"])),
    ("c-musl-dynamic", Kind::C("musl-gcc", &["-O2"])),
    ("c-musl-small", Kind::C("musl-gcc", &["-Os", "-s", "-static"])),
    ("c-glibc-static", Kind::C("gcc", &["-O2", "-pthread", "-static"])),
    ("c-glibc-dynamic", Kind::C("gcc", &["-O2", "-pthread"])),
    ("rust-musl-static", Kind::RustStatic),
    ("rust-musl-dynamic", Kind::RustDynamic),
    ("go-static", Kind::Go),
];

#[derive(Clone, Copy)]
enum Kind {
    C(&'static str, &'static [&'static str]),
    RustStatic,
    RustDynamic,
    Go,
}

/// The programs that can be compiled here, and why others cannot.
pub(super) fn all(only: &[String]) -> Result<(Vec<Use>, Vec<String>)> {
    let directory = workspace().join("target/binaries/built");
    make(&directory)?;
    let (mut uses, mut left_out) = (Vec::new(), Vec::new());
    for (name, kind) in PROGRAMS {
        if !only.is_empty() && !only.iter().any(|one| one == name) {
            continue;
        }
        let program = directory.join(name);
        match build(*kind, &directory, &program) {
            Ok(()) => {
                let script = format!("{}\n", program.display());
                uses.push(Use { program, is_popular: false, script });
            }
            Err(why) => {
                left_out.push(format!("{name}: {}", why.lines().next().unwrap_or_default()))
            }
        }
    }
    Ok((uses, left_out))
}

fn build(kind: Kind, directory: &Path, program: &Path) -> Result<()> {
    let source = |name: &str, text: &str| -> Result<PathBuf> {
        let path = directory.join(name);
        write(&path, text)?;
        Ok(path)
    };
    let mut command = match kind {
        Kind::C(compiler, options) => {
            let mut command = Command::new(compiler);
            command.args(options).arg(source("children.c", C)?).arg("-o").arg(program);
            command
        }
        Kind::RustStatic | Kind::RustDynamic => {
            let mut command = Command::new("rustc");
            command.args(["-O", "--edition", "2024", "--target", MUSL]);
            if matches!(kind, Kind::RustDynamic) {
                // Debian has no libgcc_s for musl: the unwinder of the target is linked in its place.
                let root = output(Command::new("rustc").args(["--print", "sysroot"]))?;
                let lib =
                    format!("{}/lib/rustlib/{MUSL}/lib/self-contained/libunwind.a", root.trim());
                make(&directory.join("lib"))?;
                write(&directory.join("lib/libgcc_s.so"), format!("INPUT({lib})\n"))?;
                command.args(["-C", "target-feature=-crt-static", "-C", "linker=musl-gcc", "-L"]);
                command.arg(directory.join("lib"));
            }
            command.arg(source("children.rs", RUST)?).arg("-o").arg(program);
            command
        }
        Kind::Go => {
            let mut command = Command::new("go");
            command.env("CGO_ENABLED", "0").args(["build", "-o"]).arg(program);
            command.arg(source("children.go", GO)?);
            command
        }
    };
    output(&mut command).map(|_| ())
}
