//! Unified diffs, as `patch(1)` and `git apply` read them.

use std::fmt::Write;

/// Unchanged lines before and after a change.
const CONTEXT: usize = 3;

/// The maximum number of differing lines that are searched; beyond, one hunk replaces everything between the first and
/// the last difference.
const MAX_DIFFERENCES: usize = 1000;

/// Changed lines: where they start in both texts, and how many they are.
#[derive(Clone, Copy, Debug)]
struct Run {
    old: usize,
    new: usize,
    removed: usize,
    added: usize,
}

/// The patch that changes `old` to `new`, with the name of the file in its header. Empty if the texts are equal.
pub fn unified_diff(name: &str, old: &str, new: &str) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let runs = runs(&a, &b);
    if runs.is_empty() {
        return String::new();
    }
    let path = path(name);
    let mut text = format!("--- a/{path}\n+++ b/{path}\n");
    hunks(&mut text, &a, &b, &runs);
    text
}

/// The patch that makes a file which does not exist.
pub fn new_file_diff(name: &str, new: &str) -> String {
    let lines: Vec<&str> = new.split_inclusive('\n').collect();
    let runs = runs(&[], &lines);
    if runs.is_empty() {
        return String::new();
    }
    let mut text = format!("--- /dev/null\n+++ b/{}\n", path(name));
    hunks(&mut text, &[], &lines, &runs);
    text
}

/// Appends the changed lines with their contexts.
fn hunks(text: &mut String, a: &[&str], b: &[&str], runs: &[Run]) {
    let mut rest = runs;
    while let Some(first) = rest.first() {
        // Changes whose contexts touch are one hunk.
        let apart = |pair: &[Run]| match pair {
            [one, next] => next.old - (one.old + one.removed) > 2 * CONTEXT,
            _ => false,
        };
        let count = rest.windows(2).position(apart).map_or(rest.len(), |at| at + 1);
        let (hunk, others) = rest.split_at(count);
        rest = others;
        let Some(last) = hunk.last() else { break };
        let before = first.old.min(CONTEXT);
        let (old_end, new_end) = (last.old + last.removed, last.new + last.added);
        let after = (a.len() - old_end).min(CONTEXT);
        let (start, new_start) = (first.old - before, first.new - before);
        let range = |start: usize, count: usize| match count {
            0 => format!("{start},0"),
            1 => format!("{}", start + 1),
            _ => format!("{},{count}", start + 1),
        };
        let (old_range, new_range) =
            (range(start, old_end + after - start), range(new_start, new_end + after - new_start));
        let _ = writeln!(text, "@@ -{old_range} +{new_range} @@");
        let mut done = start;
        for run in hunk {
            lines(text, ' ', a.get(done..run.old));
            lines(text, '-', a.get(run.old..run.old + run.removed));
            lines(text, '+', b.get(run.new..run.new + run.added));
            done = run.old + run.removed;
        }
        lines(text, ' ', a.get(done..old_end + after));
    }
}

/// The name of a file in a header: without a slash in front and without `..`, which `patch` and `git apply` refuse, and with
/// a tab behind it if it has blanks.
fn path(name: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let end = if name.contains(char::is_whitespace) { "\t" } else { "" };
    parts.join("/") + end
}

fn lines(text: &mut String, sign: char, lines: Option<&[&str]>) {
    for line in lines.unwrap_or_default() {
        text.push(sign);
        text.push_str(line);
        if !line.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// The changed lines, by Myers' algorithm ("An O(ND) Difference Algorithm and Its Variations", 1986).
fn runs(a: &[&str], b: &[&str]) -> Vec<Run> {
    let prefix = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (old, new) = (a.get(prefix..).unwrap_or_default(), b.get(prefix..).unwrap_or_default());
    let suffix = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let old = old.get(..old.len() - suffix).unwrap_or_default();
    let new = new.get(..new.len() - suffix).unwrap_or_default();
    if old.is_empty() && new.is_empty() {
        return Vec::new();
    }
    let whole = || vec![Run { old: prefix, new: prefix, removed: old.len(), added: new.len() }];
    match steps(old, new) {
        None => whole(),
        Some(steps) => joined(steps, prefix),
    }
}

/// A removed line of the old text, or an added one of the new text, where both have these indices.
#[derive(Clone, Copy)]
struct Step {
    old: usize,
    new: usize,
    is_added: bool,
}

fn line<'t>(lines: &[&'t str], at: isize) -> Option<&'t str> {
    usize::try_from(at).ok().and_then(|at| lines.get(at).copied())
}

