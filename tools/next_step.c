/* Exporters are asked before they are recommended. */
#include "tools/next_step.h"

#include <string.h>

#define CLUSTER_FLAG "--cluster"

/* --- what can be written ---------------------------------------------------------------------- */

static bool can_write(const struct exporter *exporter, const struct question *question,
                      const struct plan *plan, struct arena *arena, struct diag *out)
{
    struct text text;
    diag_init(out, arena);
    text_init(&text, arena);
    return exporter_write(exporter, &question->problem, plan, false, &text, out);
}

/* --- parts of a cluster in another order ------------------------------------------------------ */

struct cluster_part {
    const char *text;
    uint32_t first_device, device_count;
};

/* Of "A:4,B:8"; 0: some part is no cluster of its own. */
static uint32_t list_parts(struct command *command, const char *text, struct cluster_part *out)
{
    struct diag *diag = command->diag, scratch;
    uint32_t count = 0, devices = 0;
    diag_init(&scratch, command->arena);
    command->diag = &scratch;
    for (const char *at = text; at != NULL && scratch.count == 0;) {
        struct cluster cluster;
        const size_t length = strcspn(at, ",");
        struct cluster_request request = {.text = text_build_copy(command->arena, at, length)};
        if (cluster_read_request(&request, command->arena, &cluster, &scratch)) {
            out[count++] = (struct cluster_part){request.text, devices, cluster.device_count};
            devices += cluster.device_count;
        }
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    command->diag = diag;
    return scratch.count > 0 ? 0 : count;
}

static const struct cluster_part *find_part(const struct cluster_part *parts, uint32_t count,
                                            uint32_t first_device)
{
    for (uint32_t i = 0; i < count; i++) {
        if (parts[i].first_device == first_device) {
            return &parts[i];
        }
    }
    return NULL;
}

/* The devices that ranks take one after another, part by part; NULL: they leave a part amid it. */
static const char *reorder(struct command *command, const struct group *group, const char *text)
{
    struct cluster_part *parts = ARENA_PUSH(command->arena, struct cluster_part, strlen(text));
    const uint32_t count = list_parts(command, text, parts);
    struct text out;
    text_init(&out, command->arena);
    for (uint32_t i = 0; i < group->slice_count; i++) {
        uint32_t device = group->slices[i].first_device;
        const uint32_t end = device + group->slices[i].device_count;
        while (device < end) {
            const struct cluster_part *part = find_part(parts, count, device);
            if (part == NULL || device + part->device_count > end) {
                return NULL;
            }
            text_push(&out, "%s%s", out.length == 0 ? "" : ",", part->text);
            device += part->device_count;
        }
    }
    return out.bytes;
}

void next_step_find(struct command *command, const struct question *question,
                    const struct plan *plan, struct next_step *out)
{
    const struct group *group = &plan->groups[0];
    const char *cluster;
    struct diag scratch;
    *out = (struct next_step){.own = exporter_find(question->runtime.name)};
    diag_init(&out->lacks, command->arena);
    out->targets = ARENA_PUSH(command->arena, const char *, exporter_table_count);
    for (uint32_t i = 0; i < exporter_table_count; i++) {
        const struct exporter *exporter = exporter_table[i];
        if (exporter == out->own) {
            can_write(exporter, question, plan, command->arena, &out->lacks);
        } else if (can_write(exporter, question, plan, command->arena, &scratch)) {
            out->targets[out->target_count++] = exporter->name;
        }
    }
    if (plan->group_count == 1 && group->slice_count > 0 && command_has(command, CLUSTER_FLAG) &&
        command_text(command, CLUSTER_FLAG, &cluster) && strchr(cluster, ',') != NULL) {
        out->parts = reorder(command, group, cluster);
    }
}

/* --- the answer ------------------------------------------------------------------------------- */

static bool writes(const struct next_step *next)
{
    return next->own != NULL && next->lacks.count == 0;
}

void next_step_push(const struct next_step *next, struct json_writer *out)
{
    json_push_key(out, "exports");
    json_push_object(out);
    json_push_key_string(out, "own", next->own == NULL ? NULL : next->own->name);
    json_push_key_bool(out, "own_writes", writes(next));
    json_push_key(out, "lacks");
    json_push_array(out);
    for (uint32_t i = 0; i < next->lacks.kept; i++) {
        json_push_object(out);
        json_push_key_string(out, "code", diag_code_name(next->lacks.entries[i].code));
        json_push_key_string(out, "message", next->lacks.entries[i].message);
        json_push_key_string(out, "hint", next->lacks.entries[i].hint);
        json_pop_object(out);
    }
    json_pop_array(out);
    json_push_key(out, "others");
    json_push_array(out);
    for (uint32_t i = 0; i < next->target_count; i++) {
        json_push_string(out, next->targets[i]);
    }
    json_pop_array(out);
    json_push_key_string(out, "cluster_in_rank_order", next->parts);
    json_pop_object(out);
}

static void dump_targets(struct command *command, const struct next_step *next)
{
    for (uint32_t i = 0; i < next->target_count; i++) {
        text_push(&command->out, "%s%s", i == 0 ? "" : ", ", next->targets[i]);
    }
}

/* Why the runtime's own exporter is not recommended. */
static void dump_lacks(struct command *command, const struct next_step *next)
{
    if (next->own == NULL || next->lacks.count == 0) {
        return;
    }
    text_push(&command->out, "It cannot be exported to %s:\n", next->own->name);
    for (uint32_t i = 0; i < next->lacks.kept; i++) {
        const struct diag_entry *entry = &next->lacks.entries[i];
        text_push(&command->out, "  %s [%s]\n", entry->message, diag_code_name(entry->code));
        if (entry->hint != NULL) {
            text_push(&command->out, "      right would be: %s\n", entry->hint);
        }
    }
    if (next->parts != NULL) {
        text_push(&command->out, "  With " CLUSTER_FLAG " %s ranks take the devices in order.\n",
                  next->parts);
    }
}

static void dump_saved(struct command *command, const struct next_step *next, const char *path)
{
    text_push(&command->out, "\nThe plan is in %s. Next:\n  shardplan simulate %s\n", path, path);
    if (writes(next)) {
        text_push(&command->out, "  shardplan export %s --to %s\n", path, next->own->name);
        return;
    }
    if (next->target_count > 0) {
        text_push(&command->out, "  shardplan export %s --to TARGET, which may be: ", path);
        dump_targets(command, next);
        text_push(&command->out, "\n");
    }
    dump_lacks(command, next);
}

static void dump_unsaved(struct command *command, const struct next_step *next, uint32_t top)
{
    text_push(&command->out, "\nNext: -o plan.json saves the plan for `simulate`");
    if (next->lacks.count == 0 && (writes(next) || next->target_count > 0)) {
        text_push(&command->out, " and `export`");
    } else if (next->target_count > 0) {
        text_push(&command->out, ", for `export` to ");
        dump_targets(command, next);
    }
    if (!command_has(command, "--explain")) {
        text_push(&command->out, "; --explain prices\nwhat was not chosen");
    }
    text_push(&command->out, "%s.\n", top == 1 ? "; --top 5 shows the runners-up" : "");
    dump_lacks(command, next);
}

void next_step_dump(struct command *command, const struct next_step *next, uint32_t top)
{
    const char *path;
    if (command_has(command, "-o") && command_text(command, "-o", &path)) {
        dump_saved(command, next, path);
    } else {
        dump_unsaved(command, next, top);
    }
}
