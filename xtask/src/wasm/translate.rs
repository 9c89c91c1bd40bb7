//! Translates the module to Go.

use std::path::Path;
use std::process::Command;

use callgate_tasks::Result;
use callgate_tasks::files;

/// The translator; Go's checksum database pins its content. Its output contains helpers of its own: the licence is in
/// `bindings/go/internal/engine/LICENSE-wasm2go`.
const TRANSLATOR: &str = "github.com/ncruces/wasm2go@v0.4.20";

/// Translates a module to the Go package `engine`.
///
/// `-unsafe` reads and writes words with one check of bounds instead of two, which makes compiling a filter 1.7 times as
/// fast; no check is omitted.
pub(super) fn translate(module: &Path, output: &Path) -> Result<()> {
    let mut go = Command::new("go");
    go.args(["run", TRANSLATOR, "-unsafe", "-pkg", "engine", "-o"]).arg(output).arg(module);
    // The translator is a module of its own.
    go.env("GOFLAGS", "-mod=mod").current_dir(std::env::temp_dir());
    files::run(&mut go).map(drop)
}
