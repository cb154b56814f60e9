/* The lists of one block: compute in execution order, with the messages that the sharding rule asks
 * for between. */
#include <assert.h>
#include <string.h>

#include "plan/work_inside.h"

#define READER_MAX 8

static struct work_item *next_item(struct work_items *items, struct arena *arena)
{
    ARENA_MAKE_ROOM(arena, items->items, items->count, items->capacity);
    return &items->items[items->count++];
}

void work_push_compute(struct work_items *items, struct arena *arena, struct work_compute compute)
{
    struct work_item *item = next_item(items, arena);
    item->is_message = false;
    item->compute = compute;
}

void work_push_message(struct work_items *items, struct arena *arena, struct work_message message)
{
    struct work_item *item = next_item(items, arena);
    item->is_message = true;
    item->message = message;
}

void work_push_items(struct work_items *items, struct arena *arena, const struct work_item *from,
                     uint32_t count)
{
    if (items->capacity - items->count < count) {
        items->capacity = items->count + 2 * count;
        items->items =
            arena_grow(arena, items->items, items->count, items->capacity, sizeof *items->items);
    }
    if (count > 0) {
        memcpy(&items->items[items->count], from, count * sizeof *from);
    }
    items->count += count;
}

void work_push_again(struct work_items *items, struct arena *arena, const struct work_items *from)
{
    for (uint32_t i = 0; i < from->count; i++) {
        struct work_item *item = next_item(items, arena);
        *item = from->items[i];
        if (!item->is_message) {
            item->compute.recompute = true;
        }
    }
}

struct shard_state work_boundary_state(const struct work_builder *builder,
                                       const struct tensor *tensor)
{
    struct shard_cut cut;
    shard_cut_find(builder->mesh, tensor->axes, &cut);
    return shard_state_operand(builder->mesh, &cut, tensor, false);
}

static const struct op *op_at(const struct work_builder *builder, uint32_t op)
{
    return &builder->model->ops[builder->part->first_op + op];
}

static bool same_state(const struct work_builder *builder, const struct shard_state *a,
                       const struct shard_state *b)
{
    return memcmp(a->at, b->at, builder->mesh->atom_count) == 0;
}

static enum collective_kind kind_of(enum shard_action action)
{
    switch (action) {
    case SHARD_REDUCE: return COLLECTIVE_ALL_REDUCE;
    case SHARD_REDUCE_SCATTER: return COLLECTIVE_REDUCE_SCATTER;
    case SHARD_EXCHANGE: return COLLECTIVE_ALL_TO_ALL;
    case SHARD_GATHER: return COLLECTIVE_ALL_GATHER;
    case SHARD_ACTION_COUNT: break;
    }
    BUG("no action %d", (int)action);
}

static enum work_cause cause_of(enum shard_action action)
{
    return action == SHARD_EXCHANGE ? CAUSE_RESHARD
           : action == SHARD_GATHER ? CAUSE_GATHER
                                    : CAUSE_PARTIAL_SUM;
}

/* Pieces in which a move over a dim travels under the op it feeds; 0: the dim does not do that. */
static uint32_t travelling_pieces(const struct work_builder *builder, const struct shard_move *move)
{
    for (uint32_t i = 0; i < builder->mesh->atom_count; i++) {
        const struct shard_atom *atom = &builder->mesh->atoms[i];
        if ((move->atoms >> i & 1u) != 0 && atom->dim == move->dim) {
            return dim_table[atom->dim]->variants[atom->variant].overlap_chunks * atom->size;
        }
    }
    return 0;
}

enum move_set { MOVES_ALL, MOVES_TRAVELLING, MOVES_OTHER };

/* Which moves are meant: all, those that travel under an op, the others. `hidden`: the runtime runs
 * them under the next compute item. */
struct move_choice {
    enum move_set set;
    bool hidden;
    enum work_pass pass;
};

static const struct move_choice all_moves = {MOVES_ALL, false, PASS_FORWARD};

struct transition {
    uint32_t tensor;
    struct shard_state from, to;
};

