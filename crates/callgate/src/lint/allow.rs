//! Silencing findings: by options such as `powerful-call=ptrace`, and by comments `callgate: allow(ID)` in the text.

use std::fmt;

use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::{Help, Position};
use callgate_bpf::suggest::nearest;
use callgate_bpf::syscalls::{known_name, nearest_name};
use callgate_formats::statements::Site;
use rustc_hash::FxHashMap as HashMap;

use super::check::Check;
use super::finding::{Finding, sort};

/// A check that is silenced, for all syscalls or for one: `powerful-call`, `powerful-call=ptrace`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Allow {
    /// The check.
    pub check: Check,
    /// The syscall; `None` for all.
    pub syscall: Option<&'static str>,
}

/// An identifier that no check has, or a name that no syscall has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowError(Unknown);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Unknown {
    Check(String),
    Syscall(String),
}

impl AllowError {
    /// A known word that is probably meant.
    fn nearest(&self) -> Option<&'static str> {
        match &self.0 {
            Unknown::Check(id) => nearest(id, Check::ALL.iter().map(|check| check.id())),
            Unknown::Syscall(name) => nearest_name(name),
        }
    }

    /// Where all known words are, unless the message has one that is probably meant.
    pub fn advice(&self) -> Option<Advice> {
        let all = match &self.0 {
            Unknown::Check(_) => Advice::ListChecks,
            Unknown::Syscall(_) => Advice::ListSyscalls,
        };
        self.nearest().is_none().then_some(all)
    }
}

impl fmt::Display for AllowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Unknown::Check(id) => write!(f, "unknown check `{id}`")?,
            Unknown::Syscall(name) => write!(f, "unknown syscall `{name}`")?,
        }
        match self.nearest() {
            Some(near) => write!(f, "; did you mean `{near}`?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for AllowError {}

impl std::str::FromStr for Allow {
    type Err = AllowError;

    fn from_str(text: &str) -> Result<Allow, AllowError> {
        let (id, name) = match text.split_once('=') {
            Some((id, name)) => (id.trim(), Some(name.trim())),
            None => (text.trim(), None),
        };
        let unknown = || AllowError(Unknown::Check(id.to_owned()));
        let check = Check::from_id(id).ok_or_else(unknown)?;
        let known = |name: &str| {
            known_name(name).ok_or_else(|| AllowError(Unknown::Syscall(name.to_owned())))
        };
        Ok(Allow { check, syscall: name.map(known).transpose()? })
    }
}

/// An object from its `{` to its `}`.
#[derive(Clone, Copy, Debug)]
struct Object {
    start: Position,
    end: Position,
    /// The index of the object around it.
    parent: Option<usize>,
}

/// The objects of a text, in the order of their starts.
#[derive(Clone, Debug, Default)]
struct Objects(Vec<Object>);

impl Objects {
    /// Finds the objects; none in a text that is not JSON.
    fn of(text: &str) -> Objects {
        let mut objects = Objects::default();
        if !text.trim_start().starts_with(['{', '[']) {
            return objects;
        }
        let mut open = Vec::new();
        let (mut line, mut column) = (1, 0);
        let (mut in_string, mut is_escaped) = (false, false);
        for char in text.chars() {
            column += 1;
            let here = Position { line, column };
            match char {
                '\n' => (line, column) = (line + 1, 0),
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = in_string,
                '"' => in_string = !in_string,
                '{' if !in_string => {
                    let parent = open.last().copied();
                    open.push(objects.0.len());
                    let end = Position { line: u32::MAX, column: u32::MAX };
                    objects.0.push(Object { start: here, end, parent });
                }
                '}' if !in_string => {
                    let closed = open.pop().and_then(|index: usize| objects.0.get_mut(index));
                    if let Some(object) = closed {
                        object.end = here;
                    }
                }
                _ => {}
            }
        }
        objects
    }

    /// The innermost object that contains a position.
    fn around(&self, position: Position) -> Option<usize> {
        let key = |position: Position| (position.line, position.column);
        let before = self.0.partition_point(|object| key(object.start) <= key(position));
        let mut index = before.checked_sub(1)?;
        loop {
            let object = self.0.get(index)?;
            if key(position) <= key(object.end) {
                return Some(index);
            }
            index = object.parent?;
        }
    }

    /// The object around another one.
    fn parent(&self, index: usize) -> Option<usize> {
        self.0.get(index)?.parent
    }
}

/// A text with comments.
#[derive(Clone, Copy, Debug)]
pub struct AllowText<'t> {
    /// Its name in the places of findings; `None` for the profile itself.
    pub file: Option<&'t str>,
    /// The text.
    pub text: &'t str,
}

/// With what a comment begins.
const START: &str = "callgate:";

/// Where a comment silences a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Scope {
    /// In this line.
    Line(u32),
    /// In a JSON object: its index.
    Object(usize),
    /// In the whole text.
    File,
}

