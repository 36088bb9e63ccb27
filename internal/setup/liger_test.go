// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLiger(t *testing.T) {
	for text, want := range map[string][]string{
		`[]`:                    nil,
		`null`:                  nil,
		`["mlp", "rope"]`:       {"rope", "mlp"},
		`["norm", "norm"]`:      {"norm"},
		`["all"]`:               {"rope", "norm", "mlp"},
		`["rope", "all"]`:       {"rope", "norm", "mlp"},
		`["mlp","norm","rope"]`: {"rope", "norm", "mlp"},
	} {
		s, err := oneSetup(`{"model": {"config": {"model_type": "llama"}}, "batch": 4, "seq": 8, "liger": `+text+`}`, Source{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, s.Liger); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestLigerWrong(t *testing.T) {
	for text, want := range map[string]string{
		`["norms"]`:         `liger "norms" is not known; did you mean norm?`,
		`["swiglu"]`:        `liger "swiglu" is not known; known: rope, norm, mlp, all`,
		`"all"`:             `liger is "all"; it must be a list of names`,
		`[1]`:               `liger contains 1; it must be a list of names`,
		`[], "loss": "lig"`: `loss "lig" is not known`,
	} {
		_, err := oneSetup(`{"model": {"config": {"model_type": "llama"}}, "batch": 4, "seq": 8, "liger": `+text+`}`, Source{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}
