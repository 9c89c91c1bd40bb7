//! Blocks of code in a document of Markdown: source code in one, and a program in another form in a second one, are two
//! programs.

use super::clean::clean;
use super::form::{Form, form};
use crate::diagnostic::{Diagnostic, Position};
use crate::lexer::{Flavour, tokens};

/// An error at the block of a document whose program is ignored if the document is read as source code.
pub(super) fn other_program(text: &str) -> Option<Diagnostic> {
    let mut lines = text.lines().zip(1u32..);
    // Documentation in a comment of C has blocks, too.
    let mut is_comment = false;
    loop {
        let next = |(line, number): (&'_ str, u32)| {
            let fence = Fence::of(line).filter(|_| !is_comment);
            let (open, close) = (comment_in(line), line.rfind("*/"));
            is_comment = if open == close { is_comment } else { open > close };
            Some((fence?, number))
        };
        let (fence, line) = lines.find_map(next)?;
        let mut block = String::new();
        for (line, _) in lines.by_ref().take_while(|(line, _)| !fence.is_closed_by(line)) {
            block.push_str(line);
            block.push('\n');
        }
        if let Some(what) = program_in(&block) {
            let message =
                format!("this block of the document is {what}, beside the source code in another");
            let position = Position { line, column: 1 };
            return Some(
                Diagnostic::error(Some(position), message)
                    .help("give the block that is meant alone"),
            );
        }
    }
}

/// The last begin of a comment of C in a line; `/proc/*` begins none.
fn comment_in(line: &str) -> Option<usize> {
    let is_begin = |at: &usize| {
        !line.get(..*at).is_some_and(|before| before.ends_with(|c: char| c.is_alphanumeric()))
    };
    line.rmatch_indices("/*").map(|(at, _)| at).find(is_begin)
}

/// The line before a block, as CommonMark has it.
struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    fn of(line: &str) -> Option<Fence> {
        let line = line.trim_start();
        let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let info = line.trim_start_matches(mark);
        let length = line.len() - info.len();
        // Otherwise it is code within a line: "```seccomp_data``` is the structure."
        let is_inline = mark == '`' && info.contains('`');
        (length >= 3 && !is_inline).then_some(Fence { mark, length })
    }

    /// Whether a line ends the block: it has at least as many marks, and nothing else.
    fn is_closed_by(&self, line: &str) -> bool {
        let rest = line.trim_start().trim_start_matches(self.mark);
        rest.trim().is_empty() && line.trim_start().len() - rest.len() >= self.length
    }
}

/// What a block is, if not source code and not text of which nothing is known.
fn program_in(block: &str) -> Option<&'static str> {
    let cleaned = clean(block);
    let assembly = tokens(&cleaned.text, Flavour::Assembly).ok()?;
    let has_start = |starts: &[&str]| {
        block.lines().any(|line| starts.iter().any(|start| line.trim_start().starts_with(start)))
    };
    let is_return = |line: &str| {
        let value = line.trim_start().strip_prefix("ret ").map(str::trim_start);
        value.is_some_and(|value| value.starts_with(|c: char| c == '#' || c.is_ascii_digit()))
    };
    match form(&cleaned.text, &assembly) {
        Form::Table | Form::Hex | Form::GVisor | Form::Statements => Some("a listing of a program"),
        Form::PseudoFilterCode => Some("libseccomp's pseudo filter code"),
        Form::Decimal if is_decimal(block) => Some("a listing of a program"),
        Form::Assembly
            if block.lines().any(is_return)
                || has_start(&["ret ALLOW", "ret KILL", "ret ERRNO", "ldx ", "ld ["]) =>
        {
            Some("a program in assembly")
        }
        Form::Assembly | Form::Decimal | Form::Source => {
            let is_policy = has_start(&["defaultAction:", "POLICY "])
                || ["\"defaultAction\"", "\"default_action\""]
                    .iter()
                    .any(|key| block.contains(key))
                || is_kafel(block);
            is_policy.then_some("a policy")
        }
    }
}

/// Whether a block is a count with rows of four numbers.
fn is_decimal(block: &str) -> bool {
    let is_number = |c: char| c.is_ascii_digit() || c == ',' || c.is_whitespace();
    let numbers = block.split([',', '\n', ' ', '\t', '\r']).filter(|word| !word.is_empty());
    block.chars().all(is_number) && numbers.count() > 4
}

/// Whether a block has rules of Kafel without a name: `ALLOW { read } DEFAULT KILL`.
fn is_kafel(block: &str) -> bool {
    const ACTIONS: [&str; 9] =
        ["ALLOW", "DENY", "KILL", "KILL_PROCESS", "LOG", "TRAP", "TRACE", "ERRNO", "USER_NOTIF"];
    let is_action = |word: &str| word.split('(').next().is_some_and(|word| ACTIONS.contains(&word));
    let mut last = "";
    block.split_whitespace().any(|word| {
        let before = std::mem::replace(&mut last, word);
        (before == "DEFAULT" && is_action(word))
            || (is_action(before) && word.starts_with('{'))
            || (is_action(word) && word.ends_with('{'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_program_in_a_document_is_found() {
        let source = "The filter:\n```c\nstruct sock_filter f[] = { { 6, 0, 0, 0 } };\n```\n";
        for (block, line) in [
            ("```\n 0000: 0x06 0x00 0x00 0x7fff0000   ret ALLOW\n```", Some(5)),
            ("and\n~~~ asm\nld [0]\nret #0\n~~~", Some(6)),
            ("```json\n{\n  \"defaultAction\": \"SCMP_ACT_ALLOW\"\n}\n```", Some(5)),
            ("```\nPOLICY a { ALLOW { read } }\n```", Some(5)),
            ("```\n1\n6 0 0 2147418112\n```", Some(5)),
            ("```\n1,6 0 0 2147418112\n```", Some(5)),
            ("```\n ret 0\n```", Some(5)),
            ("```json\n{\"defaultAction\": \"SCMP_ACT_ALLOW\"}\n```", Some(5)),
            ("```\nALLOW { read } DEFAULT KILL\n```", Some(5)),
            ("```seccomp_data``` is the structure.\n```\nret 0\n```", Some(6)),
            ("````\ntext\n```\nmore\n````\n```\nret 0\n```", Some(10)),
            ("````md\n```c\nint x;\n```\n````\n```\nret 0\n```", Some(10)),
            ("See /proc/* for it.\n```\nret 0\n```", Some(6)),
            ("```\n12\n```", None),
            ("```\nx\n```text\nret x\n```", None),
            ("```c\nint main(void) { return install(); }\n```", None),
            ("```\ncc -o a a.c && ./a\n```", None),
            ("/* As in\n```\nret ALLOW\n```\n*/", None),
            ("Its action is `ret ALLOW`.", None),
        ] {
            let error = other_program(&format!("{source}{block}\n"));
            assert_eq!(error.and_then(|error| error.position).map(|at| at.line), line, "{block}");
        }
        let many = format!("{source}{}```\nret 0\n```\n", "```\nx\n```\n".repeat(1000));
        assert!(other_program(&many).is_some());
    }
}