/* Messages for the moves of one tensor. */
static void push_moves(struct work_builder *builder, struct transition transition,
                       struct move_choice choice, struct work_items *out)
{
    const struct tensor *which = &builder->model->tensors[transition.tensor];
    struct shard_move moves[SHARD_MOVE_MAX];
    if (builder->moved != NULL && !builder->moved[transition.tensor]) {
        return;
    }
    const uint32_t count =
        shard_moves_find(builder->mesh, which, transition.from, transition.to, moves);
    /* rows on their way to experts or back, beside another micro-batch's work */
    const struct runtime *runtime = builder->problem->setup->runtime;
    const bool beside = runtime->overlaps_exchange && which->density < 1.0;
    const bool once = runtime->sends_rows_once && which->density < 1.0;
    const double chosen = once ? work_count_chosen(builder, transition.tensor) : 1.0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t pieces = travelling_pieces(builder, &moves[i]);
        if (choice.set != MOVES_ALL && (pieces > 0) != (choice.set == MOVES_TRAVELLING)) {
            continue;
        }
        const bool hides =
            pieces > 0 || choice.hidden || (beside && moves[i].action == SHARD_EXCHANGE);
        if (builder->moved != NULL && hides) {
            continue;
        }
        const uint32_t group = work_group_of_atoms(builder->work, builder->mesh, moves[i].atoms);
        const bool travels_once = once && moves[i].action == SHARD_EXCHANGE;
        const double sent = travels_once ? work_sent_frac(builder, group, chosen) : 1.0;
        work_push_message(
            out, builder->arena,
            (struct work_message){
                .kind = kind_of(moves[i].action),
                .group = group,
                .bytes = moves[i].elements * work_element_bytes(builder->problem, which) * sent,
                .dim = moves[i].dim,
                .cause = cause_of(moves[i].action),
                .overlap = beside && moves[i].action == SHARD_EXCHANGE ? OVERLAP_BLOCK
                           : pieces > 0 || choice.hidden               ? OVERLAP_NEXT
                                                                       : OVERLAP_NONE,
                .pieces = pieces > 0 ? pieces : 1,
                .period = 1});
        if (which->density < 1.0 && moves[i].action == SHARD_EXCHANGE && builder->moved == NULL) {
            work_push_sort(builder, choice.pass, moves[i].elements, out);
        }
    }
}

/* What is kept of a tensor that moved: all moves but gathers have been made. */
static struct shard_state kept_state(const struct work_builder *builder, struct shard_state from,
                                     struct shard_state to)
{
    for (uint32_t i = 0; i < builder->mesh->atom_count; i++) {
        if (!(from.at[i] >= 0 && to.at[i] == STATE_WHOLE)) {
            from.at[i] = to.at[i];
        }
    }
    return from;
}

/* States in which readers of this list already have tensors, so that each is brought there once. */
struct delivery {
    uint32_t tensor;
    struct shard_state state;
};

struct deliveries {
    struct delivery made[4 * OP_INPUT_MAX * 8];
    uint32_t count;
};

static bool deliver(struct work_builder *builder, struct deliveries *log, uint32_t tensor,
                    struct shard_state wanted)
{
    for (uint32_t i = 0; i < log->count; i++) {
        if (log->made[i].tensor == tensor && same_state(builder, &log->made[i].state, &wanted)) {
            return false;
        }
    }
    assert(log->count < sizeof log->made / sizeof log->made[0]);
    log->made[log->count++] = (struct delivery){tensor, wanted};
    return true;
}

static struct shard_state operand_state(const struct work_builder *builder, uint32_t op,
                                        uint32_t input)
{
    const struct op *which = op_at(builder, op);
    return shard_state_operand(builder->mesh, &builder->cuts[op],
                               &builder->model->tensors[which->inputs[input]],
                               (which->mirrored >> input & 1u) != 0);
}

void work_forward_build(struct work_builder *builder, struct work_items *out)
{
    const struct part *part = builder->part;
    struct deliveries log;
    log.count = 0;
    const uint32_t incoming[] = {part->input, part->carried};
    for (uint32_t i = 0; i < 2; i++) {
        if (incoming[i] != NO_INDEX) {
            builder->stored[incoming[i]] =
                work_boundary_state(builder, &builder->model->tensors[incoming[i]]);
            builder->known[incoming[i]] = true;
        }
    }
    for (uint32_t op = 0; op < part->op_count; op++) {
        const struct op *which = op_at(builder, op);
        for (uint32_t i = 0; i < which->input_count; i++) {
            const uint32_t tensor = which->inputs[i];
            const struct shard_state wanted = operand_state(builder, op, i);
            if (builder->known[tensor] && deliver(builder, &log, tensor, wanted)) {
                push_moves(builder, (struct transition){tensor, builder->stored[tensor], wanted},
                           all_moves, out);
                builder->stored[tensor] = kept_state(builder, builder->stored[tensor], wanted);
            }
        }
        work_kernels_push(builder, (struct work_unit){op, op}, PASS_FORWARD, out);
        builder->stored[which->output] = shard_state_output(
            builder->mesh, &builder->cuts[op], &builder->model->tensors[which->output]);
        builder->known[which->output] = true;
    }
    const struct tensor *output = &builder->model->tensors[part->output];
    struct shard_state end = work_boundary_state(builder, output);
    for (uint32_t i = 0; output->class == TENSOR_STATISTIC && i < builder->mesh->atom_count; i++) {
        end.at[i] = builder->stored[part->output].at[i] == STATE_PARTIAL
                        ? STATE_WHOLE
                        : builder->stored[part->output].at[i];
    }
    push_moves(builder, (struct transition){part->output, builder->stored[part->output], end},
               all_moves, out);
    builder->stored[part->output] = end;
}

