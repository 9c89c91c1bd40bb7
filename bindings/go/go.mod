module github.com/no--owner/callgate/bindings/go

go 1.24

require (
	github.com/opencontainers/runtime-spec v1.2.1
	golang.org/x/sys v0.35.0
)
