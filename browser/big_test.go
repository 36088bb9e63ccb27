// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// bigSnapshot writes a snapshot of 100 MB.
func bigSnapshot(t testing.TB) string {
	t.Helper()
	big := filepath.Join(t.TempDir(), "big.pickle")
	if out, err := exec.Command("python3", "big_snapshot.py", big, "100").CombinedOutput(); err != nil {
		t.Skipf("python3 cannot write the snapshot: %v: %s", err, out)
	}
	if info, err := os.Stat(big); err != nil || info.Size() < 95e6 {
		t.Fatalf("the snapshot: %v, %v", info.Size(), err)
	}
	return big
}

// opened has the times that it took to open a big snapshot.
type opened struct {
	took  time.Duration // until it was drawn
	pause time.Duration // the longest time between two frames meanwhile
	work  time.Duration // CPU time of the server
}

// open opens a snapshot in the page.
func open(t testing.TB, ctx context.Context, at, big string, pid int) opened {
	t.Helper()
	do(t, ctx, "opening", chromedp.Navigate(at+"#view=snapshot&model=gpt2&batch=1&seq=64"), shows("verdict", "gpt2"), settled, planned)
	do(t, ctx, "measuring", script(`window.longest = 0; { let last = performance.now(); const tick = (now) => { longest = Math.max(longest, now - last); last = now; requestAnimationFrame(tick); }; requestAnimationFrame(tick); }
		window.drawn = new Promise((done) => document.getElementById("drawing").addEventListener("load", () => done(performance.now() - begin)))`))
	before := cpuOf(t, pid)
	do(t, ctx, "uploading", script(`window.begin = performance.now()`), upload("#snapshot", big))
	return opened{took: milliseconds(t, ctx, `drawn`), pause: milliseconds(t, ctx, `longest`), work: cpuOf(t, pid) - before}
}

// cpuOf returns the CPU time that a process has used. It needs Linux.
func cpuOf(t testing.TB, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Skip(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	ticks := 0
	for _, text := range fields[11:13] { // utime and stime, in hundredths of a second
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// milliseconds returns the value of an expression that yields milliseconds.
func milliseconds(t testing.TB, ctx context.Context, expression string) time.Duration {
	t.Helper()
	ms, err := evaluate[float64](ctx, expression, chromedp.EvalAwaitPromise)
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return time.Duration(ms * float64(time.Millisecond))
}

// TestBigSnapshot checks that the page shows a snapshot of 100 MB, and that the server needs at most five seconds of CPU
// time for it, however busy the machine is. BenchmarkBigSnapshot has the times that a user sees.
func TestBigSnapshot(t *testing.T) {
	big := bigSnapshot(t)
	at, pid := serveProcess(t)
	ctx, complaints := browser(t)
	if o := open(t, ctx, at, big, pid); o.work > 5*time.Second {
		t.Errorf("the server needs %v of CPU time", o.work)
	}
	do(t, ctx, "the verdict", shows("snapshot-text", "events"))
	do(t, ctx, "other settings", shows("outcomes", "GiB"))
	for _, c := range complaints() {
		t.Errorf("console: %s", c)
	}
}

// BenchmarkBigSnapshot measures how long a snapshot of 100 MB takes to open, how long the page freezes in the
// meantime, and how long its drawings take to follow the pointer.
func BenchmarkBigSnapshot(b *testing.B) {
	big := bigSnapshot(b)
	at, pid := serveProcess(b)
	ctx, _ := browser(b)
	o := open(b, ctx, at, big, pid)
	b.ReportMetric(o.took.Seconds(), "s/opened")
	b.ReportMetric(float64(o.pause.Milliseconds()), "ms/longest-pause")
	page, err := evaluate[string](ctx, `document.getElementById("drawing").src`)
	if err != nil {
		b.Fatal(err)
	}
	do(b, ctx, "the drawings", chromedp.Navigate(page), until(`document.getElementById("pieces")?.innerText.includes("segment") === true`))
	measure(b, ctx, `(async () => {
		const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done))), out = [];
		for (const id of ["time", "flame", "map"]) {
			const canvas = document.getElementById(id);
			canvas.scrollIntoView();
			await drawn();
			const box = canvas.getBoundingClientRect();
			for (let i = 1; i < 40; i++) {
				const begin = performance.now();
				canvas.dispatchEvent(new MouseEvent("mousemove", {clientX: box.left + box.width * i / 40, clientY: box.top + 5 + i % 10}));
				await drawn();
				out.push(performance.now() - begin);
			}
		}
		return out.sort((a, b) => a - b);
	})()`)
}
