//! Installs the packages in a root directory of Debian 12, and uses them.

use std::path::PathBuf;

use callgate_tasks::apt::mirror;
use callgate_tasks::files::{files, remove};
use callgate_tasks::{Result, workspace};

use super::packages::{DIRECTORY, version};
use crate::release::context::{Context, MACHINES, execute};
use crate::release::root::lint;

pub(in crate::release) fn check(context: &Context) -> Result<()> {
    // Its programs run here. What is built for another machine is installed beside it, and runs in an emulator.
    let Some(native) = context.machines.iter().find(|machine| context.is_native(**machine)) else {
        println!("not checked: no package is for this machine");
        return Ok(());
    };
    let packages = context.output.join(DIRECTORY);
    for package in files(&packages, "deb")? {
        lint(&package)?;
    }
    let base = debian(context)?;
    let scratch = context.scratch("drop-in-check")?;
    let mut check = context.command("unshare");
    // All mounts and processes end with the script.
    check.args(["--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "bash"]);
    check.arg(script("check.sh")).arg(&base).arg(&scratch).arg(&packages);
    check.args([version(context)?.as_str(), native.debian]);
    check.args(context.machines.iter().filter(|machine| *machine != native).map(|one| one.debian));
    execute(&mut check)?;
    remove(&scratch)
}

/// A root directory of Debian 12, which an earlier release may have made.
fn debian(context: &Context) -> Result<PathBuf> {
    let base = context.work.join("debian-12");
    if !base.is_dir() {
        let (mirror, keyring) = mirror()?;
        let mut make = context.command("unshare");
        make.args(["--mount", "--propagation", "private", "bash"]);
        make.arg(script("debian.sh")).arg(&base).arg(mirror).arg(keyring.unwrap_or_default());
        make.args(
            MACHINES.iter().filter(|machine| !context.is_native(**machine)).map(|one| one.debian),
        );
        execute(&mut make)?;
    }
    Ok(base)
}

/// A script of this directory.
fn script(name: &str) -> PathBuf {
    workspace().join("xtask/src/release/drop_in").join(name)
}
