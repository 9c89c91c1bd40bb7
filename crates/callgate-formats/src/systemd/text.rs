//! The text of units: assignments of words, and comments.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::arches::name;
use super::{SystemdVersion, group_members, group_names};
use crate::annotated::{Annotated, Reason};
use crate::layout::wrapped;
use callgate_core::{Action, Arch, errno_name};

/// The maximum width of a line.
const WIDTH: usize = 80;

/// Assignments of words; several add up.
pub(super) fn lines<'w>(
    text: &mut String,
    key: &str,
    sign: &str,
    words: impl IntoIterator<Item = &'w str>,
) {
    let width = WIDTH - key.len() - sign.len();
    for line in wrapped(words, width, " ") {
        let _ = writeln!(text, "{key}{sign}{line}");
    }
}

/// A comment.
pub(super) fn comment(text: &mut String, words: &str) {
    for line in wrapped(words.split(' '), WIDTH - 2, " ") {
        let _ = writeln!(text, "# {line}");
    }
}

/// The names of architectures that systemd knows.
pub(super) fn names_of(arches: &[Arch]) -> impl Iterator<Item = &'static str> {
    arches.iter().filter_map(|arch| name(*arch))
}

/// An errno by name, if the name means the same everywhere or, as ENOSYS, on the main architecture, for which systemd reads it.
pub(super) fn errno_text(errno: u16, main: Arch) -> String {
    if errno == main.enosys() {
        return "ENOSYS".to_owned();
    }
    let name = errno_name(errno).filter(|_| errno <= 34);
    name.map_or_else(|| errno.to_string(), str::to_owned)
}

// Drop-ins with comments: `SystemCallFilter=` of systemd.exec(5), and directives that limit arguments. Several lines of an
// allowlist add up. systemd adds the set `@default` itself.

/// The text.
pub(super) fn write(policy: &Annotated) -> Option<String> {
    let (key, sign) = match policy.default.action() {
        Action::Log => ("SystemCallLog=", "~"),
        _ => ("SystemCallFilter=", ""),
    };
    let mut text = String::new();
    comment(&mut text, &policy.origin);
    comment(&mut text, &format!("All {}.", policy.denied));
    text.push_str("[Service]\n");
    let arches: Vec<&str> = names_of(&policy.arches).collect();
    if !arches.is_empty() {
        let _ = writeln!(text, "SystemCallArchitectures={}", arches.join(" "));
    }
    if let Action::Errno(errno) = policy.default.action() {
        let main = policy.arches.first().copied().unwrap_or(Arch::X86_64);
        let _ = writeln!(text, "SystemCallErrorNumber={}", errno_text(errno, main));
    }
    for group in policy.groups.iter().filter(|group| !group.names.is_empty()) {
        text.push('\n');
        comment(
            &mut text,
            match &group.reason {
                Reason::Recorded => "Recorded; systemd adds @default itself.",
                other => other.text(),
            },
        );
        lines(&mut text, key, sign, group.names.iter().copied());
    }
    for (why, line) in &policy.directives {
        text.push('\n');
        comment(&mut text, why);
        let _ = writeln!(text, "{line}");
    }
    for (what, names) in &policy.remarks {
        text.push('\n');
        comment(&mut text, what);
        comment(&mut text, &names.join(" "));
    }
    Some(text)
}

/// Words of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Words {
    /// Words that add syscalls, groups first.
    pub(crate) add: Vec<String>,
    /// Words that remove some of them.
    pub(crate) remove: Vec<String>,
}

impl Words {
    fn len(&self) -> usize {
        self.add.len() + self.remove.len()
    }
}

/// A set of names.
type Names<'n> = BTreeSet<&'n str>;

/// A group, and those of its members that matter.
struct Group<'n> {
    name: &'static str,
    members: Names<'n>,
}

/// The steps of the search for a minimal cover; beyond, the best cover found so far remains.
const MAX_STEPS: usize = 20_000;

/// The words for exactly the names `listed`, of these and `others`. A list of allowed syscalls contains `@default`.
pub(crate) fn words(
    listed: &Names<'_>,
    others: &Names<'_>,
    allows: bool,
    version: SystemdVersion,
) -> Words {
    let matters = |name: &&str| listed.contains(name) || others.contains(name);
    let groups: Vec<Group<'_>> = group_names(version)
        .filter(|name| *name != "@known")
        .map(|name| {
            let members = group_members(name, version).unwrap_or_default();
            Group { name, members: members.into_iter().filter(matters).collect() }
        })
        .collect();
    let implied: Names<'_> = match groups.iter().find(|group| group.name == "@default") {
        Some(default) if allows => default.members.clone(),
        _ => Names::new(),
    };
    // Either only groups without other names, or one group of which some names are removed again.
    let bases = std::iter::once(None).chain(groups.iter().map(Some));
    let found = bases.map(|base| {
        let mut contained = implied.clone();
        contained.extend(base.iter().flat_map(|group| &group.members));
        let rest: Names<'_> = listed.difference(&contained).copied().collect();
        let excess: Names<'_> = contained.difference(listed).copied().collect();
        let mut add = cover(&rest, &groups, |name| listed.contains(name));
        add.extend(base.map(|group| group.name.to_owned()));
        let remove = cover(&excess, &groups, |name| !listed.contains(name));
        Words { add: sorted(add), remove: sorted(remove) }
    });
    let mut best = found.min_by_key(Words::len).unwrap_or_default();
    if allows && best.add.is_empty() {
        // A list of allowed syscalls needs a first line to be one.
        best.add.push("@default".to_owned());
    }
    best
}

