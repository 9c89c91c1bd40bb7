//! The comparison of two filters: what was added, removed and changed.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use callgate::Arch;
use callgate::explain::{ArchExplanation, Explanation, Outcome, Permission};
use callgate::purposes::{Danger, danger};
use callgate_codegen::query::any_pair;
use callgate_core::Word;
use callgate_core::diagram::{Func, Store};

use crate::describe::{Entry, MAX_ARCHES, chip, counted, entries, left_out, lines, names};
use crate::markup::Markup;
use crate::page::Section;

/// Two filters, and the syscalls that they treat differently.
#[derive(Clone, Debug)]
pub struct Comparison {
    names: [String; 2],
    is_equal: bool,
    /// Whether the second filter permits calls that the first denies, and the reverse, also of numbers without a name.
    permits_more: [bool; 2],
    arches: Vec<(Arch, Vec<Change>)>,
}

/// A syscall that two filters treat differently.
#[derive(Clone, Debug, PartialEq)]
struct Change {
    /// The number.
    nr: u32,
    /// The name.
    name: &'static str,
    /// What the first filter does with it.
    before: Outcome,
    /// What the second filter does with it.
    after: Outcome,
    /// Whether the second filter permits calls that the first denies.
    gains: bool,
    /// Whether the first filter permits calls that the second denies.
    loses: bool,
    /// Whether the calls that the second filter permits, and the first not, are dangerous.
    is_dangerous: bool,
}

/// The kind of a change, in the order of the page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Added,
    Removed,
    Wider,
    Denial,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::Added, Kind::Removed, Kind::Wider, Kind::Denial];

    fn title(self) -> &'static str {
        match self {
            Kind::Added => "Added: newly allowed",
            Kind::Removed => "Removed: no longer allowed",
            Kind::Wider => "Changed: allowed under other conditions, or with another effect",
            Kind::Denial => "Changed: denied in another way",
        }
    }
}

impl Change {
    fn kind(&self) -> Kind {
        let permits = |outcome| Permission::of(outcome) >= Permission::Sometimes;
        match (permits(&self.before), permits(&self.after)) {
            (false, true) => Kind::Added,
            (true, false) => Kind::Removed,
            (true, true) => Kind::Wider,
            (false, false) => Kind::Denial,
        }
    }
}

impl Comparison {
    /// Compares two filters of one store, both explained for the same architectures.
    pub fn new(
        store: &Store,
        roots: [Func; 2],
        explanations: [&Explanation; 2],
        names: [&str; 2],
    ) -> Comparison {
        let [before, after] = explanations.map(|explanation| explanation.arches.as_slice());
        let arches = after.iter().filter_map(|after| {
            let before = before.iter().find(|before| before.arch == after.arch)?;
            Some((after.arch, changes(store, roots, before, after)))
        });
        let arches = arches.collect();
        let [a, b] = roots;
        let permits_more = [(b, a), (a, b)].map(|(one, other)| permits_more(store, one, other));
        Comparison { names: names.map(str::to_owned), is_equal: a == b, permits_more, arches }
    }

    /// How the second filter relates to the first. Permitted is what ALLOW and LOG permit; which action denies the rest makes a
    /// filter neither stricter nor less strict.
    pub fn relation(&self) -> &'static str {
        match self.permits_more {
            _ if self.is_equal => "Both filters do the same.",
            [false, false] => {
                "Both filters permit the same syscalls, but have different actions for some."
            }
            [false, true] => {
                "Stricter: the filter permits less than the other one, and nothing more."
            }
            [true, false] => {
                "Less strict: the filter permits all that the other one does, and more."
            }
            [true, true] => "Each filter permits syscalls that the other one does not.",
        }
    }

    /// What the first filter does with a syscall, if the second does something else.
    pub(super) fn before(&self, arch: Arch, nr: u32) -> Option<&Outcome> {
        let (_, changes) = self.arches.iter().find(|(own, _)| *own == arch)?;
        let change = changes.iter().find(|change| change.nr == nr)?;
        Some(&change.before)
    }
}

/// Whether a function permits something that another one does not.
fn permits_more(store: &Store, one: Func, other: Func) -> bool {
    any_pair(store, one, other, |one, other| one.permits() && !other.permits())
}

