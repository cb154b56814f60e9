/* What the longest chain of a simulated step consists of; how busy ports are meanwhile. */
#include "tools/critical_path.h"

#include "tools/report.h"

void critical_path_push_json(const struct sim_result *result, struct json_writer *out)
{
    static const char *const keys[SIM_CHAIN_COUNT] = {
        [SIM_CHAIN_KERNELS] = "kernels_s",     [SIM_CHAIN_HOST] = "host_s",
        [SIM_CHAIN_TENSOR] = "messages_s",     [SIM_CHAIN_PREFETCH] = "prefetch_s",
        [SIM_CHAIN_DATA] = "exchange_s",       [SIM_CHAIN_SEND] = "send_s",
        [SIM_CHAIN_SHARED] = "shared_links_s", [SIM_CHAIN_UPDATE] = "update_s",
        [SIM_CHAIN_OVERHEAD] = "overhead_s"};
    json_push_key(out, "critical_path");
    json_push_object(out);
    for (uint32_t part = 0; part < SIM_CHAIN_COUNT; part++) {
        json_push_key_double(out, keys[part], result->chain.part_s[part]);
    }
    json_push_key_double(out, "stage_crossings", result->chain.crossings);
    json_push_key(out, "stages_s");
    json_push_array(out);
    for (uint32_t i = 0; i < result->estimate.stage_count; i++) {
        json_push_double(out, result->chain.stage_s[i]);
    }
    json_pop_array(out);
    json_pop_object(out);
}

/* What the step took as long as, the largest part first; then where it ran. */
static void dump_parts(struct command *command, const struct sim_result *result)
{
    const struct sim_chain *chain = &result->chain;
    bool shown[SIM_CHAIN_COUNT] = {false};
    text_push(&command->out, "\nThe longest chain of work:\n");
    for (uint32_t i = 0; i < SIM_CHAIN_COUNT; i++) {
        uint32_t most = SIM_CHAIN_COUNT;
        for (uint32_t part = 0; part < SIM_CHAIN_COUNT; part++) {
            if (!shown[part] && chain->part_s[part] > 0.0 &&
                (most == SIM_CHAIN_COUNT || chain->part_s[part] > chain->part_s[most])) {
                most = part;
            }
        }
        if (most < SIM_CHAIN_COUNT) {
            shown[most] = true;
            text_push(&command->out, "  %-36s %9s  %5.1f %%\n",
                      sim_chain_name((enum sim_chain_part)most),
                      report_seconds(command->arena, chain->part_s[most]),
                      100.0 * chain->part_s[most] / result->estimate.step_s);
        }
    }
}

/* The stage most of the chain lies on. */
static void dump_pace(struct command *command, const struct sim_result *result)
{
    uint32_t most = 0;
    if (result->estimate.stage_count < 2) {
        return;
    }
    for (uint32_t i = 1; i < result->estimate.stage_count; i++) {
        most = result->chain.stage_s[i] > result->chain.stage_s[most] ? i : most;
    }
    text_push(&command->out,
              "It crosses from stage to stage %.4g times; %.1f %% of it is stage %u's.\n",
              result->chain.crossings,
              100.0 * result->chain.stage_s[most] / result->estimate.step_s, most);
}

static const char *level_name(const struct cluster *cluster, uint32_t level)
{
    return level < cluster->level_count ? cluster->levels[level].name : "links";
}

void critical_path_push_ports(const struct cluster *cluster, const struct sim_result *result,
                              struct json_writer *out)
{
    json_push_key(out, "ports");
    json_push_array(out);
    for (uint32_t stage = 0; stage < result->estimate.stage_count; stage++) {
        for (uint32_t level = 0; level < result->port_levels; level++) {
            const double *busy =
                &result->port_busy_frac[2 * ((size_t)stage * result->port_levels + level)];
            if (busy[0] == 0.0 && busy[1] == 0.0) {
                continue;
            }
            json_push_object(out);
            json_push_key_u64(out, "stage", stage);
            json_push_key_string(out, "level", level_name(cluster, level));
            json_push_key_double(out, "sending_frac", busy[0]);
            json_push_key_double(out, "receiving_frac", busy[1]);
            json_pop_object(out);
        }
    }
    json_pop_array(out);
}

/* Of each level the stage that uses its ports most. */
static void dump_ports(struct command *command, const struct cluster *cluster,
                       const struct sim_result *result)
{
    for (uint32_t level = 0; level < result->port_levels; level++) {
        uint32_t most = 0, stage = 0;
        for (uint32_t i = 0; i < 2 * result->estimate.stage_count; i++) {
            const uint32_t at = 2 * (i / 2 * result->port_levels + level) + i % 2;
            most = i == 0 || result->port_busy_frac[at] > result->port_busy_frac[most] ? at : most;
            stage = most == at ? i / 2 : stage;
        }
        if (result->port_busy_frac[most] > 0.0) {
            text_push(
                &command->out,
                "Ports of level %s are busy for %.1f %% of the time, at most: %s of stage %u.\n",
                level_name(cluster, level), 100.0 * result->port_busy_frac[most],
                most % 2 == 0 ? "sending" : "receiving", stage);
        }
    }
}

void critical_path_dump(struct command *command, const struct cluster *cluster,
                        const struct sim_result *result)
{
    dump_parts(command, result);
    dump_pace(command, result);
    dump_ports(command, cluster, result);
}
