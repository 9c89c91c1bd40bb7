//! Installs the packages in a root directory of Debian 12, and uses them.

use std::path::PathBuf;

use callgate_tasks::files::{files, remove};
use callgate_tasks::{Result, workspace};

use super::packages::{DIRECTORY, version};
use crate::release::context::{Context, MACHINES, Machine, execute};
use crate::release::root::{lint, system};

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
    let base = debian(context, *native)?;
    let scratch = context.scratch("drop-in-check")?;
    let mut check = context.command("unshare");
    // All mounts and processes end with the script.
    check.args(["--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "bash"]);
    check
        .arg(workspace().join("xtask/src/release/drop_in/check.sh"))
        .arg(&base)
        .arg(&scratch)
        .arg(&packages);
    check.args([version(context)?.as_str(), native.debian]);
    check.args(context.machines.iter().filter(|machine| *machine != native).map(|one| one.debian));
    execute(&mut check)?;
    remove(&scratch)
}

/// Programs that use libseccomp, and what `check.sh` runs beside them.
const PROGRAMS: [&str; 10] = [
    "apt-utils",
    "busybox-static",
    "crun",
    "jq",
    "man-db",
    "runc",
    "seccomp",
    "strace",
    "systemd",
    "systemd-tests",
];

/// A root directory of Debian 12 with them, and with the packages that `check.sh` installs without the network: libseccomp
/// itself, and its library for the other machines.
fn debian(context: &Context, native: Machine) -> Result<PathBuf> {
    let foreign = MACHINES.iter().filter(|machine| **machine != native).map(|one| one.debian);
    let foreign: Vec<&str> = foreign.collect();
    let download = |options: &str, packages: &str| {
        let install = "apt-get install --quiet --yes --no-install-recommends --download-only";
        format!("--customize-hook=chroot \"$1\" {install} {options} {packages}")
    };
    let mut options = vec![
        format!("--include={}", PROGRAMS.join(",")),
        format!("--architectures={}", [&[native.debian], &*foreign].concat().join(",")),
        // It would delete what is downloaded.
        "--skip=cleanup/apt".to_owned(),
        download("--reinstall", "libseccomp2"),
    ];
    for other in foreign {
        options.push(download("", &format!("libseccomp2:{other}")));
    }
    system(context, "debian-12-programs", &options)
}
