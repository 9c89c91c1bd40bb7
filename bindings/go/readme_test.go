package callgate_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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
	shown := strings.TrimPrefix(string(program), "//go:build linux\n\n")
	if !strings.Contains(string(readme), "\n```go\n"+shown+"```\n") {
		t.Error("examples/first/main.go is not the example of README.md")
	}
}

// The program in Go of docs/how-to/filters-in-go.md prints what its comment says.
func TestProgramPage(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("filters are for Linux")
	}
	_, rest, isMarked := strings.Cut(programPage(t), "<!-- go -->\n```go\n")
	program, _, isClosed := strings.Cut(rest, "```\n")
	_, comment, hasOutput := strings.Cut(program, "fmt.Println(err) // ")
	expected, _, _ := strings.Cut(comment, "\n")
	if !isMarked || !isClosed || !hasOutput {
		t.Fatal("docs/how-to/filters-in-go.md has no program in Go with the mark and the comment")
	}
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	// In this module, which the program imports. Warnings are on standard error.
	command := exec.Command("go", "run", file)
	var printed strings.Builder
	command.Stderr = &printed
	output, err := command.Output()
	if err != nil || string(output) != expected+"\n" {
		t.Errorf("%v\n%s\n%s", err, output, printed.String())
	}
}

// programPage is docs/how-to/filters-in-go.md. A release of the module is without it; the tests of the repository run below its root.
func programPage(t *testing.T) string {
	t.Helper()
	directory, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for parent := filepath.Dir(directory); parent != directory; directory, parent = parent, filepath.Dir(parent) {
		if page, err := os.ReadFile(filepath.Join(parent, "docs", "how-to", "filters-in-go.md")); err == nil {
			return string(page)
		}
	}
	t.Skip("docs/how-to/filters-in-go.md is not here")
	return ""
}
