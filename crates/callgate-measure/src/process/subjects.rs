//! The subjects of the measurement.

use crate::subject::Subject;

/// The index of the empty filter among the [`subjects`].
pub const EMPTY: usize = 1;

/// The index of the filters of the process.
pub const FILTERS: usize = 2;

/// The subjects of the measurement: no filter, the smallest filter, and the filters of the process.
pub fn subjects(filters: Subject) -> Vec<Subject> {
    vec![Subject::none(), Subject::constant_allow().named("empty filter"), filters]
}
