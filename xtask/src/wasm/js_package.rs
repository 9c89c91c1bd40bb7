//! The npm package with the WebAssembly module.

use std::path::Path;

use callgate_tasks::files::{copy, read, write};
use callgate_tasks::{Result, workspace};

/// Writes the npm package, `bindings/js` with a module, to a directory. npm leaves out links, so the licences are copied.
pub(crate) fn write_js_package(directory: &Path, module: &[u8]) -> Result<()> {
    let root = workspace();
    copy(&root.join("bindings/js"), directory)?;
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        write(&directory.join(licence), read(&root.join(licence))?)?;
    }
    write(&directory.join("callgate.wasm"), module)
}
