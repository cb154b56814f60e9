/* Does every axis divide by the degrees of the dims that cut it together in some op?
 *
 * The rule of plan/dim.h decides which axis a dim cuts in an op. Where several dims cut one axis of
 * one op (tensor and context ranks the heads), the product of their degrees must divide its size; a
 * padded axis is rounded up by the runtime instead. A factor that cuts the queries of causal
 * attention takes two pieces per rank, one from each end, so that the work is even: it needs twice
 * its degree. */
#include <assert.h>
#include <string.h>

#include "plan/plan_rule.h"

#define CUTTER_MAX (2 * DIM_MAX)
#define SEQUENCE_AXIS "seq"
#define DIVISORS_SHOWN 12

/* A dim in force, its axes resolved to bits of this model. */
struct cutter {
    const char *name;
    const struct dim *dim; /* NULL: declared by the plan */
    uint32_t degree;
    axis_set axis[DIM_CUT_MAX], beside[DIM_CUT_MAX]; /* beside 0: always */
    uint32_t cut_count;
    uint32_t hosts; /* folds: bit per cutter whose ranks are reused */
    bool uneven;    /* shares are stated, so nothing has to divide */
    bool bites;     /* cuts something in some op */
};

struct cutters {
    const struct model *model;
    const struct group *group;
    struct cutter cutters[CUTTER_MAX];
    uint32_t count;
    uint64_t sizes[AXIS_MAX]; /* 0: the batch rule looks after it */
    axis_set causal;          /* axes whose positions see only those before them */
    axis_set told;            /* axes already complained about */
};

static axis_set axis_bit(const struct model *model, const char *name)
{
    const uint32_t axis = name == NULL ? NO_INDEX : model_find_axis(model, name);
    return axis == NO_INDEX ? 0 : (axis_set)1 << axis;
}

static void resolve(const struct model *model, const struct dim_variant *variant,
                    struct cutter *out)
{
    for (uint32_t i = 0; i < variant->cut_count; i++) {
        const axis_set axis = axis_bit(model, variant->cuts[i].axis);
        const axis_set beside = axis_bit(model, variant->cuts[i].beside);
        if (axis == 0 || (variant->cuts[i].beside != NULL && beside == 0))
            continue;
        out->axis[out->cut_count] = axis;
        out->beside[out->cut_count++] = beside;
    }
}

static void push_factor(struct cutters *cutters, const struct mesh_dim *mesh)
{
    struct cutter *cutter = &cutters->cutters[cutters->count++];
    *cutter =
        (struct cutter){.name = plan_rule_dim_name(mesh), .dim = mesh->dim, .degree = mesh->degree};
    for (uint32_t i = 0; i < cutters->group->share_count; i++)
        cutter->uneven = cutter->uneven || strcmp(cutters->group->shares[i].dim, cutter->name) == 0;
    if (mesh->dim != NULL) {
        resolve(cutters->model, &mesh->dim->variants[mesh->variant], cutter);
    } else {
        cutter->axis[0] = axis_bit(cutters->model, mesh->axis);
        cutter->cut_count = cutter->axis[0] != 0;
    }
}

static void push_fold(struct cutters *cutters, const struct mesh_fold *fold, uint32_t factors)
{
    struct cutter *cutter = &cutters->cutters[cutters->count++];
    *cutter = (struct cutter){.name = fold->dim->name, .dim = fold->dim, .degree = fold->degree};
    resolve(cutters->model, &fold->dim->variants[0], cutter);
    for (uint32_t i = 0; i < factors; i++) {
        for (uint32_t host = 0; host < 3 && fold->dim->hosts[host] != NULL; host++)
            cutter->hosts |=
                strcmp(cutters->cutters[i].name, fold->dim->hosts[host]) == 0 ? 1u << i : 0;
    }
}