/// The removed and added lines in the order of the texts; `None` if there are too many.
fn steps(a: &[&str], b: &[&str]) -> Option<Vec<Step>> {
    let (rows, columns) = (a.len() as isize, b.len() as isize);
    let most = MAX_DIFFERENCES.min(a.len() + b.len()) as isize;
    let index = |diagonal: isize| usize::try_from(diagonal + most + 1).unwrap_or_default();
    // The furthest row on each diagonal.
    let mut furthest = vec![0isize; 2 * (most as usize) + 3];
    let mut traces: Vec<Vec<isize>> = Vec::new();
    let get = |furthest: &[isize], diagonal| furthest.get(index(diagonal)).copied().unwrap_or(-1);
    let is_down = |furthest: &[isize], diagonal: isize, count: isize| {
        diagonal == -count
            || diagonal != count && get(furthest, diagonal - 1) < get(furthest, diagonal + 1)
    };
    let mut end = None;
    'search: for count in 0..=most {
        traces.push(furthest.clone());
        for diagonal in (-count..=count).step_by(2) {
            let mut row = match is_down(&furthest, diagonal, count) {
                true => get(&furthest, diagonal + 1),
                false => get(&furthest, diagonal - 1) + 1,
            };
            while row < rows && row - diagonal < columns && line(a, row) == line(b, row - diagonal)
            {
                row += 1;
            }
            if let Some(slot) = furthest.get_mut(index(diagonal)) {
                *slot = row;
            }
            if row >= rows && row - diagonal >= columns {
                end = Some(count);
                break 'search;
            }
        }
    }
    let (mut row, mut column) = (rows, columns);
    let mut steps = Vec::new();
    for count in (1..=end?).rev() {
        let trace = traces.get(usize::try_from(count).ok()?)?;
        let diagonal = row - column;
        let is_added = is_down(trace, diagonal, count);
        let previous = if is_added { diagonal + 1 } else { diagonal - 1 };
        row = get(trace, previous);
        column = row - previous;
        let (old, new) = (usize::try_from(row).ok()?, usize::try_from(column).ok()?);
        steps.push(Step { old, new, is_added });
    }
    steps.reverse();
    Some(steps)
}

/// Steps next to each other as runs.
fn joined(steps: Vec<Step>, prefix: usize) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for Step { old, new, is_added } in steps {
        let (old, new) = (old + prefix, new + prefix);
        let follows = |run: &&mut Run| run.old + run.removed == old && run.new + run.added == new;
        if runs.last_mut().filter(follows).is_none() {
            runs.push(Run { old, new, removed: 0, added: 0 });
        }
        if let Some(run) = runs.last_mut() {
            *(if is_added { &mut run.added } else { &mut run.removed }) += 1;
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::random::Rng;

    #[test]
    fn a_change_has_its_context() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = "1\n2\n3\n4\n5\nx\n6\n7\n8\n9\n";
        let hunk = "@@ -3,6 +3,7 @@\n 3\n 4\n 5\n+x\n 6\n 7\n 8\n";
        assert_eq!(unified_diff("/p", old, new), format!("--- a/p\n+++ b/p\n{hunk}"));
        assert_eq!(unified_diff("p", old, old), "");
    }

    #[test]
    fn a_new_file_has_no_old_name() {
        let patch = "--- /dev/null\n+++ b/etc/a.conf\n@@ -0,0 +1,2 @@\n+a\n+b\n";
        assert_eq!(new_file_diff("/etc/a.conf", "a\nb\n"), patch);
        assert_eq!(new_file_diff("/etc/a.conf", ""), "");
    }

    #[test]
    fn names_are_those_that_patch_accepts() {
        let header = |name| unified_diff(name, "a\n", "b\n").lines().next().unwrap().to_owned();
        for (name, path) in [
            ("./p.json", "p.json"),
            ("../../p.json", "p.json"),
            ("a/../b/./p.json", "b/p.json"),
            ("/etc//p.json", "etc/p.json"),
            ("my p.json", "my p.json\t"),
        ] {
            assert_eq!(header(name), format!("--- a/{path}"), "{name}");
        }
    }

    #[test]
    fn a_missing_line_break_is_reported() {
        let text = unified_diff("p", "a", "a\nb\n");
        let end = "\\ No newline at end of file";
        assert_eq!(text, format!("--- a/p\n+++ b/p\n@@ -1 +1,2 @@\n-a\n{end}\n+a\n+b\n"));
        assert_eq!(unified_diff("p", "", "a\n"), "--- a/p\n+++ b/p\n@@ -0,0 +1 @@\n+a\n");
    }

    /// Applies a patch.
    fn patched(old: &str, patch: &str) -> String {
        let lines: Vec<&str> = old.split_inclusive('\n').collect();
        let (mut new, mut at) = (String::new(), 0);
        for line in patch.lines().skip(2) {
            if let Some(rest) = line.strip_prefix("@@ -") {
                let range = rest.split(' ').next().unwrap();
                let (start, count) = range.split_once(',').unwrap_or((range, "1"));
                let start = start.parse::<usize>().unwrap() - usize::from(count != "0");
                new.push_str(&lines[at..start].concat());
                at = start;
            } else if let Some(kept) = line.strip_prefix(' ') {
                assert_eq!(lines[at].trim_end_matches('\n'), kept);
                new.push_str(lines[at]);
                at += 1;
            } else if let Some(removed) = line.strip_prefix('-') {
                assert_eq!(lines[at].trim_end_matches('\n'), removed);
                at += 1;
            } else if let Some(added) = line.strip_prefix('+') {
                new.push_str(added);
                new.push('\n');
            }
        }
        new + &lines[at..].concat()
    }

    #[test]
    fn random_patches_apply() {
        let mut rng = Rng::new(1);
        for _ in 0..3000 {
            let mut text = || -> String {
                (0..rng.below(30)).map(|_| ["a\n", "b\n", "c\n"][rng.below(3)]).collect()
            };
            let (old, new) = (text(), text());
            assert_eq!(patched(&old, &unified_diff("p", &old, &new)), new, "{old:?} {new:?}");
        }
    }

    #[test]
    fn very_different_texts_are_one_hunk() {
        let old: String = (0..3000).map(|n| format!("a{n}\n")).collect();
        let new: String = (0..3000).map(|n| format!("b{n}\n")).collect();
        let patch = unified_diff("p", &old, &new);
        assert!(patch.contains("@@ -1,3000 +1,3000 @@"));
        assert_eq!(patched(&old, &patch), new);
    }
}
