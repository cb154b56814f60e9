/* Memory traffic of kernels that bandwidth bounds, in bytes per element of a 2-byte activation.
 *
 * Each number counts a kernel's passes: 2 bytes for each tensor read once and each written once.
 * Backward reads what forward kept and the gradient, and writes the gradients of its inputs. What
 * is small beside the tensor (gains, tables, sums per row) is not counted. How much of the memory
 * bandwidth such kernels reach is a fact of the accelerator, not of these numbers. */
#ifndef SHARDPLAN_MODELS_TRANSFORMER_TRAFFIC_H
#define SHARDPLAN_MODELS_TRANSFORMER_TRAFFIC_H

/* One tensor to one: a norm, an activation function, a short convolution. */
#define NORM_FORWARD_BYTES 4.0
#define NORM_BACKWARD_BYTES 6.0
#define ACTIVATION_FORWARD_BYTES 4.0
#define ACTIVATION_BACKWARD_BYTES 6.0
/* Two tensors to one, by a product: backward reads both and the gradient, writes two. */
#define GATE_FORWARD_BYTES 6.0
#define GATE_BACKWARD_BYTES 10.0
/* Rows moved to another order or place, a rotation: read and written, both ways. */
#define MOVE_BYTES 4.0
#define ROPE_BYTES 4.0
/* Two streams to one, by a sum; backward the gradients that come back through the branch and past
 * it are added, the same traffic. */
#define SUM_BYTES 6.0

#endif
