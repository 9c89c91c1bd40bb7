//! Profiles of snaps.

use callgate::formats::Profile;
use callgate::formats::snap;
use callgate::formats::statements::Statements;

use super::filter::{Filter, FilterContent};
use super::place::Place;
use super::stack::Stack;
use crate::options::SourceOptions;
use crate::report::{self, Failure, Result};

/// Reads a profile as the stack of its two filters. Users and groups other than root and
/// those of snapd may have other numbers where the profile is used, so their names are not looked up.
pub(super) fn read_snap_profile(
    place: &Place,
    text: &str,
    options: &SourceOptions,
) -> Result<Stack> {
    let name = place.name();
    let mut ids = |_, user: &str| snap::system_id(user);
    let filters = snap::read(text, &options.of_snap()?, &mut ids)
        .map_err(|errors| Failure::of(&name, errors))?;
    options.warn_about_containers(&name, "a profile of a snap", false);
    let filter = |what: &str, policy, statements: Option<Statements>| {
        let statements = statements.map(|statements| statements.of_file(&name));
        let profile = Profile { statements, ..Profile::of(policy) };
        Filter::of_profile(format!("{name} ({what})"), profile, options)
    };
    let [of_deny, of_allow] =
        filters.statements.map_or_else(Default::default, |both| both.map(Some));
    if !options.keeps_warnings {
        report::warn_all(&name, &filters.warnings);
    }
    let mut of_deny = filter("deny", filters.deny, of_deny);
    if let (true, FilterContent::Profile(rules)) = (options.keeps_warnings, &mut of_deny.content) {
        rules.warnings = filters.warnings;
    }
    let filters = vec![of_deny, filter("allow", filters.allow, of_allow)];
    Ok(Stack { name, filters })
}
