/* Rows and columns of the stage partition, handed to GLPK.
 *
 * Binary x[stage][layer]; each layer on one stage; along the chain the stage never goes down,
 * said with prefix sums: sum over s <= k of x[s][l + 1] <= the same of x[s][l]. The bottleneck T
 * is a column with a row t_s - T <= 0 per stage; the objective is the sum of all t_s plus (m -
 * 1) T. */
#include "planner/partition_ilp.h"

#include <assert.h>

#include <glpk.h>

#include "base/diag.h"

/* A row under construction: terms from 1, as GLPK counts. */
struct row {
    int *columns;
    double *factors;
    int count;
};

struct solve {
    const struct partition_ilp *problem;
    glp_prob *model;
    struct row row;
    uint32_t nodes;
    bool limited;
    double bound_s; /* best of the open nodes when the limit was reached */
};

static int column(const struct partition_ilp *problem, uint32_t stage, uint32_t layer)
{
    return (int)(stage * problem->layers + layer) + 1;
}

static int bottleneck_column(const struct partition_ilp *problem)
{
    return (int)(problem->stages * problem->layers) + 1;
}

static void push_term(struct row *row, int at, double factor)
{
    row->count++;
    row->columns[row->count] = at;
    row->factors[row->count] = factor;
}

/* Adds the row built so far; bounds as GLPK's kinds say. */
static void close_row(struct solve *solve, int kind, double low, double high)
{
    const int index = glp_add_rows(solve->model, 1);
    glp_set_row_bnds(solve->model, index, kind, low, high);
    glp_set_mat_row(solve->model, index, solve->row.count, solve->row.columns, solve->row.factors);
    solve->row.count = 0;
}

static void add_columns(struct solve *solve)
{
    const struct partition_ilp *problem = solve->problem;
    const int last = bottleneck_column(problem);
    glp_add_cols(solve->model, last);
    for (uint32_t stage = 0; stage < problem->stages; stage++) {
        for (uint32_t layer = 0; layer < problem->layers; layer++) {
            const int at = column(problem, stage, layer);
            glp_set_col_kind(solve->model, at, GLP_BV);
            glp_set_obj_coef(solve->model, at, problem->layer_s[stage * problem->layers + layer]);
        }
    }
    glp_set_col_bnds(solve->model, last, GLP_LO, 0.0, 0.0);
    glp_set_obj_coef(solve->model, last, (double)problem->micro_batches - 1.0);
}

static void add_places(struct solve *solve)
{
    const struct partition_ilp *problem = solve->problem;
    for (uint32_t layer = 0; layer < problem->layers; layer++) {
        for (uint32_t stage = 0; stage < problem->stages; stage++) {
            push_term(&solve->row, column(problem, stage, layer), 1.0);
        }
        close_row(solve, GLP_FX, 1.0, 1.0);
    }
    for (uint32_t layer = 0; layer + 1 < problem->layers; layer++) {
        for (uint32_t last = 0; last + 1 < problem->stages; last++) {
            for (uint32_t stage = 0; stage <= last; stage++) {
                push_term(&solve->row, column(problem, stage, layer + 1), 1.0);
                push_term(&solve->row, column(problem, stage, layer), -1.0);
            }
            close_row(solve, GLP_UP, 0.0, 0.0);
        }
    }
}

static void add_stage(struct solve *solve, uint32_t stage)
{
    const struct partition_ilp *problem = solve->problem;
    for (uint32_t layer = 0; layer < problem->layers; layer++) {
        push_term(&solve->row, column(problem, stage, layer), 1.0);
    }
    close_row(solve, GLP_LO, problem->least, 0.0);
    for (uint32_t layer = 0; layer < problem->layers; layer++) {
        push_term(&solve->row, column(problem, stage, layer),
                  problem->layer_s[stage * problem->layers + layer]);
    }
    push_term(&solve->row, bottleneck_column(problem), -1.0);
    close_row(solve, GLP_UP, 0.0, -problem->extra_s[stage]);
    const double room_bytes = problem->room_bytes[stage] - problem->extra_bytes[stage];
    const double scale =
        room_bytes > 0.0 ? room_bytes : 1.0; /* rows near 1: the solver's tolerances are absolute */
    for (uint32_t layer = 0; layer < problem->layers; layer++) {
        push_term(&solve->row, column(problem, stage, layer),
                  problem->layer_bytes[stage * problem->layers + layer] / scale);
    }
    close_row(solve, GLP_UP, 0.0, room_bytes / scale);
}

static void build(struct solve *solve, struct arena *arena)
{
    const struct partition_ilp *problem = solve->problem;
    const size_t terms = (size_t)problem->stages * problem->layers * 2 + 2;
    solve->row = (struct row){ARENA_PUSH(arena, int, terms), ARENA_PUSH(arena, double, terms), 0};
    glp_set_obj_dir(solve->model, GLP_MIN);
    add_columns(solve);
    add_places(solve);
    for (uint32_t stage = 0; stage < problem->stages; stage++) {
        add_stage(solve, stage);
    }
}

