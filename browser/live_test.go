// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// recorded returns the lines of a snug watch recording.
func recorded(t *testing.T, name string) []string {
	t.Helper()
	f, err := os.Open("../testdata/watch/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return strings.SplitAfter(string(data), "\n")
}

// TestLive checks that the page shows a recording while it is being written, and an uploaded one.
func TestLive(t *testing.T) {
	lines := recorded(t, "watched_leak_004.jsonl.gz")
	good, err := filepath.Abs("../testdata/watch/watched_good.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	const run = "run.jsonl"
	t.Chdir(t.TempDir())
	at := serve(t, "--watch", run)
	ctx, complaints := browser(t)
	do(t, ctx, "opening", chromedp.Navigate(at+"#view=live&model=gpt2&batch=1&seq=64"), shows("live-notes", "does not exist yet"))
	f, err := os.Create(run)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	write := func(lines []string) {
		if _, err := f.WriteString(strings.Join(lines, "")); err != nil {
			t.Fatal(err)
		}
	}
	half := len(lines) / 2
	write(lines[:half])
	do(t, ctx, "a leak", shows("live-state", "Leaking"), shows("live-left", "Out of memory in"), shows("live-advice", "What to do"), visible("#live-chart canvas"))
	was := text(t, ctx, "live-text")
	if os.Getenv("PICTURES") != "" {
		pictures(t, ctx, "live")
	}
	write(lines[half:])
	do(t, ctx, "the rest", shows("live-state", "Out-of-memory"), differs("live-text", was))
	for i, line := range strings.Split(strings.TrimSpace(commandSays(t, run)), "\n") {
		_, why, _ := strings.Cut(line, `"why":"`)
		do(t, ctx, fmt.Sprintf("line %d of snug watch --json: %s", i, line), shows("live-readings", strings.Split(why, `"`)[0]))
	}
	accessible(t, ctx, "a leak")
	do(t, ctx, "an upload", upload("#recording", good), shows("live-readings", "good"))
	do(t, ctx, "at another speed", choose("#live-speed", "100"), shows("live-readings", "warming-up"))
	for _, c := range complaints() {
		t.Errorf("console: %s", c)
	}
}

// commandSays returns what snug watch prints for a recording. The command exits with 1 for a leaking run.
func commandSays(t *testing.T, run string) string {
	t.Helper()
	out, _ := exec.Command(os.Getenv("SNUG"), "watch", "--replay", run, "--json").Output()
	if len(out) == 0 {
		t.Fatal("snug watch --replay printed nothing")
	}
	return string(out)
}

// standIn writes the fake training command and its setup from tune.txtar, a script test of the command line. The command waits
// until letGo is called for its batch.
func standIn(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../internal/cli/testdata/tune.txtar")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, name := range []string{"train.sh", "run.yaml"} {
		_, file, ok := strings.Cut(string(data), "\n-- "+name+" --\n")
		file, _, _ = strings.Cut(file, "\n-- ")
		if name == "train.sh" {
			file = "while [ ! -e go.$1 ]; do sleep 0.1; done\n" + file
		}
		if !ok || os.WriteFile(filepath.Join(folder, name), []byte(file+"\n"), 0o600) != nil {
			t.Fatalf("%s is not in tune.txtar", name)
		}
	}
	return folder
}

// letGo lets the trials with a batch go on.
func letGo(t *testing.T, folder, batch string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, "go."+batch), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestTune checks that the trials of a tune appear while it runs.
func TestTune(t *testing.T) {
	folder := standIn(t)
	t.Setenv("SNUG_STORE", filepath.Join(folder, "measured.db"))
	at := serve(t)
	ctx, complaints := browser(t)
	do(t, ctx, "opening", chromedp.Navigate(at+"#view=tune&model=gpt2&batch=1&seq=64"), shows("tune-state", "Snug tune has not run"))
	cmd := exec.Command(os.Getenv("SNUG"), "tune", "--setup", "run.yaml", "--gpu", "H200", "--limit", "12GiB", "--", "sh", "train.sh", "{batch}", "{accumulation}", "{checkpointing}")
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "MORE=12")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	do(t, ctx, "the first trial", shows("tune-state", "Running: no trial has fit yet"), shows("tune-now", "Trying batch 16 × 4"))
	letGo(t, folder, "16")
	do(t, ctx, "the second trial", shows("tune-now", "Trying batch 32 × 2"), shows("tune-trials", "out-of-memory"))
	letGo(t, folder, "32")
	letGo(t, folder, "8")
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	do(t, ctx, "the report", shows("tune-state", "Finished: best: batch"), shows("tune-trials", "out-of-memory"), shows("tune-decisions", "start"), shows("tune-command", "sh train.sh"), visible("#tune-chart canvas"))
	if os.Getenv("PICTURES") != "" {
		pictures(t, ctx, "tune")
	}
	accessible(t, ctx, "a tune")
	for _, c := range complaints() {
		t.Errorf("console: %s", c)
	}
}
