/* Max-min fair rates against a linear programme, flows that end against exact arithmetic. */
#include <string.h>

#include <glpk.h>

#include "base/random.h"
#include "sim/share.h"
#include "tests/tap_main.h"

#define RESOURCES_MAX 12u
#define FLOWS_MAX 24u
#define PROBLEMS 300u

static struct arena arena;
static struct random dice;

struct problem {
    uint32_t resource_count, flow_count;
    double capacity[RESOURCES_MAX];
    uint32_t ways[FLOWS_MAX][RESOURCES_MAX], lengths[FLOWS_MAX];
    double weight[FLOWS_MAX], cap[FLOWS_MAX];
};

static double throw_between(double least, double most)
{
    return least + (most - least) * random_pop_unit(&dice);
}

/* Some flows are alike, some capacities equal, so that ties come up. */
static void throw_problem(struct problem *out)
{
    out->resource_count = 1 + random_pop_below(&dice, RESOURCES_MAX);
    out->flow_count = 1 + random_pop_below(&dice, FLOWS_MAX);
    for (uint32_t r = 0; r < out->resource_count; r++) {
        out->capacity[r] = random_pop_below(&dice, 2) == 0 ? 8.0 : throw_between(1.0, 20.0);
    }
    for (uint32_t f = 0; f < out->flow_count; f++) {
        out->lengths[f] = 0;
        for (uint32_t r = 0; r < out->resource_count; r++) {
            if (random_pop_below(&dice, 3) == 0) {
                out->ways[f][out->lengths[f]++] = r;
            }
        }
        out->weight[f] = random_pop_below(&dice, 2) == 0 ? 1.0 : throw_between(0.5, 3.0);
        out->cap[f] = random_pop_below(&dice, 3) > 0 ? 100.0 : throw_between(0.1, 4.0);
    }
}

/* --- the linear programme --------------------------------------------------------------------- */

static bool is_on(const struct problem *problem, uint32_t flow, uint32_t resource)
{
    for (uint32_t i = 0; i < problem->lengths[flow]; i++) {
        if (problem->ways[flow][i] == resource) {
            return true;
        }
    }
    return false;
}

/* Columns 1 .. flows are rates, the last is what all free flows have at least. */
static glp_prob *open_programme(const struct problem *problem)
{
    glp_prob *programme = glp_create_prob();
    const int level = (int)problem->flow_count + 1;
    glp_set_obj_dir(programme, GLP_MAX);
    glp_add_cols(programme, level);
    glp_add_rows(programme, (int)(problem->resource_count + problem->flow_count));
    glp_set_col_bnds(programme, level, GLP_LO, 0.0, 0.0);
    for (uint32_t f = 0; f < problem->flow_count; f++) {
        glp_set_col_bnds(programme, (int)f + 1, GLP_DB, 0.0, problem->cap[f]);
        const int columns[3] = {0, (int)f + 1, level};
        const double values[3] = {0, 1.0, -1.0};
        const int row = (int)(problem->resource_count + f) + 1;
        glp_set_mat_row(programme, row, 2, columns, values);
        glp_set_row_bnds(programme, row, GLP_LO, 0.0, 0.0);
    }
    for (uint32_t r = 0; r < problem->resource_count; r++) {
        int columns[FLOWS_MAX + 1], count = 0;
        double values[FLOWS_MAX + 1];
        for (uint32_t f = 0; f < problem->flow_count; f++) {
            if (is_on(problem, f, r)) {
                columns[++count] = (int)f + 1;
                values[count] = problem->weight[f];
            }
        }
        glp_set_mat_row(programme, (int)r + 1, count, columns, values);
        glp_set_row_bnds(programme, (int)r + 1, GLP_UP, 0.0, problem->capacity[r]);
    }
    return programme;
}

