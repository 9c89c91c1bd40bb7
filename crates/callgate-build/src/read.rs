//! Reads a policy in any format.

use crate::files::Files;
use crate::format::Format;
use crate::policy::Policy;
use callgate::codegen::Weights;
use callgate::counts;
use callgate::emit::EmitError;
use callgate::formats::{Profile, firecracker, host_of, kafel, lxc, minijail, oci, only_arch};
use callgate::{Arch, compile};
use callgate_bpf::FilterFlags;
use callgate_bpf::diagnostic::{Diagnostic, Diagnostics};
use callgate_bpf::syscalls::KernelVersion;
use callgate_core::policy::Policy as Rules;

/// A policy that was read.
pub(crate) struct Read {
    pub(crate) rules: Rules,
    pub(crate) flags: FilterFlags,
    pub(crate) warnings: Vec<Diagnostic>,
    /// How often syscalls occur according to the policy.
    pub(crate) weights: Option<Weights>,
}

impl From<Profile> for Read {
    fn from(profile: Profile) -> Read {
        let (rules, flags, warnings) = (profile.policy, profile.flags, profile.warnings);
        Read { rules, flags, warnings, weights: None }
    }
}

/// Reads the text of a policy for these architectures, of which there is at least one.
pub(crate) fn read(
    policy: &Policy,
    format: Format,
    text: &str,
    arches: &[Arch],
    files: &mut Files<'_>,
) -> Result<Read, Diagnostics> {
    let identity = Some(files.identity(&policy.path));
    match format {
        Format::Kafel => {
            let options =
                kafel::ReadOptions { identity, ..kafel::ReadOptions::for_arches(arches.to_vec()) };
            let mut include = |name: &str, from: Option<&str>| files.include(name, from);
            Ok(kafel::read_with_includes(text, &options, &mut include)?.into())
        }
        Format::Minijail => {
            let arch = only("a policy of minijail", arches)?;
            let options = minijail::ReadOptions { identity, ..minijail::ReadOptions::new(arch) };
            let mut include = |name: &str, from: Option<&str>| files.include(name, from);
            let read = minijail::read_with_includes(text, &options, &mut include)?;
            let weights = counts::weights_of_frequencies(arch, read.frequencies)
                .map_err(|error| Diagnostic::error(None, error.to_string()))?;
            Ok(Read { weights, ..read.profile.into() })
        }
        Format::Firecracker => {
            let arch = only("a filter of Firecracker", arches)?;
            let options = firecracker::ReadOptions {
                thread: policy.part.clone(),
                choosing: choose_part,
                ..firecracker::ReadOptions::new(arch)
            };
            Ok(firecracker::read(text, &options)?.into())
        }
        Format::Lxc => {
            let options =
                lxc::ReadOptions { strict: policy.strict, ..lxc::ReadOptions::new(host(arches)?) };
            Ok(lxc::read(text, &options)?.into())
        }
        Format::Profile => profile(policy, None, text, arches, files),
        Format::ProfileOf(dialect) => profile(policy, Some(dialect), text, arches, files),
    }
}

/// Reads a container profile. Without a kernel version, it must mean the same for all.
fn profile(
    policy: &Policy,
    dialect: Option<oci::Dialect>,
    text: &str,
    arches: &[Arch],
    files: &mut Files<'_>,
) -> Result<Read, Diagnostics> {
    const OLDEST: KernelVersion = KernelVersion { major: 0, minor: 0 };
    const NEWEST: KernelVersion = KernelVersion { major: u16::MAX, minor: u16::MAX };
    let identity = files.identity(&policy.path);
    let options = |kernel| -> Result<oci::ReadOptions, Diagnostic> {
        let mut options = oci::ReadOptions::new(host(arches)?, kernel);
        options.dialect = dialect;
        options.resource.clone_from(&policy.part);
        options.choosing = choose_part;
        options.identity = Some(identity.clone());
        options.arches = arches.to_vec();
        options.caps = policy.caps.unwrap_or(options.caps);
        options.strict = policy.strict;
        Ok(options)
    };
    let mut read = |kernel| -> Result<Profile, Diagnostics> {
        let mut bases = |name: &str, from: Option<&str>| files.base(name, from);
        oci::read_with_bases(text, &options(kernel)?, &mut bases)
    };
    let profile = read(policy.kernel.unwrap_or(OLDEST))?;
    if policy.kernel.is_none() && read(NEWEST)?.policy != profile.policy {
        let message = "the profile depends on the kernel version, which is not given";
        let help = "give the oldest kernel on which the program runs, as the option `kernel`";
        return Err(Diagnostic::error(None, message).help(help).into());
    }
    Ok(profile.into())
}

/// The help for a file with several parts.
fn choose_part(name: &str) -> String {
    format!("choose one with the option `part`, such as \"{name}\"")
}

/// The architecture of a policy that is for one only.
fn only(what: &str, arches: &[Arch]) -> Result<Arch, Diagnostic> {
    only_arch(what, arches)?.ok_or_else(no_arch)
}

/// The architecture of the machine.
fn host(arches: &[Arch]) -> Result<Arch, Diagnostic> {
    host_of(arches).ok_or_else(no_arch)
}

fn no_arch() -> Diagnostic {
    Diagnostic::error(None, "no architecture is given").help("give at least one")
}

/// Reads a file of weights, as `callgate compile --weights`.
pub(crate) fn read_weights(
    text: &str,
    arches: &[Arch],
    is_strict: bool,
) -> Result<(Weights, Vec<Diagnostic>), Diagnostics> {
    let first = arches
        .first()
        .copied()
        .ok_or_else(|| Diagnostic::error(None, "no architecture is given"))?;
    let read = counts::read(text, first, is_strict)?;
    let weights =
        Weights::of(read.counts).map_err(|error| Diagnostic::error(None, error.to_string()))?;
    Ok((weights, read.warnings))
}

/// The message of a failed compilation.
pub(crate) fn not_compiled(error: &compile::CompileError) -> Diagnostic {
    Diagnostic::error(None, error.to_string()).help(error.help().unwrap_or_default())
}

/// The message for a program without source code.
pub(crate) fn not_emitted(error: &EmitError) -> Diagnostic {
    Diagnostic::error(None, error.to_string()).help(error.help())
}
