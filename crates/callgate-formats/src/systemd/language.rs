//! systemd units in the [registry](crate::languages): how they are recognized, read and changed.

use super::groups::SystemdVersion;
use super::lower::{is_without_section, read as read_texts};
use super::options::{ExecSection, ReadOptions, UnitText};
use super::{arches, text, write};
use crate::annotated::AnnotatedWriter;
use crate::change::input::{Edit, EditInput, line_after, line_at_end, logical_line};
use crate::change::verify::Allowed;
use crate::files::FileMessage;
use crate::languages::{
    Editor, Files, Input, Language, Likeness, Name, ReadFilter, ReadResult, ReadSource, Reading,
    ReadingOption, SourceFiles, Text, Writer,
};
use crate::profile::Profile;
use callgate_bpf::constants::Family;
use callgate_bpf::diagnostic::Diagnostic;
use callgate_core::Arch;

/// The language.
pub const LANGUAGE: Language = Language {
    names: &[Name::written("systemd", &WRITER)],
    forms: &[
        (
            "foo.service",
            "a systemd unit with its drop-ins (foo.service.d), or a directory of drop-ins: all filters that it installs; for \
             other file names, write systemd:NAME",
        ),
        (
            "systemd:TEXT",
            "values of SystemCallFilter=, such as '@system-service ~@resources', or lines of directives",
        ),
    ],
    utf8_help: Some("write the file in UTF-8; systemd accepts other bytes in comments only"),
    likeness,
    options: &[ReadingOption::Kernel, ReadingOption::Systemd],
    files: SourceFiles::DropIns { role: FILE },
    for_builds: false,
    editor: Some(Editor { comparable: Some(comparable), names_files: true, ..Editor::of(edits) }),
    ..Language::of("a systemd unit", "systemd", read)
};

const WRITER: Writer = Writer {
    machines: Some(arches::local),
    annotated: Some(ANNOTATED),
    ..Writer::of("filter.conf", write::write)
};

const ANNOTATED: AnnotatedWriter = AnnotatedWriter {
    write: text::write,
    has_numbers: false,
    is_unit: true,
    for_one_arch: false,
    is_by_libseccomp: true,
    default_errno: None,
    is_read_back: false,
    runtime: "systemd",
    also: &[],
    help: "Lines for a systemd unit; only a few directives can limit arguments",
    usage: "install -D -m 644 FILE \\\n\
            \x20 /etc/systemd/system/NAME.service.d/seccomp.conf\n\
            systemctl daemon-reload && systemctl restart NAME",
};

/// The warning about a text that is a part of a unit, though its name is not that of a file which systemd reads.
const NO_HEADER: &str =
    "the text has no header of a section such as [Service]; it is read as the lines of one";

fn likeness(extension: Option<&str>, text: &[u8]) -> Likeness {
    let is_of_unit = extension.is_some_and(|suffix| ExecSection::of_suffix(suffix).is_some());
    match is_of_unit || std::str::from_utf8(text).is_ok_and(is_unit) {
        true => Likeness::Certain,
        false => Likeness::None,
    }
}

/// The section of a unit file, or of a directory of drop-ins, with this name.
pub fn section_of(name: &str) -> Option<ExecSection> {
    let suffix = |name: &str| ExecSection::of_suffix(extension(name)?);
    match name.strip_suffix(".d") {
        Some(unit) => suffix(unit),
        None => suffix(name),
    }
}

/// The extension of the file with a name.
fn extension(name: &str) -> Option<&str> {
    let file = name.trim_end_matches('/').rsplit('/').next()?;
    file.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension)
}

/// Refuses units that execute no processes.
///
/// # Errors
/// For the name of such a unit.
pub fn check_unit_name(name: &str) -> Result<(), Diagnostic> {
    const OTHERS: [&str; 7] = ["automount", "device", "path", "scope", "slice", "target", "timer"];
    match extension(name).filter(|suffix| OTHERS.contains(suffix)) {
        None => Ok(()),
        Some(suffix) => Err(Diagnostic::error(
            None,
            format!("a {suffix} unit executes no processes, so it has no filters"),
        )
        .help("give a service, socket, mount or swap unit")),
    }
}

