//! The task.

use std::path::{Path, PathBuf};
use std::process::Command;

use callgate_tasks::files::{files, make, read, write};
use callgate_tasks::{Result, workspace};

use crate::wasm::{Module, build, target};

pub(crate) const HELP: &str = "\
usage: cargo xtask web [--quick] [--without-editor] [--output DIR]

Builds the web page: the files of web/, the style sheet of reports, the package
bindings/js, the core as a WebAssembly module, and the editor, whose packages
npm fetches. Any server of static files can serve the directory; `node
web/serve.mjs DIR` also sends the compressed copies of files. It needs Node.js
20 or later and npm. The target is installed by
`rustup target add wasm32-unknown-unknown`.

  --quick           build a larger and slower module in less time, for tests
  --without-editor  without packages of npm; the page then has plain fields
  --output DIR      where to write it [default: web in the directory of cargo's
                    outputs, such as target/web]
";

/// The module of the page, at most 4 MiB.
const MODULE: Module =
    Module { example: "page_module", profile: "wasm", max_size: 4 << 20, flags: &[] };
/// The same for tests, which need no small module.
const QUICK: Module = Module { profile: "wasm-quick", max_size: 8 << 20, ..MODULE };

/// Builds the page.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (mut output, mut module, mut has_editor) = (target().join("web"), &MODULE, true);
    let mut rest = arguments.iter();
    while let Some(option) = rest.next() {
        match (option.as_str(), rest.as_slice()) {
            ("--quick", _) => module = &QUICK,
            ("--without-editor", _) => has_editor = false,
            ("--output", [path, ..]) => {
                output = PathBuf::from(path);
                rest.next();
            }
            _ => return Err(format!("unknown arguments\n\n{HELP}")),
        }
    }
    let root = workspace();
    if has_editor {
        packages(&root.join("web"))?;
    }
    let is_quick = std::ptr::eq(module, &QUICK);
    let module = build(module)?;
    make(&output)?;
    for (name, content) in sources()? {
        write(&output.join(name), content)?;
    }
    write(&output.join("callgate.wasm"), module)?;
    write(&output.join("callgate.js"), read(&root.join("bindings/js/index.js"))?)?;
    let style = root.join("crates/callgate-html/src/style.css");
    write(&output.join("sections.css"), read(&style)?)?;
    let mut node = Command::new("node");
    node.arg(root.join("web/build.mjs")).arg(&output);
    node.args(is_quick.then_some("--quick"));
    node.args((!has_editor).then_some("--without-editor"));
    finished(&mut node, "node web/build.mjs; it needs Node.js 20 or later")
}

/// Fetches the packages of the editor, unless they are there.
fn packages(directory: &Path) -> Result<()> {
    if directory.join("node_modules/esbuild").exists() {
        return Ok(());
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund"]).current_dir(directory);
    finished(&mut npm, "npm ci in web/; --without-editor builds the page without its packages")
}

/// Waits for a program, whose output is shown.
fn finished(command: &mut Command, what: &str) -> Result<()> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{what}: {status}")),
        Err(error) => Err(format!("{what}: {error}")),
    }
}

/// The files of the page without those of its tests, by name.
fn sources() -> Result<Vec<(String, Vec<u8>)>> {
    let directory = workspace().join("web");
    let mut found = Vec::new();
    for extension in ["html", "css", "js", "svg"] {
        for path in files(&directory, extension)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name != "sw.js" {
                found.push((name, read(&path)?));
            }
        }
    }
    Ok(found)
}
