// SPDX-License-Identifier: Apache-2.0

package export

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestFilesNameMetrics checks that each metric used in the dashboard and the alerts is exported.
func TestFilesNameMetrics(t *testing.T) {
	known := map[string]bool{}
	descs := make(chan *prometheus.Desc, 64)
	(&Prometheus{}).Describe(descs)
	close(descs)
	name := regexp.MustCompile(`fqName: "(\w+)"`)
	for d := range descs {
		known[name.FindStringSubmatch(d.String())[1]] = true
	}
	for _, file := range []string{"grafana.json", "alerts.yml"} {
		text, err := os.ReadFile(filepath.Join("../../../examples/watch", file))
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`\bsnug_\w+`).FindAllString(string(text), -1)
		if len(found) < 5 {
			t.Errorf("%s names %d metrics", file, len(found))
		}
		for _, m := range found {
			if !known[m] {
				t.Errorf("%s: %s is not exported", file, m)
			}
		}
	}
}
