// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// The driver's own actions look an element up and then use it in a second call, which fails if the page has replaced the
// element in between. The steps in this file look it up and use it in the same call, and repeat until that has worked. A step
// that has not worked after a minute fails and says why.

// step is an action in the window.
type step = chromedp.Action[chromedp.Void]

// do runs steps; if one fails, it fails the test with the description and what the page shows.
func do(t testing.TB, ctx context.Context, what string, actions ...step) {
	t.Helper()
	err := chromedp.Do(ctx, actions...)
	if err == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	shown, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`[location.href, ...["#notice", "#verdict", "[role=tabpanel]:not([hidden])"].map((s) => document.querySelector(s)?.innerText)].join("\n").slice(0, 2000)`))
	t.Fatalf("%s: %v\nThe page: %s", what, err, shown)
}

// repeat tries an action until it has worked, for at most a minute. The action returns "" or why it has not worked yet.
func repeat(what string, action func(context.Context, *chromedp.Target) (string, error)) step {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		within, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		why := "the page does not answer"
		for {
			reason, err := action(within, target)
			if err == nil && reason == "" {
				return nil
			}
			if within.Err() != nil {
				return fmt.Errorf("%s: %s", what, why)
			}
			if why = reason; err != nil {
				why = err.Error()
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
}

// evaluate returns the value of an expression. It asks again if the page is replaced at that moment.
func evaluate[T any](ctx context.Context, expression string, options ...chromedp.EvaluateOption) (T, error) {
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, options...))
		if e := (*cdproto.Error)(nil); !errors.As(err, &e) || e.Code != -32000 || time.Since(began) > time.Minute {
			return value, err // what the script itself throws is not such an error
		}
	}
}

// until waits until an expression is true.
func until(expression string) step {
	return repeat(expression, func(ctx context.Context, _ *chromedp.Target) (string, error) {
		if is, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression)); is || err != nil {
			return "", err
		}
		return "is not true", nil
	})
}

// script runs a script in the page.
func script(text string) step {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := evaluate[any](ctx, text+"; null")
		return err
	})
}

// onElement calls a JavaScript function with the element that a CSS selector finds, and with texts, until the
// function returns "". Until then, the function returns why it has not done its work.
func onElement(selector, function string, more ...string) step {
	return repeat(selector, func(ctx context.Context, _ *chromedp.Target) (string, error) {
		return chromedp.Run(ctx, chromedp.Evaluate[string](callOn(selector, function, missing, more...)))
	})
}

const missing = `"it is not on the page"`

// callOn returns the expression that calls a function with an element and with texts. If there is no such element,
// the expression yields without.
func callOn(selector, function, without string, more ...string) string {
	arguments := "e"
	for _, text := range more {
		arguments += fmt.Sprintf(", %q", text)
	}
	return fmt.Sprintf(`(() => { const e = document.querySelector(%q); return e ? (%s)(%s) : %s; })()`, selector, function, arguments, without)
}

// focus moves the focus to an element, and press presses keys there.
func focus(selector string) step {
	return onElement(selector, `(e) => { e.focus(); return document.activeElement === e ? "" : "it does not take the focus"; }`)
}

func press(selector string, keys ...string) step {
	return chromedp.Steps(focus(selector), chromedp.KeyEvent(strings.Join(keys, "")))
}

// choose gives a field a value, as a user does: the field's events follow.
func choose(selector, value string) step {
	return onElement(selector, `(e, value) => {
		if (e.matches(":disabled")) return "it is disabled";
		e.value = value;
		if (e.value !== value) return "it does not accept " + value;
		for (const name of ["input", "change"]) e.dispatchEvent(new Event(name, {bubbles: true}));
		return "";
	}`, value)
}

// visible and hidden wait until an element is, or is not, on the page and visible.
func visible(selector string) step {
	return onElement(selector, `(e) => e.checkVisibility({visibilityProperty: true}) && e.getClientRects().length ? "" : "it is hidden"`)
}

func hidden(selector string) step {
	return onElement(selector, `(e) => e.checkVisibility({visibilityProperty: true}) ? "it is visible" : ""`)
}

// upload chooses a file in a field for files.
func upload(selector, file string) step {
	return repeat(selector, func(ctx context.Context, target *chromedp.Target) (string, error) {
		field, err := chromedp.Run(ctx, chromedp.Evaluate[*runtime.RemoteObject](fmt.Sprintf("document.querySelector(%q)", selector)))
		if errors.Is(err, chromedp.ErrJSNull) || err == nil && (field == nil || field.ObjectID == "") {
			return "it is not on the page", nil
		}
		if err != nil {
			return "", err
		}
		if _, err := cdp.Call(ctx, target, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: []string{file}, ObjectID: field.ObjectID}); err != nil {
			return "", err
		}
		after, err := cdp.Call(ctx, target, runtime.CallFunctionOn, runtime.CallFunctionOnParams{ObjectID: field.ObjectID, FunctionDeclaration: `function () { return this.isConnected ? "used" : "replaced"; }`})
		if err == nil && !strings.Contains(string(after.Result.Value), "used") {
			return "it was replaced at that moment", nil
		}
		return "", err
	})
}

