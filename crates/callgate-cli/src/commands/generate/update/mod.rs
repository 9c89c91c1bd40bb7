//! `--update`: adds what recordings need to an existing profile, in the language of the profile.

mod run;
mod search;
mod text;

pub(super) use run::run;
