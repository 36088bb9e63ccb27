#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds a release: archives with static binaries, man pages and completions; an SBOM; wheels; SHA256SUMS.

    python3 release/build.py -o dist                     everything
    python3 release/build.py -o dist linux-amd64         one platform, without wheels

The build is reproducible: the same commit and the same Go give the same bytes. Needs Go, git and Python's standard library.
"""
import argparse
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from typing import Any, Dict, List, Tuple

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(ROOT, "python"))
import build_wheel  # noqa: E402
from build_wheel import Platform  # noqa: E402

# Static binaries need no dynamic linker, so they run on any distribution. They cannot load NVML and use nvidia-smi instead.
# macOS has no NVML, and snug only plans there.
PLATFORMS: Dict[str, Platform] = {
    "linux-amd64": Platform("linux", "amd64", "", "static"),
    "linux-arm64": Platform("linux", "arm64", "", "static"),
    "darwin-amd64": Platform("darwin", "amd64", "", "static"),
    "darwin-arm64": Platform("darwin", "arm64", "", "static"),
}

Files = Dict[str, Tuple[bytes, int]]  # path in an archive: contents, mode


def fail(text: str) -> None:
    sys.exit("release: " + text)


def run(*args: str) -> str:
    done = subprocess.run(args, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
    if done.returncode != 0:
        fail("%s: %s" % (" ".join(args[:3]), done.stderr.strip()))
    return done.stdout.strip()


def release_date(version: str) -> str:
    """Returns the date of a version in CHANGELOG.md. For a development version it is the date of its commit."""
    if version.endswith("-dev"):
        return run("git", "log", "-1", "--format=%cd", "--date=format:%Y-%m-%d")
    with open(os.path.join(ROOT, "CHANGELOG.md"), encoding="utf-8") as f:
        found = re.search(r"^## %s – (\d{4}-\d\d-\d\d)$" % re.escape(version), f.read(), re.M)
    if found is None:
        fail("CHANGELOG.md has no section for %s; add \"## %s – DATE\"" % (version, version))
        raise AssertionError
    return found.group(1)


def pages(version: str, date: str) -> Files:
    """Returns the man pages and completions, by their paths in an archive."""
    out: Files = {}
    with tempfile.TemporaryDirectory() as folder:
        run("go", "run", "./internal/cli/pages", "-o", folder, "-version", version, "-date", date)
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), "rb") as f:
                out[("man/man1/" if name.endswith(".1") else "completions/") + name] = (f.read(), 0o644)
    return out


def documents() -> Files:
    out: Files = {}
    for name in ("LICENSE", "README.md", "CHANGELOG.md"):
        with open(os.path.join(ROOT, name), "rb") as f:
            out[name] = (f.read(), 0o644)
    return out


def archive(top: str, files: Files) -> bytes:
    """Returns a .tar.gz of files below a folder, without local names, times and owners."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name in sorted(files):
            data, mode = files[name]
            info = tarfile.TarInfo(top + "/" + name)
            info.size, info.mode = len(data), mode
            tar.addfile(info, io.BytesIO(data))
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=packed, mode="wb", compresslevel=9, mtime=0) as z:
        z.write(raw.getvalue())
    return packed.getvalue()


def sbom(version: str, commit: str, listing: str) -> Dict[str, Any]:
    """Returns a binary's modules, as `go version -m` lists them, in CycloneDX 1.5."""
    components = []
    go = re.match(r"^.*: go(\S+)", listing)
    if go:
        components.append(component("std", go.group(1)))
    for line in listing.splitlines():
        words = line.split("\t")
        if len(words) >= 4 and words[1] == "dep":
            components.append(component(words[2], words[3], words[4] if len(words) > 4 else ""))
        if len(words) >= 4 and words[1] == "=>":
            components[-1] = component(words[2], words[3], words[4] if len(words) > 4 else "")
    about: Dict[str, Any] = {"type": "application", "bom-ref": "snug", "name": "snug", "version": version, "licenses": [{"license": {"id": "Apache-2.0"}}]}
    if commit:
        about["properties"] = [{"name": "commit", "value": commit}]
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": about},
            "components": components, "dependencies": [{"ref": "snug", "dependsOn": [c["bom-ref"] for c in components]}]}


def component(path: str, version: str, digest: str = "") -> Dict[str, Any]:
    url = "pkg:golang/%s@%s" % (path, version)
    out: Dict[str, Any] = {"type": "library", "bom-ref": url, "name": path, "version": version, "purl": url}
    if digest:
        out["properties"] = [{"name": "go.sum", "value": digest}]
    return out


def listing_of(program: bytes) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "snug")
        with open(path, "wb") as f:
            f.write(program)
        return run("go", "version", "-m", path)


def build(names: List[str], version: str, into: str) -> List[str]:
    """Builds the archives and the SBOM, and returns their names."""
    date, commit = release_date(version), build_wheel.git_commit()
    shared, made = {**pages(version, date), **documents()}, {}
    for name in names:
        p = PLATFORMS[name]
        program = build_wheel.build_program(p, version)
        top = "snug-%s-%s" % (version, name)
        made[top + ".tar.gz"] = archive(top, {**shared, "bin/snug": (program, 0o755)})
        made.setdefault("snug-%s.cdx.json" % version, (json.dumps(sbom(version, commit, listing_of(program)), indent=1) + "\n").encode())
    with open(os.path.join(HERE, "install.sh"), "rb") as f:
        made["install.sh"] = f.read()
    for name, data in made.items():
        with open(os.path.join(into, name), "wb") as out:
            out.write(data)
    return list(made)


def checksums(names: List[str], into: str) -> None:
    rows = []
    for name in sorted(names):
        with open(os.path.join(into, name), "rb") as f:
            rows.append("%s  %s\n" % (hashlib.sha256(f.read()).hexdigest(), name))
    with open(os.path.join(into, "SHA256SUMS"), "w") as f:
        f.write("".join(rows))


def main() -> None:
    parser = argparse.ArgumentParser(description="Build a release of snug.")
    parser.add_argument("platforms", nargs="*", help="which ones: %s (default: all, and the wheels)" % ", ".join(PLATFORMS))
    parser.add_argument("-o", "--out", required=True, help="folder for the files")
    parser.add_argument("--version", default=build_wheel.source_version(), help="default: the source's, %(default)s")
    options = parser.parse_args()
    for name in options.platforms:
        if name not in PLATFORMS:
            parser.error("%s is not a platform; the platforms are %s" % (name, ", ".join(PLATFORMS)))
    if not options.version.endswith("-dev") and not build_wheel.git_commit():
        fail("files differ from the commit, or there is none; commit them, so that the release can be reproduced")
    os.makedirs(options.out, exist_ok=True)
    names = build(options.platforms or list(PLATFORMS), options.version, options.out)
    if not options.platforms:
        names += [os.path.basename(build_wheel.build(name, options.version, options.out)) for name in build_wheel.PLATFORMS]
    checksums(names, options.out)
    print("\n".join(sorted(names) + ["SHA256SUMS"]))


if __name__ == "__main__":
    main()
