//! Detection of units of systemd.

use super::read::is_without_section;

/// Whether the first line that is not a comment is the header of a section, or all lines are directives.
pub fn is_unit(text: &str) -> bool {
    if is_without_section(text) {
        return true;
    }
    let mut lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty() && !line.starts_with(['#', ';']));
    let name = line.and_then(|line| line.strip_prefix('[')?.strip_suffix(']'));
    name.is_some_and(|name| {
        name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_begin_with_a_section() {
        for unit in ["[Service]\n", "# x\n; y\n\n[X-Own]", "\u{feff}[Unit]"] {
            assert!(is_unit(unit), "{unit}");
        }
        for text in ["", "[a@b ~]$ x", "[]", "[1]", "x\n[Service]"] {
            assert!(!is_unit(text), "{text}");
        }
    }
}
