//! The text of a policy: blocks of rules, perhaps with comments.

use std::fmt::Write;

use crate::layout::wrapped;
use callgate_core::{Action, Verdict};

/// The maximum width of a line.
const WIDTH: usize = 80;

/// The text of a policy while it is written.
#[derive(Debug, Default)]
pub(super) struct PolicyText {
    head: String,
    blocks: Vec<String>,
}

impl PolicyText {
    /// Adds a comment before the policy.
    pub(super) fn comment(&mut self, words: &str) {
        comment(&mut self.head, 0, words);
    }

    /// Adds an empty line before the policy.
    pub(super) fn gap(&mut self) {
        self.head.push('\n');
    }

    /// Adds a definition.
    pub(super) fn define(&mut self, name: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.head, "#define {name} {value}");
    }

    /// Adds a block of syscalls with the same verdict, without conditions, after a comment.
    pub(super) fn block(&mut self, why: &str, verdict: Verdict, words: &[String]) {
        if words.is_empty() {
            return;
        }
        let lines = wrapped(words.iter().map(String::as_str), WIDTH - 5, ", ").join(",\n    ");
        self.lines(why, verdict, &lines);
    }

    /// Adds a block of syscalls with conditions; each has its comment already.
    pub(super) fn conditional(&mut self, verdict: Verdict, rules: &[String]) {
        if !rules.is_empty() {
            let lines = rules.join(",\n    ");
            self.lines("", verdict, &lines);
        }
    }

    fn lines(&mut self, why: &str, verdict: Verdict, lines: &str) {
        let mut text = String::new();
        if !why.is_empty() {
            comment(&mut text, 2, why);
        }
        let _ = write!(text, "  {} {{\n    {lines}\n  }}", action_text(verdict));
        self.blocks.push(text);
    }

    /// The whole text: a policy with a name, which is used with a default action.
    pub(super) fn finish(self, name: &str, default: Verdict) -> String {
        let PolicyText { mut head, blocks } = self;
        let action = action_text(default);
        let _ = match blocks.is_empty() {
            true => writeln!(head, "\nDEFAULT {action}"),
            false => writeln!(
                head,
                "\nPOLICY {name} {{\n{}\n}}\n\nUSE {name} DEFAULT {action}",
                blocks.join(",\n")
            ),
        };
        head
    }
}

/// A rule with alternatives of tests, after a comment; indented but for its first line.
pub(super) fn rule(why: &str, head: &str, alternatives: &[String]) -> String {
    let mut text = String::new();
    if !why.is_empty() {
        comment(&mut text, 4, why);
    }
    let _ = write!(text, "    {head} {{\n      {}\n    }}", alternatives.join(" ||\n      "));
    text.trim_start().to_owned()
}

fn comment(text: &mut String, indent: usize, words: &str) {
    for line in wrapped(words.split(' '), WIDTH - 3 - indent, " ") {
        let _ = writeln!(text, "{:indent$}// {line}", "");
    }
}

/// Whether it is an identifier of Kafel and not a keyword; keywords are in capitals, except for `define`.
pub(super) fn is_identifier(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic()) && name != "define"
}

/// The name of an action without a number.
pub(super) fn action(verdict: Verdict) -> Option<&'static str> {
    let name = match verdict.action() {
        Action::Allow => "ALLOW",
        Action::Log => "LOG",
        Action::KillThread => "KILL",
        Action::KillProcess => "KILL_PROCESS",
        Action::UserNotif(_) => "USER_NOTIF",
        _ => return None,
    };
    (verdict.data() == 0).then_some(name)
}

/// The action of a verdict.
fn action_text(verdict: Verdict) -> String {
    match (verdict.action(), action(verdict)) {
        (_, Some(name)) => name.to_owned(),
        // Kafel's grammar has no names here, not even defined ones.
        (Action::Errno(errno), _) => format!("ERRNO({errno})"),
        (Action::Trap(data), _) => format!("TRAP({data})"),
        (Action::Trace(data), _) => format!("TRACE({data})"),
        _ => String::new(),
    }
}
