/* Compares the answers to requests with those of files: vectors REQUEST ANSWER [REQUEST ANSWER ...] */
#include "check.h"

static char *content_of(const char *path, size_t *length)
{
	FILE *file = fopen(path, "rb");
	size_t room = 1 << 16, got;
	char *content = (char *)malloc(room);

	CHECK(file != NULL && content != NULL);
	*length = 0;
	while ((got = fread(content + *length, 1, room - *length, file)) > 0) {
		*length += got;
		if (*length == room) {
			content = (char *)realloc(content, room *= 2);
			CHECK(content != NULL);
		}
	}
	CHECK(!ferror(file));
	fclose(file);
	return content;
}

int main(int argc, char **argv)
{
	int different = 0;

	CHECK(argc > 2 && argc % 2 == 1);
	for (int i = 1; i < argc; i += 2) {
		size_t length, expected_length, answered_length;
		char *request = content_of(argv[i], &length);
		char *expected = content_of(argv[i + 1], &expected_length);
		callgate_error *error;
		callgate_text *answer;
		const char *answered;

		OK(callgate_answer(request, length, &answer, &error));
		answered = callgate_text_data(answer, &answered_length);
		if (answered_length != expected_length ||
		    memcmp(answered, expected, expected_length) != 0) {
			fprintf(stderr, "%s: another answer: %s\n", argv[i], answered);
			different = 1;
		}
		callgate_text_free(answer);
		free(request);
		free(expected);
	}
	if (!different)
		printf("%d answers\n", argc / 2);
	return different;
}
