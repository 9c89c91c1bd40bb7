//! Tables of the versions of a profile, and the text of one version in Docker's format, or in the language of snaps.
//!
//! ```text
//! profile docker-default
//! series 19.03.0 29.7.2 Docker Engine
//! series 0.1.0 0.2.3 moby/profiles
//!
//! versions
//!   25.0.3-28.1.1
//!   28.2.0-29.4.1 0.1.0
//!
//! default
//!   all errno EPERM
//!
//! architectures
//!   all x86_64+x86+x32
//!
//! allow without SYS_ADMIN not-on s390,s390x if arg0 & 0x7e020000 == 0
//!   25.0.3 clone
//!       clone3
//! ```
//!
//! A `series` is the first and the last release that the table knows, and who numbers them. A release has two or three numbers; the
//! third is 0 if it is not written. A version is a line with the releases
//! that have the same profile; in the rest of the table, its name is the first of them. The versions are in the order of time, so
//! that rules hold in few ranges of them.
//!
//! Every other section has lines `RANGES WORD…`, which may be continued with a deeper indentation. RANGES is `all`, or a list of
//! `A`, `A-B` (both included) and `A-` with names of versions. The title of a section with syscalls is what happens to them, and
//! when: `with` capabilities, `without` any of them, `on` and `not-on` architectures as Docker names them, `from-kernel` and
//! `before-kernel` a version, `if` all comparisons hold. The names of architectures are those of libseccomp in lower case, the native
//! one before those that it adds.
//!
//! In a table of snaps, the section `rules` has a rule of that language in each line, besides the names in `allow`.
//!
//! To add a release, extend the last span of its series, and the `series` line. If its profile differs, add a version, and an end to the
//! ranges `A-` of what no longer holds. `cargo lab built-in-profiles` compares the table with the originals.

use std::fmt::Write;

use super::release::Release;
use super::rule::{Rule, verdict};

/// An error in a table: its line, and what is wrong.
pub(super) type TableError = (usize, String);

/// A table.
#[derive(Debug)]
pub(super) struct Table<'t> {
    series: Vec<Series<'t>>,
    versions: Vec<Version>,
    default: Vec<Line<'t>>,
    arches: Vec<Line<'t>>,
    rules: Vec<(Rule<'t>, Vec<Line<'t>>)>,
    /// Rules as they are written in the language of snaps.
    written: Vec<Line<'t>>,
}

/// Releases that are numbered together.
#[derive(Debug)]
struct Series<'t> {
    first: Release,
    last: Release,
    label: &'t str,
}

impl Series<'_> {
    /// Whether it has a release, or the last one with a beginning.
    fn has(&self, release: &Release) -> bool {
        self.first <= *release && (*release <= self.last || self.last.starts_with(release))
    }
}

/// Releases with the same profile.
#[derive(Debug)]
pub(super) struct Version {
    /// Its position in the table.
    index: usize,
    /// The first and the last of releases that follow each other.
    spans: Vec<(Release, Release)>,
}

impl Version {
    /// The first release.
    pub(super) fn name(&self) -> &Release {
        &self.spans[0].0
    }
}

/// Words that hold in some versions.
#[derive(Debug)]
struct Line<'t> {
    /// The first and the last version of each range, by position.
    ranges: Vec<(usize, usize)>,
    words: Vec<&'t str>,
}

impl Line<'_> {
    fn holds_in(&self, version: usize) -> bool {
        self.ranges.iter().any(|(first, last)| (*first..=*last).contains(&version))
    }
}

impl<'t> Table<'t> {
    pub(super) fn parse(text: &'t str) -> Result<Table<'t>, TableError> {
        let mut table = Table {
            series: Vec::new(),
            versions: Vec::new(),
            default: Vec::new(),
            arches: Vec::new(),
            rules: Vec::new(),
            written: Vec::new(),
        };
        let mut title = "";
        for (at, line) in text.lines().enumerate().map(|(index, line)| (index + 1, line)) {
            let wrong = |what: String| (at, what);
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                [] => {}
                _ if line.starts_with('#') => {}
                ["profile", _] => {}
                ["series", first, last, ..] => {
                    let label = line.splitn(4, ' ').nth(3).unwrap_or_default();
                    let (first, last) = (whole(first).map_err(wrong)?, whole(last).map_err(wrong)?);
                    table.series.push(Series { first, last, label });
                }
                [..] if !line.starts_with(' ') => {
                    title = line;
                    if !matches!(title, "versions" | "default" | "architectures" | "rules") {
                        table.rules.push((Rule::parse(&words).map_err(wrong)?, Vec::new()));
                    }
                }
                spans if title == "versions" => {
                    let spans = spans.iter().map(|text| span(text)).collect::<Result<_, _>>();
                    let (index, spans) = (table.versions.len(), spans.map_err(wrong)?);
                    table.versions.push(Version { index, spans });
                }
                [ranges, words @ ..] => {
                    let is_continued = line.starts_with("   ");
                    let ranges = match is_continued {
                        true => Vec::new(),
                        false => table.ranges(ranges).map_err(wrong)?,
                    };
                    let lines = match title {
                        "default" => Some(&mut table.default),
                        "architectures" => Some(&mut table.arches),
                        "rules" => Some(&mut table.written),
                        _ => table.rules.last_mut().map(|(_, lines)| lines),
                    };
                    let lines = lines.ok_or_else(|| wrong("it is in no section".to_owned()))?;
                    if !is_continued {
                        lines.push(Line { ranges, words: words.to_vec() });
                    } else if let Some(last) = lines.last_mut() {
                        last.words.extend(line.split_whitespace());
                    }
                }
            }
        }
        Ok(table)
    }

