"""Queries of a GPU: its properties, rates of copies, and the resources of a multiprocessor that kernels use.
limit: 300"""
import json
import os
import re

from command import equal, finish, run, skip, test, verified, within

listed = run("--list-devices", "-v", records=False).out
GPUS = [dict(re.findall(r"^ {8}(\S.*?)  +(\S.*)$", part, re.M)) for part in re.split(r"^cuda \d.*$", listed, flags=re.M)[1:]]
SCHEMA = json.load(open(os.path.join(os.path.dirname(__file__), "..", "docs", "record.schema.json")))["$defs"]["run"]["properties"]

if not GPUS:
    reason = re.search(r"^cuda +none: (.*)$", listed, re.M).group(1)
    with test("without a GPU the list of devices and the probe say why nothing is told of one"):
        result = run("-d", "cpu", "--probe", "-r", 1, "lap2d5:9")
        verified(result, "--probe", 1)
        within(result.out, f"copies     between host and device: not measured: {reason}")
        for group in ("copies", "launch"):
            equal(set(result.records[0][group]), set(SCHEMA[group]["properties"]), group)
            equal(set(result.records[0][group].values()), {None}, group)
    skip("properties of GPUs, copies to them and launches", reason)
    finish()


def number(text):
    return float(text.split()[0])


with test("--list-devices -v has some forty properties of each GPU, which agree with each other"):
    plain = run("--list-devices", records=False).out
    equal(len(re.findall(r"^ {8}\S", plain, re.M)), 0, "properties without -v")
    equal(len(GPUS), len(re.findall(r"^cuda \d", plain, re.M)), "GPUs")
    equal(listed.splitlines()[-1], "Result = PASS")
    equal("Result" in plain, False)
    for gpu, line in zip(GPUS, re.findall(r"^cuda \d.*$", listed, re.M)):
        assert len(gpu) >= 40, gpu
        within(line, f"{gpu['name']}, compute capability {gpu['compute capability']}, {gpu['multiprocessors']} multiprocessors")
        within(line, f"PCI {gpu['PCI domain:bus:device.function']}")
        equal(gpu["warp size"], "32 threads")
        equal(gpu["threads per block"], "1024")
        equal(number(gpu["threads per multiprocessor"]) % 32, 0)
        equal(gpu["block, at most"], "1024 x 1024 x 64")
        equal(gpu["grid, at most"], "2147483647 x 65535 x 65535")
        equal(gpu["constant memory"], "65536 bytes")
        assert number(gpu["shared memory per block"]) <= number(gpu["shared memory per block, opt-in"]) \
            <= number(gpu["shared memory per multiprocessor"]), gpu
        equal(number(gpu["registers per block"]) <= number(gpu["registers per multiprocessor"]), True, gpu)
        equal(gpu["unified addressing"], "yes")
        for name, sizes in (("1D", 1), ("2D", 2), ("3D", 3), ("1D x layers", 2), ("2D x layers", 3)):
            assert re.fullmatch(" x ".join([r"\d{4,}"] * sizes), gpu[f"texture in {name}, at most"]), gpu
        assert gpu["compute mode"] in ("default", "exclusive process"), gpu
        if gpu["memory clock"] != "unknown":
            expected = 2 * number(gpu["memory clock"]) * number(gpu["memory bus width"]) / 8 / 1e3
            assert abs(number(gpu["theoretical bandwidth"]) - expected) < 1e-3 * expected + 0.1, (gpu, expected)
        if gpu["FP32 cores per multiprocessor"] != "unknown":
            each, total = re.match(r"(\d+) \((\d+) in all\)$", gpu["FP32 cores per multiprocessor"]).groups()
            equal(int(each) * int(gpu["multiprocessors"]), int(total), gpu)

