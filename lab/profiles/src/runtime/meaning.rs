//! What a profile means for a host.

use super::action::{action, takes_errno};
use super::filter::Filter;
use super::host::Host;
use super::profile::{Profile, machine_of};
use super::refusal::Refusal;
use crate::document::{self, Arg, Document, Entry};
use crate::rule::Op;
use crate::rules::RuleSet;

/// The result.
#[derive(Debug)]
pub struct Meaning {
    /// Why a strict reader may refuse the text although the runtime does not: programs interpret it differently, or it
    /// violates the format.
    pub doubt: Option<&'static str>,
    /// The filter, `None` if none is installed, or why the runtime refuses the profile.
    pub outcome: Result<Option<Filter>, Refusal>,
}

impl Meaning {
    /// Whether the prediction that the runtime accepts or refuses the profile is certain.
    pub fn is_certain(&self) -> bool {
        match &self.outcome {
            Ok(None) => true,
            Ok(Some(filter)) => !filter.sets().any(RuleSet::is_uncertain),
            Err(refusal) => refusal.is_certain,
        }
    }
}

/// Reads a profile like the host's programs.
pub fn read(text: &str, host: &Host) -> Meaning {
    let (style, fields) = host.dialect.style();
    match document::read(text, style, fields) {
        Err(why) => Meaning { doubt: None, outcome: Err(why.into()) },
        Ok(document) => {
            let doubt = doubt(&document);
            let profile = Profile::new(document, host);
            let outcome = profile
                .map_err(Refusal::from)
                .and_then(|profile| profile.map(Profile::filter).transpose());
            let undecided = matches!(&outcome, Ok(Some(filter)) if filter.undecided);
            let doubt = doubt.or(undecided.then_some("two actions for one condition"));
            Meaning { doubt, outcome }
        }
    }
}

/// Why a strict reader may refuse a profile: it contains something that runtimes silently ignore or truncate.
fn doubt(document: &Document) -> Option<&'static str> {
    let too_large = |errno: &Option<u64>, name: &str| {
        errno.is_some_and(|errno| errno > 4095) || name.parse().is_ok_and(|errno: u64| errno > 4095)
    };
    let entries = &document.entries;
    let unnamed = |entry: &Entry| entry.names.is_empty() == entry.name.is_empty();
    let bad_arg = |arg: &Arg| arg.index > 5 || Op::from_name(&arg.op).is_none();
    let bad = |entry: &Entry| {
        action(&entry.action, 0).is_err()
            || (entry.errno.is_some() || !entry.errno_name.is_empty())
                && !takes_errno(&entry.action)
            || entry.errno_name == "ENOTANERRNO"
            || entry.args.iter().any(bad_arg)
    };
    let no_version = |filter: &document::Filter| filter.min_kernel.as_deref() == Some("0.0");
    let rows = &document.arch_map;
    let subs = rows.iter().flat_map(|row| &row.sub_architectures);
    let mut mapped = rows.iter().map(|row| &row.architecture).chain(subs);
    if document.doubt.is_some() {
        document.doubt
    } else if entries.iter().any(unnamed) {
        Some("an entry without a name, or with `name` and `names`")
    } else if entries.iter().any(bad) {
        Some("an entry that is skipped has an unknown action, errno, operator or argument")
    } else if too_large(&document.default_errno, &document.default_errno_name)
        || entries.iter().any(|entry| too_large(&entry.errno, &entry.errno_name))
    {
        Some("an errno is cut to 16 bits")
    } else if entries.iter().any(|entry| no_version(&entry.includes) || no_version(&entry.excludes))
    {
        Some("an empty version")
    } else if mapped.any(|name| machine_of(name).is_none()) {
        Some("a row of archMap has an unknown architecture")
    } else if document.default_action.is_empty() {
        Some("no default action")
    } else if document.default_action == "SCMP_ACT_ALLOW" && entries.is_empty() {
        Some("a filter that does nothing")
    } else {
        None
    }
}