fn read(input: &Input<'_>, reading: &Reading, _: &mut dyn Files) -> ReadResult {
    let mut options = options(reading)?;
    if let Some(name) = input.file {
        check_unit_name(name)?;
        options.section = section_of(name);
    }
    let is_named =
        options.section.is_some() || input.file.is_some_and(|name| extension(name) == Some("conf"));
    let is_part = !is_named
        && matches!(input.texts, [only] if only.role != VALUES && is_without_section(only.text));
    let mut warnings = Vec::new();
    // Lines that are given as such need no header.
    let is_file = input.texts.first().is_some_and(|text| FILES.contains(&text.role));
    if is_part && (is_file || input.name.is_none()) {
        let diagnostic = Diagnostic::warning(None, NO_HEADER);
        warnings.push(FileMessage { file: 0, diagnostic });
    }
    let texts = input.texts.iter().map(|Text { text, name, role }| {
        let unit = match *role {
            VALUES => UnitText::filter(text),
            _ if is_part => UnitText::directives(text),
            role if FILES.contains(&role) => UnitText::unit(text),
            _ if is_named || is_unit(text) => UnitText::unit(text),
            _ if text.contains('=') => UnitText::directives(text),
            _ => UnitText::filter(text),
        };
        UnitText { name: *name, ..unit }
    });
    let texts: Vec<UnitText<'_>> = texts.collect();
    let unit = read_texts(&texts, &options)?;
    warnings.extend(unit.warnings);
    let missing = unit.filters.is_empty().then(|| {
        let message = "the unit has no filter, so all syscalls are allowed";
        let help = "directives such as SystemCallFilter= install filters; see docs/reference/languages/systemd.md";
        Diagnostic::error(None, message).help(help)
    });
    let filter = |filter: super::UnitFilter| {
        let arch = filter.arch.map_or_else(String::new, |arch| format!(" ({arch})"));
        let profile = Profile { statements: filter.statements, ..Profile::of(filter.policy) };
        let mut own = ReadFilter::of(profile);
        own.suffix = format!(": {}={arch}", filter.directive);
        own.directive = Some(filter.directive.name());
        if !reading.arches.is_empty() {
            own.arches.clone_from(&reading.arches);
        }
        own
    };
    let filters = unit.filters.into_iter().map(filter).collect();
    Ok(ReadSource { filters, warnings, missing })
}

fn options(reading: &Reading) -> Result<ReadOptions, Diagnostic> {
    let native = reading.host();
    let mut options = ReadOptions::new(native, reading.kernel()?);
    options.version = reading.systemd.unwrap_or(SystemdVersion::LATEST);
    options.is_version_assumed = reading.systemd.is_none();
    options.strict = reading.strict;
    options.statements = reading.statements;
    let built_for = options.arches();
    let is_other = |arch: &&Arch| **arch != native && !built_for.contains(arch);
    match reading.arches.iter().find(is_other) {
        None => Ok(options),
        Some(other) => Err(Diagnostic::error(
            None,
            format!(
                "systemd for {native} installs no filters for {other}, so a unit is not read for both"
            ),
        )
        .help(format!("give only the architecture {native}, or only {other}"))),
    }
}

/// Whether the first line that is not a comment is the header of a section, or all lines are directives.
pub fn is_unit(text: &str) -> bool {
    if is_without_section(text) {
        return true;
    }
    let mut lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty() && !line.starts_with(['#', ';']));
    let name = line.and_then(|line| line.strip_prefix('[')?.strip_suffix(']'));
    name.is_some_and(|name| {
        name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    })
}

/// The syscall with the arguments that a directive can compare: the family of a socket, as a whole register.
pub(crate) fn comparable(wanted: &Allowed) -> Allowed {
    let mut allowed = Allowed { zero_upper: true, ..wanted.clone() };
    allowed.args.retain(|(index, _)| wanted.name == "socket" && *index == 0);
    allowed
}

/// Edits, each of which may allow the syscall.
pub(crate) fn edits(input: &EditInput<'_>) -> Vec<Vec<Edit>> {
    let edits = match input.role {
        VALUES => return filter(input),
        SHIPPED => None,
        NEW_DROP_IN => assignment(input.wanted)
            .and_then(|(directive, value)| add_to_drop_in(input, directive, &value)),
        _ => assignment(input.wanted)
            .and_then(|(directive, value)| add(input.text, directive, &value)),
    };
    edits.into_iter().collect()
}

/// The assignment that allows a syscall, with these arguments only.
fn assignment(wanted: &Allowed) -> Option<(&'static str, String)> {
    match (&*wanted.name, wanted.args.as_slice()) {
        // In a list of what is denied, a value without ~ removes from it.
        (name, []) => Some(("SystemCallFilter", name.to_owned())),
        ("socket", [(0, family)]) => {
            let family = Family::of(wanted.arch, "socket", 0)?.name(wanted.arch, *family)?;
            Some(("RestrictAddressFamilies", family))
        }
        _ => None,
    }
}

/// A line in a drop-in that may be empty. Its directory names the unit, and so the section.
fn add_to_drop_in(input: &EditInput<'_>, directive: &str, value: &str) -> Option<Vec<Edit>> {
    if let Some(edits) = add(input.text, directive, value) {
        return Some(edits);
    }
    let line = format!("{directive}={value}");
    if !input.text.is_empty() {
        return Some(vec![line_at_end(input.text, &line)]);
    }
    let (directory, _) = input.file?.rsplit_once('/')?;
    let section = section_of(directory)?.name();
    Some(vec![Edit::insert(0, format!("[{section}]\n{line}\n"))])
}

