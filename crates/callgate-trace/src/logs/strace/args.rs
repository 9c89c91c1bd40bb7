//! Parses the arguments of a syscall as strace prints them.

use callgate_bpf::syscalls::Args;
use callgate_core::Arch;
use memchr::memchr2;

/// Whether an argument is printed with its name, as in `flags=CLONE_VM`.
fn is_named(arg: &str) -> bool {
    let is_of_name = |byte: &u8| byte.is_ascii_lowercase() || *byte == b'_';
    let name = arg.bytes().position(|byte| !is_of_name(&byte));
    name.is_some_and(|end| end > 0 && arg.as_bytes().get(end) == Some(&b'='))
}

/// The arguments of a syscall, as far as they can be parsed without knowing the syscall.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ParsedArgs {
    /// The first six, where each is a number.
    numbers: [u64; 6],
    /// Which of them are numbers, and which have a minus sign: a bit for each.
    is_number: u8,
    is_negative: u8,
    /// Whether an argument is printed with its name.
    has_name: bool,
    /// Whether all arguments are printed as by `strace -e raw=all`.
    is_raw: bool,
    /// Whether the closing parenthesis is there.
    pub(super) is_closed: bool,
}

impl ParsedArgs {
    /// How many are parsed besides the last one: more than strace prints for any syscall.
    const MAX: usize = 16;

    /// Parses the arguments at the start of `text`, up to the closing parenthesis.
    pub(super) fn of(text: &str) -> ParsedArgs {
        ParsedArgs::raw(text.as_bytes())
            .unwrap_or_else(|| ParsedArgs::read(text, PlainNumber::parse))
    }

    /// Parses arguments that are all printed as by `strace -e raw=all`, one to six of them, which is faster. `None` for
    /// others.
    fn raw(mut rest: &[u8]) -> Option<ParsedArgs> {
        let mut args = ParsedArgs { is_raw: true, is_closed: true, ..ParsedArgs::default() };
        for number in &mut args.numbers {
            args.is_number = args.is_number << 1 | 1;
            (*number, rest) = match rest {
                [b'0', b'x', digits @ ..] => {
                    let (value, length) = digits_of::<16>(digits, 16)?;
                    (value, digits.get(length..)?)
                }
                [b'0', rest @ ..] => (0, rest),
                _ => return None,
            };
            rest = match rest {
                [b',', b' ', rest @ ..] => rest,
                [b')', ..] => return Some(args),
                _ => return None,
            };
        }
        None
    }

    /// Parses the arguments at the top level. All delimiters are ASCII, so this works on bytes. `plain` may recognize
    /// arguments that are [plain numbers](PlainNumber), which is faster.
    fn read(text: &str, plain: impl Fn(&[u8]) -> Option<PlainNumber>) -> ParsedArgs {
        let mut args = ParsedArgs { is_raw: true, ..ParsedArgs::default() };
        let bytes = text.as_bytes();
        let (mut start, mut count) = (0, 0);
        loop {
            let number = plain(bytes.get(start..).unwrap_or_default());
            let end = match &number {
                Some(number) => start + number.length,
                None => end_of_arg(bytes, start),
            };
            let delimiter = bytes.get(end);
            let is_last = delimiter != Some(&b',');
            if is_last || count < ParsedArgs::MAX {
                match number {
                    Some(PlainNumber { number, is_raw, .. }) => {
                        args.is_raw &= is_raw;
                        args.set(count, number);
                    }
                    None => {
                        let arg = trimmed(text.get(start..end).unwrap_or_default());
                        if !(is_last && arg.is_empty()) {
                            args.add(count, arg);
                        }
                    }
                }
            }
            if is_last {
                args.is_closed = delimiter.is_some();
                return args;
            }
            start = end + 1;
            count += 1;
        }
    }

    fn add(&mut self, index: usize, arg: &str) {
        match arg.as_bytes() {
            [b'0'] | [b'0', b'x', ..] => {}
            [b'0'..=b'9', ..] => self.is_raw = false,
            _ => {
                self.has_name |= is_named(arg);
                self.is_raw = false;
            }
        }
        if index < self.numbers.len() {
            if let Some(number) = number(arg) {
                self.set(index, number);
            }
        }
    }

    fn set(&mut self, index: usize, number: Number) {
        if let Some(kept) = self.numbers.get_mut(index) {
            *kept = number.value;
            self.is_number |= 1 << index;
            self.is_negative |= u8::from(number.is_negative) << index;
        }
    }

