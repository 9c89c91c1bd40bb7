package callgate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/no--owner/callgate/bindings/go/internal/module"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// maxRequest is the maximum size of a request in bytes, as in the engine.
const maxRequest = 32 << 20

// keptMemory is the maximum memory of an engine that is kept for further requests, in bytes.
const keptMemory = 16 << 20

// maxIdle is the maximum number of engines that are kept.
const maxIdle = 4

// A factory makes engines: the module after its translation to machine code.
type factory struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
}

// A preparation makes the factory, for the first request. After a failure, the next request tries again.
type preparation struct {
	mutex sync.Mutex
	// configs are for making it: the first one that works.
	configs []wazero.RuntimeConfig
	// cache is where machine code is kept; nil without [UseCache].
	cache wazero.CompilationCache
	// made is the factory; nil before it is made.
	made *factory
}

// theModule is what all requests use. The system may allow no new machine code, as with MemoryDenyWriteExecute= of systemd.
var theModule = preparation{configs: []wazero.RuntimeConfig{wazero.NewRuntimeConfig(), wazero.NewRuntimeConfigInterpreter()}}

// factory is the factory, which is made if there is none.
func (p *preparation) factory() (*factory, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.made != nil {
		return p.made, nil
	}
	configs := p.configs
	if p.cache != nil {
		// It may be damaged.
		cached := wazero.NewRuntimeConfig().WithCompilationCache(p.cache)
		configs = append([]wazero.RuntimeConfig{cached}, configs...)
	}
	var err error
	for _, config := range configs {
		if p.made, err = newFactory(config.WithDebugInfoEnabled(false)); err == nil {
			break
		}
	}
	return p.made, err
}

// newFactory prepares the module. A panic is an error: wazero has no other for machine code that the system refuses.
func newFactory(config wazero.RuntimeConfig) (made *factory, err error) {
	ctx := experimental.WithCompilationWorkers(context.Background(), runtime.GOMAXPROCS(0))
	var prepared factory
	defer func() {
		if cause := recover(); cause != nil {
			err = failure("the engine cannot be prepared: %v", cause)
		}
		if err != nil && prepared.runtime != nil {
			// The error that counts is the first one.
			_ = prepared.runtime.Close(ctx)
		}
	}()
	prepared.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	if prepared.compiled, err = prepared.runtime.CompileModule(ctx, module.WebAssembly); err != nil {
		return nil, failure("the engine cannot be prepared: %v", err)
	}
	return &prepared, nil
}

// An engine is an instance of the module. It is not safe for concurrent use, so that each request takes one of its own.
type engine struct {
	instance            api.Module
	alloc, answer, free api.Function
}

func (f *factory) engine() (*engine, error) {
	// Without a name, there can be many.
	instance, err := f.runtime.InstantiateModule(context.Background(), f.compiled, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		return nil, failure("the engine cannot be started: %v", err)
	}
	function := instance.ExportedFunction
	return &engine{instance, function("callgate_alloc"), function("callgate_answer"), function("callgate_free")}, nil
}

// ask sends a request. It is whether the engine can be used again: after an error, its state is unknown.
func (e *engine) ask(request []byte) (answer []byte, isReusable bool, err error) {
	call := func(function api.Function, parameters ...uint64) uint64 {
		var results []uint64
		if err == nil {
			results, err = function.Call(context.Background(), parameters...)
		}
		if err != nil || len(results) == 0 {
			return 0
		}
		return results[0]
	}
	memory := e.instance.Memory()
	address := call(e.alloc, uint64(len(request)))
	if err == nil && !memory.Write(uint32(address), request) {
		err = fmt.Errorf("no memory at %#x", address)
	}
	packed := call(e.answer, address, uint64(len(request)))
	start, length := uint32(packed>>32), uint32(packed)
	if view, isInside := memory.Read(start, length); err == nil && isInside {
		answer = bytes.Clone(view)
	}
	call(e.free, uint64(start), uint64(length))
	if err != nil {
		// The stack, which follows, has no names.
		message, _, _ := strings.Cut(err.Error(), "\n")
		return nil, false, failure("the engine failed, probably because memory is exhausted: %s", message)
	}
	return answer, memory.Size() <= keptMemory, nil
}

// slots limits the engines at work to the number of processors, and so the memory of all together.
var slots = make(chan struct{}, runtime.GOMAXPROCS(0))

// idle are engines for further requests.
var idle = make(chan *engine, min(runtime.GOMAXPROCS(0), maxIdle))

// ask sends a request to an engine and returns the answer.
func ask(request []byte) ([]byte, error) {
	if len(request) > maxRequest {
		return nil, failure("the request has %d bytes, the maximum is %d", len(request), maxRequest)
	}
	slots <- struct{}{}
	defer func() { <-slots }()
	made, err := theModule.factory()
	if err != nil {
		return nil, err
	}
	var one *engine
	select {
	case one = <-idle:
	default:
		if one, err = made.engine(); err != nil {
			return nil, err
		}
	}
	answer, isReusable, err := one.ask(request)
	if isReusable {
		select {
		case idle <- one:
			return answer, nil
		default:
		}
	}
	// What the runtime holds of it is freed; an error would concern files of the module, which has none.
	_ = one.instance.Close(context.Background())
	return answer, err
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
