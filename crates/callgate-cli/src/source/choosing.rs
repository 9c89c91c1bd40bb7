//! The help for a file with several parts.

/// How a part is chosen: a resource of Kubernetes, or the filter of a thread.
pub(super) fn choose_part(name: &str) -> String {
    format!("add #NAME to the name of the file, such as #{name}")
}
