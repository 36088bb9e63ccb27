// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"snug/internal/watch"
)

// Hook is a command that runs when a state is reached.
type Hook struct {
	State   watch.State // "" means any state
	Command []string    // the program and its arguments
}

// Hooks runs commands when the state changes. They run in the background: a slow one delays nothing, and a failure is
// reported.
type Hooks struct {
	List []Hook                                              // the commands
	Run  func(ctx context.Context, args, env []string) error // starts a program and waits for it
	Warn func(string)                                        // shows a warning to the user

	wait sync.WaitGroup
}

// patience is how long a command may take.
const patience = time.Minute

// Event starts the commands for a state that was just reached.
func (h *Hooks) Event(_ watch.Event, w *watch.Watcher, changed bool) error {
	r := w.Now()
	if !changed {
		return nil
	}
	for _, hook := range h.List {
		if hook.State != "" && hook.State != r.State {
			continue
		}
		h.wait.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if err := h.Run(ctx, fill(hook.Command, r), variables(r)); err != nil {
				h.Warn(fmt.Sprintf("the command for %s: %v", r.State, err))
			}
		})
	}
	return nil
}

// Close waits for the commands to end.
func (h *Hooks) Close(*watch.Watcher) error {
	h.wait.Wait()
	return nil
}

// variables returns the environment variables for a command.
func variables(r watch.Reading) []string {
	out := []string{"SNUG_STATE=" + string(r.State), "SNUG_WHY=" + r.Why, "SNUG_STEP=" + strconv.Itoa(r.Step), "SNUG_ADVICE=" + r.Advice}
	if r.StepsToOOM != nil {
		out = append(out, "SNUG_STEPS_TO_OOM="+strconv.Itoa(r.StepsToOOM[1]))
	}
	return out
}

// ParseState parses a state as users write it, including leak for leaking and oom for out-of-memory.
func ParseState(text string) (watch.State, error) {
	switch text {
	case "leak":
		return watch.Leaking, nil
	case "oom":
		return watch.OutOfMemory, nil
	case "end":
		return watch.Ended, nil
	}
	if s := watch.State(text); slices.Contains(watch.States, s) {
		return s, nil
	}
	return "", fmt.Errorf("%q is not a state; the states are %s", text, stateNames())
}

func stateNames() string {
	out := ""
	for i, s := range watch.States {
		if i > 0 {
			out += ", "
		}
		out += string(s)
	}
	return out
}

// Placeholders for a notification's texts in its command.
const (
	stateMark = "\x00state"
	whyMark   = "\x00why"
)

// Notification returns the hook that shows a desktop notification for a state on this system.
func Notification(s watch.State) Hook {
	if runtime.GOOS == "darwin" {
		script := "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run"
		return Hook{s, []string{"osascript", "-e", script, stateMark, whyMark}}
	}
	return Hook{s, []string{"notify-send", "--app-name=snug", stateMark, whyMark}}
}

// fill replaces the placeholders in a notification's command.
func fill(args []string, r watch.Reading) []string {
	out := slices.Clone(args)
	for i, a := range out {
		switch a {
		case stateMark:
			out[i] = "snug: " + string(r.State)
		case whyMark:
			out[i] = r.Why
		}
	}
	return out
}
