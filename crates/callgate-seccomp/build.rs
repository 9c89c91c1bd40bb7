//! Gives the shared library the SONAME of the library that it replaces.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Links again with another order.
    println!("cargo::rerun-if-changed=order.ld");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libseccomp.so.2");
}
