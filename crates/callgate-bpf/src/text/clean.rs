//! What surrounds a program in a document: prompts of a shell, fences of Markdown, the marks of a diff or of a quoted
//! mail, and line numbers.
//!
//! All of them are replaced by blanks, so the positions of the rest are unchanged. A document whose lines were joined
//! to one, with their numbers in between, is split again.
//!
//! What looks like decoration may be a comment or code of C. So in what may be source code, lines are removed only at both
//! ends, and a text is a diff only if it begins as no text in C can.

use std::borrow::Cow;

use crate::diagnostic::{Diagnostic, Position, error};

/// A text without decoration.
pub(super) struct Cleaned<'a> {
    pub(super) text: Cow<'a, str>,
    /// The line of the original, if it was split.
    split_from: Option<u32>,
    /// What is wrong if the text is source code.
    of_source: Option<Diagnostic>,
}

/// Removes the decoration.
pub(super) fn clean(text: &str) -> Cleaned<'_> {
    let (text, split_from) = match split(text) {
        Some((split, line)) => (Cow::Owned(split), Some(line)),
        None => (Cow::Borrowed(text), None),
    };
    let is_source = ["{", "BPF_STMT", "BPF_JUMP"].iter().any(|sign| text.contains(sign));
    let text = if is_source { text } else { without_entities(text) };
    let (decoration, mut of_source) = Decoration::of(&text, is_source);
    if !decoration.is_any && !text.lines().any(|line| is_outside(line, &decoration)) {
        return Cleaned { text, split_from, of_source };
    }
    let (start, end) = match is_source {
        true => inner(&text, &decoration),
        false => (usize::MAX, 0),
    };
    let mut cleaned = String::with_capacity(text.len());
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let content = line.trim_end_matches(['\n', '\r']);
        let is_end = at < start || at >= end;
        let is_removed = (decoration.is_diff && is_of_diff(content))
            || (is_end && is_outside(content, &decoration));
        if is_removed && !is_of_diff(content) && has_code_of_c(content) {
            let position = Position { line: (at + 1).try_into().unwrap_or(u32::MAX), column: 1 };
            let message = "this line looks like a command or a mark of a document, but holds code";
            let help = "delete it, or write the code on a line of its own";
            of_source.get_or_insert(error(position, message).help(help));
        }
        let kept = match is_removed {
            true => "",
            false => decoration.strip(content),
        };
        let blanks = content.chars().count() - kept.chars().count();
        cleaned.extend(std::iter::repeat_n(' ', blanks));
        cleaned.push_str(kept);
        cleaned.push_str(line.get(content.len()..).unwrap_or_default());
    }
    Cleaned { text: Cow::Owned(cleaned), split_from, of_source }
}

/// A listing from a page in HTML, where `<`, `>` and `&` are escaped. The columns stay the same.
fn without_entities(text: Cow<'_, str>) -> Cow<'_, str> {
    const ENTITIES: [(&str, &str); 3] = [("&lt;", "<   "), ("&gt;", ">   "), ("&amp;", "&    ")];
    match ENTITIES.iter().any(|(entity, _)| text.contains(entity)) {
        true => Cow::Owned(
            ENTITIES
                .iter()
                .fold(text.into_owned(), |text, (entity, sign)| text.replace(entity, sign)),
        ),
        false => text,
    }
}

/// A text without decoration, each line and column where it was; `None` for a text that has none, or whose decoration may be a
/// part of it.
pub fn without_decoration(text: &str) -> Option<String> {
    let cleaned = clean(text);
    let is_changed = cleaned.text != text && cleaned.split_from.is_none();
    (is_changed && cleaned.of_source.is_none()).then(|| cleaned.text.into_owned())
}

/// The lines from the first one of the program to the last one, as a range of indices.
fn inner(text: &str, decoration: &Decoration) -> (usize, usize) {
    let is_program = |line: &str| !line.trim().is_empty() && !is_outside(line, decoration);
    let (mut start, mut end) = (usize::MAX, 0);
    for (at, line) in text.lines().enumerate() {
        if is_program(line) {
            start = start.min(at);
            // The next line continues this one.
            end = at + 1 + usize::from(line.trim_end().ends_with('\\'));
        }
    }
    (start, end)
}

/// Whether a line that is removed has marks of C, which a tag of a template has too.
fn has_code_of_c(line: &str) -> bool {
    let is_tag = line.trim_start().starts_with("{%");
    let marks: &[&str] = if is_tag { &["/*", "*/"] } else { &["/*", "*/", "{", "}"] };
    marks.iter().any(|mark| line.contains(mark))
}

impl Cleaned<'_> {
    /// The message with the position in the original text.
    pub(super) fn original(&self, mut message: Diagnostic) -> Diagnostic {
        if let (Some(line), Some(position)) = (self.split_from, message.position) {
            let before = self.text.split('\n').take(position.line.saturating_sub(1) as usize);
            let column: usize = before.map(|line| line.chars().count() + 1).sum();
            message.position = Some(Position { line, column: column as u32 + position.column });
        }
        message
    }

    /// What is wrong with the decoration, if the text is source code.
    pub(super) fn of_source(&self) -> Option<Diagnostic> {
        self.of_source.clone()
    }

    /// An error for a line that stands for lines that are left out.
    pub(super) fn left_out(&self) -> Option<Diagnostic> {
        let is_ellipsis = |line: &str| {
            let line = line.trim();
            (line.contains("...") || line.contains('…'))
                && line.chars().all(|c| matches!(c, '.' | '…') || c.is_whitespace())
        };
        let (line, number) = self.text.lines().zip(1u32..).find(|(line, _)| is_ellipsis(line))?;
        let column = line.chars().take_while(|c| c.is_whitespace()).count() as u32 + 1;
        let position = Position { line: number, column };
        let error = error(position, "lines of the program are left out here");
        Some(error.help("give the complete program: what is left out cannot be known"))
    }
}

