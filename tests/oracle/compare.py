#!/usr/bin/env python3
"""Compares `shardplan check --config` with the runtimes' own parsers, on exports and mutations of them.

usage: compare.py RUNTIME SHARDPLAN [COUNT]

RUNTIME is megatron, torchtitan, deepspeed or accelerate. Plans are searched and exported for pairs of
models and clusters; the real parser must accept each. Then COUNT (200) mutations are given to both
(accelerate: none, its files are not read back). A disagreement is printed with both reasons. Needs, in
the environment:

  ORACLES             folder with the drivers oracle_RUNTIME.py: the parsers under stubs of torch
  MEGATRON_SRC, TORCHTITAN_SRC, DEEPSPEED_SRC, ACCELERATE_SRC    checkouts of the runtimes

Without them the test is skipped (exit 77). Exit 1 when shardplan accepts what the parser refuses.
"""
import contextlib
import importlib
import importlib.metadata
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile

SOURCES = {"megatron": "MEGATRON_SRC", "torchtitan": "TORCHTITAN_SRC", "deepspeed": "DEEPSPEED_SRC",
           "accelerate": "ACCELERATE_SRC"}
PLANNED_FOR = {"accelerate": "fsdp"}
MODELS = {
    "megatron": ["llama-3.1-8b", "llama-3.1-70b", "qwen3-30b-a3b", "mixtral-8x7b", "gpt3-175b", "gpt2-xl",
                 "deepseek-v2-lite", "mistral-7b", "nemotron-h-8b"],
    "torchtitan": ["llama-3.1-8b", "deepseek-v2-lite", "llama-3.1-70b", "qwen3-8b", "qwen3-32b", "qwen3-30b-a3b"],
    "deepspeed": ["llama-3.1-8b", "llama-3.1-70b", "mixtral-8x7b", "qwen3-8b", "qwen3-32b", "gpt2-xl",
                  "gemma-2-9b", "nemotron-h-8b"],
    "accelerate": ["llama-3.1-8b", "mixtral-8x7b", "qwen3-8b", "qwen3-32b", "gpt2-xl", "gemma-2-9b",
                   "mamba2-2.7b", "qwen2.5-vl-7b"],
}
CLUSTERS = [("dgx-h100", 1), ("dgx-h100", 2), ("dgx-h100", 4), ("dgx-a100", 8)]
# Beside the plans on devices alone, some with a part in the hosts' memory.
MOVED = {"megatron": "optimizer:0.5", "torchtitan": "optimizer,gradients,parameters",
         "deepspeed": "optimizer,gradients", "accelerate": "optimizer,gradients,parameters"}
KINDS = {"megatron": ("megatron-args", ".args"), "torchtitan": ("torchtitan-toml", ".toml"),
         "deepspeed": ("deepspeed-json", ".json")}


def run(*words):
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=100)
    except subprocess.TimeoutExpired:
        return 124, "", "no answer within a minute"
    return done.returncode, done.stdout, done.stderr


# --- the runtimes' parsers, in this process ---------------------------------------------------------