// aim scrolls to an element and returns where to click on it. Until that click, the page notices no other.
const aim = `(e, selector) => {
	if (!e.checkVisibility({visibilityProperty: true})) return {why: "it is hidden"};
	if (e.matches(":disabled, [aria-disabled=true]")) return {why: "it is disabled"};
	e.scrollIntoView({block: "center", inline: "center", behavior: "instant"});
	const box = e.getClientRects()[0], x = box.x + box.width / 2, y = box.y + box.height / 2, top = document.elementFromPoint(x, y);
	if (!e.contains(top)) return {why: "it is covered by " + (top?.outerHTML.slice(0, 200) ?? "the window's edge")};
	window.aimed?.end();
	const kinds = ["pointerdown", "mousedown", "pointerup", "mouseup", "click"];
	const watch = (event) => {
		if (!event.target.closest?.(selector)) {
			event.preventDefault();
			event.stopImmediatePropagation();
		} else if (event.type === "click") window.aimed.hit = true;
	};
	window.aimed = {hit: false, end: () => kinds.forEach((kind) => removeEventListener(kind, watch, true))};
	kinds.forEach((kind) => addEventListener(kind, watch, true));
	return {x, y, why: ""};
}`

// click clicks on an element with the mouse. If the element is replaced, or moves away, before the click arrives, it clicks again.
func click(selector string) step {
	return repeat(selector, func(ctx context.Context, target *chromedp.Target) (string, error) {
		type place struct {
			X, Y float64
			Why  string
		}
		at, err := chromedp.Run(ctx, chromedp.Evaluate[place](callOn(selector, aim, "{why: "+missing+"}", selector)))
		if err != nil || at.Why != "" {
			return at.Why, err
		}
		if err := chromedp.Do(ctx, chromedp.MouseClickXY(at.X, at.Y)); err != nil {
			return "", err
		}
		hit, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`window.aimed?.end() ?? null, window.aimed?.hit === true`))
		if err != nil || hit {
			return "", err
		}
		return "the click did not reach it", nil
	})
}

// settled waits until the answers belong to the settings on the page.
var settled = until(`document.getElementById("main")?.getAttribute("aria-busy") === "false"`)

// planned waits until the ladder's rows belong to the settings on the page.
var planned = until(`document.getElementById("ladder")?.getAttribute("aria-busy") === "false"`)

// shows waits until an element's text contains part.
func shows(id, part string) step {
	return until(fmt.Sprintf(`document.getElementById(%q)?.innerText.includes(%q) === true`, id, part)) // the page may still be loading
}

// differs waits until an element's text has changed.
func differs(id, was string) step {
	return until(fmt.Sprintf(`document.getElementById(%q).innerText !== %q`, id, was))
}

func text(t *testing.T, ctx context.Context, id string) string {
	t.Helper()
	out, err := evaluate[string](ctx, fmt.Sprintf(`document.getElementById(%q).innerText`, id))
	if err != nil {
		t.Fatalf("reading %s: %v", id, err)
	}
	return out
}

// TestSteps checks that the steps work on elements that the page replaces again and again, and that a step fails, and says
// why, if a user could not do it.
func TestSteps(t *testing.T) {
	at := serve(t)
	ctx, _ := browser(t)
	file := filepath.Join(t.TempDir(), "a.json")
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	const replace = `window.was = {};
		document.body.innerHTML = "<div id=here></div>";
		setInterval(() => {
			if (!window.still) document.getElementById("here").innerHTML = "<button id=press>Press</button><input id=field><input id=files type=file>";
		}, 30);
		for (const kind of ["click", "input", "change", "keydown"]) document.addEventListener(kind, (e) => { was[kind + " " + e.target.id] = e.target.files?.[0]?.name ?? e.target.value; });`
	do(t, ctx, "opening", chromedp.Navigate(at+"#model=gpt2&batch=4&seq=64"), settled, script(replace))
	do(t, ctx, "a click", click("#press"), until(`was["click press"] === ""`))
	do(t, ctx, "a value", choose("#field", "7"), until(`was["input field"] === "7"`))
	do(t, ctx, "a file", upload("#files", file), until(`was["change files"] === "a.json"`))
	do(t, ctx, "what is visible", visible("#press"), focus("#field"))

	const cover = `window.still = true; document.getElementById("press").style.visibility = "hidden"; document.getElementById("files").remove();
		{ const over = document.createElement("p"); over.style.cssText = "position: fixed; inset: 0"; document.body.append(over); }`
	do(t, ctx, "a cover", script(cover))
	for _, c := range []struct {
		step step
		want string
	}{
		{click("#press"), "#press: it is hidden"},
		{visible("#press"), "#press: it is hidden"},
		{hidden("#field"), "#field: it is visible"},
		{click("#field"), `#field: it is covered by <p style="position: fixed`},
		{upload("#files", file), "#files: it is not on the page"},
		{choose("#files", "7"), "#files: it is not on the page"},
		{until("no.such.thing"), "no is not defined"},
	} {
		short, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := chromedp.Do(short, c.step)
		cancel()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
