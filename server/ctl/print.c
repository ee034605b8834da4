/* Tables, ages, sizes, URLs. */
#include "server/ctl/ctl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void print_json(const json_t *json) {
	(void)json_dumpf(json, stdout, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
	(void)fputc('\n', stdout);
	(void)fflush(stdout);
}

/* Columns that a UTF-8 text takes, counting a character as one. */
static int width_of(const char *text) {
	int width = 0;
	for (; *text; text++) {
		width += ((unsigned char)*text & 0xc0) != 0x80;
	}
	return width;
}

static void print_row(const char *const *cells, const int *widths, size_t columns) {
	for (size_t c = 0; c < columns; c++) {
		int pad = c + 1 < columns ? widths[c] - width_of(cells[c]) + 2 : 0;
		(void)printf("%s%*s", cells[c], pad, "");
	}
	(void)fputc('\n', stdout);
}

void print_table(const char *const *head, size_t columns, char *const *cells, size_t rows) {
	_cleanup_free_ int *widths = calloc(columns, sizeof(*widths));
	if (!widths) {
		return;
	}
	for (size_t c = 0; c < columns; c++) {
		widths[c] = width_of(head[c]);
		for (size_t r = 0; r < rows; r++) {
			int width = width_of(cells[r * columns + c]);
			widths[c] = width > widths[c] ? width : widths[c];
		}
	}
	print_row(head, widths, columns);
	for (size_t r = 0; r < rows; r++) {
		print_row((const char *const *)cells + r * columns, widths, columns);
	}
}

void print_age(const char *iso, char *ret, size_t size) {
	struct tm tm = {0};
	if (!strptime(iso, "%Y-%m-%dT%H:%M:%S", &tm)) {
		(void)snprintf(ret, size, "-");
		return;
	}
	long age = (long)(time(NULL) - timegm(&tm));
	if (age < 120) {
		(void)snprintf(ret, size, "%ld s", age < 0 ? 0 : age);
	} else if (age < 2 * 3600L) {
		(void)snprintf(ret, size, "%ld m", age / 60);
	} else if (age < 48 * 3600L) {
		(void)snprintf(ret, size, "%ld h", age / 3600);
	} else {
		(void)snprintf(ret, size, "%ld d", age / 86400);
	}
}

void print_size(double bytes, char *ret, size_t size) {
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
	size_t unit = 0;
	while (bytes >= 1000 && unit + 1 < CUA_COUNT(units)) {
		bytes /= 1000;
		unit++;
	}
	(void)snprintf(ret, size, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

char *url_escape(const char *text, bool keep_slash) {
	static const char hex[] = "0123456789ABCDEF";
	char *out = malloc(strlen(text) * 3 + 1);
	if (!out) {
		return NULL;
	}
	char *p = out;
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		if (isalnum(c) || strchr("-_.~", c) || (keep_slash && c == '/')) {
			*p++ = (char)c;
		} else {
			*p++ = '%';
			*p++ = hex[c >> 4];
			*p++ = hex[c & 15];
		}
	}
	*p = '\0';
	return out;
}

const char *json_text(const json_t *object, const char *key) {
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}
