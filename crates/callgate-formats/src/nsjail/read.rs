//! Reads a configuration: from the text to a [`Profile`].

use super::decode::Decoded;
use super::fields::Fields;
use super::policy::policy;
use super::scanner::Malformed;
use crate::change::offsets::Offsets;
use crate::diagnostics::positions::Positions;
use crate::included::check_text_size;
use crate::kafel::{Includes, ReadOptions, read_with_includes};
use crate::profile::Profile;
use callgate_bpf::FilterFlags;
use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::{Diagnostic, Diagnostics, Position};

/// Reads a configuration; `includes` returns the file of its policy, and the files that the policy includes.
///
/// ```
/// use callgate_core::{Arch, SeccompData, Verdict};
/// use callgate_formats::kafel::ReadOptions;
/// use callgate_formats::nsjail::read;
///
/// let text = "name: \"x\"\nseccomp_string: \"ALLOW { read }\"\nseccomp_string: 'DEFAULT KILL'\n";
/// let profile = read(text, &ReadOptions::new(Arch::X86_64), &mut |_, _| Err("no files".to_owned()))?;
/// let read = SeccompData { nr: 0, arch: Arch::X86_64.token(), ..SeccompData::default() };
/// assert_eq!(profile.policy.evaluate(&read), Verdict::ALLOW);
/// # Ok::<(), callgate_bpf::diagnostic::Diagnostics>(())
/// ```
///
/// # Errors
/// All messages about the policy, including warnings, if at least one is an error; or the first one about the form of the
/// configuration.
pub fn read(
    text: &str,
    options: &ReadOptions,
    includes: &mut Includes<'_>,
) -> Result<Profile, Diagnostics> {
    check_text_size(text)?;
    let positions = Positions::new(text);
    let failed = |Malformed { at, message, help }| {
        Diagnostic::error(Some(positions.of(at)), message).help(help)
    };
    let fields = Fields::read(text).map_err(failed)?;
    let decoded = policy(&fields).map_err(failed)?;
    let Ok(kafel) = std::str::from_utf8(&decoded.bytes) else {
        let at = fields.lines.first().map_or(0, |line| line.at);
        return Err(Diagnostic::error(Some(positions.of(at)), "the policy is not UTF-8")
            .help("write other characters as \\u and four digits")
            .into());
    };
    let origins =
        Origins { decoded: &decoded, offsets: Offsets::new(kafel), positions: &positions };
    let mut profile = read_with_includes(kafel, options, includes).map_err(|errors| {
        let placed = errors.into_vec().into_iter().map(|error| origins.placed(error));
        Diagnostics::from(placed.collect::<Vec<Diagnostic>>())
    })?;
    let warnings = std::mem::take(&mut profile.warnings);
    profile.warnings = warnings.into_iter().map(|warning| origins.placed(warning)).collect();
    for site in profile.statements.iter_mut().flat_map(|all| all.sites_mut()) {
        if site.file.is_none() {
            site.position = origins.of(site.position);
        }
    }
    if fields.log {
        profile.flags = FilterFlags::LOG | FilterFlags::TSYNC;
    }
    if let Some(at) = fields.unotify {
        let message =
            "nsjail installs another filter, which passes syscalls to it; this filter is not read";
        let warning = Diagnostic::warning(Some(positions.of(at)), message);
        profile.warnings.push(warning.help(Advice::ReadProcess));
    }
    Ok(profile)
}

/// Where the parts of a policy are in the configuration.
struct Origins<'t> {
    decoded: &'t Decoded,
    offsets: Offsets<'t>,
    positions: &'t Positions<'t>,
}

impl Origins<'_> {
    /// The position in the configuration.
    fn of(&self, position: Position) -> Position {
        let own = self.offsets.of(position).unwrap_or(self.decoded.bytes.len());
        self.positions.of(self.decoded.origin(own))
    }

    /// A message about the configuration.
    fn placed(&self, message: Diagnostic) -> Diagnostic {
        Diagnostic { position: message.position.map(|position| self.of(position)), ..message }
    }
}
