//! Witnesses: concrete syscalls, or other inputs, for which two functions differ.

use super::{DiagramError, Func, Store, VARS};
use crate::{FilterInput, Verdict};

impl Store {
    /// A syscall, or another input of the layout of the store, for which two functions differ. `None` if they are equal, and if the search for one reaches a comparison
    /// with a variable: comparisons may depend on each other, so it is not known whether any values lead to a difference.
    ///
    /// Bits outside the support are those of `start`; the other bits follow `start` as long as the
    /// functions differ there.
    ///
    /// # Errors
    /// [`DiagramError`] if a function belongs to another store, or the input has another layout.
    pub fn witness<D: FilterInput>(
        &self,
        a: Func,
        b: Func,
        start: D,
    ) -> Result<Option<D>, DiagramError> {
        self.check_owner(a)?;
        self.check_owner(b)?;
        let endian = self.endian_of::<D>()?;
        let (mut a, mut b) = (a, b);
        let mut data = start;
        while a != b {
            let (var, (a0, a1), (b0, b1)) = self.expand(a, b);
            let Some(word) = self.word_of(var) else {
                // Terminals, or a comparison with a variable.
                return Ok((var == VARS).then_some(data));
            };
            let bit = 1 << (31 - u32::from(var % 32));
            let value = data.get(word, endian);
            let high = if value & bit != 0 { a1 != b1 } else { a0 == b0 };
            data.set(word, endian, if high { value | bit } else { value & !bit });
            (a, b) = if high { (a1, b1) } else { (a0, b0) };
        }
        Ok(None)
    }

    /// Whether for some input two functions return verdicts that are wanted of them. Takes at most as many steps as there are
    /// pairs of nodes. Equal functions count as never wanted.
    pub fn any_pair(&self, a: Func, b: Func, is_wanted: impl Fn(Verdict, Verdict) -> bool) -> bool {
        let mut seen = rustc_hash::FxHashSet::default();
        let mut stack = vec![(a, b)];
        while let Some((a, b)) = stack.pop() {
            if a == b || !seen.insert((a, b)) {
                continue;
            }
            if let (Some(left), Some(right)) = (self.as_verdict(a), self.as_verdict(b)) {
                if is_wanted(left, right) {
                    return true;
                }
                continue;
            }
            let (_, (a0, a1), (b0, b1)) = self.expand(a, b);
            stack.extend([(a0, b0), (a1, b1)]);
        }
        false
    }
}
