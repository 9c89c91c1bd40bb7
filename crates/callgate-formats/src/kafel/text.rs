//! The text of a policy: blocks of rules, perhaps with comments.

use std::fmt::Write;

use crate::annotated::{Annotated, Group, Reason};
use crate::layout::wrapped;
use crate::ruleset::{Comparison, Op};
use callgate_bpf::SyscallTable;
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

// Policies with comments.
//
// Kafel names some syscalls as the kernel does internally (`newuname`), and each version knows only the syscalls that
// existed at its release. Therefore each name is first defined as a number; definitions take precedence over Kafel's own
// names. Kafel then has no information about the arguments: they have 64 bits and the names that the policy gives them.
//
// Source: `src/parser.y` and `lexer.l` of Kafel.

/// The text; `None` for a filter of several architectures.
pub(super) fn write(policy: &Annotated) -> Option<String> {
    let [arch] = policy.arches.as_slice() else { return None };
    let mut text = PolicyText::default();
    text.comment(&format!("For {arch}; {}", policy.origin));
    text.comment(&format!("All {}.", policy.denied));
    text.gap();
    let mut names: Vec<&'static str> =
        policy.groups.iter().flat_map(|group| group.names.iter().copied()).collect();
    names.sort_unstable();
    names.dedup();
    let numbered = names.into_iter().filter_map(|name| Some((name, arch.number(name)?)));
    let numbered: Vec<(&'static str, u32)> = numbered.collect();
    for (name, nr) in numbered.iter().filter(|(name, _)| is_identifier(name)) {
        text.define(name, nr);
    }
    let word = |name: &str| {
        let nr = numbered.iter().find(|(known, _)| *known == name).map(|(_, nr)| *nr)?;
        Some(if is_identifier(name) { name.to_owned() } else { format!("SYSCALL[{nr}]") })
    };
    let is_conditional = |group: &&Group| !group.alternatives.is_empty();
    let conditional: Vec<&Group> = policy.groups.iter().filter(is_conditional).collect();
    let mut is_written = false;
    for group in &policy.groups {
        if is_conditional(&group) {
            // All rules with conditions are one block.
            if !is_written {
                let rules = conditional.iter().flat_map(|group| {
                    group.names.iter().filter_map(|name| Some(limited(group, &word(name)?)))
                });
                text.conditional(group.verdict, &rules.collect::<Vec<String>>());
            }
            is_written = true;
            continue;
        }
        let mut words: Vec<String> = group.names.iter().filter_map(|name| word(name)).collect();
        words.extend(group.numbers.iter().map(|nr| format!("SYSCALL[{nr}]")));
        let why = match &group.reason {
            Reason::Recorded => "Recorded.",
            other => other.text(),
        };
        text.block(why, group.verdict, &words);
    }
    Some(text.finish("generated", policy.default))
}

/// A syscall with its limits.
fn limited(group: &Group, word: &str) -> String {
    let last = group.alternatives.iter().flatten().map(Comparison::arg).max().unwrap_or(0);
    let args: Vec<String> = (0..=last).map(|arg| format!("arg{arg}")).collect();
    let alternatives: Vec<String> = group
        .alternatives
        .iter()
        .map(|all| all.iter().map(test).collect::<Vec<String>>().join(" && "))
        .collect();
    rule(group.reason.text(), &format!("{word}({})", args.join(", ")), &alternatives)
}

fn test(comparison: &Comparison) -> String {
    let (arg, value) = (comparison.arg(), comparison.value());
    match comparison.op() {
        Op::MaskedEq(mask) => format!("(arg{arg} & {mask:#x}) == {value:#x}"),
        op => format!("arg{arg} {} {value:#x}", op.words().1),
    }
}
