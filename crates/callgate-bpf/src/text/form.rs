//! Recognises the form of a text, and in documents of Markdown a second program: source code in one block of code and a program
//! in another form in a second block are two programs.

use super::clean::clean;
use super::{dumped, gvisor, seccomp_tools, several, source, table};
use crate::diagnostic::{Diagnostic, Position, error};
use crate::lexer::tokens;
use crate::token::Token;

/// A textual form of programs; see the [module](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Decimal,
    Table,
    Hex,
    Source,
    GVisor,
    /// Statements of seccomp-tools.
    Statements,
    /// libseccomp's pseudo filter code, which is refused.
    PseudoFilterCode,
    Assembly,
}

/// Recognises the form: by the first line, or for source code by its macros and braces.
pub(super) fn form(text: &str, assembly: &[Token<'_>]) -> Form {
    let mut lines = assembly.split(Token::is_line_end).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let second = lines.next();
    let table = table::is_table(first);
    let source = assembly
        .iter()
        .any(|token| token.is('{') || token.is_word("BPF_STMT") || token.is_word("BPF_JUMP"))
        || (assembly.iter().any(|token| token.is('(')) && source::builder(assembly).is_some());
    let decimal = match first {
        [count] => is_count(count.text) && second.is_none_or(|line| line.len() > 1),
        [count, comma, ..] => is_count(count.text) && comma.is(','),
        _ => false,
    };
    if table {
        Form::Table
    } else if source {
        Form::Source
    } else if is_pseudo_filter_code(text) {
        Form::PseudoFilterCode
    } else if seccomp_tools::is_text(assembly) {
        Form::Statements
    } else if decimal {
        Form::Decimal
    } else if gvisor::is_line(first) || second.is_some_and(gvisor::is_line) {
        Form::GVisor
    } else if table::is_hex(text) {
        Form::Hex
    } else {
        Form::Assembly
    }
}

/// Words of source code with a program.
const SOURCE_WORDS: [&str; 7] = [
    "BPF_STMT",
    "BPF_JUMP",
    "sock_filter",
    "sock_fprog",
    "SockFilter",
    "SockFprog",
    "RawInstruction",
];

/// Whether a text has marks of a program, which no other text has. Each word is an instruction of some assembly, a brace may
/// begin anything, and a number may be any number.
pub fn has_marks(text: &str) -> bool {
    let cleaned = clean(text);
    if several::is_trace(text)
        || dumped::is_dumped(&cleaned.text)
        || table::is_firejail(&cleaned.text)
    {
        return true;
    }
    let Ok(assembly) = tokens(&cleaned.text) else { return false };
    match form(&cleaned.text, &assembly) {
        Form::Assembly | Form::Decimal => false,
        Form::Source => {
            let is_mark = |token: &Token<'_>| SOURCE_WORDS.iter().any(|word| token.is_word(word));
            assembly.iter().any(is_mark) || source::builder(&assembly).is_some()
        }
        Form::Table | Form::Hex | Form::GVisor | Form::Statements | Form::PseudoFilterCode => true,
    }
}

/// Whether libseccomp wrote a text with `seccomp_export_pfc(3)`.
fn is_pseudo_filter_code(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start();
        line.starts_with("if ($arch ") || line.starts_with("if ($syscall ")
    })
}

/// Whether a text can be the count of a decimal table.
fn is_count(text: &str) -> bool {
    text.len() <= 5 && text.chars().all(|c| c.is_ascii_digit())
}

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
            let error = error(Position { line, column: 1 }, message);
            return Some(error.help("give the block that is meant alone"));
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
    let assembly = tokens(&cleaned.text).ok()?;
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

/// Whether a block has Kafel rules without a name: `ALLOW { read } DEFAULT KILL`.
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
