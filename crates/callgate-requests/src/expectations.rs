//! Expectations about a filter as text, a line each, and whether the filter meets them.
//!
//! ```text
//! # a comment
//! openat = allow
//! socket(AF_ALG) = deny
//! x86 ptrace = EPERM
//! ```
//!
//! A call is written as the command takes one ([`Written`]). It means **every** call with these arguments: one that is not given,
//! or is `_`, may have any value. `allow` means that the kernel executes the call (ALLOW or LOG), `deny` that it does not.
//! Otherwise the verdict is given: an action such as `KILL_PROCESS`, `TRAP` or `errno`, whose data does not matter then, an
//! action with its data such as `TRACE(7)`, or the name or number of an error. `kill` means KILL_PROCESS or KILL_THREAD.
//! Without an architecture, a call is of the machine's if the filter is for it, otherwise of the first one of the filter.
//!
//! # Limits
//!
//! At most [`MAX_EXPECTATIONS`] are checked. The diagram of the filter has a budget, which all of them share.

use callgate::{Action, Arch, SeccompData, Verdict};
use callgate_bpf::diagnostic::{Diagnostic, Position};
use callgate_core::diagram::{Func, Store};
use callgate_core::errno_number;

use crate::Call;
use crate::any_values::{example, of_syscall};
use crate::syscall;
use crate::written::Written;

/// The maximum number of expectations that are checked.
pub const MAX_EXPECTATIONS: usize = 500;

/// What is expected of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Allow,
    Deny,
    /// Either of two actions.
    Kill,
    /// This action with any data.
    Action(Verdict),
    Exactly(Verdict),
}

/// An expectation with its result.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The line, from 1.
    pub line: usize,
    /// The line as it was written, without blanks around it.
    pub text: String,
    /// Whether the filter meets it, or why that is not known.
    pub result: Result<Verdicts, Diagnostic>,
}

/// What a filter does with the calls of an expectation.
#[derive(Clone, Debug)]
pub struct Verdicts {
    /// Whether all are as expected.
    pub is_met: bool,
    /// The verdicts that occur; those that were not expected first.
    pub found: Vec<Verdict>,
    /// A call with the first verdict, as it is printed.
    pub example: String,
}

impl Checked {
    /// Whether the filter is known to meet it.
    pub fn is_met(&self) -> bool {
        self.result.as_ref().is_ok_and(|verdicts| verdicts.is_met)
    }

    /// What the filter does, or what is wrong with the line.
    pub fn outcome(&self) -> String {
        match &self.result {
            Err(error) => error.message.clone(),
            Ok(Verdicts { is_met, found, example }) => {
                let all: Vec<String> = found.iter().map(Verdict::to_string).collect();
                match (is_met, all.as_slice()) {
                    (true, all) => all.join(" or "),
                    (false, [only]) => format!("{only} for {example}"),
                    (false, [first, rest @ ..]) => {
                        format!("{first} for {example}, otherwise {}", rest.join(" or "))
                    }
                    (false, []) => String::new(),
                }
            }
        }
    }
}

/// Checks all expectations of a text. The second part of the result is the number of those beyond [`MAX_EXPECTATIONS`].
pub fn check(
    text: &str,
    (store, root): (&mut Store, Func),
    arches: &[Arch],
    machine: Arch,
) -> (Vec<Checked>, usize) {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, without_comment(line)));
    let mut lines = lines.filter(|(_, line)| !line.trim().is_empty());
    let checked = lines.by_ref().take(MAX_EXPECTATIONS).map(|(line, text)| {
        let result = of_line(text, (&mut *store, root), arches, machine).map_err(|error| {
            let blanks = text.chars().take_while(|c| c.is_whitespace()).count();
            let column = blanks as u32 + error.position.map_or(1, |position| position.column);
            Diagnostic { position: Some(Position { line: line as u32, column }), ..error }
        });
        Checked { line, text: text.trim().to_owned(), result }
    });
    let checked = checked.collect();
    (checked, lines.count())
}

fn without_comment(line: &str) -> &str {
    line.split_once('#').map_or(line, |(content, _)| content)
}

