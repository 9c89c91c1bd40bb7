//! Actions, comparisons of arguments, and numbers as C reads them.

use crate::diagnostics::quote::{did_you_mean, shorten};
use crate::ruleset::{Comparison, Op};
use crate::syntax::reader::Reader;
use callgate_core::Verdict;

/// The actions, in the order in which LXC compares them with the start of a text.
const ACTIONS: [&str; 5] = ["kill", "errno", "allow", "trap", "notify"];

/// The action at the start of a text, and what follows it; `None` after an error was reported. LXC compares only the first
/// letters, so `kill_process` is `kill`.
pub(super) fn action<'t>(
    reader: &mut Reader<'_>,
    text: &'t str,
    at: usize,
) -> Option<(Verdict, &'t str)> {
    if text.starts_with('[') {
        let help = "write one of kill, errno N, allow, trap and notify before them";
        return reader.refuse(at, "missing action before the arguments", help);
    }
    let word = text.split([' ', '\t', '\r', '[', '#']).next().unwrap_or(text);
    let Some((name, rest)) =
        ACTIONS.iter().find_map(|name| Some((*name, text.strip_prefix(name)?)))
    else {
        let near = reader.nearest(word, ACTIONS);
        let message = format!("`{}` is not an LXC action", shorten(word));
        let help = did_you_mean(near, "the actions are kill, errno N, allow, trap and notify");
        return reader.refuse(at, message, help);
    };
    if name == "errno" {
        let Some((number, rest)) = integer(rest, Base::Decimal) else {
            let help = "LXC takes numbers from 0 to 4094, such as errno 1";
            return reader.refuse(at, "missing number after `errno`", help);
        };
        // SCMP_ACT_ERRNO keeps 16 bits of an int.
        let errno = number as u16;
        if i64::from(errno) != number {
            let message = format!("LXC keeps 16 bits of the errno {number}: {errno}");
            reader.warn(at, message).help = "use a number from 0 to 4094".to_owned();
        }
        return Some((Verdict::errno(errno), rest));
    }
    if name == "kill" && matches!(word, "kill_process" | "killprocess") {
        reader.warn(at, format!("LXC reads `{word}` as `kill`, which kills the thread")).help =
            "write kill; LXC has no action that kills the process".to_owned();
    } else if word != name {
        let message = format!("LXC reads `{}` as `{name}`", shorten(word));
        reader.warn(at, message).help = format!("write {name}");
    }
    let verdict = match name {
        "kill" => Verdict::KILL_THREAD,
        "allow" => Verdict::ALLOW,
        "trap" => Verdict::trap(0),
        _ => Verdict::user_notif(0),
    };
    Some((verdict, text.strip_prefix(word).unwrap_or(rest)))
}

/// Warns about text after an action or a number that LXC ignores, unless it is a comment.
pub(super) fn report_ignored(reader: &mut Reader<'_>, text: &str, at: usize, after: &str) {
    let ignored = text.split('#').next().unwrap_or(text).trim();
    if !ignored.is_empty() {
        let message = format!("LXC ignores `{}` after the {after}", shorten(ignored));
        reader.warn(at, message).help = "remove it, or write # before it".to_owned();
    }
}

/// The number of comparisons that LXC reads from a line.
const MAX_PER_RULE: usize = 6;

/// The number of characters that LXC keeps of a value or a mask, and of an operator.
const MAX_NUMBER: usize = 23;
const MAX_OPERATOR: usize = 30;