/// A comment in a text.
struct Comment<'t> {
    file: Option<&'t str>,
    position: Position,
    allow: Result<Allow, AllowError>,
    scopes: Vec<Scope>,
}

/// The comments of a text, and its objects if it has any.
fn read<'t>(text: &AllowText<'t>) -> (Vec<Comment<'t>>, Objects) {
    let mut comments = Vec::new();
    if !text.text.contains(START) {
        return (comments, Objects::default());
    }
    let objects = Objects::of(text.text);
    for (line, content) in (1..).zip(text.text.lines()) {
        let (mut rest, mut column) = (content, 1);
        while let Some((before, after)) = rest.split_once(START) {
            column += before.chars().count() as u32;
            let position = Position { line, column };
            column += START.len() as u32;
            rest = after;
            let after = after.trim_start();
            let (is_for_file, after) = match after.strip_prefix("allow-file(") {
                Some(after) => (true, Some(after)),
                None => (false, after.strip_prefix("allow(")),
            };
            // A list ends before the next comment.
            let own = after.map(|after| after.split(START).next().unwrap_or(after));
            let Some((list, _)) = own.and_then(|own| own.split_once(')')) else { continue };
            let scopes = match objects.around(position) {
                _ if is_for_file => vec![Scope::File],
                Some(object) => vec![Scope::Object(object)],
                None => vec![Scope::Line(line), Scope::Line(line + 1)],
            };
            let file = text.file;
            let comment =
                |id: &str| Comment { file, position, allow: id.parse(), scopes: scopes.clone() };
            comments.extend(list.split(',').map(comment));
        }
    }
    (comments, objects)
}

/// Whether a finding lists syscalls each of which is a case of its own; the subject of others is their first syscall.
fn is_list(check: Check) -> bool {
    matches!(
        check,
        Check::PowerfulCall
            | Check::Multiplexer
            | Check::OtherAbi
            | Check::X32NotDenied
            | Check::ArchNotChecked
            | Check::Notify
            | Check::NotCached
            | Check::EqualsDefault
    )
}

/// The most comments that silence nothing and are reported.
const MAX_UNUSED: usize = 100;

/// The findings that remain, and how many do not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// Those that remain, with one for each comment that silences nothing.
    pub findings: Vec<Finding>,
    /// The number of silenced ones.
    pub silenced: usize,
}

