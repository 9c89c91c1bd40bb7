"""A supervisor that makes directories for a worker, which may not do so itself.

The filter passes mkdir to its listener. The worker sends the listener to its parent, which reads the path, decides, and does
the work itself: it never lets the syscall continue, because another thread of the worker could change the path meanwhile.
"""

import contextlib
import errno
import os
import socket
import tempfile
import threading

import callgate

PROFILE = {
    "defaultAction": "SCMP_ACT_ALLOW",
    "syscalls": [{"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_NOTIFY"}],
}


def worker(parent: socket.socket, names: "list[str]") -> None:
    listener = callgate.install(PROFILE, name="worker.json", new_listener=True)
    # The parent answers, so this process closes its copy.
    socket.send_fds(parent, [b"listener"], [listener.fileno()])
    listener.close()
    for name in names:
        try:
            os.mkdir(name)
            print(f"{os.path.basename(name)}: made", flush=True)
        except OSError as error:
            print(f"{os.path.basename(name)}: {error.strerror}", flush=True)


def path_of(call: callgate.Notification) -> bytes:
    """The path in the memory of the worker."""
    address = call.args[1 if call.call == "mkdirat" else 0]
    with open(f"/proc/{call.pid}/mem", "rb", buffering=0) as memory:
        memory.seek(address)
        path = memory.read(4096).split(b"\0")[0]
    if not call.is_waiting():
        raise ProcessLookupError(errno.ESRCH, "the worker has ended, and its ID may be that of another process")
    return path


def make_directory(call: callgate.Notification, allowed: bytes) -> int:
    """Makes the directory if it is in the allowed one, and returns the error number, or 0."""
    try:
        path = path_of(call)
        if os.path.dirname(path) != allowed:
            return errno.EPERM
        os.mkdir(path)
    except OverflowError:
        # The worker gives any number as the address.
        return errno.EFAULT
    except OSError as error:
        return error.errno or errno.EIO
    return 0


def supervise(listener: callgate.Listener, allowed: bytes) -> None:
    for call in listener:
        failed = make_directory(call, allowed)
        # The worker may have been interrupted or killed meanwhile. Then the syscall waits no longer, and other workers go on.
        with contextlib.suppress(FileNotFoundError):
            if failed:
                call.fail(failed)
            else:
                call.succeed()


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            worker(theirs, [f"{directory}/inside", f"{directory}/inside", f"{directory}/../outside"])
            os._exit(0)
        theirs.close()
        _, (fd,), _, _ = socket.recv_fds(ours, 16, 1)
        with callgate.Listener(fd) as listener:
            supervisor = threading.Thread(target=supervise, args=(listener, os.fsencode(directory)))
            supervisor.start()
            # Before Linux 6.11, a process has its filter until its parent has waited for it.
            os.waitpid(pid, 0)
            supervisor.join()


if __name__ == "__main__":
    main()
