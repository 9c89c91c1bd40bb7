//! Policies among other text, as people paste them: in a block of code of a document, in a here-document of a script, after the
//! prompt of a shell, as a quotation or in a diff. A program in a block of a document with prose, too.
//!
//! Everything else becomes blank, so that lines and columns of the policy stay what they are.

use callgate_bpf::text::{has_marks, without_decoration};
use callgate_formats::languages::{Likeness, detect};

/// The policy in a text that is in no format that is detected, at its place; `None` if there is none, or more than one.
pub(super) fn policy_within(text: &str) -> Option<String> {
    let blocks = blocks(text);
    if has_marks(text) {
        // It is a program, whose reader knows more about what is around it, except prose.
        return program_within(text, &blocks);
    }
    if blocks.is_empty() {
        return without_decoration(text).filter(|inner| is_policy(inner));
    }
    let is_any = |inner: &String| is_policy(inner) || has_marks(inner);
    let mut found = blocks.iter().map(|block| only(text, block)).filter(is_any);
    match (found.next(), found.next()) {
        (Some(inner), None) if is_policy(&inner) => Some(inner),
        (_, None) => program_within(text, &blocks),
        _ => None,
    }
}

/// The program in the only block of a document that has one, if the rest is prose.
fn program_within(text: &str, blocks: &[Block]) -> Option<String> {
    let lines = || text.lines().enumerate();
    let is_inside = |at: usize| blocks.iter().any(|block| block.contains(&at));
    let is_prose = |line: &str| {
        let line = line.trim();
        line.contains(' ') && !line.starts_with("```") && !line.starts_with("~~~")
    };
    let mut outside = String::new();
    for (_, line) in lines().filter(|(at, _)| !is_inside(*at)) {
        // Code may have a block in a comment.
        if line.trim_end().ends_with([';', '{', '}', '\\']) || line.contains("*/") {
            return None;
        }
        outside.push_str(line);
        outside.push('\n');
    }
    if !outside.lines().any(is_prose) || outside.lines().any(has_marks) {
        return None;
    }
    let is_any = |inner: &String| has_marks(inner) || is_policy(inner);
    let mut found = blocks.iter().map(|block| only(text, block)).filter(is_any);
    found.next().filter(|_| found.next().is_none())
}

/// Whether a text is in a language that its content shows.
fn is_policy(text: &str) -> bool {
    let is_empty = text.trim().is_empty();
    !is_empty
        && detect(None, text.as_bytes()).is_some_and(|(_, likeness)| likeness >= Likeness::Rest)
}

/// The first and the last line of a block, counted from 0.
type Block = std::ops::Range<usize>;

/// The blocks of code of a document, and the here-documents of a script.
fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    // What ends the block that is open, and its first line.
    let mut open: Option<(String, usize)> = None;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        match &open {
            Some((end, start)) if line == end => {
                blocks.push(*start..at);
                open = None;
            }
            Some(_) => {}
            None => open = begin(line).map(|end| (end, at + 1)),
        }
    }
    blocks
}

/// What ends the block that begins after a line: the same fence, or the word after `<<`.
fn begin(line: &str) -> Option<String> {
    for mark in ['`', '~'] {
        let fence: String = line.chars().take_while(|c| *c == mark).collect();
        let is_inline = line.get(fence.len()..).is_some_and(|rest| rest.contains(mark));
        if fence.len() >= 3 && !is_inline {
            return Some(fence);
        }
    }
    let (_, word) = line.split_once("<<")?;
    let word = word.trim_start_matches(['-', ' ']).split_whitespace().next()?;
    let word = word.trim_matches(['\'', '"', '\\']);
    let is_word = word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_word && word.starts_with(|c: char| c.is_ascii_alphabetic())).then(|| word.to_owned())
}

/// The text with these lines only; the others are empty.
fn only(text: &str, block: &Block) -> String {
    let mut inner = String::with_capacity(text.len());
    for (at, line) in text.split_inclusive('\n').enumerate() {
        if block.contains(&at) {
            inner.push_str(line);
        } else if line.ends_with('\n') {
            inner.push('\n');
        }
    }
    inner
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: &str = "{\"defaultAction\": \"SCMP_ACT_ALLOW\"}\n";

    #[test]
    fn a_policy_is_found_at_its_place() {
        for (text, lines) in [
            (format!("# Mine\n\n```json\n{PROFILE}```\n\nmount fails\n"), 3),
            (format!("text\n~~~~\n{PROFILE}~~~~\n"), 2),
            (format!("cat > p.json <<'EOF'\n{PROFILE}EOF\nls\n"), 1),
            (format!("tee p <<-END >/dev/null\n{PROFILE}END\n"), 1),
            (format!("$ cat p.json\n{PROFILE}$ \n"), 1),
            (format!("root@host:~# docker inspect web\n{PROFILE}"), 1),
            // A paste without its end.
            (format!("```\n{PROFILE}"), 1),
            (format!("see\n```\nls -l\n```\nand\n```\n{PROFILE}```\n"), 6),
        ] {
            let inner = policy_within(&text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(inner.trim(), PROFILE.trim(), "{text}");
            assert_eq!(
                inner.split(PROFILE.trim()).next().map(|before| before.matches('\n').count()),
                Some(lines)
            );
        }
        let quoted = "> ALLOW { read }\n> DEFAULT KILL\n";
        assert_eq!(policy_within(quoted).as_deref(), Some("  ALLOW { read }\n  DEFAULT KILL\n"));
    }

    #[test]
    fn a_program_is_found_between_prose() {
        let listing = "$ seccomp-tools dump ./a\n 0000: 0x06 0x00 0x00 0x7fff0000  return ALLOW\n";
        let document =
            format!("# Title\n\nThe program is small:\n\n```\n{listing}```\n\nThat is all.\n");
        let inner = policy_within(&document).unwrap();
        assert_eq!(inner, format!("\n\n\n\n\n{listing}\n\n\n"));
        for text in [
            format!("{document}\n```\n{listing}```\n"),
            format!("{document}\n```\n{PROFILE}```\n"),
            format!("{document}\n{listing}"),
            format!("{document}\nint x;\n"),
            format!(
                "/* see below\n```\n{listing}```\n*/ struct sock_filter f[] = {{ {{ 6, 0, 0, 0 }} }};\n"
            ),
            format!("```\n{listing}```\n"),
        ] {
            assert_eq!(policy_within(&text), None, "{text}");
        }
    }

    #[test]
    fn other_texts_are_left_alone() {
        for text in [
            String::new(),
            "just text\n".to_owned(),
            format!("```\n{PROFILE}```\n```\n{PROFILE}```\n"),
            "```\nret ALLOW\n```\n".to_owned(),
            "x = 1 << 4\n".to_owned(),
            format!(
                "```c\nstruct sock_filter f[] = {{ {{ 6, 0, 0, 0 }} }};\n```\n```\n{PROFILE}```\n"
            ),
        ] {
            assert_eq!(policy_within(&text), None, "{text}");
        }
    }
}
