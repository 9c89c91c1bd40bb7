//! systemd units as a source: a unit file with its drop-ins, a directory of drop-ins, or directives as text.
//!
//! `systemd:` is followed by a path or by text. Text has a blank, `=`, or a first character `@` or `~`: with `=` it consists
//! of directives, otherwise of values of `SystemCallFilter=`. Paths that end in `.service`, `.socket`, `.mount` or
//! `.swap`, or in one of them and `.d`, are units without `systemd:` as well.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use callgate_bpf::syscalls;
use callgate_formats::languages::LanguageId;
use callgate_formats::systemd;
use callgate_requests::source::{NamedText, SourceContent, Texts, effective_drop_ins};

use super::content::Loaded;
use super::installed::{InstalledSystemd, InstalledUnit};
use super::place::{MAX_BYTES, Place};
use super::referenced::{Referenced, named_text, read_referenced};
use super::tree::Tree;
use crate::report::{Failure, Result};
use crate::text::counted;

/// The maximum number of drop-ins of a unit.
const MAX_DROP_INS: usize = 1000;

/// The maximum number of characters of a text in messages.
const MAX_NAME: usize = 40;

/// Help for a file that is not UTF-8.
const UTF8_HELP: &str = "write the file in UTF-8; systemd accepts other bytes in comments only";

/// A unit, or directives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum UnitSource {
    /// Directives, or values of `SystemCallFilter=`.
    Text(String),
    /// A unit file, or a directory of drop-ins.
    At(Place),
}

impl UnitSource {
    /// Parses what follows `systemd:`.
    pub(super) fn parse(rest: &OsStr) -> Result<UnitSource> {
        let Some(text) = rest.to_str() else {
            return Ok(UnitSource::At(Place::of_path(Path::new(rest))));
        };
        if let Some(path) = text.strip_prefix("~/") {
            return Err(Failure::new(format!("\"~/{path}\" is not a list of syscalls")).help(
                format!(
                    "a shell replaces ~ only at the start of a word; write systemd:$HOME/{path}"
                ),
            ));
        }
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
        let name = path.to_str()?;
        systemd::section_of(name).map(|_| UnitSource::At(Place::of_path(path)))
    }

    /// Where it is; `None` for directives.
    pub(super) fn place(&self) -> Option<&Place> {
        match self {
            UnitSource::Text(_) => None,
            UnitSource::At(place) => Some(place),
        }
    }

    /// Adds to the message about a missing file that its name may be meant as a syscall.
    fn explain(&self, failure: Failure) -> Failure {
        let UnitSource::At(Place::File(path)) = self else { return failure };
        match path.to_str().filter(|name| syscalls::is_known_name(name) && !path.exists()) {
            Some(name) => failure
                .more_help(&format!("for the syscall, write systemd:SystemCallFilter={name}")),
            None if is_missing(path) && path.components().count() == 1 => {
                failure.more_help("no unit of the system on this machine has this name, either")
            }
            None => failure,
        }
    }

    /// The texts of the unit and its drop-ins.
    pub(super) fn load(&self) -> Result<Loaded> {
        let (name, language) = (self.name(), LanguageId::of(&systemd::LANGUAGE));
        match self {
            UnitSource::Text(text) => {
                let role = if text.contains('=') { "" } else { systemd::VALUES };
                let texts = vec![NamedText::of(&name, text, role)];
                // Lines that are given as such need no header.
                let language = LanguageId::of_name(&systemd::LANGUAGE, 0);
                let texts = Texts { language, texts, are_files: false };
                Ok(Loaded::of(name, SourceContent::Texts(texts)))
            }
            UnitSource::At(place) => {
                systemd::check_unit_name(&name).map_err(|error| Failure::of(&name, vec![error]))?;
                let read = read_files(place).map_err(|failure| self.explain(failure))?;
                let UnitFiles { mut texts, is_installed, is_found } = read;
                texts.iter_mut().for_each(|text| text.role = systemd::FILE);
                if is_installed {
                    add_new_drop_in(&name, &mut texts);
                }
                Ok(Loaded {
                    place: (!is_found).then(|| place.clone()),
                    systemd: InstalledSystemd::find()
                        .filter(|_| is_installed)
                        .map(|installed| installed.version),
                    ..Loaded::of_texts(name, language, texts)
                })
            }
        }
    }