    /// The values of the arguments of a syscall with these arguments, if known.
    pub(super) fn values(&self, arch: Arch, facts: Args) -> impl Iterator<Item = Option<u64>> {
        // strace prints 64-bit arguments of 32-bit ABIs as one, and those of clone in another order.
        let is_exact = arch.is_64bit() && !self.has_name || self.is_raw;
        let known = if is_exact { self.is_number } else { 0 };
        self.numbers.iter().enumerate().map(move |(index, number)| {
            let has = |bits: u8| bits >> index & 1 == 1;
            // The kernel ignores the high word of a 32-bit argument, so -1 may stand for two values.
            let is_wide = || facts.get(index).is_some_and(|arg| arg.bits == 64);
            (has(known) && (!has(self.is_negative) || is_wide())).then_some(*number)
        })
    }
}

/// The first six arguments, without blanks around them, and the text after the closing parenthesis, if there is one.
pub(crate) fn split_args(text: &str) -> (Vec<&str>, Option<&str>) {
    let bytes = text.as_bytes();
    let (mut args, mut start) = (Vec::new(), 0);
    loop {
        let end = end_of_arg(bytes, start);
        if args.len() < 6 {
            args.push(trimmed(text.get(start..end).unwrap_or_default()));
        }
        start = end + 1;
        if bytes.get(end) != Some(&b',') {
            return (args, text.get(start..));
        }
    }
}

/// An argument without a note behind it: a comment, or in angle brackets what `-y` adds to a descriptor.
pub(crate) fn without_note(arg: &str) -> &str {
    let bytes = arg.as_bytes();
    let starts_note = |at: &usize| match bytes.get(*at..) {
        // Not a shift.
        Some([b'<', next @ ..]) => next.first() != Some(&b'<'),
        Some([b' ', b'/', b'*', ..]) => true,
        _ => false,
    };
    let is_shift = |at: usize| at > 0 && bytes.get(at - 1) == Some(&b'<');
    let end = (0..bytes.len()).find(|at| starts_note(at) && !is_shift(*at));
    end.and_then(|end| arg.get(..end)).unwrap_or(arg)
}

/// The value of a text that is a number.
pub(crate) fn value_of_number(text: &str) -> Option<u64> {
    number(text).map(|number| number.value)
}

/// An argument that is a number.
#[derive(Clone, Copy)]
struct Number {
    value: u64,
    /// Whether it has a minus sign.
    is_negative: bool,
}

/// An argument that is only a number, as most are.
struct PlainNumber {
    number: Number,
    /// Whether `strace -e raw=all` prints it like this.
    is_raw: bool,
    /// The offset of the delimiter after it.
    length: usize,
}

impl PlainNumber {
    /// Parses the first argument of a text if it is a number, with at most one blank before it and none after it.
    /// `None` for other arguments, and for some rare spellings of numbers, which [`number`] reads.
    fn parse(text: &[u8]) -> Option<PlainNumber> {
        let blank = usize::from(text.first() == Some(&b' '));
        let plain = |value, is_raw, length| PlainNumber {
            number: Number { value, is_negative: false },
            is_raw,
            length: blank + length,
        };
        match text.get(blank..)? {
            [b'-', digits @ ..] => {
                let (value, length) = digits_of::<10>(digits, 18)?;
                let number = Number { value: value.wrapping_neg(), is_negative: true };
                Some(PlainNumber { number, ..plain(0, false, 1 + length) })
            }
            [b'0', b'x', digits @ ..] => {
                let (value, length) = digits_of::<16>(digits, 16)?;
                Some(plain(value, true, 2 + length))
            }
            [b'0'] | [b'0', b',' | b')', ..] => Some(plain(0, true, 1)),
            // Modes are octal.
            [b'0', ..] => None,
            digits => {
                let (value, length) = digits_of::<10>(digits, 19)?;
                Some(plain(value, false, length))
            }
        }
    }
}

/// The value of 1 to `most` digits that end at a delimiter or with the text, and their number.
fn digits_of<const BASE: u64>(text: &[u8], most: usize) -> Option<(u64, usize)> {
    let (mut value, mut length) = (0_u64, 0);
    for byte in text.iter().take(most + 1) {
        let digit = u64::from(DIGITS[usize::from(*byte)]);
        if digit >= BASE {
            return (length > 0 && matches!(byte, b',' | b')')).then_some((value, length));
        }
        value = value.wrapping_mul(BASE).wrapping_add(digit);
        length += 1;
    }
    (1..=most).contains(&length).then_some((value, length))
}

