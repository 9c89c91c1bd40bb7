//! What a build script reads from Cargo and prints for it.

use crate::configurations::Configurations;
use crate::generate::Generated;
use crate::message::Error;
use crate::policy::Policy;
use callgate::{Arch, Endian};
use std::path::PathBuf;

impl Policy {
    /// Compiles the policy for the target of the build script, writes the source code to `$OUT_DIR/NAME.rs`, and returns this
    /// path. Prints the files that were read and warnings for Cargo.
    ///
    /// The generated code is for Linux and Android; a build script for other systems, too, asks `CARGO_CFG_TARGET_OS`.
    ///
    /// # Errors
    /// As [`Policy::generate`], and outside of a build script.
    pub fn compile(&self) -> Result<PathBuf, Error> {
        let policies = std::iter::once(self);
        in_build_script(&self.shown(), &self.own_name(), policies, |target| self.generate(target))
    }

    /// Like [`Policy::compile`]; prints errors to standard error and ends the process with status 1.
    pub fn compile_or_exit(&self) -> PathBuf {
        self.compile().unwrap_or_else(exit)
    }
}

impl Configurations {
    /// Compiles the policies of all configurations for the target of the build script, writes the source code to
    /// `$OUT_DIR/NAME.rs`, and returns this path. Prints the files that were read and warnings for Cargo.
    ///
    /// # Errors
    /// As [`Configurations::generate`], and outside of a build script.
    pub fn compile(&self) -> Result<PathBuf, Error> {
        in_build_script(&self.name, &self.name, self.policies(), |target| self.generate(target))
    }

    /// Like [`Configurations::compile`]; prints errors to standard error and ends the process with status 1.
    pub fn compile_or_exit(&self) -> PathBuf {
        self.compile().unwrap_or_else(exit)
    }
}

fn exit(error: Error) -> PathBuf {
    eprintln!("{error}");
    std::process::exit(1)
}

/// Generates source code for the target of the build script, and writes it to `$OUT_DIR/NAME.rs`.
fn in_build_script<'p>(
    shown: &str,
    name: &str,
    policies: impl Iterator<Item = &'p Policy>,
    generate: impl FnOnce(Arch) -> Result<Generated, Error>,
) -> Result<PathBuf, Error> {
    let not_in_cargo = |why: &str| {
        Error::about(shown, why, "call `compile` in a build script, and `generate` elsewhere")
    };
    let target = target(&|name| std::env::var(name).ok()).map_err(|why| not_in_cargo(&why))?;
    let directory = std::env::var_os("OUT_DIR");
    let directory = directory.ok_or_else(|| not_in_cargo("OUT_DIR is not set"))?;
    // First, so that Cargo runs the script again when a policy is corrected.
    let first: Vec<PathBuf> = policies.map(|one| one.directory.join(&one.path)).collect();
    for path in &first {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    let generated = generate(target);
    let files = generated.as_ref().map_or_else(Error::files, Generated::files);
    for path in files.iter().filter(|path| !first.contains(path)) {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    let generated = generated?;
    for warning in generated.warnings() {
        println!("cargo:warning={}", warning.line());
    }
    let path = PathBuf::from(directory).join(format!("{name}.rs"));
    std::fs::write(&path, generated.source())
        .map_err(|error| Error::about(&path.display().to_string(), error.to_string(), ""))?;
    Ok(path)
}

/// The target of a build script, by the variables that Cargo sets.
fn target(variable: &dyn Fn(&str) -> Option<String>) -> Result<Arch, String> {
    let get = |name: &str| variable(name).ok_or_else(|| format!("{name} is not set"));
    let arch = get("CARGO_CFG_TARGET_ARCH")?;
    let is_64bit = get("CARGO_CFG_TARGET_POINTER_WIDTH")? == "64";
    let endian = match get("CARGO_CFG_TARGET_ENDIAN")?.as_str() {
        "big" => Endian::Big,
        _ => Endian::Little,
    };
    Arch::of_target(&arch, is_64bit, endian)
        .ok_or_else(|| format!("the syscalls of the target {arch} ({endian:?}-endian) are unknown"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(arch: &str, width: &str, endian: &str) -> Result<Arch, String> {
        target(&|name| match name {
            "CARGO_CFG_TARGET_ARCH" => Some(arch.to_owned()),
            "CARGO_CFG_TARGET_POINTER_WIDTH" => Some(width.to_owned()),
            "CARGO_CFG_TARGET_ENDIAN" => Some(endian.to_owned()),
            _ => None,
        })
    }

    #[test]
    fn the_target_is_that_of_cargo() {
        assert_eq!(of("x86_64", "64", "little"), Ok(Arch::X86_64));
        assert_eq!(of("x86_64", "32", "little"), Ok(Arch::X32));
        assert_eq!(of("powerpc64", "64", "little"), Ok(Arch::Ppc64le));
        assert_eq!(of("s390x", "64", "big"), Ok(Arch::S390x));
        assert!(of("aarch64", "64", "big").is_err());
        assert!(of("sparc64", "64", "big").is_err_and(|why| why.contains("sparc64")));
        assert!(target(&|_| None).is_err_and(|why| why == "CARGO_CFG_TARGET_ARCH is not set"));
    }
}
