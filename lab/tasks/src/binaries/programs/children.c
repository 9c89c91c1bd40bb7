/* Threads, and child processes of all kinds; with an argument, the child. */
#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *argument)
{
	pthread_mutex_lock(&lock);
	usleep(1000);
	pthread_mutex_unlock(&lock);
	return argument;
}

static void wait_for(pid_t child)
{
	int status = -1;

	if (waitpid(child, &status, 0) != child || status != 0)
		exit(1);
}

int main(int argc, char **argv)
{
	char *again[] = { argv[0], "child", NULL };
	pthread_t threads[4];
	pid_t child;
	FILE *pipe;
	char line[64];
	int i;

	if (argc > 1)
		return 0;
	for (i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 2;
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	if (posix_spawn(&child, argv[0], NULL, NULL, again, environ))
		return 3;
	wait_for(child);
	if (system("exit 0"))
		return 4;
	pipe = popen("echo hello", "r");
	if (!pipe || !fgets(line, sizeof(line), pipe) || pclose(pipe))
		return 5;
	child = vfork();
	if (child == 0) {
		execv(argv[0], again);
		_exit(1);
	}
	wait_for(child);
	child = fork();
	if (child == 0)
		_exit(0);
	wait_for(child);
	fputs(line, stdout);
	return 0;
}
