// Lines on the driver's stdout.
#ifndef LINE_H
#define LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// now is CLOCK_MONOTONIC in nanoseconds.
int64_t now(void);

// Fields are what a line says, as JSON: ,"k":"publish","c":3
struct fields {
	char json[3072];
	size_t len;
};

// The put functions add a field. Those whose value is zero, false or empty are
// left out, but for put_number. Text is UTF-8.
void put_number(struct fields *f, const char *key, int64_t n);
void put_int(struct fields *f, const char *key, int64_t n);
void put_bool(struct fields *f, const char *key, bool v);
void put_text(struct fields *f, const char *key, const char *text);

// put_bytes adds bytes as text, each as the character of that number.
void put_bytes(struct fields *f, const char *key, const unsigned char *bytes, size_t len);

// lines_open moves stdout away: from here on descriptor 1 is stderr, and lines
// go where it was.
void lines_open(void);

// line writes a line; it is in the pipe when line returns. Where nobody reads
// any more, the driver ends.
void line(const char *event, const struct fields *f);

// line_call numbers and writes a call, and answers its number.
int64_t line_call(const struct fields *f);

// line_bye writes the last line.
void line_bye(void);

#endif
