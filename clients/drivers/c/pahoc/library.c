#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pahoc.h"

struct library load(const char *path)
{
	struct library lib;
	char copy[64], buffer[1 << 16];
	ssize_t n;
	int from = open(path, O_RDONLY | O_CLOEXEC), to = memfd_create("paho", MFD_CLOEXEC);
	if (from < 0 || to < 0) {
		perror(path);
		own_failure("cannot copy the library");
	}
	while ((n = read(from, buffer, sizeof buffer)) > 0)
		if (write(to, buffer, (size_t)n) != n)
			n = -1;
	close(from);
	snprintf(copy, sizeof copy, "/proc/self/fd/%d", to); // stays open: the next copy has another name
	void *handle = n == 0 ? dlopen(copy, RTLD_NOW | RTLD_LOCAL) : NULL;
	if (handle == NULL) {
		fprintf(stderr, "driver: load %s: %s\n", path, dlerror());
		exit(1);
	}
#define LOAD(name)                                                                                                \
	if ((*(void **)&lib.name = dlsym(handle, #name)) == NULL) {                                               \
		fprintf(stderr, "driver: %s\n", dlerror());                                                       \
		exit(1);                                                                                          \
	}
	FUNCTIONS(LOAD)
#undef LOAD
	return lib;
}
