"""One process of a mesh: XLA of jaxlib, driven through the standard streams.

The first argument is the folder that has jaxlib; the second describes the mesh in JSON: {"process", "processes",
"coordinator", "connect_seconds", "heartbeat_seconds", "processors", "devices"}; it has one device, or, alone, as many as
it is to compile for.

A message is two lengths (64 bits, little-endian), a head in JSON and a body of bytes. Requests, each of which may name
tensors and modules to "drop":

  {"agree": text}                          whether all processes say the same: {} or {"differ": [text of each process]}, of
                                           which that of a process that has left is null
  {"compile": id} with a module as body    {"bytes": what the module takes, "collectives": [[name, bytes]..]}
  {"put": id, "type", "shape", "cut"}      with this process's part as body; "shape" is that of the whole, {}
  {"run": module, "arguments", "results"}  with each result as for "put": [id, type, shape, cut], {}
  {"get": id}                              {}, with this process's part as body
  {"leave": true}                          no answer: the process leaves when all do

The first answer, without a request, is {"version": of jaxlib} once the process is connected; an answer {"error": text} ends the process.
"""

import json
import os
import queue
import re
import struct
import sys
import threading

sys.path.insert(0, sys.argv[1])
MESH = json.loads(sys.argv[2])
PROCESS, PROCESSES = MESH["process"], MESH["processes"]
if MESH["processors"] and hasattr(os, "sched_setaffinity"):
    # Before jaxlib is loaded, which makes a thread for each.
    os.sched_setaffinity(0, MESH["processors"])

import numpy as np  # noqa: E402
from jaxlib import _jax, version, xla_client  # noqa: E402

# How long processes wait for one another when they leave, in seconds: none of them has anything else to do.
LEAVE_SECONDS = 3600

# How long one process waits for what another one says before it looks whether that has left.
LOOK_MILLISECONDS = 2000

# What answers go to; other output must not get between them.
ANSWERS = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)


def write(head, body=b""):
    head = json.dumps(head).encode()
    ANSWERS.write(struct.pack("<QQ", len(head), len(body)) + head)
    ANSWERS.write(body)
    ANSWERS.flush()


def requests(into):
    """Reads requests as they come. Whoever sends them may end while this process waits for others: then it ends, too."""
    stream = sys.stdin.buffer
    while True:
        lengths = stream.read(16)
        if len(lengths) < 16:
            os._exit(1)
        head, body = struct.unpack("<QQ", lengths)
        head = json.loads(stream.read(head))
        into.put((head, stream.read(body)))
        if "leave" in head:
            return


class Aval:
    """What an array is."""

    weak_type = False

    def __init__(self, shape, dtype):
        self.shape, self.dtype, self.ndim = tuple(shape), dtype, len(shape)


class Cut(_jax.Sharding):
    """An array cut along an axis over all devices, or whole on each."""

    memory_kind = None

    def __init__(self, devices, axis):
        self._internal_device_list = _jax.DeviceList(tuple(devices))
        self.device_set, self.num_devices, self.axis = set(devices), len(devices), axis
        self.is_fully_addressable, self.is_fully_replicated = len(devices) == 1, axis is None

    def _to_xla_hlo_sharding(self, rank):
        if self.axis is None:
            return xla_client.HloSharding.replicate()
        return xla_client.HloSharding.iota_tile([self.num_devices if k == self.axis else 1 for k in range(rank)])


