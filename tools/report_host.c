/* What a plan keeps in the memory of the computers that its devices sit in. */
#include "base/number.h"
#include "tools/report.h"

/* The stage that holds most there. */
static const struct stage_estimate *find_fullest(const struct estimate *estimate)
{
    const struct stage_estimate *fullest = &estimate->stages[0];
    for (uint32_t i = 1; i < estimate->stage_count; i++) {
        const struct stage_estimate *stage = &estimate->stages[i];
        fullest = stage->host_bytes > fullest->host_bytes ? stage : fullest;
    }
    return fullest;
}

/* The tier that the stage's share of it comes from; NULL: none. */
static const struct host *find_host(const struct cluster *cluster, double share_bytes)
{
    for (uint32_t i = 0; i < cluster->accelerator_count; i++) {
        const struct host *host = &cluster->accelerators[i].host;
        if (host->memory_bytes > 0 && host_share_bytes(host) == share_bytes) {
            return host;
        }
    }
    return NULL;
}

bool report_is_over(const struct estimate *estimate)
{
    struct shortage shortage;
    return estimator_find_shortage(estimate, &shortage) && !shortage.on_host;
}

void report_dump_host(struct command *command, const struct question *question,
                      const struct estimate *estimate)
{
    struct arena *arena = command->arena;
    const struct stage_estimate *stage = find_fullest(estimate);
    const struct host *host = find_host(&question->cluster, stage->host_capacity_bytes);
    if (stage->host_bytes == 0.0 || host == NULL) {
        return;
    }
    const double devices = host->devices;
    text_push(&command->out, "host     %s of %s per device, %s of %s per host of %u devices%s\n",
              report_bytes(arena, stage->host_bytes),
              report_bytes(arena, stage->host_capacity_bytes),
              report_bytes(arena, stage->host_bytes * devices),
              report_bytes(arena, (double)host->memory_bytes), host->devices,
              stage->host_bytes <= stage->host_capacity_bytes ? "" : ": DOES NOT FIT");
    text_push(&command->out, "copies   %s a step to the host and back, %s of it not hidden\n",
              report_seconds(arena, stage->host_copy_s),
              report_seconds(arena, stage->cost_s[COST_HOST]));
}

void report_push_host(const struct stage_estimate *stage, struct json_writer *out)
{
    json_push_key_double(out, "host_bytes", stage->host_bytes);
    json_push_key_double(out, "host_capacity_bytes", stage->host_capacity_bytes);
    json_push_key_double(out, "host_copies_s", stage->host_copy_s);
}

const char *report_shortage(struct arena *arena, const struct estimate *estimate)
{
    struct shortage shortage;
    if (!estimator_find_shortage(estimate, &shortage)) {
        return "nothing lacks";
    }
    return text_build(arena, "%s over on stage %u%s",
                      report_bytes(arena, shortage.needed_bytes - shortage.capacity_bytes),
                      shortage.stage, shortage.on_host ? ", in the host's memory" : "");
}

void report_dump_shortage(struct command *command, const struct estimate *estimate)
{
    struct arena *arena = command->arena;
    struct shortage shortage;
    if (!estimator_find_shortage(estimate, &shortage)) {
        return;
    }
    text_push(
        &command->out, "It needs %s%s on stage %u of %u, %s more than the %s %s per device.\n",
        report_bytes(arena, shortage.needed_bytes), shortage.on_host ? " of its host's memory" : "",
        shortage.stage, estimate->stage_count,
        report_bytes(arena, shortage.needed_bytes - shortage.capacity_bytes),
        report_bytes(arena, shortage.capacity_bytes), shortage.on_host ? "there" : "usable");
    report_dump_memory(command, estimate, shortage.stage);
}
