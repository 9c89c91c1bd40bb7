//! `cargo lab containers`: random profiles in real containers. The filter that runc or crun installs is read
//! from the container's process and compared with Callgate's program for equivalence.
//!
//! [`profiles`] makes the profiles, [`runtime`] starts the containers with [`idle`] in them, [`mod@compare`]
//! compares.

mod compare;
mod idle;
mod options;
mod outcome;
mod profiles;
mod run;
mod runtime;

pub(crate) use options::HELP;
pub(crate) use run::run;
