//! The macro [`filter!`], which compiles a seccomp policy while the program is built.
//!
//! ```
//! // From the directory of Cargo.toml:
//! callgate_macros::filter!("examples/sandbox.kafel", name = "worker", installer);
//!
//! // The policy has a variable, `$controller_fd`, so there are a parameter for it and a `const fn`.
//! const FOR_STANDARD_ERROR: [libc::sock_filter; worker(0).len()] = worker(2);
//!
//! fn start(controller_fd: u32) -> std::io::Result<()> {
//!     install_worker(controller_fd)
//! }
//! ```
#![forbid(unsafe_code)]

use callgate_build::filter_macro;
use proc_macro::TokenStream;

/// Compiles a policy to a filter. Expands to items.
///
/// `filter!("FILE")`, or with options: `filter!("FILE", name = "worker", installer)`. The path is relative to the directory
/// of `Cargo.toml`. A change of the file, or of a file that it includes, leads to a new compilation.
///
/// | option | meaning |
/// |---|---|
/// | `name = "NAME"` | the name of the items; by default, that of the file |
/// | `installer` | also functions that install the filter: `install_NAME` in all threads of the process, `install_NAME_in_thread` in the calling one, `install_NAME_with` with other flags or without `no_new_privs`; for a filter that notifies, `install_NAME_listener`, …, which return the listener |
/// | `arches = ["ARCH", …]` | the architectures of the filter; by default, only that of the target |
/// | `format = "FORMAT"` | such as `kafel` or `docker`; by default, the extension decides |
/// | `part = "NAME"` | the thread of a Firecracker document, or the Kubernetes resource |
/// | `expression = "policy + ptrace"` | an expression whose value is the filter, in which `policy` is the file |
/// | `aim = "size"` | the shortest program instead of the fastest |
/// | `aim = "quick"` | a good program in a short time |
/// | `weights = "FILE"` | the frequencies of syscalls |
/// | `kernel = "X.Y"` | the kernel version for the conditions of a container profile |
///
/// They have the meaning of the functions of `callgate_build::Policy`. Without variables, the items are
/// `NAME: [libc::sock_filter; N]` and `install_name()`. With variables, they are `name(…) -> [libc::sock_filter; N]`, a
/// `const fn` with a parameter for each variable, and `install_name(…)`.
///
/// Errors of the policy are compiler errors. A macro cannot emit warnings: those of the policy are shown only if there is an
/// error, too. `callgate_build` in a build script prints all of them, and so does the command `callgate compile`.
///
/// The crate must have its own name, `callgate_macros`, in the program that uses it: a macro cannot know the target, so this
/// one expands to an invocation of a second macro for each target, of which the compiler removes all but one.
#[proc_macro]
pub fn filter(input: TokenStream) -> TokenStream {
    filter_macro::for_all_targets(input)
}

/// The policy for a target, whose name comes first. Only [`filter!`] calls it.
#[doc(hidden)]
#[proc_macro]
pub fn __filter_for_target(input: TokenStream) -> TokenStream {
    filter_macro::for_target(input)
}
