//! Builds the binaries, and packs them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use callgate_tasks::Result;
use callgate_tasks::files::{make, run, write};

use crate::release::archive::{Control, deb, tar_gz};
use crate::release::context::{Context, Libc, Machine, execute};
use crate::release::debian::compress;
use crate::release::notices::{THIRD_PARTY, notices};
use crate::release::part::Artefact;
use crate::release::toolchain::add_target;
use crate::wasm::target as target_directory;

/// A binary has less than this many bytes.
const MAX_SIZE: u64 = 10_000_000;

/// The linker of the toolchain: no C library of the target is needed. Packed relocations take 0.3 MB less.
const FLAGS: [&str; 3] =
    ["-Clinker=rust-lld", "-Clinker-flavor=ld.lld", "-Clink-arg=--pack-dyn-relocs=relr"];

/// Shells, the extensions of their completions, and where Debian installs these.
const SHELLS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/callgate"),
    ("zsh", "usr/share/zsh/vendor-completions/_callgate"),
    ("fish", "usr/share/fish/vendor_completions.d/callgate.fish"),
];

/// What Debian's checker of packages must accept.
const OVERRIDES: &str = "\
# The same binary is in the archive and in the image, and depends on no version of a library.
# For this machine, it is position-independent, which the checker takes for a library.
callgate [amd64]: shared-library-lacks-prerequisites [usr/bin/callgate]
callgate [arm64]: statically-linked-binary [usr/bin/callgate]
";

const OVERRIDES_OF_CHECKER: &str = "\
# The checker is the same program in the archive.
callgate: statically-linked-binary [usr/bin/callgate-check]
";

/// The directory below the output, and the name of the archive without its extension.
pub(super) fn names(context: &Context, machine: Machine) -> (PathBuf, String) {
    let name = format!("callgate-{}-{}-linux", context.version, machine.name);
    (context.output.join("command"), name)
}

/// Builds an archive and a package for each machine.
pub(in crate::release) fn build(context: &Context) -> Result<Vec<Artefact>> {
    let mut artefacts = Vec::new();
    for machine in &context.machines {
        let (output, name) = names(context, *machine);
        let scratch = context.scratch(&format!("command-{}", machine.name))?;
        let tree = scratch.join(&name);
        fill(context, *machine, &tree)?;
        let archive = output.join(format!("{name}.tar.gz"));
        tar_gz(context, &scratch, &name, &archive)?;
        let package = package(context, *machine, &tree, &scratch.join("deb"), &output)?;
        for (path, what) in [
            (archive, "static binary, man pages, completions"),
            (output.join(package), "the same as a Debian package"),
        ] {
            let checker = if context.is_native(*machine) { ", callgate-check" } else { "" };
            let (path, what) = (context.relative(&path)?, format!("{what}{checker}"));
            artefacts.push(Artefact { path, what, machine: Some(*machine) });
        }
    }
    Ok(artefacts)
}

/// Builds the static binary for a machine, and returns its path.
pub(in crate::release) fn program(context: &Context, machine: Machine) -> Result<PathBuf> {
    let target = machine.target(Libc::Musl);
    add_target(&target)?;
    let arguments = ["build", "--profile", "command", "--locked", "--package", "callgate-cli"];
    let mut cargo = context.cargo(&arguments, &FLAGS)?;
    execute(cargo.args(["--target", &target]))?;
    let program = target_directory().join(target).join("command/callgate");
    let name = program.display();
    let size = fs::metadata(&program).map_err(|error| format!("{name}: {error}"))?.len();
    if size >= MAX_SIZE {
        return Err(format!("{name}: has {size} bytes, must have less than {MAX_SIZE}"));
    }
    Ok(program)
}

/// The checker that is proved in Coq, and the name of its program.
const CHECKER: &str = "callgate-check";

