/* What the files that derive a work program share; nobody else includes it. */
#ifndef SHARDPLAN_PLAN_WORK_INSIDE_H
#define SHARDPLAN_PLAN_WORK_INSIDE_H

#include "plan/shard_rule.h"
#include "plan/work.h"

/* A matrix multiply on one device, as its forward does it. */
struct work_contract {
    bool known;
    uint64_t m, n, k, groups;
    double flops, bytes;
};

/* One part under one mesh while its lists are made. Tensor arrays are indexed by the model's tensor
 * index. */
struct work_builder {
    struct work *work;
    const struct problem *problem;
    const struct model *model;
    const struct shard_mesh *mesh;
    struct arena *arena;
    const struct part *part;
    struct shard_cut *cuts;             /* per op of the part */
    struct work_contract *contracts;    /* per op of the part, when first asked for */
    struct shard_state *stored;         /* per tensor: state it is kept in once its first reader has
                                         * it */
    bool *known;                        /* per tensor: `stored` is set */
    bool backward;                      /* the part has one: it trains, or one before it does */
    const bool *moved;                  /* per tensor: nothing is pushed but the messages of these
                                         * that hide under no work; NULL: all, kernels too */
    uint32_t *producer;                 /* per tensor: op of the part that writes it, else
                                         * NO_INDEX */
    uint32_t *reader;                   /* per tensor: first place that reads it, op x OP_INPUT_MAX
                                         * + input, else NO_INDEX */
    uint32_t *begins;                   /* per op that begins a unit: items of the backward that
                                         * come before the unit */
    uint32_t *next_reader;              /* per place: the next one of the same tensor */
};

/* Ops first..last of a part that are one kernel (Q with K and V): their gradients are taken
 * together, so that the sum of their input gradients moves once. */
struct work_unit {
    uint32_t first, last;
};

/* A program without blocks; they are cleared as they are pushed: its room may be used again. */
void work_open(const struct problem *problem, const struct plan *plan, struct arena *arena,
               struct work *out);
struct work_block *work_push_block(struct work *work, uint32_t part);
/* Of the program's plan; mesh is filled. */
void work_builder_start(struct work_builder *builder, struct work *work, struct arena *arena,
                        struct shard_mesh *mesh);
void work_builder_enter(struct work_builder *builder, uint32_t part);

void work_push_compute(struct work_items *items, struct arena *arena, struct work_compute compute);
void work_push_message(struct work_items *items, struct arena *arena, struct work_message message);
void work_push_items(struct work_items *items, struct arena *arena, const struct work_item *from,
                     uint32_t count);
/* A copy of the list, done again for the backward. */
void work_push_again(struct work_items *items, struct arena *arena, const struct work_items *from);

/* Index of the group made of those atoms of the mesh, added when new. */
uint32_t work_group_index(struct work *work, const struct rank_group *group);
uint32_t work_group_of_atoms(struct work *work, const struct shard_mesh *mesh, uint32_t atoms);

/* Bytes of one element of a tensor as it is stored. */
double work_element_bytes(const struct problem *problem, const struct tensor *tensor);

/* The amount of one op in one pass on one device. */
struct work_compute work_amount(const struct work_builder *builder, uint32_t op,
                                enum work_pass pass);

/* What stays per sequence of a micro-batch on one device while tokens are generated. */
double work_state_elements(const struct work_builder *builder, uint32_t op);
/* Format of the matrix units that do it: those whose result must be exact (logits, and what feeds a
 * choice: routers) stay in 16 bits. */
enum dtype work_contract_dtype(const struct work_builder *builder, const struct op *op);
/* Do tokens become (token, expert) pairs, or the reverse? */
bool work_op_reorders(const struct work_builder *builder, uint32_t op);
/* Of how many points the rows of a routed tensor are chosen for (experts per token); 1: of none. */
double work_count_chosen(const struct work_builder *builder, uint32_t tensor);
/* Share of an exchange of rows over that group which travels where each goes once to every node,
 * not once for each of the `chosen` experts. */
double work_sent_frac(const struct work_builder *builder, uint32_t group, double chosen);
/* The kernel that puts exchanged rows in order; elements: of one rank's send buffer. */
void work_push_sort(struct work_builder *builder, enum work_pass pass, double elements,
                    struct work_items *out);
/* Is it one of the large tensors at the end: logits, their gradients? */
bool work_over_vocabulary(const struct work_builder *builder, const struct tensor *tensor);

/* Bringing what the op reads in that pass to fp8 or fp4; false when nothing has to be. */
bool work_quantises(const struct work_builder *builder, uint32_t op, enum work_pass pass,
                    struct work_compute *out);

/* The residual stream's state between parts. */
struct shard_state work_boundary_state(const struct work_builder *builder,
                                       const struct tensor *tensor);

/* Kernels of one pass of a unit; forward, of one op. */
void work_kernels_push(struct work_builder *builder, struct work_unit unit, enum work_pass pass,
                       struct work_items *out);
bool work_has_gradient(const struct work_builder *builder, uint32_t tensor);

/* Lists of a block whose part is builder->part. */
void work_forward_build(struct work_builder *builder, struct work_items *out);
void work_backward_build(struct work_builder *builder, struct work_items *out);
/* Of a part that does not keep all: what it dropped is made again between the same items. plain:
 * the builder's last backward. */
void work_backward_remake(struct work_builder *builder, enum work_keep keep,
                          const struct work_items *plain, struct work_items *out);
bool work_core_is_dropped(const struct work_builder *builder);

/* Is the matrix of a matrix multiply frozen? Then it needs no weight gradient, nor its input
 * again. */
bool work_weight_is_frozen(const struct work_builder *builder, uint32_t op);
bool work_op_keeps(const struct work_builder *builder, uint32_t op);

/* Memory and weights of the block (keeps everything). */
void work_memory_build(struct work_builder *builder, struct work_block *block);
double work_saved_bytes(const struct work_builder *builder, enum work_keep keep, bool vocabulary);
void work_weights_build(struct work_builder *builder, struct work_block *block);

#endif
