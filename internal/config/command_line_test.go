// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommandSettings(t *testing.T) {
	for command, want := range map[string]string{
		"python train.py --batch-size 8":                     "batch: --batch-size 8",
		"python train.py --batch_size=8 --lr 1e-4":           "batch: --batch_size 8",
		"torchrun train.py --per_device_train_batch_size 16": "batch: --per_device_train_batch_size 16",
		"python train.py data.batch_size=4":                  "batch: data.batch_size 4",
		"python train.py --eval-batch-size 4":                "",
		"python train.py --config conf.yaml":                 "",
		"python train.py --seq-len 128":                      "seq: --seq-len 128",
		"python it's.py --batch-size 8":                      "batch: --batch-size 8",
		"":                                                   "",
	} {
		var got []string
		for _, b := range CommandSettings(strings.Fields(command)) {
			got = append(got, fmt.Sprintf("%s: %s %s", b.Setting, strings.Trim(b.Path.String(), `"`), b.Text))
		}
		if diff := cmp.Diff(want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s (-want +got)\n%s", command, diff)
		}
	}
}

func FuzzSpoken(f *testing.F) {
	f.Add("python train.py --batch-size 8")
	f.Add("sh -c 'a $(b' \x00 {batch} '")
	f.Fuzz(func(_ *testing.T, line string) { CommandSettings(strings.Split(line, " ")) })
}
