//! Builds the image for each machine, and writes all of them as one archive.

use std::fs;
use std::path::{Path, PathBuf};

use callgate_tasks::Result;
use callgate_tasks::files::{run, write};

use super::buildah::Buildah;
use crate::release::archive::tar_of;
use crate::release::command::program;
use crate::release::context::{Context, Libc, Machine};
use crate::release::notices::{THIRD_PARTY, notices};
use crate::release::part::Artefact;

/// The image of a machine has less than this many bytes, and so has its archive.
const MAX_SIZE: u64 = 12_000_000;

/// What the image is called, also after `podman load`.
pub(super) fn name(context: &Context) -> String {
    format!("{}:{}", context.owner.image(), context.version)
}

/// The archive.
pub(super) fn archive(context: &Context) -> PathBuf {
    context.output.join("image").join(format!("callgate-{}-image.tar", context.version))
}

/// Builds the archive: an OCI layout with an image index.
pub(in crate::release) fn build(context: &Context) -> Result<Vec<Artefact>> {
    let buildah = Buildah::new(context, "image-storage")?;
    for machine in &context.machines {
        let scratch = context.scratch(&format!("image-{}", machine.name))?;
        fill(context, *machine, &scratch)?;
        let mut build = buildah.command(&["build", "--quiet", "--isolation=chroot"]);
        build.args(["--format=oci", "--identity-label=false", "--manifest=callgate"]);
        build.arg(format!("--platform=linux/{}", machine.go));
        // All times in the image.
        build.arg(format!("--timestamp={}", context.epoch));
        build.args(labels(context)?.iter().map(|label| format!("--label={label}")));
        build.arg("--file").arg(context.root.join("xtask/src/release/image/Containerfile"));
        run(build.arg(&scratch))?;
    }
    let layout = context.work.join("image-layout");
    callgate_tasks::files::remove(&layout)?;
    let place = format!("oci:{}:{}", layout.display(), name(context));
    run(&mut buildah.command(&["manifest", "push", "--all", "callgate", &place]))?;
    let archive = archive(context);
    tar_of(context, &layout, &archive)?;
    let machines = context.machines.len() as u64;
    check_size("an image", size(&archive)? / machines)?;
    let path = context.relative(&archive)?;
    let what = "the command as an OCI image for podman, docker, kubernetes".to_owned();
    Ok(vec![Artefact { path, what, machine: None }])
}

/// Writes what the image of a machine contains.
fn fill(context: &Context, machine: Machine, directory: &Path) -> Result<()> {
    let mut files = vec![(program(context, machine)?, "callgate")];
    files.extend(["LICENSE-APACHE", "LICENSE-MIT"].map(|name| (context.root.join(name), name)));
    for (from, name) in files {
        fs::copy(&from, directory.join(name))
            .map_err(|error| format!("{}: {error}", from.display()))?;
    }
    let target = machine.target(Libc::Musl);
    write(&directory.join(THIRD_PARTY), notices(context, "crates/callgate-cli", &target)?)?;
    let mut total = 0;
    for entry in fs::read_dir(directory).map_err(|error| error.to_string())?.flatten() {
        total += size(&entry.path())?;
    }
    check_size("the files of an image", total)
}

fn check_size(what: &str, bytes: u64) -> Result<()> {
    match bytes < MAX_SIZE {
        true => Ok(()),
        false => Err(format!("{what}: {bytes} bytes, must be less than {MAX_SIZE}")),
    }
}

fn size(path: &Path) -> Result<u64> {
    let data = fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(data.len())
}

/// What the image says of itself: <https://github.com/opencontainers/image-spec/blob/main/annotations.md>.
fn labels(context: &Context) -> Result<Vec<String>> {
    let commit = run(context.command("git").args(["rev-parse", "HEAD"]))?;
    let created = context.time()?;
    let place = format!("https://{}", context.owner.place());
    let documentation = format!("{place}/blob/main/docs/how-to/container-image.md");
    let values = [
        ("title", "callgate"),
        ("description", "compile, prove, run, explain and compare seccomp filters"),
        ("version", context.version.as_str()),
        ("revision", commit.trim()),
        ("created", created.as_str()),
        ("licenses", "MIT OR Apache-2.0"),
        ("source", place.as_str()),
        ("url", place.as_str()),
        ("documentation", documentation.as_str()),
    ];
    Ok(values.map(|(key, value)| format!("org.opencontainers.image.{key}={value}")).to_vec())
}
