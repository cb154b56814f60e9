/* A main for the fuzzed readers where libFuzzer is not linked: each file named is one input. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>

#define LONGEST_BYTES (4u << 20)

static int replay(const char *path)
{
    static uint8_t bytes[LONGEST_BYTES];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "%s: cannot be opened\n", path);
        return 1;
    }
    const size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return LLVMFuzzerTestOneInput(bytes, length);
}

int main(int count, char **arguments)
{
    int faults = 0;
    for (int i = 1; i < count; i++) {
        faults += replay(arguments[i]) != 0;
    }
    printf("%d inputs, %d faults\n", count - 1, faults);
    return faults != 0;
}
