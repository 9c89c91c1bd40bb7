//! Reads a policy in any format.

use crate::files::Files;
use crate::format::Format;
use crate::policy::Policy;
use callgate::emit::EmitError;
use callgate::{Arch, compile};
use callgate_bpf::FilterFlags;
use callgate_bpf::diagnostic::{Diagnostic, Diagnostics};
use callgate_bpf::syscalls::KernelVersion;
use callgate_codegen::Weights;
use callgate_core::policy::Policy as Rules;
use callgate_formats::host_of;
use callgate_formats::languages::{Input, ReadFilter, ReadSource, Reading, ReadingOption, Text};
use callgate_trace::counts;

/// A policy that was read.
pub(crate) struct Read {
    pub(crate) rules: Rules,
    pub(crate) flags: FilterFlags,
    pub(crate) warnings: Vec<Diagnostic>,
    /// How often syscalls occur according to the policy.
    pub(crate) weights: Option<Weights>,
}

/// Reads the text of a policy for these architectures, of which there is at least one.
pub(crate) fn read(
    policy: &Policy,
    format: Format,
    text: &str,
    arches: &[Arch],
    files: &mut Files<'_>,
) -> Result<Read, Diagnostics> {
    const OLDEST: KernelVersion = KernelVersion { major: 0, minor: 0 };
    const NEWEST: KernelVersion = KernelVersion { major: u16::MAX, minor: u16::MAX };
    let Some(machine) = host_of(arches) else {
        let message = Diagnostic::error(None, "no architecture is given");
        return Err(message.help("give at least one").into());
    };
    let language = format.0;
    let identity = files.identity(&policy.path);
    let texts = [Text::of(text)];
    let input = Input {
        name: language.given_name(),
        part: policy.part.as_deref(),
        identity: Some(&identity),
        ..Input::of(&texts)
    };
    let mut read = |kernel| -> Result<ReadSource, Diagnostics> {
        let reading = Reading {
            arches: arches.to_vec(),
            kernel: Some(kernel),
            caps: policy.caps,
            strict: policy.strict,
            choosing: choose_part,
            ..Reading::new(machine)
        };
        (language.language().read)(&input, &reading, files).map_err(|errors| {
            let diagnostics = errors.into_vec().into_iter().map(|message| message.diagnostic);
            diagnostics.collect::<Vec<Diagnostic>>().into()
        })
    };
    let source = read(policy.kernel.unwrap_or(OLDEST))?;
    let policies = |source: &ReadSource| -> Vec<Rules> {
        source.filters.iter().map(|filter| filter.profile.policy.clone()).collect()
    };
    // Without a kernel version, the policy must mean the same for all.
    if policy.kernel.is_none()
        && language.has_option(ReadingOption::Kernel)
        && policies(&read(NEWEST)?) != policies(&source)
    {
        let message = "the profile depends on the kernel version, which is not given";
        let help = "give the oldest kernel on which the program runs, as the option `kernel`";
        return Err(Diagnostic::error(None, message).help(help).into());
    }
    let warnings = source.warnings.into_iter().map(|message| message.diagnostic).collect();
    let Some(ReadFilter { profile, weights, .. }) = source.filters.into_iter().next() else {
        return Err(Diagnostic::error(None, "the policy has no filter").into());
    };
    Ok(Read { rules: profile.policy, flags: profile.flags, warnings, weights })
}

/// The help for a file with several parts.
fn choose_part(name: &str) -> String {
    format!("choose one with the option `part`, such as \"{name}\"")
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