/// Checks an expectation. The position of an error counts from the first character that is not blank.
fn of_line(
    line: &str,
    (store, root): (&mut Store, Func),
    arches: &[Arch],
    machine: Arch,
) -> Result<Verdicts, Diagnostic> {
    let line = line.trim();
    let Some((left, right)) = line.rsplit_once('=') else {
        let message = "missing \"=\": a line is CALL = allow, CALL = deny or CALL = VERDICT";
        return Err(Diagnostic::error(None, message));
    };
    let column = left.chars().count() + 1 + right.chars().take_while(|c| c.is_whitespace()).count();
    let place = Position { line: 1, column: column as u32 + 1 };
    let expected =
        expected(right.trim()).map_err(|error| Diagnostic { position: Some(place), ..error })?;
    let Some(written) = Written::of_words(left) else {
        return Err(Diagnostic::error(None, "missing syscall before \"=\""));
    };
    let call = Call::of_written(&written)?;
    let arch = call.arch_among(arches, machine);
    let (data, any) = call.with_any(arch, true)?;
    verdicts((store, root), expected, (arch, &data, &any))
}

fn verdicts(
    (store, root): (&mut Store, Func),
    expected: Expected,
    (arch, data, any): (Arch, &SeccompData, &[u8]),
) -> Result<Verdicts, Diagnostic> {
    let failed = |error: callgate_core::diagram::DiagramError| {
        Diagnostic::error(None, format!("not decided: {error}"))
    };
    let func = of_syscall((&mut *store, root), data, any).map_err(failed)?;
    let mut found = store.verdicts(func);
    found.sort_by_key(|verdict| (expected.is_met_by(*verdict), *verdict));
    let is_met = found.iter().all(|verdict| expected.is_met_by(*verdict));
    let first = found.first().copied();
    let example = match first {
        Some(first) => example((store, func), (data, any), first).map_err(failed)?,
        None => *data,
    };
    let name = syscall::arch_name(Some(arch), data.arch);
    let example = format!("{name} {}", syscall::show(Some(arch), &example));
    Ok(Verdicts { is_met, found, example })
}

impl Expected {
    fn is_met_by(self, verdict: Verdict) -> bool {
        match self {
            Expected::Allow => verdict.permits(),
            Expected::Deny => !verdict.permits(),
            Expected::Kill => {
                matches!(verdict.action(), Action::KillProcess | Action::KillThread)
            }
            Expected::Action(action) => verdict.0 >> 16 == action.0 >> 16,
            Expected::Exactly(exact) => verdict == exact,
        }
    }
}

/// The actions by their names in `seccomp(2)`.
const ACTIONS: [(&str, Verdict); 7] = [
    ("KILL_PROCESS", Verdict::KILL_PROCESS),
    ("KILL_THREAD", Verdict::KILL_THREAD),
    ("TRAP", Verdict::trap(0)),
    ("ERRNO", Verdict::errno(0)),
    ("USER_NOTIF", Verdict::user_notif(0)),
    ("TRACE", Verdict::trace(0)),
    ("LOG", Verdict::LOG),
];

