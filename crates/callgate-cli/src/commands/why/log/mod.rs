//! `callgate why --from LOG`: the denials of a log, with the rules that are the reason.

mod alone;
mod explained;
mod groups;
mod hints;
mod json;
mod metrics;
mod run;
mod text;
mod usual;

pub(super) use groups::given_arch;
pub(super) use run::{Log, run, run_alone};
pub(super) use usual::{Usual, usual_of};