    /// Ranges of versions.
    fn ranges(&self, text: &str) -> Result<Vec<(usize, usize)>, String> {
        let last = self.versions.len().checked_sub(1).ok_or("no version precedes it")?;
        if text == "all" {
            return Ok(vec![(0, last)]);
        }
        let index = |name: &str| {
            let release = whole(name)?;
            let found = self.versions.iter().position(|version| *version.name() == release);
            found.ok_or_else(|| format!("no version begins with {name}"))
        };
        let range = |text: &str| match text.split_once('-') {
            None => index(text).map(|one| (one, one)),
            Some((first, "")) => Ok((index(first)?, last)),
            Some((first, last)) => Ok((index(first)?, index(last)?)),
        };
        text.split(',').map(range).collect()
    }

    /// All versions, the oldest first.
    pub(super) fn versions(&self) -> impl Iterator<Item = &Version> {
        self.versions.iter()
    }

    /// The newest version.
    pub(super) fn newest(&self) -> Option<&Version> {
        self.versions.last()
    }

    /// The version that a release has; of the beginning of a number, the last release with it. Where releases have two numbers,
    /// two are a release.
    pub(super) fn find(&self, release: &Release) -> Option<&Version> {
        let is_short = self.series.iter().any(|series| series.first.is_short());
        let whole = Some(release.clone()).filter(|_| is_short).and_then(Release::whole);
        let release = whole.as_ref().unwrap_or(release);
        let series = self.series.iter().find(|series| series.has(release))?;
        let lowest = release.lowest();
        let spans = self.versions.iter().flat_map(|version| {
            version.spans.iter().map(move |(first, last)| (first, last, version))
        });
        let with = spans
            .filter(|(first, last, _)| series.has(first) && *first <= release && lowest <= **last);
        with.max_by_key(|(first, ..)| *first).map(|(.., version)| version)
    }

    /// The releases that have a version: `Docker Engine 28.2.0 to 29.4.1`, `moby/profiles 0.1.0`.
    pub(super) fn releases(&self, version: &Version) -> Vec<String> {
        let each = self.series.iter().filter_map(|series| {
            let spans = version.spans.iter().filter(|(first, _)| series.has(first));
            let spans: Vec<String> = spans.map(|(first, last)| between(first, last)).collect();
            (!spans.is_empty()).then(|| format!("{} {}", series.label, spans.join(" and ")))
        });
        each.collect()
    }

    /// The releases that the table knows: `Docker Engine 19.03.0 to 29.7.2, moby/profiles 0.1.0 to 0.2.3`.
    pub(super) fn known(&self) -> String {
        let of = |one: &Series<'_>| format!("{} {}", one.label, between(&one.first, &one.last));
        self.series.iter().map(of).collect::<Vec<_>>().join(", ")
    }

    /// A release that the table knows.
    pub(super) fn example(&self) -> String {
        self.series.first().map_or(String::new(), |series| series.last.to_string())
    }

