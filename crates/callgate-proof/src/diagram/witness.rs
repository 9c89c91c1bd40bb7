//! Witnesses: concrete syscalls for which two functions differ.

use super::{BITS, DiagramError, Func, Store, VARS};
use callgate_bpf::data::{SeccompData, Word};

impl Store {
    /// A syscall for which two functions differ. `None` if they are equal, and if the search for one reaches a comparison
    /// with a variable: comparisons may depend on each other, so it is not known whether any values lead to a difference.
    ///
    /// Bits outside the support are those of `start`; the other bits follow `start` as long as the
    /// functions differ there.
    ///
    /// # Errors
    /// [`DiagramError`] if a function belongs to another store.
    pub fn witness(
        &self,
        a: Func,
        b: Func,
        start: SeccompData,
    ) -> Result<Option<SeccompData>, DiagramError> {
        self.check_owner(a)?;
        self.check_owner(b)?;
        let (mut a, mut b) = (a, b);
        let mut data = start;
        while a != b {
            let (var, (a0, a1), (b0, b1)) = self.expand(a, b);
            if (BITS..VARS).contains(&var) {
                return Ok(None);
            }
            let Some(word) = Word::from_index(usize::from(var / 32)) else {
                return Ok(Some(data));
            };
            let bit = 1 << (31 - u32::from(var % 32));
            let value = data.word(word);
            let high = if value & bit != 0 { a1 != b1 } else { a0 == b0 };
            data.set_word(word, if high { value | bit } else { value & !bit });
            (a, b) = if high { (a1, b1) } else { (a0, b0) };
        }
        Ok(None)
    }
}
