#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds a wheel with the program snug for each platform, using only Go and Python's standard library.

    python3 python/build_wheel.py                      all platforms, into dist/
    python3 python/build_wheel.py linux-amd64 -o out   one of them

The program is cross-compiled without cgo. The build is reproducible: the same commit and the same Go give the same bytes.
Times are fixed, names are sorted, and local paths are removed.
"""
import argparse
import base64
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from typing import Dict, List, Tuple

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)


@dataclass(frozen=True)
class Platform:
    """A platform that snug is built for, and its wheel tags."""

    goos: str
    goarch: str
    tags: str
    go_tags: str = ""  # static: needs no dynamic linker, which musl lacks; uses nvidia-smi instead of NVML


# Go 1.26 needs macOS 12. Without cgo the program calls glibc only to open NVML, with functions that exist in 2.17.
PLATFORMS: Dict[str, Platform] = {
    "linux-amd64": Platform("linux", "amd64", "manylinux_2_17_x86_64.manylinux2014_x86_64"),
    "linux-arm64": Platform("linux", "arm64", "manylinux_2_17_aarch64.manylinux2014_aarch64"),
    "musl-amd64": Platform("linux", "amd64", "musllinux_1_1_x86_64", "static"),
    "musl-arm64": Platform("linux", "arm64", "musllinux_1_1_aarch64", "static"),
    "darwin-arm64": Platform("darwin", "arm64", "macosx_12_0_arm64"),
    "darwin-amd64": Platform("darwin", "amd64", "macosx_12_0_x86_64"),
    "windows-amd64": Platform("windows", "amd64", "win_amd64"),
}

Entry = Tuple[str, bytes, bool]  # path, contents, whether it is executable


def source_version() -> str:
    """Returns the version in the program's source."""
    with open(os.path.join(ROOT, "cmd/snug/main.go"), encoding="utf-8") as f:
        found = re.search(r'^var version = "([^"]+)"$', f.read(), re.M)
    if found is None:
        sys.exit("build_wheel: cmd/snug/main.go has no version")
    return found.group(1)


def python_version(version: str) -> str:
    """Returns a version in PEP 440 form: 0.5.0-dev is 0.5.0.dev0, 1.0.0-rc.2 is 1.0.0rc2."""
    found = re.match(r"^(\d+\.\d+\.\d+)(?:-(dev|rc)\.?(\d*))?$", version)
    if found is None:
        sys.exit("build_wheel: the version is %r; write 1.2.3, 1.2.3-rc.1 or 1.2.3-dev" % version)
    base, kind, n = found.groups()
    if kind is None:
        return base
    return "%s%s%s%s" % (base, "." if kind == "dev" else "", kind, n or "0")


def git_commit() -> str:
    """Returns the source's commit, or "" if there is none or files differ from it."""
    def ask(*args: str) -> str:
        try:
            return subprocess.run(["git", *args], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8").stdout.strip()
        except OSError:
            return ""
    return "" if ask("status", "--porcelain", "--untracked-files=no") else ask("rev-parse", "HEAD")


def build_program(p: Platform, version: str) -> bytes:
    """Returns the program for a platform."""
    env = dict(os.environ, CGO_ENABLED="0", GOOS=p.goos, GOARCH=p.goarch, GOFLAGS="")
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "snug")
        flags = "-s -w -buildid= -X main.version=%s -X main.commit=%s" % (version, git_commit())
        command = ["go", "build", "-trimpath", "-buildvcs=false", "-tags", p.go_tags, "-ldflags", flags, "-o", out, "./cmd/snug"]
        if subprocess.run(command, cwd=ROOT, env=env).returncode != 0:
            sys.exit("build_wheel: go could not build snug for %s/%s" % (p.goos, p.goarch))
        with open(out, "rb") as f:
            return f.read()


def module_files() -> List[Entry]:
    """Returns the files of the Python module."""
    folder = os.path.join(HERE, "snug")
    out: List[Entry] = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".py") or name == "py.typed":
            with open(os.path.join(folder, name), "rb") as f:
                out.append(("snug/" + name, f.read(), False))
    return out


def metadata(version: str) -> bytes:
    with open(os.path.join(HERE, "README.md"), encoding="utf-8") as f:
        about = f.read()
    return ("Metadata-Version: 2.4\nName: snug\nVersion: %s\nSummary: GPU memory of PyTorch training runs: estimates, plans, diagnoses\n"
            "License-Expression: Apache-2.0\nLicense-File: LICENSE\nRequires-Python: >=3.9\n"
            "Description-Content-Type: text/markdown\n\n%s" % (version, about)).encode()


def wheel_file(p: Platform) -> bytes:
    tags = "".join("Tag: py3-none-%s\n" % tag for tag in p.tags.split("."))
    return ("Wheel-Version: 1.0\nGenerator: snug build_wheel\nRoot-Is-Purelib: false\n" + tags).encode()


def entries(p: Platform, version: str, program: bytes) -> List[Entry]:
    """Returns everything in the wheel except RECORD."""
    info = "snug-%s.dist-info/" % version
    name = "snug.exe" if p.goos == "windows" else "snug"
    with open(os.path.join(ROOT, "LICENSE"), "rb") as f:
        license = f.read()
    files = module_files()
    files.append(("snug-%s.data/scripts/%s" % (version, name), program, True))
    files += [(info + "METADATA", metadata(version), False), (info + "WHEEL", wheel_file(p), False), (info + "licenses/LICENSE", license, False)]
    return sorted(files)


def with_record(files: List[Entry], version: str) -> List[Entry]:
    """Adds RECORD, the list of all files with their digests, as the last one."""
    path = "snug-%s.dist-info/RECORD" % version
    rows = []
    for name, data, _ in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append("%s,sha256=%s,%d\n" % (name, digest, len(data)))
    rows.append(path + ",,\n")
    return files + [(path, "".join(rows).encode(), False)]


def write_wheel(path: str, files: List[Entry]) -> None:
    part = path + ".part"
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        for name, data, executable in files:
            about = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            about.external_attr = (0o100755 if executable else 0o100644) << 16
            about.create_system = 3  # Unix, whatever the build system
            about.compress_type = zipfile.ZIP_DEFLATED
            z.writestr(about, data)
    os.replace(part, path)


def build(name: str, version: str, into: str) -> str:
    """Builds one wheel and returns its path."""
    p, v = PLATFORMS[name], python_version(version)
    files = with_record(entries(p, v, build_program(p, version)), v)
    path = os.path.join(into, "snug-%s-py3-none-%s.whl" % (v, p.tags))
    write_wheel(path, files)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description="Build wheels that contain the program snug.")
    parser.add_argument("platforms", nargs="*", help="which ones: %s (default: all)" % ", ".join(PLATFORMS))
    parser.add_argument("-o", "--out", default=os.path.join(ROOT, "dist"), help="folder for the wheels (default: dist)")
    parser.add_argument("--version", default=source_version(), help="version of the release (default: the source's, %(default)s)")
    options = parser.parse_args()
    for name in options.platforms:
        if name not in PLATFORMS:
            parser.error("%s is not a platform; the platforms are %s" % (name, ", ".join(PLATFORMS)))
    os.makedirs(options.out, exist_ok=True)
    for name in options.platforms or PLATFORMS:
        print(build(name, options.version, options.out))


if __name__ == "__main__":
    main()
