//! Silencing findings: by options, and by comments in the text.

use std::fmt;

use rustc_hash::FxHashMap as HashMap;

use callgate_bpf::diagnostic::Position;
use callgate_bpf::suggest::nearest;
use callgate_formats::statements::Site;

use super::check::Check;
use super::finding::Finding;
use super::findings::sort;

/// A check that is silenced, for all syscalls or for one: `powerful-call`, `powerful-call=ptrace`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allow {
    /// The check.
    pub check: Check,
    /// The syscall; `None` for all.
    pub syscall: Option<String>,
}

/// An identifier that no check has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowError(String);

impl fmt::Display for AllowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown check `{}`", self.0)?;
        match nearest(&self.0, Check::ALL.iter().map(|check| check.id())) {
            Some(near) => write!(f, "; did you mean `{near}`?"),
            None => f.write_str("; `callgate lint --list` lists all"),
        }
    }
}

impl std::error::Error for AllowError {}

impl std::str::FromStr for Allow {
    type Err = AllowError;

    fn from_str(text: &str) -> Result<Allow, AllowError> {
        let (id, syscall) = match text.split_once('=') {
            Some((id, syscall)) => (id.trim(), Some(syscall.trim().to_owned())),
            None => (text.trim(), None),
        };
        let check = Check::from_id(id).ok_or_else(|| AllowError(id.to_owned()))?;
        Ok(Allow { check, syscall })
    }
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

/// Whether options for its check silence a finding: all of its subjects, if they name syscalls.
fn is_silenced<'a>(finding: &Finding, options: impl Iterator<Item = &'a Allow> + Clone) -> bool {
    let covers = |name: &str| {
        options.clone().any(|option| option.syscall.as_ref().is_none_or(|own| own == name))
    };
    match finding.syscalls.as_slice() {
        [] => options.clone().any(|option| option.syscall.is_none()),
        [first, ..] if !is_list(finding.check) => covers(first),
        names => names.iter().all(|name| covers(name)),
    }
}

/// The findings that remain, and how many do not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// Those that remain, with one for each comment that silences nothing.
    pub findings: Vec<Finding>,
    /// The number of silenced ones.
    pub silenced: usize,
}

/// A comment in a text.
struct Comment<'t> {
    file: Option<&'t str>,
    position: Position,
    allow: Result<Allow, AllowError>,
    is_for_file: bool,
}

/// A text with comments.
#[derive(Clone, Copy, Debug)]
pub struct AllowText<'t> {
    /// Its name in the places of findings; `None` for the profile itself.
    pub file: Option<&'t str>,
    /// The text.
    pub text: &'t str,
}

