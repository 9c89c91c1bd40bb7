//! Random policies and programs for property tests, and random syscalls near their constants.

mod any_program;
pub mod arguments;
mod cases;
mod named;
mod near_constants;
pub mod packets;
mod policies;
pub mod programs;
pub mod requests;
mod small_policy;
pub mod variables;

pub use any_program::{any_program, any_socket_program};
pub use callgate_bpf::random::Rng;
pub use cases::{cases, is_thorough, samples};
pub use named::named_policies;
pub use near_constants::Constants;
pub use policies::{policies, policies_of_masks, policies_of_one_argument, verdicts, x86_64};
pub use small_policy::small_policy;
