// SPDX-License-Identifier: Apache-2.0

// Package browser drives snug serve's page in a real Chromium. It is a separate module, so that snug itself does not
// depend on the driver; .ci/page runs it.
//
// SNUG is the program to test, and AXE the file axe.min.js from axe-core. If PICTURES is a folder, the screenshots
// for the docs are written there.
package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// serve starts the program and returns the address of its page.
func serve(t *testing.T, args ...string) string {
	t.Helper()
	program := os.Getenv("SNUG")
	if program == "" {
		t.Skip("SNUG names no program; .ci/page sets it")
	}
	cmd := exec.Command(program, append([]string{"serve", "--address", "127.0.0.1:0"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("snug serve printed no address: %v", err)
	}
	return strings.TrimSpace(line)
}

// browser opens a window and collects all console errors and warnings.
func browser(t *testing.T) (context.Context, func() []string) {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.WindowSize(1280, 900))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 4*time.Minute)
	t.Cleanup(cancel)
	var mu sync.Mutex
	var said []string
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return // the window has been closed
			}
			if m.IsException() || m.Type == "error" {
				mu.Lock()
				said = append(said, m.String())
				mu.Unlock()
			}
		}
	}()
	return ctx, func() []string { mu.Lock(); defer mu.Unlock(); return append([]string(nil), said...) }
}

// step is an action in the window.
type step = chromedp.Action[chromedp.Void]

// do runs steps; if one fails, it fails the test with the description.
func do(t *testing.T, ctx context.Context, what string, actions ...step) {
	t.Helper()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// until waits until an expression is true.
func until(expression string) step {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		for {
			is, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression))
			if err != nil {
				return fmt.Errorf("%s: %w", expression, err)
			}
			if is {
				return nil
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
}

// script runs a script in the page.
func script(text string) step {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Run(ctx, chromedp.Evaluate[any](text+"; null"))
		return err
	})
}

// settled waits until the answers belong to the settings on the page.
var settled = until(`document.getElementById("main").getAttribute("aria-busy") === "false"`)

// planned waits until the ladder's rows belong to the settings on the page. Until then they may be replaced at any moment.
var planned = until(`document.getElementById("ladder").getAttribute("aria-busy") === "false"`)

// shows waits until an element's text contains part.
func shows(id, part string) step {
	return until(fmt.Sprintf(`document.getElementById(%q).innerText.includes(%q)`, id, part))
}

func text(t *testing.T, ctx context.Context, id string) string {
	t.Helper()
	out, err := chromedp.Run(ctx, chromedp.Text(chromedp.ID(id)))
	if err != nil {
		t.Fatalf("reading %s: %v", id, err)
	}
	return out
}

// differs waits until an element's text has changed.
func differs(id, was string) step {
	return until(fmt.Sprintf(`document.getElementById(%q).innerText !== %q`, id, was))
}

