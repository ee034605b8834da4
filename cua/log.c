/* Logging to stderr; see the header. */
#include "cua/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
	const char *program;
	enum cua_log_level level;
	bool terminal;
} logger = {.program = "cuad", .level = CUA_LOG_INFO};

static enum cua_log_level level_from_name(const char *name, enum cua_log_level fallback) {
	static const struct {
		const char *name;
		enum cua_log_level level;
	} names[] = {{"error", CUA_LOG_ERROR}, {"warn", CUA_LOG_WARN}, {"info", CUA_LOG_INFO},
		{"debug", CUA_LOG_DEBUG}};
	for (size_t i = 0; name && i < CUA_COUNT(names); i++) {
		if (strcmp(names[i].name, name) == 0) {
			return names[i].level;
		}
	}
	return fallback;
}

void cua_log_open(const char *program, enum cua_log_level level) {
	logger.program = program;
	logger.level = level_from_name(getenv("CUAD_LOG"), level);
	logger.terminal = isatty(STDERR_FILENO) == 1;
}

void cua_log(enum cua_log_level level, const char *fmt, ...) {
	if (level > logger.level) {
		return;
	}
	char text[1024];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (char *c = text; *c; c++) {
		if ((unsigned char)*c < 0x20 || *c == 0x7f) {
			*c = '?';
		}
	}
	char line[1100];
	int n = logger.terminal ? snprintf(line, sizeof(line), "%s: %s\n", logger.program, text)
				: snprintf(line, sizeof(line), "<%d>%s: %s\n", (int)level,
					  logger.program, text);
	if (n > 0) {
		(void)!write(STDERR_FILENO, line,
			(size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
	}
}
