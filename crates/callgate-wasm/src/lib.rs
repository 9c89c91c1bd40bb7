//! Callgate as a WebAssembly module: [`callgate_requests::answer`] as three exports, without imports.
//!
//! The caller allocates the request with [`callgate_alloc`], writes it, and calls [`callgate_answer`]. This frees the
//! request and returns the answer, with its address in the upper and its length in the lower 32 bits. The caller frees
//! it with [`callgate_free`].
//!
//! With the feature `web`, the function is `callgate_web::answer`, for the web page.
//!
//! If memory is exhausted, the module traps. The caller then discards the instance; the answers of other instances
//! are not affected. `cargo xtask wasm` builds the module, with a limit of memory.

mod exports;

pub use exports::{callgate_alloc, callgate_answer, callgate_free};