/// Reads what is expected.
fn expected(text: &str) -> Result<Expected, Diagnostic> {
    let upper = text.to_ascii_uppercase();
    let word = upper.strip_prefix("SECCOMP_RET_").unwrap_or(&upper);
    match word {
        "ALLOW" => return Ok(Expected::Allow),
        "DENY" => return Ok(Expected::Deny),
        "KILL" => return Ok(Expected::Kill),
        _ => {}
    }
    let errno = |text: &str| errno_number(text).or_else(|| text.parse().ok());
    let action = |name: &str| ACTIONS.iter().find(|(own, _)| *own == name).map(|(_, own)| *own);
    if let Some(action) = action(word) {
        return Ok(Expected::Action(action));
    }
    if let Some(number) = errno(word) {
        return Ok(Expected::Exactly(Verdict::errno(number)));
    }
    let parts = word.strip_suffix(')').and_then(|rest| rest.split_once('('));
    let exact = parts.and_then(|(name, data)| {
        let (action, data) = (action(name.trim())?, data.trim());
        let is_errno = matches!(action.action(), Action::Errno(_));
        let number = if is_errno { errno(data)? } else { data.parse().ok()? };
        Some(Verdict(action.0 | u32::from(number)))
    });
    exact.map(Expected::Exactly).ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        let message = match shown.as_str() {
            "" => "missing verdict after \"=\"".to_owned(),
            shown => format!("unknown verdict \"{shown}\""),
        };
        Diagnostic::error(None, message)
            .help("expected allow, deny, an action such as KILL_PROCESS or TRACE(7), or an error such as EPERM")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{Reading, SourceContent, SourceText, read};

    /// The results of lines about a filter: what the filter does, marked if that is not what was expected.
    fn of(filter: &str, lines: &str) -> Vec<String> {
        let source =
            SourceText::new(SourceContent::Text(filter.to_owned()), Reading::new(Arch::X86_64));
        let stack = read(&source, &mut Vec::new()).unwrap();
        let mut store = Store::default();
        let root = stack.combined_diagram(&mut store, &mut Vec::new()).unwrap();
        let (checked, more) = check(lines, (&mut store, root), &stack.arches(), Arch::X86_64);
        assert_eq!(more, 0);
        let text = |one: &Checked| {
            let mark = if one.is_met() { "" } else { "not met: " };
            format!("{} {mark}{}", one.line, one.outcome())
        };
        checked.iter().map(text).collect()
    }

    const FILTER: &str = "POLICY p { ALLOW { read, socket(family) { family == 1 || family == 2 } }, \
        ERRNO(13) { openat }, ERRNO(1) { mount }, KILL { ptrace } } USE p DEFAULT ERRNO(38)";

    #[test]
    fn a_call_means_all_values_of_the_arguments_that_are_not_given() {
        let lines = "# header\n\nread = allow\nsocket(AF_UNIX) = allow   # with any type\nsocket = allow\n\
                     socket(_, SOCK_RAW) = deny\nsocket(AF_ALG) = deny\nread = deny\n";
        assert_eq!(
            of(FILTER, lines),
            [
                "3 ALLOW",
                "4 ALLOW",
                "5 not met: ERRNO(ENOSYS) for x86_64 socket(), otherwise ALLOW",
                "6 not met: ALLOW for x86_64 socket(AF_UNIX, SOCK_RAW), otherwise ERRNO(ENOSYS)",
                "7 ERRNO(ENOSYS)",
                "8 not met: ALLOW for x86_64 read()",
            ]
        );
    }

    #[test]
    fn verdicts_are_those_that_are_printed() {
        let met = "mount = EPERM\nmount = errno\nmount = ERRNO(EPERM)\nmount = errno(1)\nmount = 1\nopenat = EACCES\n\
                   ptrace = kill\nptrace = deny\nread = SECCOMP_RET_ALLOW\nread=ALLOW\n";
        let results = of(FILTER, met);
        assert_eq!(results.len(), met.lines().count());
        assert!(results.iter().all(|result| !result.contains("not met")), "{results:?}");
        for unmet in ["mount = EACCES", "mount = trap", "read = log", "openat = kill", "mount = 38"]
        {
            assert!(of(FILTER, unmet)[0].contains("not met"), "{unmet}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_line_is_its_result() {
        for (line, message) in [
            (
                "read",
                "1 not met: missing \"=\": a line is CALL = allow, CALL = deny or CALL = VERDICT",
            ),
            ("read = perhaps", "1 not met: unknown verdict \"perhaps\""),
            ("read =", "1 not met: missing verdict after \"=\""),
            ("= allow", "1 not met: missing syscall before \"=\""),
            ("raed = allow", "1 not met: x86_64 has no syscall \"raed\""),
            (
                "socket(AF_AGL) = deny",
                "1 not met: argument \"AF_AGL\": \"AF_AGL\" is neither a number nor a constant",
            ),
        ] {
            assert_eq!(of(FILTER, line), [message], "{line}");
        }
        let (checked, _) = {
            let mut store = Store::default();
            let root = store.verdict(Verdict::ALLOW).unwrap();
            check("\n  read = perhaps", (&mut store, root), &[Arch::X86_64], Arch::X86_64)
        };
        let position = checked[0].result.as_ref().unwrap_err().position.unwrap();
        assert_eq!((position.line, position.column), (2, 10));
    }

    #[test]
    fn the_number_of_expectations_has_a_limit() {
        let mut store = Store::default();
        let root = store.verdict(Verdict::ALLOW).unwrap();
        let text = "read = allow\n".repeat(MAX_EXPECTATIONS + 3);
        let (checked, more) = check(&text, (&mut store, root), &[Arch::X86_64], Arch::X86_64);
        assert_eq!((checked.len(), more), (MAX_EXPECTATIONS, 3));
    }
}
