//go:build !linux

package callgate

// runningKernel is unknown: WithKernel gives a version.
func runningKernel() string { return "" }
