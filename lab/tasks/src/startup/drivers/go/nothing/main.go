// Installs no filter: the cost of a process.
package main

import "time"

func main() {
	run, _ := begin()
	start := time.Now()
	run.report(start, time.Now(), time.Now())
}
