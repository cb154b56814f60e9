/* Parts of an accelerator file with a source file of their own. */
#ifndef SHARDPLAN_TOPOLOGIES_ACCELERATOR_INSIDE_H
#define SHARDPLAN_TOPOLOGIES_ACCELERATOR_INSIDE_H

#include "topologies/accelerator.h"

/* At most what memory may have. */
#define ACCELERATOR_BYTES_MAX 1e14

/* As accelerator_check; the place is the file's. */
bool accelerator_check_at(const struct accelerator *accelerator, struct diag_place place,
                          struct diag *diag);

/* The member "attention" of an accelerator. */
bool accelerator_read_attention(struct json_value object, struct arena *arena,
                                struct accelerator *out, struct diag *diag);
void accelerator_dump_attention(const struct accelerator *accelerator, struct json_writer *out);

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
