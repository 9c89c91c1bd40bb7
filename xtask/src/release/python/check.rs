//! Installs wheels and the source distribution as a user would, and runs the tests of the package.

use std::path::{Path, PathBuf};
use std::process::Command;

use callgate_tasks::Result;
use callgate_tasks::apt::Apt;
use callgate_tasks::files::run;

use super::super::context::{Context, Libc, execute};
use super::super::notices::THIRD_PARTY;
use super::super::root::DEBIAN;
use super::interpreter::{missing_symbols, of_debian};
use super::musl;
use super::tools::{Tools, environment, environment_of, pip};
use super::wheel::Wheel;

/// What every wheel and the source distribution contain.
const CONTENTS: &[&str] =
    &["callgate/py.typed", "callgate/_native.pyi", "LICENSE-APACHE", "LICENSE-MIT"];
/// The tests that start no other process: those that emulators can run.
const PORTABLE: [&str; 6] = [
    "tests.test_callgate",
    "tests.test_errors.Errors",
    "tests.test_readme",
    "tests.test_recording",
    "tests.test_template",
    "tests.test_vectors",
];

/// A program that installs a filter.
const INSTALLS: &str = "\
import callgate, os
callgate.compile('ERRNO(1) { mkdir, mkdirat } DEFAULT ALLOW').install()
try:
    os.mkdir('/tmp')
except PermissionError:
    pass
";

/// Checks all of them.
pub(in crate::release) fn check(context: &Context) -> Result<()> {
    let tools = Tools::new(context)?;
    for wheel in Wheel::all(context) {
        let path = wheel.path(context);
        println!("-- {}", path.file_name().unwrap_or_default().display());
        let list = run(Command::new("unzip").arg("-Z1").arg(&path))?;
        contents(&list, &[CONTENTS, &[THIRD_PARTY]].concat(), &path)?;
        match wheel.libc {
            Libc::Glibc => symbol_versions(context, &tools, wheel)?,
            Libc::Musl => resolved(context, wheel)?,
        }
        match (wheel.libc, context.is_native(wheel.machine)) {
            (Libc::Glibc, true) => native(context, &path)?,
            (Libc::Glibc, false) => emulated(context, wheel)?,
            (Libc::Musl, true) => native_musl(context, &path)?,
            // Debian has no Python that uses musl, and one for this machine is built in a minute.
            (Libc::Musl, false) => {}
        }
    }
    source_distribution(context)
}

/// Fails unless a list of files has what it must have.
fn contents(list: &str, expected: &[&str], of: &Path) -> Result<()> {
    for wanted in expected {
        if !list.lines().any(|name| name.ends_with(wanted)) {
            return Err(format!("{}: {wanted} is missing", of.display()));
        }
    }
    Ok(())
}

/// Fails if the library needs newer symbols than its tag promises; auditwheel compares them with the policies of Python.
fn symbol_versions(context: &Context, tools: &Tools, wheel: Wheel) -> Result<()> {
    let path = wheel.path(context);
    let shown = run(tools.command(context, "auditwheel").arg("show").arg(&path))?;
    // It breaks lines.
    let words: Vec<&str> = shown.split_whitespace().collect();
    let shown = words.join(" ");
    let platform = wheel.platforms().pop().unwrap_or_default();
    let promise = format!("is consistent with the following platform tag: \"{platform}\"");
    match shown.contains(&promise) {
        true => Ok(()),
        false => Err(format!("{}: expected {platform}, but {shown}", path.display())),
    }
}

/// All tests, in a clean environment.
fn native(context: &Context, wheel: &Path) -> Result<()> {
    let mut tests = context.command(".ci/python");
    tests.arg("--wheel").arg(wheel).env("CARGO_TARGET_DIR", context.work.join("python-check"));
    execute(&mut tests)
}

/// The portable tests and a filter that is installed, in a clean environment of a Python that uses musl.
fn native_musl(context: &Context, wheel: &Path) -> Result<()> {
    let directory = context.work.join("python-musl-check");
    environment_of(&musl::interpreter(context)?, &directory)?;
    run(pip(&directory).args(["install", "--quiet", "--no-index"]).arg(wheel))?;
    let python = directory.join("bin/python");
    execute(portable(context, &mut Command::new(&python)))?;
    run(Command::new(python).args(["-c", INSTALLS])).map(drop)
}

