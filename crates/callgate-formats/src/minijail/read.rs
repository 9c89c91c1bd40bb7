//! Reader of policies: from the text to a [`MinijailPolicy`].

use super::lower::lower;
use super::names::{ARCHES, arch_name};
use super::options::{Frequency, MinijailPolicy, ReadOptions};
use super::statements::Reading;
use crate::included::{Includes, check_text_size, no_files};
use crate::profile::Profile;
use callgate_bpf::diagnostic::{Diagnostic, Diagnostics};

/// Reads a policy that includes no files.
///
/// ```
/// use callgate_core::{Arch, SeccompData, Verdict};
/// use callgate_formats::minijail::{ReadOptions, read};
///
/// let policy = read("write: arg0 == 1", &ReadOptions::new(Arch::X86_64))?.profile.policy;
/// let mut write = SeccompData { nr: 1, arch: Arch::X86_64.token(), ..SeccompData::default() };
/// assert_eq!(policy.evaluate(&write), Verdict::KILL_THREAD);
/// write.args[0] = 1;
/// assert_eq!(policy.evaluate(&write), Verdict::ALLOW);
/// # Ok::<(), callgate_bpf::diagnostic::Diagnostics>(())
/// ```
///
/// # Errors
/// All messages about the text, including warnings, if at least one is an error. `@include` and `@frequency` are errors.
pub fn read(text: &str, options: &ReadOptions) -> Result<MinijailPolicy, Diagnostics> {
    read_with_includes(text, options, &mut no_files)
}

/// Reads a policy; `includes` returns the files that it names.
///
/// # Errors
/// All messages about the text, including warnings, if at least one is an error.
pub fn read_with_includes(
    text: &str,
    options: &ReadOptions,
    includes: &mut Includes<'_>,
) -> Result<MinijailPolicy, Diagnostics> {
    let arch = options.arch;
    if arch_name(arch).is_none() {
        let names = ARCHES.map(|(_, arch)| arch.name()).join(", ");
        let message = format!("minijail has no filters for {arch}");
        let help = format!("give one of its architectures: {names}");
        return Err(Diagnostic::error(None, message).help(help).into());
    }
    check_text_size(text)?;
    let Reading { sources, mut reports, model, frequencies, .. } =
        Reading::new(text, options, includes).read();
    let lowered =
        if reports.failed() { None } else { lower(&model, options, &sources, &mut reports) };
    let failed = reports.failed();
    let messages = reports.finish(&sources);
    match lowered {
        Some((policy, statements)) if !failed => Ok(MinijailPolicy {
            profile: Profile { warnings: messages, statements, ..Profile::of(policy) },
            frequencies: frequencies
                .into_iter()
                .map(|(name, count)| Frequency { name, count })
                .collect(),
        }),
        _ => Err(messages.into()),
    }
}
