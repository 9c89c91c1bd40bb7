//! Witnesses: concrete syscalls, or other inputs, for which two functions differ.

use super::{Compared, DiagramError, Func, Store, VARS};
use crate::FilterInput;

impl Store {
    /// A syscall, or another input of the layout of the store, for which two functions differ. `None` if they are equal, and if
    /// the search for one reaches a comparison with a variable, or one of two words that has another outcome: comparisons may
    /// depend on each other, so it is not known whether any values lead to a difference.
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
            if var == VARS {
                return Ok(Some(data));
            }
            let high = match (self.word_of(var), self.comparison_at(var)) {
                (Some(word), _) => {
                    let bit = 1 << (31 - u32::from(var % 32));
                    let value = data.get(word, endian);
                    let high = if value & bit != 0 { a1 != b1 } else { a0 == b0 };
                    data.set(word, endian, if high { value | bit } else { value & !bit });
                    high
                }
                // All words are set: comparisons come after them.
                (None, Some(of)) if matches!(of.other, Compared::Word(_)) => {
                    of.holds(&data, endian, &[])
                }
                _ => return Ok(None),
            };
            (a, b) = if high { (a1, b1) } else { (a0, b0) };
        }
        Ok(None)
    }
}
