// SPDX-License-Identifier: GPL-2.0
/* Give the content of each file to the fuzzed function, where there is no libFuzzer. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
	static uint8_t text[4096];
	FILE *file;
	int i;

	for (i = 1; i < argc; i++) {
		file = fopen(argv[i], "r");
		if (!file) {
			perror(argv[i]);
			return 1;
		}
		LLVMFuzzerTestOneInput(text, fread(text, 1, sizeof(text), file));
		fclose(file);
	}
	return 0;
}
