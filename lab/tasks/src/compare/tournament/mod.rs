//! `cargo lab tournament`: random rule sets, compiled by Callgate and by every installed peer.
//!
//! [`kinds`] draws the sets; a [`bout`] compares a program of a peer with Callgate's programs for the same function; the
//! [`report`] has the totals and the rows in which a peer is ahead, and the [`page`] the totals of several seeds.

mod bout;
pub(super) mod kinds;
mod options;
mod page;
mod report;
mod run;

pub(crate) use options::HELP;
pub(crate) use run::run;
