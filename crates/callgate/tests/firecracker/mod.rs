//! What Firecracker filters mean, syscall by syscall, and the messages about invalid ones.

mod conditions;
mod hostile;
mod messages;
mod support;
mod threads;
mod verdicts;
