#!/bin/sh
set -e

# dpkg removes the package that diverts first, unless it is forced not to.
if [ "$1" = remove ]; then
  for path in @libdir@/libseccomp.so.2*; do
    if [ "$(readlink -f "$path")" = @libdir@/callgate/libseccomp.so.2 ]; then
      echo "@package@: $path is a link to this library; remove @default@ first." >&2
      echo "@package@: without libseccomp.so.2, systemd and apt do not start." >&2
      exit 1
    fi
  done
fi