def parser_of(runtime):
    """A function from (text, world) to (accepted, reason)."""
    sys.path.insert(0, os.environ["ORACLES"])
    if runtime == "megatron":
        oracle = importlib.import_module("oracle_megatron")

        def ask(text, world):
            words = [line for line in text.split("\n") if line and not line.startswith("#")]
            oracle.check(words, world)
    elif runtime == "torchtitan":
        import tomllib
        import stubtorch
        import torch  # noqa: F401, the stub
        stubtorch.NAMES |= {"tyro", "spmd_types", "torchft"}
        sys.path.insert(0, os.environ["TORCHTITAN_SRC"])
        from torchtitan.config.job_config import JobConfig
        from torchtitan.config.manager import ConfigManager
        from torchtitan.distributed.parallel_dims import ParallelDims
        manager = ConfigManager.__new__(ConfigManager)
        manager.config_cls = JobConfig

        def ask(text, world):
            config = manager._dict_to_dataclass(JobConfig, tomllib.loads(text))
            p, t = config.parallelism, config.training
            dims = ParallelDims(dp_replicate=p.data_parallel_replicate_degree,
                                dp_shard=p.data_parallel_shard_degree, cp=p.context_parallel_degree,
                                tp=p.tensor_parallel_degree, pp=p.pipeline_parallel_degree,
                                ep=p.expert_parallel_degree, etp=p.expert_tensor_parallel_degree,
                                world_size=world)
            # What the trainer and the pipeline assert before the first step (train.py, pipeline_parallel.py).
            assert t.seq_len % dims.seq_len_divisor == 0, "seq_len_divisor"
            dp = dims.dp_replicate * dims.dp_shard
            whole = t.local_batch_size * dp if t.global_batch_size < 0 else t.global_batch_size
            assert whole > 0 and whole % (t.local_batch_size * dp) == 0, "global batch"
            if p.pipeline_parallel_degree > 1:
                assert t.local_batch_size % p.pipeline_parallel_microbatch_size == 0, "micro-batch"
    elif runtime == "accelerate":
        import stubtorch
        import torch  # noqa: F401, the stub
        real = importlib.metadata.version
        faked = {"torch": "2.8.0", "numpy": "2.0.0", "safetensors": "0.5", "huggingface_hub": "0.30", "psutil": "6.0"}
        importlib.metadata.version = lambda name: faked.get(name) or real(name)
        sys.path.insert(0, os.environ["ACCELERATE_SRC"])
        from accelerate.commands.config.config_args import ClusterConfig
        from accelerate.parallelism_config import ParallelismConfig

        def ask(text, world):
            with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                file.write(text)
                file.flush()
                config = ClusterConfig.from_yaml_file(file.name)
            assert config.num_processes == world, "num_processes"
            sizes = {key[len("parallelism_config_"):]: value
                     for key, value in (config.parallelism_config or {}).items() if key.endswith("_size")}
            if sizes and sizes.get("tp_size", 1) == 1:  # tensor ranks ask for transformers itself
                assert ParallelismConfig(**sizes).total_size == world, "total_size"
    else:
        import stubtorch
        import torch  # noqa: F401, the stub
        stubtorch.NAMES |= {"hjson", "cpuinfo", "ninja", "msgpack", "psutil", "py3nvml"}
        sys.path.insert(0, os.environ["DEEPSPEED_SRC"])
        from deepspeed.runtime import config as module

        def ask(text, world):
            class Ranks:
                get_rank = staticmethod(lambda: 0)
                get_world_size = staticmethod(lambda *_: world)
            module.dist = Ranks
            module.DeepSpeedConfig(json.loads(text))

    def answer(text, world):
        quiet = io.StringIO()
        try:
            with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
                ask(text, world)
            return True, ""
        except SystemExit:
            return False, "argparse: " + quiet.getvalue().strip().split("\n")[-1][:150]
        except BaseException as error:  # noqa: BLE001, whatever the parser raises
            return False, "%s: %s" % (type(error).__name__, str(error).replace("\n", " ")[:150])

    return answer


# --- mutations --------------------------------------------------------------------------------------

NUMBERS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 28, 30, 32, 48, 64, 96, 100, 128, 1000, 4096]


def mutate_megatron(text, rng):
    words = [line for line in text.split("\n") if line and not line.startswith("#")]
    kind = rng.randrange(6)
    sized = [i for i, word in enumerate(words[:-1]) if word.startswith("--") and re.fullmatch(r"\d+", words[i + 1])
             and re.search("parallel-size|num-layers|heads|groups|batch-size|seq-length|experts|recompute", word)]
    if kind <= 2:
        at = rng.choice(sized)
        words[at + 1] = str(rng.choice(NUMBERS))
    elif kind == 3:
        at = rng.choice([i for i, word in enumerate(words) if word.startswith("--")])
        end = at + 1
        while end < len(words) and not words[end].startswith("--"):
            end += 1
        del words[at:end]
    elif kind == 4:
        words += rng.choice([
            ["--fp16"], ["--overlap-param-gather"], ["--recompute-granularity", "full"], ["--tp-comm-overlap"],
            ["--num-layers-per-virtual-pipeline-stage", "3"], ["--num-virtual-stages-per-pipeline-rank", "2"],
            ["--decoder-first-pipeline-num-layers", "3"], ["--account-for-loss-in-pipeline-split"],
            ["--recompute-method", "block"], ["--context-parallel-sise", "2"], ["--sequence-paralel"],
            ["--cp-comm-type", "ring"], ["--fp8-format", "e5m2"], ["--optimizer", "adamw"],
            ["--pipeline-model-parallel-layout", "Et*3|(tt|)*3L"], ["--distribute-saved-activations"],
            ["--overlap-param-gather-with-optimizer-step"], ["--optimizer-cpu-offload"],
            ["--use-precision-aware-optimizer", "--optimizer-cpu-offload"], ["--cpu-offloading-num-layers", "4"],
            ["--max-position-embeddings", "128"]])
    else:
        at = rng.choice(sized)
        words[at + 1] = rng.choice(["two", "1.5", "-1", "8x", ""])
    return "\n".join(words) + "\n"


def mutate_torchtitan(text, rng):
    lines = text.split("\n")
    sized = [i for i, line in enumerate(lines) if re.fullmatch(r"\w+ = -?\d+", line)]
    at = rng.choice(sized)
    kind = rng.randrange(5)
    if kind <= 2:
        lines[at] = lines[at].split("=")[0] + "= " + str(rng.choice(NUMBERS))
    elif kind == 3:
        lines[at] = rng.choice(["tensor_parallel_degre = 2", "degree = 3", "data_parallel_size = 4"])
    else:
        del lines[at]
    return "\n".join(lines)