fn changes(
    store: &Store,
    roots: [Func; 2],
    before: &ArchExplanation,
    after: &ArchExplanation,
) -> Vec<Change> {
    let [a, b] = roots.map(|root| store.follow(root, Word::ARCH, after.arch.token()));
    let arch = after.arch;
    let (before, after) = (entries(before), entries(after));
    // Both are all syscalls of the architecture in the same order.
    let pairs = before
        .into_iter()
        .zip(after)
        .filter(|((nr, ..), _)| store.follow(a, Word::NR, *nr) != store.follow(b, Word::NR, *nr));
    let change = |((nr, name, before), (.., after)): (Entry<'_>, Entry<'_>)| {
        let funcs = [b, a].map(|func| store.follow(func, Word::NR, nr));
        let [after_func, before_func] = funcs;
        let gains = permits_more(store, after_func, before_func);
        let further = |danger: &Danger| match danger.values.is_empty() {
            true => danger.is_permitted(store, after_func, arch),
            false => !danger.further_values(store, funcs, arch).is_empty(),
        };
        Change {
            nr,
            name,
            before: before.clone(),
            after: after.clone(),
            gains,
            loses: permits_more(store, before_func, after_func),
            is_dangerous: gains && danger(name).is_some_and(further),
        }
    };
    pairs.map(change).collect()
}

/// The section of a comparison.
pub fn comparison(compared: &Comparison) -> Section {
    Section::new("comparison", "Comparison", |body| {
        let [before, after] = &compared.names;
        body.element("p", &[], |line| {
            line.text("Before: ");
            line.leaf("code", &[], before);
            line.text("; after: ");
            line.leaf("code", &[], after);
            line.text(".");
        });
        if compared.is_equal {
            body.headline(
                "Both filters do the same for every possible syscall: their canonical forms are the same node.",
            );
            return;
        }
        let changed: Vec<&(Arch, Vec<Change>)> =
            compared.arches.iter().filter(|(_, changes)| !changes.is_empty()).collect();
        if changed.is_empty() {
            body.headline(
                "The filters do the same with every syscall that has a name. They differ for numbers without a name, or \
                 for other architectures.",
            );
            return;
        }
        summary(body, compared, &changed);
        for (at, (arch, changes)) in changed.iter().take(MAX_ARCHES).enumerate() {
            body.details(at == 0, &format!("{arch}: {}", counts(changes)), |details| {
                Kind::ALL.iter().for_each(|kind| of_kind(details, *kind, *arch, changes));
            });
        }
        let others: Vec<&str> =
            changed.iter().skip(MAX_ARCHES).map(|(arch, _)| arch.name()).collect();
        if !others.is_empty() {
            body.paragraph(&left_out("The changes", &others));
        }
    })
}

/// The conclusion: how the filters relate, what is newly allowed and denied, and what to look at first.
fn summary(body: &mut Markup, compared: &Comparison, changed: &[&(Arch, Vec<Change>)]) {
    let [before, after] = &compared.names;
    let [has_more, has_less] = compared.permits_more;
    // What has no name in the tables.
    const OTHERS: &str = "only numbers without a name or on other architectures";
    let of_all = |wanted: fn(&Change) -> bool| {
        let all = changed.iter().flat_map(|(_, changes)| changes);
        let names = all.filter(|change| wanted(change)).map(|change| change.name);
        names.collect::<BTreeSet<&str>>().into_iter().collect::<Vec<&str>>()
    };
    let more = of_all(|change| change.gains);
    let less = of_all(|change| change.loses);
    body.headline(compared.relation());
    let sentence = |body: &mut Markup, text: String, list: &[&str]| {
        body.element("div", &[("class", "sentence")], |line| {
            line.text(&text);
            if !list.is_empty() {
                names(line, list, MOST);
            }
        });
    };
    let some = |count: usize| counted(count, "syscall");
    let allows = match more.len() {
        0 if has_more => format!("{after} allows {OTHERS} that {before} denies."),
        0 => format!("{after} allows nothing that {before} denies."),
        count => format!(
            "{after} allows {} that {before} denies, at least with some arguments: ",
            some(count)
        ),
    };
    let denies = match less.len() {
        0 if has_less => format!("It denies {OTHERS} that {before} allows."),
        0 => format!("It allows all that {before} allows."),
        count => format!(
            "It denies {} that {before} allows, at least with some arguments: ",
            some(count)
        ),
    };
    sentence(body, allows, &more);
    sentence(body, denies, &less);
    first(body, changed);
}

