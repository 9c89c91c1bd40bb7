//! The programs that are measured.

use std::path::{Path, PathBuf};
use std::process::Command;

use callgate::emit::{Language, SourceOptions, template_source};
use callgate::formats::kafel;
use callgate::{Arch, Options, compile_template};

use crate::files::{run, write};
use crate::task::Result;

const POLICY: &str = include_str!("policy.kafel");

/// A program, and the libraries that it needs.
pub(super) struct Program {
    pub(super) name: &'static str,
    pub(super) path: PathBuf,
    /// The library that is not part of the program.
    pub(super) library: Option<PathBuf>,
}

/// Builds all programs in a directory; those with libseccomp only if it is there.
pub(super) fn build(place: &Path, libseccomp: Option<&Path>) -> Result<Vec<Program>> {
    let arch = Arch::native().ok_or("unknown architecture")?;
    let profile = kafel::read(POLICY, &kafel::ReadOptions::new(arch))
        .map_err(|errors| format!("policy.kafel:{errors}"))?;
    let compiled = compile_template(&profile.policy, &Options::default())
        .map_err(|error| error.to_string())?;
    let emit = |language| {
        let options = SourceOptions { installer: true, ..SourceOptions::new(language) };
        template_source(&compiled.template, &options).map_err(|error| error.to_string())
    };
    write(&place.join("emitted.h"), emit(Language::C)?)?;
    write(&place.join("filter.rs"), emit(Language::Rust)?)?;
    write(&place.join("emitted.rs"), include_str!("emitted.rs"))?;

    let mut programs = vec![
        c(place, "no filter", "nothing", &[], None)?,
        c(place, "C, emitted", "emitted", &[], None)?,
        rust(place)?,
    ];
    if let Some(directory) = libseccomp {
        let include = format!("-I{}", directory.join("include").display());
        let shared = directory.join("lib/libseccomp.so.2");
        let shared = shared.canonicalize().map_err(|why| format!("{}: {why}", shared.display()))?;
        let search = format!("-Wl,-rpath,{}", directory.join("lib").display());
        let path = shared.display().to_string();
        let arguments = [include.as_str(), &search, &path];
        programs.push(c(place, "libseccomp, shared", "libseccomp", &arguments, Some(shared))?);
        let archive = directory.join("lib/libseccomp.a");
        if archive.exists() {
            let arguments = [include.as_str(), &archive.display().to_string()];
            programs.push(c(place, "libseccomp, archive", "libseccomp", &arguments, None)?);
        }
    }
    Ok(programs)
}

fn c(
    place: &Path,
    name: &'static str,
    source: &str,
    more: &[&str],
    library: Option<PathBuf>,
) -> Result<Program> {
    let path = place.join(name.replace([',', ' '], "-"));
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/startup");
    run(Command::new("cc")
        // As rustc and hardened distributions link: symbols are bound before main.
        .args(["-O2", "-s", "-Wall", "-Werror", "-Wl,-z,relro,-z,now", "-o"])
        .arg(&path)
        .arg(sources.join(format!("{source}.c")))
        .arg("-I")
        .arg(place)
        .args(more))?;
    Ok(Program { name, path, library })
}

fn rust(place: &Path) -> Result<Program> {
    let path = place.join("rust-emitted");
    run(Command::new("rustc")
        .args([
            "--edition",
            "2024",
            "-C",
            "opt-level=2",
            "-C",
            "strip=symbols",
            "-C",
            "panic=abort",
        ])
        .arg("-o")
        .arg(&path)
        .arg(place.join("emitted.rs")))?;
    Ok(Program { name: "Rust, emitted", path, library: None })
}
