/* A process without libraries that only waits, with a syscall that every allow list contains. */
void _start(void)
{
	for (;;) {
		long result;
		__asm__ volatile("syscall" : "=a"(result) : "0"(34L) : "rcx", "r11", "memory");
	}
}
