package callgate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/no--owner/callgate/bindings/go/internal/module"
)

// TestMain lets processes that tests start find the machine code of this one.
func TestMain(m *testing.M) {
	const variable = "CALLGATE_TEST_SHARED_CACHE"
	directory, isChild := os.LookupEnv(variable)
	if !isChild {
		made, err := os.MkdirTemp("", "callgate")
		if err != nil {
			panic(err)
		}
		directory = made
		os.Setenv(variable, directory)
	}
	if err := UseCache(directory); err != nil {
		panic(err)
	}
	code := m.Run()
	if !isChild {
		os.RemoveAll(directory)
	}
	os.Exit(code)
}

// The answers are those of the native library, byte for byte; each is asked twice at the same time, so that engines
// are used again.
func TestVectors(t *testing.T) {
	requests, err := filepath.Glob("../vectors/*.request.json")
	if err != nil || len(requests) < 40 {
		t.Fatalf("%d vectors, %v", len(requests), err)
	}
	var group sync.WaitGroup
	for _, path := range append(requests, requests...) {
		group.Add(1)
		go func() {
			defer group.Done()
			request, err := os.ReadFile(path)
			if err != nil {
				t.Error(err)
				return
			}
			want, err := os.ReadFile(strings.Replace(path, ".request.", ".answer.", 1))
			if err != nil {
				t.Error(err)
				return
			}
			got, err := ask(request)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %v\n%s", path, err, got)
			}
		}()
	}
	group.Wait()
}

// The documentation of the package says which module it is.
func TestModuleHash(t *testing.T) {
	hash := sha256.Sum256(module.WebAssembly)
	if got := hex.EncodeToString(hash[:]); got != module.SHA256 {
		t.Errorf("the module has the hash %s, its documentation says %s", got, module.SHA256)
	}
}