/// Decoration that all lines have.
#[derive(Default)]
struct Decoration {
    is_any: bool,
    is_diff: bool,
    is_quoted: bool,
    is_numbered: bool,
}

impl Decoration {
    /// The decoration, and what is wrong with it in source code.
    fn of(text: &str, is_source: bool) -> (Decoration, Option<Diagnostic>) {
        let lines = || text.lines().filter(|line| !line.trim().is_empty());
        let is_quoted =
            lines().next().is_some() && lines().all(|line| line.trim_start().starts_with('>'));
        let header = text.lines().zip(1u32..).filter(|(line, _)| !line.trim().is_empty());
        let header = header.take(20).find(|(line, _)| is_header(line)).map(|(_, number)| number);
        let is_added = lines().next().is_some_and(|line| line.starts_with('+'))
            && lines().all(|line| line.starts_with(['+', '-', ' ', '@', '\\']));
        let is_numbered = !is_quoted && is_numbered(text);
        let is_diff = is_added || (header.is_some() && (!is_source || begins_as_diff(text)));
        let wrong = header.filter(|_| !is_diff && !is_quoted).map(|line| {
            let message = "this looks like a diff, but other text is before it";
            error(Position { line, column: 1 }, message)
                .help("give the diff alone, or the source code without the line")
        });
        let is_any = is_diff || is_quoted || is_numbered;
        (Decoration { is_any, is_diff, is_quoted, is_numbered }, wrong)
    }

    /// The rest of a line.
    fn strip<'t>(&self, line: &'t str) -> &'t str {
        let mut rest = line;
        if self.is_quoted {
            rest = rest.trim_start().trim_start_matches(['>', ' ']);
        }
        if self.is_diff {
            rest = rest.strip_prefix('+').unwrap_or(rest);
        }
        if self.is_numbered {
            rest = numbered(rest).map_or(rest, |(_, rest)| rest);
        }
        rest
    }
}

/// Whether a line begins the changes of a file in a diff.
fn is_header(line: &str) -> bool {
    line.starts_with("@@ -") || line.starts_with("diff --git ")
}

/// Whether a text begins with a diff, as no text in C can: at the start, its words and marks are not a declaration.
fn begins_as_diff(text: &str) -> bool {
    const BEFORE: &[&str] = &["diff ", "index ", "Index: ", "====", "--- ", "+++ "];
    let is_commit = |line: &str, word: &str| {
        let rest = line.strip_prefix(word).unwrap_or_default();
        rest.chars().take(7).filter(char::is_ascii_hexdigit).count() == 7
    };
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if is_header(line) || is_commit(line, "From ") || is_commit(line, "commit ") {
            return true;
        }
        let is_before = BEFORE.iter().any(|start| line.starts_with(start));
        if !is_before && !is_outside(line, &Decoration::default()) {
            return false;
        }
    }
    false
}

