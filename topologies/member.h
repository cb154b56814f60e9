/* Members that this folder's formats share. */
#ifndef SHARDPLAN_TOPOLOGIES_MEMBER_H
#define SHARDPLAN_TOPOLOGIES_MEMBER_H

#include <stdbool.h>

#include "base/diag.h"
#include "base/json.h"

/* The member must be there and be an array (an object); otherwise one diagnostic. `what` says what
 * belongs in it: "a list of levels". */
bool member_read_array(struct json_value object, const char *key, const char *what,
                       struct json_value *out, struct diag *diag);
bool member_read_object(struct json_value object, const char *key, const char *what,
                        struct json_value *out, struct diag *diag);
/* The member "format" must be exactly `format`: "shardplan/cluster/1". */
bool member_check_format(struct json_value object, const char *format, struct diag *diag);
/* Written where it says something: NULL and "" are left out. */
void member_dump_text(const char *key, const char *value, struct json_writer *out);

#endif
