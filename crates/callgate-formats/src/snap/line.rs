//! Lines: a syscall and its arguments.

use super::constants;
use crate::diagnostics::quote::{did_you_mean, shorten};
use crate::ruleset::{Comparison, Op};
use crate::syntax::reader::Reader;
use callgate_core::Arch;

/// The number of arguments of a syscall.
const MAX_ARGUMENTS: usize = 6;

/// A rule.
#[derive(Debug)]
pub(super) struct Rule<'t> {
    /// Whether `~` is before the name.
    pub(super) is_denied: bool,
    pub(super) name: &'t str,
    pub(super) at: usize,
    /// They must all hold.
    pub(super) comparisons: Vec<Comparison>,
}

/// The words of a line, after their offsets.
pub(super) fn words(line: &str, at: usize) -> impl Iterator<Item = (usize, &str)> {
    line.split_whitespace()
        .map(move |word| (at + (word.as_ptr() as usize - line.as_ptr() as usize), word))
}

/// Parses the arguments of a rule. `None` after an error was reported.
pub(super) fn comparisons(
    reader: &mut Reader<'_>,
    syscall: &str,
    arguments: &[(usize, &str)],
    arch: Arch,
    ids: &mut Ids<'_>,
) -> Option<Vec<Comparison>> {
    let mut comparisons = Vec::new();
    for (index, (at, word)) in (0..).zip(arguments) {
        if *word == "-" {
            continue;
        }
        let parsed = Argument { syscall, word, arch }.parse(ids);
        match parsed {
            Ok((op, value)) => comparisons.extend(Comparison::new(index, op, value)),
            Err((message, help)) => {
                let help = match help {
                    Some(help) => help,
                    None => {
                        let name = word.trim_start_matches(['!', '<', '>', '=', '|']);
                        let near = reader.nearest(name, constants::names());
                        let otherwise =
                            "arguments are -, numbers below 2^32 and snap-seccomp constants";
                        did_you_mean(near, otherwise)
                    }
                };
                return reader.refuse(*at, message, help);
            }
        }
    }
    Some(comparisons)
}

/// Reports words after the sixth argument.
pub(super) fn check_count(reader: &mut Reader<'_>, words: &[(usize, &str)]) -> bool {
    let Some((at, _)) = words.get(MAX_ARGUMENTS + 1) else { return true };
    let syscall = words.first().map_or("", |(_, word)| word);
    let message = format!(
        "{} arguments for `{}`; the maximum is {MAX_ARGUMENTS}",
        words.len() - 1,
        shorten(syscall)
    );
    reader.error(*at, message).help =
        "remove what follows; comments have a line of their own".to_owned();
    false
}

/// A word about one argument.
struct Argument<'t> {
    syscall: &'t str,
    word: &'t str,
    arch: Arch,
}

/// A message, and its help unless a similar name is to be searched.
type Problem = (String, Option<String>);

