//! The rules from which a function was made, as a source of other code for its syscalls.

use callgate_core::diagram::{Func, Store};
use callgate_core::{Cases, SeccompData, Word};
use rustc_hash::FxHashMap as HashMap;

use super::by_cases::{Lists, Repeating};
use super::code::{CodeId, Graph};
use super::{Aim, Instructions};

/// Code for an exit of the number, in different forms; some of them are for these syscalls.
pub(super) type ByRules<'a> =
    dyn FnMut(&Store, (Func, &[SeccompData]), &mut Graph) -> Vec<CodeId> + 'a;

/// The rules, if there are any. Their clauses are only made where code of them is asked for: most filters have few conditions.
pub(super) struct Rules<'c> {
    cases: &'c dyn Fn() -> Option<&'c Cases>,
    root: Func,
    how: (Aim, Instructions),
    made: Option<Option<Made<'c>>>,
}

struct Made<'c> {
    lists: Lists<'c>,
    /// Per exit of the number, the list of its clauses.
    list_of: HashMap<Func, usize>,
}

impl<'c> Rules<'c> {
    /// Those of the function `root`.
    pub(super) fn new(
        cases: &'c dyn Fn() -> Option<&'c Cases>,
        root: Func,
        how: (Aim, Instructions),
    ) -> Rules<'c> {
        Rules { cases, root, how, made: None }
    }

    /// Code for an exit of the number, from its clauses; none if there are no rules, or if that is too much.
    pub(super) fn codes(
        &mut self,
        store: &Store,
        (func, samples): (Func, &[SeccompData]),
        graph: &mut Graph,
    ) -> Vec<CodeId> {
        let Rules { cases, root, how: (aim, instructions), made } = self;
        let made = made.get_or_insert_with(|| {
            let cases = cases()?;
            let how = (*aim, Repeating::IfShorter);
            let lists = Lists::new(cases, Graph::default(), how, *instructions);
            Some(Made { lists, list_of: lists_of(store, *root, cases) })
        });
        match made {
            Some(Made { lists, list_of }) => {
                // For size only, what is executed decides only between equally long programs.
                let samples: &[SeccompData] = if *aim == Aim::Size { &[] } else { samples };
                let list = list_of.get(&func);
                list.map(|list| lists.forms(*list, samples, graph)).unwrap_or_default()
            }
            None => Vec::new(),
        }
    }
}

/// Per exit of the number that depends on arguments, the list of its clauses.
fn lists_of(store: &Store, root: Func, cases: &Cases) -> HashMap<Func, usize> {
    let mut lists = HashMap::default();
    for section in cases.sections() {
        let numbers = store.follow(root, Word::ARCH, section.token);
        for interval in section.intervals.iter().filter(|one| cases.verdict(one.list).is_none()) {
            let func = store.follow(numbers, Word::NR, interval.first);
            lists.entry(func).or_insert(interval.list);
        }
    }
    lists
}
