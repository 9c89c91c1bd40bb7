//! Versions from the table of the man page syscalls(2), which is troff for tbl(1).
//!
//! Its rows have three fields between tabs: `name(2)`, the version, a note. A field is a text or a
//! block of lines from `T{` to `T}`.

use callgate_tasks::Result;
use std::collections::BTreeMap;

/// The version that introduced each syscall, as in the page: `1.0`, `2.6.28`, `5.1`.
pub(super) fn read(page: &str) -> Result<BTreeMap<String, String>> {
    let mut versions = BTreeMap::new();
    for row in rows(page) {
        let mut fields = row.split('\t');
        let (Some(name), Some(version)) = (fields.next(), fields.next()) else { continue };
        let Some(name) = plain(name).strip_suffix("(2)").map(str::to_owned) else { continue };
        // "2.6; 2.4.18" means that it was also added to an older, still maintained series.
        let version = version.split(';').next().unwrap_or_default().trim();
        if version.is_empty() {
            continue; // Only a note, which the supplement covers.
        }
        if !version.bytes().all(|b| b.is_ascii_digit() || b == b'.') || !version.contains('.') {
            return Err(format!("syscalls(2): {name} has the version {version:?}"));
        }
        if versions.insert(name.clone(), version.to_owned()).is_some() {
            return Err(format!("syscalls(2): {name} has two rows"));
        }
    }
    if versions.is_empty() {
        return Err("syscalls(2): missing table of names and versions".to_owned());
    }
    Ok(versions)
}

/// The rows of the table, with blocks joined to one line.
fn rows(page: &str) -> Vec<String> {
    let table = page
        .lines()
        .skip_while(|line| !line.starts_with(".TS"))
        .take_while(|line| !line.starts_with(".TE"))
        .filter(|line| !line.starts_with(".\\\""));
    let mut rows = Vec::new();
    let mut row = String::new();
    let mut in_block = false;
    for line in table {
        let mut line = line;
        if in_block {
            match line.strip_prefix("T}") {
                None => {
                    row += line.trim_start_matches(".BR ");
                    row.push(' ');
                    continue;
                }
                Some(rest) => line = rest,
            }
        }
        in_block = line.ends_with("T{");
        row += line.strip_suffix("T{").unwrap_or(line);
        if !in_block {
            rows.push(std::mem::take(&mut row));
        }
    }
    rows
}

/// A field without font changes, blanks and comments.
fn plain(field: &str) -> String {
    let field = field.split("\\\"").next().unwrap_or_default();
    field.replace("\\f[B]", "").replace("\\f[]", "").replace([' ', '"'], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_every_form_are_read() {
        let page = "text read(2)\t9.9\n\
            .TS\nLb Lb Lb\nLw(26n)2 L Lx.\nSystem call\tKernel\tNotes\n_\n\
            .\\\" a comment\n\
            \\f[B]accept4\\f[](2)\t2.6.28\n\
            T{\n.BR accept (2)\nT}\t2.0\tT{\nSee notes on \\f[B]socketcall\\f[](2)\nT}\n\
            \\f[B]fgetxattr\\f[](2)\t2.6; 2.4.18\n\
            T{\n.BR pread64 (2)\nT}\t\tT{\nA note.\nT}\n\
            \\f[B]bdflush\\f[](2)\t1.2\tT{\nDeprecated,\nremoved\nT}\n\
            .TE\nwrite(2)\t9.9\n";
        let expected = [("accept", "2.0"), ("accept4", "2.6.28"), ("bdflush", "1.2")]
            .into_iter()
            .chain([("fgetxattr", "2.6")])
            .map(|(name, version)| (name.to_owned(), version.to_owned()));
        assert_eq!(read(page), Ok(expected.collect()));
    }

    #[test]
    fn a_page_without_the_table_is_refused() {
        assert!(read(".TH x\n").is_err());
        assert!(read(".TS\na(2)\tsoon\n.TE\n").unwrap_err().contains("soon"));
    }
}