static void find_sizes(const struct problem *problem, struct cutters *out)
{
    const struct model *model = problem->model;
    for (uint32_t i = 0; i < model->axis_count && i < AXIS_MAX; i++) {
        const struct axis *axis = &model->axes[i];
        const struct axis *origin =
            axis->image_of == NO_INDEX ? axis : &model->axes[axis->image_of];
        out->sizes[i] = axis->size != 0 ? axis->size : origin->size;
        if (out->sizes[i] == 0 && strcmp(origin->name, SEQUENCE_AXIS) == 0)
            out->sizes[i] = setup_count_positions(problem->setup, axis->image_of != NO_INDEX);
    }
}

static axis_set find_causal(const struct model *model)
{
    axis_set images = 0, causal = 0;
    for (uint32_t o = 0; o < model->op_count; o++) {
        const enum density_kind density = model->ops[o].density;
        if (density == DENSITY_CAUSAL || density == DENSITY_WINDOW || density == DENSITY_BLOCK)
            images |= model->ops[o].domain;
    }
    for (uint32_t i = 0; i < model->axis_count; i++) {
        const uint32_t origin = model->axes[i].image_of;
        if ((images >> i & 1) != 0 && origin != NO_INDEX && model->axes[origin].size == 0)
            causal |= (axis_set)1 << origin;
    }
    return causal;
}

static void build(const struct problem *problem, const struct group *group, struct cutters *out)
{
    out->model = problem->model;
    out->group = group;
    out->count = 0;
    out->told = 0;
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        if (group->mesh[i].degree > 1 &&
            !(group->mesh[i].dim != NULL && group->mesh[i].dim->cuts_chain))
            push_factor(out, &group->mesh[i]);
    }
    const uint32_t factors = out->count;
    for (uint32_t i = 0; i < group->fold_count; i++) {
        if (group->folds[i].degree > 1 && group->folds[i].dim->kind != DIM_FACTOR)
            push_fold(out, &group->folds[i], factors);
    }
    find_sizes(problem, out);
    out->causal = find_causal(problem->model);
}

/* The axis that a cutter takes in an op by its own list; 0: none. */
static axis_set own_choice(const struct cutter *cutter, axis_set domain)
{
    for (uint32_t i = 0; i < cutter->cut_count; i++) {
        if ((domain & cutter->axis[i]) != 0 &&
            (cutter->beside[i] == 0 || (domain & cutter->beside[i]) != 0))
            return cutter->axis[i];
    }
    return 0;
}

/* Which axis each cutter takes in an op once folds have had their way. */
static void choose(const struct cutters *cutters, axis_set domain, axis_set out[CUTTER_MAX])
{
    for (uint32_t i = 0; i < cutters->count; i++)
        out[i] = own_choice(&cutters->cutters[i], domain);
    for (uint32_t i = 0; i < cutters->count; i++) {
        const struct cutter *cutter = &cutters->cutters[i];
        const bool beside = cutter->dim != NULL && cutter->dim->kind == DIM_FOLD_BESIDE;
        for (uint32_t host = 0; host < i && out[i] != 0; host++) {
            if ((cutter->hosts >> host & 1) == 0)
                continue;
            if (beside)
                out[i] = out[host] == 0 ? out[i] : 0;
            else
                out[host] = 0;
        }
    }
}

/* Does a stated cut move this dim elsewhere in the part? Layer ranges name layers of any part. */
static bool is_overridden(const struct cutters *cutters, const struct cutter *cutter,
                          const struct part *part)
{
    for (uint32_t i = 0; i < cutters->group->cut_count; i++) {
        const struct cut_override *cut = &cutters->group->cuts[i];
        const bool range = cut->parts[0] >= '0' && cut->parts[0] <= '9';
        if (strcmp(cut->dim, cutter->name) == 0 && (range || strcmp(cut->parts, part->name) == 0))
            return true;
    }
    return false;
}

static const char *divisors(const struct plan_rules *rules, uint64_t size)
{
    if (rules->diag == NULL)
        return NULL;
    struct text text;
    uint32_t shown = 0;
    text_init(&text, rules->diag->arena);
    for (uint64_t divisor = 1; divisor <= size && divisor <= 4096; divisor++) {
        if (size % divisor != 0)
            continue;
        if (++shown > DIVISORS_SHOWN) {
            text_push(&text, ", ...");
            break;
        }
        text_push(&text, "%s%llu", shown == 1 ? "" : ", ", (unsigned long long)divisor);
    }
    return text.bytes;
}