class Process:
    def __init__(self):
        self.agreements, self.modules, self.tensors = 0, {}, {}
        self.service = self.distributed = collectives = None
        if PROCESSES > 1:
            port = MESH["coordinator"].rsplit(":", 1)[1]
            seconds = {"heartbeat_timeout": MESH["heartbeat_seconds"], "shutdown_timeout": LEAVE_SECONDS}
            if PROCESS == 0:
                connect = MESH["connect_seconds"]
                self.service = _jax.get_distributed_runtime_service(
                    f"[::]:{port}", PROCESSES, cluster_register_timeout=connect, **seconds
                )
            self.distributed = _jax.get_distributed_runtime_client(
                MESH["coordinator"],
                PROCESS,
                init_timeout=MESH["connect_seconds"],
                shutdown_on_destruction=False,
                use_compression=True,
                **seconds,
            )
            self.distributed.connect()
            collectives = _jax.make_gloo_tcp_collectives(distributed_client=self.distributed)
        self.client = xla_client.make_cpu_client(
            distributed_client=self.distributed,
            node_id=PROCESS,
            num_nodes=PROCESSES,
            collectives=collectives,
            num_devices=MESH["devices"],
        )
        self.devices = self.client.devices()

    def agree(self, text):
        """Whether all processes say the same; each looks at what all others say, so that all know."""
        if self.distributed is None:
            return {}
        name = f"acc/{self.agreements}/"
        self.distributed.key_value_set(f"{name}{PROCESS}", text)
        said = [self.said(f"{name}{process}", process) for process in range(PROCESSES)]
        if self.agreements >= 2:
            # All have read what was said two agreements ago.
            self.distributed.key_value_delete(f"acc/{self.agreements - 2}/{PROCESS}")
        self.agreements += 1
        return {} if all(s == text for s in said) else {"differ": said}

    def said(self, name, process):
        """What a process says. One that takes its time is waited for; one that ends without a word ends this one, too."""
        while True:
            try:
                return self.distributed.blocking_key_value_get(name, LOOK_MILLISECONDS)
            except _jax.JaxRuntimeError as e:
                if "DEADLINE_EXCEEDED" not in str(e):
                    raise
            if f"acc/left/{process}" in [key for key, _ in self.distributed.key_value_dir_get("acc/left/")]:
                return None

    def leave(self):
        """Leaves when all do: the first process is where they meet, and none may seem to be dead before."""
        if self.distributed is None:
            return
        self.distributed.key_value_set(f"acc/left/{PROCESS}", "")
        for process in range(PROCESSES):
            self.distributed.blocking_key_value_get(f"acc/left/{process}", LEAVE_SECONDS * 1000)
        self.distributed.shutdown()

    def compile(self, id, text):
        options = xla_client.CompileOptions()
        build = options.executable_build_options
        options.num_replicas = build.num_replicas = 1
        options.num_partitions = build.num_partitions = len(self.devices)
        ids = np.array([d.id for d in self.devices]).reshape(1, len(self.devices))
        options.device_assignment = build.device_assignment = xla_client.DeviceAssignment.create(ids)
        build.use_spmd_partitioning = len(self.devices) > 1
        build.use_shardy_partitioner = True
        module = self.client.compile_and_load(text.decode(), _jax.DeviceList(tuple(self.devices)), options)
        self.modules[id] = module
        memory = module.get_compiled_memory_stats()
        taken = memory.argument_size_in_bytes + memory.output_size_in_bytes + memory.temp_size_in_bytes
        return {"bytes": taken, "collectives": collectives(module)}

    def put(self, id, dtype, shape, cut, body):
        dtype, part = np.dtype(dtype), list(shape)
        if cut is not None:
            part[cut] //= PROCESSES
        elements = np.frombuffer(body, dtype).reshape(part)
        self.tensors[id] = self.tensor(elements, dtype, shape, cut, copied=True)
        return {}

    def tensor(self, part, dtype, shape, cut, copied=False):
        """A tensor of all processes, of the part that is here."""
        return _jax.batched_device_put(
            Aval(shape, np.dtype(dtype)),
            Cut(self.devices, cut),
            [part],
            self.client.local_devices(),
            True,
            copied,
            _jax.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL,
            True,
        )

    def run(self, module, arguments, results):
        made = self.modules[module].execute_sharded([self.tensors[a] for a in arguments])
        # Of each result the one part that is here.
        for (id, dtype, shape, cut), parts in zip(results, made.disassemble_into_single_device_arrays()):
            parts[0].block_until_ready()
            self.tensors[id] = self.tensor(parts[0], dtype, shape, cut)
        return {}


def collectives(module):
    """The collectives of a compiled module, each with the bytes of its result on a process."""
    sizes = {"pred": 1, "s8": 1, "u8": 1, "s16": 2, "u16": 2, "f16": 2, "s32": 4, "u32": 4, "f32": 4}
    sizes.update({"s64": 8, "u64": 8, "f64": 8})
    names = "all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter|collective-broadcast"
    found = []
    for types, name in re.findall(rf"= (\(?[^=]*?) ({names})(?:-start)?\(", module.hlo_modules()[0].to_string()):
        size = 0
        for ty, extents in re.findall(r"(\w+)\[([\d,]*)\]", types):
            size += sizes.get(ty, 0) * int(np.prod([int(n) for n in extents.split(",") if n] or [1]))
        found.append([name, size])
    return found


def answer(process, head, body):
    for id in head.get("drop", []):
        process.tensors.pop(id, None)
        process.modules.pop(id, None)
    if "agree" in head:
        return process.agree(head["agree"]), b""
    if "compile" in head:
        return process.compile(head["compile"], body), b""
    if "put" in head:
        return process.put(head["put"], head["type"], head["shape"], head["cut"], body), b""
    if "run" in head:
        return process.run(head["run"], head["arguments"], head["results"]), b""
    part, _ = process.tensors[head["get"]]._arrays[0]._single_device_array_to_np_array_did_copy()
    return {}, np.ascontiguousarray(part).tobytes()


def main():
    incoming = queue.SimpleQueue()
    threading.Thread(target=requests, args=(incoming,), daemon=True).start()
    try:
        process = Process()
        write({"version": version.__version__})
        while True:
            head, body = incoming.get()
            if "leave" in head:
                ANSWERS.close()
                process.leave()
                os._exit(0)
            write(*answer(process, head, body))
    except Exception as e:
        write({"error": f"{type(e).__name__}: {e}"})
        # The others must not wait for this process.
        os._exit(1)


main()
