//! What minijail policies mean, syscall by syscall, and the messages about invalid ones.

mod denylists;
mod filters;
mod frequencies;
mod hostile;
mod includes;
mod messages;
mod semantics;
mod support;
mod values;
mod warnings;