    /// The systemd of this machine, if it is a unit of this machine.
    pub(super) fn installed_systemd(&self) -> Option<InstalledSystemd> {
        let UnitSource::At(Place::File(path)) = self else { return None };
        let is_installed = installed(path).is_some() || InstalledUnit::of_file(path).is_some();
        InstalledSystemd::find().filter(|_| is_installed)
    }

    /// The name in messages.
    fn name(&self) -> String {
        match self {
            UnitSource::Text(text) => {
                let short: String = text.chars().take(MAX_NAME).collect();
                let more = if text.chars().nth(MAX_NAME).is_some() { "…" } else { "" };
                format!("systemd:{short}{more}")
            }
            UnitSource::At(place) => place.name(),
        }
    }
}

/// The template of an instance: `foo@.service` of `foo@bar.service`.
fn template(path: &Path) -> Option<PathBuf> {
    let (name, instance) = path.file_stem()?.to_str()?.split_once('@')?;
    let suffix = path.extension()?.to_str()?;
    (!instance.is_empty()).then(|| path.with_file_name(format!("{name}@.{suffix}")))
}

/// Whether there is neither a unit file at a path nor its template.
fn is_missing(path: &Path) -> bool {
    !path.exists() && !template(path).is_some_and(|template| template.exists())
}

/// The directory with the drop-ins of a unit file.
fn directory_beside(path: &Path) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".d");
    PathBuf::from(beside)
}

/// The texts of a unit.
struct UnitFiles {
    texts: Vec<NamedText>,
    /// Whether it is a unit of this machine.
    is_installed: bool,
    /// Whether it was given by its name, and then found.
    is_found: bool,
}

/// The unit file and its drop-ins, or the drop-ins of a directory, in the order in which systemd reads them.
fn read_files(place: &Place) -> Result<UnitFiles> {
    let given = |texts| UnitFiles { texts, is_installed: false, is_found: false };
    let Place::File(path) = place else { return Ok(given(vec![read_text(place)?])) };
    let found = installed(path).transpose()?;
    let is_found = found.is_some();
    if let Some(unit) = found.or_else(|| InstalledUnit::of_file(path)) {
        let file = if path.exists() { path.clone() } else { unit.file };
        let mut texts = vec![read_text(&Place::File(file))?];
        add_drop_ins(&unit.drop_ins, None, &mut texts)?;
        return Ok(UnitFiles { texts, is_installed: true, is_found });
    }
    if path.is_dir() {
        let mut texts = Vec::new();
        add_drop_ins(std::slice::from_ref(path), Some(&Tree::of(place)), &mut texts)?;
        if texts.is_empty() {
            return Err(Failure::about(
                path.display().to_string(),
                "the directory has no files with the suffix .conf",
            )
            .help("give a unit file, or a directory of drop-ins such as foo.service.d"));
        }
        return Ok(given(texts));
    }
    let template = template(path);
    let file = template.as_ref().filter(|template| !path.exists() && template.exists());
    let mut texts = vec![read_text(&Place::File(file.unwrap_or(path).clone()))?];
    let beside = template.iter().chain([path]).map(|path| directory_beside(path));
    let beside: Vec<_> = beside.filter(|beside| beside.is_dir()).collect();
    let tree = Tree::of(&Place::File(file.unwrap_or(path).clone()));
    add_drop_ins(&beside, Some(&tree), &mut texts)?;
    Ok(given(texts))
}

