package callgate

import (
	"fmt"
	"strings"
)

// The severities of diagnostics.
const (
	SeverityError   = "error"
	SeverityWarning = "warning"
)

// A Diagnostic is a message about a source.
type Diagnostic struct {
	// Severity is SeverityError or SeverityWarning.
	Severity string `json:"severity"`
	// Source is the name of the source; empty if the message is about the request.
	Source string `json:"source"`
	// Line and Column start at 1; both are 0 if the message is not about a position. Columns count characters.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Message says what is wrong, and Help what to do; Help may be empty.
	Message string `json:"message"`
	Help    string `json:"help"`
}

// String is the diagnostic as compilers print it, with the help in a second line.
func (d Diagnostic) String() string {
	var text strings.Builder
	if d.Source != "" {
		text.WriteString(d.Source + ":")
		if d.Line > 0 {
			fmt.Fprintf(&text, "%d:%d:", d.Line, d.Column)
		}
		text.WriteByte(' ')
	}
	text.WriteString(d.Severity + ": " + d.Message)
	if d.Help != "" {
		text.WriteString("\n  help: " + d.Help)
	}
	return text.String()
}

// An Error says why there is no result. Use errors.As to get it.
type Error struct {
	// Diagnostics are all errors, and the warnings between them, in the order of the source.
	Diagnostics []Diagnostic
}

// Error is the text of all errors.
func (e *Error) Error() string {
	var texts []string
	for _, diagnostic := range e.Diagnostics {
		if diagnostic.Severity == SeverityError {
			texts = append(texts, diagnostic.String())
		}
	}
	return "callgate: " + strings.Join(texts, "\n")
}

// First is the first error. Its position is where to look first.
func (e *Error) First() Diagnostic {
	for _, diagnostic := range e.Diagnostics {
		if diagnostic.Severity == SeverityError {
			return diagnostic
		}
	}
	return Diagnostic{Severity: SeverityError, Message: "no error was reported"}
}

// failure is an error without a position.
func failure(format string, values ...any) *Error {
	return &Error{Diagnostics: []Diagnostic{{Severity: SeverityError, Message: fmt.Sprintf(format, values...)}}}
}