static double maximize(glp_prob *programme, int column)
{
    glp_smcp options;
    glp_init_smcp(&options);
    options.msg_lev = GLP_MSG_OFF;
    for (int i = 1; i <= glp_get_num_cols(programme); i++) {
        glp_set_obj_coef(programme, i, i == column ? 1.0 : 0.0);
    }
    glp_std_basis(programme);
    ck_assert_int_eq(glp_simplex(programme, &options), 0);
    ck_assert_int_eq(glp_get_status(programme), GLP_OPT);
    return glp_get_obj_val(programme);
}

/* Lexicographic max-min: raise the least rate as far as it goes; flows that cannot have more then
 * are settled; again with the others. */
static void solve(const struct problem *problem, double *rates)
{
    glp_prob *programme = open_programme(problem);
    const int level = (int)problem->flow_count + 1;
    uint32_t left = problem->flow_count;
    bool settled[FLOWS_MAX] = {false};
    while (left > 0) {
        glp_set_col_bnds(programme, level, GLP_LO, 0.0, 0.0);
        const double least = maximize(programme, level);
        glp_set_col_bnds(programme, level, GLP_FX, least * (1 - 1e-13), 0.0);
        uint32_t stopped = 0;
        bool stops[FLOWS_MAX] = {false};
        for (uint32_t f = 0; f < problem->flow_count; f++) {
            stops[f] = !settled[f] && maximize(programme, (int)f + 1) <= least * (1 + 1e-9);
        }
        for (uint32_t f = 0; f < problem->flow_count; f++) {
            if (stops[f]) {
                settled[f] = true;
                rates[f] = least;
                stopped++;
                glp_set_col_bnds(programme, (int)f + 1, GLP_FX, least, least);
                glp_set_row_bnds(programme, (int)(problem->resource_count + f) + 1, GLP_FR, 0, 0);
            }
        }
        ck_assert_uint_gt(stopped, 0);
        left -= stopped;
    }
    glp_delete_prob(programme);
}

/* --- what comes and goes ---------------------------------------------------------------------- */

static void push(struct share *share, const struct problem *problem, uint32_t flow,
                 uint64_t now_ticks)
{
    const struct share_flow pushed = {.resources = problem->ways[flow],
                                      .resource_count = problem->lengths[flow],
                                      .weight = problem->weight[flow],
                                      .cap_Bps = problem->cap[flow],
                                      .bytes = 1e6,
                                      .owner = flow};
    share_push_flow(share, &pushed, now_ticks);
}

/* The flows that are still there, with their numbers. */
static void keep(const struct problem *problem, const bool *gone, struct problem *out,
                 uint32_t *owners)
{
    *out = *problem;
    out->flow_count = 0;
    for (uint32_t f = 0; f < problem->flow_count; f++) {
        if (!gone[f]) {
            const uint32_t to = out->flow_count++;
            memcpy(out->ways[to], problem->ways[f], sizeof out->ways[to]);
            out->lengths[to] = problem->lengths[f];
            out->weight[to] = problem->weight[f];
            out->cap[to] = problem->cap[f];
            owners[to] = f;
        }
    }
}

static void compare(const struct share *share, const struct problem *problem, const bool *gone)
{
    struct problem present;
    uint32_t owners[FLOWS_MAX];
    double rates[FLOWS_MAX];
    keep(problem, gone, &present, owners);
    solve(&present, rates);
    ck_assert(share_check(share));
    for (uint32_t f = 0; f < present.flow_count; f++) {
        const double rate = share_find_rate(share, owners[f]);
        ck_assert_msg(rate - rates[f] <= 1e-9 * rates[f] && rates[f] - rate <= 1e-9 * rates[f],
                      "flow %u of %u over %u resources: %.15g, programme %.15g", owners[f],
                      present.flow_count, present.resource_count, rate, rates[f]);
    }
}

