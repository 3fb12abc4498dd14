#include "payload.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"

// The checksum and its bar.
enum { SUM_AT = 83, SUM_LEN = 9 };

static uint32_t table[256];
static pthread_once_t table_made = PTHREAD_ONCE_INIT;

static void make_table(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;
		for (int bit = 0; bit < 8; bit++)
			c = c & 1 ? 0xEDB88320u ^ c >> 1 : c >> 1;
		table[i] = c;
	}
}

// crc continues the CRC-32 of zlib, which begins with 0.
static uint32_t crc(uint32_t sum, const unsigned char *b, size_t len)
{
	pthread_once(&table_made, make_table);
	sum = ~sum;
	for (size_t i = 0; i < len; i++)
		sum = table[(sum ^ b[i]) & 0xFF] ^ sum >> 8;
	return ~sum;
}

static uint32_t checksum(const unsigned char *b, size_t len)
{
	if (len < HEADER)
		return crc(0, b, len);
	return crc(crc(0, b, SUM_AT), b + HEADER, len - HEADER);
}

unsigned char *payload_make(const struct header *h, size_t *size)
{
	if (*size < HEADER)
		*size = HEADER;
	unsigned char *b = allot(*size + 1, 1);
	char head[HEADER + 64];
	snprintf(head, sizeof head, "RQ1|%-8.8s|%08x|%04x|%08x|%016" PRIx64 "|%d|%c|%016" PRIx64 "|%08x|", h->run,
		 (unsigned)h->process, (unsigned)h->epoch & 0xFFFF, (unsigned)h->stream, (uint64_t)h->seq, h->qos & 3,
		 h->kind, (uint64_t)now(), (unsigned)*size);
	memcpy(b, head, SUM_AT);
	for (size_t i = HEADER; i < *size; i++)
		b[i] = (unsigned char)('a' + ((uint64_t)h->stream + (uint64_t)h->seq + i - HEADER) % 26);
	sprintf(head, "%08" PRIx32 "|", checksum(b, *size));
	memcpy(b + SUM_AT, head, SUM_LEN);
	return b;
}

void put_payload(struct fields *f, const unsigned char *payload, size_t len)
{
	char sum[9];
	sprintf(sum, "%08" PRIx32, checksum(payload, len));
	put_bytes(f, "h", payload, len < HEADER ? len : HEADER);
	put_text(f, "crc", sum);
	put_int(f, "len", (int64_t)len);
}