/// Whether a line of a diff is not part of the new text.
fn is_of_diff(line: &str) -> bool {
    const OF_DIFF: &[&str] = &["-", "@@", "diff ", "index ", "+++ "];
    OF_DIFF.iter().any(|start| line.starts_with(start))
}

/// Whether a line is not part of a program.
fn is_outside(line: &str, decoration: &Decoration) -> bool {
    if decoration.is_diff && is_of_diff(line) {
        return true;
    }
    let line = decoration.strip(line).trim_start();
    let is_tag = line.starts_with("{%") && line.trim_end().ends_with("%}");
    line.starts_with("```") || line.starts_with("~~~") || is_tag || is_prompt(line)
}

/// Whether a line is a command at the prompt of a shell: `$ cmd`, `[host]$ cmd`, `user@host:~# cmd`.
pub(super) fn is_prompt(line: &str) -> bool {
    let Some(first) = line.split_whitespace().next() else { return false };
    let ends = |word: &str| word.ends_with('$') || word.ends_with('#');
    if let Some(inside) = line.strip_prefix('[') {
        let after = inside.split_once(']').map(|(_, after)| after);
        return after.is_some_and(|after| after.starts_with("$ ") || after.starts_with("# "));
    }
    let is_code = first.contains(['"', '\'']) || first.contains("/*") || first.contains("//");
    line.starts_with("$ ")
        || (!is_code && first.contains('@') && !first.starts_with('@') && ends(first))
}

/// The number at the start of a line, and the rest.
fn numbered(line: &str) -> Option<(u32, &str)> {
    let line = line.trim_start();
    let length = line.find(|c: char| !c.is_ascii_digit()).unwrap_or(line.len());
    let (digits, rest) = line.split_at_checked(length)?;
    let is_end = rest.is_empty() || rest.starts_with(char::is_whitespace);
    if !is_end || digits.starts_with('0') {
        return None;
    }
    Some((digits.parse().ok()?, rest))
}

/// Whether a line is more than numbers.
fn has_code(line: &str) -> bool {
    line.contains([':', '(', '{']) || line.contains("//")
}

/// Whether all lines begin with consecutive numbers that are line numbers. They are not if only numbers follow (a table in
/// decimal), or if they begin at 0 (a listing of instructions).
fn is_numbered(text: &str) -> bool {
    let mut before = None;
    let mut has_words = false;
    let mut count = 0usize;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let Some((number, rest)) = numbered(line) else { return false };
        if before.is_some_and(|before: u32| before.checked_add(1) != Some(number)) {
            return false;
        }
        before = Some(number);
        count += 1;
        has_words |= has_code(rest);
    }
    count >= 2 && has_words
}