/// How many names of a list are shown at once.
const MOST: usize = 8;

/// What a reviewer must look at first: the dangerous syscalls that are newly allowed, the worst first, each with the reason.
fn first(body: &mut Markup, changed: &[&(Arch, Vec<Change>)]) {
    let mut found: Vec<(&Danger, Vec<(Arch, &Change)>)> = Vec::new();
    for (arch, change) in changed.iter().flat_map(|(arch, all)| all.iter().map(|one| (*arch, one)))
    {
        let Some(danger) = danger(change.name).filter(|_| change.is_dangerous) else { continue };
        match found.iter_mut().find(|(other, _)| other.syscall == danger.syscall) {
            Some((_, places)) => places.push((arch, change)),
            None => found.push((danger, vec![(arch, change)])),
        }
    }
    if found.is_empty() {
        return;
    }
    found.sort_by_key(|(danger, _)| Reverse(danger.severity));
    body.leaf("h3", &[], "Look at these first");
    body.element("ul", &[("class", "findings")], |list| {
        for (danger, places) in &found {
            list.element("li", &[], |item| {
                item.span("chip killed", "danger");
                item.text(" ");
                item.leaf("code", &[], danger.syscall);
                item.text(&format!(" {}.", danger.reason));
                for (arch, change) in places.iter().take(1) {
                    let lines =
                        |outcome| lines(outcome, *arch, &[(change.nr, change.name)]).join("; ");
                    let text = format!(
                        "{arch}: before {}, after {}",
                        lines(&change.before),
                        lines(&change.after)
                    );
                    item.leaf("div", &[("class", "quiet")], &text);
                }
                let others: Vec<&str> =
                    places.iter().skip(1).map(|(arch, _)| arch.name()).collect();
                if !others.is_empty() {
                    item.leaf(
                        "div",
                        &[("class", "quiet")],
                        &format!("Also on {}.", others.join(", ")),
                    );
                }
            });
        }
    });
}

fn counts(changes: &[Change]) -> String {
    let of = |kind: Kind| changes.iter().filter(|change| change.kind() == kind).count();
    let changed = of(Kind::Wider) + of(Kind::Denial);
    format!("{} added, {} removed, {changed} changed", of(Kind::Added), of(Kind::Removed))
}

/// A table of changes of one kind, a row for all that change in the same way.
fn of_kind(body: &mut Markup, kind: Kind, arch: Arch, changes: &[Change]) {
    let mut rows: Vec<(&Change, Vec<(u32, &str)>)> = Vec::new();
    for change in changes.iter().filter(|change| change.kind() == kind) {
        let same = |(other, _): &&mut (&Change, Vec<_>)| {
            other.before == change.before && other.after == change.after
        };
        match rows.iter_mut().find(same) {
            Some((_, names)) => names.push((change.nr, change.name)),
            None => rows.push((change, vec![(change.nr, change.name)])),
        }
    }
    if rows.is_empty() {
        return;
    }
    let count = rows.iter().map(|(_, names)| names.len()).sum();
    body.leaf("h3", &[], &format!("{} ({})", kind.title(), counted(count, "syscall")));
    body.table("words", &["Syscalls", "Before", "After"], |table| {
        for (change, syscalls) in rows {
            table.element("tr", &[], |tr| {
                let names: Vec<&str> = syscalls.iter().map(|(_, name)| *name).collect();
                tr.leaf("td", &[("class", "names")], &names.join(", "));
                for outcome in [&change.before, &change.after] {
                    tr.element("td", &[], |td| outcome_cell(td, outcome, arch, &syscalls));
                }
            });
        }
    });
}

fn outcome_cell(td: &mut Markup, outcome: &Outcome, arch: Arch, syscalls: &[(u32, &str)]) {
    /// The maximum number of lines of a cell.
    const MAX: usize = 12;
    if let Outcome::Always(verdict) = outcome {
        td.append(&chip(*verdict));
        return;
    }
    let lines = lines(outcome, arch, syscalls);
    lines.iter().take(MAX).for_each(|line| td.leaf("div", &[], line));
    if let Some(more @ 1..) = lines.len().checked_sub(MAX) {
        td.leaf("div", &[("class", "quiet")], &format!("and {more} more conditions"));
    }
}
