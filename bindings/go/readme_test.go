package callgate_test

import (
	"os"
	"strings"
	"testing"
)

// The first example of the README is a program that runs.
func TestREADME(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("examples/first/main.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "\n```go\n"+string(program)+"```\n") {
		t.Error("examples/first/main.go is not the example of README.md")
	}
}
