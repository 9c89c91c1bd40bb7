module github.com/no--owner/callgate/bindings/go

go 1.24.0

require (
	github.com/opencontainers/runtime-spec v1.2.1
	github.com/tetratelabs/wazero v1.11.0
	golang.org/x/sys v0.38.0
)
