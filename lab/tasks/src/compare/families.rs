//! Families of rules that grow from 10 to 4,000.

use super::generate;
use super::rules::Rules;
use crate::table::count;

/// The numbers of rules.
pub(super) const SIZES: [u32; 7] = [10, 30, 100, 300, 1000, 2000, 4000];

/// A generator of rules of one kind.
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) rules: fn(u32) -> Rules,
}

pub(super) const FAMILIES: [Family; 3] = [
    Family {
        name: "numbers",
        about: "an allowlist of numbers, no two of them adjacent",
        rules: generate::numbers,
    },
    Family {
        name: "commands",
        about: "values of one argument of one syscall: commands of `ioctl`",
        rules: generate::commands,
    },
    Family {
        name: "random rules",
        about: "random syscalls, a quarter always allowed, the others for values of one or two \
                arguments",
        rules: generate::random,
    },
];

/// The name of a case.
pub(super) fn name(family: &Family, size: u32) -> String {
    format!("{}, {}", family.name, count(size as usize))
}

/// The rules of all families and sizes, with their names.
pub(super) fn rules() -> impl Iterator<Item = (String, impl FnOnce() -> Rules + 'static)> {
    let named = |family: &'static Family| {
        SIZES.into_iter().map(move |size| (name(family, size), move || (family.rules)(size)))
    };
    FAMILIES.iter().flat_map(named)
}
