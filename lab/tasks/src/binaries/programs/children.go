// Goroutines, threads and child processes; with an argument, the child.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

func main() {
	if len(os.Args) > 1 {
		fmt.Println("hello")
		return
	}
	var all sync.WaitGroup
	for range 4 {
		all.Add(1)
		go func() {
			defer all.Done()
			runtime.LockOSThread()
			time.Sleep(time.Millisecond)
		}()
	}
	all.Wait()
	runtime.GC()
	text, err := exec.Command(os.Args[0], "child").Output()
	if err != nil {
		panic(err)
	}
	entries, err := os.ReadDir("/")
	if err != nil {
		panic(err)
	}
	fmt.Println(len(entries), string(text))
}
