// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"snug/internal/gpu"
	"snug/internal/setup"
	"snug/internal/units"
)

// room is what a run must fit into: the card that the flags name, or else the card of this machine. A setup
// with its own limit must fit only that.
type room struct {
	named gpu.Card   // has no Total if no flag names a card
	here  *gpu.Place // the card of this machine; nil if another is named, there is none, or it is not needed
}

// roomIn returns the room of a command. JSON answers must be the same on every machine, so they use only a
// named card.
func (f *setupFlags) roomIn(ctx context.Context, env Env, json bool) (room, error) {
	card, err := f.card()
	if err != nil || json || f.gpu != "" || f.gpuMemory != "" {
		return room{named: card}, err
	}
	visible := env.machine(ctx).Visible()
	if len(visible) == 0 {
		return room{named: card}, nil
	}
	return room{named: card, here: &visible[0]}, nil
}

// card returns the card for a setup. Memory that other processes use on this machine's card is not available
// to the run.
func (r room) card(s *setup.Setup) gpu.Card {
	if r.here == nil || s.Limit > 0 {
		return r.named
	}
	c := r.here.Card
	c.Total -= r.taken()
	return c
}

// taken returns the memory that other processes use on this machine's card.
func (r room) taken() uint64 {
	if r.here == nil || r.here.Free == 0 || r.here.Free > r.here.Total {
		return 0
	}
	return r.here.Total - r.here.Free
}

// name returns the name of the card, to look up earlier measurements; "" if only its memory is known.
func (r room) name(flag string) string {
	if r.here != nil {
		return r.here.Name
	}
	return flag
}

// origin returns a note if the card for a setup is this machine's; "" for other cards.
func (r room) origin(s *setup.Setup) string {
	if r.here == nil || s.Limit > 0 {
		return ""
	}
	inUse := ""
	if taken := r.taken(); taken > 0 {
		inUse = fmt.Sprintf(", with %v in use", units.Bytes(taken))
	}
	return fmt.Sprintf("%s is the card of this machine (cuda:%d)%s; --gpu names another", r.here.Name, r.here.Ordinal, inUse)
}
