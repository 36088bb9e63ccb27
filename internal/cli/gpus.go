// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"snug/internal/gpu"
)

type gpusOptions struct {
	all, json bool
}

const gpusLong = `Show the GPUs of this machine, their free memory, and the processes that use the
rest. GPUs are numbered as in PyTorch; those hidden by CUDA_VISIBLE_DEVICES are
marked.

With --all, list the cards that --gpu accepts. With a NAME, show the facts about
one card. Neither needs a GPU.`

func newGPUs(env Env) *cobra.Command {
	var o gpusOptions
	cmd := &cobra.Command{
		Use:     "gpus [NAME]",
		Short:   "Show the GPUs of this machine, or all known cards",
		Long:    gpusLong,
		Example: "  snug gpus\n  snug gpus --all\n  snug gpus rtx4090 --json",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("gpus accepts one name, not %d; put quotes around a name with spaces", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runGPUs(cmd.Context(), env, o, args) },
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "list all known cards")
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runGPUs(ctx context.Context, env Env, o gpusOptions, args []string) error {
	switch {
	case o.all && len(args) > 0:
		return errors.New("--all and a name cannot be combined; give one of them")
	case o.all:
		return showCards(env, o, gpu.Cards())
	case len(args) > 0:
		card, err := gpu.Find(args[0])
		if err != nil {
			return err
		}
		return showCard(env, o, card)
	}
	return showMachine(env, o, env.machine(ctx))
}

func showCards(env Env, o gpusOptions, cards []gpu.Card) error {
	if !o.json {
		return printLines(env.Stdout, cardTable(env.screen(), cards))
	}
	answers := make([]cardAnswer, len(cards))
	for i, c := range cards {
		answers[i] = newCardAnswer(c)
	}
	return printJSON(env.Stdout, struct {
		Cards []cardAnswer `json:"cards"`
	}{answers})
}

func showCard(env Env, o gpusOptions, c gpu.Card) error {
	if o.json {
		return printJSON(env.Stdout, newCardAnswer(c))
	}
	return printLines(env.Stdout, cardSheet(env.screen(), c))
}

func showMachine(env Env, o gpusOptions, m *gpu.Machine) error {
	if o.json {
		return printJSON(env.Stdout, newMachineAnswer(m))
	}
	return printLines(env.Stdout, machineReport{m, env.screen()}.lines())
}
