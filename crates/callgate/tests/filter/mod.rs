//! Filters built from rules: what each part of the builder means, and every message.

mod conditions;
mod errors;
mod meaning;
mod serde;
