//! Blocks of code in a document of Markdown: source code in one, and a program in another form in a second one, are two
//! programs.

use super::clean::clean;
use super::form::{Form, form};
use crate::diagnostic::{Diagnostic, Position};
use crate::lexer::{Flavour, tokens};

/// How many blocks are looked at.
const MAX_BLOCKS: usize = 200;

/// An error at the block of a document whose program is ignored if the document is read as source code.
pub(super) fn other_program(text: &str) -> Option<Diagnostic> {
    let mut lines = text.lines().zip(1u32..);
    // Documentation in a comment of C has blocks, too.
    let mut is_comment = false;
    for _ in 0..MAX_BLOCKS {
        let is_fence = |(line, _): &(&str, u32)| {
            let is_fence = mark(line).is_some() && !is_comment;
            let (open, close) = (line.rfind("/*"), line.rfind("*/"));
            is_comment = if open == close { is_comment } else { open > close };
            is_fence
        };
        let (fence, line) = lines.find(is_fence)?;
        let mark_of_block = mark(fence);
        let mut block = String::new();
        let ends = |line: &str| mark(line) == mark_of_block;
        for (line, _) in lines.by_ref().take_while(|(line, _)| !ends(line)) {
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
    None
}

/// The mark of a fence.
fn mark(line: &str) -> Option<&str> {
    let line = line.trim_start();
    ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark))
}

/// What a block is, if not source code and not text of which nothing is known.
fn program_in(block: &str) -> Option<&'static str> {
    let cleaned = clean(block);
    let assembly = tokens(&cleaned.text, Flavour::Assembly).ok()?;
    let has_start = |starts: &[&str]| {
        block.lines().any(|line| starts.iter().any(|start| line.trim_start().starts_with(start)))
    };
    match form(&cleaned.text, &assembly) {
        Form::Table | Form::Hex | Form::GVisor | Form::Statements => Some("a listing of a program"),
        Form::PseudoFilterCode => Some("libseccomp's pseudo filter code"),
        Form::Assembly
            if has_start(&["ret #", "ret ALLOW", "ret KILL", "ret ERRNO", "ldx ", "ld ["]) =>
        {
            Some("a program in assembly")
        }
        Form::Assembly | Form::Decimal | Form::Source => {
            has_start(&["defaultAction:", "\"defaultAction\"", "POLICY "]).then_some("a policy")
        }
    }
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
            ("```c\nint main(void) { return install(); }\n```", None),
            ("```\ncc -o a a.c && ./a\n```", None),
            ("/* As in\n```\nret ALLOW\n```\n*/", None),
            ("Its action is `ret ALLOW`.", None),
        ] {
            let error = other_program(&format!("{source}{block}\n"));
            assert_eq!(error.and_then(|error| error.position).map(|at| at.line), line, "{block}");
        }
    }
}
