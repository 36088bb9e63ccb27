// SPDX-License-Identifier: Apache-2.0

package record

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/run"
)

func TestRunText(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("train.sh", "#!/usr/bin/env -S bash -e\necho\n", 0o755)
	write("plain.sh", "#!/bin/sh\necho\n", 0o644)
	write("train.fish", "#!/usr/bin/fish\necho\n", 0o755)
	for _, c := range []struct{ command, file, want string }{
		{"./train.sh a b", "train.sh", "/usr/bin/env bash -e -c TEXT ./train.sh a b"},
		{"nohup ./train.sh", "train.sh", "nohup /usr/bin/env bash -e -c TEXT ./train.sh"},
		{"bash train.sh a", "train.sh", "bash -c TEXT train.sh a"},
		{"/bin/sh -e ./train.sh", "train.sh", "/bin/sh -e -c TEXT ./train.sh"},
		{"bash -euo pipefail +x --norc -- plain.sh a -- b", "plain.sh", "bash -euo pipefail +x --norc -c TEXT plain.sh a -- b"},
		{"./plain.sh", "plain.sh", "./plain.sh"}, // not executable, so the system reports the error
		{"./train.fish", "train.fish", ""},
		{"srun ./train.sh", "train.sh", ""},
		{"bash other.sh train.sh", "train.sh", ""},
		{"bash -c ./train.sh train.sh", "train.sh", ""},
	} {
		l := run.ReadLaunch(strings.Fields(c.command))
		bound := &command{files: userFiles{localFiles{}}, args: l.Args}
		text, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		ran, err := bound.runText(l.Program, c.file, text)
		got := ""
		if ran {
			got = strings.ReplaceAll(strings.Join(bound.args, " "), string(text), "TEXT")
		}
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", c.command, err, diff)
		}
	}
}

func TestBashSourceIsZero(t *testing.T) {
	for _, c := range [][2]string{
		{`cd "$(dirname "${BASH_SOURCE[0]}")"`, `cd "$(dirname "${0}")"`},
		{`cd "${BASH_SOURCE%/*}"`, `cd "${0%/*}"`},
		{`x=${BASH_SOURCE[0]:-$0}`, `x=${0:-$0}`},
		{`x=$BASH_SOURCE`, `x=$0`},
		{`x=${BASH_SOURCE[-1]}`, `x=${0}`},
		{`x=${BASH_SOURCE[1]} ${#BASH_SOURCE[@]} $BASH_SOURCES`, `x=${BASH_SOURCE[1]} ${#BASH_SOURCE[@]} $BASH_SOURCES`},
	} {
		if got := bashSource.Regexp().ReplaceAllString(c[0], "${1}0$2"); got != c[1] {
			t.Errorf("%s became %s, want %s", c[0], got, c[1])
		}
	}
}

func TestStartsItself(t *testing.T) {
	for text, want := range map[string]bool{
		`exec "$0" "$@"`: true, `if true; then bash $0 worker; fi`: true, `srun -n 4 bash "$0"`: true,
		`"$0" child &`: true, `env A=1 "${0}" "$@"`: true, `sbatch $0`: true,
		`cd "$(dirname "$0")"`: false, `cd "$(dirname "$0")" && python x.py "$@"`: false,
		`echo "running $0 $@"`: false, `# exec $0`: false, "cat <<END\n  $0 --batch 8\nEND": false,
		`name=$(basename $0 .sh)`: false, `. "$(dirname $0)/lib.sh"`: false, `here=$0`: false,
	} {
		if got := startsItself(text); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