    /// The profile of a version in Docker's format, with each name on a line of its own.
    pub(super) fn profile(&self, version: &Version) -> String {
        let mut text = "{\n".to_owned();
        let words = |lines: &[Line<'t>]| {
            let lines = lines.iter().filter(|line| line.holds_in(version.index));
            let mut words: Vec<&str> = lines.flat_map(|line| line.words.iter().copied()).collect();
            words.sort_unstable();
            words
        };
        // One line holds: `allow`, `errno EPERM`.
        let default = self.default.iter().find(|line| line.holds_in(version.index));
        match default.and_then(|line| verdict(&line.words).ok()).unwrap_or(Some(1)) {
            None => text.push_str("  \"defaultAction\": \"SCMP_ACT_ALLOW\",\n"),
            Some(errno) => {
                let _ = writeln!(text, "  \"defaultAction\": \"SCMP_ACT_ERRNO\",");
                let _ = writeln!(text, "  \"defaultErrnoRet\": {errno},");
            }
        }
        let arch = |name: &str| format!("\"SCMP_ARCH_{}\"", name.to_ascii_uppercase());
        let arches = words(&self.arches).into_iter().map(|group| {
            let mut names = group.split('+').map(arch);
            let native = names.next().unwrap_or_default();
            let added = names.collect::<Vec<_>>().join(", ");
            format!("    {{\"architecture\": {native}, \"subArchitectures\": [{added}]}}")
        });
        let arches: Vec<String> = arches.collect();
        if !arches.is_empty() {
            let _ = writeln!(text, "  \"archMap\": [\n{}\n  ],", arches.join(",\n"));
        }
        let rules = self.rules.iter().map(|(rule, lines)| (rule, words(lines)));
        let rules = rules.filter(|(_, names)| !names.is_empty());
        let rules: Vec<String> = rules.map(|(rule, names)| rule.entry(&names)).collect();
        let _ = writeln!(text, "  \"syscalls\": [\n{}\n  ]\n}}", rules.join(",\n"));
        text
    }

    /// The profile of a version in the language of snaps: allowed names, and rules.
    pub(super) fn rules(&self, version: &Version) -> String {
        let names = self.rules.iter().flat_map(|(_, lines)| lines);
        let names = names.filter(|line| line.holds_in(version.index));
        let names = names.flat_map(|line| line.words.iter().map(|word| (*word).to_owned()));
        let rules = self.written.iter().filter(|line| line.holds_in(version.index));
        let lines = names.chain(rules.map(|line| line.words.join(" ")));
        lines.map(|line| line + "\n").collect()
    }

    /// Whether the table has the form that its readers expect; for tests.
    #[cfg(test)]
    pub(super) fn check(&self) -> Result<(), String> {
        for series in &self.series {
            let spans = self.versions.iter().flat_map(|version| &version.spans);
            let own: Vec<_> = spans.filter(|(first, _)| series.has(first)).collect();
            if let Some((first, last)) = own.iter().find(|(a, b)| a > b || !series.has(b)) {
                return Err(format!("{first}-{last} is not in its series"));
            }
            let first = own.iter().map(|(first, _)| first).min();
            let last = own.iter().map(|(_, last)| last).max();
            if first != Some(&series.first) || last != Some(&series.last) {
                return Err(format!("the versions are not those of {}", series.label));
            }
        }
        let defaults =
            |version: usize| self.default.iter().filter(|line| line.holds_in(version)).count();
        let expected = usize::from(self.written.is_empty());
        if (0..self.versions.len()).any(|version| defaults(version) != expected) {
            return Err("a version has no default, or several".to_owned());
        }
        if self.default.iter().any(|line| verdict(&line.words).is_err()) {
            return Err("a default is not a verdict".to_owned());
        }
        for (at, (rule, lines)) in self.rules.iter().enumerate() {
            if self.rules.iter().skip(at + 1).any(|(other, _)| other == rule) {
                return Err(format!("two sections have the title {rule:?}"));
            }
            if let Some(line) = lines.iter().find(|line| !line.words.is_sorted()) {
                return Err(format!("names are not sorted: {}", line.words.join(" ")));
            }
            let mut words: Vec<&str> =
                lines.iter().flat_map(|line| line.words.iter().copied()).collect();
            words.sort_unstable();
            if let Some(twice) = words.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(format!("{} is in several lines of {rule:?}", twice[0]));
            }
            let is_known = callgate_bpf::syscalls::is_known_name;
            if let Some(name) = words.iter().find(|name| !is_known(name)) {
                return Err(format!("{name} is not a syscall"));
            }
        }
        Ok(())
    }
}

/// The first and the last of some releases.
fn between(first: &Release, last: &Release) -> String {
    if first == last { first.to_string() } else { format!("{first} to {last}") }
}

/// A release with all of its numbers.
fn whole(text: &str) -> Result<Release, String> {
    let release = Release::parse(text).and_then(Release::whole);
    release.ok_or_else(|| format!("\"{text}\" is not a release"))
}

