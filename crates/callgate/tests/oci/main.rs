//! What the profiles of container runtimes mean, asked call by call, and what is said about those
//! that mean nothing.

mod bad_input;
mod combine;
mod container_default;
mod dialects;
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
