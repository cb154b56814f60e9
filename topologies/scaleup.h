/* The links beside PCI that join devices of one kind: NVLink, Infinity Fabric. */
#ifndef SHARDPLAN_TOPOLOGIES_SCALEUP_H
#define SHARDPLAN_TOPOLOGIES_SCALEUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/json.h"

enum scaleup_kind {
    SCALEUP_SWITCH,   /* all devices of a domain through switches */
    SCALEUP_FULLMESH, /* a link to each other device */
    SCALEUP_OTHER,    /* it depends on the computer */
    SCALEUP_KIND_COUNT
};

struct scaleup {
    const char *link; /* link kind; NULL: the device has no such links */
    uint32_t links;   /* of one device */
    double link_Bps;  /* of one link, one direction */
    uint32_t domain;  /* devices joined at most */
    enum scaleup_kind kind;
    bool reduces; /* its switches can */
};

/* The member "scaleup" of an accelerator; all zero where there is none. */
bool scaleup_read(struct json_value accelerator, struct arena *arena, struct scaleup *out,
                  struct diag *diag);

#endif
