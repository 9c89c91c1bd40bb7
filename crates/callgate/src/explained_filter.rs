//! What a filter that was built does.

use callgate_core::{Arch, Meaning};

use crate::error::Result;
use crate::explain::{Explanation, explain};
use crate::filter::Filter;
#[cfg(feature = "sources")]
use crate::lint;

impl Filter {
    /// Lists what the filter does with each syscall of its architectures.
    ///
    /// ```
    /// use callgate::explain::Outcome;
    /// use callgate::{Arch, Filter, Verdict};
    ///
    /// let filter = Filter::builder(Arch::X86_64).allow(["read"])?.build()?;
    /// let allowed = &filter.explain()?.arches[0].groups[0];
    /// assert_eq!(allowed.outcome, Outcome::Always(Verdict::ALLOW));
    /// assert_eq!(allowed.syscalls, [(0, "read")]);
    ///
    /// println!("{}", filter.explain()?); // what `callgate explain` prints
    /// # Ok::<(), callgate::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the filter is too complex for the default budget.
    pub fn explain(&self) -> Result<Explanation> {
        let meaning = Meaning::of_policy(self.policy(), Default::default())?;
        let arches: Vec<Arch> = self.policy().arches().collect();
        let explanation = explain(meaning.store(), meaning.func(), &arches);
        #[cfg(feature = "sources")]
        let explanation = {
            let notes = lint::evasions(&[lint::Subject::new(self)], &arches)?;
            explanation.with_notes(&notes)
        };
        Ok(explanation)
    }
}
