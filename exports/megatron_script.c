/* A launch script around a list of arguments. */
#include "exports/megatron_inside.h"

void megatron_open_script(const struct problem *problem, const struct plan *plan, struct text *out)
{
    const uint64_t devices = plan_count_devices(plan);
    text_push(out, "#!/usr/bin/env bash\n");
    text_push(out, "# %s on %s, %llu devices, with Megatron-LM. Run it on every node:\n",
              problem->model->name, problem->cluster->name, (unsigned long long)devices);
    text_push(out,
              "#   MASTER_ADDR=FIRST_NODE NODE_RANK=N MEGATRON=CHECKOUT bash THIS [ARGUMENT...]\n"
              "# ARGUMENT...: data, tokenizer, learning rate, length of training, checkpoints.\n"
              "set -euo pipefail\n\n");
    text_push(out, "WORLD_SIZE=%llu\n", (unsigned long long)devices);
    text_push(out, "GPUS_PER_NODE=${GPUS_PER_NODE:-%u}\n",
              express_count_node_devices(problem, plan));
    text_push(out, "NNODES=$((WORLD_SIZE / GPUS_PER_NODE))\n"
                   "NODE_RANK=${NODE_RANK:-${SLURM_NODEID:-0}}\n"
                   "MASTER_ADDR=${MASTER_ADDR:-localhost}\n"
                   "MASTER_PORT=${MASTER_PORT:-29500}\n"
                   "MEGATRON=${MEGATRON:-.}\n\n");
    if (megatron_wants_one_connection(plan))
        text_push(out, "# Tensor and context parallelism need it on Hopper and before.\n"
                       "export CUDA_DEVICE_MAX_CONNECTIONS=1\n\n");
    text_push(out, "ARGUMENTS=(\n");
}

const char *megatron_find_program(const struct problem *problem)
{
    return megatron_is_hybrid(problem->model->transformer) ? "pretrain_hybrid.py"
                                                           : "pretrain_gpt.py";
}

void megatron_close_script(const struct problem *problem, struct text *out)
{
    text_push(out,
              ")\n\n"
              "exec torchrun --nnodes \"$NNODES\" --nproc-per-node \"$GPUS_PER_NODE\" \\\n"
              "    --node-rank \"$NODE_RANK\" --master-addr \"$MASTER_ADDR\" "
              "--master-port \"$MASTER_PORT\" \\\n"
              "    \"$MEGATRON/%s\" \"${ARGUMENTS[@]}\" \"$@\"\n",
              megatron_find_program(problem));
}
