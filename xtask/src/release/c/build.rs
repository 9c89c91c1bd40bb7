//! Builds the library, and packs it.

use std::path::{Path, PathBuf};

use callgate_tasks::Result;
use callgate_tasks::files::{make, run, write};

use crate::install::{self, Library, Place, elf};
use crate::release::archive::{Control, deb, tar_gz};
use crate::release::context::{Context, Machine};
use crate::release::debian::compress;
use crate::release::notices::{THIRD_PARTY, notices};
use crate::release::part::Artefact;
use crate::release::toolchain::for_glibc;

/// The library.
pub(super) fn library() -> Result<&'static Library> {
    Library::named("libcallgate").ok_or_else(|| "libcallgate: is not a library".to_owned())
}

/// The directory below the output, and the name of the archive without its extension.
pub(super) fn names(context: &Context, machine: Machine) -> (PathBuf, String) {
    let name = format!("libcallgate-{}-{}-linux-gnu", context.version, machine.name);
    (context.output.join("c"), name)
}

/// The files of the packages for programs and for programmers.
pub(super) fn packages(context: &Context, machine: Machine) -> [String; 2] {
    ["libcallgate0", "libcallgate-dev"]
        .map(|package| format!("{package}_{}_{}.deb", context.version, machine.debian))
}

/// Builds an archive and two packages for each machine.
pub(in crate::release) fn build(context: &Context) -> Result<Vec<Artefact>> {
    let mut artefacts = Vec::new();
    for machine in &context.machines {
        let scratch = context.scratch(&format!("c-{}", machine.name))?;
        let installed = install(context, *machine, &scratch.join("installed"))?;
        let (output, name) = names(context, *machine);
        let archive = output.join(format!("{name}.tar.gz"));
        fill(context, *machine, &installed, &scratch.join(&name))?;
        tar_gz(context, &scratch, &name, &archive)?;
        package(context, *machine, &installed, &scratch, &output)?;
        let [runtime, development] = packages(context, *machine).map(|name| output.join(name));
        for (path, what) in [
            (archive, "libcallgate for C: libraries, headers, for any directory"),
            (runtime, "libcallgate.so.0 as a Debian package"),
            (development, "the same with what programs are built with"),
        ] {
            let (path, what) = (context.relative(&path)?, what.to_owned());
            artefacts.push(Artefact { path, what, machine: Some(*machine) });
        }
    }
    Ok(artefacts)
}

/// What `cargo xtask install` installed.
struct Installed {
    place: Place,
    target: String,
}

impl Installed {
    /// The path of a library in the tree.
    fn library(&self, name: &str) -> PathBuf {
        self.place.staged(&self.place.libdir.join(name))
    }

    /// The directory of the headers in the tree.
    fn headers(&self) -> PathBuf {
        self.place.staged(&self.place.prefix.join("include"))
    }
}

/// Builds the library for a machine, and installs it below a directory as in Debian.
fn install(context: &Context, machine: Machine, destdir: &Path) -> Result<Installed> {
    let (target, flags) = for_glibc(context, machine)?;
    let place = Place {
        prefix: "/usr".into(),
        libdir: machine.libdir().into(),
        destdir: destdir.to_owned(),
    };
    install::install(library()?, &place, Some(&target), &flags, false)?;
    Ok(Installed { place, target })
}