impl Argument<'_> {
    fn parse(&self, ids: &mut Ids<'_>) -> Result<(Op, u64), Problem> {
        let is_id = takes_ids(self.syscall);
        let (op, value) = self.comparison(ids)?;
        match op {
            Op::Eq if is_id => Ok((Op::MaskedEq(u64::from(u32::MAX)), value)),
            _ if is_id => Err((
                format!("`{}` only takes equality, not `{}`", self.syscall, shorten(self.word)),
                Some("snap-seccomp refuses other comparisons for syscalls that take -1".to_owned()),
            )),
            _ => Ok((op, value)),
        }
    }

    fn comparison(&self, ids: &mut Ids<'_>) -> Result<(Op, u64), Problem> {
        let word = self.word;
        for (sign, op) in
            [(">=", Op::Ge), ("<=", Op::Le), ("!", Op::Ne), ("<", Op::Lt), (">", Op::Gt)]
        {
            if let Some(number) = word.strip_prefix(sign) {
                return Ok((op, self.number(number)?));
            }
        }
        if let Some(bits) = word.strip_prefix('|') {
            let bits = self.number(bits)?;
            return Ok((Op::MaskedEq(bits), bits));
        }
        if let Some((mask, value)) = word.split_once('|') {
            return Ok((Op::MaskedEq(self.number(mask)?), self.number(value)?));
        }
        for (prefix, kind) in [("u:", IdKind::User), ("g:", IdKind::Group)] {
            if let Some(name) = word.strip_prefix(prefix) {
                return Ok((Op::Eq, self.id(kind, name, ids)?));
            }
        }
        Ok((Op::Eq, self.number(word)?))
    }

    fn number(&self, text: &str) -> Result<u64, Problem> {
        if text.is_empty() {
            let message = format!("missing number or constant in `{}`", shorten(self.word));
            return Err((message, Some("write it directly after the operator".to_owned())));
        }
        if let Some(value) = constants::value(self.arch, text) {
            return Ok(value);
        }
        let digits = text.strip_prefix(['+', '-']);
        let is_number =
            |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let fail = |why: &str, help: &str| {
            Err((format!("`{}` {why}", shorten(text)), Some(help.to_owned())))
        };
        if is_number(text) {
            return match text.parse::<u32>() {
                Ok(number) => Ok(number.into()),
                Err(_) => fail("is too large", "the maximum is 4294967295"),
            };
        }
        match digits.filter(|digits| is_number(digits)) {
            Some(_) if takes_ids(self.syscall) => match text.parse::<i32>() {
                Ok(number) => Ok(u64::from(number as u32)),
                Err(_) => fail(
                    "is out of range",
                    "numbers with a sign are from -2147483648 to 2147483647",
                ),
            },
            Some(_) => fail(
                "has a sign",
                "snap-seccomp takes it only for chown, setuid and others with user or group IDs",
            ),
            None => Err((
                format!("`{}` is neither a number nor a snap-seccomp constant", shorten(text)),
                None,
            )),
        }
    }

    fn id(&self, kind: IdKind, name: &str, ids: &mut Ids<'_>) -> Result<u64, Problem> {
        let what = match kind {
            IdKind::User => "user",
            IdKind::Group => "group",
        };
        if !is_valid_name(name) {
            let message = format!("`{}` is not the name of a {what}", shorten(name));
            let help = "names have lower-case letters, digits, -, . and _, and do not begin with -, . or _";
            return Err((message, Some(help.to_owned())));
        }
        ids(kind, name).map(u64::from).ok_or_else(|| {
            let message = format!("the number of the {what} `{}` is unknown", shorten(name));
            (message, Some("write the number instead: it depends on the host".to_owned()))
        })
    }
}

/// Whether snap-seccomp takes this for the name of a user or a group.
fn is_valid_name(name: &str) -> bool {
    let is_inner =
        |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.' | '_');
    let inside = name.strip_prefix('_').and_then(|name| name.strip_suffix('_'));
    match inside {
        Some(inside) => !inside.is_empty() && inside.chars().all(is_inner),
        None => {
            let begins = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
            name.starts_with(begins) && name.chars().all(is_inner)
        }
    }
}

/// Whether the arguments of a syscall may be negative, and are compared as 32-bit numbers: those that take IDs of users and
/// groups, and `copy_file_range` (`syscallsWithNegArgsMaskHi32` of snap-seccomp).
pub(crate) fn takes_ids(syscall: &str) -> bool {
    const PLAIN: [&str; 9] = [
        "chown",
        "fchown",
        "lchown",
        "setgid",
        "setregid",
        "setresgid",
        "setresuid",
        "setreuid",
        "setuid",
    ];
    let plain = syscall.strip_suffix("32").unwrap_or(syscall);
    PLAIN.contains(&plain) || matches!(syscall, "fchownat" | "copy_file_range")
}

/// What a profile is read for.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The architecture of the host, both of its kernel and of its programs.
    pub native: Arch,
    /// Whether a name that no architecture has is an error instead of a warning.
    pub strict: bool,
    /// Whether the result has statements.
    pub statements: bool,
}

impl ReadOptions {
    /// Reads for a host.
    pub fn new(native: Arch) -> ReadOptions {
        ReadOptions { native, strict: false, statements: false }
    }
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdKind {
    /// `u:NAME`.
    User,
    /// `g:NAME`.
    Group,
}

/// Finds the number of a user or a group on the host.
pub type Ids<'a> = dyn FnMut(IdKind, &str) -> Option<u32> + 'a;

/// The number of a user, and of the group of the same name, that snapd assigns (`snap/system_usernames.go`), or of root.
pub fn system_id(name: &str) -> Option<u32> {
    const IDS: [(&str, u32); 6] = [
        ("root", 0),
        ("snap_daemon", 584_788),
        ("snap_microk8s", 584_789),
        ("snap_aziotedge", 584_790),
        ("snap_aziotdu", 584_791),
        ("_daemon_", 584_792),
    ];
    IDS.iter().find(|(known, _)| *known == name).map(|(_, id)| *id)
}
