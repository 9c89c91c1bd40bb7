//! The rules of sets as a profile states them.

use crate::ruleset::RuleSet;
use crate::statements::Statement;
use crate::syntax::reader::Reader;
use callgate_core::Verdict;
use callgate_core::policy::Condition;

/// The rules of sets, whose origins are byte offsets and names.
pub(crate) fn rules_of(reader: &Reader<'_>, sets: &[RuleSet<(usize, &str)>]) -> Vec<Statement> {
    let of_set = |set: &RuleSet<(usize, &str)>| -> Vec<Statement> {
        let rule = |(nr, when, verdict, (at, name)): (u32, Condition, Verdict, (usize, &str))| {
            let (site, name) = (reader.site(at), name.to_owned());
            Statement { site, name, arch: set.arch(), nr, when, verdict }
        };
        set.stated().map(rule).collect()
    };
    sets.iter().flat_map(of_set).collect()
}
