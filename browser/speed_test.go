// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"testing"

	"github.com/chromedp/chromedp"
)

// measure runs a script that measures something a number of times and yields milliseconds in ascending order. It reports the
// median, the slowest of ten, and the slowest.
func measure(b *testing.B, ctx context.Context, run string) {
	b.Helper()
	ms, err := evaluate[[]float64](ctx, run, chromedp.EvalAwaitPromise)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(ms[len(ms)/2], "ms/median")
	b.ReportMetric(ms[len(ms)*9/10], "ms/9-of-10")
	b.ReportMetric(ms[len(ms)-1], "ms/slowest")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkSlider measures the time from a move of the batch's slider until the page shows the new answer.
func BenchmarkSlider(b *testing.B) {
	at := serve(b)
	ctx, _ := browser(b)
	do(b, ctx, "opening", chromedp.Navigate(at+"#model=llama-3.2-1b&batch=1&seq=512&gpu=A100-80GB"), shows("verdict", "llama-3.2-1b fits"), settled, planned)
	measure(b, ctx, `(async () => {
		const slider = document.querySelector("#main-settings .row input[type=range]"), verdict = document.getElementById("verdict"), out = [];
		for (let at = 15; at <= 75; at += 15) for (const by of [0, 1, 2, 3, 4, 5, 6, 7]) { // neighbors may be the same batch
			const was = verdict.textContent, number = document.getElementById("set-batch").value;
			slider.value = at + by;
			const begin = performance.now();
			slider.dispatchEvent(new Event("input"));
			if (document.getElementById("set-batch").value === number) continue;
			await new Promise((done) => { const o = new MutationObserver(() => { if (verdict.textContent !== was) { o.disconnect(); done(); } }); o.observe(verdict, {childList: true, characterData: true, subtree: true}); });
			out.push(performance.now() - begin);
			await new Promise((done) => setTimeout(done, 100));
		}
		return out.sort((a, b) => a - b);
	})()`)
}

// BenchmarkHover measures the time from a move of the pointer over the timeline until the text that names the tensors
// there has been drawn.
func BenchmarkHover(b *testing.B) {
	at := serve(b)
	ctx, _ := browser(b)
	do(b, ctx, "opening", chromedp.Navigate(at+"#model=llama-3.2-1b&batch=4&seq=1024&precision=amp-bf16&gpu=A100-80GB"), shows("verdict", "llama-3.2-1b fits"), settled, planned)
	measure(b, ctx, `(async () => {
		const over = document.querySelector("#timeline .u-over"), text = document.getElementById("hover"), out = [], box = over.getBoundingClientRect();
		const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
		for (let x = 5; x < box.width - 5; x += 4) {
			await drawn();
			const begin = performance.now(), was = text.textContent;
			over.dispatchEvent(new MouseEvent("mousemove", {clientX: box.left + x, clientY: box.top + 3, movementX: 4, bubbles: true, view: window}));
			await drawn();
			if (text.textContent !== was) out.push(performance.now() - begin);
		}
		if (out.length < 20) throw new Error("the text changed only " + out.length + " times");
		return out.sort((a, b) => a - b);
	})()`)
}
