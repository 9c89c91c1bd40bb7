package callgate

import (
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// runningKernel is the version of the running kernel, such as 6.12; empty if it is unknown.
var runningKernel = sync.OnceValue(func() string {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return ""
	}
	parts := strings.SplitN(unix.ByteSliceToString(name.Release[:]), ".", 3)
	if len(parts) < 2 {
		return ""
	}
	isDigit := func(r rune) bool { return r >= '0' && r <= '9' }
	minor := parts[1]
	if end := strings.IndexFunc(minor, func(r rune) bool { return !isDigit(r) }); end >= 0 {
		minor = minor[:end]
	}
	return parts[0] + "." + minor
})