/// `A` or `A-B`.
fn span(text: &str) -> Result<(Release, Release), String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Ok((whole(first)?, whole(last)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
# A comment.
profile test
series 1.0.0 3.0.2 Engine
series 0.1.0 0.1.0 library

versions
  1.0.0-1.4.0
  2.0.0-2.9.1 0.1.0
  3.0.0-3.0.2

default
  all errno EPERM

architectures
  all x86_64+x86+x32
  2.0.0- riscv64

allow
  all close
      read
  1.0.0,3.0.0- write

errno ENOSYS without SYS_ADMIN,BPF not-on s390 before-kernel 5.1 if arg0 & 0x10 == 0 and arg1 > 3
  2.0.0-3.0.0 clone
";

    fn table() -> Table<'static> {
        Table::parse(TABLE).unwrap()
    }

    #[test]
    fn a_version_has_what_holds_in_it() {
        let table = table();
        table.check().unwrap();
        let text = |release: &str| {
            let version = table.find(&Release::parse(release).unwrap()).unwrap();
            (table.releases(version), table.profile(version))
        };
        let (releases, old) = text("1.2");
        assert_eq!(releases, ["Engine 1.0.0 to 1.4.0"]);
        assert!(old.contains("\"write\"") && !old.contains("clone") && !old.contains("RISCV"));
        let (releases, library) = text("0.1.0");
        assert_eq!(releases, ["Engine 2.0.0 to 2.9.1", "library 0.1.0"]);
        assert!(!library.contains("\"write\"") && library.contains("\"read\""));
        let (_, newest) = text("3");
        for part in [
            "{\"architecture\": \"SCMP_ARCH_RISCV64\", \"subArchitectures\": []}",
            "\"errnoRet\": 38,\n      \"args\": [\n        {\"index\": 0, \"value\": 16, \"valueTwo\": 0, \
             \"op\": \"SCMP_CMP_MASKED_EQ\"},\n        {\"index\": 1, \"value\": 3,",
            "\"excludes\": {\"caps\": [\"CAP_SYS_ADMIN\", \"CAP_BPF\"], \"arches\": [\"s390\"], \"minKernel\": \"5.1\"}",
        ] {
            assert!(newest.contains(part), "{part}: {newest}");
        }
    }

    #[test]
    fn a_table_of_snaps_has_rules_in_their_language() {
        let text = "profile test\nseries 2.63 2.70 snapd\n\nversions\n  2.63-2.69\n  2.69.1-2.70\n\n\
                    allow\n  all close read\n  2.69.1- write\n\n\
                    rules\n  all ~ioctl - TIOCSTI\n  2.63 socket AF_UNIX\n";
        let table = Table::parse(text).unwrap();
        table.check().unwrap();
        let of = |release: &str| {
            let version = table.find(&Release::parse(release).unwrap()).unwrap();
            (table.releases(version), table.rules(version))
        };
        // 2.69 is a release, and 2 the beginning of the last one.
        assert_eq!(of("2.69").1, of("2.63").1);
        assert_eq!(of("2").1, of("2.70").1);
        let (releases, old) = of("2.63.1");
        assert_eq!(releases, ["snapd 2.63 to 2.69"]);
        assert_eq!(old, "close\nread\n~ioctl - TIOCSTI\nsocket AF_UNIX\n");
        assert_eq!(of("2.70").1, "close\nread\nwrite\n~ioctl - TIOCSTI\n");
    }

    #[test]
    fn a_default_may_allow() {
        let text = TABLE.replace("all errno EPERM", "all allow");
        let table = Table::parse(&text).unwrap();
        table.check().unwrap();
        let profile = table.profile(table.newest().unwrap());
        assert!(profile.contains("\"defaultAction\": \"SCMP_ACT_ALLOW\",\n  \"archMap\""));
    }

    #[test]
    fn errors_name_their_line() {
        for (from, to, line, expected) in [
            ("1.0.0,3.0.0-", "1.4.0", 21, "no version begins with 1.4.0"),
            ("allow\n", "alow\n", 18, "unknown verdict \"alow\""),
            ("without", "witout", 23, "unknown word \"witout\""),
            ("arg1 >", "arg1 =", 23, "unknown comparison \"=\""),
            ("0x10", "0y10", 23, "\"0y10\" is not a number"),
            ("errno ENOSYS", "errno ENOSY", 23, "unknown error \"ENOSY\""),
            ("2.0.0-2.9.1", "2-2.9.1", 8, "\"2\" is not a release"),
            ("versions", "", 7, "no version precedes it"),
        ] {
            let text = TABLE.replacen(from, to, 1);
            let (at, what) = Table::parse(&text).unwrap_err();
            assert_eq!((at, what.contains(expected)), (line, true), "{what}");
        }
    }

    #[test]
    fn a_check_finds_what_no_reader_expects() {
        for (from, to, expected) in [
            ("all close", "all write", "names are not sorted"),
            ("1.0.0,3.0.0- write", "all read", "several lines"),
            ("write", "wrote", "wrote is not a syscall"),
            ("all errno EPERM", "1.0.0 errno EPERM", "no default"),
            ("3.0.0-3.0.2", "3.0.0-3.0.1", "not those of Engine"),
        ] {
            let text = TABLE.replacen(from, to, 1);
            let what = Table::parse(&text).unwrap().check().unwrap_err();
            assert!(what.contains(expected), "{what}");
        }
    }
}
