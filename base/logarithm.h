/* Logarithms to base 2 that are the same bits on every machine. */
#ifndef SHARDPLAN_BASE_LOGARITHM_H
#define SHARDPLAN_BASE_LOGARITHM_H

/* Within 1e-15 of the true value, relative where that is over 1. value > 0 and finite. */
double logarithm_of(double value);
/* 2 to the power of that, within 1e-14 relative; |logarithm| <= 1000. */
double logarithm_power(double logarithm);

#endif
