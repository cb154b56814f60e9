/* Multi-axis: rings along all axes of a grid at once, each with a part of the buffer.
 *
 * With d axes there are d parts, or 2d where all axes close, so that rings turn both ways. Part k
 * first scatters its sums along axis k, then what is left of it along axis k+1, and so on; the
 * gather takes the axes back. In any round all parts are on different links. An axis that does not
 * close is a ring too: the way back from its end is as long as the axis, over links that no other
 * part uses. This moves n (N-1)/N / (d b) on a torus of N places and 2d links of b each, which is
 * the least there is; on a mesh of two axes it is the least of a scatter or gather alone. */
#include "plan/collective.h"

extern const struct collective collective_multi_axis;

#define RANKS_MAX 65536u

static bool all_close(const struct collective_group *group)
{
    bool close = true;
    for (uint32_t axis = 0; axis < group->axis_count; axis++) {
        close = close && group->closes[axis];
    }
    return close;
}

static bool accepts(enum collective_kind kind, const struct collective_group *group)
{
    return kind != COLLECTIVE_SEND && kind != COLLECTIVE_ALL_TO_ALL && group->ranks >= 2 &&
           group->ranks <= RANKS_MAX &&
           (group->axis_count > 1 || (group->axis_count == 1 && all_close(group)));
}

static uint32_t part_count(const struct collective_group *group)
{
    return group->axis_count * (all_close(group) ? 2 : 1);
}

/* A chunk per owner and part: rank r owns chunks r * parts up to (r+1) * parts. */
static uint32_t chunk_count(enum collective_kind kind, const struct collective_group *group)
{
    (void)kind;
    return group->ranks * part_count(group);
}

static uint32_t longest(const struct collective_group *group)
{
    uint32_t size = 0;
    for (uint32_t axis = 0; axis < group->axis_count; axis++) {
        size = group->axes[axis] > size ? group->axes[axis] : size;
    }
    return size;
}

/* Of a scatter or gather: as many turns as the longest axis needs, for each axis in turn. */
static uint32_t sweep(const struct collective_group *group)
{
    return group->axis_count * (longest(group) - 1);
}

static uint32_t round_count(enum collective_kind kind, const struct collective_group *group)
{
    return (kind == COLLECTIVE_ALL_REDUCE ? 2 : 1) * sweep(group);
}

/* Where a round stands: `done` axes of every part are behind it, `turn` turns along the next. */
struct moment {
    bool gathers;
    uint32_t done, turn;
};

static struct moment find_moment(enum collective_kind kind, const struct collective_group *group,
                                 uint32_t round)
{
    const uint32_t turns = longest(group) - 1;
    const bool gathers =
        kind == COLLECTIVE_ALL_GATHER || (kind == COLLECTIVE_ALL_REDUCE && round >= sweep(group));
    const uint32_t within = round % sweep(group);
    const uint32_t phase = within / turns;
    return (struct moment){gathers, gathers ? group->axis_count - 1 - phase : phase,
                           within % turns};
}

static uint32_t axis_of(const struct collective_group *group, uint32_t part, uint32_t place)
{
    return (part + place) % group->axis_count;
}

static bool goes_up(const struct collective_group *group, uint32_t part)
{
    return part < group->axis_count;
}

static uint32_t stride_of(const struct collective_group *group, uint32_t axis)
{
    uint32_t stride = 1;
    for (uint32_t i = 0; i < axis; i++) {
        stride *= group->axes[i];
    }
    return stride;
}

/* The rank `steps` further along an axis, around its end. */
static uint32_t move(const struct collective_group *group, uint32_t rank, uint32_t axis,
                     uint32_t steps)
{
    const uint32_t stride = stride_of(group, axis);
    const uint32_t at = rank / stride % group->axes[axis];
    return rank - at * stride + (at + steps) % group->axes[axis] * stride;
}

/* Owners whose chunks of the part the rank still has to do with: those that agree with it on the
 * axes behind, and on the next have the coordinate that is sent. */
static uint32_t count_owners(const struct collective_group *group, uint32_t part, uint32_t done)
{
    uint32_t owners = group->ranks;
    for (uint32_t place = 0; place <= done; place++) {
        owners /= group->axes[axis_of(group, part, place)];
    }
    return owners;
}

/* How far behind the rank, against its direction, the owners of what it sends stand. A scatter
 * sends first what has farthest to go: the share of the one behind; a gather its own. */
static uint32_t find_owner_axis(const struct collective_group *group, uint32_t part,
                                const struct moment *moment, uint32_t rank)
{
    const uint32_t axis = axis_of(group, part, moment->done);
    const uint32_t size = group->axes[axis];
    const uint32_t behind = moment->turn + (moment->gathers ? 0 : 1);
    return move(group, rank, axis, goes_up(group, part) ? size - behind : behind);
}

static bool step(enum collective_kind kind, const struct collective_group *group, uint32_t round,
                 uint32_t rank, uint32_t index, struct collective_step *out)
{
    const struct moment moment = find_moment(kind, group, round);
    for (uint32_t part = 0; part < part_count(group); part++) {
        const uint32_t axis = axis_of(group, part, moment.done);
        const uint32_t size = group->axes[axis];
        if (moment.turn + 1 >= size || index-- > 0) {
            continue;
        }
        *out = (struct collective_step){
            .to = move(group, rank, axis, goes_up(group, part) ? 1 : size - 1),
            .first_chunk = part,
            .chunk_count = count_owners(group, part, moment.done),
            .reduce = !moment.gathers};
        return true;
    }
    return false;
}

/* The index counts the owners through the axes that are still open. */
static uint32_t chunk(enum collective_kind kind, const struct collective_group *group,
                      uint32_t round, uint32_t rank, const struct collective_step *step_sent,
                      uint32_t index)
{
    const struct moment moment = find_moment(kind, group, round);
    const uint32_t part = step_sent->first_chunk;
    uint32_t owner = find_owner_axis(group, part, &moment, rank);
    for (uint32_t place = moment.done + 1; place < group->axis_count; place++) {
        const uint32_t axis = axis_of(group, part, place);
        owner = move(group, owner, axis, index % group->axes[axis]);
        index /= group->axes[axis];
    }
    return owner * part_count(group) + part;
}

/* Until the next axis ends or the phase does. */
static uint32_t alike(enum collective_kind kind, const struct collective_group *group,
                      uint32_t round)
{
    const struct moment moment = find_moment(kind, group, round);
    uint32_t end = longest(group) - 1;
    for (uint32_t axis = 0; axis < group->axis_count; axis++) {
        const uint32_t turns = group->axes[axis] - 1;
        end = turns > moment.turn && turns < end ? turns : end;
    }
    return end - moment.turn;
}

const struct collective collective_multi_axis = {
    .name = "multi-axis",
    .summary = "rings along all axes of a torus or mesh at once; least bytes, all links",
    .kinds = {COLLECTIVE_ALL_REDUCE, COLLECTIVE_ALL_GATHER, COLLECTIVE_REDUCE_SCATTER},
    .kind_count = 3,
    .pipeline_max = 1,
    .minimal = true,
    .accepts = accepts,
    .chunk_count = chunk_count,
    .round_count = round_count,
    .step = step,
    .chunk = chunk,
    .alike = alike,
};
