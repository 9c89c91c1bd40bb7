//! Lists of Android's C library: what they mean, and the messages about wrong ones.

mod entries;
mod filters;
mod hostile;
mod messages;
mod priorities;
mod support;
mod warnings;
