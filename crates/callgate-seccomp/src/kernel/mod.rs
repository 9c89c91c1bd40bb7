//! What the kernel supports, loading of filters, and notifications.

pub(crate) mod load;
pub(crate) mod notify;
pub(crate) mod support;