func TestPlanner(t *testing.T) {
	at := serve(t)
	ctx, complaints := browser(t)
	do(t, ctx, "opening", chromedp.Navigate(at+"#model=gpt2&batch=4&seq=256&gpu=RTX-3060"), shows("verdict", "gpt2 fits on RTX-3060"))

	was := text(t, ctx, "verdict")
	do(t, ctx, "moving the slider by keyboard", chromedp.Focus(chromedp.CSS("#main-settings .row input[type=range]")), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight), differs("verdict", was))

	was = text(t, ctx, "verdict")
	do(t, ctx, "another card", chromedp.SetValue(chromedp.CSS("#gpu"), "H200"), script(`document.getElementById("gpu").dispatchEvent(new Event("change"))`), shows("verdict", "H200"))

	sameOnTheCommandLine(t, ctx)
	if got, want := copied(t, ctx, "copy-command", "copied"), text(t, ctx, "command"); got != want {
		t.Errorf("Copy command copies %q, and the page shows %q", got, want)
	}
	do(t, ctx, "the tensors of a moment", settled, chromedp.Focus(chromedp.CSS("#timeline")), chromedp.KeyEvent(kb.ArrowLeft), shows("hover", "Largest:"), shows("hover", "transformer.h.*"))

	do(t, ctx, "the best settings", planned, shows("ladder", "maximum"), shows("plan-command", "snug optimize gpt2"))
	plan := text(t, ctx, "plan-text")
	do(t, ctx, "another effective batch", chromedp.SendKeys(chromedp.CSS("#target"), "96"), shows("plan-command", "--target-effective-batch 96"), planned, differs("plan-text", plan), shows("ladder", "maximum"))
	do(t, ctx, "using them", chromedp.Click(chromedp.CSS("#ladder tr:last-child button")), differs("verdict", was))

	do(t, ctx, "all cards", chromedp.Click(chromedp.CSS("#tab-cards")), shows("cards", "A100-80GB"), shows("compare-text", "It fits on"), shows("cards-command", "--gpu all"))
	do(t, ctx, "back", chromedp.Click(chromedp.CSS("#tab-plan")))

	config := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(config, []byte(`{"model_type": "llama", "hidden_size": 512, "intermediate_size": 1408, "num_hidden_layers": 4, "num_attention_heads": 8, "vocab_size": 8000}`), 0o600); err != nil {
		t.Fatal(err)
	}
	do(t, ctx, "a config.json", chromedp.SetUploadFiles(chromedp.CSS("#config"), []string{config}), shows("verdict", "llama fits"))
	link, err := chromedp.Run(ctx, chromedp.Location())
	if err != nil {
		t.Fatal(err)
	}
	do(t, ctx, "a link", chromedp.Navigate("about:blank"), chromedp.Navigate(link), shows("verdict", "llama fits on H200"))

	do(t, ctx, "a mistake", chromedp.Click(chromedp.CSS("#forget")), chromedp.SetValue(chromedp.CSS("#model"), "gpt-17"), script(`document.getElementById("model").dispatchEvent(new Event("input"))`), shows("verdict", "gpt-17"))
	for _, c := range complaints() {
		if !strings.Contains(c, "400 (Bad Request)") { // the intended mistake
			t.Errorf("console: %s", c)
		}
	}
}

