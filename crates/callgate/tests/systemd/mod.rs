//! What the directives of systemd mean, syscall by syscall, and the messages about invalid ones.

mod drop_ins;
mod filter_lists;
mod hostile;
mod lines;
mod messages;
mod sandbox;
mod stack;
mod support;
mod versions;