/* The state in which the producer of a tensor (or the part before) wants its gradient. */
static struct shard_state gradient_target(const struct work_builder *builder, uint32_t tensor)
{
    const struct tensor *which = &builder->model->tensors[tensor];
    if (builder->producer[tensor] == NO_INDEX) {
        return work_boundary_state(builder, which);
    }
    struct shard_state state =
        shard_state_output(builder->mesh, &builder->cuts[builder->producer[tensor]], which);
    for (uint32_t i = 0; i < builder->mesh->atom_count; i++) {
        state.at[i] = state.at[i] == STATE_PARTIAL ? STATE_WHOLE : state.at[i];
    }
    return state;
}

struct state_set {
    struct shard_state of[READER_MAX];
    uint32_t count;
};

static void add_state(const struct work_builder *builder, struct shard_state state,
                      struct state_set *out)
{
    for (uint32_t i = 0; i < out->count; i++) {
        if (same_state(builder, &out->of[i], &state)) {
            return;
        }
    }
    assert(out->count < READER_MAX);
    out->of[out->count++] = state;
}

/* Gradients of one tensor from all its readers are summed where they are alike, then moved once per
 * state. */
static void push_gradient_moves(struct work_builder *builder, uint32_t tensor,
                                struct move_choice choice, struct work_items *out)
{
    struct state_set states;
    states.count = 0;
    for (uint32_t place = builder->reader[tensor]; place != NO_INDEX;
         place = builder->next_reader[place]) {
        const uint32_t op = place / OP_INPUT_MAX, input = place % OP_INPUT_MAX;
        add_state(builder,
                  shard_state_gradient(builder->mesh, &builder->cuts[op],
                                       &builder->model->tensors[tensor],
                                       (op_at(builder, op)->mirrored >> input & 1u) != 0),
                  &states);
    }
    const struct shard_state target = gradient_target(builder, tensor);
    for (uint32_t k = 0; k < states.count; k++) {
        push_moves(builder, (struct transition){tensor, states.of[k], target}, choice, out);
    }
}

static bool is_first_reader(const struct work_builder *builder, uint32_t tensor, uint32_t op)
{
    return builder->reader[tensor] / OP_INPUT_MAX == op;
}

static bool reads_again(const struct op *op, uint32_t tensor)
{
    for (uint32_t i = 0; i < op->keep_count; i++) {
        if (op->keeps[i] == tensor) {
            return true;
        }
    }
    return false;
}

static void push_input_moves(struct work_builder *builder, uint32_t op, struct move_choice choice,
                             struct work_items *out)
{
    const struct op *which = op_at(builder, op);
    for (uint32_t i = 0; i < which->input_count; i++) {
        const uint32_t tensor = which->inputs[i];
        if (work_has_gradient(builder, tensor) && is_first_reader(builder, tensor, op)) {
            push_gradient_moves(builder, tensor, choice, out);
        }
    }
}

static void push_regathers(struct work_builder *builder, struct work_unit unit,
                           struct deliveries *log, struct work_items *out)
{
    for (uint32_t op = unit.first; op <= unit.last; op++) {
        const struct op *which = op_at(builder, op);
        const bool hidden =
            builder->problem->setup->runtime->hides_regather && which->weight_count > 0;
        for (uint32_t i = 0; i < which->input_count; i++) {
            const uint32_t tensor = which->inputs[i];
            const struct shard_state wanted = operand_state(builder, op, i);
            if (reads_again(which, tensor) && work_op_keeps(builder, op) &&
                builder->known[tensor] && deliver(builder, log, tensor, wanted)) {
                push_moves(builder, (struct transition){tensor, builder->stored[tensor], wanted},
                           (struct move_choice){MOVES_ALL, hidden, PASS_INPUT_GRADIENT}, out);
            }
        }
    }
}

