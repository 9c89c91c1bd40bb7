package callgate

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero"
)

// UseCache keeps the machine code of the compiler in a directory, which is made if it does not exist. Without it, the first call of
// each process translates the compiler again, which takes about a second of processor time; with it, some tens of milliseconds.
//
// Call it before all other functions: after one of them has translated the compiler, it is an error. Whoever can write to the
// directory can execute code in this process, so it must be writable for its owner only: a directory of /run or /var/cache that
// belongs to root for a container runtime, or one below [os.UserCacheDir]. Another version of this module does not use what this
// one has written.
func UseCache(directory string) error {
	theModule.mutex.Lock()
	defer theModule.mutex.Unlock()
	if theModule.made != nil {
		return failure("the cache in %s comes too late: call UseCache before all other functions", directory)
	}
	made, err := wazero.NewCompilationCacheWithDir(directory)
	if err != nil {
		return fmt.Errorf("callgate: the cache in %s: %w", directory, err)
	}
	if replaced := theModule.cache; replaced != nil {
		// What it holds is memory, which is freed; the files stay.
		_ = replaced.Close(context.Background())
	}
	theModule.cache = made
	return nil
}
