/* Dims: found by name, in the order that is their default rank order. */
#include <string.h>

#include "plan/dim.h"
#include "tests/tap_main.h"

START_TEST(dims_are_found_by_name)
{
    for (uint32_t i = 0; i < dim_table_count; i++) {
        ck_assert_ptr_eq(dim_find(dim_names()[i]), dim_table[i]);
        ck_assert_str_eq(dim_table[i]->name, dim_names()[i]);
    }
    ck_assert_ptr_null(dim_names()[dim_table_count]);
    ck_assert_ptr_null(dim_find("qp"));
    ck_assert_ptr_null(dim_find(""));
}
END_TEST

/* tensor, context, expert, pipeline, data from the inside out: the rarest traffic outermost; a
 * runtime's own order is data of the runtime. */
START_TEST(default_order_puts_the_rarest_traffic_outermost)
{
    static const char *const order[] = {"tp", "cp", "ep", "pp", "dp"};
    for (size_t i = 1; i < sizeof order / sizeof order[0]; i++) {
        ck_assert_msg(dim_find(order[i - 1])->order < dim_find(order[i])->order,
                      "%s is not inside %s", order[i - 1], order[i]);
    }
}
END_TEST

static const struct dim_cut *find_cut(const char *dim, const char *variant, const char *axis)
{
    const struct dim *member = dim_find(dim);
    for (uint32_t v = 0; v < member->variant_count; v++) {
        const struct dim_variant *at = &member->variants[v];
        for (uint32_t i = 0; i < at->cut_count; i++) {
            if ((variant == NULL || strcmp(at->name, variant) == 0) &&
                strcmp(at->cuts[i].axis, axis) == 0) {
                return &at->cuts[i];
            }
        }
    }
    return NULL;
}

START_TEST(dims_cut_what_they_are_known_for)
{
    static const char *const widths[] = {"heads",      "kv_heads",   "ffn",
                                         "expert_ffn", "shared_ffn", "vocab"};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        ck_assert_ptr_nonnull(find_cut("tp", NULL, widths[i]));
    }
    ck_assert_ptr_nonnull(find_cut("dp", NULL, "batch"));
    ck_assert_ptr_nonnull(find_cut("ep", NULL, "experts"));
    ck_assert_ptr_nonnull(find_cut("cp", "ring", "seq"));
    ck_assert_str_eq(find_cut("cp", "ulysses", "heads")->beside, "keys");
    ck_assert_ptr_null(find_cut("cp", "ulysses", "seq")->beside);
    ck_assert_ptr_null(find_cut("cp", "ring", "heads"));
    ck_assert(dim_find("pp")->cuts_chain);
}
END_TEST

TAP_MAIN("dim", dims_are_found_by_name, default_order_puts_the_rarest_traffic_outermost,
         dims_cut_what_they_are_known_for)
