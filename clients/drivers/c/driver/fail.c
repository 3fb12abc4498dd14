#include "fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { OWN_FAILURE = 70 }; // exit status

void own_failure(const char *what)
{
	fprintf(stderr, "driver: %s\n", what);
	_exit(OWN_FAILURE);
}

void *allot(size_t count, size_t size)
{
	void *memory = calloc(count, size);
	if (memory == NULL)
		own_failure("no memory");
	return memory;
}
