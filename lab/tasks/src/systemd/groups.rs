//! Compares the table of groups with the output of `systemd-analyze syscall-filter`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use callgate_formats::systemd::{SystemdVersion, group_members, group_names};

use callgate_tasks::Result;
use callgate_tasks::files::run;

/// The members of each group, among them other groups.
type Groups = BTreeMap<String, BTreeSet<String>>;

/// The number of groups, and the names of those that differ.
pub(super) fn compare(root: &Path, version: SystemdVersion) -> Result<(usize, Vec<String>)> {
    let mut command = Command::new("chroot");
    command.arg(root).args(["systemd-analyze", "syscall-filter", "--no-pager"]);
    let listed = parse(&run(&mut command)?);
    let own: BTreeSet<String> = group_names(version).map(str::to_owned).collect();
    let names: BTreeSet<String> = own.iter().chain(listed.keys()).cloned().collect();
    let differs = |name: &&String| {
        let members = group_members(name, version).unwrap_or_default();
        let members: BTreeSet<&str> = members.into_iter().collect();
        let expected = expanded(&listed, name);
        members.is_empty() || members != expected.iter().map(String::as_str).collect()
    };
    Ok((names.len(), names.iter().filter(differs).cloned().collect()))
}

/// Parses the output: a group, then its members, indented; `#` begins a comment.
fn parse(output: &str) -> Groups {
    let mut groups = Groups::new();
    let mut last = String::new();
    for line in output.lines() {
        let word = line.trim();
        if word.is_empty() || word.starts_with('#') {
            continue;
        }
        match line.starts_with('@') {
            true => {
                last = word.to_owned();
                groups.entry(last.clone()).or_default();
            }
            false => drop(groups.entry(last.clone()).or_default().insert(word.to_owned())),
        }
    }
    groups
}

/// The syscalls of a group and of the groups in it.
fn expanded(groups: &Groups, name: &str) -> BTreeSet<String> {
    let (mut found, mut seen, mut open) = (BTreeSet::new(), BTreeSet::new(), vec![name.to_owned()]);
    while let Some(name) = open.pop() {
        for member in groups.get(&name).into_iter().flatten() {
            match member.starts_with('@') {
                true if seen.insert(member.clone()) => open.push(member.clone()),
                true => {}
                false => drop(found.insert(member.clone())),
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_parsed_and_expanded() {
        let groups = parse(
            "@a\n    # A group\n    one\n    @b\n\n@b\n    @a\n    two\n\n# Unlisted\n#  three\n",
        );
        let of = |name| expanded(&groups, name).into_iter().collect::<Vec<_>>();
        assert_eq!(
            (groups.len(), of("@a"), of("@c")),
            (2, vec!["one".to_owned(), "two".to_owned()], vec![])
        );
        assert_eq!(of("@b"), of("@a"));
    }
}
