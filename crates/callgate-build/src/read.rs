//! Reads a policy in any format.

use crate::files::Files;
use crate::format::Format;
use crate::policy::Policy;
use std::collections::BTreeMap;

use callgate::emit::EmitError;
use callgate::source::{
    Messages, SourceContent, SourceFilter, SourceFormat, SourceText, Wording, read_with,
};
use callgate::{Arch, compile};
use callgate_bpf::diagnostic::{Diagnostic, Diagnostics};
use callgate_bpf::syscalls::KernelVersion;
use callgate_codegen::Weights;
use callgate_formats::host_of;
use callgate_formats::languages::{Reading, ReadingOption};
use callgate_trace::counts;

/// The words of build scripts.
const WORDING: &Wording = &Wording {
    give_values: "write the values into the policy: a filter that is an expression has no parameters",
    give_format: "give its format as the option `format`",
    no_parts: [
        "a policy in this format has no parts with names",
        "omit the option `part`, which is for Kubernetes resources and Firecracker threads",
    ],
    ..*Wording::REQUEST
};

/// The name of the policy in an expression.
const POLICY: &str = "policy";

/// Reads the text of a policy for these architectures, of which there is at least one; returns it with warnings.
pub(crate) fn read(
    policy: &Policy,
    format: Format,
    text: &str,
    arches: &[Arch],
    files: &mut Files<'_>,
) -> Result<(SourceFilter, Vec<Diagnostic>), Diagnostics> {
    const OLDEST: KernelVersion = KernelVersion { major: 0, minor: 0 };
    const NEWEST: KernelVersion = KernelVersion { major: u16::MAX, minor: u16::MAX };
    let Some(machine) = host_of(arches) else {
        let message = Diagnostic::error(None, "no architecture is given");
        return Err(message.help("give at least one").into());
    };
    let identity = files.identity(&policy.path);
    let reading = Reading {
        arches: arches.to_vec(),
        caps: policy.caps,
        strict: policy.strict,
        choosing: choose_part,
        ..Reading::new(machine)
    };
    let source = |kernel| {
        let reading = Reading { kernel: Some(kernel), ..reading.clone() };
        let source = SourceText {
            name: policy.shown(),
            format: Some(SourceFormat::Policy(format.0)),
            part: policy.part.clone(),
            identity: Some(identity.clone()),
            wording: WORDING,
            ..SourceText::new(SourceContent::Text(text.to_owned()), reading.clone())
        };
        let Some(expression) = policy.expression.clone() else { return source };
        let sources = BTreeMap::from([(POLICY.to_owned(), source)]);
        let content = SourceContent::Expression(expression, sources);
        SourceText { name: policy.shown(), wording: WORDING, ..SourceText::new(content, reading) }
    };
    let mut warnings = Messages::new();
    let mut read = |source: &SourceText, warnings: &mut Messages| {
        read_with(source, files, warnings)
            .map_err(|errors| -> Diagnostics { diagnostics(errors).into() })
    };
    let stack = read(&source(policy.kernel.unwrap_or(OLDEST)), &mut warnings)?;
    // Without a kernel version, the policy must mean the same for all.
    let depends = policy.expression.is_some() || format.0.has_option(ReadingOption::Kernel);
    if policy.kernel.is_none() && depends {
        let newest = read(&source(NEWEST), &mut Messages::new())?;
        let is_same = |(a, b): (&SourceFilter, &SourceFilter)| {
            a.policy() == b.policy() && a.given_program() == b.given_program()
        };
        let (newest, oldest) = (&newest.filters, &stack.filters);
        if newest.len() != oldest.len() || !newest.iter().zip(oldest).all(is_same) {
            let message = "the profile depends on the kernel version, which is not given";
            let help = "give the oldest kernel on which the program runs, as the option `kernel`";
            return Err(Diagnostic::error(None, message).help(help).into());
        }
    }
    match stack.filters.into_iter().next() {
        Some(filter) => Ok((filter, diagnostics(warnings))),
        None => Err(Diagnostic::error(None, "the policy has no filter").into()),
    }
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
