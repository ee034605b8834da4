/* Runs a fuzz target over files and directories of inputs, for builds without libFuzzer: the corpus
 * is an ordinary test. Each input is also tried cut short and with flipped bits. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 1 << 20, CUTS = 64, FLIPS = 256 };

/* A fixed sequence: a failure can be repeated. */
static uint32_t next_random(uint32_t *state) {
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static void try_variants(const uint8_t *data, size_t size) {
	uint8_t *copy = malloc(size + 1);
	uint32_t state = (uint32_t)size + 1;
	if (!copy) {
		abort();
	}
	(void)LLVMFuzzerTestOneInput(data, size);
	for (size_t i = 0; i < CUTS && size > 0; i++) {
		size_t cut = next_random(&state) % size;
		memcpy(copy, data, cut);
		(void)LLVMFuzzerTestOneInput(copy, cut);
	}
	for (size_t i = 0; i < FLIPS && size > 0; i++) {
		memcpy(copy, data, size);
		copy[next_random(&state) % size] ^= (uint8_t)(1u << (next_random(&state) % 8));
		copy[next_random(&state) % size] = (uint8_t)next_random(&state);
		(void)LLVMFuzzerTestOneInput(copy, size);
	}
	free(copy);
}

static int run_file(const char *path) {
	FILE *file = fopen(path, "re");
	uint8_t *data = malloc(INPUT_MAX);
	if (!file || !data) {
		(void)fprintf(stderr, "cannot read %s\n", path);
		abort();
	}
	size_t size = fread(data, 1, INPUT_MAX, file);
	try_variants(data, size);
	free(data);
	(void)fclose(file);
	return 1;
}

static int run_path(const char *path) {
	DIR *dir = opendir(path);
	if (!dir) {
		return run_file(path);
	}
	int count = 0;
	for (struct dirent *entry; (entry = readdir(dir));) {
		char name[4096];
		(void)snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		count += entry->d_name[0] == '.' ? 0 : run_file(name);
	}
	(void)closedir(dir);
	return count;
}

int main(int argc, char **argv) {
	int count = 0;
	for (int i = 1; i < argc; i++) {
		count += run_path(argv[i]);
	}
	(void)printf("%d inputs\n", count);
	return count > 0 ? 0 : 1;
}