// copied clicks a button and returns what it put on the clipboard.
func copied(t *testing.T, ctx context.Context, button, confirmation string) string {
	t.Helper()
	for _, name := range []string{"clipboard-read", "clipboard-write"} {
		allowed := cdpbrowser.SetPermissionParams{Permission: &cdpbrowser.PermissionDescriptor{Name: name}, Setting: cdpbrowser.PermissionSettingGranted}
		if _, err := chromedp.CallBrowser(ctx, cdpbrowser.SetPermission, allowed); err != nil {
			t.Fatal(err)
		}
	}
	do(t, ctx, "copying", chromedp.Click(chromedp.CSS("#"+button)), shows(confirmation, "copied"))
	got, err := chromedp.Run(ctx, chromedp.Evaluate[string](`navigator.clipboard.readText()`, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// sameOnTheCommandLine runs the command that the page shows, and compares the figure.
func sameOnTheCommandLine(t *testing.T, ctx context.Context) {
	t.Helper()
	words := strings.Fields(text(t, ctx, "command"))
	out, err := exec.Command(os.Getenv("SNUG"), append(words[1:], "--json")...).Output()
	if err != nil {
		t.Fatalf("%v: %v", words, err)
	}
	var answer struct {
		DevicePeak float64 `json:"device_peak"`
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%.2f GiB", answer.DevicePeak/(1<<30)); !strings.Contains(text(t, ctx, "verdict"), want) {
		t.Errorf("%v prints %s, the page %q", words, want, text(t, ctx, "verdict"))
	}
}

func TestSnapshot(t *testing.T) {
	at := serve(t)
	ctx, complaints := browser(t)
	snapshot, err := filepath.Abs("../testdata/oom/graph_kept.pickle.gz")
	if err != nil {
		t.Fatal(err)
	}
	do(t, ctx, "opening", chromedp.Navigate(at+"#view=snapshot&model=gpt2&batch=1&seq=64"), chromedp.WaitReady(chromedp.CSS("#snapshot")))
	do(t, ctx, "uploading", chromedp.SetUploadFiles(chromedp.CSS("#snapshot"), []string{snapshot}), shows("snapshot-text", "events"))
	do(t, ctx, "other settings", shows("outcomes", "GiB"))
	if got := text(t, ctx, "snapshot-text"); !strings.Contains(got, "What to do") {
		t.Errorf("the verdict: %q", got)
	}
	do(t, ctx, "the drawing", chromedp.WaitVisible(chromedp.CSS("#drawing")), shows("snapshot-command", "snug replay graph_kept.pickle.gz --compare"))
	link, err := chromedp.Run(ctx, chromedp.Location())
	if err != nil {
		t.Fatal(err)
	}
	do(t, ctx, "a link", chromedp.Navigate("about:blank"), chromedp.Navigate(link), shows("snapshot-text", "What to do"), shows("outcomes", "GiB"))
	for _, c := range complaints() {
		t.Errorf("console: %s", c)
	}
}

// TestKeyboard checks that everything can be reached and used without a mouse.
func TestKeyboard(t *testing.T) {
	at := serve(t)
	ctx, complaints := browser(t)
	do(t, ctx, "opening", chromedp.Navigate(at+"#model=gpt2&batch=4&seq=128&gpu=T4"), shows("verdict", "T4"), shows("ladder", "maximum"))
	reached := map[string]bool{}
	for range 48 {
		do(t, ctx, "Tab", chromedp.KeyEvent(kb.Tab))
		id, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.activeElement.id || document.activeElement.getAttribute("aria-label") || ""`))
		if err != nil {
			t.Fatal(err)
		}
		reached[id] = true
	}
	for _, id := range []string{"tab-plan", "theme", "model", "config", "gpu", "set-batch", "set-seq", "set-precision", "set-checkpointing", "copy-command", "timeline", "target", "copy-plan"} {
		if !reached[id] {
			t.Errorf("Tab does not reach %s; it reaches %v", id, reached)
		}
	}
	do(t, ctx, "the next view", chromedp.Focus(chromedp.CSS("#tab-plan")), chromedp.KeyEvent(kb.ArrowRight), chromedp.WaitVisible(chromedp.CSS("#view-cards")))
	do(t, ctx, "to the live view", chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight), chromedp.WaitVisible(chromedp.CSS("#view-live")))
	reached = map[string]bool{}
	for range 16 {
		do(t, ctx, "Tab", chromedp.KeyEvent(kb.Tab))
		id, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.activeElement.id || document.activeElement.getAttribute("aria-label") || ""`))
		if err != nil {
			t.Fatal(err)
		}
		reached[id] = true
	}
	for _, id := range []string{"live-source", "recording", "copy-live", "copy-readings", "live-command", "What changed"} {
		if !reached[id] {
			t.Errorf("Tab does not reach %s in the live view; it reaches %v", id, reached)
		}
	}
	for _, c := range complaints() {
		t.Errorf("console: %s", c)
	}
}

// TestDark checks that the button switches the whole page, the drawings of a snapshot included.
func TestDark(t *testing.T) {
	at := serve(t)
	ctx, complaints := browser(t)
	snapshot, err := filepath.Abs("../testdata/oom/graph_kept.pickle.gz")
	if err != nil {
		t.Fatal(err)
	}
	do(t, ctx, "opening", chromedp.Navigate(at+"#view=snapshot&model=gpt2&batch=1&seq=64"), chromedp.WaitReady(chromedp.CSS("#snapshot")), chromedp.SetUploadFiles(chromedp.CSS("#snapshot"), []string{snapshot}), shows("outcomes", "GiB"))
	const light, dark = "rgb(255, 255, 255)", "rgb(20, 23, 26)"
	background := func(colour, page string) step {
		return until(fmt.Sprintf(`getComputedStyle(document.body).backgroundColor === %q && document.getElementById("drawing").src.endsWith(%q)`, colour, page))
	}
	do(t, ctx, "light", background(light, "#light"))
	do(t, ctx, "dark", chromedp.Click(chromedp.CSS("#theme")), background(dark, "#dark"))
	do(t, ctx, "light again", chromedp.Click(chromedp.CSS("#theme")), background(light, "#light"))
	for _, c := range complaints() {
		t.Errorf("console: %s", c)
	}
}

// TestAccessible runs axe on every view, light and dark.
func TestAccessible(t *testing.T) {
	at := serve(t)
	source, err := os.ReadFile(os.Getenv("AXE"))
	if err != nil {
		t.Skipf("AXE names no axe.min.js: %v", err)
	}
	ctx, _ := browser(t)
	do(t, ctx, "opening", chromedp.Navigate(at+"#model=gpt2&batch=4&seq=128&gpu=T4"), shows("verdict", "T4"), shows("tensors", "memory"))
	do(t, ctx, "axe", script(string(source)))
	check := func(state string) {
		found, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](`axe.run({iframes: false}).then(r => r.violations.filter(v => v.impact === "serious" || v.impact === "critical").map(v => v.id + ": " + v.nodes.map(n => n.html).slice(0, 3).join(" | ")))`, chromedp.EvalAwaitPromise))
		if err != nil {
			t.Fatalf("checking %s: %v", state, err)
		}
		for _, f := range found {
			t.Errorf("%s: %s", state, f)
		}
	}
	for _, theme := range []string{"one theme", "the other"} {
		for _, view := range []string{"plan", "cards", "snapshot", "live", "tune"} {
			do(t, ctx, view, chromedp.Click(chromedp.CSS("#tab-"+view)), chromedp.WaitVisible(chromedp.CSS("#view-"+view)))
			check(view + ", " + theme)
		}
		do(t, ctx, "the theme", chromedp.Click(chromedp.CSS("#theme")))
	}
}