/// A line after the last one with a directive.
fn add(text: &str, directive: &str, value: &str) -> Option<Vec<Edit>> {
    let mut last = None;
    let mut at = 0;
    while at < text.len() {
        let line = logical_line(text, at);
        let content = text.get(line.clone()).unwrap_or_default().trim_start();
        if content.strip_prefix(directive).is_some_and(|rest| rest.trim_start().starts_with('=')) {
            last = Some(line.clone());
        }
        at = line.end + 1;
    }
    Some(vec![line_after(text, &last?, &format!("{directive}={value}"))])
}

/// Edits of values.
fn filter(input: &EditInput<'_>) -> Vec<Vec<Edit>> {
    let (text, name) = (input.text, &input.wanted.name);
    if !input.wanted.args.is_empty() {
        return Vec::new();
    }
    let end = text.trim_end().len();
    let value = format!(" {name}");
    let mut found = vec![vec![Edit::insert(end, value)]];
    let mut denying = input.denying();
    if let (Some(at), true) = (denying.pop_first(), denying.is_empty()) {
        let word = text.get(at..).unwrap_or_default().split_whitespace().next();
        if let Some(word) = word.filter(|word| *word == name) {
            let rest = text.get(at + word.len()..).unwrap_or_default();
            let blanks = rest.len() - rest.trim_start().len();
            found.push(vec![Edit::remove(at, at + word.len() + blanks)]);
        }
    }
    found
}

/// The role of a text that is a file of systemd, whatever its content is.
pub const FILE: &str = "unit";

/// The role of a unit file or drop-in that belongs to a package, or that a program generates: an update replaces it, so it is not
/// changed.
pub const SHIPPED: &str = "shipped";

/// The role of a drop-in of the administrator that does not exist yet. It is empty, until a change writes it.
pub const NEW_DROP_IN: &str = "new-drop-in";

/// The roles of texts that are files of systemd.
const FILES: [&str; 3] = [FILE, SHIPPED, NEW_DROP_IN];

/// The role of a text with values of `SystemCallFilter=`.
pub const VALUES: &str = "filter";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_have_the_suffix_of_their_section() {
        assert_eq!(section_of("a/foo@.service"), Some(ExecSection::Service));
        assert_eq!(section_of("foo.socket.d"), Some(ExecSection::Socket));
        for name in ["foo.conf", "foo.d", "service", "foo.timer", ".service.d/x"] {
            assert_eq!(section_of(name), None, "{name}");
        }
        assert!(check_unit_name("foo.timer").is_err());
        assert!(check_unit_name("foo.conf").is_ok());
    }

    /// What a package ships is not changed: the change is a drop-in, in the section of the unit.
    #[test]
    fn a_change_of_a_shipped_unit_is_a_new_drop_in() {
        use crate::change::{Candidates, apply, candidates};
        use crate::statements::Statements;
        use crate::why::{Cause, Why};
        let wanted = Allowed::all(Arch::X86_64, "mount");
        let statements = Statements::default();
        let why = Why {
            verdict: callgate_core::Verdict::errno(1),
            cause: Cause::Default(None),
            overruled: Vec::new(),
            unmet: Vec::new(),
            inactive: Vec::new(),
        };
        let changed = |role, text: &str, file| {
            let language = callgate_language();
            let input = Candidates {
                language,
                role,
                text,
                file: Some(file),
                statements: &statements,
                why: &why,
                wanted: &wanted,
            };
            candidates(&input).first().and_then(|first| apply(text, &first.edits))
        };
        let unit = "[Socket]\nSystemCallFilter=@system-service\n";
        let drop_in = "/etc/systemd/system/a.socket.d/seccomp.conf";
        assert_eq!(changed(SHIPPED, unit, "/usr/lib/systemd/system/a.socket"), None);
        let new = "[Socket]\nSystemCallFilter=mount\n";
        assert_eq!(changed(NEW_DROP_IN, "", drop_in).as_deref(), Some(new));
        let other = "[Socket]\nRestrictAddressFamilies=AF_UNIX\n";
        let both = format!("{other}SystemCallFilter=mount\n");
        assert_eq!(changed(NEW_DROP_IN, other, drop_in), Some(both));
        assert_eq!(changed(NEW_DROP_IN, "", "/etc/x/seccomp.conf"), None, "no unit");
    }

    fn callgate_language() -> crate::languages::LanguageId {
        crate::languages::LanguageId::of(&LANGUAGE)
    }

    #[test]
    fn units_begin_with_a_section() {
        for unit in ["[Service]\n", "# x\n; y\n\n[X-Own]", "\u{feff}[Unit]"] {
            assert!(is_unit(unit), "{unit}");
        }
        for text in ["", "[a@b ~]$ x", "[]", "[1]", "x\n[Service]"] {
            assert!(!is_unit(text), "{text}");
        }
    }
}
