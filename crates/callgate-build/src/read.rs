//! Reads a policy in any format.

use crate::files::Files;
use crate::format::Format;
use crate::policy::Policy;
use callgate::emit::EmitError;
use callgate::source::{
    Filter, FilterContent, Messages, SourceContent, SourceFormat, SourceText, Stack, Wording,
    read_with,
};
use callgate::{Arch, compile};
use callgate_bpf::FilterFlags;
use callgate_bpf::diagnostic::{Diagnostic, Diagnostics};
use callgate_bpf::syscalls::KernelVersion;
use callgate_codegen::Weights;
use callgate_core::policy::Policy as Rules;
use callgate_formats::host_of;
use callgate_formats::languages::{Reading, ReadingOption};
use callgate_trace::counts;

/// A policy that was read.
pub(crate) struct Read {
    pub(crate) rules: Rules,
    pub(crate) flags: FilterFlags,
    pub(crate) warnings: Vec<Diagnostic>,
    /// How often syscalls occur according to the policy.
    pub(crate) weights: Option<Weights>,
}

/// The words of build scripts.
const WORDING: &Wording = &Wording {
    give_format: "give its format as the option `format`",
    no_parts: [
        "a policy in this format has no parts with names",
        "omit the option `part`, which is for resources of Kubernetes and threads of Firecracker",
    ],
    ..*Wording::REQUEST
};

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
    let reading = Reading {
        arches: arches.to_vec(),
        kernel: Some(policy.kernel.unwrap_or(OLDEST)),
        caps: policy.caps,
        strict: policy.strict,
        choosing: choose_part,
        ..Reading::new(machine)
    };
    let mut source = SourceText {
        name: policy.shown(),
        format: Some(SourceFormat::Policy(format.0)),
        part: policy.part.clone(),
        identity: Some(files.identity(&policy.path)),
        wording: WORDING,
        ..SourceText::new(SourceContent::Text(text.to_owned()), reading)
    };
    let mut warnings = Messages::new();
    let mut read = |source: &SourceText, warnings: &mut Messages| {
        read_with(source, files, warnings)
            .map_err(|errors| -> Diagnostics { diagnostics(errors).into() })
    };
    let stack = read(&source, &mut warnings)?;
    // Without a kernel version, the policy must mean the same for all.
    if policy.kernel.is_none() && format.0.has_option(ReadingOption::Kernel) {
        source.reading.kernel = Some(NEWEST);
        let newest = read(&source, &mut Messages::new())?;
        let policies = |stack: &Stack| -> Vec<Option<Rules>> {
            stack.filters.iter().map(|filter| filter.policy().cloned()).collect()
        };
        if policies(&newest) != policies(&stack) {
            let message = "the profile depends on the kernel version, which is not given";
            let help = "give the oldest kernel on which the program runs, as the option `kernel`";
            return Err(Diagnostic::error(None, message).help(help).into());
        }
    }
    let filter = stack.filters.into_iter().next();
    let Some(Filter { content: FilterContent::Policy(rules), flags, weights, .. }) = filter else {
        return Err(Diagnostic::error(None, "the policy has no filter").into());
    };
    Ok(Read { rules: *rules, flags, warnings: diagnostics(warnings), weights })
}

fn diagnostics(messages: Messages) -> Vec<Diagnostic> {
    messages.into_iter().map(|message| message.diagnostic).collect()
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
