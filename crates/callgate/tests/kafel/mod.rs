//! What Kafel policies mean, syscall by syscall, and the messages about invalid ones.

mod arches;
mod conditions;
mod hostile;
mod includes;
mod messages;
mod samples;
mod statements;
mod support;
mod warnings;
