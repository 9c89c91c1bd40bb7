//! Installs the command from the archive and from the package, and runs it.

use std::path::{Path, PathBuf};
use std::process::Command;

use callgate_tasks::Result;
use callgate_tasks::files::{make, read, run};

use super::build::names;
use crate::release::context::{Context, Machine};
use crate::release::documents::{Example, expect};
use crate::release::root::{self, lint};

/// Uses what was built, as a user who has unpacked or installed it.
pub(in crate::release) fn check(context: &Context) -> Result<()> {
    let readme = String::from_utf8_lossy(&read(&context.root.join("README.md"))?).into_owned();
    let first = Example::first(&readme).ok_or("README.md: has no example with callgate")?;
    for machine in &context.machines {
        let unpacked = unpack(context, *machine)?;
        let program = unpacked.join("callgate");
        let version = run(context.program(*machine, &program).arg("--version"))?;
        expect("callgate --version", &version, &format!("callgate {}\n", context.version))?;
        let (output, _) = names(context, *machine);
        let package = output.join(format!("callgate_{}_{}.deb", context.version, machine.debian));
        lint(&package)?;
        if context.is_native(*machine) {
            repeat(&first, Command::new("sh").env("PATH", path_with(&unpacked)))?;
            is_installed(&program)?;
            is_verified(&unpacked)?;
            check_package(context, &package, &first)?;
        } else {
            // An emulator installs no filters.
            check_foreign(context, *machine, &program, &package)?;
        }
    }
    Ok(())
}

/// Runs an example with a shell; its output must be that of the document.
fn repeat(example: &Example, shell: &mut Command) -> Result<()> {
    let printed = run(shell.arg("-c").arg(format!("{{ {}\n}} 2>&1", example.command)))?;
    expect(&example.command, &printed, &example.output)
}

/// The filter of a started program is really there.
fn is_installed(program: &Path) -> Result<()> {
    let mut grep = Command::new(program);
    grep.args(["run", "--", "grep", "^Seccomp:", "/proc/self/status"]);
    expect("callgate run -- grep", &run(&mut grep)?, "Seccomp:\t2\n")
}

/// The command finds the checker beside it, and the checker accepts its program.
fn is_verified(directory: &Path) -> Result<()> {
    let mut compile = Command::new("sh");
    let command = "callgate compile docker-default -o /dev/null --verify 2>&1";
    let printed = run(compile.env("PATH", path_with(directory)).args(["-c", command]))?;
    match printed.contains("callgate-check: accepted") {
        true => Ok(()),
        false => Err(format!("{command}: printed\n{printed}")),
    }
}

/// Installs the package in a root directory of Debian, runs the command there, and removes it.
fn check_package(context: &Context, package: &Path, first: &Example) -> Result<()> {
    let root = root::debian(context, "command-root")?;
    root.install(&[package])?;
    run(&mut root.command(&["dpkg", "--verify", "callgate"]))?;
    repeat(first, &mut root.command(&["sh"]))?;
    for file in [
        "usr/bin/callgate-check",
        "usr/share/bash-completion/completions/callgate",
        "usr/share/doc/callgate/copyright",
    ] {
        if !root.path.join(file).exists() {
            return Err(format!("{file}: was not installed"));
        }
    }
    run(&mut root.command(&["dpkg", "--purge", "callgate"]))?;
    match root.path.join("usr/bin/callgate").exists()
        || root.path.join("usr/share/doc/callgate").exists()
    {
        true => Err("dpkg --purge callgate: left files".to_owned()),
        false => Ok(()),
    }
}

/// The binaries in both files are the same, and compile the same program as one for this machine would.
fn check_foreign(
    context: &Context,
    machine: Machine,
    program: &Path,
    package: &Path,
) -> Result<()> {
    let scratch = context.scratch("command-foreign")?;
    run(Command::new("dpkg-deb").arg("--extract").arg(package).arg(&scratch))?;
    let packaged = scratch.join("usr/bin/callgate");
    if read(&packaged)? != read(program)? {
        return Err(format!("{}: its binary is not that of the archive", package.display()));
    }
    let arguments = [
        "compile",
        "container-default",
        "--arch",
        machine.name,
        "--emit",
        "asm",
        "--kernel",
        "6.12",
    ];
    let emulated = run(context.program(machine, program).args(arguments))?;
    let explained =
        run(context.program(machine, program).args(["explain", "container-default", "socket"]))?;
    if !explained.contains("AF_UNIX") {
        return Err(format!("callgate explain container-default socket: printed\n{explained}"));
    }
    let natives: Vec<Machine> =
        context.machines.iter().copied().filter(|one| context.is_native(*one)).collect();
    for native in natives {
        let own = run(Command::new(unpack(context, native)?.join("callgate")).args(arguments))?;
        expect("callgate compile", &emulated, &own)?;
    }
    Ok(())
}

/// Unpacks the archive of a machine, and returns the directory in it.
fn unpack(context: &Context, machine: Machine) -> Result<PathBuf> {
    let (output, name) = names(context, machine);
    let scratch = context.work.join(format!("command-unpacked-{}", machine.name));
    make(&scratch)?;
    let archive = output.join(format!("{name}.tar.gz"));
    run(Command::new("tar").arg("-xf").arg(archive).arg("-C").arg(&scratch))?;
    Ok(scratch.join(name))
}

/// `PATH` with a directory in front.
fn path_with(directory: &Path) -> String {
    format!("{}:{}", directory.display(), std::env::var("PATH").unwrap_or_default())
}
