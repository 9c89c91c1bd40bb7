"""Shows what a second filter allows that the first one does not."""

import callgate

strict = callgate.preset("container-default", caps="none")
loose = callgate.preset("container-default", caps="CAP_SYS_ADMIN")
for difference in callgate.subset(loose, strict):
    print(difference)
