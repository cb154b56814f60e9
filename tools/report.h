/* What a judged plan looks like, to programs and to people. */
#ifndef SHARDPLAN_TOOLS_REPORT_H
#define SHARDPLAN_TOOLS_REPORT_H

#include "planner/planner.h"
#include "tools/problem_flags.h"

/* A plan with all that is said about it. */
struct verdict {
    const struct plan *plan;
    struct estimate estimate;                   /* with stages */
    /* share of priced kernel seconds by origin of the price */
    double provenance_frac[PROVENANCE_COUNT];
    bool simulated;
    double simulated_step_s;
};

/* Judges a plan with layers, or chooses them, by a judge of its own so that provenance is that
 * plan's. */
void report_judge(struct command *command, const struct question *question, struct plan *plan,
                  struct verdict *out);

struct report_rates {
    double tokens_per_s, tokens_per_s_per_device;
    /* of the model FLOPs that the causal mask leaves; 0: peak not known, or not all is trained */
    double mfu_frac;
    double mfu_full_attention_frac;     /* the same with attention counted in full */
};
void report_find_rates(const struct question *question, double step_s, struct report_rates *out);

/* All devices at their rated power; 0: that of some kind is not known. */
double report_power_w(const struct cluster *cluster);

/* Where RUNTIME_BAND_SHARE of measured steps would lie; false: no steps of the runtime, or of such
 * a task, were measured. */
bool report_find_band(const struct question *question, double step_s, double *low_s,
                      double *high_s);

/* --- JSON: keys of an open object ------------------------------------------------------------- */

/* Version of the tool, digests of what the answer rests on. */
void report_push_head(struct command *command, const struct problem *problem,
                      struct json_writer *out);
/* The same where one thing is asked about: its noun, its digest. */
void report_push_head_of(struct command *command, const char *noun, unsigned long long digest,
                         struct json_writer *out);
void report_push_verdict(struct command *command, const struct question *question,
                         const struct verdict *verdict,
                         struct json_writer *out);
void report_push_configuration(struct command *command, const struct problem *problem,
                               const struct plan *plan,
                               struct json_writer *out);
void report_push_certificate(const struct certificate *certificate, struct json_writer *out);

/* --- people ---------------------------------------------------------------------------------- */
/* A plan's flags behind a head of 9 columns, wrapped. */
void report_dump_flags(struct command *command, const char *head, const struct plan *plan,
                       const struct runtime *runtime);
void report_dump_question(struct command *command, const struct question *question);
void report_dump_verdict(struct command *command, const struct question *question,
                         const struct verdict *verdict);
/* Nothing for a single stage; kinds of device where they are mixed. */
void report_dump_stages(struct command *command, const struct question *question,
                        const struct verdict *verdict);
void report_dump_certificate(struct command *command, const struct certificate *certificate,
                             double best_s);
/* What the times rest on. */
void report_dump_provenance(struct command *command, const struct verdict *verdict);
/* The memory of one stage by what is in it. */
void report_dump_memory(struct command *command, const struct estimate *estimate, uint32_t which);
/* Its devices have no room; hosts, which have a line of their own, left aside. */
bool report_is_over(const struct estimate *estimate);
/* What is in the hosts' memory, how long it is on its way; nothing where that is not used. */
void report_dump_host(struct command *command, const struct question *question,
                      const struct estimate *estimate);
void report_push_host(const struct stage_estimate *stage, struct json_writer *out);
/* Which stage lacks memory, on its devices or their hosts, how much, for what. */
void report_dump_shortage(struct command *command, const struct estimate *estimate);
/* Arena text: "1.5 GiB over on stage 2". */
const char *report_shortage(struct arena *arena, const struct estimate *estimate);

/* --- a whole run, where --tokens asks for one ------------------------------------------------- */
extern const struct flag report_run_flags[];
bool report_check_run(struct command *command);
void report_push_run(struct command *command, const struct question *question, double step_s,
                     struct json_writer *out);
void report_dump_run(struct command *command, const struct question *question, double step_s);

/* Arena text: "16 A100-SXM4-80GB, 16 V100-SXM2-32GB", "8 devices H100-SXM5-80GB". */
const char *report_devices(struct arena *arena, const struct cluster *cluster);
/* "tp communication", "optimizer states": what a cost or a class of memory is called. */
const char *report_cost_name(uint32_t cost, struct arena *arena);
const char *report_memory_name(uint32_t class);
/* Arena texts: "1.234 s", "61.2 GiB", "12,345". */
const char *report_seconds(struct arena *arena, double value_s);
const char *report_bytes(struct arena *arena, double bytes);
const char *report_count(struct arena *arena, uint64_t count);

#endif