/// The unit of this machine that a name alone stands for, unless there is a file or a template with this name here.
fn installed(path: &Path) -> Option<Result<InstalledUnit>> {
    if !is_missing(path) {
        return None;
    }
    let masked = |why: io::Error| {
        Failure::about(path.display().to_string(), why.to_string())
            .help("systemd does not start a unit that is masked; give the path of another file")
    };
    Some(InstalledUnit::find(path)?.map_err(masked))
}

/// The directory of the administrator's units.
const OWN: &str = "/etc/systemd/system";

/// Marks what packages and generators own, which an update replaces, and adds the empty drop-in of the administrator that a change
/// of the unit writes: in its order among the drop-ins, which is that of the names, and not in place of another one.
fn add_new_drop_in(unit: &str, texts: &mut Vec<NamedText>) {
    let is_own = |text: &NamedText| {
        let path = Path::new(&text.name);
        path.canonicalize().unwrap_or_else(|_| path.to_owned()).starts_with("/etc")
    };
    let mut is_shipped = false;
    for text in texts.iter_mut().filter(|text| !is_own(text)) {
        text.role = systemd::SHIPPED;
        is_shipped = true;
    }
    let Some(unit) = Path::new(unit).file_name().and_then(OsStr::to_str) else { return };
    if !is_shipped {
        return;
    }
    let file_name = |text: &NamedText| Path::new(&text.name).file_name().map(OsStr::to_owned);
    let drop_ins = || texts.iter().skip(1).filter_map(file_name);
    let free = |name: &&str| !drop_ins().any(|other| other == *name);
    let Some(name) = ["seccomp.conf", "seccomp-2.conf", "seccomp-3.conf"].into_iter().find(free)
    else {
        return;
    };
    let before = drop_ins().filter(|other| other.as_os_str() < OsStr::new(name)).count();
    let path = format!("{OWN}/{unit}.d/{name}");
    texts.insert(1 + before, NamedText::of(path, "", systemd::NEW_DROP_IN));
}

/// Adds the drop-ins in directories, of which the last takes precedence, to the text of their unit. There may be none.
/// Without a tree, all of them belong to the system.
fn add_drop_ins(
    directories: &[PathBuf],
    tree: Option<&Tree>,
    texts: &mut Vec<NamedText>,
) -> Result<()> {
    let mut found: BTreeMap<Vec<u8>, PathBuf> = BTreeMap::new();
    for directory in directories {
        let name = || directory.display().to_string();
        let unreadable = |error: io::Error| {
            let why = callgate_linux::error_text(&error);
            Failure::about(name(), format!("cannot read the directory: {why}"))
        };
        let entries = fs::read_dir(directory).map_err(unreadable)?;
        let paths = paths(entries.map(|entry| Ok(entry?.path()))).map_err(unreadable)?;
        let files = paths
            .into_iter()
            .filter(|path| !path.is_dir())
            .filter_map(|path| Some((path.file_name()?.as_encoded_bytes().to_vec(), path)));
        found.extend(effective_drop_ins(files));
        if found.len() > MAX_DROP_INS {
            let count = counted(found.len() as u64, "drop-in");
            return Err(Failure::about(
                name(),
                format!("the directory has {count}; the limit is {MAX_DROP_INS}"),
            )
            .help("give a unit with fewer drop-ins"));
        }
    }
    let mut bytes: u64 = texts.iter().map(|one| one.text.len() as u64).sum();
    for path in found.into_values() {
        let refusal = tree.and_then(|tree| tree.refusal_of_text(&path));
        let text = NamedText { refusal, ..read_drop_in(&path)? };
        bytes += text.text.len() as u64;
        if bytes > MAX_BYTES {
            let message =
                format!("up to this drop-in the unit has {bytes} bytes; the limit is {MAX_BYTES}");
            return Err(
                Failure::about(text.name, message).help("give a unit with smaller drop-ins")
            );
        }
        texts.push(text);
    }
    Ok(())
}

