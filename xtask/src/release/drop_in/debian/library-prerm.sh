#!/bin/sh
set -e

# dpkg removes the package that diverts first, unless it is forced not to.
if [ "$1" = remove ] && [ "$(readlink -f @libdir@/libseccomp.so.2)" = @libdir@/callgate/libseccomp.so.2 ]; then
  echo "@package@: all programs use this library; remove @default@ first." >&2
  echo "@package@: without it, systemd and apt do not start." >&2
  exit 1
fi
