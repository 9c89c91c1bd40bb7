//! Conversion of filters to policy languages: round trips, texts, and what a language cannot express.

mod closest;
mod identity;
mod inexpressible;
mod limits;
mod random;
mod round_trips;
mod support;
mod texts;