/// The lines of a text that was joined to one line, with their numbers.
fn split(text: &str) -> Option<(String, u32)> {
    let (line, number) = text.lines().zip(1u32..).find(|(line, _)| !line.trim().is_empty())?;
    if text.lines().skip(number as usize).any(|line| !line.trim().is_empty()) {
        return None;
    }
    let (mut next, _) = numbered(line)?;
    let mut split = String::with_capacity(line.len());
    let mut rest = line;
    let mut count = 0usize;
    let mut is_start = true;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..)?;
        // Only the last blank before a number is looked at, so no part of the text is read again.
        let may_follow = c.is_whitespace() && after.starts_with(|c: char| c.is_ascii_digit());
        let found = (is_start || may_follow)
            .then(|| numbered(if is_start { rest } else { after }))
            .flatten()
            .filter(|(number, _)| *number == next);
        if found.is_some() && !is_start {
            split.push('\n');
        } else {
            split.push(c);
        }
        if found.is_some() {
            next = next.checked_add(1)?;
            count += 1;
        }
        is_start = false;
        rest = after;
    }
    (count >= 3 && has_code(line)).then_some((split, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(text: &str) -> String {
        clean(text).text.into_owned()
    }

    #[test]
    fn decoration_becomes_blanks() {
        for (text, expected) in [
            ("[host]$ ./dump x\nret ALLOW\n", "                \nret ALLOW\n"),
            ("if (A &lt; 3 &amp; 1) x", "if (A <    3 &     1) x"),
            ("$ cmd\r\nld [0]\r\n", "     \r\nld [0]\r\n"),
            ("me@box:~/x# cmd\nld [0]", "               \nld [0]"),
            ("```c\n{ 6, 0, 0, 0 }\n```", "    \n{ 6, 0, 0, 0 }\n   "),
            ("{% highlight c %}\nret #0", "                 \nret #0"),
            ("> ld [0]\n> ret #0", "  ld [0]\n  ret #0"),
            ("@@ -1 +1,2 @@\n x\n-ld [0]\n+ret #0\n", "             \n x\n       \n ret #0\n"),
            ("+ld [0]\n ret #0", " ld [0]\n ret #0"),
            ("  9 00: ret 0 // é\n 10 01: ret 0", "    00: ret 0 // é\n    01: ret 0"),
            ("4 { 6, 0, 0, 0 },\n5", "  { 6, 0, 0, 0 },\n "),
        ] {
            assert_eq!(cleaned(text), expected, "{text}");
        }
    }

    #[test]
    fn lines_of_source_code_are_removed_at_both_ends_only() {
        for text in [
            "int x = {\n/*a@b# */ {6,0,0,1},\n};",
            "/* the filter:\n``` */ {6,0,0,1}, /*\n```\n*/\n{6,0,0,2},",
            "/*\n[x]# */ {6,0,0,1},\n{6,0,0,2},",
            "int x = {\n$ {6,0,0,1},\n{6,0,0,2} };",
            "char *x = \"{\\\n``` \";",
        ] {
            assert_eq!(cleaned(text), text);
        }
        for text in [
            "/*\n@@ -1 +1 @@\n*/\n{6,0,0,1\n-1},",
            "/*\ndiff --git a b\n*/\n{6,0,0,1\n-1},",
            "$ {6,0,0,1},\n{6,0,0,2},",
            "{6,0,0,1}, /*\n``` */ {6,0,0,2},",
        ] {
            assert!(clean(text).of_source().is_some(), "{text}");
        }
        for text in [
            "```c\n{6,0,0,1},\n```",
            "$ dump\n{6,0,0,1},\n$ ",
            "$ git show\ncommit 1234567\nA: me\n\n x\ndiff --git a b\n@@ -1 +1 @@\n-{6,0,0,1},\n+{6,0,0,2},",
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-{6,0,0,1},\n+{6,0,0,2},",
        ] {
            let clean = clean(text);
            assert_eq!(clean.of_source(), None, "{text}");
            assert_eq!(clean.text.matches("{6").count(), 1, "{text}");
        }
    }

    #[test]
    fn a_program_without_decoration_is_unchanged() {
        for text in [
            "",
            "2\n3 0 0 1\n4 0 0 2",
            "0 ld nr\n1 ret #0",
            "1\n6 0 0 0\n",
            "0600\n0000\n",
            "#define A $ x\n",
            "a: ld [0]\n@b: ret #0",
            "7 0 0 0 8 0 0 0 9 0 0 0",
            "[1, 2]$x",
        ] {
            assert!(matches!(clean(text).text, Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn joined_lines_are_split_at_their_numbers() {
        let joined = "\n8 00: load32 4 // the 9 arch 10 01: ret 0 // 0 11 // end 12 02: ret 1";
        let Some((text, line)) = split(joined) else { panic!("not split") };
        assert_eq!(line, 2);
        assert_eq!(
            text,
            "8 00: load32 4 // the\n9 arch\n10 01: ret 0 // 0\n11 // end\n12 02: ret 1"
        );
        assert_eq!(split("1 2"), None);
        let clean = clean(joined);
        let at = |line, column| {
            let message = error(Position { line, column }, "x");
            clean.original(message).position
        };
        assert_eq!(at(1, 3), Some(Position { line: 2, column: 3 }));
        assert_eq!(at(3, 4), Some(Position { line: 2, column: 33 }));
    }

    #[test]
    fn left_out_lines_are_found() {
        for (text, position) in [
            ("ld [0]\n  ...\nret #0", Some((2, 3))),
            ("....", Some((1, 1))),
            ("…", Some((1, 1))),
            ("ld [0] ; ...\n.\n", None),
        ] {
            let found = clean(text).left_out().and_then(|error| error.position);
            assert_eq!(found.map(|at| (at.line, at.column)), position, "{text}");
        }
    }
}
