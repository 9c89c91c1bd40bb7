/* What the test programs share: checks that end the program. */
#ifndef CHECK_H
#define CHECK_H

#include <callgate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);  \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* The call succeeds; it uses the variable `error`. */
#define OK(call)                                                                                   \
	do {                                                                                       \
		int status_ = (call);                                                              \
		if (status_ != CALLGATE_OK) {                                                      \
			fprintf(stderr, "%s:%d: %s: status %d: %s\n", __FILE__, __LINE__, #call,   \
				status_, callgate_error_text(error));                              \
			exit(1);                                                                   \
		}                                                                                  \
		CHECK(error == NULL);                                                              \
	} while (0)

/* The call fails with this status and a text that contains this; it uses the variable `error`. */
#define REFUSED(call, expected, text)                                                              \
	do {                                                                                       \
		int status_ = (call);                                                              \
		if (status_ != (expected) || error == NULL ||                                      \
		    strstr(callgate_error_text(error), (text)) == NULL) {                          \
			fprintf(stderr, "%s:%d: %s: status %d: %s\n", __FILE__, __LINE__, #call,   \
				status_, error ? callgate_error_text(error) : "no error");         \
			exit(1);                                                                   \
		}                                                                                  \
		callgate_error_free(error);                                                        \
		error = NULL;                                                                      \
	} while (0)

#endif
