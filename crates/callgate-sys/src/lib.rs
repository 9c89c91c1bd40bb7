//! The kernel side: install a filter and run commands under it.
