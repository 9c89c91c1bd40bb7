//! Lines of limited width.

use std::fmt::Write;

use super::options::{Mark, Paint, TextOptions};

/// How lines look.
pub(super) struct Layout {
    columns: usize,
    paint: Paint,
}

impl Layout {
    pub(super) fn new(options: &TextOptions<'_>) -> Layout {
        Layout { columns: options.width, paint: options.paint }
    }

    pub(super) fn paint(&self) -> Paint {
        self.paint
    }

    pub(super) fn heading(&self, text: &str) -> String {
        (self.paint)(Mark::Heading, text)
    }

    pub(super) fn unusual(&self, text: &str) -> String {
        (self.paint)(Mark::Unusual, text)
    }

    /// Appends wrapped text and a line break. In the first line, `used` columns are taken; the others start with `indent`
    /// blanks.
    pub(super) fn wrap(&self, text: &mut String, words: &str, used: usize, indent: usize) {
        let mut column = used;
        for (at, word) in words.split(' ').enumerate() {
            let length = width(word);
            if at > 0 && column.saturating_add(1 + length) > self.columns {
                let _ = write!(text, "\n{:indent$}", "");
                column = indent;
            } else if at > 0 {
                text.push(' ');
                column += 1;
            }
            text.push_str(word);
            column += length;
        }
        text.push('\n');
    }

    /// Appends a line that is indented by `indent`, and wrapped with a hanging indent of `hanging`.
    pub(super) fn line(&self, text: &mut String, words: &str, indent: usize, hanging: usize) {
        let _ = write!(text, "{:indent$}", "");
        self.wrap(text, words, indent, hanging);
    }
}

/// The width of a text in columns, without the escape sequences of colours.
pub(super) fn width(text: &str) -> usize {
    let mut columns = 0;
    let mut is_escape = false;
    for c in text.chars() {
        match c {
            '\u{1b}' => is_escape = true,
            'm' if is_escape => is_escape = false,
            _ => columns += usize::from(!is_escape),
        }
    }
    columns
}

/// `1 syscall`, `1,234 syscalls`.
pub(super) fn syscalls(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text + if number == 1 { " syscall" } else { " syscalls" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_have_no_width() {
        assert_eq!([width("ALLOW"), width("\u{1b}[32mALLOW\u{1b}[0m"), width("")], [5, 5, 0]);
    }

    #[test]
    fn lines_are_wrapped_between_words() {
        let layout = Layout { columns: 10, paint: |_, text| text.to_owned() };
        let mut text = String::new();
        layout.line(&mut text, "one two three four longer-than-a-line", 2, 4);
        assert_eq!(text, "  one two\n    three\n    four\n    longer-than-a-line\n");
    }

    #[test]
    fn thousands_are_separated() {
        assert_eq!([1, 999, 1234].map(syscalls), ["1 syscall", "999 syscalls", "1,234 syscalls"]);
    }
}