/* --- the solver's hooks: it prints and aborts unless told otherwise --------------------------- */

static int keep_quiet(void *state, const char *text)
{
    (void)state;
    (void)text;
    return 1;
}

static void fail(void *state)
{
    (void)state;
    BUG("GLPK refused the partition's model");
}

static void count_node(glp_tree *tree, void *state)
{
    struct solve *solve = state;
    if (glp_ios_reason(tree) != GLP_ISELECT) {
        return;
    }
    solve->nodes++;
    const int best = glp_ios_best_node(tree);
    if (solve->problem->node_limit > 0 && solve->nodes > solve->problem->node_limit && best != 0) {
        solve->limited = true;
        solve->bound_s = glp_ios_node_bound(tree, best);
        glp_ios_terminate(tree);
    }
}

/* --- the answer, checked ---------------------------------------------------------------------- */

static double extra_sum_s(const struct partition_ilp *problem)
{
    double sum_s = 0.0;
    for (uint32_t stage = 0; stage < problem->stages; stage++) {
        sum_s += problem->extra_s[stage];
    }
    return sum_s;
}

static void read_counts(const struct solve *solve, uint32_t *counts)
{
    const struct partition_ilp *problem = solve->problem;
    uint32_t before = 0;
    for (uint32_t stage = 0; stage < problem->stages; stage++) {
        counts[stage] = 0;
    }
    for (uint32_t layer = 0; layer < problem->layers; layer++) {
        uint32_t stage = 0;
        while (stage < problem->stages &&
               glp_mip_col_val(solve->model, column(problem, stage, layer)) < 0.5) {
            stage++;
        }
        if (stage == problem->stages || stage < before) {
            BUG("GLPK left layer %u without a stage or behind the layer before it", layer);
        }
        counts[stage]++;
        before = stage;
    }
}

static void sum_up(const struct partition_ilp *problem, const uint32_t *counts,
                   struct partition_answer *out)
{
    uint32_t layer = 0;
    double sum_s = 0.0;
    out->bottleneck_s = 0.0;
    for (uint32_t stage = 0; stage < problem->stages; stage++) {
        double seconds = problem->extra_s[stage], bytes = problem->extra_bytes[stage];
        for (uint32_t i = 0; i < counts[stage]; i++, layer++) {
            seconds += problem->layer_s[stage * problem->layers + layer];
            bytes += problem->layer_bytes[stage * problem->layers + layer];
        }
        if (counts[stage] < problem->least || bytes > problem->room_bytes[stage] * (1.0 + 1e-6)) {
            BUG("GLPK gave stage %u %u layers of %.0f bytes where %.0f are free", stage,
                counts[stage], bytes, problem->room_bytes[stage]);
        }
        sum_s += seconds;
        out->bottleneck_s = seconds > out->bottleneck_s ? seconds : out->bottleneck_s;
    }
    out->step_s = sum_s + ((double)problem->micro_batches - 1.0) * out->bottleneck_s;
}

void partition_ilp_find(const struct partition_ilp *problem, uint32_t *counts, struct arena *arena,
                        struct partition_answer *out)
{
    assert(problem->stages > 0 && problem->layers > 0 && problem->micro_batches > 0);
    glp_error_hook(fail, NULL);
    glp_term_hook(keep_quiet, NULL);
    struct solve solve = {.problem = problem, .model = glp_create_prob()};
    build(&solve, arena);
    glp_iocp parameters;
    glp_init_iocp(&parameters);
    parameters.presolve = GLP_ON;
    parameters.msg_lev = GLP_MSG_OFF;
    parameters.tol_obj = 1e-12;
    parameters.cb_func = count_node;
    parameters.cb_info = &solve;
    const int trouble = glp_intopt(solve.model, &parameters);
    const int status =
        trouble == 0 || trouble == GLP_ESTOP ? glp_mip_status(solve.model) : GLP_NOFEAS;
    *out = (struct partition_answer){.proven = !solve.limited,
                                     .found = status == GLP_OPT || status == GLP_FEAS};
    if (trouble != 0 && trouble != GLP_ESTOP && trouble != GLP_ENOPFS && trouble != GLP_ENODFS) {
        BUG("GLPK gave up on a partition of %u layers onto %u stages: code %d", problem->layers,
            problem->stages, trouble);
    }
    if (out->found) {
        read_counts(&solve, counts);
        sum_up(problem, counts, out);
        const double bound_s = solve.bound_s + extra_sum_s(problem);
        out->gap_frac =
            solve.limited && bound_s < out->step_s ? (out->step_s - bound_s) / out->step_s : 0.0;
    }
    glp_delete_prob(solve.model);
    glp_term_hook(NULL, NULL);
    glp_error_hook(NULL, NULL);
}
