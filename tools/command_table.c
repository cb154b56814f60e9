/* All commands, in the order in which help lists them. */
#include "tools/command.h"

extern const struct command_kind command_plan, command_estimate, command_check, command_simulate,
    command_schedule, command_collective, command_validate, command_calibrate, command_fit,
    command_sweep, command_plot, command_export, command_import, command_show, command_list;

const struct command_kind *const command_table[] = {
    &command_plan,     &command_estimate,   &command_check,    &command_simulate,
    &command_schedule, &command_collective, &command_validate, &command_calibrate,
    &command_fit,      &command_sweep,      &command_plot,     &command_export,
    &command_import,   &command_show,       &command_list,
};

const uint32_t command_table_count = sizeof command_table / sizeof command_table[0];
