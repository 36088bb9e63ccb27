// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/record"
	"snug/internal/setup"
	"snug/internal/term"
	"snug/internal/units"
)

type maxBatchOptions struct {
	setupFlags
	projectFlags
	json  bool
	short bool
}

const maxBatchLong = `Find the largest batch that trains within a limit or a card's memory: the card
that --gpu names, or else the card of this machine (ignored with --json).

Each batch is tried in a full simulated run at that limit, so fragmentation and
the allocator's retries are included. Also shows the largest batch that is sure
to fit, even if the estimate is off by as much as earlier ones were: sure_batch
in the output of --json, after max_batch and peak_reserved; 0 if there is none.`

func newMaxBatch(env Env) *cobra.Command {
	var o maxBatchOptions
	cmd := &cobra.Command{
		Use:     "max-batch [MODEL | -- COMMAND...]",
		Short:   "Find the largest batch that fits",
		Long:    maxBatchLong + "\n\n" + ofProfiles + "\n\n" + manySetups,
		Example: "  snug max-batch gpt2 --seq 1024 --precision amp-bf16 --gpu RTX-4090\n  snug max-batch --setup run.yaml --short",
		Args:    func(cmd *cobra.Command, args []string) error { return o.runArgs(cmd, args, &o.projectFlags) },
		RunE:    func(cmd *cobra.Command, _ []string) error { return runMaxBatch(cmd.Context(), env, o) },
	}
	o.add(cmd)
	o.addTo(cmd.Flags())
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object per setup")
	cmd.Flags().BoolVar(&o.short, "short", false, shortUsage)
	return cmd
}

// runMaxBatch reads the setups, searches and prints the answers.
func runMaxBatch(ctx context.Context, env Env, o maxBatchOptions) error {
	o.anyBatch = true
	if err := shortOrJSON(o.short, o.json); err != nil {
		return err
	}
	into, err := o.roomIn(ctx, env, o.json)
	if err != nil {
		return err
	}
	requests, err := o.requestsIn(env, &o.projectFlags)
	if err != nil {
		return err
	}
	past := env.past(into.name(o.gpu))
	defer past.Close()
	none, notes, cores := false, notesOnce{}, estimate.NewCores(atOnce())
	introduced := false // whether the note on this machine's card was printed
	failed, err := answer(env, o.json, simulating, requests,
		func(s *setup.Setup) (edge, error) { return o.ask(s, into.card(s), past, cores) },
		func(a edge) error {
			none = none || a.MaxBatch == 0
			run := a.tried().Setup
			card := into.card(run)
			defer func() {
				notes.about(env, run, card)
				notes.say(env, o.warnings)
				if o.flags.Changed("batch") {
					notes.say(env, []string{fmt.Sprintf("--batch %s is not used: max-batch searches for the batch", o.flags.Lookup("batch").Value)})
				}
				notes.uncounted(env, run)
			}()
			if o.json {
				return printJSON(env.Stdout, struct {
					*estimate.MaxAnswer
					SureBatch int      `json:"sure_batch"`
					Notes     []string `json:"notes,omitempty"`
				}{a.MaxAnswer, a.safeBatch(), allNotes(run, card, o.warnings)})
			}
			origin := ""
			if !introduced {
				origin = into.origin(run)
				introduced = origin != ""
			}
			text, err := o.text(ctx, env, a, card, origin)
			if err == nil {
				_, err = io.WriteString(env.Stdout, text)
			}
			return err
		})
	if err == nil && failed == 0 && none {
		return found{}
	}
	return err
}

// text returns an answer as text, or with --short as one line. One of many answers begins with its name. If not
// even one sample fits, it ends with changes that would make it fit.
func (o *maxBatchOptions) text(ctx context.Context, env Env, a edge, card gpu.Card, origin string) (string, error) {
	if o.short {
		return a.short(card, o.assumesFP32(a.tried().Setup)), nil
	}
	defer env.working("searching for what fits")()
	a, err := a.withRoom(card)
	if err != nil {
		return "", err
	}
	name, s := "", env.screen()
	if a.ID != "" || o.file != "" {
		name = a.name() + ": "
	}
	text, err := a.withLoad(card)
	if err != nil {
		return "", err
	}
	text = paragraph(name+text, s)
	if origin != "" {
		text = paragraph(origin+".", s) + text
	}
	if a.Best != nil {
		return text + o.about(a, s), nil
	}
	fixes, err := remediesText(ctx, a.Next.Setup, card, s)
	return text + fixes + o.about(a, s), err
}

// about describes the run, because flags and config files leave some settings at their defaults. It returns nothing
// for a file of setups, which describes its runs in full.
func (o *maxBatchOptions) about(a edge, s term.Screen) string {
	if o.file != "" {
		return ""
	}
	run := a.tried().Setup
	lines := append([]string{"", s.Cut(run.ModelTitle(), s.Width)}, wrap(settings(run.AsRecorded()), ", ", s.Width)...)
	if o.from != "" {
		lines = append(lines, s.Cut(o.from, s.Width))
	}
	return strings.Join(lines, "\n") + "\n"
}

// errNoRoom is the error if no flag gives a limit.
var errNoRoom = errors.New("--gpu, --gpu-memory or --limit is required")

// edge is the largest batch, and the run at the largest batch that is sure to fit.
type edge struct {
	*estimate.MaxAnswer
	safe  *estimate.Answer
	roomy units.Bytes // what the largest batch would take with more memory, derived from the next larger batch
}