/* The next flows end: which. False when none is left. */
static bool pop_next(struct share *share, bool *gone, uint64_t *now)
{
    const uint64_t end = share_find_end(share);
    if (end == UINT64_MAX) {
        return false;
    }
    const uint32_t *owners;
    *now = end;
    const uint32_t popped = share_pop_ended(share, end, &owners);
    ck_assert_uint_gt(popped, 0);
    for (uint32_t i = 0; i < popped; i++) {
        gone[owners[i]] = true;
    }
    return true;
}

/* They come one by one, and go as they end: each solve starts from the rates of the one before. */
START_TEST(rates_are_those_of_the_programme)
{
    glp_term_out(GLP_OFF);
    random_init(&dice, 3);
    for (uint32_t i = 0; i < PROBLEMS; i++) {
        arena_init(&arena);
        struct problem problem;
        struct share share;
        throw_problem(&problem);
        share_init(&share, 1e12, &arena);
        for (uint32_t r = 0; r < problem.resource_count; r++) {
            share_push_resource(&share, problem.capacity[r]);
        }
        const uint32_t all = problem.flow_count;
        for (problem.flow_count = 1; problem.flow_count <= all; problem.flow_count++) {
            push(&share, &problem, problem.flow_count - 1, problem.flow_count);
            share_solve(&share, problem.flow_count);
            ck_assert(share_check(&share));
        }
        problem.flow_count = all;
        bool gone[FLOWS_MAX] = {false};
        compare(&share, &problem, gone);
        uint64_t now = 0;
        while (pop_next(&share, gone, &now)) {
            if (share_is_dirty(&share)) {
                share_solve(&share, now);
                compare(&share, &problem, gone);
            }
        }
        for (uint32_t f = 0; f < all; f++) {
            ck_assert(gone[f]);
        }
        arena_release(&arena);
    }
}
END_TEST

/* When a flow ends: all have got as much as it by then, or all that they wanted. */
static long double exact_ps(const uint64_t *bytes, uint32_t count, uint32_t flow)
{
    long double sent = 0;
    for (uint32_t j = 0; j < count; j++) {
        sent += bytes[j] < bytes[flow] ? bytes[j] : bytes[flow];
    }
    return sent / 50e9L * 1e12L;
}

/* Flows of whole sizes through one resource, as processor sharing says, in 80 bits. */
START_TEST(flows_end_when_their_bytes_say)
{
    static const uint32_t way[1] = {0};
    random_init(&dice, 4);
    for (uint32_t round = 0; round < 200; round++) {
        arena_init(&arena);
        struct share share;
        uint32_t count = 2 + random_pop_below(&dice, 200);
        uint64_t bytes[256], ended = 0;
        share_init(&share, 1e12, &arena);
        share_push_resource(&share, 50e9);
        for (uint32_t i = 0; i < count; i++) {
            bytes[i] = 1 + random_pop_below(&dice, 1u << 24);
            share_push_flow(&share,
                            &(struct share_flow){.resources = way,
                                                 .resource_count = 1,
                                                 .weight = 1,
                                                 .cap_Bps = 50e9,
                                                 .bytes = (double)bytes[i],
                                                 .owner = i},
                            0);
        }
        uint64_t now = 0;
        while (ended < count) {
            const uint32_t *owners;
            share_solve(&share, now);
            ck_assert(share_check(&share));
            ck_assert_uint_ge(share_find_end(&share), now);
            now = share_find_end(&share);
            const uint32_t popped = share_pop_ended(&share, now, &owners);
            ck_assert_uint_gt(popped, 0);
            for (uint32_t i = 0; i < popped; i++) {
                const long double off = (long double)now - exact_ps(bytes, count, owners[i]);
                ck_assert_msg(off < 10 && off > -10, "%u flows: ends %Lg ps late", count, off);
            }
            ended += popped;
        }
        arena_release(&arena);
    }
}
END_TEST

TAP_MAIN("sim_share", rates_are_those_of_the_programme, flows_end_when_their_bytes_say)
