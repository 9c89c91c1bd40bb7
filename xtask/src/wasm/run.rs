//! The task.

use std::path::Path;
use std::process::Command;

use callgate_tasks::files::{copy, make, remove, run as execute, write};
use callgate_tasks::{Result, workspace};

use super::build::{BINDINGS, Module, QUICK, build, target};
use super::go_module::write_go_module;
use super::js_package::write_js_package;

pub(crate) const HELP: &str = "\
usage: cargo xtask wasm [--quick]

Builds the core as a WebAssembly module and writes, into target/bindings:

  wasm/   callgate.wasm with its SHA-256
  js/     the npm package: bindings/js with the module
  go/     the Go module: bindings/go with the module in a package of its own

These are the directories that a release contains. The target is installed by
`rustup target add wasm32-unknown-unknown`.

  --quick   build a larger and slower module in less time, for tests
";

/// Builds the module, and the packages that contain it.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut wanted = &BINDINGS;
    for argument in arguments {
        match argument.as_str() {
            "--quick" => wanted = &QUICK,
            _ => return Err(format!("unknown argument {argument}\n\n{HELP}")),
        }
    }
    let output = target().join("bindings");
    remove(&output)?;
    let directory = output.join("wasm");
    let (bytes, hash) = write_module(wanted, &directory)?;
    write(&directory.join("callgate.wasm.sha256"), format!("{hash} *callgate.wasm\n"))?;
    write_js_package(&output.join("js"), &bytes)?;
    // The tests of both packages read the vectors beside them.
    copy(&workspace().join("bindings/vectors"), &output.join("vectors"))?;
    write_go_module(&output.join("go"), &bytes, &hash)?;
    println!("{}: wasm (a module of {} bytes), js, go", output.display(), bytes.len());
    Ok(())
}

/// Builds a module and writes it as `callgate.wasm`. Returns its bytes and its SHA-256.
pub(crate) fn write_module(wanted: &Module, directory: &Path) -> Result<(Vec<u8>, String)> {
    let bytes = build(wanted)?;
    let module = directory.join("callgate.wasm");
    make(directory)?;
    write(&module, &bytes)?;
    let line = execute(Command::new("sha256sum").arg("--binary").arg(&module))?;
    let hash = line.split_whitespace().next().ok_or("sha256sum prints nothing")?.to_owned();
    Ok((bytes, hash))
}