with test("--probe times copies between host and GPU, pinned and pageable, and within it, and prints what the record has"):
    result = run("-d", "cuda", "--probe", "-r", 1, "lap2d5:9")
    verified(result, "--probe", 1)
    copies = result.records[0]["copies"]
    equal(set(copies), set(SCHEMA["copies"]["properties"]))
    rates = {name: f"{rate / 1e9:.2f}" for name, rate in copies.items() if rate and rate > 1e7}
    equal(len(rates), 5, copies)
    found = re.findall(r"(?:from|to) (?:pinned|pageable) memory", result.out)
    equal(len(found), 4, result.out)
    within(result.out, f"host to device {rates['to_device_pinned_bytes_per_second']} GB/s from pinned memory, "
                       f"{rates['to_device_pageable_bytes_per_second']} from pageable")
    within(result.out, f"device to host {rates['from_device_pinned_bytes_per_second']} GB/s to pinned memory, "
                       f"{rates['from_device_pageable_bytes_per_second']} to pageable")
    within(result.out, f"device to device {rates['within_device_bytes_per_second']} GB/s")
    result = run("-d", "cuda", "-r", 1, "lap2d5:9")
    equal(set(result.records[0]["copies"].values()), {None}, "without --probe")
    result = run("-d", "cpu", "--probe", "-r", 1, "lap2d5:9")
    within(result.out, "not measured: the run is on cores")
    equal(set(result.records[0]["copies"].values()), {None}, "on cores")


def launches(out):
    """{kernel: numbers in its row of the table of launches}"""
    table = out[out.index("registers    static  + dynamic"):]
    lines = re.findall(r"^ +\d+  (\w+) +(\d+) +(\d+) +(\d+|-) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) %$", table, re.M)
    names = ("blocks", "block_size", "subwarp", "registers", "static_shared_bytes", "dynamic_shared_bytes", "resident_blocks",
             "occupancy")
    return {line[0]: {n: None if v == "-" else int(v) for n, v in zip(names, line[1:])} for line in lines}


with test("--kernel all -v has a table of the launches, which the records have, and occupancy is what the GPU's limits make it"):
    result = run("-d", "cuda", "--kernel", "all", "-v", "-k", 8, "-r", 1, "--warmup", 0, "lap2d5:24")
    verified(result, "all")
    table = launches(result.out)
    ours = [r for r in result.records if not r["library"]["version"]]
    equal(sorted(table), sorted(r["run"]["kernel"] for r in ours))
    for r in ours:
        launch = dict(r["launch"])
        equal(set(launch), set(SCHEMA["launch"]["properties"]))
        used = launch["resident_blocks"] * launch["block_size"] / number(GPUS[0]["threads per multiprocessor"])
        assert 0 < used <= 1 and abs(launch["occupancy"] - used) < 1e-9, launch
        assert 0 < launch["registers"] * launch["block_size"] <= number(GPUS[0]["registers per block"]), launch
        launch["occupancy"] = round(100 * launch["occupancy"])
        assert abs(launch["occupancy"] - table[r["run"]["kernel"]]["occupancy"]) <= 1, launch
        launch["occupancy"] = table[r["run"]["kernel"]]["occupancy"]
        equal(launch, table[r["run"]["kernel"]], r["run"]["kernel"])
    within(result.out, "         launch: ")

baseline = " csr_vector_subwarp " in run("--list-kernels", records=False).out.replace("\n", " ")
if baseline:
    with test("a launch has the threads and the sub-warp that were asked for, and shared memory for each thread"):
        for block, lanes in ((64, 2), (512, 8)):
            shape = ("--block-size", block, "--subwarp", lanes, "-k", 8, "-r", 1, "lap2d5:24")
            launch = run("-d", "cuda", "--kernel", "csr_vector_subwarp", *shape).records[0]["launch"]
            equal((launch["block_size"], launch["subwarp"]), (block, lanes), launch)
            equal(launch["blocks"], 24 * 24 * 8 * lanes // block, launch)
            equal(launch["dynamic_shared_bytes"], 8 * block, launch)
            launch = run("-d", "cuda", "--kernel", "csr_vector_subwarp_shuffle", *shape).records[0]["launch"]
            equal(launch["dynamic_shared_bytes"], 0, launch)
else:
    skip("a launch has the threads that were asked for", "the build is without the baseline (BASELINE=0)")

finish()
