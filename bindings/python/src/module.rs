//! The module, and its functions.

use pyo3::prelude::*;

/// The native part of the package.
#[pymodule]
mod _native {
    use std::panic::catch_unwind;

    use callgate_core::Arch;
    use pyo3::exceptions::PyRuntimeError;
    use pyo3::prelude::*;

    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::install::install;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::listener::{Listener, Notification};

    /// The architecture for which the module was compiled; empty if it has no seccomp filters.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("MACHINE", Arch::native().map_or("", Arch::name))
    }

    /// Answers a request, both JSON. Other threads run meanwhile.
    #[pyfunction]
    fn answer(py: Python<'_>, request: &[u8]) -> PyResult<String> {
        let answer = || match std::str::from_utf8(request) {
            Ok(request) => callgate_requests::answer(request),
            Err(error) => callgate_requests::not_utf8(error.valid_up_to()),
        };
        // The exception that pyo3 makes of a panic is not an Exception, so programs would not catch it.
        py.detach(|| catch_unwind(answer))
            .map_err(|_| PyRuntimeError::new_err("a defect of callgate: please report the request"))
    }
}
