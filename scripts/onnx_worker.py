"""Runs ONNX models in onnxruntime for `acc check-onnx`: requests and answers through the standard streams.

A message is two lengths (64 bits, little-endian), a head in JSON and a body of bytes. Requests: {"load": id} with a
model as body, {"forget": true}, {"run": id, "seconds": s, "inputs": [{"name", "type", "shape"}..]} with the inputs'
bytes one after the other. Answers: {} or {"outputs": [{"name", "shape", "bytes"}..]} with their bytes, {"stopped": true}
if a run takes longer than it may, or {"error": text}.
"""

import json
import struct
import sys
import threading

import numpy as np
import onnxruntime as ort

ort.set_default_logger_severity(4)


def read(stream):
    lengths = stream.read(16)
    if len(lengths) < 16:
        return None
    head, body = struct.unpack("<QQ", lengths)
    return json.loads(stream.read(head)), stream.read(body)


def write(stream, head, body=b""):
    head = json.dumps(head).encode()
    stream.write(struct.pack("<QQ", len(head), len(body)) + head + body)
    stream.flush()


def load(model):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    # What the model says is checked, not what an optimiser makes of it.
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def run(session, inputs, seconds, body):
    feed, at = {}, 0
    wanted = {i.name for i in session.get_inputs()}
    for i in inputs:
        dtype = np.dtype(i["type"])
        size = int(np.prod(i["shape"], dtype=np.int64)) * dtype.itemsize
        value = np.frombuffer(body[at : at + size], dtype).reshape(i["shape"])
        at += size
        if i["name"] in wanted:
            feed[i["name"]] = value
    names = [o.name for o in session.get_outputs()]
    options = ort.RunOptions()
    timer = threading.Timer(seconds, lambda: setattr(options, "terminate", True))
    timer.start()
    try:
        values = session.run(names, feed, options)
    except Exception:
        if options.terminate:
            return ({"stopped": True},)
        raise
    finally:
        timer.cancel()
    parts = [np.ascontiguousarray(v).tobytes() for v in values]
    heads = [{"name": n, "shape": list(np.shape(v)), "bytes": len(p)} for n, v, p in zip(names, values, parts)]
    return {"outputs": heads}, b"".join(parts)


def main():
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    sessions = {}
    while (message := read(source)) is not None:
        head, body = message
        try:
            if "load" in head:
                sessions[head["load"]] = load(body)
                write(sink, {})
            elif "forget" in head:
                sessions.clear()
                write(sink, {})
            else:
                write(sink, *run(sessions[head["run"]], head["inputs"], head["seconds"], body))
        except Exception as e:
            write(sink, {"error": f"{type(e).__name__}: {e}"})


if __name__ == "__main__":
    main()
