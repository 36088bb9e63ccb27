# SPDX-License-Identifier: Apache-2.0
"""Calls the program snug through its JSON interface."""
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from ._results import Estimate, MaxBatch, Plan, estimate_of, max_batch_of, plan_of


class Error(Exception):
    """The program's message: what is wrong, where, and what to do."""


def binary() -> str:
    """Returns the path of the program: from $SNUG_BINARY, from this package, or from PATH."""
    for path in _places():
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise Error("the program snug was not found; install the package again (pip install --force-reinstall snug), "
                "or set SNUG_BINARY to its path")


def _places() -> Iterator[str]:
    named = os.environ.get("SNUG_BINARY")
    if named:
        yield named
        return
    name = "snug" + (sysconfig.get_config_var("EXE") or "")
    yield os.path.join(sysconfig.get_path("scripts"), name)
    yield os.path.join(sysconfig.get_path("scripts", scheme=_user_scheme()), name)
    package = os.path.dirname(os.path.abspath(__file__))
    yield os.path.join(os.path.dirname(package), "bin", name)  # from pip install --target
    found = shutil.which("snug")
    if found:
        yield found


def _user_scheme() -> str:
    if sys.version_info >= (3, 10):
        return sysconfig.get_preferred_scheme("user")
    if os.name == "nt":
        return "nt_user"
    return "osx_framework_user" if sys.platform == "darwin" and sysconfig.get_config_var("PYTHONFRAMEWORK") else "posix_user"


def estimate(setup: Optional[Mapping[str, Any]] = None, *, gpu: Optional[str] = None,
             gpu_memory: Union[str, int, float, None] = None, **fields: Any) -> Estimate:
    """Returns how much GPU memory a run takes.

    setup and fields describe the run, and fields override setup. model may be a name, a path or a config object. With gpu
    (a name such as "RTX-4090") or gpu_memory (24, "24GiB"), the result says whether the run fits.
    """
    return estimate_of(_ask(["estimate"], setup, fields, gpu, gpu_memory))


def max_batch(setup: Optional[Mapping[str, Any]] = None, *, gpu: Optional[str] = None,
              gpu_memory: Union[str, int, float, None] = None, **fields: Any) -> MaxBatch:
    """Returns the largest batch that fits a card, or the setup's limit."""
    return max_batch_of(_ask(["max-batch"], setup, fields, gpu, gpu_memory))


def optimize(setup: Optional[Mapping[str, Any]] = None, *, gpu: Optional[str] = None,
             gpu_memory: Union[str, int, float, None] = None, target_effective_batch: Optional[int] = None,
             lock: Sequence[str] = (), allow: Sequence[str] = (), margin: Optional[float] = None,
             goal: Optional[str] = None, **fields: Any) -> Plan:
    """Returns the settings that train fastest on a card, with their memory and speed.

    Settings in lock stay as they are; those in allow may change even though this affects training.
    """
    args = ["optimize"]
    if target_effective_batch is not None:
        args += ["--target-effective-batch", str(target_effective_batch)]
    if lock:
        args += ["--lock", ",".join(_names("lock", lock))]
    if allow:
        args += ["--allow", ",".join(_names("allow", allow))]
    if margin is not None:
        args += ["--margin", repr(float(margin))]
    if goal is not None:
        args += ["--goal", goal]
    return plan_of(_ask(args, setup, fields, gpu, gpu_memory))


def _names(of: str, names: Sequence[str]) -> Sequence[str]:
    if isinstance(names, str):
        raise Error("%s is the string %r; pass a list of names" % (of, names))
    return names


def _ask(args: List[str], setup: Optional[Mapping[str, Any]], fields: Mapping[str, Any], gpu: Optional[str],
         gpu_memory: Union[str, int, float, None]) -> Dict[str, Any]:
    if gpu is not None:
        args = args + ["--gpu", gpu]
    if gpu_memory is not None:
        args = args + ["--gpu-memory", str(gpu_memory)]
    question = _question(setup, fields)
    done = subprocess.run([binary(), *args, "--setup", "-", "--json"], input=question, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8")
    return _answer(done)


def _question(setup: Optional[Mapping[str, Any]], fields: Mapping[str, Any]) -> str:
    run = dict(setup or {})
    run.update(fields)
    if "model" in run:
        run["model"] = _model(run["model"])
    try:
        return json.dumps(run) + "\n"
    except (TypeError, ValueError) as err:
        raise Error("the setup cannot be written as JSON: %s" % err) from None


def _model(model: Any) -> Any:
    """Returns the model as a setup field, given a name, a path, or a transformers config object."""
    if isinstance(model, (str, os.PathLike)):
        name = os.fspath(model)
        if name.endswith(".snug"):
            return {"profile": name}
        if os.path.exists(name) or name.endswith(".json"):
            return {"config": name}
        return {"name": name}
    if callable(getattr(model, "to_dict", None)):
        return {"config": json.loads(json.dumps(model.to_dict(), default=str))}
    return model


def _answer(done: "subprocess.CompletedProcess[str]") -> Dict[str, Any]:
    lines = done.stdout.splitlines()
    try:
        answer = json.loads(lines[0]) if lines else {}
    except ValueError:
        answer = {}
    if not isinstance(answer, dict):
        answer = {}
    if "error" in answer:
        raise Error(answer["error"])
    if done.returncode not in (0, 1) or not answer:
        said = done.stderr.strip().splitlines()
        raise Error(said[-1][len("snug: "):] if said and said[-1].startswith("snug: ") else
                    "snug exited with code %d and printed no answer%s" % (done.returncode, ": " + said[-1] if said else ""))
    return answer
