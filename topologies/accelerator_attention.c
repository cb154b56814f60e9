/* Shares of the peak that attention kernels reach, by pass, mask, head dimension. */
#include "base/text.h"
#include "topologies/accelerator_inside.h"
#include "topologies/member.h"

#define HEAD_DIM_MAX 65536u
#define KEYS_MAX 1e6
#define TAIL_MAX 100.0

/* The four tables of attention fractions, in the order of the members of struct attention_point. */
enum attention_table { CAUSAL_FORWARD, CAUSAL_BACKWARD, FULL_FORWARD, FULL_BACKWARD, TABLE_COUNT };

static const struct {
    const char *direction, *mask;
} tables[TABLE_COUNT] = {
    [CAUSAL_FORWARD] = {"forward_frac", "causal"},
    [CAUSAL_BACKWARD] = {"backward_frac", "causal"},
    [FULL_FORWARD] = {"forward_frac", "full"},
    [FULL_BACKWARD] = {"backward_frac", "full"},
};

static double point_frac(const struct attention_point *point, enum attention_table table)
{
    const double fracs[TABLE_COUNT] = {
        [CAUSAL_FORWARD] = point->forward_frac,
        [CAUSAL_BACKWARD] = point->backward_frac,
        [FULL_FORWARD] = point->full_forward_frac,
        [FULL_BACKWARD] = point->full_backward_frac,
    };
    return fracs[table];
}

static double *point_slot(struct attention_point *point, enum attention_table table)
{
    double *const slots[TABLE_COUNT] = {
        [CAUSAL_FORWARD] = &point->forward_frac,
        [CAUSAL_BACKWARD] = &point->backward_frac,
        [FULL_FORWARD] = &point->full_forward_frac,
        [FULL_BACKWARD] = &point->full_backward_frac,
    };
    return slots[table];
}

/* --- reading ---------------------------------------------------------------------------------- */

/* "128" to 128; 0 if it is no number within range. */
static uint32_t head_dim_of(const char *key)
{
    uint32_t dim = 0;
    for (; *key >= '0' && *key <= '9' && dim <= HEAD_DIM_MAX; key++) {
        dim = dim * 10 + (uint32_t)(*key - '0');
    }
    return *key == '\0' && dim <= HEAD_DIM_MAX ? dim : 0;
}

/* The head dimensions are the keys of the first table; the others must have the same. */
static bool read_head_dims(struct json_value first, struct accelerator *out, struct diag *diag)
{
    const uint32_t count = json_count(first);
    bool good = count >= 1 && count <= ATTENTION_POINT_MAX;
    uint32_t below = 0;
    for (uint32_t i = 0; good && i < count; i++) {
        const uint32_t dim = head_dim_of(json_key(json_find_index(first, i)));
        good = dim > below;
        below = dim;
        out->attention[i].head_dim = dim;
    }
    out->attention_point_count = good ? count : 0;
    return good || diag_push(diag, DIAG_T304, json_place(first), NULL,
                             "the keys must be 1 to %d head dimensions in ascending order, as in "
                             "{\"64\": 0.5, \"128\": 0.6}",
                             ATTENTION_POINT_MAX);
}

static bool read_table(struct json_value attention, enum attention_table table,
                       struct accelerator *out, struct diag *diag)
{
    static const char *const masks[] = {"full", "causal", NULL};
    struct json_value direction, fracs;
    if (!member_read_object(attention, tables[table].direction,
                            "fractions by mask, \"full\" and "
                            "\"causal\"",
                            &direction, diag) ||
        !member_read_object(direction, tables[table].mask, "fractions by head dimension", &fracs,
                            diag)) {
        return false;
    }
    bool good = json_check_keys(direction, masks, diag);
    if (table == CAUSAL_FORWARD) {
        good = read_head_dims(fracs, out, diag) && good;
    } else if (json_count(fracs) != out->attention_point_count) {
        good = diag_push(diag, DIAG_T304, json_place(fracs), NULL,
                         "'%s' has %u head dimensions under '%s' and %u under 'forward_frac' "
                         "'causal': give the same in all",
                         tables[table].direction, json_count(fracs), tables[table].mask,
                         out->attention_point_count);
    }
    for (uint32_t i = 0; good && i < out->attention_point_count; i++) {
        struct attention_point *point = &out->attention[i];
        const char *key = text_build(diag->arena, "%u", point->head_dim);
        good = json_read_double(fracs, key, 0, 1, point_slot(point, table), diag);
    }
    return good;
}

