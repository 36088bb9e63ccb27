// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// reportSteps is a program for test scripts that stands in for a training run with the probe: it reports the steps that a
// file describes. Each line of the file is an object with the fields of a step. In addition, "until" repeats it up to
// that step, "grows" adds bytes to its sizes in each step, and "torch" is the version that the process uses.
func reportSteps(path string) error {
	home, _, _ := strings.Cut(os.Getenv("PYTHONPATH"), string(os.PathListSeparator))
	socket, err := net.Dial("unixgram", filepath.Join(home, "watch.sock"))
	if err != nil {
		return err
	}
	defer func() { _ = socket.Close() }()
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	send := func(fields map[string]any) error {
		fields["pid"] = os.Getpid()
		line, _ := json.Marshal(fields)
		_, err := socket.Write(line)
		time.Sleep(2 * time.Millisecond) // the duration of a step
		return err
	}
	if err := send(map[string]any{"kind": "start", "total": 150109880320}); err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		var s map[string]any
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
		if torch, ok := s["torch"]; ok {
			report := fmt.Sprintf(`{"event":"torch","time":1,"versions":{"torch":%q}}`+"\n", torch)
			if err := os.WriteFile(filepath.Join(home, fmt.Sprintf("%d.jsonl", os.Getpid())), []byte(report), 0o600); err != nil {
				return err
			}
			continue
		}
		if err := reportStretch(s, send); err != nil {
			return err
		}
	}
	return nil
}

// reportStretch reports the steps that one line describes.
func reportStretch(s map[string]any, send func(map[string]any) error) error {
	first, _ := s["step"].(float64)
	last, grows := first, 0.0
	if n, ok := s["until"].(float64); ok {
		last = n
	}
	if n, ok := s["grows"].(float64); ok {
		grows = n
	}
	for step := first; step <= last; step++ {
		out := map[string]any{"kind": "step", "phase": "train"}
		for k, v := range s {
			if k != "until" && k != "grows" {
				out[k] = v
			}
		}
		out["step"] = int(step)
		for _, size := range []string{"allocated", "reserved", "peak_allocated", "peak_reserved"} {
			if n, ok := s[size].(float64); ok {
				out[size] = int64(n + grows*(step-first))
			}
		}
		if err := send(out); err != nil {
			return err
		}
	}
	return nil
}
