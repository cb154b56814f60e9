/* What a request waits for where tokens are generated: its first token, each one after. */
#ifndef SHARDPLAN_TOOLS_REQUEST_TIMES_H
#define SHARDPLAN_TOOLS_REQUEST_TIMES_H

#include "tools/report.h"

/* Keys ttft_s, tpot_s, kv_bytes, kv_bytes_per_token of an open object; a time is null where the
 * plan cannot do that part of the work. */
void request_times_push(struct command *command, const struct question *question,
                        const struct verdict *verdict, struct json_writer *out);
void request_times_dump(struct command *command, const struct question *question,
                        const struct verdict *verdict);

#endif
