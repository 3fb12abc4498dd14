// Failures of the driver's own.
#ifndef FAIL_H
#define FAIL_H

#include <stddef.h>

// own_failure ends the driver because of itself, not of its SDK.
_Noreturn void own_failure(const char *what);

// allot is calloc. Where there is no memory, it is the driver's own failure.
void *allot(size_t count, size_t size);

#endif
