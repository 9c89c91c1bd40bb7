//! Options of `cargo xtask release`.

use callgate_tasks::Result;

use super::context::{MACHINES, Machine};
use super::parts::{PARTS, Part};

pub(crate) const HELP: &str = "\
usage: cargo xtask release VERSION [--only PART,...] [--machine x86_64|aarch64] [--no-check]

Builds everything that is published, installs it as its users would, and writes
target/release-VERSION with MANIFEST.txt and SHA256SUMS. VERSION is that of
Cargo.toml. Two builds of a commit with the tools that MANIFEST.txt names have
the same bytes.

  --only PART,...   these parts only, in target/release-VERSION-part
  --machine NAME    binaries for one machine only, in the same directory
  --no-check        build, but do not install and use what was built
  --list            list the parts, and the programs that they need

Needs the programs of the parts, which .ci/release-tools installs on Debian 12,
and without --no-check a clean checkout.
";

/// What to build.
pub(super) struct Options {
    pub(super) version: String,
    pub(super) parts: Vec<&'static Part>,
    pub(super) machines: Vec<Machine>,
    pub(super) check: bool,
}

impl Options {
    /// Whether a release with all parts for all machines is wanted.
    pub(super) fn is_complete(&self) -> bool {
        self.parts.len() == PARTS.len() && self.machines.len() == MACHINES.len()
    }

    /// Reads the command line; `None` asks for the list of parts.
    pub(super) fn parse(arguments: &[String]) -> Result<Option<Options>> {
        let (mut version, mut only, mut machine, mut check) = (None, None, None, true);
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--list" => return Ok(None),
                "--no-check" => check = false,
                "--only" => only = Some(value()?),
                "--machine" => machine = Some(value()?),
                _ if word.starts_with('-') || version.is_some() => {
                    return Err(format!("unexpected argument {word:?}; try --help"));
                }
                _ => version = Some(word.clone()),
            }
        }
        let version = version.ok_or("missing VERSION; try --help")?;
        let names: Option<Vec<&str>> = only.map(|names| names.split(',').collect());
        if let Some(unknown) =
            names.iter().flatten().find(|name| !PARTS.iter().any(|part| part.name == **name))
        {
            return Err(format!("--only {unknown}: no such part; --list lists them"));
        }
        let wanted = |part: &&Part| names.as_ref().is_none_or(|names| names.contains(&part.name));
        let parts = PARTS.iter().filter(wanted).collect();
        let machines: Vec<Machine> = MACHINES
            .into_iter()
            .filter(|known| machine.is_none_or(|name| name == known.name))
            .collect();
        match machine {
            Some(name) if machines.is_empty() => {
                Err(format!("--machine {name}: must be x86_64 or aarch64"))
            }
            _ => Ok(Some(Options { version, parts, machines, check })),
        }
    }
}