static void push_backward_unit(struct work_builder *builder, struct work_unit unit,
                               struct deliveries *log, struct work_items *out)
{
    push_regathers(builder, unit, log, out);
    for (uint32_t op = unit.first; op <= unit.last; op++) {
        push_input_moves(builder, op,
                         (struct move_choice){MOVES_TRAVELLING, true, PASS_INPUT_GRADIENT}, out);
    }
    work_kernels_push(builder, unit, PASS_INPUT_GRADIENT, out);
    const bool hidden = builder->problem->setup->runtime->hides_regather &&
                        op_at(builder, unit.first)->kind == OP_CONTRACT;
    for (uint32_t op = unit.first; op <= unit.last; op++) {
        push_input_moves(builder, op,
                         (struct move_choice){MOVES_OTHER, hidden, PASS_INPUT_GRADIENT}, out);
    }
    work_kernels_push(builder, unit, PASS_WEIGHT_GRADIENT, out);
}

static bool drops(const struct work_builder *builder, uint32_t tensor)
{
    const struct tensor *which = &builder->model->tensors[tensor];
    return which->recomputable &&
           (which->only == ATTENTION_ANY || which->only == builder->problem->setup->attention);
}

static bool op_is_rerun(const struct work_builder *builder, uint32_t op)
{
    const struct op *which = op_at(builder, op);
    for (uint32_t i = 0; which->kind == OP_ATTENTION && i < which->keep_count; i++) {
        if (drops(builder, which->keeps[i])) {
            return true;
        }
    }
    return false;
}

bool work_core_is_dropped(const struct work_builder *builder)
{
    for (uint32_t op = 0; op < builder->part->op_count; op++) {
        if (op_is_rerun(builder, op)) {
            return true;
        }
    }
    return false;
}

static void push_again(const struct work_builder *builder, uint32_t op, struct work_items *out)
{
    struct work_compute again = work_amount(builder, op, PASS_FORWARD);
    again.recompute = true;
    work_push_compute(out, builder->arena, again);
}

/* What the form dropped and this op's backward reads: made again. All that is made from latents is
 * for the attention core. */
static void push_dropped(const struct work_builder *builder, enum work_keep keep, uint32_t op,
                         struct work_items *out)
{
    if (keep == KEEP_SELECTIVE && op_is_rerun(builder, op)) {
        push_again(builder, op, out);
    }
    const bool reads = keep == KEEP_LATENTS && op_at(builder, op)->kind == OP_ATTENTION;
    for (uint32_t before = 0; reads && before < op; before++) {
        if (builder->model->tensors[op_at(builder, before)->output].remade) {
            push_again(builder, before, out);
        }
    }
}

/* The last unit of the first `count` ops. */
static struct work_unit last_unit(const struct work_builder *builder, uint32_t count)
{
    struct work_unit unit = {count - 1, count - 1};
    while (op_at(builder, unit.first)->joined) {
        assert(unit.first > 0);
        unit.first--;
    }
    return unit;
}

void work_backward_build(struct work_builder *builder, struct work_items *out)
{
    const struct part *part = builder->part;
    struct deliveries log;
    log.count = 0;
    const struct tensor *output = &builder->model->tensors[part->output];
    if (output->class == TENSOR_ACTIVATION) {
        push_moves(builder,
                   (struct transition){part->output, work_boundary_state(builder, output),
                                       gradient_target(builder, part->output)},
                   all_moves, out);
    }
    for (uint32_t left = part->op_count; left > 0;) {
        const struct work_unit unit = last_unit(builder, left);
        builder->begins[unit.first] = out->count;
        push_backward_unit(builder, unit, &log, out);
        left = unit.first;
    }
}

void work_backward_remake(struct work_builder *builder, enum work_keep keep,
                          const struct work_items *plain, struct work_items *out)
{
    uint32_t copied = 0;
    for (uint32_t left = builder->part->op_count; left > 0;) {
        const struct work_unit unit = last_unit(builder, left);
        const uint32_t begin = builder->begins[unit.first];
        work_push_items(out, builder->arena, &plain->items[copied], begin - copied);
        push_dropped(builder, keep, unit.first, out);
        copied = begin;
        left = unit.first;
    }
    work_push_items(out, builder->arena, &plain->items[copied], plain->count - copied);
}
