// Payloads: their header, their checksum.
#ifndef PAYLOAD_H
#define PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "line.h"

enum { HEADER = 92 };

struct header {
	const char *run;
	int process, epoch, stream, qos;
	int64_t seq;
	char kind; // M message, E end marker
};

// payload_make makes a payload of a size in bytes, or of the header's where
// that is more. It is the caller's to free.
unsigned char *payload_make(const struct header *h, size_t *size);

// put_payload adds what a line says of a payload that arrived.
void put_payload(struct fields *f, const unsigned char *payload, size_t len);

#endif
