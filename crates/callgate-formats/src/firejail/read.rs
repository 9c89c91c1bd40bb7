//! Reads the lines of a profile and of the files that it includes.

use super::settings::{Command, Settings};
use super::table::{commands, is_command};
use crate::diagnostics::quote::{did_you_mean, shorten};
use crate::included::{Included, Inclusions, Opened, Place, Reports, Sources, Span};
use crate::languages::Files;
use callgate_bpf::advice::Advice;
use callgate_bpf::suggest::nearest;

/// The directory with the profiles of the machine.
const SYSTEM: &str = "/etc/firejail/";

/// The directories of Firejail's source tree, beside each other, from which these files are installed.
const IN_SOURCE_TREE: [&str; 3] = ["../inc/", "../profile-a-l/", "../profile-m-z/"];

/// Files that Firejail installs with lines about other things than filters, such as `blacklist` and `whitelist`. Files that they include
/// are among them, or for local changes. Source: `etc/inc` of Firejail 0.9.62 to 0.9.80.
#[rustfmt::skip]
const WITHOUT_FILTERS: [&str; 33] = [
    "allow-bin-sh", "allow-common-devel", "allow-gjs", "allow-java", "allow-lua", "allow-nodejs", "allow-opengl-game",
    "allow-perl", "allow-php", "allow-python2", "allow-python3", "allow-ruby", "allow-ssh", "disable-X11", "disable-common",
    "disable-devel", "disable-exec", "disable-interpreters", "disable-passwdmgr", "disable-proc", "disable-programs",
    "disable-shell", "disable-write-mnt", "disable-x11", "disable-xdg", "landlock-common", "whitelist-1793-workaround",
    "whitelist-common", "whitelist-player-common", "whitelist-run-common", "whitelist-runuser-common",
    "whitelist-usr-share-common", "whitelist-var-common",
];

/// How deep files may include others (`MAX_INCLUDE_LEVEL`).
const MAX_DEPTH: usize = 16;

/// firejail cuts longer lines into several (`MAX_READ`).
const MAX_LINE: usize = 8190;

/// The maximum number of `ignore` lines (`MAX_PROFILE_IGNORE`).
const MAX_IGNORED: usize = 32;

/// Reads lines, and includes files on the way.
pub(super) struct Lines<'a> {
    pub(super) sources: Sources,
    pub(super) reports: Reports,
    pub(super) settings: Settings,
    files: &'a mut dyn Files,
    /// Whether assumptions about files are errors.
    is_strict: bool,
    /// The files without filters that were not found.
    not_found: Vec<(Place, String)>,
    inclusions: Inclusions,
    /// Beginnings of lines that are ignored.
    ignored: Vec<String>,
    /// The texts that are being read, the innermost last.
    open: Vec<Open>,
}

struct Open {
    source: u16,
    at: usize,
}

/// A line, or the part of it behind a condition.
#[derive(Clone, Copy)]
struct Line<'l> {
    text: &'l str,
    place: Place,
    /// The condition before it.
    condition: Option<&'l str>,
}

impl Line<'_> {
    /// A part of the line, by its bytes.
    fn span(&self, start: usize, len: usize) -> Span {
        let number = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
        let offset = self.place.offset.saturating_add(number(start));
        Span { at: Place { offset, ..self.place }, len: number(len) }
    }
}

