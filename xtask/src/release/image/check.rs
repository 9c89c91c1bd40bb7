//! Runs the image, and looks into it.

use std::path::Path;

use callgate_tasks::Result;
use callgate_tasks::files::{read, remove, run};

use super::build::{archive, name};
use super::buildah::Buildah;
use crate::release::command::program;
use crate::release::context::{Context, Machine};

/// The image of each machine has its binary, and that of this machine runs in a container.
pub(in crate::release) fn check(context: &Context) -> Result<()> {
    let buildah = Buildah::new(context, "image-check")?;
    let image = format!("oci-archive:{}", archive(context).display());
    for machine in &context.machines {
        let architecture = format!("--arch={}", machine.go);
        let container = run(&mut buildah.command(&["from", &architecture, &image]))?;
        let container = container.trim();
        let mounted = run(&mut buildah.command(&["mount", container]))?;
        check_binary(context, *machine, Path::new(mounted.trim()))?;
        if context.is_native(*machine) {
            check_container(context)?;
        }
        run(&mut buildah.command(&["rm", container]))?;
    }
    Ok(())
}

/// Loads the archive, and runs the image as its users do.
fn check_container(context: &Context) -> Result<()> {
    let storage = context.scratch("image-podman")?;
    // Podman accepts no path of more than 50 bytes here.
    let running = std::env::temp_dir().join(format!("callgate-{}", std::process::id()));
    let podman = || {
        let mut podman = context.command("podman");
        podman.args(["--storage-driver=vfs", "--cgroup-manager=cgroupfs", "--events-backend=none"]);
        podman.arg("--runtime=runc").arg("--root").arg(storage.join("root"));
        podman.arg("--runroot").arg(&running);
        podman
    };
    run(podman().args(["load", "--quiet", "--input"]).arg(archive(context)))?;
    let mut explain = podman();
    explain.args(["run", "--rm", "--network=none", "--read-only"]);
    // Podman would raise the limits, which needs a capability that root of a container may lack.
    explain.args(["--ulimit=nofile=1024:1024", "--ulimit=nproc=1000:1000"]);
    explain.arg(name(context));
    let printed = run(explain.args(["explain", "container-default", "socket"]));
    remove(&running)?;
    let printed = printed?;
    match printed.contains("AF_UNIX") {
        true => Ok(()),
        false => Err(format!("callgate explain container-default socket: printed\n{printed}")),
    }
}

fn check_binary(context: &Context, machine: Machine, root: &Path) -> Result<()> {
    let binary = root.join("usr/bin/callgate");
    if read(&binary)? != read(&program(context, machine)?)? {
        return Err(format!("{}: is not the binary for {}", binary.display(), machine.name));
    }
    Ok(())
}
