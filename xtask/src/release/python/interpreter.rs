//! Pythons with which wheels are tried: that of the system, and those of Debian for another machine, which qemu executes.

use std::path::Path;
use std::process::Command;

use callgate_tasks::Result;
use callgate_tasks::apt::Apt;
use callgate_tasks::files::{make, run, write};

use super::super::context::{Context, Machine};
use super::super::root::DEBIAN;

/// The Python of a machine that is not this one: Debian's.
pub(super) fn of_debian(context: &Context, machine: Machine) -> Result<Command> {
    let root = context.work.join(format!("debian-{}", machine.debian));
    let done = root.join("complete");
    if !done.exists() {
        let lists = context.scratch(&format!("debian-{}-lists", machine.debian))?;
        let apt = Apt::new(&lists, DEBIAN, Some(machine.debian))?;
        let packages = apt.closure("python3")?;
        let names: Vec<&str> = packages.iter().map(String::as_str).collect();
        apt.download(&names)?;
        make(&root)?;
        for name in names {
            apt.unpack(name, &root)?;
        }
        write(&done, "")?;
    }
    let emulator = format!("qemu-{}", machine.name);
    run(Command::new(&emulator).arg("--version"))
        .map_err(|error| format!("{error}\n{emulator} is needed (apt-get install qemu-user)"))?;
    let mut python = context.command(&emulator);
    python.arg("-L").arg(&root).arg(root.join("usr/bin/python3"));
    python.env("PYTHONHOME", root.join("usr"));
    Ok(python)
}

/// The names that a shared library takes from others and that none of these libraries has.
pub(super) fn missing_symbols(library: &Path, providers: &[&Path]) -> Result<Vec<String>> {
    let wanted = symbols(library, "--undefined-only")?;
    let mut given = Vec::new();
    for provider in providers {
        given.extend(symbols(provider, "--defined-only")?);
    }
    Ok(wanted.into_iter().filter(|name| !given.contains(name)).collect())
}

/// The dynamic symbols of a library, without versions. Weak ones may be missing.
fn symbols(library: &Path, which: &str) -> Result<Vec<String>> {
    let text = run(Command::new("nm")
        .args(["--dynamic", "--without-symbol-versions", which])
        .arg(library))?;
    let lines = text.lines().map(|line| line.split_whitespace().rev());
    let strong = lines.filter_map(|mut words| {
        let (name, kind) = (words.next()?, words.next()?);
        (which == "--defined-only" || !matches!(kind, "w" | "v")).then(|| name.to_owned())
    });
    Ok(strong.collect())
}
