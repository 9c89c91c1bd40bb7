//! Profiles of LXC: what they mean, and the messages about wrong ones.

mod hostile;
mod hosts;
mod messages;
mod rules;
mod support;
mod version_1;
mod warnings;
