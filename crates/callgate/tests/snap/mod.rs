//! Profiles of snaps: what they mean, and the messages about wrong ones.

mod hostile;
mod messages;
mod rules;
mod support;
mod warnings;
