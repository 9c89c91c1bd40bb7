//! Adds a rule to a tree as libseccomp does: first removes what it makes superfluous, then merges it.

use super::node::Slot;
use super::prune::seen;
use super::tree::{InsertError, StepBudget, Tree};
use crate::ruleset::comparison::Comparison;

impl Tree {
    /// Adds the rule with this index, whose comparisons are in normal form.
    pub(in crate::ruleset) fn add(
        &mut self,
        tests: &[Comparison],
        verdict: u32,
        rule: u32,
        steps: &mut StepBudget,
    ) -> Result<(), InsertError> {
        if self.always {
            return Ok(());
        }
        let Some(new) = self.chain(tests, verdict, rule) else {
            self.always = true;
            return Ok(());
        };
        if self.root.is_some() {
            let mut found = 0;
            let freed = self.prune(self.root, Some(new), verdict, &mut found, steps)?;
            if self.root.is_some() {
                if freed == 0 && found & seen::REDUNDANT == seen::REDUNDANT {
                    return Ok(());
                }
                self.insert(Slot::Root, new, steps)?;
                return self.release_level(new, steps);
            }
        }
        self.root = Some(new);
        Ok(())
    }
}
