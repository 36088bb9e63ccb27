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
func serve(t testing.TB, args ...string) string {
	t.Helper()
	at, _ := serveProcess(t, args...)
	return at
}

// serveProcess starts the program and returns the address of its page, and its process.
func serveProcess(t testing.TB, args ...string) (at string, pid int) {
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
	return strings.TrimSpace(line), cmd.Process.Pid
}

// browser opens a window and collects all console errors and warnings.
func browser(t testing.TB) (context.Context, func() []string) {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.WindowSize(1280, 900), chromedp.WSURLReadTimeout(2*time.Minute))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 10*time.Minute)
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

func TestPlanner(t *testing.T) {
	at := serve(t)
	ctx, complaints := browser(t)
	do(t, ctx, "opening", chromedp.Navigate(at+"#model=gpt2&batch=4&seq=256&gpu=RTX-3060"), shows("verdict", "gpt2 fits on RTX-3060"))

	was := text(t, ctx, "verdict")
	do(t, ctx, "moving the slider by keyboard", press("#main-settings .row input[type=range]", kb.ArrowRight, kb.ArrowRight, kb.ArrowRight, kb.ArrowRight), differs("verdict", was))

	do(t, ctx, "another card", choose("#gpu", "H200"), shows("verdict", "H200"))

	sameOnTheCommandLine(t, ctx, t.TempDir())
	if got, want := copied(t, ctx, "copy-command", "copied"), text(t, ctx, "command"); got != want {
		t.Errorf("Copy command copies %q, and the page shows %q", got, want)
	}
	do(t, ctx, "the tensors of a moment", settled, press("#timeline", kb.ArrowLeft), shows("hover", "Largest:"), shows("hover", "transformer.h.*"))
	do(t, ctx, "a batch of the curve", press("#curve", kb.ArrowRight), shows("curve-text", "Batch 1: "), chromedp.KeyEvent(kb.End), shows("curve-text", "it does not fit"))

	do(t, ctx, "the best settings", planned, shows("ladder", "maximum"), shows("plan-command", "snug optimize gpt2"))
	plan := text(t, ctx, "plan-text")
	do(t, ctx, "another effective batch", press("#target", "96"), shows("plan-command", "--target-effective-batch 96"), planned, differs("plan-text", plan), shows("ladder", "maximum"))
	was = text(t, ctx, "verdict")
	do(t, ctx, "using them", click(`#ladder [aria-label*="maximum"]`), differs("verdict", was))

	do(t, ctx, "all cards", click("#tab-cards"), shows("cards", "A100-80GB"), shows("compare-text", "It fits on"), shows("cards-command", "--gpu all"))
	accessible(t, ctx, "all cards")
	do(t, ctx, "back", click("#tab-plan"))

	config := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(config, []byte(`{"model_type": "llama", "hidden_size": 512, "intermediate_size": 1408, "num_hidden_layers": 4, "num_attention_heads": 8, "vocab_size": 8000}`), 0o600); err != nil {
		t.Fatal(err)
	}
	do(t, ctx, "a config.json", upload("#config", config), shows("verdict", "llama fits"))
	link, err := evaluate[string](ctx, "location.href")
	if err != nil {
		t.Fatal(err)
	}
	do(t, ctx, "a link", chromedp.Navigate("about:blank"), chromedp.Navigate(link), shows("verdict", "llama fits on H200"))

	do(t, ctx, "a mistake", click("#forget"), choose("#model", "gpt-17"), shows("verdict", "gpt-17"))
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
	do(t, ctx, "copying", click("#"+button), shows(confirmation, "copied"))
	got, err := evaluate[string](ctx, `navigator.clipboard.readText()`, chromedp.EvalAwaitPromise)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// sameOnTheCommandLine runs the command that the page shows in a shell, in a folder, and compares the figure.
func sameOnTheCommandLine(t *testing.T, ctx context.Context, folder string) {
	t.Helper()
	do(t, ctx, "the answers", settled)
	command := text(t, ctx, "command")
	line, ok := strings.CutPrefix(command, "snug estimate ")
	if !ok {
		t.Fatalf("the command is %q", command)
	}
	cmd := exec.Command("sh", "-c", `"$SNUG" estimate --json `+line)
	cmd.Dir = folder
	if config, err := evaluate[string](ctx, `new URLSearchParams(location.hash.slice(1)).get("config") ?? ""`); err != nil {
		t.Fatal(err)
	} else if err := os.WriteFile(filepath.Join(cmd.Dir, "config.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	var answer struct {
		DevicePeak float64 `json:"device_peak"`
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%.2f GiB", answer.DevicePeak/(1<<30)); !strings.Contains(text(t, ctx, "verdict"), want) {
		t.Errorf("%s prints %s, the page %q", command, want, text(t, ctx, "verdict"))
	}
}

func TestSnapshot(t *testing.T) {
	at := serve(t)
	ctx, complaints := browser(t)
	snapshot, err := filepath.Abs("../testdata/oom/graph_kept.pickle.gz")
	if err != nil {
		t.Fatal(err)
	}
	do(t, ctx, "opening", chromedp.Navigate(at+"#view=snapshot&model=gpt2&batch=1&seq=64"))
	do(t, ctx, "uploading", upload("#snapshot", snapshot), shows("snapshot-text", "events"))
	do(t, ctx, "other settings", shows("outcomes", "GiB"))
	if got := text(t, ctx, "snapshot-fixes"); !strings.Contains(got, "loss.item()") {
		t.Errorf("what to do: %q", got)
	}
	do(t, ctx, "the drawing", visible("#drawing"), shows("snapshot-command", "snug replay graph_kept.pickle.gz --compare"))
	link, err := evaluate[string](ctx, "location.href")
	if err != nil {
		t.Fatal(err)
	}
	do(t, ctx, "a link", chromedp.Navigate("about:blank"), chromedp.Navigate(link), shows("snapshot-fixes", "loss.item()"), shows("outcomes", "GiB"))
	accessible(t, ctx, "a snapshot")
	for _, c := range complaints() {
		t.Errorf("console: %s", c)
	}
}

// TestKeyboard checks that everything can be reached and used without a mouse.
func TestKeyboard(t *testing.T) {
	at := serve(t)
	ctx, complaints := browser(t)
	do(t, ctx, "opening", chromedp.Navigate(at+"#model=gpt2&batch=4&seq=128&gpu=T4"), shows("verdict", "T4"), shows("ladder", "maximum"))
	tabReaches(t, ctx, 56, "tab-plan", "theme", "model", "config", "gpu", "set-batch", "set-seq", "set-precision", "set-checkpointing", "copy-command", "timeline", "curve", "target", "Use safe, medium, aggressive, maximum", "copy-plan")
	do(t, ctx, "the next view", press("#tab-plan", kb.ArrowRight), visible("#view-cards"))
	do(t, ctx, "to the live view", chromedp.KeyEvent(kb.ArrowRight+kb.ArrowRight), visible("#view-live"))
	tabReaches(t, ctx, 16, "live-source", "recording", "copy-live", "copy-readings", "live-command")
	for _, c := range complaints() {
		t.Errorf("console: %s", c)
	}
}

// tabReaches presses Tab a number of times and checks that the elements with these IDs or labels get the focus.
func tabReaches(t *testing.T, ctx context.Context, times int, wanted ...string) {
	t.Helper()
	reached := map[string]bool{}
	for range times {
		do(t, ctx, "Tab", chromedp.KeyEvent(kb.Tab))
		id, err := evaluate[string](ctx, `document.activeElement.id || document.activeElement.getAttribute("aria-label") || ""`)
		if err != nil {
			t.Fatal(err)
		}
		reached[id] = true
	}
	for _, id := range wanted {
		if !reached[id] {
			t.Errorf("Tab does not reach %s; it reaches %v", id, reached)
		}
	}
}

// TestDrawings checks the drawings of a snapshot by themselves, as in the page's frame: they can be used with the keyboard,
// a screen reader is told what they show, and axe finds no serious problem.
func TestDrawings(t *testing.T) {
	at := serve(t)
	ctx, complaints := browser(t)
	snapshot, err := filepath.Abs("../testdata/oom/graph_kept.pickle.gz")
	if err != nil {
		t.Fatal(err)
	}
	do(t, ctx, "opening", chromedp.Navigate(at+"#view=snapshot&model=gpt2&batch=1&seq=64"), upload("#snapshot", snapshot), shows("outcomes", "GiB"))
	page, err := evaluate[string](ctx, `document.getElementById("drawing").src`)
	if err != nil {
		t.Fatal(err)
	}
	do(t, ctx, "the drawings", chromedp.Navigate(page), shows("title", "kept"))
	do(t, ctx, "the timeline", press("#time", kb.End), shows("time-text", "100 % of the recording: reserved: 10.00 GiB"), chromedp.KeyEvent(kb.Home), shows("time-text", "0 % of the recording: reserved: 4."))
	do(t, ctx, "the flame graph", press("#flame", kb.ArrowDown), shows("flame-text", "all tensors: 9.92 GiB, 100.0 %"), chromedp.KeyEvent(kb.ArrowDown), shows("flame-text", "graph_kept.py:9: 9.44 GiB"),
		chromedp.KeyEvent(kb.Enter), visible("#reset"), chromedp.KeyEvent(kb.ArrowRight), shows("flame-text", "graph_kept.py:9: 9.44 GiB"), chromedp.KeyEvent(kb.Escape), hidden("#reset"))
	do(t, ctx, "the map", press("#map", kb.ArrowRight), shows("map-text", "1 of "), chromedp.KeyEvent(kb.End), until(`/^(\d+) of \1: segment of/.test(document.getElementById("map-text").innerText)`))
	if source, err := os.ReadFile(os.Getenv("AXE")); err == nil {
		do(t, ctx, "axe", script(string(source)))
		axe(t, ctx, "drawings")
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
	do(t, ctx, "opening", chromedp.Navigate(at+"#view=snapshot&model=gpt2&batch=1&seq=64"), upload("#snapshot", snapshot), shows("outcomes", "GiB"))
	const light, dark = "rgb(255, 255, 255)", "rgb(20, 23, 26)"
	background := func(color, page string) step {
		return until(fmt.Sprintf(`getComputedStyle(document.body).backgroundColor === %q && document.getElementById("drawing").src.endsWith(%q)`, color, page))
	}
	do(t, ctx, "light", background(light, "#light"))
	do(t, ctx, "dark", click("#theme"), background(dark, "#dark"))
	do(t, ctx, "light again", click("#theme"), background(light, "#light"))
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
	for _, theme := range []string{"one theme", "the other"} {
		for _, view := range []string{"plan", "cards", "snapshot", "live", "tune"} {
			do(t, ctx, view, click("#tab-"+view), visible("#view-"+view))
			axe(t, ctx, view+", "+theme)
		}
		do(t, ctx, "the theme", click("#theme"))
	}
}

// accessible runs axe on what the page shows now, light and dark. The page ends in the theme in which it began.
func accessible(t *testing.T, ctx context.Context, state string) {
	t.Helper()
	source, err := os.ReadFile(os.Getenv("AXE"))
	if err != nil {
		return // TestAccessible is skipped and says why
	}
	do(t, ctx, "axe", script(string(source)))
	for range 2 {
		axe(t, ctx, state)
		do(t, ctx, "the theme", click("#theme"))
	}
}

// axe reports the serious problems that axe finds on the page.
func axe(t *testing.T, ctx context.Context, state string) {
	t.Helper()
	found, err := evaluate[[]string](ctx, `axe.run({iframes: false}).then(r => r.violations.filter(v => v.impact === "serious" || v.impact === "critical").map(v => v.id + ": " + v.nodes.map(n => n.html).slice(0, 3).join(" | ")))`, chromedp.EvalAwaitPromise)
	if err != nil {
		t.Fatalf("checking %s: %v", state, err)
	}
	for _, f := range found {
		t.Errorf("%s: %s", state, f)
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
	do(t, ctx, "the cards", click("#tab-cards"), shows("compare-text", "It fits on"))
	pictures(t, ctx, "cards")
	do(t, ctx, "a snapshot", click("#tab-snapshot"), upload("#snapshot", snapshot), shows("outcomes", "GiB"))
	pictures(t, ctx, "snapshot")
	do(t, ctx, "the planner in the dark", click("#tab-plan"), click("#theme"), planned, shows("ladder", "maximum"))
	pictures(t, ctx, "page-dark")
	do(t, ctx, "the snapshot in the dark", click("#tab-snapshot"), shows("outcomes", "GiB"))
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
		do(t, ctx, fmt.Sprintf("%s: at %d pixels the page need not be scrolled sideways", name, width), until(fmt.Sprintf(`innerWidth === %d && document.documentElement.scrollWidth <= innerWidth`, width)))
		folder := os.Getenv("PICTURES")
		if folder == "" {
			continue
		}
		// Chromium draws the frame of a snapshot only as far as the window reaches, so the window is made as high as the page.
		height, err := evaluate[int64](ctx, `document.documentElement.scrollHeight`)
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

// TestProfile checks that an uploaded profile is planned like any other model, also at other batches.
func TestProfile(t *testing.T) {
	folder, traces := t.TempDir(), "../testdata/measured/traces/resnet50-b%d-amp-bf16-sgdm-stacks.pickle.gz@batch=%[1]d"
	profile := filepath.Join(folder, "net.snug")
	if out, err := exec.Command(os.Getenv("SNUG"), "predict", fmt.Sprintf(traces, 4), fmt.Sprintf(traces, 6), "-o", profile).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	at := serve(t)
	ctx, complaints := browser(t)
	do(t, ctx, "opening", chromedp.Navigate(at+"#model=gpt2&batch=8&gpu=RTX-4090"), shows("gpu", "RTX-4090"), upload("#config", profile), shows("verdict", "net.snug fits on RTX-4090"), settled, shows("command", "snug estimate --model net.snug --batch 8"))
	sameOnTheCommandLine(t, ctx, folder)
	was := text(t, ctx, "verdict")
	do(t, ctx, "another batch", choose("#set-batch", "64"), differs("verdict", was), settled, shows("curve-text", "The largest batch that fits is"), planned, shows("ladder", "maximum"))
	sameOnTheCommandLine(t, ctx, folder)
	do(t, ctx, "without it", click("#forget"), shows("verdict", "seq is missing"))
	for _, c := range complaints() {
		if !strings.Contains(c, "400 (Bad Request)") { // gpt2 without tokens, before the upload and after it
			t.Errorf("console: %s", c)
		}
	}
}

// TestRowsStay checks what an update leaves in place: the focus on a button, the scroll position of a table, the parts of
// the bar, which move to their new widths, and the controls, which show the new plan.
func TestRowsStay(t *testing.T) {
	at := serve(t)
	ctx, complaints := browser(t)
	do(t, ctx, "opening", chromedp.Navigate(at+"#model=gpt2&batch=4&seq=256&gpu=RTX-3060"), shows("verdict", "gpt2 fits"), settled, planned, shows("ladder", "maximum"))
	const theSame = `same.button === document.activeElement && same.button.isConnected && same.part === document.querySelector("#bar .part") && same.row === document.querySelector("#tensors tbody tr") && same.precision === document.getElementById("set-precision") && document.querySelector("#tensors").parentElement.scrollTop === 40`
	do(t, ctx, "a focused button", focus(`#ladder [aria-label*="maximum"]`), script(`document.querySelector("#tensors").parentElement.scrollTop = 40;
		window.same = {button: document.activeElement, part: document.querySelector("#bar .part"), row: document.querySelector("#tensors tbody tr"), precision: document.getElementById("set-precision")}`))
	was, plan := text(t, ctx, "verdict"), text(t, ctx, "plan-text")
	do(t, ctx, "another batch", script(`{ const field = document.getElementById("set-batch"); field.value = 8; field.dispatchEvent(new Event("input")); same.disabled = same.button.getAttribute("aria-disabled"); }`),
		until(`same.disabled === "true"`), differs("verdict", was), settled, planned, differs("plan-text", plan), until(theSame))
	was = text(t, ctx, "verdict")
	do(t, ctx, "Enter uses the new plan", chromedp.KeyEvent(kb.Enter), differs("verdict", was), settled, planned, until(theSame), until(`same.precision.value === "amp-bf16" && location.hash.includes("precision=amp-bf16")`))
	for _, c := range complaints() {
		t.Errorf("console: %s", c)
	}
}

// TestLateAnswer checks that an answer that arrives after the card was changed is not shown as the new card's.
func TestLateAnswer(t *testing.T) {
	at := serve(t)
	ctx, complaints := browser(t)
	do(t, ctx, "opening", chromedp.Navigate(at+"#model=gpt2&batch=4&seq=256&gpu=T4"), shows("verdict", "gpt2 fits on T4"), settled, planned)
	do(t, ctx, "a slow server", script(`window.seen = [];
		new MutationObserver(() => seen.push(document.getElementById("verdict").textContent)).observe(document.getElementById("verdict"), {childList: true, characterData: true, subtree: true});
		const soon = window.fetch;
		window.fetch = async (path, ...more) => { const r = await soon(path, ...more); if (path.endsWith("/estimate")) await new Promise((done) => setTimeout(done, 300)); return r; };
		const batch = document.getElementById("set-batch"), gpu = document.getElementById("gpu");
		batch.value = 8; batch.dispatchEvent(new Event("input"));
		gpu.value = "H200"; gpu.dispatchEvent(new Event("change"))`), shows("verdict", "H200"), settled)
	seen, err := evaluate[[]string](ctx, `seen`)
	if err != nil {
		t.Fatal(err)
	}
	for _, verdict := range seen {
		if strings.Contains(verdict, "H200") && verdict != seen[len(seen)-1] {
			t.Errorf("the page has shown %q, then %q", verdict, seen[len(seen)-1])
		}
	}
	for _, c := range complaints() {
		t.Errorf("console: %s", c)
	}
}

// TestLinks checks that a link to a run replaces the run that the window shows, and that mistakes in the link are reported.
func TestLinks(t *testing.T) {
	at := serve(t)
	ctx, complaints := browser(t)
	do(t, ctx, "opening", chromedp.Navigate(at+"#model=gpt2&batch=4&seq=256&gpu=RTX-3060"), shows("verdict", "gpt2 fits on RTX-3060"))
	do(t, ctx, "a link in the same window", chromedp.Navigate(at+"#model=bert-base&batch=2&seq=128&gpu=T4"), shows("verdict", "bert-base fits on T4"))
	do(t, ctx, "with mistakes", chromedp.Navigate(at+"#model=bert-base&batch=2&seq=128&gpu=T5&batchsize=3"), shows("notice", "batchsize is not a setting. There is no card T5."), shows("verdict", "bert-base takes"))
	do(t, ctx, "the skip link", press("#skip", kb.Enter), until(`document.activeElement.id === "main" && location.hash.includes("bert-base")`))
	for _, c := range complaints() {
		t.Errorf("console: %s", c)
	}
}

// TestNothingFits checks a plan without any settings that fit.
func TestNothingFits(t *testing.T) {
	at := serve(t)
	ctx, complaints := browser(t)
	do(t, ctx, "opening", chromedp.Navigate(at+"#model=llama-3.1-8b&batch=16&seq=2048&gpu=RTX-4090"), shows("verdict", "GiB too much"), shows("plan-text", "Nothing fits with these settings. It would fit with"), shows("plan-text", "--lora-rank"), shows("rejected", "but the card has"))
	for _, c := range complaints() {
		t.Errorf("console: %s", c)
	}
}

// TestCommands checks that the command on the page gives the page's figure for settings of all kinds, even those without
// a flag.
func TestCommands(t *testing.T) {
	at := serve(t)
	ctx, complaints := browser(t)
	for _, run := range []string{
		"model=gpt2&batch=2&seq=128&checkpointing=true&use_reentrant=false&set_to_none=false&gpu=T4",
		"model=qwen2.5-0.5b&batch=2&seq=128&precision=amp-bf16&quantization.bits=8&lora.rank=8&lora.peft=true&lora.targets=q_proj,v_proj&gpu=L4",
		"model=qwen2.5-0.5b&batch=2&seq=128&precision=fp16&quantization.bits=4&quantization.method=gptq&lora.rank=8&lora.peft=true&gpu=L4",
		"model=gpt2&batch=2&seq=128&lora.rank=8&lora.peft=true&versions.peft=0.17.0&gpu=L4",
		"model=gpt2&batch=2&lengths=uniform:64-512&limit=8GiB&gpu=L4",
		"config={\"model_type\":\"gpt2\",\"n_layer\":2}&batch=2&seq=128&versions.trl=1.0&gpu=L4",
	} {
		t.Run(run, func(t *testing.T) {
			do(t, ctx, "opening", chromedp.Navigate("about:blank"), chromedp.Navigate(at+"#"+run), shows("verdict", "fits on"), settled)
			sameOnTheCommandLine(t, ctx, t.TempDir())
		})
	}
	for _, c := range complaints() {
		t.Errorf("console: %s", c)
	}
}
