// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"

	"snug/internal/family"
)

// releases are the versions of a library whose code was read or measured. Any other version is refused, because a
// guess would look like a fact. PyTorch's are in package allocator.
type releases struct {
	key            string
	oldest, newest string
	of             func(Versions) string
}

// knownReleases lists the known releases of the libraries around PyTorch.
var knownReleases = []releases{
	{"transformers", OldestTransformers, NewestTransformers, func(v Versions) string { return v.Transformers }},
	{"bitsandbytes", "0.43", "0.50", func(v Versions) string { return v.BitsAndBytes }},
	{"peft", "0.16", NewestPEFT, func(v Versions) string { return v.PEFT }},
	{"trl", "0.20", NewestTRL, func(v Versions) string { return v.TRL }},
	{"accelerate", "1.0", NewestAccelerate, func(v Versions) string { return v.Accelerate }},
}

// The newest known releases of libraries whose versions hardly matter.
const (
	NewestPEFT       = "0.21"
	NewestTRL        = "1.16"
	NewestAccelerate = "1.15"
)

// firstTRLLoss is the TRL release that introduced its own loss, and TRLLossRelease the first that computes it as
// simulated.
const (
	firstTRLLoss   = 104
	TRLLossRelease = 115
)

// checkVersions records an error for text that is not a version, or for an unknown version.
func (o *object) checkVersions(s *Setup) {
	for _, r := range knownReleases {
		o.checkRelease(r, r.of(s.Versions))
	}
	if cuda := s.Versions.CUDA; cuda != "" && release(cuda) == 0 {
		o.fail("cuda", " %q is not a version; write it like 13.0", cuda)
	}
}

func (o *object) checkRelease(r releases, text string) {
	if text == "" {
		return
	}
	switch n := release(text); {
	case n == 0:
		o.fail(r.key, " %q is not a version; write it like %s", text, r.newest)
	case n < release(r.oldest) || n > release(r.newest):
		o.fail(r.key, " %s is not supported; choose %s to %s, or omit it for the newest", text, r.oldest, r.newest)
	}
}

// release returns a version as a number, such as 445 for "4.45.2"; 0 if it is not a version.
func release(version string) int {
	var major, minor int
	if n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor); n != 2 || minor > 99 {
		return 0
	}
	return 100*major + minor
}

// TRLRelease returns the TRL release whose loss is simulated: 115 for 1.15.
func (v Versions) TRLRelease() int {
	if v.TRL == "" {
		return release(NewestTRL)
	}
	return release(v.TRL)
}

// Simulated returns the PyTorch and transformers versions that a run is simulated with, given or assumed. A model
// that is not in transformers has no transformers version.
func (s *Setup) Simulated() Versions {
	v := Versions{Torch: s.Versions.Torch}
	if n := s.Versions.TransformersRelease(); s.runsTransformers() {
		v.Transformers = fmt.Sprintf("%d.%d", n/100, n%100)
	}
	return v
}

// runsTransformers reports whether the model runs transformers' code.
func (s *Setup) runsTransformers() bool {
	return s.Model.Config != nil && s.Model.Program == nil && s.Model.Family() != family.NanoGPT && s.Loop != "torchtune"
}

// transformersPhrase returns the transformers version, and whether it was assumed.
func (s *Setup) transformersPhrase() []string {
	switch v := s.Simulated().Transformers; {
	case v == "":
		return nil
	case s.Versions.Transformers == "":
		return []string{"transformers " + v + " assumed"}
	default:
		return []string{"transformers " + v}
	}
}
