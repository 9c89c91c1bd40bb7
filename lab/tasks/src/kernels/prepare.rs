//! Prepares a guest: its kernel, and the program that executes a plan.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::fetch::{self, Kernel};
use super::guests::Guest;
use crate::machine;
use callgate_tasks::files::read;
use callgate_tasks::{Result, workspace};

/// Everything needed to boot a guest.
pub(super) struct Ready {
    pub(super) kernel: Kernel,
    /// The program that executes a plan.
    pub(super) program: Vec<u8>,
    pub(super) directory: PathBuf,
}

/// Compiles the program of a guest and fetches its kernel; adds the versions of the tools to `tools`.
pub(super) fn prepare(
    guest: &Guest,
    directory: &Path,
    anew: bool,
    tools: &mut Vec<String>,
    progress: &dyn Fn(&str),
) -> Result<Ready> {
    let machine = guest.machine;
    let missing = |tool: &str, packages: &str| {
        format!("missing {tool}; install it with: apt-get install {packages}")
    };
    for (tool, packages) in [
        (machine.emulator, machine.emulator_package),
        (machine.compiler, machine.compiler_packages),
    ] {
        let version = machine::said(tool, &["--version"]).ok_or_else(|| missing(tool, packages))?;
        let version = version.lines().next().unwrap_or_default().to_owned();
        if !tools.contains(&version) {
            tools.push(version);
        }
    }
    let path = directory.join(format!("guest-{}", machine.name));
    let mut compiler = Command::new(machine.compiler);
    compiler.args(["-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-static", "-o"]).arg(&path);
    compiler.arg(workspace().join("lab/tasks/src/kernels/guest.c"));
    callgate_tasks::files::run(&mut compiler).map_err(|error| {
        format!("{error}\n{}", missing("a static C library", machine.compiler_packages))
    })?;
    progress(&format!("{}: kernel", guest.name()));
    let kernel = fetch::kernel(guest, directory, anew)?;
    Ok(Ready { kernel, program: read(&path)?, directory: directory.to_owned() })
}