/// The value of each byte as a hexadecimal digit; 255 for other bytes.
const DIGITS: [u8; 256] = {
    let (mut digits, mut digit) = ([255; 256], 0);
    while digit < 16 {
        digits[b"0123456789abcdef"[digit] as usize] = digit as u8;
        digits[b"0123456789ABCDEF"[digit] as usize] = digit as u8;
        digit += 1;
    }
    digits
};

/// The offset of the delimiter after the argument that starts at `at`: a comma or a closing parenthesis at the top
/// level, or the end of the text.
fn end_of_arg(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0_usize;
    // The offset after the last `<` or the text in its brackets.
    let mut after_last_bracket = usize::MAX;
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let Some(skipped) = rest.iter().position(|byte| is_special(*byte)) else {
            return bytes.len();
        };
        let here = at + skipped;
        at = here + 1;
        match bytes.get(here).copied().unwrap_or_default() {
            b'"' => at = after_string(bytes, at),
            b'/' if bytes.get(at) == Some(&b'*') => at = after_comment(bytes, at),
            b'<' => {
                // Text that `-y` adds to a descriptor; not a shift or an arrow.
                if after_last_bracket != here && bytes.get(at) != Some(&b'<') {
                    at = after_bracket(bytes, at);
                }
                after_last_bracket = at;
            }
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b',' if depth == 0 => return here,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
}

/// Whether a byte may separate or group arguments.
fn is_special(byte: u8) -> bool {
    const SPECIAL: [bool; 256] = {
        let (mut special, mut index) = ([false; 256], 0);
        while index < 256 {
            special[index] = matches!(
                index as u8,
                b'"' | b'/' | b'<' | b'(' | b'[' | b'{' | b')' | b']' | b'}' | b','
            );
            index += 1;
        }
        special
    };
    SPECIAL[usize::from(byte)]
}

/// Removes blanks around an argument; most arguments have at most one.
fn trimmed(arg: &str) -> &str {
    let arg = arg.strip_prefix(' ').unwrap_or(arg);
    let is_graphic = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_graphic);
    let bytes = arg.as_bytes();
    if is_graphic(bytes.first()) && is_graphic(bytes.last()) { arg } else { arg.trim() }
}

/// The offset after a string whose opening quote is before `at`.
fn after_string(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            // An escape has at least one more character; its other characters are never quotes.
            b'\\' => at += 2,
            _ => {
                let rest = bytes.get(at..).unwrap_or_default();
                at += memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
            }
        }
    }
    bytes.len()
}

/// The offset after a comment; `at` is that of its first asterisk.
fn after_comment(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    // `/*/` is a complete comment.
    rest.windows(2).position(|pair| pair == b"*/").map_or(bytes.len(), |end| at + end + 2)
}

/// The offset after a pair of angle brackets that opens before `at`; `->` does not close it.
fn after_bracket(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    let mut dash = false;
    let end = rest.iter().position(|byte| {
        let is_end = *byte == b'>' && !dash;
        dash = *byte == b'-';
        is_end
    });
    end.map_or(bytes.len(), |end| at + end + 1)
}

/// Parses an argument that is printed as a number, with or without a note.
fn number(arg: &str) -> Option<Number> {
    if !matches!(arg.as_bytes(), [b'0'..=b'9' | b'-' | b'N', ..]) {
        return None;
    }
    let is_of_number = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+');
    let bytes = arg.as_bytes();
    let end = bytes.iter().position(|byte| !is_of_number(byte)).unwrap_or(bytes.len());
    let (number, rest) = arg.split_at_checked(end)?;
    if !(rest.is_empty() || is_note(rest)) {
        return None;
    }
    match number.as_bytes() {
        [b'-', ..] => {
            let value = number.get(1..)?.parse::<u64>().ok().filter(|value| *value <= 1 << 63)?;
            Some(Number { value: value.wrapping_neg(), is_negative: true })
        }
        _ => Some(Number { value: unsigned(number)?, is_negative: false }),
    }
}

/// The value of a number without a minus sign.
fn unsigned(number: &str) -> Option<u64> {
    match number.as_bytes() {
        b"NULL" => Some(0),
        [b'0', b'x', ..] => u64::from_str_radix(number.get(2..)?, 16).ok(),
        // `parse` also accepts a plus sign.
        digits if !digits.iter().all(u8::is_ascii_digit) => None,
        // Modes are octal.
        [b'0', _, ..] => u64::from_str_radix(number, 8).ok(),
        _ => number.parse().ok(),
    }
}