/// Groups before single names.
fn sorted(mut words: Vec<String>) -> Vec<String> {
    words.sort_by_key(|word| (!word.starts_with('@'), word.clone()));
    words.dedup();
    words
}

/// The fewest groups and names that contain `wanted`, and nothing that is not permitted.
fn cover(wanted: &Names<'_>, groups: &[Group<'_>], permits: impl Fn(&&str) -> bool) -> Vec<String> {
    let usable = groups.iter().filter(|group| group.members.iter().all(&permits));
    let useful: Vec<(&str, Names<'_>)> = usable
        .map(|group| (group.name, group.members.intersection(wanted).copied().collect()))
        .filter(|(_, members): &(&str, Names<'_>)| members.len() > 1)
        .collect();
    // A group that another one contains is never better; of equal ones, the first remains.
    let mut candidates: Vec<(&str, Names<'_>)> = Vec::new();
    for (index, (name, members)) in useful.iter().enumerate() {
        let mut others = useful.iter().enumerate().filter(|(other, _)| *other != index);
        let is_dominated = others.any(|(other, (_, more))| {
            members.is_subset(more) && (members.len() < more.len() || other < index)
        });
        if !is_dominated {
            candidates.push((name, members.clone()));
        }
    }
    candidates.sort_by_key(|(name, members)| (std::cmp::Reverse(members.len()), *name));
    let mut search = Search { candidates: &candidates, best: None, steps: 0 };
    search.run(wanted.clone());
    let (chosen, rest) = search.best.unwrap_or_default();
    let chosen = chosen.iter().filter_map(|index| candidates.get(*index));
    let words = chosen.map(|(name, _)| (*name).to_owned());
    words.chain(rest.into_iter().map(str::to_owned)).collect()
}

/// Branch and bound: take or skip each group.
struct Search<'s, 'n> {
    candidates: &'s [(&'s str, Names<'n>)],
    /// The chosen groups, and the names that they do not contain.
    best: Option<(Vec<usize>, Names<'n>)>,
    steps: usize,
}

impl<'n> Search<'_, 'n> {
    fn run(&mut self, wanted: Names<'n>) {
        // The next group, the chosen ones, and the names that are left; the best choice so far is on top.
        let mut open = vec![(0, Vec::new(), wanted)];
        while let Some((next, chosen, rest)) = open.pop() {
            self.steps += 1;
            let words = chosen.len() + rest.len();
            if self.best.as_ref().is_none_or(|(groups, names)| words < groups.len() + names.len()) {
                self.best = Some((chosen.clone(), rest.clone()));
            }
            let Some((_, members)) = self.candidates.get(next) else { continue };
            if self.steps > MAX_STEPS || !self.can_improve(next, chosen.len(), &rest) {
                continue;
            }
            open.push((next + 1, chosen.clone(), rest.clone()));
            let gain = members.intersection(&rest).count();
            if gain > 1 {
                let mut with = chosen;
                with.push(next);
                open.push((next + 1, with, rest.difference(members).copied().collect()));
            }
        }
    }

    /// Whether fewer words than the best are possible: with all names of the remaining groups in one of them.
    fn can_improve(&self, next: usize, chosen: usize, rest: &Names<'_>) -> bool {
        let remaining = self.candidates.get(next..).unwrap_or_default();
        let in_none = rest
            .iter()
            .filter(|name| !remaining.iter().any(|(_, members)| members.contains(*name)))
            .count();
        let least = chosen + in_none + usize::from(in_none < rest.len());
        self.best.as_ref().is_none_or(|(groups, names)| least < groups.len() + names.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &'static str, members: &[&'static str]) -> Group<'static> {
        Group { name, members: members.iter().copied().collect() }
    }

    #[test]
    fn a_cover_has_the_fewest_words() {
        // Greedy would take the largest group first and need three.
        let groups = [
            group("@large", &["b", "c", "d", "e"]),
            group("@left", &["a", "b", "c"]),
            group("@right", &["d", "e", "f"]),
            group("@more", &["a", "x"]),
        ];
        let wanted: Names<'_> = ["a", "b", "c", "d", "e", "f", "g"].into_iter().collect();
        assert_eq!(cover(&wanted, &groups, |name| *name != "x"), ["@left", "@right", "g"]);
        assert_eq!(cover(&Names::new(), &groups, |_| true), Vec::<String>::new());
    }

    #[test]
    fn what_is_almost_a_group_is_the_group_without_the_rest() {
        let version = SystemdVersion::LATEST;
        let service = group_members("@system-service", version).unwrap();
        let listed: Names<'_> =
            service.iter().copied().filter(|name| !["chown", "write"].contains(name)).collect();
        let others: Names<'_> = ["chown", "write", "mount", "reboot"].into_iter().collect();
        let found = words(&listed, &others, true, version);
        assert_eq!(found.add, ["@system-service"]);
        assert_eq!(found.remove, ["chown", "write"]);
    }

    #[test]
    fn a_list_of_allowed_syscalls_is_never_empty() {
        let none = Names::new();
        let found = words(&none, &none, true, SystemdVersion::LATEST);
        assert_eq!(found.add, ["@default"]);
    }
}