/// Builds and tests the checker, and returns its path. OCaml compiles only for the machine that it runs on, so there is none for
/// others.
fn checker(context: &Context, machine: Machine) -> Result<Option<PathBuf>> {
    if !context.is_native(machine) {
        println!("{CHECKER}: not built for {}: OCaml compiles only for this machine", machine.name);
        return Ok(None);
    }
    let verified = context.root.join("verified");
    execute(&mut Command::new(verified.join("check")))?;
    Ok(Some(verified.join("build").join(CHECKER)))
}

/// What the checker is linked with, for the notices.
const OF_CHECKER: &str = "
callgate-check contains the runtime and the standard library of OCaml (LGPL-2.1 with a linking exception), Copyright (c)
Institut National de Recherche en Informatique et en Automatique, https://ocaml.org, and the GNU C library (LGPL-2.1),
Copyright (c) Free Software Foundation, Inc., https://www.gnu.org/software/libc. verified/check in the sources of Callgate
links it with other versions of both.
";

/// Writes what an archive contains.
fn fill(context: &Context, machine: Machine, tree: &Path) -> Result<()> {
    let program = program(context, machine)?;
    for directory in ["completions", "man"] {
        make(&tree.join(directory))?;
    }
    copy(&program, &tree.join("callgate"))?;
    for name in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        copy(&context.root.join(name), &tree.join(name))?;
    }
    let mut licenses = notices(context, "crates/callgate-cli", &machine.target(Libc::Musl))?;
    if let Some(checker) = checker(context, machine)? {
        copy(&checker, &tree.join(CHECKER))?;
        let page = format!("{CHECKER}.1");
        copy(&context.root.join("verified").join(&page), &tree.join("man").join(&page))?;
        licenses += OF_CHECKER;
    }
    write(&tree.join(THIRD_PARTY), licenses)?;
    run(context.program(machine, &program).args(["man", "--output"]).arg(tree.join("man")))?;
    for (shell, _) in SHELLS {
        let text = run(context.program(machine, &program).args(["completions", shell]))?;
        write(&tree.join(format!("completions/callgate.{shell}")), text)?;
    }
    Ok(())
}

/// Makes the Debian package of what an archive contains, and returns the name of its file.
fn package(
    context: &Context,
    machine: Machine,
    tree: &Path,
    root: &Path,
    into: &Path,
) -> Result<String> {
    let place = |from: PathBuf, to: &str| -> Result<PathBuf> {
        let to = root.join(to);
        make(to.parent().unwrap_or(&to))?;
        copy(&from, &to)?;
        Ok(to)
    };
    place(tree.join("callgate"), "usr/bin/callgate")?;
    let checker = tree.join(CHECKER);
    let has_checker = checker.exists();
    if has_checker {
        place(checker, "usr/bin/callgate-check")?;
    }
    for (shell, path) in SHELLS {
        place(tree.join(format!("completions/callgate.{shell}")), path)?;
    }
    for page in callgate_tasks::files::files(&tree.join("man"), "1")? {
        let name = page.file_name().unwrap_or_default().to_string_lossy().into_owned();
        compress(&place(page, &format!("usr/share/man/man1/{name}"))?)?;
    }
    for name in ["README.md", "CHANGELOG.md", THIRD_PARTY] {
        compress(&place(tree.join(name), &format!("usr/share/doc/callgate/{name}"))?)?;
    }
    let overrides = root.join("usr/share/lintian/overrides");
    make(&overrides)?;
    let of_checker = if has_checker { OVERRIDES_OF_CHECKER } else { "" };
    write(&overrides.join("callgate"), format!("{OVERRIDES}{of_checker}"))?;
    let control = Control {
        package: "callgate",
        version: &context.version,
        architecture: machine.debian,
        fields: &["Section: admin".to_owned()],
        description: (
            "compile, prove, run, explain and compare seccomp filters",
            &[
                "Callgate compiles profiles of containers, units and sandboxes to small",
                "classic BPF programs, and proves that each program does what its profile",
                "says. It explains and compares filters, records the syscalls that programs",
                "make, and generates least-privilege profiles from recordings.",
            ],
        ),
        scripts: &[],
    };
    deb(context, &control, root, into)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).map(drop).map_err(|error| format!("{}: {error}", from.display()))
}
