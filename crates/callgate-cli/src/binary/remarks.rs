//! Warnings about what makes the syscalls that were found in code incomplete.

use callgate_elf::Remark;

use super::program::Code;
use crate::report::{self, Failure, Result};
use crate::text::printable;

/// Places that a warning names.
const MAX_NAMED: usize = 4;

/// What a remark says, if it is of a kind.
type Select = fn(&Remark) -> Option<String>;

/// Prints what makes the bound incomplete.
pub(crate) fn warn(code: &Code) {
    if !code.missing.is_empty() {
        let missing = code.missing.iter().map(|(name, by)| format!("{name} (needed by {by})"));
        report::warn(
            format!("libraries were not found: {}", listed(missing.collect())),
            "their syscalls are missing; name the directory of the system with --sysroot, or each file with --library",
        );
    } else {
        let undefined = code.remarks.iter().filter_map(|remark| match remark {
            Remark::Undefined { file, count, example } => {
                Some(format!("{file}: {count}, such as {example}"))
            }
            _ => None,
        });
        let undefined: Vec<String> = undefined.collect();
        if !undefined.is_empty() {
            report::warn(
                format!("symbols are not defined: {}", listed(undefined)),
                "the file that defines them is missing; name it with --library",
            );
        }
    }
    if let Some(unknown) = unknown_sites(code) {
        report::warn(
            unknown,
            "the program may make other syscalls there; --format json lists all places",
        );
    }
    name_services(code);
    let of = |select: Select| -> Vec<String> {
        let mut all: Vec<String> = code.remarks.iter().filter_map(select).collect();
        all.dedup();
        all
    };
    let warnings: [(Select, &str, &str); 6] = [
        (
            |remark| match remark {
                Remark::LoadsLibraries { file, function } => Some(format!("{file} ({function})")),
                _ => None,
            },
            "libraries may be loaded while the program runs",
            "name those that it loads with --library; others are not taken into account",
        ),
        (
            |remark| match remark {
                Remark::LooksUpNames { file } => Some(file.clone()),
                _ => None,
            },
            "functions are looked up by name",
            "only names that are in the file itself are taken into account",
        ),
        (
            |remark| match remark {
                Remark::CharacterSets { file } => Some(file.clone()),
                _ => None,
            },
            "character sets are converted by modules of the C library (iconv_open)",
            "most of them make no syscalls of their own; name others with --library",
        ),
        (
            |remark| match remark {
                Remark::ExecutableMemory { place } => Some(place.clone()),
                _ => None,
            },
            "memory is made executable",
            "code that is generated at run time is not analysed; record the program as well",
        ),
        (
            |remark| match remark {
                Remark::OtherArchitecture { place } => Some(place.clone()),
                _ => None,
            },
            "32-bit syscalls (int 0x80, sysenter)",
            "their numbers are not analysed, and a filter for x86-64 denies them",
        ),
        (
            |remark| match remark {
                Remark::AllOfGo { file } => Some(file.clone()),
                _ => None,
            },
            "all functions of a Go program are assumed to be reachable",
            "Go's linker removes most of those that are not",
        ),
    ];
    for (select, message, help) in warnings {
        let all = of(select);
        if !all.is_empty() {
            report::warn(format!("{message}: {}", listed(all)), help);
        }
    }
}

/// The places with syscalls whose numbers are not known, if there are any.
fn unknown_sites(code: &Code) -> Option<String> {
    if code.unresolved.is_empty() {
        return None;
    }
    let places = code.unresolved.iter().map(|(site, why)| {
        let (file, function) = (printable(&site.file), printable(&site.function));
        format!("{file}: {function}+{:#x} ({why})", site.offset)
    });
    let (count, places) = (code.unresolved.len(), listed(places.collect()));
    Some(match count {
        1 => format!("the number of 1 syscall is not known: {places}"),
        _ => format!("the numbers of {count} syscalls are not known: {places}"),
    })
}

/// Refuses to grant what the code can make if the number of some syscall is unknown, unless `is_allowed`.
pub(crate) fn check_sites(code: &Code, is_allowed: bool, has_recording: bool) -> Result<()> {
    let Some(unknown) = unknown_sites(code).filter(|_| !is_allowed) else { return Ok(()) };
    let them = if code.unresolved.len() == 1 { "it" } else { "them" };
    let help = match has_recording {
        true => "omit --grant static to grant what was recorded",
        false => "record the program, and give the recording too",
    };
    // In `nptl_setxid.c` of glibc, the number is in a structure.
    let is_of_ids = |site: &str| site.trim_start_matches("__GI_") == "__nptl_setxid";
    let of_ids = match code.unresolved.iter().all(|(site, _)| is_of_ids(&site.function)) {
        true => {
            "there, glibc makes the syscalls that change IDs in all threads: setuid, setgid, setgroups and their relatives, if the \
             program calls these functions; "
        }
        false => "",
    };
    Err(Failure::new(format!("{unknown}; the profile would deny {them}")).help(format!(
        "{of_ids}{help}; --allow-unknown-sites writes the profile without what is not known"
    )))
}

/// Names of users, groups and hosts: without a module that may be loaded, nothing is missing.
fn name_services(code: &Code) {
    let asking = code.remarks.iter().filter_map(|remark| match remark {
        Remark::NameServices { file, function } => Some(format!("{file} ({function})")),
        _ => None,
    });
    let asking: Vec<String> = asking.collect();
    if asking.is_empty() || code.modules.is_empty() {
        return;
    }
    let modules = code.modules.iter().map(|path| format!("--library {}", path.display()));
    report::warn(
        format!("modules of the C library may look up users, groups or hosts: {}", listed(asking)),
        format!(
            "those of /etc/nsswitch.conf are not taken into account without {}",
            modules.collect::<Vec<String>>().join(" ")
        ),
    );
}

/// The first ones, and how many more there are.
fn listed(all: Vec<String>) -> String {
    let more = all.len().saturating_sub(MAX_NAMED);
    let mut text = all.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 {
        text += &format!(" and {more} more");
    }
    text
}
