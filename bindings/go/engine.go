package callgate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"unicode/utf8"

	"github.com/no--owner/callgate/bindings/go/internal/engine"
)

// maxRequest is the maximum size of a request in bytes, as in the engine.
const maxRequest = 32 << 20

// keptMemory is the maximum memory of an engine that is kept for further requests, in bytes.
const keptMemory = 16 << 20

// An engine is not safe for concurrent use, so that each request takes one of its own. The garbage collector frees
// those that are not used.
var engines = sync.Pool{New: func() any { return newEngine() }}

// newEngine is a variable for tests.
var newEngine = engine.New

// slots limits the engines at work to the number of processors, and so the memory of all together.
var slots = make(chan struct{}, runtime.GOMAXPROCS(0))

// ask sends a request to an engine and returns the answer. A panic of the engine is an error.
func ask(request []byte) (answer []byte, err error) {
	if len(request) > maxRequest {
		return nil, failure("the request has %d bytes, the maximum is %d", len(request), maxRequest)
	}
	slots <- struct{}{}
	defer func() { <-slots }()
	one := engines.Get().(*engine.Module)
	defer func() {
		// The state of an engine that panicked is unknown: it is not put back.
		if cause := recover(); cause != nil {
			answer, err = nil, failure("the engine failed, probably because memory is exhausted: %v", cause)
		}
	}()
	address := one.Xcallgate_alloc(int32(len(request)))
	copy((*one.Xmemory().Slice())[uint32(address):], request)
	packed := uint64(one.Xcallgate_answer(address, int32(len(request))))
	start, length := uint32(packed>>32), uint32(packed)
	memory := *one.Xmemory().Slice()
	answer = bytes.Clone(memory[start:][:length])
	if len(memory) <= keptMemory {
		one.Xcallgate_free(int32(start), int32(length))
		engines.Put(one)
	}
	return answer, nil
}

// call sends a request and decodes the result.
func call(request any, result any) ([]Diagnostic, error) {
	text, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("callgate: %w", err)
	}
	answer, err := ask(text)
	if err != nil {
		return nil, err
	}
	var decoded struct {
		Result   json.RawMessage `json:"result"`
		Warnings []Diagnostic    `json:"warnings"`
		Errors   []Diagnostic    `json:"errors"`
	}
	if err := json.Unmarshal(answer, &decoded); err != nil {
		return nil, fmt.Errorf("callgate: the answer of the engine: %w", err)
	}
	if decoded.Result == nil {
		return nil, &Error{Diagnostics: decoded.Errors}
	}
	if err := json.Unmarshal(decoded.Result, result); err != nil {
		return nil, fmt.Errorf("callgate: the answer of the engine: %w", err)
	}
	return decoded.Warnings, nil
}

// checkUTF8 fails for a text that JSON cannot hold: encoding/json would replace its bytes.
func checkUTF8(name string, text []byte) error {
	if utf8.Valid(text) {
		return nil
	}
	line, column := 1, 1
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && size == 1 {
			break
		}
		if column++; r == '\n' {
			line, column = line+1, 1
		}
		text = text[size:]
	}
	help := "give a program as instructions, and a text in UTF-8"
	return &Error{Diagnostics: []Diagnostic{{
		Severity: SeverityError, Source: name, Line: line, Column: column, Message: "invalid UTF-8", Help: help,
	}}}
}
