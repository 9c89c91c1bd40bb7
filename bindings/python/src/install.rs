//! Installs programs.

use std::os::fd::{IntoRawFd, OwnedFd, RawFd};

use callgate_bpf::FilterFlags;
use callgate_core::{Arch, Endian, Program};
use callgate_linux::{InstallError, InstallErrorKind, Installer, check_machine};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// Installs a program, the bytes of `struct sock_filter` in the byte order of this machine, with the flags of `seccomp(2)` by
/// their names. `arches` are the architectures of its source. With `new_listener`, returns the descriptor of its listener. Raises
/// `callgate.InstallError`.
#[pyfunction]
pub(crate) fn install(
    py: Python<'_>,
    program: &[u8],
    arches: Vec<String>,
    flags: Vec<String>,
    no_new_privs: bool,
    new_listener: bool,
) -> PyResult<Option<RawFd>> {
    let program = Program::from_bytes(program, Endian::NATIVE)
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let mut all = FilterFlags::NONE;
    for flag in flags {
        let name = flag.strip_prefix("SECCOMP_FILTER_FLAG_").unwrap_or(&flag);
        all |= FilterFlags::named(name)
            .ok_or_else(|| PyValueError::new_err(format!("unknown flag {flag}")))?;
    }
    let arch = |name: &String| {
        Arch::from_name(name)
            .ok_or_else(|| PyValueError::new_err(format!("unknown architecture {name}")))
    };
    let arches = arches.iter().map(arch).collect::<PyResult<Vec<Arch>>>()?;
    let installer = Installer::new().flags(all).no_new_privs(no_new_privs);
    // The calling thread keeps the GIL: a filter without TSYNC is for this thread.
    let installed = check_machine(&program, &arches).and_then(|()| match new_listener {
        true => installer.install_unproved_with_listener(&program).map(Some),
        false => installer.install_unproved(&program).map(|()| None),
    });
    match installed {
        Ok(listener) => Ok(listener.map(|one| OwnedFd::from(one).into_raw_fd())),
        Err(error) => Err(exception(py, &error)?),
    }
}

/// The exception of Python for an error.
fn exception(py: Python<'_>, error: &InstallError) -> PyResult<PyErr> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let class = CLASS.import(py, "callgate._errors", "InstallError")?;
    let syscall = match error.kind() {
        InstallErrorKind::Notifies
        | InstallErrorKind::NeverNotifies
        | InstallErrorKind::NeedsListener
        | InstallErrorKind::OtherMachine { .. } => None,
        InstallErrorKind::NoNewPrivs { .. } => Some("prctl"),
        _ => Some("seccomp"),
    };
    let thread = match error.kind() {
        InstallErrorKind::Thread { thread } => *thread,
        _ => None,
    };
    let fields = (error.errno(), error.to_string(), help(error), syscall, thread);
    Ok(PyErr::from_value(class.call1(fields)?))
}

/// What to do about an error, in the words of the package.
fn help(error: &InstallError) -> String {
    let help = match error.kind() {
        InstallErrorKind::Notifies => {
            "give `new_listener=True` and answer its notifications, or use another action"
        }
        InstallErrorKind::NeverNotifies => "omit `new_listener`",
        InstallErrorKind::NeedsListener => {
            "give `wait_killable=False`, which wins over the policy, or let a rule notify and give `new_listener=True`"
        }
        InstallErrorKind::Privileges { no_new_privs: false, .. } => {
            "omit `no_new_privs=False`, or install the filter before CAP_SYS_ADMIN is dropped"
        }
        InstallErrorKind::Thread { .. } => {
            "install the filter before starting threads, or give `tsync=False`"
        }
        _ => return error.help(),
    };
    help.to_owned()
}
