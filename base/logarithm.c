/* Logarithms to base 2 by series, in plain arithmetic only. */
#include "base/logarithm.h"

#include <assert.h>

#define LN2 0.693147180559945309417
#define SQRT_HALF 0.707106781186547524401

/* ln x = 2 (z + z^3/3 + z^5/5 + ...) with z = (x - 1) / (x + 1), |z| < 0.172 for x near 1. */
double logarithm_of(double value)
{
    assert(value > 0.0);
    double whole = 0.0;
    for (; value >= 2.0 * SQRT_HALF; value *= 0.5) {
        whole += 1.0;
    }
    for (; value < SQRT_HALF; value *= 2.0) {
        whole -= 1.0;
    }
    const double z = (value - 1.0) / (value + 1.0);
    double sum = 0.0;
    for (int k = 21; k >= 1; k -= 2) {
        sum = sum * z * z + 1.0 / k;
    }
    return whole + 2.0 * z * sum / LN2;
}

/* e^x = 1 + x (1 + x/2 (1 + x/3 (...))) with |x| <= ln 2 / 2. */
double logarithm_power(double logarithm)
{
    assert(logarithm >= -1000.0 && logarithm <= 1000.0);
    const int whole = (int)(logarithm + (logarithm < 0.0 ? -0.5 : 0.5));
    const double x = (logarithm - whole) * LN2;
    double power = 1.0;
    for (int k = 16; k >= 1; k--) {
        power = 1.0 + power * x / k;
    }
    for (int i = 0; i < whole; i++) {
        power *= 2.0;
    }
    for (int i = 0; i > whole; i--) {
        power *= 0.5;
    }
    return power;
}
