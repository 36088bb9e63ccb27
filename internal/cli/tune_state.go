// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"snug/internal/redact"
	"snug/internal/store"
	"snug/internal/tune"
)

// A tune is identified by its command, the folder it runs in, the files that the command names, and its options.
// If any of them changes, earlier trials do not apply.

// identity returns a name that identifies the command, its files and the given words.
func (t *tuner) identity(more ...string) string {
	h := sha256.New()
	add := func(text string) { fmt.Fprintf(h, "%d:%s\n", len(text), text) }
	add(absolute(t.o.folder))
	for _, w := range slices.Concat(t.allWords(), t.o.paths) {
		add(w)
		if text, err := (projectFiles{"."}).ReadFile(w[strings.LastIndex(w, "=")+1:]); err == nil {
			add(string(text))
		}
	}
	for _, w := range more {
		add(w)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// resume passes the results of an earlier tune of the same command to the climb. A trial that crashed or hung is
// run again, because the cause may be gone.
func (t *tuner) resume() error {
	t.key = t.identity(fmt.Sprint(t.climb.Candidates()[0].Effective()), fmt.Sprint(t.limit), fmt.Sprint(t.o.margin), t.card.Name, strings.Join(t.o.lock, ","))
	if t.o.fresh {
		return nil
	}
	kept, err := fromStore(t.env, func(s *store.Store) ([]store.Trial, error) { return s.Trials(t.key) })
	if err != nil {
		return err
	}
	byKey := map[string]tune.Candidate{}
	for _, c := range t.climb.Candidates() {
		byKey[c.Key()] = c
	}
	for _, k := range kept {
		var r tune.Result
		c, ok := byKey[k.Settings]
		if json.Unmarshal(k.Result, &r) != nil || !ok || r.Outcome != tune.Fits && r.Outcome != tune.OutOfMemory {
			continue
		}
		t.climb.Record(c, r)
		t.lines = append(t.lines, trialRecord{c, r, true})
		t.earlier++
		t.started++
	}
	if t.earlier > 0 {
		t.env.say(fmt.Sprintf("reusing %s from an earlier run of this command; --fresh starts over", counted(t.earlier, "trial")))
	}
	return nil
}

// keep stores a trial when it ends.
func (t *tuner) keep(c tune.Candidate, r tune.Result) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	s, err := store.Open(store.Path(t.env.Getenv))
	if err != nil {
		return err
	}
	defer s.Close()
	return s.AddTrial(store.Trial{
		Tune: t.key, Command: strings.Join(redact.Words(t.words), " "), Settings: c.Key(), Predicted: c.Predicted,
		Outcome: string(r.Outcome), Result: text,
	})
}

// publish stores the current report, so that another process (snug serve) can follow the tune.
func (t *tuner) publish(files *applyReport, running bool) {
	err := func() error {
		text, err := json.Marshal(t.asJSON(files))
		if err != nil {
			return err
		}
		s, err := store.Open(store.Path(t.env.Getenv))
		if err != nil {
			return err
		}
		defer s.Close()
		return s.SaveTune(store.Tune{ID: t.key, Running: running, Report: text})
	}()
	if err != nil && !t.unpublished {
		t.unpublished = true
		t.env.say("snug serve cannot show these trials, because their report cannot be stored: " + oneLine(err.Error()))
	}
}
