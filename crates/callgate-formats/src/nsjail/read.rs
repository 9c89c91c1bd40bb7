//! Reads a configuration: from the text to a [`Profile`].

use super::fields::{Decoded, Fields, Malformed, Placed};
use crate::change::input::Offsets;
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

/// The text of the policy.
///
/// # Errors
/// If the configuration has no policy, or several.
pub(super) fn policy(fields: &Fields) -> Result<Decoded, Malformed> {
    let fail = |at, message: &str, help| Err(Malformed { at, message: message.to_owned(), help });
    if let [_, second, ..] = fields.files.as_slice() {
        return fail(second.at, "`seccomp_policy_file` is given twice", "give one file");
    }
    // As for nsjail, an empty name is none.
    let file = fields.files.first().filter(|file| !file.value.bytes.is_empty());
    match (file, fields.lines.as_slice()) {
        (None, []) => fail(
            0,
            "the configuration has no filter, so all syscalls are allowed",
            "`seccomp_string` or `seccomp_policy_file` installs one",
        ),
        (Some(file), [_, ..]) => fail(
            file.at,
            "nsjail refuses `seccomp_policy_file` and `seccomp_string` together",
            "give one of them",
        ),
        (Some(file), []) => included(file),
        (None, lines) => {
            let mut text = Decoded::default();
            for line in lines {
                text.append(&line.value);
                text.push_byte(b'\n', line.at);
            }
            Ok(text)
        }
    }
}

/// A policy that is a file.
fn included(file: &Placed<Decoded>) -> Result<Decoded, Malformed> {
    let name = &file.value.bytes;
    if name.iter().any(|byte| matches!(byte, b'"' | b'\\' | b'\n' | b'\r' | 0)) {
        let message = "the name of the policy has a character that is not read".to_owned();
        return Err(Malformed { at: file.at, message, help: "rename the file" });
    }
    // All of it comes from the place of the name.
    let mut text = Decoded::default();
    for byte in b"#include \"".iter().chain(name).chain(b"\"\n") {
        text.push_byte(*byte, file.at);
    }
    Ok(text)
}
