//! Numbers in words.

/// `1 call`, `2 calls`.
pub(crate) fn count(calls: usize) -> String {
    counted(calls as u64, "call")
}

/// `1 filter`, `2 processes`, of what is counted.
pub(crate) fn counted(count: u64, what: &str) -> String {
    let plural = match what {
        _ if count == 1 => "",
        "process" => "es",
        _ => "s",
    };
    format!("{} {what}{plural}", grouped(count))
}

/// `once`, `2 times`.
pub(crate) fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{} times", grouped(count)) }
}

/// The name of a file as an argument of a command line that somebody copies into a shell: in quotes where
/// it needs them, and never an option or the format of a source.
pub(crate) fn argument(file: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    let first = file.split('/').next().unwrap_or_default();
    let here = if file.starts_with('-') || first.contains(':') { "./" } else { "" };
    if !file.is_empty() && file.chars().all(is_plain) {
        format!("{here}{file}")
    } else {
        format!("'{here}{}'", file.replace('\'', r"'\''"))
    }
}

/// A number with a comma between thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_in_the_singular_only_once() {
        assert_eq!([counted(1, "process"), counted(2, "process")], ["1 process", "2 processes"]);
        assert_eq!([counted(0, "call"), count(1)], ["0 calls", "1 call"]);
        assert_eq!(counted(9495, "call"), "9,495 calls");
    }

    #[test]
    fn arguments_mean_the_file_in_any_shell() {
        for (file, text) in [
            ("a-b/c_1.json", "a-b/c_1.json"),
            ("my log", "'my log'"),
            ("it's", r"'it'\''s'"),
            ("$(x)*\n", "'$(x)*\n'"),
            ("é", "'é'"),
            ("-o", "./-o"),
            ("- x", "'./- x'"),
            ("oci:x", "./oci:x"),
            ("./oci:x", "./oci:x"),
            ("/a/b:c", "/a/b:c"),
            ("", "''"),
        ] {
            assert_eq!(argument(file), text);
        }
    }

    #[test]
    fn thousands_are_told_apart() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }
}
