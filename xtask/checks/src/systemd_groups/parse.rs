//! Parses the table of groups in `seccomp-util.c`.

use std::collections::BTreeMap;

use callgate_tasks::Result;

/// The start of the table.
const TABLE: &str = "const SyscallFilterSet syscall_filter_sets[";

/// The members of each group, in the order of the source.
pub(super) type Groups = BTreeMap<String, Vec<String>>;

/// Parses the table; `known` is the list that `@known` includes, a name per line.
pub(super) fn groups(source: &str, known: &str) -> Result<Groups> {
    let (_, table) = source.split_once(TABLE).ok_or_else(|| format!("no {TABLE:?}"))?;
    let (table, _) = table.split_once("\n};").ok_or("the table of groups has no end")?;
    let mut groups = Groups::new();
    let mut name: Option<String> = None;
    for line in without_comments(table).lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix(".name = \"") {
            let own = rest.split('"').next().unwrap_or_default();
            if groups.insert(own.to_owned(), Vec::new()).is_some() {
                return Err(format!("{own} is defined twice"));
            }
            name = Some(own.to_owned());
        } else if line.starts_with('"') || line.starts_with("#include \"syscall-list.") {
            let members = name.as_ref().and_then(|name| groups.get_mut(name));
            let members = members.ok_or_else(|| format!("a member outside a group: {line}"))?;
            match line.strip_prefix('"') {
                Some(rest) => members.push(member(rest)?),
                None => members.extend(known.lines().map(str::to_owned)),
            }
        }
    }
    match groups.iter().find(|(_, members)| members.is_empty()) {
        Some((name, _)) => Err(format!("{name} has no members")),
        None if groups.len() < 20 => Err(format!("only {} groups", groups.len())),
        None => Ok(groups),
    }
}

/// A member, from the text after its first quote: `read\0"`.
fn member(text: &str) -> Result<String> {
    let name = text.strip_suffix("\\0\"").unwrap_or_default();
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_@-".contains(c);
    match !name.is_empty() && name.chars().all(is_name) {
        true => Ok(name.to_owned()),
        false => Err(format!("not a member: \"{text}")),
    }
}

fn without_comments(source: &str) -> String {
    let mut parts = source.split("/*");
    let mut text = parts.next().unwrap_or_default().to_owned();
    // The spaces before a comment at the end of a line go as well.
    for part in parts {
        text.truncate(text.trim_end_matches(' ').len());
        text += part.split_once("*/").map_or("", |(_, rest)| rest);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_skipped_and_the_list_is_included() {
        let mut source = format!("x = 1;\n{TABLE}_MAX] = {{\n");
        for group in 0..20 {
            source += &format!(
                "[SET] = {{\n .name = \"@g{group}\",\n .help = \"a \\\"help\\\"\",\n .value =\n \"one\\0\"   /* why \"two\\0\" */\n \
                 /* three\n \"four\\0\" */\n \"@g1\\0\"\n }},\n"
            );
        }
        source += "[KNOWN] = {\n .name = \"@known\",\n \"@g1\\0\"\n#include \"syscall-list.h\"\n },\n};\n";
        let groups = groups(&source, "read\nwrite\n").unwrap();
        assert_eq!((groups.len(), &groups["@g7"]), (21, &vec!["one".to_owned(), "@g1".to_owned()]));
        assert_eq!(groups["@known"], ["@g1", "read", "write"]);
    }

    #[test]
    fn an_unexpected_source_is_an_error() {
        assert!(groups("", "").is_err());
        assert!(groups(&format!("{TABLE}] = {{"), "").is_err());
        assert!(
            member("read\"").is_err() && member("\\0\"").is_err() && member("a b\\0\"").is_err()
        );
    }
}
