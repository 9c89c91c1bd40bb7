//! What a profile states, with the places of its rules.

use crate::oci::model::{Entry, Model, Name};
use crate::oci::options::ReadOptions;
use crate::ruleset::RuleSet;
use crate::ruleset_statements::rules_of;
use crate::statements::{Inactive, Statements};
use crate::syntax::reader::Reader;

/// What a profile states, whose rules for each architecture are `sets`.
pub(super) fn statements(
    reader: &Reader<'_>,
    model: &Model<'_>,
    sets: &[RuleSet<Name<'_>>],
    options: &ReadOptions,
) -> Statements {
    let mut inactive = Vec::new();
    for entry in &model.entries {
        let Some(reason) = reason(entry, model, options) else { continue };
        inactive.extend(entry.names.iter().map(|(at, name)| Inactive {
            site: reader.site(*at),
            name: (*name).to_owned(),
            verdict: entry.action.verdict,
            reason: reason.clone(),
            missing: entry.includes.missing_caps(options),
        }));
    }
    Statements {
        rules: rules_of(reader, sets),
        inactive,
        builtin: Vec::new(),
        default: Some(reader.site(model.default.at)),
    }
}

/// Why an entry does not apply; `None` if it does.
fn reason(entry: &Entry<'_>, model: &Model<'_>, options: &ReadOptions) -> Option<String> {
    let gated = entry.excludes.excluded(options).or_else(|| entry.includes.missing(options));
    let is_default = entry.action.verdict == model.default.verdict;
    gated.or_else(|| is_default.then(|| "its action is the default action".to_owned()))
}
