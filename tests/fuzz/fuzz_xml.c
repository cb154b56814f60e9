/* Any XML text is refused or becomes the topology that it shows. */
#include "tests/fuzz/topology_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    topology_fuzz("input.xml", bytes, length);
    return 0;
}
