// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestVersion checks that the program's version matches CHANGELOG.md: the newest heading or, if there are
// changes above it, the next release.
func TestVersion(t *testing.T) {
	text, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	heading := regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+) – \d{4}-\d{2}-\d{2}$`).FindSubmatchIndex(text)
	if heading == nil {
		t.Fatal("CHANGELOG.md has no heading like ## 0.4.0 – 2026-11-15")
	}
	newest := string(text[heading[2]:heading[3]])
	_, changes, ok := strings.Cut(string(text[:heading[0]]), "## Unreleased\n")
	if !ok {
		t.Fatal("CHANGELOG.md has no ## Unreleased above its versions")
	}
	if pending := strings.TrimSpace(changes) != ""; pending != strings.HasSuffix(version, "-dev") || !pending && version != newest || pending && version <= newest {
		t.Errorf("version is %s, CHANGELOG.md is at %s, with changes since: %t", version, newest, pending)
	}
}
