/* Any text that begins as a table of `nvidia-smi topo -m` is refused or becomes the topology that
 * it shows. */
#include "tests/fuzz/topology_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    topology_fuzz("input.txt", bytes, length);
    return 0;
}
