/* Output of nccl-tests: header lines say who took part, each line of numbers is one size. */
#include <stdlib.h>
#include <string.h>

#include "tools/micro.h"

/* What the header says. */
struct header {
    const char *op;
    const char *accelerator;
    uint32_t ranks, hosts;
    const char *last_host;
};

static const char *const ops[][2] = {{"all_reduce", "all_reduce"},
                                     {"all_gather", "all_gather"},
                                     {"reduce_scatter", "reduce_scatter"},
                                     {"alltoall", "alltoall"},
                                     {"sendrecv", "sendrecv"}};

static const char *find_op(const char *text)
{
    for (uint32_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        if (strstr(text, ops[i][0]) != NULL) {
            return ops[i][1];
        }
    }
    return NULL;
}

/* "#  Rank  3 Group 0 Pid 77 on node1 device  3 [0x9b] NVIDIA H100 80GB HBM3" */
static void read_rank(struct header *header, const char *line, struct arena *arena)
{
    const char *on = strstr(line, " on "), *bracket = strchr(line, ']');
    header->ranks++;
    if (on != NULL) {
        const char *host = text_build_copy(arena, on + 4, strcspn(on + 4, " "));
        header->hosts += header->last_host == NULL || strcmp(host, header->last_host) != 0 ? 1 : 0;
        header->last_host = host;
    }
    if (bracket != NULL && header->accelerator == NULL) {
        const char *name = bracket + 1 + strspn(bracket + 1, " ");
        size_t length = strlen(name);
        for (; length > 0 && name[length - 1] == ' '; length--) {
        }
        header->accelerator = text_build_copy(arena, name, length);
    }
}

/* "  1048576  262144  float  sum  -1  43.2  24.2  42.4  0 ..." */
static bool read_line(const char *line, double *bytes, double *seconds)
{
    const char *at = line + strspn(line, " \t");
    double values[3];
    uint32_t found = 0, words = 0;
    if (!command_parse_number(&at, bytes)) {
        return false;
    }
    for (at += strspn(at, " \t"); *at != '\0' && found < 3; at += strspn(at, " \t")) {
        const char *end = at;
        const size_t length = strcspn(at, " \t");
        double value;
        /* count, type, reduction, root stand before the time */
        if (++words > 4 && command_parse_number(&end, &value) && end == at + length) {
            values[found++] = value;
        }
        at += length;
    }
    *seconds = found == 3 ? values[0] * 1e-6 : 0.0;
    return found == 3 && *bytes >= 1.0 && *seconds > 0.0;
}

static void push_row(struct command *command, const char *name, const struct header *header,
                     double bytes, double seconds, struct micro *out)
{
    static const struct {
        const char *op;
        enum collective_kind kind;
    } kinds[] = {{"all_reduce", COLLECTIVE_ALL_REDUCE},
                 {"all_gather", COLLECTIVE_ALL_GATHER},
                 {"reduce_scatter", COLLECTIVE_REDUCE_SCATTER},
                 {"alltoall", COLLECTIVE_ALL_TO_ALL},
                 {"sendrecv", COLLECTIVE_SEND}};
    struct micro_row row = {.id = "",
                            .source = name,
                            .accelerator = header->accelerator == NULL ? "" : header->accelerator,
                            .kind = PROFILE_COLLECTIVES,
                            .intra_net = "",
                            .inter_net = "",
                            .seconds = seconds};
    row.collective = (struct profile_collective){
        .link = "", .ranks = header->ranks, .bytes = bytes, .seconds = seconds};
    row.collective.ranks_per_node =
        header->hosts > 0 ? header->ranks / header->hosts : header->ranks;
    for (uint32_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].op, header->op) == 0) {
            row.collective.kind = kinds[i].kind;
        }
    }
    row.skipped = header->ranks < 2 ? "no number of ranks" : NULL;
    micro_push(command, out, &row);
}

bool micro_read_nccl(struct command *command, const char *name, const struct text *text,
                     struct micro *out)
{
    struct header header = {.op = find_op(name)};
    if (strstr(text->bytes, "# nThread") == NULL && strstr(text->bytes, "#  Rank") == NULL) {
        return false;
    }
    for (const char *at = text->bytes; *at != '\0';) {
        const size_t length = strcspn(at, "\r\n");
        const char *line = text_build_copy(command->arena, at, length);
        const char *op = line[0] == '#' ? find_op(line) : NULL;
        double bytes, seconds;
        header.op = op != NULL ? op : header.op;
        if (strncmp(line, "#  Rank", 7) == 0) {
            read_rank(&header, line, command->arena);
        } else if (header.op != NULL && line[0] != '#' && read_line(line, &bytes, &seconds)) {
            push_row(command, name, &header, bytes, seconds, out);
        }
        at += length + strspn(at + length, "\r\n");
    }
    return true;
}
