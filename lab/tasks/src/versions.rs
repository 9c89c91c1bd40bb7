//! The versions of other projects that evaluations fetch.

/// gVisor publishes its Go packages as commits of a branch and has no releases.
pub(crate) const GVISOR: &str = "v0.0.0-20260905035102-160fafc42237";
/// The crate of rust-vmm.
pub(crate) const SECCOMPILER: &str = "0.5.0";
/// The compiler that was verified with Verus, and the Rust toolchain that builds it.
pub(crate) const SEACOMB: &str = "0.3.2";
pub(crate) const SEACOMB_TOOLCHAIN: &str = "1.98";
/// The crate with which Firecracker stores its filters; 3.0.0 cannot be compiled.
pub(crate) const BINCODE: &str = "2.0.1";
pub(crate) const LIBSECCOMP_GOLANG: &str = "v0.11.1";