/// The comparisons of a line with `[`; `None` after an error was reported. As in LXC, each `]` ends one.
pub(super) fn arguments(reader: &mut Reader<'_>, line: &str, at: usize) -> Option<Vec<Comparison>> {
    let mut comparisons: Vec<Comparison> = Vec::new();
    let mut offset = at;
    let mut count = 0;
    for part in line.split(']') {
        let part_at = offset;
        offset += part.len() + 1;
        // `strtok` skips empty parts.
        if part.is_empty() {
            continue;
        }
        if count == MAX_PER_RULE {
            let message = format!("LXC ignores comparisons after the first {MAX_PER_RULE}");
            reader.warn(part_at, message).help = "remove what follows".to_owned();
            break;
        }
        let Some(open) = part.find('[') else {
            let message = format!("`{}` after the arguments", shorten(part));
            let help = "LXC refuses anything after the last ], even blanks and comments; remove it";
            return reader.refuse(part_at, message, help);
        };
        count += 1;
        let inside = part.get(open + 1..).unwrap_or("");
        let comparison = comparison(reader, inside, part_at + open)?;
        if let Some(same) = comparisons.iter().find(|one| one.arg() == comparison.arg()) {
            let message = format!("a second comparison of argument {}", same.arg());
            let help = "libseccomp rejects it, so the container would not start; write two rules if one comparison is enough";
            return reader.refuse(part_at + open, message, help);
        }
        comparisons.push(comparison);
    }
    Some(comparisons)
}

/// The comparison between two brackets.
fn comparison(reader: &mut Reader<'_>, text: &str, at: usize) -> Option<Comparison> {
    let mut fail = |what: String, help: &str| reader.refuse(at, what, help.to_owned());
    const FORM: &str = "the form is [INDEX,VALUE,OP] or [INDEX,VALUE,OP,MASK], such as [0,0x10000000,&=,0x10000000]; \
                        LXC also reads a [ in a comment";
    let malformed = || format!("`[{}]` is not an LXC comparison", shorten(text));
    let Some((index, rest)) = integer(text, Base::Detected) else {
        return fail(malformed(), FORM);
    };
    // LXC keeps 32 bits of the index.
    let Some(index) = u8::try_from(index as u32).ok().filter(|index| *index < 6) else {
        return fail(format!("argument {index} does not exist"), "arguments are 0 to 5");
    };
    let Some((value, rest)) = rest.strip_prefix(',').and_then(|rest| rest.split_once(',')) else {
        return fail(malformed(), FORM);
    };
    let operator_end = |c: char| c.is_ascii_digit() || matches!(c, '^' | ',');
    let (operator, rest) = rest.split_at(rest.find(operator_end).unwrap_or(rest.len()));
    if value.is_empty()
        || value.len() > MAX_NUMBER
        || operator.is_empty()
        || operator.len() > MAX_OPERATOR
    {
        return fail(malformed(), FORM);
    }
    let Some(value) = unsigned(value) else {
        let what = format!("`{}` is not a 64-bit number", shorten(value));
        return fail(what, "write decimal, 0x… or 0… without blanks after it");
    };
    let mask = rest.strip_prefix(',').map(|rest| rest.split(',').next().unwrap_or(rest));
    let mask = mask.filter(|mask| !mask.is_empty());
    let kept: Option<String> = mask.map(|mask| mask.chars().take(MAX_NUMBER).collect());
    let number = match &kept {
        Some(mask) => unsigned(mask),
        None => Some(0),
    };
    let Some(number) = number else {
        let what = format!("the mask `{}` is not a 64-bit number", shorten(mask.unwrap_or("")));
        return fail(what, "write decimal, 0x… or 0… without blanks around it");
    };
    let Some(op) = Op::named(|name, sign| [name, sign].contains(&operator), number) else {
        let what = format!("`{}` is not an LXC operator", shorten(operator));
        let help = "the operators are ==, !=, <, <=, >, >= and &=, without blanks around them";
        return fail(what, help);
    };
    match (op, mask) {
        (Op::MaskedEq(0), _) => {
            reader.warn(at, "a comparison with &= and without a mask always holds").help =
                "write the mask after the operator".to_owned();
        }
        (Op::MaskedEq(mask), _) if value & !mask != 0 => {
            let message = format!(
                "{value:#x} has bits outside of the mask {mask:#x}; libseccomp compares only those inside"
            );
            reader.warn(at, message).help = "the form is [INDEX,VALUE,&=,MASK]".to_owned();
        }
        (Op::MaskedEq(_), _) => {}
        (_, Some(_)) => {
            reader
                .warn(at, format!("LXC ignores the mask, because the operator is {}", op.words().1))
                .help = "write &=, or remove the mask".to_owned();
        }
        _ if !rest.is_empty() => {
            let message = format!("LXC ignores `{}` after the operator", shorten(rest));
            reader.warn(at, message).help = "remove it".to_owned();
        }
        _ => {}
    }
    Comparison::new(index, op, value)
}

