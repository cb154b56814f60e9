/* Arguments one per line, or as the lines of a bash array. */
#include <stdarg.h>
#include <string.h>

#include "exports/megatron_inside.h"

/* Characters that a shell leaves alone. */
#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:/+=-"

void megatron_push_note(const struct megatron_arguments *out, const char *format, ...)
{
    va_list arguments;
    text_push(out->text, out->script ? "    # " : "# ");
    va_start(arguments, format);
    text_push_list(out->text, format, arguments);
    va_end(arguments);
    text_push(out->text, "\n");
}

void megatron_push_flag(const struct megatron_arguments *out, const char *flag)
{
    text_push(out->text, out->script ? "    %s\n" : "%s\n", flag);
}

void megatron_push(const struct megatron_arguments *out, const char *flag, const char *format, ...)
{
    struct text value;
    va_list arguments;
    text_init(&value, out->text->arena);
    va_start(arguments, format);
    text_push_list(&value, format, arguments);
    va_end(arguments);
    if (!out->script)
        text_push(out->text, "%s\n%s\n", flag, value.bytes);
    else if (strspn(value.bytes, PLAIN) == value.length)
        text_push(out->text, "    %s %s\n", flag, value.bytes);
    else
        text_push(out->text, "    %s '%s'\n", flag, value.bytes);
}
