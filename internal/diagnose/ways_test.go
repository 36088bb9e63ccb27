// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"snug/internal/snapshot"
)

func TestTry(t *testing.T) {
	logs, _ := filepath.Glob(os.Getenv("WAYS") + "/*.log")
	for _, l := range logs {
		name := strings.TrimSuffix(filepath.Base(l), ".log")
		f, _ := os.Open(l)
		log, err := ReadLog(f)
		if err != nil {
			t.Fatal(err)
		}
		v := Judge(Evidence{Log: log})
		t.Logf("%-22s log   %-20s %-8s %s", name, v.Code, v.Confidence, v.Where)
		s, err := os.Open(strings.TrimSuffix(l, ".log") + ".pickle.gz")
		if err != nil {
			continue
		}
		rec, err := snapshot.Read(s)
		if err != nil {
			t.Error(name, err)
			continue
		}
		r := ReadRecording(rec, rec.Busiest())
		v = Judge(Evidence{Recorded: r})
		t.Logf("%-22s snap  %-20s %-8s %s %v", name, v.Code, v.Confidence, v.Where, v.Growth)
		v = Judge(Evidence{Log: log, Recorded: r})
		t.Logf("%-22s both  %-20s %-8s %s: %s", name, v.Code, v.Confidence, v.Where, v.Why)
	}
}
