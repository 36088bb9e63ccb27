// SPDX-License-Identifier: Apache-2.0

package setup

import "snug/internal/family"

// Models that turn sound into text.

// completeSound checks the lengths of a model whose encoder takes sound of one length, so that the only tokens are those
// of the decoder: {seq} and {target_seq} mean the same.
func (s *Setup) completeSound(p family.Positions) error {
	switch {
	case !p.Sound || s.TargetSeq == 0:
		return nil
	case s.Seq > 0 && s.Seq != s.TargetSeq:
		return Wrong("{seq} is %d and {target_seq} is %d, but %s takes sound of one length, and both are the tokens of its labels; remove one", s.Seq, s.TargetSeq, s.Model.Title())
	}
	s.Seq, s.TargetSeq = s.TargetSeq, 0
	return nil
}
