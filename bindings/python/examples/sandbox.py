"""Compiles a filter that denies new sockets, installs it in all threads, and tries to make a socket."""

import os
import socket

import callgate

program = callgate.compile(callgate.preset("no-sockets"))
program.install()
try:
    socket.socket()
except OSError as error:
    print(os.strerror(error.errno or 0))
