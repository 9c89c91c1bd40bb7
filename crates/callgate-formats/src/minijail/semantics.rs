//! The two compilers of minijail.
//!
//! Both read the same policies, and agree on most. Where they do not, one of them refuses a policy, or the two give it different
//! meanings. These are all constructs with two meanings:
//!
//! - `conditions; return ERRNO`: with Python, the errno is for calls that meet the conditions; with C, for all others.
//! - A comment that ends with `\`: with Python, the next line is read; with C, it is a part of the comment.
//!
//! Sources: `syscall_filter.c`, `util.c` and `bpf.c` for C; `tools/parser.py` and `tools/compiler.py` for Python.

/// Which of minijail's compilers decides what a policy means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Semantics {
    /// The compiler in Python, `tools/compile_seccomp_policy.py`.
    Python,
    /// The parser in C, `syscall_filter.c`, which `minijail0 -S` uses.
    C,
}

impl Semantics {
    /// Both, with their names.
    pub const ALL: [(&'static str, Semantics); 2] =
        [("c", Semantics::C), ("python", Semantics::Python)];
}
