// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"snug/internal/estimate"
	"snug/internal/setup"
	"snug/internal/units"
)

type maxBatchOptions struct {
	setupFlags
	json bool
}

const maxBatchLong = `Find the largest batch that trains within a limit or a card's memory.

Every batch that is tried is a whole simulated run at that limit, so that
fragmentation and the allocator's retries count.`

func newMaxBatch(env Env) *cobra.Command {
	var o maxBatchOptions
	cmd := &cobra.Command{
		Use:     "max-batch",
		Short:   "Find the largest batch that fits",
		Long:    maxBatchLong,
		Example: "  snug max-batch --model gpt2 --seq 1024 --precision amp-bf16 --gpu RTX-4090",
		Args:    noArgs,
		RunE:    func(*cobra.Command, []string) error { return runMaxBatch(env, o) },
	}
	o.add(cmd)
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object a setup")
	return cmd
}

func runMaxBatch(env Env, o maxBatchOptions) error {
	card, err := o.card()
	if err != nil {
		return err
	}
	requests, err := o.requestsForAnyBatch(env)
	if err != nil {
		return err
	}
	none := false
	failed, err := answer(env, o.json, requests,
		func(s *setup.Setup) (*estimate.MaxAnswer, error) {
			if s.Limit == 0 && card.Total == 0 {
				return nil, errors.New("there is nothing to fit into; give a limit, --gpu or --gpu-memory")
			}
			return estimate.MaxBatch(s, card)
		},
		func(a *estimate.MaxAnswer) error {
			none = none || a.MaxBatch == 0
			if o.json {
				return printJSON(env.Stdout, a)
			}
			_, err := fmt.Fprintln(env.Stdout, maxBatchText(a))
			return err
		})
	if err == nil && failed == 0 && none {
		return found{}
	}
	return err
}

// requestsForAnyBatch reads setups whose batch does not matter.
func (o *maxBatchOptions) requestsForAnyBatch(env Env) ([]request, error) {
	if o.file == "" && !o.flags.Changed("batch") {
		if err := o.flags.Set("batch", "1"); err != nil {
			return nil, err
		}
	}
	return o.requests(env)
}

func maxBatchText(a *estimate.MaxAnswer) string {
	s := a.At.Setup
	if a.MaxBatch == 0 {
		return fmt.Sprintf("%s: not even a batch of 1 fits: it would take %v", s.Model.Title(), units.Bytes(a.PeakReserved))
	}
	return fmt.Sprintf("%s: batch %d fits, reserving %v; %d does not", s.Model.Title(), a.MaxBatch, units.Bytes(a.PeakReserved), a.MaxBatch+1)
}