// withRoom returns the edge with what its batch would take with more memory.
func (m edge) withRoom(card gpu.Card) (edge, error) {
	if m.Best == nil || m.Next == nil {
		return m, nil
	}
	free := *m.Best.Setup
	free.Limit, card.Total = 0, 0
	a, err := estimate.Figures(&free, card)
	if err != nil {
		return m, err
	}
	m.roomy = units.Bytes(a.PeakReserved)
	if m.Best.Setup.Limit == 0 {
		m.roomy += units.Bytes(m.Best.Outside)
	}
	return m, nil
}

// safeBatch returns the largest batch that is sure to fit, or 0 if none is.
func (m edge) safeBatch() int {
	if m.safe == nil {
		return 0
	}
	return m.safe.Setup.Batch
}

// ask finds the largest batch and the largest that is sure to fit.
func (o *maxBatchOptions) ask(s *setup.Setup, card gpu.Card, past *record.Past, cores estimate.Cores) (edge, error) {
	if err := estimate.Runnable(s, card); err != nil {
		return edge{}, err
	}
	m, err := cores.MaxBatch(s, card)
	if errors.Is(err, estimate.ErrNoLimit) {
		err = errNoRoom
	}
	if err != nil {
		return edge{MaxAnswer: m}, err
	}
	if m.Flat {
		return edge{MaxAnswer: m}, errors.New("the batch does not change the memory of this run, so there is no largest one; its data has sizes of its own")
	}
	past.Calibrate(m.Best, card)
	safe, err := m.SafeBatch(m.Best)
	return edge{MaxAnswer: m, safe: safe}, err
}

// tried returns a run that the search tried.
func (m edge) tried() *estimate.Answer { return cmp.Or(m.Best, m.Next) }

// name returns the name of the run.
func (m edge) name() string { return cmp.Or(m.ID, m.tried().Setup.ModelTitle()) }

// withLoad returns the text, with a note on loading if nothing fits.
func (m edge) withLoad(card gpu.Card) (string, error) {
	if m.Best != nil {
		return m.text(card), nil
	}
	load, err := loadText(m.Next, card)
	return m.text(card) + " " + load, err
}

// into describes where the runs must fit, with a preposition.
func (m edge) into(card gpu.Card) string {
	if limit := m.tried().Setup.Limit; card.Total > 0 && (limit == 0 || limit > card.Total) {
		if card.Unnamed && !card.Least {
			return "in " + called(card)
		}
		return "on " + called(card)
	}
	return "within the limit"
}

// beyond returns the memory of the batch that does not fit, or how much more it is if both would be written alike.
func beyond(fits, next units.Bytes) string {
	if fits.String() == next.String() && next > fits {
		return fmt.Sprintf("%v more", next-fits)
	}
	return next.String()
}

// text returns the answer in a sentence or two: the largest batch, and the largest at which the whole interval
// fits.
func (m edge) text(card gpu.Card) string {
	into := m.into(card)
	switch {
	case m.Best == nil:
		return fmt.Sprintf("Not even a batch of 1 fits %s; it needs %v.", into, held(m.Next))
	case m.Flat:
		return "The batch does not change the memory of this run."
	case m.Next == nil && m.Ends > 0:
		return fmt.Sprintf("A batch of %s fits %s; the script cannot be followed with a larger one, such as one with more samples than the data has.", term.Count(m.MaxBatch), into)
	case m.Next == nil:
		return fmt.Sprintf("A batch of %s fits %s; larger ones were not tried.", term.Count(m.MaxBatch), into)
	}
	text := fmt.Sprintf("The largest batch that fits %s is %s, with %v; %s would need %s.", into,
		term.Count(m.MaxBatch), held(m.Best), term.Count(m.MaxBatch+1), beyond(held(m.Best), held(m.Next)))
	if m.roomy > held(m.Best) {
		text = fmt.Sprintf("The largest batch that fits %s is %s, with %v. It fits because PyTorch empties its cache; with more memory it would take %v. %s would need %v and does not fit.", into,
			term.Count(m.MaxBatch), held(m.Best), m.roomy, term.Count(m.MaxBatch+1), held(m.Next))
	}
	off := "if the estimate is off by as much as earlier ones were."
	if estimate.Profile(m.Best.Setup) != nil { // the interval then also covers what the profile does not determine
		off = "if the run takes more than estimated."
	}
	if m.Fails > 0 {
		text += fmt.Sprintf(" %s does not fit, although it needs less, because free memory is then fragmented.", term.Count(m.Fails))
	}
	switch {
	case m.safe == nil:
		return text + " No batch is sure to fit; even 1 might not " + off
	case m.safe.Setup.Batch < m.MaxBatch && m.Fails > 0:
		return text + fmt.Sprintf(" %s is sure to fit; %s might not ", term.Count(m.safe.Setup.Batch), term.Count(m.MaxBatch)) + off
	case m.safe.Setup.Batch < m.MaxBatch:
		return text + fmt.Sprintf(" Batches up to %s are sure to fit; larger ones might not ", term.Count(m.safe.Setup.Batch)) + off
	}
	return text
}

// held returns the memory that must fit: for a limit only what PyTorch reserves, for a card also the memory
// outside PyTorch.
func held(a *estimate.Answer) units.Bytes {
	if a.Setup.Limit > 0 {
		return units.Bytes(a.PeakReserved)
	}
	return units.Bytes(a.DevicePeak)
}
