"""Listeners: who decides about the syscalls for which a filter notifies."""

from __future__ import annotations

import select
import time
from types import TracebackType
from typing import Iterator, Optional, Type

from . import _native
from ._native import Notification

__all__ = ["Listener", "Notification"]


class Listener(_native.Listener):
    """The listener of a filter: `install(new_listener=True)` returns it. It receives the syscalls with the verdict USER_NOTIF.

    It needs no privileges, and may be in another process than the filter: send its descriptor there with socket.send_fds, and
    make a listener of what socket.recv_fds returns. A listener in the process with the filter needs a thread of its own, and
    must not itself make the syscalls for which the filter notifies, or wait for a thread that does.

        for notification in listener:
            with contextlib.suppress(FileNotFoundError):  # interrupted or killed: the syscall waits no longer
                notification.fail(errno.EPERM)

    What a syscall points to can change while it waits, so a listener does not let it continue because of what it read there.
    It performs the operation itself, and answers with the result. Once every copy of the descriptor is closed, the kernel
    fails the syscalls with ENOSYS, also those whose notifications were received.
    """

    def receive(self, timeout: Optional[float] = None) -> Optional[Notification]:
        """Waits for a syscall, for at most `timeout` seconds; None once no thread has the filter (Linux 5.9).

        Before Linux 6.11, a process has its filter until its parent has waited for it. Raises TimeoutError if there was no
        syscall.
        """
        poll = select.poll()
        poll.register(self.fileno(), select.POLLIN)
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            ready = poll.poll(None if end is None else max(0, end - time.monotonic()) * 1000)
            if not ready:
                raise TimeoutError(f"no syscall within {timeout} seconds")
            if not ready[0][1] & select.POLLIN:
                return None
            received = self.try_receive()
            if received is not None:
                return received

    def __iter__(self) -> Iterator[Notification]:
        return iter(self.receive, None)

    def __enter__(self) -> Listener:
        return self

    def __exit__(
        self, _type: Optional[Type[BaseException]], _error: Optional[BaseException], _trace: Optional[TracebackType]
    ) -> None:
        self.close()
