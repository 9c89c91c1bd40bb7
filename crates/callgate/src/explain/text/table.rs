//! The list of syscalls as text.

use std::fmt::Write;

use callgate_core::SyscallSet;

use crate::Arch;
use crate::explain::{ArchExplanation, Explanation, Group, Outcome, argument_names};

use super::layout::{Layout, syscalls, width};
use super::options::{Order, RulePlaces, TextOptions};
use super::outcome::{always, lines, painted, unnamed};
use super::parts::{Listed, Part, listed, parts};

/// The maximum number of ranges of unnamed numbers that are listed.
const RANGES: usize = 6;

pub(super) fn text(
    explanation: &Explanation,
    options: &TextOptions<'_>,
    layout: &Layout,
) -> String {
    let mut text = String::new();
    for (at, arch) in listed(explanation).iter().enumerate() {
        if at > 0 {
            text.push('\n');
        }
        let list = match arch {
            Listed::Whole(arch) => {
                let _ = writeln!(text, "{}", layout.heading(arch.arch.name()));
                arch
            }
            Listed::Differences { first, others } => {
                let except = if others.groups.is_empty() { "" } else { ", except" };
                let name = layout.heading(others.arch.name());
                let _ = writeln!(text, "{name}: as {}{except}", first.arch);
                others
            }
        };
        Table { layout, arch: list.arch, places: options.places }.write(
            &mut text,
            list,
            options.order,
        );
    }
    if !options.is_partial {
        let _ = writeln!(text, "\n{}", layout.heading("all other architectures"));
        layout.line(&mut text, &other_arches(explanation, layout), 2, 4);
    }
    text
}

/// The verdict for architectures without a table.
fn other_arches(explanation: &Explanation, layout: &Layout) -> String {
    match explanation.other_arches {
        Some(verdict) => painted(verdict, layout.paint()),
        None if explanation.checks_arch => "depends on the syscall".to_owned(),
        None => {
            let what = layout.unusual("by syscall number");
            format!("{what}: the filter does not check the architecture")
        }
    }
}

/// The list of an architecture.
struct Table<'t> {
    layout: &'t Layout,
    arch: Arch,
    places: Option<&'t dyn RulePlaces>,
}

impl Table<'_> {
    fn write(&self, text: &mut String, list: &ArchExplanation, order: Order) {
        for part in parts(list, order) {
            match order {
                Order::Verdict => self.by_verdict(text, &part),
                Order::Group => self.of_group(text, &part),
                Order::Name => part.groups.iter().for_each(|group| self.by_name(text, group)),
            }
        }
        if !list.unnamed.is_empty() {
            text.push_str("  unnamed numbers\n");
        }
        for (outcome, calls) in &list.unnamed {
            let outcome = unnamed(outcome, self.layout.paint());
            let _ = write!(text, "    {outcome}:");
            self.layout.wrap(text, &format!(" {}", ranges(calls)), width(&outcome) + 5, 6);
        }
    }

    fn by_verdict(&self, text: &mut String, part: &Part) {
        let depends = |group: &&Group| !matches!(group.outcome, Outcome::Always(_));
        let mut conditional = part.groups.iter().filter(depends).peekable();
        for group in &part.groups {
            match group.outcome {
                Outcome::Always(verdict) => {
                    let what = always(verdict, self.layout.paint());
                    let line = format!("{what} ({})", syscalls(group.syscalls.len()));
                    self.layout.line(text, &line, 2, 4);
                    self.names(text, group, 4);
                }
                // All conditional groups follow at the place of the first.
                _ if conditional.peek().is_some() => {
                    let number = part.groups.iter().filter(depends).map(|g| g.syscalls.len()).sum();
                    let _ = writeln!(text, "  depends on arguments ({})", syscalls(number));
                    conditional.by_ref().for_each(|group| self.conditions(text, group));
                }
                _ => {}
            }
        }
    }

    /// Syscalls with one purpose.
    fn of_group(&self, text: &mut String, part: &Part) {
        if let Some(heading) = &part.heading {
            let title = self.layout.heading(heading.title);
            let line = format!("{title}: {} of {} allowed", heading.allowed, heading.all);
            self.layout.line(text, &line, 2, 4);
        }
        for group in &part.groups {
            match group.outcome {
                Outcome::Always(verdict) => {
                    let what = always(verdict, self.layout.paint());
                    if self.places.is_some() {
                        let _ = writeln!(text, "    {what}");
                        self.names(text, group, 6);
                    } else {
                        let mut names: Vec<&str> =
                            group.syscalls.iter().map(|(_, name)| *name).collect();
                        names.sort_unstable();
                        self.layout.line(text, &format!("{what}: {}", names.join(" ")), 4, 6);
                    }
                }
                _ => self.conditions(text, group),
            }
        }
    }

    /// A syscall in a line of its own.
    fn by_name(&self, text: &mut String, group: &Group) {
        let lines = self.lines(group);
        for (nr, name) in &group.syscalls {
            let places = self.places.map_or(Vec::new(), |all| all.of_syscall(self.arch, *nr));
            let places =
                if places.is_empty() { String::new() } else { format!(" ({})", places.join(", ")) };
            self.layout.line(text, &format!("{name}: {}{places}", lines.join("; ")), 2, 6);
        }
    }

    /// The syscalls of a group with the conditions on their arguments.
    fn conditions(&self, text: &mut String, group: &Group) {
        self.names(text, group, 4);
        for line in self.lines(group) {
            self.layout.line(text, &line, 6, 8);
        }
    }

    fn lines(&self, group: &Group) -> Vec<String> {
        let names = argument_names(&group.syscalls, self.arch);
        lines(&group.outcome, self.arch, names, self.layout.paint())
    }

    /// The syscalls of a group; with places, each that has rules in a line of its own.
    fn names(&self, text: &mut String, group: &Group, indent: usize) {
        let places = |nr: u32| self.places.map_or(Vec::new(), |all| all.of_syscall(self.arch, nr));
        let mut named: Vec<(&str, Vec<String>)> =
            group.syscalls.iter().map(|(nr, name)| (*name, places(*nr))).collect();
        named.sort_unstable();
        for (name, places) in named.iter().filter(|(_, places)| !places.is_empty()) {
            self.layout.line(text, &format!("{name}: {}", places.join(", ")), indent, indent + 2);
        }
        named.retain(|(_, places)| places.is_empty());
        let names: Vec<&str> = named.into_iter().map(|(name, _)| name).collect();
        if names.is_empty() {
            return;
        }
        let defaults = self.places.map_or(&[][..], RulePlaces::defaults);
        if !defaults.is_empty() {
            let line = format!("by default ({}):", defaults.join(", "));
            self.layout.line(text, &line, indent, indent + 2);
        }
        self.layout.line(text, &names.join(" "), indent, indent);
    }
}

/// Numbers of syscalls, the first of many.
pub fn ranges(calls: &SyscallSet) -> String {
    let ranges = calls.ranges();
    let mut parts: Vec<String> = ranges
        .iter()
        .take(RANGES)
        .map(|(first, last)| match (first, last) {
            (first, last) if first == last => number(*first),
            (first, last) => format!("{}-{}", number(*first), number(*last)),
        })
        .collect();
    if let Some(more @ 1..) = ranges.len().checked_sub(RANGES) {
        parts.push(format!("and {more} more"));
    }
    parts.join(" ")
}

/// Numbers with the x32 bit are easier to read in hexadecimal.
fn number(nr: u32) -> String {
    if nr < 0x1_0000 { nr.to_string() } else { format!("{nr:#x}") }
}
