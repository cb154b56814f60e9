/* Parts of an accelerator file with a source file of their own. */
#ifndef SHARDPLAN_TOPOLOGIES_ACCELERATOR_INSIDE_H
#define SHARDPLAN_TOPOLOGIES_ACCELERATOR_INSIDE_H

#include "topologies/accelerator.h"

/* What short attention loses: "half_keys", "tail" of the attention object; absent: nothing. */
bool accelerator_read_short(struct json_value attention, struct accelerator *out,
                            struct diag *diag);
void accelerator_dump_short(const struct accelerator *accelerator, struct json_writer *out);

/* The member "bench" of an accelerator; absent: a gain of 1, nothing measured. */
bool accelerator_read_bench(struct json_value object, struct arena *arena,
                            struct accelerator_bench *out, struct diag *diag);
void accelerator_dump_bench(const struct accelerator_bench *bench, struct json_writer *out);

/* The member "training" of an accelerator; absent: kernels as the other groups say, no spread. */
bool accelerator_read_training(struct json_value object, struct arena *arena,
                               struct accelerator_training *out, struct diag *diag);
void accelerator_dump_training(const struct accelerator_training *training,
                               struct json_writer *out);

#endif