/// Whether a text behind a number is a note of strace: a comment, or in angle brackets what `-y` adds to a descriptor.
fn is_note(text: &str) -> bool {
    if text.starts_with('<') {
        let shift = text.as_bytes().windows(2).position(|pair| pair == b"<<");
        let before_shift = shift.and_then(|at| text.get(..at));
        return before_shift.is_none_or(|text| split_once(text, b" /*").is_some());
    }
    let comment = text.trim_start();
    comment.starts_with("/*")
        && text.get(..text.len() - comment.len()).is_some_and(|blanks| blanks.ends_with(' '))
}

/// Splits a text at the first occurrence of an ASCII delimiter. Unlike `str::split_once`, it prepares nothing, so it is
/// fast for short texts.
pub(super) fn split_once<'t, const N: usize>(
    text: &'t str,
    delimiter: &[u8; N],
) -> Option<(&'t str, &'t str)> {
    let at = text.as_bytes().windows(N).position(|window| window == delimiter)?;
    Some((text.get(..at)?, text.get(at + N..)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Numbers in all spellings, other arguments, and parts of them.
    fn argument() -> impl Strategy<Value = String> {
        let whole = proptest::sample::select(vec![
            "0",
            "00",
            "07",
            "08",
            "3",
            "-1",
            "NULL",
            "0x",
            "0x0",
            "0xfF",
            "0xg",
            "0X1",
            "0x+1",
            "18446744073709551615",
            "18446744073709551616",
            "9999999999999999999",
            "0xffffffffffffffff",
            "0x10000000000000000",
            "1<<3",
            "3</a,b>",
            "1 /* a, b */",
            "a=1",
            "\"a\\\", 1)\"",
            "[1, {2}]",
            "f(1)",
            "",
        ]);
        prop_oneof![
            whole.prop_map(str::to_owned),
            any::<u64>().prop_map(|number| format!("{number}")),
            any::<u64>().prop_map(|number| format!("{number:#x}")),
            "[-0-9a-fx ,()<>\"/*\\[\\]é\t]{0,6}",
        ]
    }

    proptest! {
        #[test]
        fn texts_are_split_as_by_the_standard_library(text in "[] a>é\t\u{a0}]{0,12}") {
            prop_assert_eq!(split_once(&text, b"] "), text.split_once("] "));
            prop_assert_eq!(split_once(&text, b" a>"), text.split_once(" a>"));
        }

        #[test]
        fn plain_numbers_are_read_like_other_arguments(
            args in proptest::collection::vec((argument(), "[ \t]{0,2}", "[ ]{0,1}"), 0..20),
            end in "(\\)( = 0)?\n?)?",
        ) {
            let args: Vec<String> =
                args.iter().map(|(arg, before, after)| format!("{before}{arg}{after}")).collect();
            let text = args.join(",") + &end;
            let slow = ParsedArgs::read(&text, |_| None);
            prop_assert_eq!(ParsedArgs::of(&text), slow, "{:?}", text);
        }

        #[test]
        fn raw_arguments_are_read_like_others(
            args in proptest::collection::vec("0|00|0x[0-9a-fA-F]{0,17}|0x[0-9a-f]{1,3}", 0..9),
            end in "(\\)( = 0)?\n?)?| \\)|,\\)",
        ) {
            let text = args.join(", ") + &end;
            let slow = ParsedArgs::read(&text, |_| None);
            prop_assert_eq!(ParsedArgs::of(&text), slow, "{:?}", text);
        }
    }

    /// An argument without the comment, and without the text that `-y` adds to a descriptor.
    fn without_notes(arg: &str) -> &str {
        let arg = arg.split_once(" /*").map_or(arg, |(arg, _)| arg.trim_end());
        match arg.find('<') {
            Some(at) if at > 0 && !arg.contains("<<") => &arg[..at],
            _ => arg,
        }
    }

    proptest! {
        #[test]
        fn notes_behind_a_number_are_ignored(arg in "(-|0x|NULL|[+0-9a]){0,3}( |\t|<|<<|<</a|>| /\\*|\\*/|\\*|é|a){0,5}") {
            let is_number = |bare: &str| number(bare).map(|number| (number.value, number.is_negative));
            prop_assert_eq!(is_number(&arg), is_number(without_notes(&arg)), "{:?}", arg);
        }
    }

    #[test]
    fn usual_numbers_are_plain() {
        for (text, value, length) in [
            ("0x7f, 1)", 0x7f, 4),
            (" 0xFFFFFFFFFFFFFFFF)", u64::MAX, 19),
            ("0)", 0, 1),
            (" 4096, 0)", 4096, 5),
            ("3", 3, 1),
        ] {
            let number = PlainNumber::parse(text.as_bytes());
            let number = number.map(|plain| (plain.number.value, plain.length));
            assert_eq!(number, Some((value, length)), "{text}");
        }
    }
}
