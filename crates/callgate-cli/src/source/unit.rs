//! Units of systemd as a source: a unit file with its drop-ins, a directory of drop-ins, or directives as text.
//!
//! `systemd:` is followed by a path or by text. Text has a blank, `=`, or a first character `@` or `~`: with `=` it consists
//! of directives, otherwise of values of `SystemCallFilter=`. Paths that end in `.service`, `.socket`, `.mount` or
//! `.swap`, or in one of them and `.d`, are units without `systemd:` as well.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use callgate::diagnostic::{Diagnostic, Position};
use callgate::formats::systemd::{self, ExecSection, FileMessage, UnitFilter, UnitText};

use super::filter::{Filter, FilterContent, Rules};
use super::place::Place;
use super::stack::Stack;
use crate::options::SourceOptions;
use crate::report::{self, Failure, Result};
use crate::text::counted;

/// The maximum number of drop-ins of a unit.
const MAX_DROP_INS: usize = 1000;

/// The maximum number of characters of a text in messages.
const MAX_NAME: usize = 40;

/// A unit, or directives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum UnitSource {
    /// Directives, or values of `SystemCallFilter=`.
    Text(String),
    /// A unit file, or a directory of drop-ins.
    At(Place),
}

/// A text that is read, and its name in messages.
struct NamedText {
    name: String,
    text: String,
}

impl UnitSource {
    /// Parses what follows `systemd:`.
    pub(super) fn parse(rest: &OsStr) -> Result<UnitSource> {
        let Some(text) = rest.to_str() else {
            return Ok(UnitSource::At(Place::of_path(Path::new(rest))));
        };
        if text.trim().is_empty() {
            return Err(Failure::new("missing unit file or directives after \"systemd:\"").help(
                "write systemd:FILE, systemd:@system-service or systemd:RestrictRealtime=yes",
            ));
        }
        let is_path = text.starts_with(['/', '.']);
        let is_text = text.starts_with(['@', '~']) || text.contains(['=', ' ', '\t', '\n']);
        Ok(match is_text && !is_path {
            true => UnitSource::Text(text.to_owned()),
            false => UnitSource::At(Place::of_path(Path::new(rest))),
        })
    }

    /// A path that is a unit by its name.
    pub(super) fn detect(path: &Path) -> Option<UnitSource> {
        section(path).map(|_| UnitSource::At(Place::of_path(path)))
    }

    pub(super) fn is_stdin(&self) -> bool {
        matches!(self, UnitSource::At(Place::Stdin))
    }

    /// Reads the unit into the filters that systemd installs. Prints warnings.
    pub(super) fn read(&self, options: &SourceOptions) -> Result<Stack> {
        let mut reading = options.of_unit()?;
        let (name, texts) = match self {
            UnitSource::Text(text) => {
                let short: String = text.chars().take(MAX_NAME).collect();
                let more = if text.chars().nth(MAX_NAME).is_some() { "…" } else { "" };
                let name = format!("systemd:{short}{more}");
                (name.clone(), vec![NamedText { name, text: text.clone() }])
            }
            UnitSource::At(place) => {
                if let Place::File(path) = place {
                    reading.section = section(path);
                    check_suffix(path)?;
                }
                (place.name(), read_files(place)?)
            }
        };
        let is_filter = matches!(self, UnitSource::Text(text) if !text.contains('='));
        let unit_texts: Vec<UnitText<'_>> = texts
            .iter()
            .map(|one| match self {
                UnitSource::Text(_) if is_filter => UnitText::filter(&one.text),
                UnitSource::Text(text) if !text.trim_start().starts_with('[') => {
                    UnitText::directives(&one.text)
                }
                _ => UnitText::unit(&one.text),
            })
            .collect();
        let unit = systemd::read(&unit_texts, &reading)
            .map_err(|errors| failure(&texts, errors.into_vec()))?;
        print(&texts, unit.warnings);
        if unit.filters.is_empty() {
            return Err(Failure::about(
                name,
                "the unit has no filter, so all syscalls are allowed",
            )
            .help("directives such as SystemCallFilter= install filters; see docs/systemd.md"));
        }
        let filters = unit.filters.into_iter().map(|filter| of_unit(&name, filter, options));
        Ok(Stack { filters: filters.collect(), name })
    }
}

/// The section of a unit file or a directory of drop-ins, by its name.
fn section(path: &Path) -> Option<ExecSection> {
    let suffix =
        |name: &Path| name.extension().and_then(OsStr::to_str).and_then(ExecSection::of_suffix);
    match path.extension() {
        Some(end) if end == "d" => suffix(Path::new(path.file_stem()?)),
        _ => suffix(path),
    }
}

/// Fails for units that execute no processes.
fn check_suffix(path: &Path) -> Result<()> {
    const OTHERS: [&str; 7] = ["automount", "device", "path", "scope", "slice", "target", "timer"];
    let is_other = |suffix: &OsStr| OTHERS.iter().any(|other| suffix == *other);
    match path.extension().filter(|suffix| is_other(suffix)) {
        None => Ok(()),
        Some(suffix) => Err(Failure::about(
            path.display().to_string(),
            format!("a {} unit executes no processes, so it has no filters", suffix.display()),
        )
        .help("give a service, socket, mount or swap unit")),
    }
}

