//! `cargo lab truth`: whether the estimates of `callgate-measure` are true, also on a busy machine.
//!
//! [`cases`] lists what is measured. [`run`](mod@run) measures it many times with `callgate-measure`, first alone and then
//! beside a [`load`]. The truth is measured between these runs by [`c_loop`], a program in C that shares no code with
//! `callgate-measure` and uses another clock; [`truths`] takes the differences between its processes. [`score`] compares,
//! [`report`] prints.

mod c_loop;
mod cases;
mod load;
mod options;
mod report;
mod run;
mod score;
mod truths;

pub(crate) use options::HELP;
pub(crate) use run::run;
