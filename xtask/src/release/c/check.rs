//! Compiles and runs the example of docs/how-to/filters-in-c.md with the library as it is unpacked and installed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use callgate_tasks::Result;
use callgate_tasks::files::{read, run, write};

use super::build::{names, packages};
use crate::release::context::{Context, Machine};
use crate::release::documents::named;
use crate::release::root::{self, lint};
use crate::release::toolchain::c_compiler;

/// Uses what was built, as a programmer and as a user of the program.
pub(in crate::release) fn check(context: &Context) -> Result<()> {
    for machine in &context.machines {
        let (output, name) = names(context, *machine);
        let scratch = context.scratch(&format!("c-check-{}", machine.name))?;
        let archive = output.join(format!("{name}.tar.gz"));
        run(Command::new("tar").arg("-xf").arg(archive).arg("-C").arg(&scratch))?;
        let tree = scratch.join(&name);
        let example = Example::write(context, *machine, &tree)?;
        let pkgconfig = tree.join("lib/pkgconfig");
        let environment = [("PKG_CONFIG_PATH", pkgconfig.as_path())];
        let shared = example.compile(&environment, &["--cflags", "--libs"], &[], "shared")?;
        let archive = tree.join("lib/libcallgate.a");
        let archive = archive.to_string_lossy();
        let linked = example.compile(&environment, &["--cflags"], &[&archive], "static")?;
        example.check(&shared, Some(&tree.join("lib")))?;
        example.check(&linked, None)?;

        let [runtime, development] = packages(context, *machine).map(|name| output.join(name));
        lint(&runtime)?;
        lint(&development)?;
        if context.is_native(*machine) {
            check_packages(context, &example, &runtime, &development)?;
        }
    }
    Ok(())
}

/// Installs both packages in a root directory of Debian, builds the example with them, and runs it there.
fn check_packages(
    context: &Context,
    example: &Example,
    runtime: &Path,
    development: &Path,
) -> Result<()> {
    let root = root::debian(context, "c-root")?;
    root.install(&[runtime, development])?;
    run(&mut root.command(&["dpkg", "--verify", "libcallgate0", "libcallgate-dev"]))?;
    let modules = example.machine.libdir() + "/pkgconfig";
    let modules = root.path.join(modules.trim_start_matches('/'));
    let environment =
        [("PKG_CONFIG_SYSROOT_DIR", root.path.as_path()), ("PKG_CONFIG_LIBDIR", modules.as_path())];
    let program = example.compile(&environment, &["--cflags", "--libs"], &[], "packaged")?;
    for file in [&program, &example.directory.join("sandbox.kafel")] {
        run(Command::new("cp").arg(file).arg(root.path.join("tmp")))?;
    }
    let printed = run(&mut root.command(&["/tmp/packaged", "/tmp/sandbox.kafel"]))?;
    if printed != ALLOWED {
        return Err(format!("packaged: printed\n{printed}\nnot\n{ALLOWED}"));
    }
    run(&mut root.command(&["dpkg", "--purge", "libcallgate-dev", "libcallgate0"]))?;
    let cache = run(&mut root.command(&["ldconfig", "--print-cache"]))?;
    match cache.contains("libcallgate") {
        true => Err("dpkg --purge libcallgate0: the dynamic linker still knows it".to_owned()),
        false => Ok(()),
    }
}

/// What the example prints.
const ALLOWED: &str = "this is allowed\n";

/// The example of docs/how-to/filters-in-c.md in a directory.
struct Example<'a> {
    context: &'a Context,
    machine: Machine,
    directory: PathBuf,
    /// What it prints about a mistake in its policy.
    message: String,
}

impl Example<'_> {
    /// Writes the program, its policy, and one with the mistake that the document shows.
    fn write<'a>(context: &'a Context, machine: Machine, directory: &Path) -> Result<Example<'a>> {
        let document = read(&context.root.join("docs/how-to/filters-in-c.md"))?;
        let document = String::from_utf8_lossy(&document).into_owned();
        let block = |name: &str| {
            named(&document, name)
                .ok_or_else(|| format!("docs/how-to/filters-in-c.md: has no block <!-- {name} -->"))
        };
        let policy = block("sandbox.kafel")?;
        let wrong = directory.join("wrong");
        callgate_tasks::files::make(&wrong)?;
        write(&directory.join("sandbox.c"), block("sandbox.c")?)?;
        write(&directory.join("sandbox.kafel"), &policy)?;
        write(&wrong.join("sandbox.kafel"), policy.replace("write", "wriet"))?;
        let message = block("message")?;
        let message = message.lines().skip(1).map(|line| format!("{line}\n")).collect();
        Ok(Example { context, machine, directory: directory.to_owned(), message })
    }

    /// Compiles the program with the words that pkg-config prints, and others.
    fn compile(
        &self,
        environment: &[(&str, &Path)],
        options: &[&str],
        others: &[&str],
        name: &str,
    ) -> Result<PathBuf> {
        let mut pkg_config = Command::new("pkg-config");
        let words =
            run(pkg_config.args(options).arg("callgate").envs(environment.iter().copied()))?;
        let program = self.directory.join(name);
        let mut compiler = Command::new(c_compiler(self.machine));
        compiler.arg(self.directory.join("sandbox.c")).args(words.split_whitespace()).args(others);
        run(compiler.arg("-o").arg(&program))?;
        Ok(program)
    }

    /// Runs the program, with its policy and with the mistake in it.
    fn check(&self, program: &Path, libraries: Option<&Path>) -> Result<()> {
        let run = |directory: &Path| -> Result<Output> {
            let mut command = self.context.program(self.machine, program);
            command.current_dir(directory).arg("sandbox.kafel");
            // The C library of Debian's cross compiler, for the emulator.
            command.env("QEMU_LD_PREFIX", format!("/usr/{}-linux-gnu", self.machine.name));
            if let Some(libraries) = libraries {
                command.env("LD_LIBRARY_PATH", libraries);
            }
            command.output().map_err(|error| format!("{}: {error}", program.display()))
        };
        let name = program.display();
        let output = run(&self.directory.join("wrong"))?;
        let message = String::from_utf8_lossy(&output.stderr);
        if message != self.message {
            return Err(format!("{name}: printed\n{message}\nnot\n{}", self.message));
        }
        let output = run(&self.directory)?;
        let message = String::from_utf8_lossy(&output.stderr);
        if self.context.is_native(self.machine) {
            return match output.stdout == ALLOWED.as_bytes() {
                true => Ok(()),
                false => Err(format!("{name}: {}: {message}", output.status)),
            };
        }
        // The emulator compiles the policy, but has no seccomp.
        match message.contains("need seccomp(2)") {
            true => Ok(()),
            false => Err(format!("{name}: no error of the emulator's kernel, but {message}")),
        }
    }
}