/// The unit file and its drop-ins, or the drop-ins of a directory, in the order in which systemd reads them.
fn read_files(place: &Place) -> Result<Vec<NamedText>> {
    let Place::File(path) = place else { return Ok(vec![read_text(place)?]) };
    if path.is_dir() {
        let texts = drop_ins(path)?;
        if texts.is_empty() {
            return Err(Failure::about(
                path.display().to_string(),
                "the directory has no files with the suffix .conf",
            )
            .help("give a unit file, or a directory of drop-ins such as foo.service.d"));
        }
        return Ok(texts);
    }
    let mut texts = vec![read_text(place)?];
    let mut beside = path.clone().into_os_string();
    beside.push(".d");
    let beside = PathBuf::from(beside);
    if beside.is_dir() {
        texts.extend(drop_ins(&beside)?);
    }
    Ok(texts)
}

/// The files `*.conf` of a directory, by name, except hidden ones and directories. There may be none.
fn drop_ins(directory: &Path) -> Result<Vec<NamedText>> {
    let name = || directory.display().to_string();
    let unreadable = |error: io::Error| {
        let why = callgate_linux::error_text(&error);
        Failure::about(name(), format!("cannot read the directory: {why}"))
    };
    let entries = fs::read_dir(directory).map_err(unreadable)?;
    let mut paths = paths(entries.map(|entry| Ok(entry?.path()))).map_err(unreadable)?;
    paths.retain(|path| {
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        path.extension().is_some_and(|suffix| suffix == "conf") && !hidden && !path.is_dir()
    });
    paths.sort();
    match paths.len() {
        0..=MAX_DROP_INS => paths.into_iter().map(|path| read_text(&Place::File(path))).collect(),
        count => Err(Failure::about(
            name(),
            format!(
                "the directory has {}; the limit is {MAX_DROP_INS}",
                counted(count as u64, "drop-in")
            ),
        )
        .help("give a unit with fewer drop-ins")),
    }
}

/// The paths of the entries of a directory, unless one of them cannot be read: a filter without one of its drop-ins would
/// be a different one.
fn paths(entries: impl Iterator<Item = io::Result<PathBuf>>) -> io::Result<Vec<PathBuf>> {
    entries.collect()
}

/// Reads a file that must be UTF-8.
fn read_text(place: &Place) -> Result<NamedText> {
    let name = place.name();
    match String::from_utf8(place.read()?) {
        Ok(text) => Ok(NamedText { name, text }),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let valid = String::from_utf8_lossy(&error.as_bytes()[..at]);
            let position = Position::of(&valid, valid.len());
            let message = Diagnostic::error(Some(position), "invalid UTF-8")
                .help("write the file in UTF-8; systemd accepts other bytes in comments only");
            Err(Failure::of(name, vec![message]))
        }
    }
}

/// A filter of a unit.
fn of_unit(name: &str, filter: UnitFilter, options: &SourceOptions) -> Filter {
    let arch = filter.arch.map_or_else(String::new, |arch| format!(" ({arch})"));
    let rules = Rules::new(filter.policy, options.arch.clone());
    let content = FilterContent::Profile(Box::new(rules));
    let name = format!("{name}: {}={arch}", filter.directive);
    Filter { is_of_unit: true, ..Filter::new(name, content) }
}

/// Prints messages, each with the name of its file.
fn print(texts: &[NamedText], messages: Vec<FileMessage>) {
    for FileMessage { file, diagnostic } in messages {
        let name = texts.get(file).map_or("", |text| text.name.as_str());
        report::warn_all(name, &[diagnostic]);
    }
}

/// The messages about the last file that has any; prints those about the files before.
fn failure(texts: &[NamedText], mut messages: Vec<FileMessage>) -> Failure {
    let last = messages.iter().map(|message| message.file).max().unwrap_or_default();
    let of_last = messages.split_off(messages.partition_point(|message| message.file < last));
    print(texts, messages);
    let name = texts.get(last).map_or("", |text| text.name.as_str());
    let diagnostics: Vec<Diagnostic> =
        of_last.into_iter().map(|message| message.diagnostic).collect();
    Failure::of(name, diagnostics)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_paths_differ() {
        let of = |text: &str| UnitSource::parse(OsStr::new(text)).unwrap();
        for text in
            ["@system-service", "~@mount", "read write", "RestrictRealtime=yes", "read\nwrite"]
        {
            assert_eq!(of(text), UnitSource::Text(text.to_owned()));
        }
        for path in ["foo.service", "./a b.service", "/x=y.service", "foo.service.d", "read"] {
            assert_eq!(of(path), UnitSource::At(Place::File(path.into())));
        }
        assert!(of("-").is_stdin());
        assert!(UnitSource::parse(OsStr::new(" ")).is_err());
    }

    #[test]
    fn an_entry_that_cannot_be_read_is_an_error() {
        let broken = || io::Error::from(io::ErrorKind::InvalidData);
        let entries = [Ok(PathBuf::from("a.conf")), Err(broken()), Ok(PathBuf::from("b.conf"))];
        assert_eq!(paths(entries.into_iter()).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(paths([Ok(PathBuf::from("a"))].into_iter()).unwrap(), [PathBuf::from("a")]);
    }

    #[test]
    fn units_are_detected_by_their_suffix() {
        let of = |path: &str| section(Path::new(path));
        assert_eq!(of("a/foo@.service"), Some(ExecSection::Service));
        assert_eq!(of("foo.socket.d"), Some(ExecSection::Socket));
        for path in ["foo.conf", "foo.d", "service", "foo.timer", ".service.d/x"] {
            assert_eq!(of(path), None, "{path}");
        }
        assert!(check_suffix(Path::new("foo.timer")).is_err());
        assert!(check_suffix(Path::new("foo.conf")).is_ok());
    }
}
