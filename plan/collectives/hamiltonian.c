/* Hamiltonian: a ring over neighbours of a grid alone, both ways round at once.
 *
 * The cycle goes up the first column and back in serpentines over the others, so one axis must be
 * even; odd by odd grids have no cycle. */
#include "plan/collectives/rings.h"

extern const struct collective collective_hamiltonian;

static bool accepts(enum collective_kind kind, const struct collective_group *group)
{
    return kind != COLLECTIVE_SEND && kind != COLLECTIVE_ALL_TO_ALL && group->axis_count == 2 &&
           group->ranks % 2 == 0;
}

/* Rows are the even axis. */
struct grid {
    uint32_t rows, columns, row_stride, column_stride;
};

static struct grid find_grid(const struct collective_group *group)
{
    const uint32_t a = group->axes[0], b = group->axes[1];
    return b % 2 == 0 ? (struct grid){b, a, a, 1} : (struct grid){a, b, 1, a};
}

/* Rows in turn, all columns but the first, every other row backwards; then up the first one. */
static uint32_t find_place(const struct grid *grid, uint32_t rank)
{
    const uint32_t row = rank / grid->row_stride % grid->rows;
    const uint32_t column = rank / grid->column_stride % grid->columns;
    const uint32_t width = grid->columns - 1;
    if (column == 0) {
        return grid->rows * width + (grid->rows - 1 - row);
    }
    return row * width + (row % 2 == 0 ? column - 1 : width - column);
}

static uint32_t find_rank(const struct grid *grid, uint32_t place)
{
    const uint32_t width = grid->columns - 1;
    if (place >= grid->rows * width) {
        return (grid->rows - 1 - (place - grid->rows * width)) * grid->row_stride;
    }
    const uint32_t row = place / width, within = place % width;
    const uint32_t column = row % 2 == 0 ? within + 1 : width - within;
    return row * grid->row_stride + column * grid->column_stride;
}

/* The second ring turns the other way. */
static uint32_t move(const struct collective_group *group, uint32_t ring, uint32_t rank,
                     uint32_t steps, bool behind)
{
    const struct grid grid = find_grid(group);
    const uint32_t place = find_place(&grid, rank);
    const bool back = behind == (ring == 0);
    return find_rank(&grid, (place + (back ? group->ranks - steps : steps)) % group->ranks);
}

static uint32_t chunk_count(enum collective_kind kind, const struct collective_group *group)
{
    (void)kind;
    return 2 * group->ranks;
}

static bool step(enum collective_kind kind, const struct collective_group *group, uint32_t round,
                 uint32_t rank, uint32_t index, struct collective_step *out)
{
    const struct rings rings = {2, move};
    return rings_find_step(&rings, kind, group, &(struct rings_send){round, rank, index}, out);
}

const struct collective collective_hamiltonian = {
    .name = "hamiltonian",
    .summary = "a ring over neighbours of a grid, both ways at once; needs an even axis",
    .kinds = {COLLECTIVE_ALL_REDUCE, COLLECTIVE_ALL_GATHER, COLLECTIVE_REDUCE_SCATTER},
    .kind_count = 3,
    .pipeline_max = 1,
    .minimal = true,
    .accepts = accepts,
    .chunk_count = chunk_count,
    .round_count = rings_count_rounds,
    .step = step,
    .alike = rings_count_alike,
};