impl<'a> Lines<'a> {
    pub(super) fn new(
        text: &str,
        identity: Option<&str>,
        files: &'a mut dyn Files,
        is_strict: bool,
    ) -> Lines<'a> {
        Lines {
            sources: Sources::new(text, identity),
            reports: Reports::default(),
            settings: Settings::default(),
            files,
            is_strict,
            not_found: Vec::new(),
            inclusions: Inclusions::new(text.len(), MAX_DEPTH),
            ignored: Vec::new(),
            open: vec![Open { source: 0, at: 0 }],
        }
    }

    /// Reads all lines.
    pub(super) fn read(mut self) -> Self {
        while let Some(open) = self.open.last_mut() {
            let (source, start) = (open.source, open.at);
            let Some(text) = self.sources.get(source).map(|source| source.text.clone()) else {
                self.open.pop();
                continue;
            };
            let Some(rest) = text.get(start..).filter(|rest| !rest.is_empty()) else {
                self.open.pop();
                continue;
            };
            let line = rest.split('\n').next().unwrap_or_default();
            open.at = start + line.len() + 1;
            let offset = u32::try_from(start).unwrap_or(u32::MAX);
            self.raw_line(line, Place { source, offset });
        }
        self.warn_about_not_found();
        self
    }

    /// One warning about the files that were not found, and install no filter as Firejail has them.
    fn warn_about_not_found(&mut self) {
        let Some((place, first)) = self.not_found.first() else { return };
        let others = match self.not_found.len() - 1 {
            0 => String::new(),
            1 => " and 1 other file".to_owned(),
            more => format!(" and {more} other files"),
        };
        let message = format!(
            "\"{first}\"{others} were not found; they are taken as Firejail installs them, without lines about filters"
        );
        self.reports.warn(*place, message).set_help(Advice::IncludeRoot);
    }

    /// A line as it is in the file.
    fn raw_line(&mut self, line: &str, place: Place) {
        let bom = if place.offset == 0 && line.starts_with('\u{feff}') { 3 } else { 0 };
        if line.len() > MAX_LINE {
            let message =
                format!("the line has {} bytes, and firejail reads at most {MAX_LINE}", line.len());
            self.reports.error(place, message).set_too_large("split the line");
            return;
        }
        if line.contains('\0') {
            let message = "the line has a zero byte, which ends it for firejail";
            self.reports.error(place, message).help = "remove it".to_owned();
            return;
        }
        let line = line.get(bom..).unwrap_or_default();
        // A carriage return ends a line, too.
        let end = line.find(['#', '\r']).unwrap_or(line.len());
        let whole = line.get(..end).unwrap_or_default();
        let text = whole.trim_start_matches(BLANKS);
        let before = bom + whole.len() - text.len();
        let offset = place.offset.saturating_add(u32::try_from(before).unwrap_or(u32::MAX));
        let text = text.trim_end_matches(BLANKS);
        let place = Place { offset, ..place };
        if !text.is_empty() {
            self.conditional(Line { text, place, condition: None });
        }
    }

    /// Splits conditions from a line.
    fn conditional(&mut self, mut line: Line<'_>) {
        while let Some(behind) = line.text.strip_prefix('?') {
            let Some((condition, rest)) = behind.split_once(':') else {
                let message = format!("`{}` has no colon behind its condition", shorten(line.text));
                self.reports.error(line.place, message).help =
                    "write `?CONDITION: line`".to_owned();
                return;
            };
            let text = rest.trim_start_matches(BLANKS);
            let place = line.span(line.text.len() - text.len(), 0).at;
            line = Line { text, place, condition: Some(condition.trim_end_matches(BLANKS)) };
        }
        self.line(line);
    }

    fn line(&mut self, line: Line<'_>) {
        let name = line.text.split(BLANKS).next().unwrap_or_default();
        let behind = line.text.get(name.len()..).unwrap_or_default();
        let value = behind.trim_start_matches(BLANKS);
        let normal = normal(line.text);
        if self.is_ignored(&normal) {
            return;
        }
        let about = match name {
            "ignore" => value.split(BLANKS).next().unwrap_or_default(),
            name => name,
        };
        let is_about_filters = is_about_filters(about);
        if let Some(condition) = line.condition {
            if is_about_filters {
                let message = format!(
                    "whether this line counts depends on {}, which is known only when firejail starts",
                    shorten(condition)
                );
                self.reports.error(line.place, message).help =
                    "remove the condition, or the line".to_owned();
            }
            return;
        }
        match name {
            "ignore" => self.ignore(&normal, line.place),
            "include" if !value.is_empty() => {
                self.include(value, line.span(line.text.len() - value.len(), value.len()));
            }
            _ if is_about_filters => {
                let at = line.span(0, name.len());
                let value_at = line.span(line.text.len() - value.len(), value.len());
                let command = Command { name, at, value, value_at };
                self.settings.apply(command, &self.sources, &mut self.reports);
            }
            _ => self.check_known(name, line.place),
        }
    }

    /// Warns about a command that firejail does not have: it may be one about filters, with another spelling.
    fn check_known(&mut self, name: &str, place: Place) {
        if is_command(name) {
            return;
        }
        let near = self.reports.nearest(|| nearest(name, commands()));
        let message = format!(
            "the command `{}` is not known here; if firejail does not know it either, it refuses the profile",
            shorten(name)
        );
        self.reports.warn(place, message).help =
            did_you_mean(near, "see the manual page firejail-profile(5)");
    }

    fn is_ignored(&self, normal: &str) -> bool {
        self.ignored.iter().any(|ignored| {
            let rest = normal.strip_prefix(ignored.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        })
    }

    fn ignore(&mut self, normal: &str, place: Place) {
        let Some(ignored) = normal.strip_prefix("ignore ") else {
            let message = "firejail refuses `ignore` without a line";
            self.reports.error(place, message).help = "write what is ignored behind it".to_owned();
            return;
        };
        if self.ignored.len() >= MAX_IGNORED {
            let message = format!("firejail refuses more than {MAX_IGNORED} lines with `ignore`");
            self.reports.error(place, message).set_too_large("ignore fewer lines");
            return;
        }
        self.ignored.push(ignored.to_owned());
    }

    fn include(&mut self, name: &str, at: Span) {
        let name = match name.strip_prefix("${CFG}/") {
            Some(name) => format!("{SYSTEM}{name}"),
            None => name.to_owned(),
        };
        if name.starts_with('~') || name.contains("${") {
            let message = format!("`{}` depends on the user, so it is not read", shorten(&name));
            self.reports.error(at.at, message).help =
                "write the path of the file, or only its name".to_owned();
            return;
        }
        // A file for local changes need not exist.
        let is_local = name.ends_with(".local");
        let found = match self.find(&name) {
            Ok(Some(file)) => Ok(file),
            Ok(None) if is_local => return,
            Ok(None) if !self.is_strict && is_without_filters(&name) => {
                if self.not_found.iter().all(|(_, known)| *known != name) {
                    self.not_found.push((at.at, name));
                }
                return;
            }
            Ok(None) => {
                let missing = match name.contains('/') {
                    true => "it does not exist",
                    false => "it is neither beside the profile nor in /etc/firejail",
                };
                let message = format!("cannot include \"{}\": {missing}", shorten(&name));
                self.reports.error(at.at, message).set_help(Advice::IncludeRoot);
                return;
            }
            Err(why) => Err(why),
        };
        let open: Vec<u16> = self.open.iter().map(|file| file.source).collect();
        let mut found = Some(found);
        let mut take = |_: &str, _: Option<&str>| {
            found.take().unwrap_or_else(|| Err("it is not known".to_owned()))
        };
        let Lines { sources, reports, inclusions, .. } = self;
        match inclusions.open(&name, at.at, &open, &mut take, sources, reports) {
            Opened::Source(source) => self.open.push(Open { source, at: 0 }),
            Opened::Nothing => {}
            Opened::Stop => self.open.clear(),
        }
    }

    /// A file by its path; by its name alone, beside the profile or else in the directory of the machine, as firejail looks for it
    /// in the directory of the user, which a profile of the user is in, and in that of the machine; else where it is in Firejail's
    /// source tree, for a profile of that.
    fn find(&mut self, name: &str) -> Result<Option<Included>, String> {
        let beside = self.files.include_if_present(name, None)?;
        if beside.is_some() || name.contains('/') {
            return Ok(beside);
        }
        for directory in [SYSTEM].into_iter().chain(IN_SOURCE_TREE) {
            let found = self.files.include_if_present(&format!("{directory}{name}"), None)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

/// Whether a file has no lines about filters, as Firejail installs it.
fn is_without_filters(name: &str) -> bool {
    let name = name.strip_prefix(SYSTEM).unwrap_or(name);
    name.strip_suffix(".inc").is_some_and(|name| WITHOUT_FILTERS.contains(&name))
}

const BLANKS: [char; 2] = [' ', '\t'];

/// A line with single blanks.
fn normal(text: &str) -> String {
    let words: Vec<&str> = text.split(BLANKS).filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// Whether a line with this command may change the filters. Commands with these beginnings are about filters, also unknown ones.
fn is_about_filters(name: &str) -> bool {
    const STARTS: [&str; 5] =
        ["seccomp", "protocol", "memory-deny-write-execute", "restrict-namespaces", "include"];
    name == "allow-debuggers" || STARTS.iter().any(|start| name.starts_with(start))
}
