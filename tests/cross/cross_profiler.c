/* The measured path from end to end on this CPU: profile, prices, a real chain of products. */
#include <stdlib.h>

#include "tests/fresh.h"
#include "tools/profiler/measure.h"

#define CPU "xeon-8480+" /* any CPU of the list: measurements replace its formulas */
#define REPEATS 20
#define ATTEMPTS 5 /* others may load the machine while one half is timed and not the other */
#define TOLERANCE_FRAC 0.2

#if defined(__SANITIZE_ADDRESS__)
#define SLOWED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLOWED true
#endif
#endif
#ifndef SLOWED
#define SLOWED false
#endif

/* Shapes between the measured ones, as the layers of a small network would ask for. */
static const struct machine_matmul chain[] = {
    {DTYPE_FP32, 160, 240, 144}, {DTYPE_FP32, 120, 336, 216}, {DTYPE_FP32, 240, 168, 264},
    {DTYPE_FP32, 216, 216, 216}, {DTYPE_FP32, 312, 120, 168},
};
#define CHAIN_COUNT (sizeof chain / sizeof chain[0])

static void measure_profile(struct profile *out)
{
    static const uint64_t sizes[] = {96, 192, 384};
    struct measure_plan plan = {.repeats = REPEATS, .minimum = true};
    plan.matmuls = ARENA_PUSH(&arena, struct profile_matmul, 27);
    for (uint32_t i = 0; i < 27; i++) {
        plan.matmuls[plan.matmul_count++] = (struct profile_matmul){
            DTYPE_FP32, sizes[i / 9], sizes[i / 3 % 3], sizes[i % 3], 1, 0.0};
    }
    *out = (struct profile){.name = CPU, .accelerator = CPU, .source = "test", .notes = ""};
    out->matmuls = ARENA_PUSH(&arena, struct profile_matmul, 27);
    ck_assert(measure_run(&machine_cpu, &plan, &arena, out));
    ck_assert_uint_eq(out->matmul_count, 27);
    /* what is there is not measured again */
    ck_assert(measure_run(&machine_cpu, &plan, &arena, out));
    ck_assert_uint_eq(out->matmul_count, 27);
}

static double chain_predicted_s(const struct prices *prices)
{
    double sum_s = 0.0;
    for (size_t i = 0; i < CHAIN_COUNT; i++) {
        const struct work_compute item = {.name = "matmul",
                                          .kind = OP_CONTRACT,
                                          .m = chain[i].m,
                                          .n = chain[i].n,
                                          .k = chain[i].k,
                                          .groups = 1,
                                          .dtype = DTYPE_FP32,
                                          .density_frac = 1.0};
        const struct work_compute *const one = &item;
        enum provenance provenance;
        sum_s += prices_compute_s(prices, 0, &one, 1, &provenance);
        ck_assert_int_eq((int)provenance, (int)PROVENANCE_INTERPOLATED);
    }
    return sum_s;
}

static double chain_measured_s(void)
{
    double seconds[REPEATS], sum_s = 0.0;
    for (size_t i = 0; i < CHAIN_COUNT; i++) {
        ck_assert(machine_cpu.matmul(&chain[i], REPEATS, seconds));
        double least_s = seconds[0];
        for (uint32_t k = 1; k < REPEATS; k++) {
            least_s = seconds[k] < least_s ? seconds[k] : least_s;
        }
        sum_s += least_s;
    }
    return sum_s;
}

START_TEST(a_profile_predicts_a_chain)
{
    double error_frac = 1.0;
    if (SLOWED || getenv("CK_FORK") != NULL) {
        fprintf(stderr, "skipped: timings under sanitizers or valgrind say nothing\n");
        return;
    }
    for (uint32_t i = 0; i < ATTEMPTS && error_frac > TOLERANCE_FRAC; i++) {
        struct accelerator device;
        struct profile profile;
        begin();
        ck_assert(accelerator_read(CPU, (struct diag_place){.file = NULL}, &arena, &device, &diag));
        struct prices prices = {.accelerators = &device, .accelerator_count = 1, .bench = true};
        ck_assert(machine_cpu.open(12u << 20));
        const double before_s = chain_measured_s();
        measure_profile(&profile);
        ck_assert(profile_apply(&profile, &arena, &prices, &diag));
        const double after_s = chain_measured_s();
        const double least_s = before_s < after_s ? before_s : after_s;
        const double error = chain_predicted_s(&prices) / least_s - 1.0;
        error_frac = error < 0.0 ? -error : error;
        fprintf(stderr, "chain of %zu products: predicted %+.1f %% off\n", CHAIN_COUNT,
                100.0 * error);
        machine_cpu.close();
        arena_release(&arena);
    }
    ck_assert_msg(error_frac <= TOLERANCE_FRAC, "%.1f %% off after %d attempts", 100.0 * error_frac,
                  ATTEMPTS);
}
END_TEST

TAP_MAIN("profiler", a_profile_predicts_a_chain)
