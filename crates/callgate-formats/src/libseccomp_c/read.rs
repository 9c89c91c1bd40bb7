//! Reads a program: from the text to a [`Profile`] for each filter.

use super::header::header;
use super::library::Calls;
use crate::profile::Profile;
use callgate_bpf::diagnostic::{Diagnostic, Diagnostics};
use callgate_bpf::text::calls::{Wanted, execute};
use callgate_bpf::text::{Definition, TextOptions};
use callgate_core::Arch;

/// Reads a program, and returns its filters, the oldest first. Usually it is one.
///
/// ```
/// use callgate_core::{Arch, SeccompData, Verdict};
/// use callgate_formats::libseccomp_c::{ReadOptions, read};
///
/// let text = "#include <seccomp.h>\nint main(void) {\n    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);\n\
///             seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ptrace), 0);\n    return seccomp_load(ctx);\n}\n";
/// let filters = read(text, &ReadOptions::new(Arch::X86_64))?;
/// let ptrace = SeccompData { nr: 101, arch: Arch::X86_64.token(), ..SeccompData::default() };
/// assert_eq!(filters[0].policy.evaluate(&ptrace), Verdict::errno(1));
/// # Ok::<(), callgate_bpf::diagnostic::Diagnostics>(())
/// ```
///
/// # Errors
/// All messages about the program, if it is not read.
pub fn read(text: &str, options: &ReadOptions) -> Result<Vec<Profile>, Diagnostics> {
    let text_options = TextOptions::new(options.arch.endian())
        .with_arch(options.arch)
        .with_definitions(options.definitions.clone())
        .with_strict(options.strict);
    let header = header();
    let wanted = Wanted {
        options: &text_options,
        header: &header,
        function: options.function.as_deref(),
        choosing: options.choosing,
    };
    let start = |installs| Calls::new(options.arch, installs);
    let executed = execute(text, &wanted, &start)
        .map_err(|error| Diagnostics::from(error.into_diagnostics()))?;
    profiles_of(&executed.library, executed.warnings, options.statements)
}

/// The filters that the calls of a program made, the oldest first.
///
/// # Errors
/// If there are none, or it is not clear which one is meant.
pub(crate) fn profiles_of(
    calls: &Calls,
    mut warnings: Vec<Diagnostic>,
    has_statements: bool,
) -> Result<Vec<Profile>, Diagnostics> {
    warnings.extend(calls.warnings.iter().cloned());
    let (contexts, is_alternative) = calls.filters();
    let fail = |mut messages: Vec<Diagnostic>, error: Diagnostic| {
        messages.push(error);
        Err(Diagnostics::from(messages))
    };
    if contexts.is_empty() {
        let message = "the program ends before it installs a filter";
        let error = Diagnostic::error(None, message);
        return fail(
            warnings,
            error.help("the first call that fails, or the condition before it, is the reason"),
        );
    }
    if let (true, [_, _, ..]) = (is_alternative, contexts) {
        let message = format!("the program makes {} filters, and installs none", contexts.len());
        let error = Diagnostic::error(None, message);
        return fail(warnings, error.help("give only the functions that make one of them"));
    }
    if contexts.iter().any(|context| !context.is_valid()) {
        let error = Diagnostic::error(None, "the filter of the program has no architecture");
        return fail(warnings, error.help("add one with seccomp_arch_add"));
    }
    let mut profiles = Vec::with_capacity(contexts.len());
    for context in contexts {
        let mut profile = context.profile(&calls.sites, has_statements)?;
        for warning in std::mem::take(&mut profile.warnings) {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        profiles.push(profile);
    }
    warnings.sort_by_key(|warning| warning.position);
    if let Some(first) = profiles.first_mut() {
        first.warnings = warnings;
    }
    Ok(profiles)
}

/// What a program is read for.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The architecture for which it is compiled.
    pub arch: Arch,
    /// The function that makes the filter. It may be `None` if the program has only one.
    pub function: Option<String>,
    /// How a user chooses a function, for the help if the program has several.
    pub choosing: fn(&str) -> String,
    /// Macros that are defined, or not, before the program is read.
    pub definitions: Vec<Definition>,
    /// Whether assumptions, such as about the headers that the program includes, are errors instead of warnings.
    pub strict: bool,
    /// Whether the result has [`statements`](crate::Profile::statements).
    pub statements: bool,
}

impl ReadOptions {
    /// Reads the only filter of a program.
    pub fn new(arch: Arch) -> ReadOptions {
        let choosing =
            |name: &str| format!("choose one with the option `function`, such as \"{name}\"");
        ReadOptions {
            arch,
            function: None,
            choosing,
            definitions: Vec::new(),
            strict: false,
            statements: false,
        }
    }
}