/// The portable tests, with Debian's Python for the machine.
fn emulated(context: &Context, wheel: Wheel) -> Result<()> {
    let packages = unpacked(context, wheel)?;
    let mut python = of_debian(context, wheel.machine)?;
    execute(portable(context, python.env("PYTHONPATH", packages)))
}

/// Whether the library needs nothing but musl, and Python and the oldest musl of the tag have all symbols that it needs.
/// auditwheel knows musl only by the name that Alpine gives it; musl's loader takes `libc.so` for itself
/// (`load_library` in its `ldso/dynlink.c`).
fn resolved(context: &Context, wheel: Wheel) -> Result<()> {
    let root = context.scratch("musl")?;
    let apt = Apt::new(&context.scratch("musl-lists")?, DEBIAN, Some(wheel.machine.debian))?;
    apt.download(&["musl"])?;
    apt.unpack("musl", &root)?;
    let libc = root.join(format!("lib/{}-linux-musl/libc.so", wheel.machine.name));
    let python = executable()?;
    let library = unpacked(context, wheel)?.join("callgate/_native.abi3.so");
    let dynamic = run(Command::new("readelf").args(["--dynamic", "--wide"]).arg(&library))?;
    let needed = dynamic.lines().filter(|line| line.contains("(NEEDED)"));
    if let Some(other) = needed.into_iter().find(|line| !line.ends_with("[libc.so]")) {
        return Err(format!("{}: needs more than musl: {}", library.display(), other.trim()));
    }
    let missing = missing_symbols(&library, &[&libc, &python])?;
    match missing.as_slice() {
        [] => Ok(()),
        names => {
            Err(format!("{}: neither musl nor Python has {}", library.display(), names.join(", ")))
        }
    }
}

/// The file of this system with the symbols of Python: the interpreter, or its library.
fn executable() -> Result<PathBuf> {
    let program = "import os, sys, sysconfig as s\n\
                   library = os.path.join(s.get_config_var('LIBDIR') or '', s.get_config_var('LDLIBRARY') or '')\n\
                   print(library if s.get_config_var('Py_ENABLE_SHARED') else os.path.realpath(sys.executable))";
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    Ok(PathBuf::from(run(Command::new(python).args(["-c", program]))?.trim()))
}

/// The packages that pip installs for another machine from a wheel.
fn unpacked(context: &Context, wheel: Wheel) -> Result<PathBuf> {
    let tools = Tools::new(context)?;
    let packages = context.scratch(&format!("packages-{}", wheel.target()))?;
    let mut pip = tools.pip();
    pip.args([
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--target",
    ]);
    pip.arg(&packages).args(["--python-version", "3.9", "--implementation", "cp", "--abi", "abi3"]);
    for platform in wheel.platforms() {
        pip.args(["--platform", &platform]);
    }
    run(pip.arg(wheel.path(context)))?;
    Ok(packages)
}

/// Builds the source distribution in a clean environment as pip does, and runs the portable tests.
fn source_distribution(context: &Context) -> Result<()> {
    let archive = context.output.join(format!("python/callgate-{}.tar.gz", context.version));
    println!("-- {}", archive.file_name().unwrap_or_default().display());
    contents(&run(Command::new("tar").arg("-tzf").arg(&archive))?, CONTENTS, &archive)?;
    let directory = context.work.join("python-sdist");
    environment(&directory)?;
    let mut install = pip(&directory);
    install.args(["install", "--quiet"]).arg(&archive);
    execute(install.env("CARGO_TARGET_DIR", context.work.join("python-sdist-build")))?;
    execute(portable(context, &mut Command::new(directory.join("bin/python"))))
}

/// The portable tests, with a Python that finds the package.
fn portable<'c>(context: &Context, python: &'c mut Command) -> &'c mut Command {
    python.args(["-m", "unittest", "--quiet"]).args(PORTABLE);
    python.current_dir(context.root.join("bindings/python"))
}
