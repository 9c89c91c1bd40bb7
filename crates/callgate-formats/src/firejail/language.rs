//! Firejail in the [registry](crate::languages).

use super::lower::lower;
use super::read::Lines;
use super::table::is_command;
use crate::included::check_text_size;
use crate::languages::{
    Files, Input, Language, Likeness, Name, ReadResult, ReadSource, Reading, is_text, of_first,
};
use callgate_bpf::diagnostic::Diagnostic;
use callgate_core::Arch;

/// The language.
pub const LANGUAGE: Language = Language {
    names: &[Name::read("firejail")],
    forms: &[(
        "app.profile",
        "a Firejail profile with the files that it includes: all filters that it installs",
    )],
    likeness,
    for_builds: false,
    editor: None,
    ..Language::of("a Firejail profile", "firejail", read)
};

fn likeness(extension: Option<&str>, text: &[u8]) -> Likeness {
    match extension {
        Some("profile" | "inc" | "local") if begins_with_command(text) => Likeness::Extension,
        _ if is_text(text) && has_command(text) => Likeness::Text,
        _ => Likeness::None,
    }
}

fn read(input: &Input<'_>, reading: &Reading, files: &mut dyn Files) -> ReadResult {
    check_arches(reading)?;
    check_text_size(input.text())?;
    let lines = Lines::new(input.text(), input.identity, files, reading.strict).read();
    let (mut filters, warnings) = lower(lines, reading.statements, reading.strict)?;
    for filter in &mut filters {
        if !reading.arches.is_empty() {
            filter.arches.clone_from(&reading.arches);
        }
    }
    let missing = filters.is_empty().then(|| {
        let message = "the profile installs no filter, so all syscalls are allowed";
        Diagnostic::error(None, message)
            .help("`seccomp` installs the default one; see docs/reference/languages/firejail.md")
    });
    Ok(ReadSource { filters, warnings: of_first(warnings), missing })
}

/// Refuses other machines: firejail's filters for them are others.
fn check_arches(reading: &Reading) -> Result<(), Diagnostic> {
    const ARCHES: [Arch; 3] = [Arch::X86_64, Arch::X86, Arch::X32];
    let is_other = |arch: &&Arch| !ARCHES.contains(arch);
    let other = match reading.host() {
        Arch::X86_64 => reading.arches.iter().find(is_other).copied(),
        host => Some(host),
    };
    match other {
        None => Ok(()),
        Some(other) => Err(Diagnostic::error(
            None,
            format!("Firejail filters are read for x86_64, not for {other}"),
        )
        .help("give the architecture x86_64")),
    }
}

/// The first words of the lines of a text, without conditions.
fn words(text: &[u8]) -> impl Iterator<Item = &str> {
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    lines.filter_map(|line| {
        let line = std::str::from_utf8(line).ok()?;
        let line = match line.strip_prefix('?').and_then(|line| line.split_once(':')) {
            Some((_, behind)) => behind.trim_ascii_start(),
            None => line,
        };
        line.split_ascii_whitespace().next()
    })
}

/// Whether the first line that is not a comment begins with a command of firejail.
fn begins_with_command(text: &[u8]) -> bool {
    words(text).next().is_some_and(is_command)
}

/// Whether a line begins with a command that only firejail has.
fn has_command(text: &[u8]) -> bool {
    const COMMANDS: [&str; 6] = [
        "caps.drop",
        "nonewprivs",
        "seccomp.block-secondary",
        "seccomp.drop",
        "seccomp.keep",
        "seccomp-error-action",
    ];
    words(text).any(|word| COMMANDS.contains(&word))
}
