//! Sources of several files: Android filters, and systemd units with their drop-ins.
//!
//! bionic generates its filters from several files, and several filters from one of them, so a source is the directory of the
//! files, and a filter in it.

use std::collections::BTreeMap;

use callgate_formats::android::{self, FilterKind, ListFile};
use callgate_formats::languages::{LanguageId, SourceFiles};

use super::message::{Message, Messages};
use super::text::{Content, NamedText, SourceText, Texts};
use super::wording::Wording;

/// Help for a directory that is not bionic's.
const DIRECTORY_HELP: &str = "give bionic's directory libc, with its lists unchanged";

/// A directory with files that are read together.
pub trait Directory {
    /// Whether it has a file with this name.
    fn has(&self, file: &str) -> bool;

    /// Reads a file that it has.
    ///
    /// # Errors
    /// If it cannot be read.
    fn read(&mut self, file: &str) -> Result<NamedText, Messages>;
}

/// The lists of a filter of Android, and the name of the filter, which is empty for the only one of Android 8. `name` is the
/// directory in messages.
///
/// # Errors
/// If the directory does not have all lists of one filter, or one of them cannot be read.
pub fn android_lists(
    directory: &mut dyn Directory,
    name: &str,
    filter: Option<&str>,
    wording: &Wording,
) -> Result<(Texts, &'static str), Messages> {
    let kind = kind(directory, name, filter, wording)?;
    let mut texts = Vec::new();
    for file in kind.files() {
        if let Some(path) = find(directory, name, kind, file)? {
            texts.push(NamedText { role: file.kind.name(), ..directory.read(path)? });
        }
    }
    let language = LanguageId::of(&android::LANGUAGE);
    Ok((Texts { language, texts, are_files: true }, kind.name()))
}

/// The filter with a name, or the only one of Android 8.
fn kind(
    directory: &dyn Directory,
    name: &str,
    filter: Option<&str>,
    wording: &Wording,
) -> Result<FilterKind, Messages> {
    let fail = |what: String, help: String| Err(Message::error(name, what, help));
    let has_all = |kind: &FilterKind| {
        let has = |file: &ListFile| file.names.iter().any(|name| directory.has(name));
        kind.files().iter().all(|file| file.is_optional || has(file))
    };
    let present: Vec<FilterKind> = FilterKind::NAMED.into_iter().filter(has_all).collect();
    let names: Vec<&str> = present.iter().map(|kind| kind.name()).collect();
    let is_old = has_all(&FilterKind::Common);
    match filter {
        Some(given) => match FilterKind::from_name(given) {
            Some(kind) if present.contains(&kind) || !is_old => Ok(kind),
            Some(_) => fail(
                format!("this version of bionic has no filter \"{given}\""),
                format!(
                    "it has one filter for all processes: {}",
                    (wording.android_filter)(name, "")
                ),
            ),
            None => fail(
                format!("bionic has no filter \"{given}\""),
                format!("its filters are {}", FilterKind::NAMED.map(FilterKind::name).join(", ")),
            ),
        },
        None if is_old && present.is_empty() => Ok(FilterKind::Common),
        None => match names.first() {
            None => {
                fail("the directory has no lists of a filter".to_owned(), DIRECTORY_HELP.to_owned())
            }
            Some(first) => fail(
                format!("the lists are those of several filters: {}", names.join(", ")),
                format!("choose one: {}", (wording.android_filter)(name, first)),
            ),
        },
    }
}

/// The name of a file of a filter; `None` if the filter exists without it.
fn find(
    directory: &dyn Directory,
    directory_name: &str,
    kind: FilterKind,
    file: &ListFile,
) -> Result<Option<&'static str>, Messages> {
    let [name, old] = file.names;
    let fail = |what: String, help| Err(Message::error(directory_name, what, help));
    match (directory.has(name), directory.has(old)) {
        (true, true) if name != old => fail(
            format!("both {name} and {old} exist"),
            "remove the one of the other version of Android",
        ),
        (true, _) => Ok(Some(name)),
        (false, true) => Ok(Some(old)),
        (false, false) if file.is_optional => Ok(None),
        (false, false) => {
            fail(format!("missing {name}, a list of the filter {}", kind.name()), DIRECTORY_HELP)
        }
    }
}

/// The drop-ins of a unit among the files that are given with it: those in `UNIT.d`, or in that of the template of an instance; all
/// if there is no unit. They are in the order in which systemd reads them: by name. Of files with the same name, one of the unit
/// itself counts rather than one of its template, and the administrator's rather than that of the system
/// (systemd.unit(5), "Unit File Load Path"). Their texts have this role.
pub(super) fn drop_ins(source: &SourceText, has_unit: bool, role: &'static str) -> Vec<NamedText> {
    let unit = file_name(&source.name);
    let own = format!("{unit}.d");
    let mut found = Vec::new();
    for (path, text) in &source.files {
        let directory = path.rsplit_once('/').map(|(directory, _)| file_name(directory));
        let is_beside = is_beside(source, path);
        if is_beside || !has_unit {
            let rank = (directory == Some(own.as_str()), rank(path));
            found.push((rank, path, text));
        }
    }
    found.sort_by_key(|(rank, ..)| *rank);
    let found = found.into_iter().map(|(_, path, text)| (file_name(path), (path, text)));
    let effective = effective_drop_ins(found).into_values();
    effective.map(|(path, text)| NamedText::of(path, text, role)).collect()
}