/// Characters that C counts as white space.
const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

/// A text without the white space before it.
pub(super) fn skip_space(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_ascii() && is_space(c as u8))
}

/// The bases of an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// `%d`.
    Decimal,
    /// `%i`: hexadecimal after `0x`, octal after `0`.
    Detected,
}

/// An integer at the start of a text, after white space, and what follows it. As in C, the number saturates at 64 bits,
/// and the caller keeps the bits of its own type.
pub(super) fn integer(text: &str, base: Base) -> Option<(i64, &str)> {
    let text = skip_space(text);
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (magnitude, rest) = digits_of(digits, base)?;
    let limit = if is_negative { 1 << 63 } else { i64::MAX as u128 };
    let value = magnitude.min(limit) as i128;
    let value = if is_negative { -value } else { value };
    Some((value as i64, rest))
}

/// All of a text as an unsigned 64-bit number in a detected base, with white space and `+` before it.
pub(super) fn unsigned(text: &str) -> Option<u64> {
    let text = skip_space(text);
    let (value, rest) = digits_of(text.strip_prefix('+').unwrap_or(text), Base::Detected)?;
    if rest.is_empty() { u64::try_from(value).ok() } else { None }
}

/// The number at the start of a text, at most 2⁶⁴, and what follows it.
fn digits_of(text: &str, base: Base) -> Option<(u128, &str)> {
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (radix, digits) = match (base, hexadecimal) {
        (Base::Detected, Some(digits)) if digits.starts_with(|c: char| c.is_ascii_hexdigit()) => {
            (16, digits)
        }
        (Base::Detected, _) if text.starts_with('0') => (8, text),
        _ => (10, text),
    };
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let (number, rest) = digits.split_at_checked(end).filter(|(number, _)| !number.is_empty())?;
    let value = number
        .chars()
        .filter_map(|c| c.to_digit(radix))
        .fold(0u128, |value, digit| (value * u128::from(radix) + u128::from(digit)).min(1 << 64));
    Some((value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_those_of_sscanf() {
        assert_eq!(integer(" \t12x", Base::Decimal), Some((12, "x")));
        assert_eq!(integer("-7", Base::Decimal), Some((-7, "")));
        assert_eq!(integer("+7", Base::Decimal), Some((7, "")));
        assert_eq!(integer("0x10", Base::Decimal), Some((0, "x10")));
        assert_eq!(integer("0x10,", Base::Detected), Some((16, ",")));
        assert_eq!(integer("010", Base::Detected), Some((8, "")));
        assert_eq!(integer("08", Base::Detected), Some((0, "8")));
        assert_eq!(integer("99999999999999999999", Base::Decimal), Some((i64::MAX, "")));
        assert_eq!(integer("-99999999999999999999", Base::Decimal), Some((i64::MIN, "")));
        assert_eq!(integer("x", Base::Decimal), None);
        assert_eq!(integer("- 1", Base::Decimal), None);
    }

    #[test]
    fn unsigned_numbers_are_those_of_strtoull() {
        assert_eq!(unsigned(" +0xff"), Some(255));
        assert_eq!(unsigned("0"), Some(0));
        assert_eq!(unsigned("18446744073709551615"), Some(u64::MAX));
        for wrong in ["18446744073709551616", "-1", "1 ", "0x", "09", "", "a"] {
            assert_eq!(unsigned(wrong), None, "{wrong}");
        }
    }
}