/* "tp 8 x cp 2": all that cut the axis in this op. */
static const char *cutter_names(const struct plan_rules *rules, const struct cutters *cutters,
                                const axis_set choice[CUTTER_MAX], axis_set axis)
{
    if (rules->diag == NULL)
        return "";
    struct text text;
    text_init(&text, rules->diag->arena);
    for (uint32_t i = 0; i < cutters->count; i++) {
        if (choice[i] == axis)
            text_push(&text, "%s%s %u", text.length == 0 ? "" : " x ", cutters->cutters[i].name,
                      cutters->cutters[i].degree);
    }
    return text.bytes;
}

static void check_axis(struct plan_rules *rules, struct cutters *cutters, const struct op *op,
                       uint32_t axis, const axis_set choice[CUTTER_MAX])
{
    const axis_set bit = (axis_set)1 << axis;
    const uint64_t size = cutters->sizes[axis];
    uint64_t product = 1;
    for (uint32_t i = 0; i < cutters->count; i++)
        product *= choice[i] == bit && !cutters->cutters[i].uneven ? cutters->cutters[i].degree : 1;
    if (size == 0 || size % product == 0 || cutters->model->axes[axis].padded ||
        (cutters->told & bit) != 0)
        return;
    cutters->told |= bit;
    plan_rule_break(rules, DIAG_P417,
                    plan_rule_hint(rules, "the product must divide %llu: %s",
                                   (unsigned long long)size, divisors(rules, size)),
                    "%s of op '%s' is %llu, which %s does not divide",
                    cutters->model->axes[axis].name, op->name, (unsigned long long)size,
                    cutter_names(rules, cutters, choice, bit));
}

static void check_op(struct plan_rules *rules, struct cutters *cutters, const struct part *part,
                     const struct op *op)
{
    axis_set choice[CUTTER_MAX], cut = 0;
    choose(cutters, op->domain, choice);
    for (uint32_t i = 0; i < cutters->count; i++) {
        cutters->cutters[i].bites = cutters->cutters[i].bites || choice[i] != 0;
        if (cutters->group->cut_count > 0 && is_overridden(cutters, &cutters->cutters[i], part))
            choice[i] = 0;
        cut |= choice[i];
    }
    for (uint32_t axis = 0; cut >> axis != 0; axis++) {
        if ((cut >> axis & 1) != 0)
            check_axis(rules, cutters, op, axis, choice);
    }
}

/* Even work of causal attention: two pieces per rank. */
static void check_causal(struct plan_rules *rules, struct cutters *cutters,
                         const struct cutter *cutter)
{
    for (uint32_t i = 0; i < cutter->cut_count; i++) {
        const axis_set bit = cutter->axis[i];
        if (cutter->dim == NULL || cutter->dim->kind != DIM_FACTOR ||
            (bit & cutters->causal) == 0 || cutter->uneven)
            continue;
        const uint32_t axis = (uint32_t)__builtin_ctz(bit);
        const uint64_t pieces = 2 * (uint64_t)cutter->degree;
        if (cutters->sizes[axis] == 0 || cutters->sizes[axis] % pieces == 0 ||
            (cutters->told & bit) != 0)
            continue;
        cutters->told |= bit;
        plan_rule_break(
            rules, DIAG_P417,
            plan_rule_hint(rules,
                           "causal attention gives every rank two pieces, one from each end"),
            "%s is %llu, which is not a multiple of 2 x %s %u = %llu",
            cutters->model->axes[axis].name, (unsigned long long)cutters->sizes[axis], cutter->name,
            cutter->degree, (unsigned long long)pieces);
    }
}

