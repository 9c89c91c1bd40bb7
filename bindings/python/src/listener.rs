//! Listeners and their notifications, as classes of Python. `unsafe` code: a descriptor from Python.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use callgate_bpf::SyscallTable;
use callgate_linux as linux;
use callgate_requests::syscall::{arch_name, arch_of};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// What `callgate.Listener` inherits from.
#[pyclass(frozen, subclass, module = "callgate")]
pub(crate) struct Listener {
    /// `None` once it is closed. Only a method that uses it at the same time keeps it open.
    listener: Mutex<Option<Arc<linux::Listener>>>,
}

impl Listener {
    fn get(&self) -> PyResult<Arc<linux::Listener>> {
        let listener = lock(&self.listener).clone();
        listener.ok_or_else(closed)
    }
}

/// The error for what needs an open listener.
fn closed() -> PyErr {
    PyValueError::new_err("the listener is closed")
}

#[pymethods]
impl Listener {
    /// Takes over a descriptor.
    #[new]
    fn new(fd: RawFd) -> PyResult<Listener> {
        if fd < 0 {
            return Err(PyValueError::new_err(format!("{fd} is not a file descriptor")));
        }
        // SAFETY: by contract with the caller it is open, and nothing else closes it, as for `socket.socket(fileno=fd)`.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Listener { listener: Mutex::new(Some(Arc::new(fd.into()))) })
    }

    /// The number of the file descriptor.
    fn fileno(&self) -> PyResult<RawFd> {
        Ok(self.get()?.as_raw_fd())
    }

    /// Closes the file descriptor. If no other process has it, the kernel fails waiting syscalls with ENOSYS.
    fn close(&self) {
        lock(&self.listener).take();
    }

    /// The syscall for which `select.poll` has waited; `None` if its thread was interrupted or ended meanwhile.
    fn try_receive(&self, py: Python<'_>) -> PyResult<Option<Notification>> {
        let listener = self.get()?;
        let received = py.detach(|| listener.try_receive())?;
        Ok(received.map(|one| Notification::new(one, Arc::downgrade(&listener))))
    }
}

/// A syscall that waits for an answer: exactly one of `succeed`, `fail` and `continue_syscall`.
#[pyclass(frozen, module = "callgate")]
pub(crate) struct Notification {
    /// The thread that makes the syscall; 0 if it is not visible in this PID namespace.
    #[pyo3(get)]
    pid: i32,
    /// The architecture, such as x86_64.
    #[pyo3(get)]
    arch: String,
    /// The name of the syscall; None if its number has no name.
    #[pyo3(get)]
    call: Option<&'static str>,
    /// Its number.
    #[pyo3(get)]
    nr: u32,
    /// Its six arguments.
    #[pyo3(get)]
    args: [u64; 6],
    /// The address of the instruction behind it.
    #[pyo3(get)]
    instruction_pointer: u64,
    received: linux::Notification,
    /// It does not keep the listener open: the kernel fails the syscalls once that is closed.
    listener: Weak<linux::Listener>,
}

impl Notification {
    fn new(received: linux::Notification, listener: Weak<linux::Listener>) -> Notification {
        let data = *received.data();
        let arch = arch_of(&data);
        Notification {
            pid: received.pid(),
            arch: arch_name(arch, data.arch),
            call: arch.and_then(|arch| arch.syscall_name(data.nr)),
            nr: data.nr,
            args: data.args,
            instruction_pointer: data.instruction_pointer,
            received,
            listener,
        }
    }

    fn listener(&self) -> PyResult<Arc<linux::Listener>> {
        self.listener.upgrade().ok_or_else(closed)
    }
}

#[pymethods]
impl Notification {
    /// Whether the syscall still waits. Ask after opening something by `pid`, such as `/proc/PID/mem`: if the thread has
    /// ended, another one may have its ID. Raises ValueError if the listener is closed.
    fn is_waiting(&self) -> PyResult<bool> {
        Ok(self.listener()?.is_waiting(&self.received))
    }

    /// Lets the syscall return this value, without executing it. Raises FileNotFoundError if its thread was interrupted or
    /// ended, or has an answer, and ValueError if the listener is closed.
    #[pyo3(signature = (value = 0))]
    fn succeed(&self, value: i64) -> PyResult<()> {
        Ok(self.listener()?.succeed(&self.received, value)?)
    }

    /// Lets the syscall fail with this error number, such as errno.EPERM. Raises as `succeed`.
    fn fail(&self, errno: i32) -> PyResult<()> {
        if !(1..=4095).contains(&errno) {
            let message = format!("the error number is {errno}: give one of 1 to 4095");
            return Err(PyValueError::new_err(message));
        }
        Ok(self.listener()?.fail(&self.received, errno)?)
    }

    /// Lets the kernel execute the syscall. Never because of what its arguments point to: other threads of the program can
    /// change that before the kernel reads it. Raises as `succeed`.
    fn continue_syscall(&self) -> PyResult<()> {
        Ok(self.listener()?.continue_syscall(&self.received)?)
    }

    fn __repr__(&self) -> String {
        let call = self.call.map_or_else(|| format!("syscall {}", self.nr), str::to_owned);
        let args = self.args.map(|arg| format!("{arg:#x}")).join(", ");
        format!("<callgate.Notification of thread {}: {} {call}({args})>", self.pid, self.arch)
    }
}

/// No code panics while it holds a lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
