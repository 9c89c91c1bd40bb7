package main

/*
#include "timed.h"
*/
import "C"
import "time"

// excluded is the time in the two system calls, which are made in C.
func excluded() time.Duration {
	return time.Duration(C.timed_excluded())
}