/* A dim that a plan declares for its model: its axis exists, and divides. */
static void check_declared(struct plan_rules *rules, const struct cutters *cutters,
                           const struct mesh_dim *mesh)
{
    const uint32_t axis = model_find_axis(cutters->model, mesh->axis);
    if (axis == NO_INDEX)
        plan_rule_break(rules, DIAG_P421, NULL,
                        "dimension %s cuts axis '%s', which model '%s' does not have",
                        mesh->declared, mesh->axis, cutters->model->name);
    else if (mesh->degree > 1 && cutters->sizes[axis] % mesh->degree != 0 &&
             !cutters->model->axes[axis].padded)
        plan_rule_break(rules, DIAG_P417,
                        plan_rule_hint(rules, "the degree must divide %llu: %s",
                                       (unsigned long long)cutters->sizes[axis],
                                       divisors(rules, cutters->sizes[axis])),
                        "axis %s is %llu, which %s %u does not divide", mesh->axis,
                        (unsigned long long)cutters->sizes[axis], mesh->declared, mesh->degree);
}

static void check_override(struct plan_rules *rules, const struct cutters *cutters,
                           const struct cut_override *cut)
{
    const uint32_t axis = model_find_axis(cutters->model, cut->axis);
    const struct cutter *cutter = NULL;
    for (uint32_t i = 0; i < cutters->count; i++) {
        if (strcmp(cutters->cutters[i].name, cut->dim) == 0)
            cutter = &cutters->cutters[i];
    }
    if (axis == NO_INDEX)
        plan_rule_break(rules, DIAG_P421, NULL,
                        "a cut of %s names axis '%s', which model '%s' does not have", cut->dim,
                        cut->axis, cutters->model->name);
    else if (cutter == NULL)
        plan_rule_break(rules, DIAG_P421, NULL,
                        "a cut names dimension '%s', which the mesh has not or leaves at 1",
                        cut->dim);
    else if (!cutter->uneven && cutters->sizes[axis] % cutter->degree != 0 &&
             !cutters->model->axes[axis].padded)
        plan_rule_break(rules, DIAG_P417, NULL, "%s is %llu, which %s %u does not divide",
                        cutters->model->axes[axis].name, (unsigned long long)cutters->sizes[axis],
                        cutter->name, cutter->degree);
}

/* Every dim must find something to cut; a model known by name only is not asked. */
static void check_bites(struct plan_rules *rules, const struct cutters *cutters)
{
    for (uint32_t i = 0; i < cutters->count && cutters->model->op_count > 0; i++) {
        const struct cutter *cutter = &cutters->cutters[i];
        if (!cutter->bites && cutter->dim != NULL)
            plan_rule_break(rules, DIAG_P419, plan_rule_hint(rules, "set %s to 1", cutter->name),
                            "%s %u has nothing to cut in model '%s'", cutter->name, cutter->degree,
                            cutters->model->name);
    }
}

void plan_rule_axes(struct plan_rules *rules)
{
    const struct model *model = rules->problem->model;
    assert(model->axis_count <= AXIS_MAX);
    for (uint32_t g = 0; g < rules->plan->group_count && !plan_rule_is_settled(rules); g++) {
        struct cutters cutters = {0};
        build(rules->problem, &rules->plan->groups[g], &cutters);
        for (uint32_t i = 0; i < cutters.group->mesh_count; i++) {
            if (cutters.group->mesh[i].dim == NULL)
                check_declared(rules, &cutters, &cutters.group->mesh[i]);
        }
        for (uint32_t i = 0; i < cutters.group->cut_count; i++)
            check_override(rules, &cutters, &cutters.group->cuts[i]);
        for (uint32_t i = 0; i < cutters.count; i++)
            check_causal(rules, &cutters, &cutters.cutters[i]);
        for (uint32_t p = 0; p < model->part_count && !plan_rule_is_settled(rules); p++) {
            for (uint32_t o = 0; o < model->parts[p].op_count; o++)
                check_op(rules, &cutters, &model->parts[p],
                         &model->ops[model->parts[p].first_op + o]);
        }
        check_bites(rules, &cutters);
    }
}
