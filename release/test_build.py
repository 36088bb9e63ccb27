# SPDX-License-Identifier: Apache-2.0
"""Tests the parts of a release that need no build."""
import io
import os
import sys
import tarfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build  # noqa: E402

LISTING = """/tmp/snug: go1.26.8
\tpath\tsnug/cmd/snug
\tmod\tsnug\t(devel)\t
\tdep\tgithub.com/spf13/cobra\tv1.10.2\th1:abc=
\tdep\texample.com/old\tv1.0.0
\t=>\texample.com/new\tv1.1.0\th1:def=
\tbuild\tCGO_ENABLED=0
"""


class Release(unittest.TestCase):
    def test_sbom(self) -> None:
        bom = build.sbom("1.2.3", "0123", LISTING)
        self.assertEqual([c["purl"] for c in bom["components"]], ["pkg:golang/std@1.26.8", "pkg:golang/github.com/spf13/cobra@v1.10.2", "pkg:golang/example.com/new@v1.1.0"])
        self.assertEqual(bom["components"][1]["properties"], [{"name": "go.sum", "value": "h1:abc="}])
        self.assertEqual((bom["bomFormat"], bom["specVersion"], bom["metadata"]["component"]["version"]), ("CycloneDX", "1.5", "1.2.3"))
        refs = [c["bom-ref"] for c in bom["components"]]
        self.assertEqual(bom["dependencies"], [{"ref": "snug", "dependsOn": refs}])
        self.assertEqual(len(refs), len(set(refs)))

    def test_archive(self) -> None:
        files = {"bin/snug": (b"program", 0o755), "LICENSE": (b"text", 0o644)}
        data = build.archive("snug-1", files)
        self.assertEqual(data, build.archive("snug-1", dict(reversed(list(files.items())))))
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            self.assertEqual([(m.name, m.mode, m.mtime, m.uid, m.uname) for m in tar],
                             [("snug-1/LICENSE", 0o644, 0, 0, ""), ("snug-1/bin/snug", 0o755, 0, 0, "")])

    def test_dates(self) -> None:
        self.assertEqual(build.release_date("0.4.0"), "2026-11-15")
        self.assertRegex(build.release_date("9.9.9-dev"), r"^\d{4}-\d\d-\d\d$")
        with self.assertRaisesRegex(SystemExit, "CHANGELOG.md has no section for 9.9.9"):
            build.release_date("9.9.9")


if __name__ == "__main__":
    unittest.main()
