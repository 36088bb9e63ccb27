// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBuild checks the version for each way of building snug.
func TestBuild(t *testing.T) {
	set := func(of ...string) (out []debug.BuildSetting) {
		for i := 0; i < len(of); i += 2 {
			out = append(out, debug.BuildSetting{Key: of[i], Value: of[i+1]})
		}
		return out
	}
	commit := "0123456789abcdef0123456789abcdef01234567"
	tests := map[string]struct {
		info *debug.BuildInfo
		want Build
		text string
	}{
		"nothing known": {nil, Build{Version: "0.5.0-dev"}, "0.5.0-dev"},
		"a checkout": {
			&debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: "v0.0.0-20261116-0123456789ab+dirty"},
				Settings: set("GOOS", "linux", "GOARCH", "arm64", "vcs.revision", commit, "vcs.time", "2026-11-16T04:00:00Z", "vcs.modified", "true")},
			Build{"0.5.0-dev", commit, "2026-11-16T04:00:00Z", true, "go1.26.8", "linux/arm64"},
			"0.5.0-dev (0123456789ab, modified, go1.26.8 linux/arm64)",
		},
		"a clean one": {
			&debug.BuildInfo{Settings: set("vcs.revision", commit, "vcs.modified", "false")},
			Build{Version: "0.5.0-dev", Revision: commit}, "0.5.0-dev (0123456789ab)",
		},
		"installed": {
			&debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: "v0.6.1"}},
			Build{Version: "0.6.1", Go: "go1.26.8"}, "0.6.1 (go1.26.8)",
		},
		"a copy of the files": {
			&debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: "(devel)"}},
			Build{Version: "0.5.0-dev", Go: "go1.26.8"}, "0.5.0-dev (go1.26.8)",
		},
	}
	for name, test := range tests {
		got := BuildOf("0.5.0-dev", test.info)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got.String() != test.text {
			t.Errorf("%s: %q, want %q", name, got, test.text)
		}
	}
}