/// Removes the findings that are silenced by `options`, or by comments in these texts.
///
/// The comment `callgate: allow(ID)` silences a check in its line and in the next one, `callgate: allow-file(ID)` in the
/// whole text. Both accept several identifiers, separated by commas, and `ID=SYSCALL`. They are found anywhere in a line,
/// because JSON has no comments but for example values of `comment`.
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
    let mut comments: Vec<Comment<'_>> = Vec::new();
    for text in texts {
        comments.extend(read(text));
    }
    // The comments for a check: in a line of a text, and in the whole text.
    let mut near: HashMap<(Option<&str>, Check, u32), Vec<usize>> = HashMap::default();
    let mut whole: HashMap<Check, Vec<usize>> = HashMap::default();
    for (index, comment) in comments.iter().enumerate() {
        let Ok(allow) = &comment.allow else { continue };
        match comment.is_for_file {
            true => whole.entry(allow.check).or_default().push(index),
            false => {
                for line in [comment.position.line, comment.position.line + 1] {
                    near.entry((comment.file, allow.check, line)).or_default().push(index);
                }
            }
        }
    }
    let mut used = vec![false; comments.len()];
    let mut silences = |finding: &Finding| {
        let line = finding.site.as_ref().map(|site| site.position.line);
        let file = finding.site.as_ref().map(|site| site.file.as_deref());
        let here = line.zip(file).and_then(|(line, file)| near.get(&(file, finding.check, line)));
        let in_file = |index: &usize| {
            comments.get(*index).is_some_and(|own| file.is_none_or(|file| file == own.file))
        };
        let for_file = whole.get(&finding.check).into_iter().flatten().copied();
        let found: Vec<usize> =
            for_file.filter(in_file).chain(here.into_iter().flatten().copied()).collect();
        let own = found.iter().filter_map(|index| comments.get(*index)?.allow.as_ref().ok());
        let given = options.iter().filter(|option| option.check == finding.check);
        let is_silenced = is_silenced(finding, own.chain(given));
        if is_silenced {
            for index in found {
                if let Some(used) = used.get_mut(index) {
                    *used = true;
                }
            }
        }
        is_silenced
    };
    let count = findings.len();
    let mut kept: Vec<Finding> =
        findings.into_iter().filter(|finding| !silences(finding)).collect();
    let mut silenced = count - kept.len();
    let is_unused = |(_, used): &(&Comment<'_>, &bool)| !**used;
    for (comment, _) in comments.iter().zip(&used).filter(is_unused) {
        let message = match &comment.allow {
            Ok(allow) => format!("no finding of `{}` here", allow.check),
            Err(error) => error.to_string(),
        };
        let site = Some(Site { file: comment.file.map(str::to_owned), position: comment.position });
        let finding = Finding::new(Check::UnusedAllow, message).help("remove the comment");
        let finding = finding.at((0, site));
        let given = options.iter().filter(|option| option.check == Check::UnusedAllow);
        match is_silenced(&finding, given) {
            true => silenced += 1,
            false => kept.push(finding),
        }
    }
    sort(&mut kept);
    Allowed { findings: kept, silenced }
}

/// The comments of a text.
fn read<'t>(text: &AllowText<'t>) -> Vec<Comment<'t>> {
    let mut comments = Vec::new();
    for (line, content) in (1..).zip(text.text.lines()) {
        let mut rest = content;
        while let Some((before, after)) = rest.split_once("callgate:") {
            let column = content.len() - rest.len() + before.len();
            let column =
                content.get(..column).map_or(1, |before| before.chars().count() as u32 + 1);
            let position = Position { line, column };
            rest = after;
            let after = after.trim_start();
            let (is_for_file, after) = match after.strip_prefix("allow-file(") {
                Some(after) => (true, Some(after)),
                None => (false, after.strip_prefix("allow(")),
            };
            let Some((list, _)) = after.and_then(|after| after.split_once(')')) else { continue };
            let file = text.file;
            let comment = |id: &str| Comment { file, position, allow: id.parse(), is_for_file };
            comments.extend(list.split(',').map(comment));
        }
    }
    comments
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let findings = || vec![finding(Check::IoUring, 7, "a"), finding(Check::HighBits, 7, "a")];
        let text = r#"{"comment": "callgate:allow-file(io-uring)"}"#;
        let rest = allow(findings(), &[], &[of(text)]);
        assert_eq!((rest.findings.len(), rest.silenced), (1, 1));
        let rest = allow(findings(), &["high-bits=a".parse().unwrap()], &[]);
        assert_eq!((rest.findings.len(), rest.silenced), (1, 1));
        assert_eq!(rest.findings[0].check, Check::IoUring);
        let elsewhere = allow(findings(), &[], &[AllowText { file: Some("x"), text }]);
        assert_eq!(elsewhere.silenced, 0);
    }

    #[test]
    fn unused_and_unknown_comments_are_found() {
        let text =
            "x # callgate: allow(io-urin)\n# callgate: allow(io-uring) callgate: allow(notify)";
        let rest = allow(vec![finding(Check::IoUring, 3, "a")], &[], &[of(text)]);
        let messages: Vec<_> =
            rest.findings.iter().map(|finding| finding.message.as_str()).collect();
        assert_eq!(
            messages,
            ["unknown check `io-urin`; did you mean `io-uring`?", "no finding of `notify` here"]
        );
        let positions: Vec<_> = rest
            .findings
            .iter()
            .filter_map(|finding| Some(finding.site.as_ref()?.position))
            .collect();
        assert_eq!(positions, [Position { line: 1, column: 5 }, Position { line: 2, column: 29 }]);
    }
}
