# SPDX-License-Identifier: Apache-2.0
"""Tests the wheel's contents, and that builds are reproducible. A small file replaces the program."""
import base64
import csv
import hashlib
import io
import os
import sys
import tempfile
import unittest
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import build_wheel  # noqa: E402


class Wheel(unittest.TestCase):
    def write(self, name: str, path: str) -> None:
        files = build_wheel.entries(build_wheel.PLATFORMS[name], "1.2.3", b"program")
        build_wheel.write_wheel(path, build_wheel.with_record(files, "1.2.3"))

    def test_record_has_every_file(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.whl")
            for name, platform in build_wheel.PLATFORMS.items():
                self.write(name, path)
                with zipfile.ZipFile(path) as z:
                    names = z.namelist()
                    record = {row[0]: row[1:] for row in csv.reader(io.StringIO(z.read("snug-1.2.3.dist-info/RECORD").decode()))}
                    self.assertEqual(sorted(record), sorted(names))
                    for file in names[:-1]:
                        data = z.read(file)
                        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                        self.assertEqual(record[file], ["sha256=" + digest, str(len(data))])
                    self.assertEqual(record[names[-1]], ["", ""])
                    program = "snug-1.2.3.data/scripts/snug" + (".exe" if platform.goos == "windows" else "")
                    self.assertEqual(z.getinfo(program).external_attr >> 16, 0o100755)
                    tags = z.read("snug-1.2.3.dist-info/WHEEL").decode()
                    for tag in platform.tags.split("."):
                        self.assertIn("Tag: py3-none-%s\n" % tag, tags)
                    self.assertIn("snug/py.typed", names)

    def test_same_bytes(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            a, b = os.path.join(folder, "a.whl"), os.path.join(folder, "b.whl")
            self.write("linux-amd64", a)
            os.utime(os.path.join(build_wheel.HERE, "README.md"))
            self.write("linux-amd64", b)
            with open(a, "rb") as x, open(b, "rb") as y:
                self.assertEqual(x.read(), y.read())

    def test_versions(self) -> None:
        for version, want in (("0.5.0-dev", "0.5.0.dev0"), ("1.0.0", "1.0.0"), ("1.0.0-rc.2", "1.0.0rc2")):
            self.assertEqual(build_wheel.python_version(version), want)
        with self.assertRaises(SystemExit):
            build_wheel.python_version("1.0-mine")


if __name__ == "__main__":
    unittest.main()
