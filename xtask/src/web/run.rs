//! The task.

use std::path::{Path, PathBuf};
use std::process::Command;

use callgate_tasks::files::{files, make, read, run as execute, write};
use callgate_tasks::{Result, workspace};

use crate::wasm::{Module, build, target};

pub(crate) const HELP: &str = "\
usage: cargo xtask web [--quick] [--output DIR]

Builds the web page: the files of web/, the style sheet of reports, the package
bindings/js, and the core as a WebAssembly module. Any server of static files can serve the directory. The
target is installed by `rustup target add wasm32-unknown-unknown`.

  --quick         build a larger and slower module in less time, for tests
  --output DIR    where to write it [default: web in the directory of cargo's
                  outputs, such as target/web]
";

/// The module of the page, at most 4 MiB.
const MODULE: Module =
    Module { example: "page_module", profile: "wasm", max_size: 4 << 20, flags: &[] };
/// The same for tests, which need no small module.
const QUICK: Module = Module { profile: "wasm-quick", max_size: 8 << 20, ..MODULE };

/// In `sw.js`: the version and the names of all files.
const VERSION: &str = "\"development\"";
const FILES: &str = "[/* files */]";

/// Builds the page.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (mut output, mut module) = (target().join("web"), &MODULE);
    let mut rest = arguments.iter();
    while let Some(option) = rest.next() {
        match (option.as_str(), rest.as_slice()) {
            ("--quick", _) => module = &QUICK,
            ("--output", [path, ..]) => {
                output = PathBuf::from(path);
                rest.next();
            }
            _ => return Err(format!("unknown arguments\n\n{HELP}")),
        }
    }
    let module = build(module)?;
    let mut page = sources()?;
    page.push(("callgate.wasm".to_owned(), module));
    let bindings = workspace().join("bindings/js/index.js");
    page.push(("callgate.js".to_owned(), read(&bindings)?));
    let style = workspace().join("crates/callgate-html/src/style.css");
    page.push(("sections.css".to_owned(), read(&style)?));
    page.sort();
    let size: usize = page.iter().map(|(_, content)| content.len()).sum();
    make(&output)?;
    for (name, content) in &page {
        write(&output.join(name), content)?;
    }
    let worker = service_worker(&output, &page)?;
    write(&output.join("sw.js"), worker)?;
    println!("{}: {} files, {size} bytes", output.display(), page.len() + 1);
    Ok(())
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

/// The service worker, which keeps the files of this version for use without a network.
fn service_worker(output: &Path, page: &[(String, Vec<u8>)]) -> Result<String> {
    let mut hash = Command::new("sha256sum");
    hash.args(page.iter().map(|(name, _)| name)).current_dir(output);
    let hashes = execute(&mut hash)?;
    let version: Vec<&str> = hashes.lines().filter_map(|line| line.get(..8)).collect();
    let names: Vec<String> = page.iter().map(|(name, _)| format!("\"{name}\"")).collect();
    let text = read(&workspace().join("web/sw.js"))?;
    let text = String::from_utf8(text).map_err(|_| "web/sw.js is not UTF-8".to_owned())?;
    if !text.contains(VERSION) || !text.contains(FILES) {
        return Err(format!("web/sw.js has no place for {VERSION} or {FILES}"));
    }
    let version = format!("\"{}\"", version.join("-"));
    Ok(text.replace(VERSION, &version).replace(FILES, &format!("[{}]", names.join(", "))))
}