static bool read_pair(struct json_value object, const char *key, const char *const names[2],
                      double max, double *const out[2], struct diag *diag)
{
    const char *const keys[] = {names[0], names[1], NULL};
    struct json_value pair;
    *out[0] = *out[1] = 0.0;
    if (json_is_absent(json_find(object, key))) {
        return true;
    }
    if (!member_read_object(object, key, "two numbers", &pair, diag)) {
        return false;
    }
    bool good = json_check_keys(pair, keys, diag);
    for (uint32_t i = 0; i < 2; i++) {
        good = json_read_double(pair, names[i], 0.0, max, out[i], diag) && good;
    }
    return good;
}

static const char *const half_names[2] = {"full", "masked"};
static const char *const tail_names[2] = {"forward", "backward"};

/* What short attention loses; absent: nothing. */
static bool read_short(struct json_value attention, struct accelerator *out, struct diag *diag)
{
    double *const half[2] = {&out->attention_full_half_keys, &out->attention_masked_half_keys};
    double *const tail[2] = {&out->attention_forward_tail, &out->attention_backward_tail};
    const bool good = read_pair(attention, "half_keys", half_names, KEYS_MAX, half, diag);
    return read_pair(attention, "tail", tail_names, TAIL_MAX, tail, diag) && good;
}

bool accelerator_read_attention(struct json_value object, struct arena *arena,
                                struct accelerator *out, struct diag *diag)
{
    static const char *const keys[] = {"forward_frac", "backward_frac", "half_keys",
                                       "tail",         "source",        NULL};
    struct json_value attention;
    if (!member_read_object(object, "attention", "how attention kernels run", &attention, diag)) {
        return false;
    }
    bool good = json_check_keys(attention, keys, diag);
    good =
        json_read_string_or(attention, "source", "", arena, &out->attention_source, diag) && good;
    for (enum attention_table table = 0; good && table < TABLE_COUNT; table++) {
        good = read_table(attention, table, out, diag);
    }
    return read_short(attention, out, diag) && good;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void dump_table(const struct accelerator *accelerator, enum attention_table table,
                       struct json_writer *out)
{
    json_push_key(out, tables[table].mask);
    json_push_object(out);
    for (uint32_t i = 0; i < accelerator->attention_point_count; i++) {
        char key[16] = "";
        uint32_t at = sizeof key - 1;
        for (uint32_t dim = accelerator->attention[i].head_dim; dim > 0; dim /= 10) {
            key[--at] = (char)('0' + dim % 10);
        }
        json_push_key_double(out, key + at, point_frac(&accelerator->attention[i], table));
    }
    json_pop_object(out);
}

static void dump_pair(const char *key, const char *const names[2], double first, double second,
                      struct json_writer *out)
{
    if (first > 0.0 || second > 0.0) {
        json_push_key(out, key);
        json_push_object(out);
        json_push_key_double(out, names[0], first);
        json_push_key_double(out, names[1], second);
        json_pop_object(out);
    }
}

static void dump_short(const struct accelerator *accelerator, struct json_writer *out)
{
    dump_pair("half_keys", half_names, accelerator->attention_full_half_keys,
              accelerator->attention_masked_half_keys, out);
    dump_pair("tail", tail_names, accelerator->attention_forward_tail,
              accelerator->attention_backward_tail, out);
}

void accelerator_dump_attention(const struct accelerator *accelerator, struct json_writer *out)
{
    json_push_key(out, "attention");
    json_push_object(out);
    json_push_key(out, "forward_frac");
    json_push_object(out);
    dump_table(accelerator, FULL_FORWARD, out);
    dump_table(accelerator, CAUSAL_FORWARD, out);
    json_pop_object(out);
    json_push_key(out, "backward_frac");
    json_push_object(out);
    dump_table(accelerator, FULL_BACKWARD, out);
    dump_table(accelerator, CAUSAL_BACKWARD, out);
    json_pop_object(out);
    dump_short(accelerator, out);
    member_dump_text("source", accelerator->attention_source, out);
    json_pop_object(out);
}