// TestPictures writes the screenshots for the docs, at three widths, light and dark, and fails if the page is wider than
// the screen.
func TestPictures(t *testing.T) {
	at := serve(t)
	ctx, complaints := browser(t)
	snapshot, err := filepath.Abs("../testdata/oom/graph_kept.pickle.gz")
	if err != nil {
		t.Fatal(err)
	}
	const run = "model=llama-3.2-1b&batch=4&seq=1024&precision=amp-bf16&gpu=A100-40GB"
	do(t, ctx, "opening", chromedp.Navigate(at+"#"+run), shows("verdict", "A100"), shows("tensors", "memory"), shows("curve-text", "largest"), shows("ladder", "maximum"))
	pictures(t, ctx, "page")
	do(t, ctx, "the cards", chromedp.Click(chromedp.CSS("#tab-cards")), shows("compare-text", "It fits on"))
	pictures(t, ctx, "cards")
	do(t, ctx, "a snapshot", chromedp.Click(chromedp.CSS("#tab-snapshot")), chromedp.SetUploadFiles(chromedp.CSS("#snapshot"), []string{snapshot}), shows("outcomes", "GiB"))
	pictures(t, ctx, "snapshot")
	do(t, ctx, "the planner in the dark", chromedp.Click(chromedp.CSS("#tab-plan")), chromedp.Click(chromedp.CSS("#theme")), planned, shows("ladder", "maximum"))
	pictures(t, ctx, "page-dark")
	do(t, ctx, "the snapshot in the dark", chromedp.Click(chromedp.CSS("#tab-snapshot")), shows("outcomes", "GiB"))
	pictures(t, ctx, "snapshot-dark")
	for _, c := range complaints() {
		t.Errorf("console: %s", c)
	}
}

// pictures saves screenshots of a view at three widths.
func pictures(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	for _, width := range []int64{390, 820, 1280} {
		do(t, ctx, "another width", chromedp.EmulateViewport(width, 900), script("scrollTo(0, 0)"), chromedp.Sleep(300*time.Millisecond))
		wide, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`document.documentElement.scrollWidth > innerWidth`))
		if err != nil {
			t.Fatal(err)
		}
		if wide {
			t.Errorf("%s: at %d pixels the page has to be scrolled sideways", name, width)
		}
		folder := os.Getenv("PICTURES")
		if folder == "" {
			continue
		}
		// Chromium draws the frame of a snapshot only as far as the window reaches, so the window is made as high as the page.
		height, err := chromedp.Run(ctx, chromedp.Evaluate[int64](`document.documentElement.scrollHeight`))
		if err != nil {
			t.Fatal(err)
		}
		do(t, ctx, "a high window", chromedp.EmulateViewport(width, height), chromedp.Sleep(300*time.Millisecond))
		picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(60))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%s-%d.jpg", name, width)), picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
