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

	"github.com/no--owner/callgate/bindings/go/internal/engine"
)

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

// The engine was translated from the module that was built with it.
func TestModuleHash(t *testing.T) {
	module, err := os.ReadFile("../wasm/callgate.wasm")
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256(module)
	if got := hex.EncodeToString(hash[:]); got != engine.ModuleSHA256 {
		t.Errorf("the module has the hash %s, the engine was translated from %s", got, engine.ModuleSHA256)
	}
}
