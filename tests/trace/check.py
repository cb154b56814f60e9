"""Traces against the rules of the Chrome trace format: what a viewer would misread is a fault.

Rules: "Trace Event Format" (Google, 2016) and Perfetto's importer. Complete events have a time and a
duration, not negative; those of one thread nest or lie apart. Counters hold finite numbers.
Processes and threads that appear are named. An arrow has one tail and one head, which lie in
complete events of their threads, the head not before the tail. Prints TAP.
"""
import json
import os
import subprocess
import sys
import tempfile
from bisect import bisect_right
from collections import defaultdict

SLACK_US = 2e-6  # a picosecond each way

CASES = {
    "405b on 16384": "--model llama-3.1-405b --cluster dgx-h100:2048 --global-batch-size 2048 "
    "--seq-length 8192 --runtime megatron --tp 8 --pp 16 --dp 128 --cp 1 --vpp 1 "
    "--micro-batch-size 1 --sequence-parallel --zero 1 --recompute none --schedule 1f1b",
    "pairs": "--model toy-4l --cluster dgx-h100:1 --global-batch-size 64 --seq-length 512 --tp 1 "
    "--pp 2 --dp 2 --spares 4 --schedule dualpipe-v --micro-batch-size 4 --zero 0 "
    "--recompute none",
    "every rank": "--model toy-4l --cluster dgx-h100:1 --global-batch-size 16 --seq-length 512 "
    "--tp 2 --pp 2 --dp 2 --schedule 1f1b --micro-batch-size 2 --zero 1 --recompute none",
}
SIMULATED = {"every rank": ["--unfold", "messages"]}


def is_time(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e18


def nests(spans):
    """Faults of one thread's spans: each ends before the next begins, or holds it."""
    open_ends = []
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        while open_ends and open_ends[-1] <= start + SLACK_US:
            open_ends.pop()
        if open_ends and end > open_ends[-1] + SLACK_US:
            return "a span from %r to %r ends after the one around it, at %r" % (
                start, end, open_ends[-1])
        open_ends.append(end)
    return None


def holds(spans, at):
    """Does some span of the thread, sorted by start, cover the instant?"""
    place = bisect_right(spans, (at + SLACK_US, float("inf")))
    return any(spans[i][1] >= at - SLACK_US for i in range(max(0, place - 4), place))


def find_faults(trace):
    threads, named, arrows = defaultdict(list), set(), defaultdict(dict)
    counters = 0
    if not isinstance(trace.get("traceEvents"), list) or not trace["traceEvents"]:
        return ["no traceEvents"]
    for event in trace["traceEvents"]:
        kind, process, thread = event.get("ph"), event.get("pid"), event.get("tid")
        if not isinstance(event.get("name"), str) or not isinstance(process, int):
            return ["an event has no name or no process: %r" % event]
        if kind != "M" and not is_time(event.get("ts")):
            return ["an event has no time: %r" % event]
        if kind == "M":
            named.add((process, thread) if event["name"] == "thread_name" else process)
        elif kind == "X":
            if not is_time(event.get("dur")):
                return ["a span has no duration: %r" % event]
            threads[process, thread].append((event["ts"], event["ts"] + event["dur"]))
        elif kind == "C":
            counters += 1
            if not all(is_time(value) for value in event["args"].values()):
                return ["a counter is no number: %r" % event]
        elif kind in ("s", "f"):
            ends = arrows[event["cat"], event["id"]]
            if kind in ends:
                return ["an arrow has two ends of a kind: %r" % event]
            ends[kind] = event
        else:
            return ["an event of no known kind: %r" % event]
    faults = [] if counters else ["no counters"]
    for place, spans in threads.items():
        spans.sort()
        fault = nests(spans)
        faults += ["process %d thread %d: %s" % (*place, fault)] if fault else []
        if place not in named or place[0] not in named:
            faults.append("process %d thread %d has no name" % place)
    for key, ends in arrows.items():
        if set(ends) != {"s", "f"} or ends["f"]["ts"] < ends["s"]["ts"] - SLACK_US:
            faults.append("arrow %r lacks an end or goes back in time" % (key,))
        elif not all(holds(threads[e["pid"], e["tid"]], e["ts"]) for e in ends.values()):
            faults.append("arrow %r ends in no span" % (key,))
    return faults if arrows else faults + ["no arrows"]


def is_followed(events, index):
    """Would the span, half as long again, end inside another of its thread?"""
    own = events[index]
    end = own["ts"] + own["dur"]
    longer = own["ts"] + 1.5 * own["dur"]
    return any(event["ph"] == "X" and event["pid"] == own["pid"] and event["tid"] == own["tid"]
               and end <= event["ts"] < longer < event["ts"] + event["dur"] for event in events)


def damages(trace):
    """Copies of a good trace, each with one rule broken."""
    events = trace["traceEvents"]
    spans = [i for i, event in enumerate(events) if event["ph"] == "X" and event["dur"] > 1]
    middle = next(i for i in spans[len(spans) // 2:] + spans if is_followed(events, i))

    def with_event(index, **keys):
        return {"traceEvents": events[:index] + [{**events[index], **keys}] + events[index + 1:]}

    for key, value in (("dur", -1), ("dur", 1.5 * events[middle]["dur"]), ("ts", "soon"),
                       ("tid", 99)):
        yield with_event(middle, **{key: value})
    head = next(i for i, event in enumerate(events) if event["ph"] == "f")
    yield {"traceEvents": events[:head] + events[head + 1:]}
    yield with_event(head, ts=1e9)
    counter = next(i for i, event in enumerate(events) if event["ph"] == "C")
    yield with_event(counter, args={"bytes": None})


def run_case(shardplan, flags, more, folder):
    plan, trace = os.path.join(folder, "plan.json"), os.path.join(folder, "trace.json")
    for words in (["plan", *flags.split(), "-o", plan],
                  ["simulate", plan, *more, "--trace", trace]):
        answer = subprocess.run([shardplan, *words], capture_output=True, text=True, check=False)
        if answer.returncode != 0:
            return [answer.stderr.strip()]
    with open(trace, encoding="utf-8") as file:
        good = json.load(file)
    faults = find_faults(good)
    return faults + ["damage %d was not seen" % number for number, bad in enumerate(damages(good))
                     if not find_faults(bad)]


def main():
    shardplan = os.path.realpath(sys.argv[1])
    print("1..%d" % len(CASES))
    for number, (name, flags) in enumerate(CASES.items(), 1):
        with tempfile.TemporaryDirectory() as folder:
            faults = run_case(shardplan, flags, SIMULATED.get(name, []), folder)
        print("%s %d - %s" % ("not ok" if faults else "ok", number, name))
        for fault in faults[:5]:
            print("# " + fault.replace("\n", "\n# "))


main()
