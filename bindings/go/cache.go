package callgate

import (
	"fmt"
	"sync/atomic"

	"github.com/tetratelabs/wazero"
)

// cache is where machine code is kept; nil without [UseCache].
var cache atomic.Pointer[wazero.CompilationCache]

// UseCache keeps the machine code of the compiler in a directory, which is made if it does not exist. Without it, the first call of
// each process translates the compiler again, which takes several hundred milliseconds of a processor; with it, some tens.
//
// Call it before all other functions. Whoever can write to the directory can execute code in this process, so it must be
// writable for its owner only: a directory of /run or /var/cache that belongs to root for a container runtime, or one below
// [os.UserCacheDir]. Another version of this module does not use what this one has written.
func UseCache(directory string) error {
	made, err := wazero.NewCompilationCacheWithDir(directory)
	if err != nil {
		return fmt.Errorf("callgate: the cache in %s: %w", directory, err)
	}
	cache.Store(&made)
	return nil
}