def mutate_deepspeed(text, rng):
    config = json.loads(text)
    kind = rng.randrange(5)
    if kind <= 1:
        key = rng.choice(["train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"])
        config[key] = rng.choice(NUMBERS)
    elif kind == 2:
        config.pop(rng.choice(["train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps",
                               "zero_optimization"]), None)
    elif kind == 3:
        key, value = rng.choice([("stge", 1), ("stage", 4), ("stage", "two"), ("stage", 2), ("overlap_comm", "yes"),
                                 ("reduce_bucket_size", 5e8), ("reduce_bucket_size", "big"), ("stage3_prefetch", 1),
                                 ("contiguous_gradients", 3), ("sub_group_size", 1e9), ("stage", 0), ("offload_optimizer", {"device": "cpu"}),
                                 ("offload_optimizer", {"device": "cpu", "ratio": 0.5}),
                                 ("offload_param", {"device": "cpu"}), ("offload_param", {"devise": "cpu"}),
                                 ("cpu_offload", True)])
        config.setdefault("zero_optimization", {})[key] = value
    else:
        section, value = rng.choice([("fp16", {"enabled": True}), ("bf16", {"enabled": True, "loss_scale": 0}),
                                     ("fp16", {"enabled": False}), ("bf16", {"enable": True}),
                                     ("tensor_parallel", {"autotp_size": 2}), ("tensor_parallel", {"tp": 2}),
                                     ("sequence_parallel_size", 3), ("sequence_parallel_size", 2),
                                     ("gradient_clipping", 1.0), ("unknown_key", 1)])
        config[section] = value
    return json.dumps(config)


MUTATIONS = {"megatron": mutate_megatron, "torchtitan": mutate_torchtitan, "deepspeed": mutate_deepspeed}


# --- both, side by side -----------------------------------------------------------------------------

def ours(shardplan, runtime, text, cluster, model, length, folder):
    """accept, refuse or unplanned (no plan can say it, the parser is not contradicted), and the reason."""
    kind, ending = KINDS[runtime]
    path = os.path.join(folder, "case" + ending)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    words = [shardplan, "check", "--config", path, "--config-kind", kind, "--cluster", cluster]
    if runtime == "deepspeed":
        words += ["--model", model, "--set", "seq_length=%d" % length]
    status, _, errors = run(*words)
    first = next((line for line in errors.split("\n") if "error: " in line), "")
    return {0: "accept", 1: "refuse"}.get(status, "unplanned"), first.split("error: ")[-1][:140]


def planned(shardplan, runtime, folder):
    for model in MODELS[runtime]:
        for cluster, nodes, moved in [(*where, "none") for where in CLUSTERS] + [("dgx-h100", 2, MOVED[runtime])]:
            length = 1024 if model.startswith("gpt2") else 2048 if model.startswith("gpt3") else 4096
            path = os.path.join(folder, "plan.json")
            where = "%s:%d" % (cluster, nodes)
            status, _, _ = run(shardplan, "plan", "--model", model, "--cluster", where, "--global-batch-size", "256",
                               "--seq-length", str(length), "--runtime", PLANNED_FOR.get(runtime, runtime), "--offload", moved, "-o",
                               path)
            if status != 0:
                continue
            status, text, errors = run(shardplan, "export", path, "--to", runtime)
            if status != 0:
                print("NOT EXPORTED %s on %s: %s" % (model, where, errors.strip().split("\n")[0]))
                continue
            yield model, where, 8 * nodes, length, text


def main():
    runtime, shardplan = sys.argv[1], os.path.abspath(sys.argv[2])
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    if "ORACLES" not in os.environ or SOURCES[runtime] not in os.environ:
        print("SKIP: ORACLES and %s name what is compared with" % SOURCES[runtime])
        return 77
    answer = parser_of(runtime)
    rng = random.Random(7)
    tally = {}
    with tempfile.TemporaryDirectory() as folder:
        cases = list(planned(shardplan, runtime, folder))
        accepted = 0
        for model, where, world, length, text in cases:
            good, reason = answer(text, world)
            accepted += good
            if not good:
                print("EXPORT REFUSED %s on %s: %s" % (model, where, reason))
        print("%d of %d exports accepted by the parser" % (accepted, len(cases)))
        for _ in range(count if runtime in KINDS else 0):
            model, where, world, length, text = rng.choice(cases)
            changed = MUTATIONS[runtime](text, rng)
            good, reason = answer(changed, world)
            mine, why = ours(shardplan, runtime, changed, where, model, length, folder)
            pair = ("accept" if good else "refuse", mine)
            tally[pair] = tally.get(pair, 0) + 1
            if pair[0] != mine:
                print("parser %s (%s) | shardplan %s (%s)" % (pair[0], reason, mine, why))
    for pair in sorted(tally):
        print("parser %-7s shardplan %-10s %d" % (pair[0], pair[1], tally[pair]))
    agree = tally.get(("accept", "accept"), 0) + tally.get(("refuse", "refuse"), 0)
    if runtime in KINDS:
        print("%d of %d agree" % (agree, count))
    return 1 if tally.get(("refuse", "accept"), 0) > 0 or accepted < len(cases) else 0


if __name__ == "__main__":
    sys.exit(main())
