//! Reports of rules that keep a container from starting, because libseccomp rejects them.

use crate::oci::dialect::Dialect;
use crate::oci::model::Name;
use crate::ruleset::RuleSet;
use crate::ruleset_reports::{Words, report_contradictions, report_rejected};
use crate::syntax::reader::Reader;

/// How messages name the parts of a profile.
const WORDS: Words = Words { unit: "entry", consequence: "so the container would not start" };

/// Reports rules that libseccomp rejects, so that a runtime could not start the container. The specification does not
/// mention libseccomp; by it, only rules with the same condition contradict each other.
pub(super) fn report_conflicts(
    reader: &mut Reader<'_>,
    sets: &[RuleSet<Name<'_>>],
    dialect: Dialect,
) {
    match dialect {
        Dialect::Oci => report_contradictions(reader, sets, WORDS),
        _ => report_rejected(reader, sets, WORDS),
    }
}
