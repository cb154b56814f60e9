#!/usr/bin/env python3
"""Every JSON file that is shipped, and every answer that is written as one, fits its schema in docs/schemas.

usage: check.py SHARDPLAN ROOT

A file says by its "format" which schema is its own. Prints TAP; skipped where Python's jsonschema
(Debian: python3-jsonschema) is not there.
"""
import json
import os
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("1..0 # SKIP python3-jsonschema is not installed")
    sys.exit(0)

SHIPPED = ["models/zoo", "topologies/accelerators", "topologies/zoo", "topologies", "prices", "prices/runtimes",
           "imports/keys", "plan/examples"]
# Commands that write a file of the project's own kinds, or an answer that holds one.
WRITTEN = [
    ("plan", "plan --model toy-moe-4l --cluster dgx-h100:1 --global-batch-size 16 --seq-length 512 -o {}"),
    ("plan", "plan --model llama-2-7b --cluster rtx4090-4 --global-batch-size 16 --seq-length 512 --task lora:8 -o {}"),
    ("model", "show model qwen3-vl-8b --json > {}"),
    ("model", "show model deepseek-v3 --json > {}"),
    ("model", "show model dlrm-criteo --json > {}"),
    ("cluster", "show cluster tpu-v5e:4x8:2 --json > {}"),
    ("cluster", "show cluster dgx-a100:2,dgx-v100:2 --fabric ib-edr --json > {}"),
]


def refuse_twins(pairs):
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), "a key stands twice"
    return dict(pairs)


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file, object_pairs_hook=refuse_twins)


class Schemas:
    def __init__(self, root):
        self.folder = os.path.join(root, "docs/schemas")
        self.validators = {}
        for name in sorted(os.listdir(self.folder)):
            schema = load(os.path.join(self.folder, name))
            kind = jsonschema.validators.validator_for(schema)
            kind.check_schema(schema)
            resolver = jsonschema.RefResolver("file://" + self.folder + "/" + name, schema)
            self.validators[name.split(".")[0]] = kind(schema, resolver=resolver)

    def fault(self, content, expected=None):
        """None, or what is wrong and where."""
        kind = content.get("format", "").split("/")
        if kind[0] != "shardplan" or (expected is not None and kind[1] != expected):
            return "its format is '%s'" % content.get("format")
        if kind[1] not in self.validators:
            return "there is no schema of '%s'" % kind[1]
        for error in self.validators[kind[1]].iter_errors(content):
            return "%s: %s" % ("/".join(map(str, error.absolute_path)), error.message[:200])
        return None


def shipped(root):
    for folder in SHIPPED:
        for name in sorted(os.listdir(os.path.join(root, folder))):
            if name.endswith(".json"):
                yield os.path.join(folder, name)


def main():
    program, root = os.path.abspath(sys.argv[1]), sys.argv[2]
    schemas = Schemas(root)
    number = 0

    def tell(name, fault):
        nonlocal number
        number += 1
        print("%sok %d - %s" % ("" if fault is None else "not ", number, name))
        if fault is not None:
            print("# " + fault)

    for path in shipped(root):
        tell(path, schemas.fault(load(os.path.join(root, path))))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "answer.json")
        for kind, words in WRITTEN:
            subprocess.run("'%s' %s" % (program, words.format(path)), shell=True, check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            content = load(path)
            tell(words, schemas.fault(content if "format" in content else content[kind], kind))
    # A schema that takes everything says nothing.
    for kind, validator in sorted(schemas.validators.items()):
        nonsense = {"format": "shardplan/%s/1" % kind, "no such key": 1}
        tell("%s refuses an unknown key" % kind, None if list(validator.iter_errors(nonsense)) else "taken")
    print("1..%d" % number)


main()