/// The drop-ins among files with their names, in the order in which systemd reads them: by name. They have the suffix `.conf`, and
/// are not hidden. Of files with one name, the last one counts, so those of the directory with the highest precedence come last.
pub fn effective_drop_ins<N: AsRef<[u8]> + Ord, F>(
    files: impl IntoIterator<Item = (N, F)>,
) -> BTreeMap<N, F> {
    let is_drop_in = |name: &[u8]| name.ends_with(b".conf") && !name.starts_with(b".");
    files.into_iter().filter(|(name, _)| is_drop_in(name.as_ref())).collect()
}

impl SourceText {
    /// The drop-ins among its files that are read with it, if its language has drop-ins.
    pub fn drop_ins(&self) -> Vec<NamedText> {
        let (text, has_unit) = match &self.content {
            Content::Text(text) => (text.as_bytes(), true),
            Content::Files => (&[][..], false),
            _ => return Vec::new(),
        };
        match self.format_of(text).language().map(LanguageId::files) {
            Some(SourceFiles::DropIns { role }) => drop_ins(self, has_unit, role),
            _ => Vec::new(),
        }
    }
}

/// Whether a file is in a directory of drop-ins of the unit.
pub(super) fn is_beside(source: &SourceText, path: &str) -> bool {
    let unit = file_name(&source.name);
    let template = unit
        .split_once('@')
        .and_then(|(name, instance)| Some(format!("{name}@.{}.d", instance.rsplit_once('.')?.1)));
    let directory = path.rsplit_once('/').map(|(directory, _)| file_name(directory));
    directory.is_some_and(|one| one == format!("{unit}.d") || template.as_deref() == Some(one))
}

/// The precedence of the directory of a unit.
fn rank(path: &str) -> u8 {
    let is_in = |directory: &str| path.trim_start_matches('/').starts_with(directory);
    match () {
        () if is_in("usr/lib/") || is_in("lib/") => 0,
        () if is_in("usr/local/") => 1,
        () if is_in("run/") => 2,
        () => 3,
    }
}

/// What follows the directory in a path.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The files that are given with a source.
pub(super) struct GivenFiles<'s>(pub(super) &'s SourceText);

impl GivenFiles<'_> {
    /// A file with this name in any directory.
    fn find(&self, file: &str) -> Option<(&String, &String)> {
        self.0.files.iter().find(|(path, _)| file_name(path) == file)
    }
}

impl Directory for GivenFiles<'_> {
    fn has(&self, file: &str) -> bool {
        self.find(file).is_some()
    }

    fn read(&mut self, file: &str) -> Result<NamedText, Messages> {
        match self.find(file) {
            Some((path, text)) => Ok(NamedText::of(path, text, "")),
            None => Err(Message::error(&self.0.name, format!("missing {file}"), "")),
        }
    }
}

#[cfg(test)]
mod tests {
    use callgate_formats::languages::Reading;

    use super::*;
    use crate::Arch;

    /// The paths of the drop-ins that count of these, in the order in which they are read.
    fn paths(unit: &str, files: &[&str]) -> Vec<String> {
        let content = Content::Text("[Service]\n".to_owned());
        let mut source = SourceText::new(content, Reading::new(Arch::X86_64));
        source.name = unit.to_owned();
        source.files = files.iter().map(|path| ((*path).to_owned(), String::new())).collect();
        drop_ins(&source, true, "").into_iter().map(|text| text.name).collect()
    }

    #[test]
    fn of_drop_ins_with_one_name_the_closest_counts() {
        let etc = "/etc/systemd/system/app@-x.service.d/a.conf";
        let usr = "/usr/lib/systemd/system/app@-x.service.d/a.conf";
        let run = "/run/systemd/system/app@-x.service.d/a.conf";
        let template = "/etc/systemd/system/app@.service.d/a.conf";
        assert_eq!(paths("app@-x.service", &[usr, template, etc, run]), [etc]);
        assert_eq!(paths("app@-x.service", &[usr, template, run]), [run]);
        assert_eq!(paths("app@-x.service", &[usr, template]), [usr]);
        assert_eq!(paths("app@-x.service", &[template]), [template]);
    }

    #[test]
    fn drop_ins_are_read_by_name_whatever_their_directory() {
        let first = "/usr/lib/systemd/system/web.service.d/10-a.conf";
        let last = "/etc/systemd/system/web.service.d/20-b.conf";
        let middle = "/run/systemd/system/web.service.d/15-c.conf";
        let others =
            ["web.service.d/.hidden.conf", "web.service.d/notes.txt", "db.service.d/a.conf"];
        let files = [&[last, middle, first], others.as_slice()].concat();
        assert_eq!(paths("web.service", &files), [first, middle, last]);
    }
}
