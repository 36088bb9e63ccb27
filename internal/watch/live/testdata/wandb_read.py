"""Prints the history of an offline run, one JSON object per line, with wandb's own reader."""
import json
import sys

from wandb.proto import wandb_internal_pb2
from wandb.sdk.internal.datastore import DataStore

store = DataStore()
store.open_for_scan(sys.argv[1])
while True:
    data = store.scan_data()
    if data is None:
        break
    record = wandb_internal_pb2.Record()
    record.ParseFromString(data)
    if record.WhichOneof("record_type") == "history":
        print(json.dumps({i.key or "/".join(i.nested_key): json.loads(i.value_json) for i in record.history.item}))