/// Writes what an archive contains: a directory that works where it is unpacked.
fn fill(context: &Context, machine: Machine, installed: &Installed, tree: &Path) -> Result<()> {
    make(tree)?;
    copy(&installed.headers(), &tree.join("include"))?;
    copy(&installed.library(""), &tree.join("lib"))?;
    let (prefix, libdir) = (Path::new("${pcfiledir}/../.."), Path::new("${pcfiledir}/../../lib"));
    write(
        &tree.join("lib/pkgconfig/callgate.pc"),
        install::pkgconfig_text(library()?, prefix, libdir),
    )?;
    for name in ["LICENSE-APACHE", "LICENSE-MIT", "docs/how-to/filters-in-c.md"] {
        copy(&context.root.join(name), tree)?;
    }
    let licenses = notices(context, "crates/callgate-c", &installed.target)?;
    let glibc = glibc(installed)?;
    let machine = machine.name;
    write(&tree.join(THIRD_PARTY), licenses)?;
    write(
        &tree.join("README.txt"),
        format!(
            "libcallgate {} for C and C++, {machine}, for systems with glibc {glibc} or later.\n\n\
             This directory works where it is:\n\n    \
             export PKG_CONFIG_PATH=$PWD/lib/pkgconfig LD_LIBRARY_PATH=$PWD/lib\n    \
             cc program.c $(pkg-config --cflags --libs callgate) -o program\n\n\
             filters-in-c.md has complete programs, and include/callgate.h documents each function.\n",
            context.version
        ),
    )
}

/// The oldest version of glibc with which the shared library works.
fn glibc(installed: &Installed) -> Result<String> {
    let (major, minor) = elf::glibc(&installed.library(&library()?.file()))?;
    Ok(format!("{major}.{minor}"))
}

/// Makes the packages for programs and for programmers.
fn package(
    context: &Context,
    machine: Machine,
    installed: &Installed,
    scratch: &Path,
    output: &Path,
) -> Result<()> {
    let library = library()?;
    let libdir = installed.place.libdir.strip_prefix("/").unwrap_or(&installed.place.libdir);
    let (runtime, development) = (scratch.join("runtime"), scratch.join("development"));
    for name in [&library.file(), library.soname()] {
        copy(&installed.library(name), &runtime.join(libdir))?;
    }
    // Debian's shared libraries are not executable.
    let file = runtime.join(libdir).join(library.file());
    run(context.command("chmod").arg("644").arg(file))?;
    let version = &context.version;
    let fields = |fields: &[String]| {
        let mut all = vec!["Multi-Arch: same".to_owned()];
        all.extend_from_slice(fields);
        all
    };
    let control = Control {
        package: "libcallgate0",
        version,
        architecture: machine.debian,
        fields: &fields(&[
            "Section: libs".to_owned(),
            format!("Depends: libc6 (>= {}), libgcc-s1", glibc(installed)?),
        ]),
        description: (
            "compiles, proves and installs seccomp filters",
            &[
                "Programs in C and C++ read a policy with it, compile it to a seccomp filter",
                "that is proved to do what the policy says, and install it in their threads.",
            ],
        ),
        scripts: &[
            ("shlibs", format!("libcallgate 0 libcallgate0 (>= {version})\n")),
            ("triggers", "activate-noawait ldconfig\n".to_owned()),
        ],
    };
    let licenses = notices(context, "crates/callgate-c", &installed.target)?;
    let third_party = |root: &Path, package: &str| {
        let documents = root.join("usr/share/doc").join(package);
        make(&documents)?;
        let file = documents.join(THIRD_PARTY);
        write(&file, &licenses)?;
        compress(&file)
    };
    third_party(&runtime, "libcallgate0")?;
    deb(context, &control, &runtime, output)?;

    for name in ["libcallgate.so", "libcallgate.a", "pkgconfig"] {
        copy(&installed.library(name), &development.join(libdir))?;
    }
    copy(&installed.headers(), &development.join("usr/include"))?;
    third_party(&development, "libcallgate-dev")?;
    let control = Control {
        package: "libcallgate-dev",
        fields: &fields(&[
            "Section: libdevel".to_owned(),
            format!("Depends: libcallgate0 (= {version})"),
        ]),
        description: (
            "compiles, proves and installs seccomp filters (development files)",
            &["The headers, the static library and the file for pkg-config."],
        ),
        scripts: &[],
        ..control
    };
    deb(context, &control, &development, output).map(drop)
}

/// Copies a file, a link or a directory, to a directory that need not exist for the first of them.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let directory = if from.is_dir() { to.parent().unwrap_or(to) } else { to };
    make(directory)?;
    let mut copy = std::process::Command::new("cp");
    run(copy.args(["--recursive", "--no-dereference"]).arg(from).arg(to)).map(drop)
}