/// The paths of the entries of a directory, unless one of them cannot be read: a filter without one of its drop-ins would
/// be a different one.
fn paths(entries: impl Iterator<Item = io::Result<PathBuf>>) -> io::Result<Vec<PathBuf>> {
    entries.collect()
}

/// Reads a drop-in, which must be a regular file.
fn read_drop_in(path: &Path) -> Result<NamedText> {
    let name = path.display().to_string();
    let Referenced { bytes, .. } = read_referenced(path, MAX_BYTES).map_err(|why| {
        Failure::new(why).help("make it readable, or remove it from the directory")
    })?;
    named_text(name, bytes, UTF8_HELP)
}

/// Reads a file that must be UTF-8.
fn read_text(place: &Place) -> Result<NamedText> {
    named_text(place.name(), place.read()?, UTF8_HELP)
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
        assert_eq!(of("-"), UnitSource::At(Place::Stdin));
        assert!(UnitSource::parse(OsStr::new(" ")).is_err());
    }

    #[test]
    fn a_header_of_a_section_begins_a_unit() {
        let is_unit = systemd::is_unit;
        for unit in ["[Service]", "\u{feff}# x\n; y\n\n [Unit] \r\nA=b", "[X-Own]\n"] {
            assert!(is_unit(unit), "{unit}");
        }
        for text in
            ["", "[]", "[1]", "[\"a\"]", "[service]", "x\n[Service]", "[Service", "# [Service]"]
        {
            assert!(!is_unit(text), "{text}");
        }
    }

    /// The administrator's drop-in comes after those whose names precede it, and never in place of another one.
    #[test]
    fn a_unit_of_a_package_gets_a_new_drop_in() {
        let added = |names: &[&str]| {
            let text = |name: &&str| NamedText::of(*name, "[Service]\n", systemd::FILE);
            let mut texts: Vec<NamedText> = names.iter().map(text).collect();
            add_new_drop_in("web@a.service", &mut texts);
            texts.into_iter().map(|text| (text.name, text.role)).collect::<Vec<_>>()
        };
        let new = |name: &str| {
            (format!("/etc/systemd/system/web@a.service.d/{name}"), systemd::NEW_DROP_IN)
        };
        let shipped = |name: &str| (name.to_owned(), systemd::SHIPPED);
        let own = |name: &str| (name.to_owned(), systemd::FILE);
        let unit = "/usr/lib/systemd/system/web@.service";
        assert_eq!(added(&[unit]), [shipped(unit), new("seccomp.conf")]);
        let (first, last) =
            ("/usr/lib/systemd/system/service.d/10-a.conf", "/etc/systemd/system/x.d/zz.conf");
        let expected = [shipped(unit), shipped(first), new("seccomp.conf"), own(last)];
        assert_eq!(added(&[unit, first, last]), expected);
        let same = "/usr/lib/systemd/system/web@a.service.d/seccomp.conf";
        assert_eq!(added(&[unit, same]), [shipped(unit), new("seccomp-2.conf"), shipped(same)]);
        let all_own = "/etc/systemd/system/web@.service";
        assert_eq!(added(&[all_own]), [own(all_own)]);
    }

    #[test]
    fn an_instance_has_a_template() {
        let of = |path: &str| template(Path::new(path));
        assert_eq!(of("a/foo@bar.service"), Some("a/foo@.service".into()));
        for path in ["foo.service", "foo@.service", "foo@bar", "@/foo.service"] {
            assert_eq!(of(path), None, "{path}");
        }
    }

    #[test]
    fn an_entry_that_cannot_be_read_is_an_error() {
        let broken = || io::Error::from(io::ErrorKind::InvalidData);
        let entries = [Ok(PathBuf::from("a.conf")), Err(broken()), Ok(PathBuf::from("b.conf"))];
        assert_eq!(paths(entries.into_iter()).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(paths([Ok(PathBuf::from("a"))].into_iter()).unwrap(), [PathBuf::from("a")]);
    }
}