/// The comments of all texts by what they silence.
struct Silencers<'t> {
    texts: Vec<(Option<&'t str>, Objects)>,
    comments: Vec<Comment<'t>>,
    index: HashMap<(Option<&'t str>, Scope, Allow), usize>,
}

impl<'t> Silencers<'t> {
    fn of(texts: &[AllowText<'t>]) -> Silencers<'t> {
        let mut silencers =
            Silencers { texts: Vec::new(), comments: Vec::new(), index: HashMap::default() };
        for text in texts {
            let (comments, objects) = read(text);
            silencers.texts.push((text.file, objects));
            silencers.comments.extend(comments);
        }
        for (number, comment) in silencers.comments.iter().enumerate() {
            let Ok(allow) = &comment.allow else { continue };
            for scope in &comment.scopes {
                let known = silencers.index.entry((comment.file, *scope, *allow)).or_insert(number);
                // A comment in the line itself precedes that of the line above; a repeated one silences nothing.
                let line =
                    |number: usize| silencers.comments.get(number).map(|one| one.position.line);
                if line(*known) < line(number) {
                    *known = number;
                }
            }
        }
        silencers
    }

    /// The scopes that contain a finding, each with the file.
    fn scopes(&self, finding: &Finding) -> Vec<(Option<&'t str>, Scope)> {
        let Some(site) = &finding.site else {
            return self.texts.iter().map(|(file, _)| (*file, Scope::File)).collect();
        };
        let text = self.texts.iter().find(|(file, _)| *file == site.file.as_deref());
        let Some((file, objects)) = text else { return Vec::new() };
        let mut scopes = vec![(*file, Scope::File), (*file, Scope::Line(site.position.line))];
        let mut object = objects.around(site.position);
        while let Some(index) = object {
            scopes.push((*file, Scope::Object(index)));
            object = objects.parent(index);
        }
        scopes
    }

    /// The comments that silence a check for one syscall, or for all, in these scopes.
    fn find(&self, scopes: &[(Option<&'t str>, Scope)], allow: Allow) -> Vec<usize> {
        let found =
            scopes.iter().filter_map(|&(file, scope)| self.index.get(&(file, scope, allow)));
        found.copied().collect()
    }
}

/// Whether options or comments silence a finding, all of its subjects if they name syscalls; marks the comments about it.
fn is_silenced(
    finding: &Finding,
    options: &[Allow],
    silencers: &Silencers<'_>,
    used: &mut [bool],
) -> bool {
    let scopes = silencers.scopes(finding);
    let mut found = Vec::new();
    let mut covers = |syscall: Option<&'static str>| {
        let allow = Allow { check: finding.check, syscall };
        let comments = silencers.find(&scopes, allow);
        let is_covered = options.contains(&allow) || !comments.is_empty();
        found.extend(comments);
        is_covered
    };
    let covers_all = covers(None);
    let is_silenced = match finding.syscalls.as_slice() {
        [] => covers_all,
        [first, ..] if !is_list(finding.check) => covers(Some(first)) || covers_all,
        names => names.iter().filter(|name| !covers(Some(name))).count() == 0 || covers_all,
    };
    // A comment about some of the syscalls of a finding is used, although the finding remains.
    for index in found {
        if let Some(used) = used.get_mut(index) {
            *used = true;
        }
    }
    is_silenced
}

/// Removes the findings that are silenced by `options`, or by comments in these texts.
///
/// The comment `callgate: allow(ID)` silences a check in its line and in the next one, `callgate: allow-file(ID)` in the
/// whole text. Both accept several identifiers, separated by commas, and `ID=SYSCALL`. They are found anywhere in a line.
/// JSON has no comments but for example values of `comment`; there the first form silences a check in the innermost object
/// around it.
///
/// ```
/// use callgate::lint::{Allow, Check, Subject, allow, lint};
/// use callgate::{Arch, Filter};
///
/// let filter = Filter::builder(Arch::X86_64).allow(["read"])?.build()?;
/// let found = lint(&[Subject::new(&filter)], &[Arch::X86_64])?;
/// assert!(found.iter().any(|finding| finding.check == Check::NeededCall));
/// let option: Allow = "needed-call".parse()?;
/// let rest = allow(found, &[option], &[]);
/// assert!(rest.findings.iter().all(|finding| finding.check != Check::NeededCall));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn allow(findings: Vec<Finding>, options: &[Allow], texts: &[AllowText<'_>]) -> Allowed {
    let silencers = Silencers::of(texts);
    let mut used = vec![false; silencers.comments.len()];
    let count = findings.len();
    let mut kept = findings;
    kept.retain(|finding| !is_silenced(finding, options, &silencers, &mut used));
    let mut silenced = count - kept.len();
    let is_unused = |(_, used): &(&Comment<'_>, &bool)| !**used;
    let mut unused: Vec<&Comment<'_>> = silencers
        .comments
        .iter()
        .zip(&used)
        .filter(is_unused)
        .map(|(comment, _)| comment)
        .collect();
    if options.contains(&Allow { check: Check::UnusedAllow, syscall: None }) {
        silenced += unused.len();
        unused.clear();
    }
    unused.truncate(MAX_UNUSED);
    for comment in unused {
        let (message, advice) = match &comment.allow {
            Ok(allow) => (format!("no finding of `{}` here", allow.check), None),
            Err(error) => (error.to_string(), error.advice()),
        };
        let help = advice.map_or_else(|| Help::from("remove the comment"), Help::from);
        let site = Some(Site { file: comment.file.map(str::to_owned), position: comment.position });
        let finding = Finding::new(Check::UnusedAllow, message).help(help);
        kept.push(finding.at((0, site)));
    }
    sort(&mut kept);
    Allowed { findings: kept, silenced }
}

#[cfg(test)]
mod tests {
    use callgate_bpf::diagnostic::Position;

    use super::*;

    #[test]
    fn positions_are_in_the_innermost_object() {
        let objects = Objects::of("{\n \"a\": [{\"}\\\"{\": {}},\n  {}],\n}");
        let at = |line, column| objects.around(Position { line, column });
        assert_eq!([at(1, 1), at(2, 2), at(2, 8), at(2, 9)], [Some(0), Some(0), Some(1), Some(1)]);
        // The braces in the key are text.
        assert_eq!([at(2, 17), at(2, 18), at(2, 19)], [Some(2), Some(2), Some(1)]);
        assert_eq!([at(2, 20), at(3, 3), at(3, 6), at(4, 1)], [Some(0), Some(3), Some(0), Some(0)]);
        assert_eq!(at(5, 1), None);
        assert_eq!([objects.parent(2), objects.parent(3)], [Some(1), Some(0)]);
        assert!(Objects::of("# {\n{}").0.is_empty());
    }

    fn of(text: &str) -> AllowText<'_> {
        AllowText { file: None, text }
    }

    fn finding(check: Check, line: u32, syscall: &'static str) -> Finding {
        let site = Site { file: None, position: Position { line, column: 9 } };
        Finding::new(check, "m").at((0, Some(site))).about([syscall])
    }

    #[test]
    fn comments_silence_their_line_and_the_next_one() {
        let text = "a\n# callgate: allow(io-uring, powerful-call=ptrace)\nb\nc";
        let lines = |check, syscall| -> Vec<u32> {
            let findings = (1..=4).map(|line| finding(check, line, syscall)).collect();
            let rest = allow(findings, &[], &[of(text)]).findings;
            let rest = rest.iter().filter(|finding| finding.check == check);
            rest.filter_map(|finding| Some(finding.site.as_ref()?.position.line)).collect()
        };
        assert_eq!(lines(Check::IoUring, "socket"), [1, 4]);
        assert_eq!(lines(Check::PowerfulCall, "ptrace"), [1, 4]);
        assert_eq!(lines(Check::PowerfulCall, "bpf"), [1, 2, 3, 4]);
    }

    #[test]
    fn a_list_of_syscalls_is_silenced_as_a_whole() {
        let two = || vec![finding(Check::PowerfulCall, 1, "ptrace").about(["ptrace", "bpf"])];
        let rest = |options: &[&str]| {
            let options: Vec<Allow> = options.iter().map(|one| one.parse().unwrap()).collect();
            allow(two(), &options, &[]).findings.len()
        };
        assert_eq!(rest(&["powerful-call=ptrace"]), 1);
        assert_eq!(rest(&["powerful-call=ptrace", "powerful-call=bpf"]), 0);
        assert_eq!(rest(&["powerful-call"]), 0);
    }

    #[test]
    fn comments_for_the_file_and_options_silence_everything() {
        let findings =
            || vec![finding(Check::IoUring, 7, "read"), finding(Check::HighBits, 7, "read")];
        let text = r#"{"comment": "callgate:allow-file(io-uring)"}"#;
        let rest = allow(findings(), &[], &[of(text)]);
        assert_eq!((rest.findings.len(), rest.silenced), (1, 1));
        let rest = allow(findings(), &["high-bits=read".parse().unwrap()], &[]);
        assert_eq!((rest.findings.len(), rest.silenced), (1, 1));
        assert_eq!(rest.findings[0].check, Check::IoUring);
        let elsewhere = allow(findings(), &[], &[AllowText { file: Some("x"), text }]);
        assert_eq!(elsewhere.silenced, 0);
    }

    #[test]
    fn comments_that_silence_a_part_or_their_own_line_are_used() {
        let two = vec![finding(Check::PowerfulCall, 1, "ptrace").about(["ptrace", "bpf"])];
        let rest = allow(two, &[], &[of("x # callgate: allow(powerful-call=ptrace)")]).findings;
        assert_eq!(rest.iter().map(|one| one.check).collect::<Vec<_>>(), [Check::PowerfulCall]);
        let text = "x # callgate: allow(io-uring)\n".repeat(3);
        let three = (1..=3).map(|line| finding(Check::IoUring, line, "read")).collect();
        assert_eq!(allow(three, &[], &[of(&text)]).findings, []);
    }

    #[test]
    fn a_list_ends_before_the_next_comment() {
        let text = format!("{}{}", "callgate: allow(".repeat(1000), "io-uring,".repeat(1000));
        let text = format!("{text}notify)");
        assert_eq!(read(&of(&text)).0.len(), 1001);
    }

    #[test]
    fn comments_in_json_silence_their_object() {
        let text = "{\n \"a\": [\n  {\n   \"n\": 1,\n   \"c\": \"callgate: allow(io-uring)\"\n  },\n  {}]}";
        let findings = (1..=7).map(|line| finding(Check::IoUring, line, "socket")).collect();
        let rest = allow(findings, &[], &[of(text)]).findings;
        let lines: Vec<u32> =
            rest.iter().filter_map(|one| Some(one.site.as_ref()?.position.line)).collect();
        // Findings are in column 9, the object ends in column 3 of line 6.
        assert_eq!(lines, [1, 2, 6, 7]);
        let whole = format!("{{\"c\": \"callgate: allow(io-uring)\",{}", &text[1..]);
        let findings = (1..=6).map(|line| finding(Check::IoUring, line, "socket")).collect();
        assert_eq!(allow(findings, &[], &[of(&whole)]).findings, []);
    }

    #[test]
    fn unused_and_unknown_comments_are_found() {
        let text = "x # callgate: allow(io-urin)\n# callgate: allow(io-uring) callgate: allow(notify)\n\
                    # callgate: allow(notify=sockett)";
        let rest = allow(vec![finding(Check::IoUring, 3, "a")], &[], &[of(text)]);
        let messages: Vec<_> =
            rest.findings.iter().map(|finding| finding.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "unknown check `io-urin`; did you mean `io-uring`?",
                "no finding of `notify` here",
                "unknown syscall `sockett`; did you mean `socket`?"
            ]
        );
        let positions: Vec<_> = rest
            .findings
            .iter()
            .filter_map(|finding| Some(finding.site.as_ref()?.position))
            .collect();
        assert_eq!(
            positions,
            [(1, 5), (2, 29), (3, 3)].map(|(line, column)| Position { line, column })
        );
    }
}
