#!/bin/bash
# GPT
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
MASTER_ADDR=localhost
NUM_NODES=1
NODE_RANK=0
WORLD_SIZE=$(($GPUS_PER_NODE*$NUM_NODES))
TP=4
CHECKPOINT_PATH=$1 #<Specify path>
DISTRIBUTED_ARGS=(
    --nproc_per_node $GPUS_PER_NODE 
    --nnodes $NUM_NODES 
    --master_addr $MASTER_ADDR 
    --master_port 6000
)

GPT_MODEL_ARGS=(
    --num-layers 32 
    --hidden-size 4096 
    --num-attention-heads 32 
    --seq-length 2048 
    --max-position-embeddings 2048 
    --attention-backend auto # Can use (flash/fused/unfused/local)
)

TRAINING_ARGS=(
    --micro-batch-size 1 
    --global-batch-size 64
    --train-iters 500000 
    --weight-decay 0.1 
    --bf16
    --lr 6.0e-5 
)
TRAINING_ARGS+=(--use-distributed-optimizer)
MODEL_PARALLEL_ARGS=(
	--tensor-model-parallel-size $TP 
	--pipeline-model-parallel-size 2 
	--sequence-parallel
)
DATA_ARGS="--vocab-size 50257 \
   --mock-data"

torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py \
    ${GPT_MODEL_ARGS[@]} \
    "${TRAINING_ARGS[@]}" \
    ${MODEL_PARALLEL_ARGS[@]} \
    $DATA_ARGS
