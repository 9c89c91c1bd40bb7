//! The package for JavaScript.
//!
//! `npm pack` writes the same bytes each time: its files have one fixed time, and are sorted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use callgate_tasks::Result;
use callgate_tasks::files::{copy, make, read, run, write};

use super::context::{Context, execute};
use super::notices::{THIRD_PARTY, notices};
use super::part::Artefact;
use crate::wasm::{BINDINGS, write_js_package, write_module};

/// The licences of what the module contains, and the target for which that is built.
const TARGET: &str = "wasm32-unknown-unknown";

/// The maximum size of the packed file in bytes.
const LIMIT: u64 = 1_000_000;

/// The package with the optimizer of WebAssembly, and the features that Rust's target uses, all of which browsers have had since 2023.
pub(super) const BINARYEN: &str = "binaryen@132.0.0";
const FEATURES: [&str; 6] = [
    "--enable-bulk-memory",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
];

/// The versions of Node.js with which the package is tried: the oldest that is supported, and those that have long-term
/// support. npm has each as a package.
const NODES: [&str; 3] = ["20", "22", "24"];

/// Builds the file for the registry.
pub(super) fn build(context: &Context) -> Result<Vec<Artefact>> {
    let sources = context.scratch("npm")?;
    let module = optimized(context, &sources)?;
    let package = sources.join("js");
    write_js_package(&package, &module)?;
    write(&package.join(THIRD_PARTY), notices(context, "crates/callgate-requests", TARGET)?)?;
    list(&package.join("package.json"))?;
    let output = context.output.join("npm");
    make(&output)?;
    let mut npm = context.command("npm");
    npm.args(["pack", "--silent", "--pack-destination"]).arg(&output);
    run(npm.current_dir(package))?;
    let path = tarball(context);
    let size = fs::metadata(&path).map_err(|error| format!("{}: {error}", path.display()))?.len();
    if size > LIMIT {
        return Err(format!("{}: {size} bytes; the limit is {LIMIT}", path.display()));
    }
    Ok(vec![Artefact {
        path: context.relative(&path)?,
        what: "package for JavaScript: Node.js 20 and later, browsers".to_owned(),
        machine: None,
    }])
}

/// Adds the licences of others, which are not in the tree, to the files that `npm pack` takes.
fn list(manifest: &Path) -> Result<()> {
    let text = String::from_utf8_lossy(&read(manifest)?).into_owned();
    let (last, more) = ("\"LICENSE-MIT\"]", format!("\"LICENSE-MIT\", \"{THIRD_PARTY}\"]"));
    match text.contains(last) || text.contains(THIRD_PARTY) {
        true => write(manifest, text.replace(last, &more)),
        false => Err(format!("{}: LICENSE-MIT is not the last of the files", manifest.display())),
    }
}

/// The module of the bindings, smaller by a tenth. The proof of each program runs in it, and the check compares its answers with
/// those of the native library.
fn optimized(context: &Context, directory: &Path) -> Result<Vec<u8>> {
    write_module(&BINDINGS, directory)?;
    let mut optimize = context.command("npx");
    optimize.args(["--yes", "--package", BINARYEN, "wasm-opt", "-Oz"]).args(FEATURES);
    optimize.args(["callgate.wasm", "--output", "optimized.wasm"]).current_dir(directory);
    run(&mut optimize)?;
    read(&directory.join("optimized.wasm"))
}

fn tarball(context: &Context) -> PathBuf {
    context.output.join(format!("npm/callgate-{}.tgz", context.version))
}

/// Installs the package into a program that uses it, and tries that: with several versions of Node.js, the compiler of
/// TypeScript, Vite and Chromium. The package's own tests run in the files that are published.
pub(super) fn check(context: &Context) -> Result<()> {
    let tarball = tarball(context);
    contents(&tarball)?;
    let bindings = context.root.join("bindings/js");
    let consumer = context.scratch("npm-consumer")?;
    copy(&bindings.join("consumer"), &consumer)?;
    for arguments in [&["ci"][..], &["install", "--no-save", "--offline"]] {
        let mut npm = context.command("npm");
        npm.current_dir(&consumer).args(arguments).args(["--no-audit", "--no-fund", "--silent"]);
        execute(if arguments[0] == "ci" { &mut npm } else { npm.arg(&tarball) })?;
    }
    let mut tests = context.command("npm");
    execute(tests.args(["test", "--silent"]).current_dir(&consumer))?;
    // The package's own tests need the vectors beside it.
    let package = consumer.join("node_modules/callgate");
    let tests = "callgate.test.js";
    copy(&bindings.join(tests), &package.join(tests))?;
    copy(&context.root.join("bindings/vectors"), &package.join("../vectors"))?;
    for version in NODES {
        println!("-- node {version}");
        let mut node = context.command("npx");
        node.args(["--yes", &format!("node@{version}"), "--test"]).arg(tests);
        execute(node.current_dir(&package))?;
    }
    Ok(())
}

/// Fails unless the file has what belongs to the package, and nothing else.
fn contents(tarball: &Path) -> Result<()> {
    let list = run(Command::new("tar").arg("-tzf").arg(tarball))?;
    let mut names: Vec<&str> =
        list.lines().map(|name| name.trim_start_matches("package/")).collect();
    names.sort_unstable();
    let expected = [
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "README.md",
        THIRD_PARTY,
        "callgate.wasm",
        "index.d.ts",
        "index.js",
        "package.json",
    ];
    match names == expected {
        true => Ok(()),
        false => Err(format!("{}: has {names:?}; expected {expected:?}", tarball.display())),
    }
}
