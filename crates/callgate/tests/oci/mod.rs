//! What the profiles of container runtimes mean, syscall by syscall, and the messages about invalid ones.

mod bad_input;
mod base_profiles;
mod built_in;
mod combine;
mod container_default;
mod containers;
mod dialects;
mod documents;
mod enosys;
mod gates;
mod hostile;
mod json;
mod many_rules;
mod order;
mod shapes;
mod support;
mod warnings;
mod yaml;
