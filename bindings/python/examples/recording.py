"""A strace log as rows, as a data frame if pandas is installed."""

import callgate

LOG = """\
1234 openat(AT_FDCWD, "/etc/passwd", O_RDONLY) = 3
1234 read(3, "root"..., 4096) = 2087
1234 close(3) = 0
1234 close(4) = 0
"""

rows = callgate.recording(LOG)
try:
    import pandas  # type: ignore[import-untyped, import-not-found, unused-ignore]
except ImportError:
    for row in rows:
        print(row["call"], row["count"], row["arg0"])
else:
    print(pandas.DataFrame(rows)[["arch", "call", "count", "arg0"]])
