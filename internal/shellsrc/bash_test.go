// SPDX-License-Identifier: Apache-2.0

package shellsrc

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// bash runs real bash to check what a script passes to its programs. It runs only our own scripts, with an empty
// PATH: every command that is not found is recorded with its arguments.
type bash struct{ program, folder, record string }

func newBash(t *testing.T) bash {
	program, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash here")
	}
	b := bash{program: program, folder: t.TempDir()}
	b.record = filepath.Join(b.folder, "record")
	// Programs of a pipe start together, so each call is recorded with a single write.
	recorder := "command_not_found_handle() { local call; printf -v call '%s\\037' \"$@\"; printf '%s\\036' \"$call\" >>\"$RECORD\"; }\n" +
		"expr() { case $2 in '*') echo $(($1 * $3));; +) echo $(($1 + $3));; -) echo $(($1 - $3));; /) echo $(($1 / $3));; esac; }\n" +
		"seq() { local i; for ((i = $1; i <= $2; i++)); do echo $i; done; }\n"
	if err := os.WriteFile(filepath.Join(b.folder, "env.sh"), []byte(recorder), 0o600); err != nil {
		t.Fatal(err)
	}
	return b
}

// commands returns the arguments with which bash would start train, for each call.
func (b bash) commands(t interface{ Fatalf(string, ...any) }, script string) [][]string {
	name := filepath.Join(b.folder, "script.sh")
	if err := os.WriteFile(name, []byte(script), 0o600); err != nil {
		t.Fatalf("%v", err)
	}
	_ = os.Remove(b.record)
	c := exec.Command(b.program, name)
	c.Dir = b.folder
	c.Env = []string{"PATH=" + filepath.Join(b.folder, "nothing"), "BASH_ENV=" + filepath.Join(b.folder, "env.sh"), "RECORD=" + b.record}
	_ = c.Run() // a script may fail after starting commands
	recorded, err := os.ReadFile(b.record)
	if err != nil && !os.IsNotExist(err) {
		t.Fatalf("%v", err)
	}
	var out [][]string
	for _, line := range strings.Split(string(recorded), "\036") {
		if words := strings.Split(line, "\037"); words[0] == "train" {
			out = append(out, words[:len(words)-1])
		}
	}
	return out
}

// fits reports whether bash's words agree with ours: known words are equal, and an unknown word matches any word, or
// any number of words.
func fits(read []Word, passed []string) bool {
	at := map[int]bool{0: true}
	for _, w := range read {
		next := map[int]bool{}
		text, known := w.Text()
		for i := range at {
			switch {
			case known && i < len(passed) && passed[i] == text:
				next[i+1] = true
			case !known && w.Many():
				for k := i; k <= len(passed); k++ {
					next[k] = true
				}
			case !known && i < len(passed) && strings.HasPrefix(passed[i], w.Known()):
				next[i+1] = true
			}
		}
		at = next
	}
	return at[len(passed)]
}

// checkAgainst compares our reading of a script with bash's. exact means that nothing may be unknown.
func (b bash) checkAgainst(t interface{ Fatalf(string, ...any) }, script string, exact bool) {
	read, err := Read(script, nil)
	if err != nil {
		t.Fatalf("%v:\n%s", err, script)
	}
	passed := b.commands(t, script)
	for _, words := range passed {
		if !slices.ContainsFunc(read.Commands, func(c Command) bool { return fits(c.Words, words) }) {
			t.Fatalf("bash starts %q, which is not read:\n%s\n%s", words, script, shown(read))
		}
	}
	for _, c := range read.Commands {
		if c.Words[0].Known() != "train" {
			continue
		}
		unknown := slices.ContainsFunc(c.Words, func(w Word) bool { return w.Why() != "" })
		started := slices.ContainsFunc(passed, func(words []string) bool { return fits(c.Words, words) })
		if exact && (unknown || !started) {
			t.Fatalf("bash does not start %s:\n%s\n%q", shown(&Script{Commands: []Command{c}}), script, passed)
		}
	}
}

// shown formats commands for a message.
func shown(s *Script) string {
	var b strings.Builder
	for _, c := range s.Commands {
		for _, w := range c.Words {
			if text, known := w.Text(); known {
				fmt.Fprintf(&b, "%q ", text)
			} else {
				fmt.Fprintf(&b, "<%s> ", w.Why())
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestBashAgrees compares typical scripts, in which everything can be known, with bash.
func TestBashAgrees(t *testing.T) {
	b := newBash(t)
	for name, script := range exactScripts {
		t.Run(name, func(t *testing.T) { b.checkAgainst(t, script, true) })
	}
	for name, script := range vagueScripts {
		t.Run(name, func(t *testing.T) { b.checkAgainst(t, script, false) })
	}
}

// exactScripts can be read without running anything.
var exactScripts = map[string]string{
	"flags":          "torchrun --nproc_per_node=2 train.py \\\n  --bs 4 \\\n  --name 'a b' --x \"c d\" e\\ f\n",
	"list":           "train --target_modules q_proj k_proj v_proj --r 8\n",
	"variables":      "BS=4\nexport LR=1e-4\ntrain --bs $BS --lr ${LR} --out run-$BS/${LR}x\n",
	"defaults":       "BS=${BS:-4}\ntrain --bs $BS --acc ${ACC:-$((BS * 2))} ${NONE:+--never} ${BS:+--always}\n: ${SEQ:=512}\ntrain --seq $SEQ\n",
	"arithmetic":     "A=8\ntrain $((A * 2 + 1)) $((A / 3)) $((A % 3)) $(( (A + 1) * 2 )) $((A > 4 ? 1 : 0)) $((2 ** 5)) $((-A)) $((A << 1)) $((A == 8 && 1))\n",
	"expr":           "A=8\ntrain --a $(expr $A \\* 2) --b `expr $A + 2`\n",
	"echo":           "G=0,1,2\ntrain --g $(echo a $G)\n",
	"arrays":         "A=(--bs 4 --name \"a b\")\nA+=(--lr 1)\ntrain \"${A[@]}\" ${A[1]} ${#A[@]} ${A[@]:0:0}x\n",
	"no quotes":      "A=(--bs 4 --name \"a b\")\ntrain ${A[@]} ${A[*]}\n",
	"split":          "A=\"--bs 4 \"\nA+=\" --lr 1\"\nA=\"$A --x\"\ntrain $A \"$A\"\n",
	"if":             "M=lora\nif [ \"$M\" = lora ]; then A=\"--lora\"; elif [ $M = x ]; then A=--x; else A=--full; fi\ntrain $A\n",
	"double":         "N=3\nif [[ $N -gt 2 && \"$N\" != 4 ]]; then train a; else train b; fi\nif [[ abc == a* ]]; then train c; fi\n",
	"and or":         "[ 1 -eq 2 ] && train a\n[ 1 -eq 1 ] && train b || train c\n! [ -z x ] && train d\n",
	"for":            "for m in 7b 13b; do for s in 1 2; do train --m $m --s $s; done; done\n",
	"range":          "for i in {1..3}; do train $i; done\nfor i in a{x,y}b; do train $i; done\n",
	"seq":            "for i in $(seq 1 3); do train $i; done\n",
	"break":          "for i in 1 2 3; do [ $i = 2 ] && break; train $i; done\nfor i in 1 2 3; do if [ $i = 2 ]; then continue; fi; train $i; done\n",
	"while":          "i=0\nwhile [ $i -lt 3 ]; do train $i; i=$((i + 1)); done\nuntil [ $i -eq 1 ]; do ((i--)); train u$i; done\n",
	"case":           "M=llama-7b\ncase $M in\n  gpt*) B=8 ;;\n  *-7b | *-8b) B=4 ;;\n  *) B=1 ;;\nesac\ntrain --bs $B\n",
	"functions":      "f() { local bs=$1; shift; train --bs $bs \"$@\" $#; }\nfunction g { f 8 \"$1\"; }\nf 4 a 'b c'\ng x\nbs=1\nf 2\ntrain $bs\n",
	"returns":        "ok() { return 0; }\nbad() { return 1; }\nif ok; then train a; fi\nif bad; then train b; fi\n",
	"eval":           "C=\"train --bs 4\"\neval $C\neval \"$C --x 'a b'\"\n$C --y\n",
	"bash -c":        "export X=3\nY=4\nsh() { :; }\nunset -f sh\neval 'train --x $X --y $Y'\n",
	"here-document":  "cat <<EOF > x\ntrain --not\nEOF\ntrain --bs 4\n",
	"quoted end":     "cat <<'EOF' > x\ntrain $NOT `not`\nEOF\ntrain a\n",
	"here-string":    "cat <<< \"a b\"\ntrain a\n",
	"redirections":   "train --bs 4 > out 2>&1\ntrain --bs 5 2>/dev/null | tee log\ntrain 6 &> x &\ntrain 7 >> y 2>> z\nwait\n",
	"comments":       "train a # --not\n# train b\ntrain c \\\n  d\n  # e \\\ntrain f#g\n",
	"continued":      "train \\\n  --a 1 \\\n\\\n  --b 2\ntrain --c\\\nd\n",
	"subshell":       "A=1\n(A=2; train $A)\ntrain $A\n{ A=3; train $A; }\ntrain $A\n",
	"pipeline":       "A=1\ntrue | A=2\ntrain $A\n",
	"trim":           "P=/a/b/model-7b.bin\ntrain ${P##*/} ${P%.*} ${P#/a} ${P%%-*} ${P/model/x} ${P//b/c} ${#P} ${P:0:2} ${P: -3}\n",
	"case of":        "A=aBc\ntrain ${A^^} ${A,,} ${A^}\n",
	"indirect":       "A=B\nB=4\ntrain ${!A}\n",
	"assoc":          "declare -A M=([a]=1 [b]=2)\nM[c]=3\ntrain ${M[a]} ${M[c]}\nk=b\ntrain ${M[$k]}\n",
	"element":        "A=(x y)\nA[1]=z\ni=1\ntrain ${A[i]} ${A[$i]}\n",
	"quotes":         "train \"a'b\" 'c\"d' \"e\\\"f\" $'g\\th' \"\" ''\n",
	"empty":          "E=\ntrain $E \"$E\" a\n",
	"set":            "set -- a 'b c'\ntrain \"$@\" $# $2\nshift\ntrain \"$@\"\n",
	"exit":           "train a\nexit 0\ntrain b\n",
	"let":            "i=1\nlet i=i+2\ntrain $i\n((i += 4))\ntrain $i\n((i++))\ntrain $i\n",
	"prefix":         "A=1 B=2 train --x\ntrain \"${A:-none}\"\n",
	"name in braces": "V=a\ntrain ${V}b $V/b $V-b \"$V\"b\n",
	"time":           "time train a\n! train b\n",
	"in one line":    "train a; train b && train c; if true; then train d; fi\n",
	"fi done":        "for i in 1 2; do if true; then train $i; fi done\n",
	"nested quotes":  "A=4\ntrain \"$(echo \"x $A\")\" \"${B:-\"y z\"}\"\n",
}

// vagueScripts contain something that is known only at run time.
var vagueScripts = map[string]string{
	"a joined list with an unknown part": "L=(4 a${B}c)\nL=(4 \"${L[*]}\")\ntrain \"${L[@]}\" $B\n",
	"arguments":                          "train --bs $1 \"$@\" ${2:-4} $#\n",
	"usage":                              "if [ $# -lt 1 ]; then echo usage; exit 1; fi\ntrain --bs $1\n",
	"options":                            "BS=4\nwhile [ $# -gt 0 ]; do case $1 in --bs) BS=$2; shift 2;; *) exit 1;; esac; done\ntrain --bs $BS\n",
	"getopts":                            "BS=4\nwhile getopts b: o; do case $o in b) BS=$OPTARG;; esac; done\ntrain --bs $BS\n",
	"output":                             "N=$(nvidia-smi -L)\ntrain --n \"$N\" --m x$(date)\n",
	"branch":                             "if [ -f config ]; then A=1; B=2; else A=1; B=3; fi\ntrain --a $A --b $B\n",
	"optional":                           "[ -d x ] && A=--x\ntrain $A --y\n",
	"read":                               "read -r a b\ntrain \"$a\" --x\n",
	"files":                              "for f in $(ls); do train $f; done\ntrain --y\n",
	"turns":                              "A=1\nfor f in $(ls) x; do train $A; A=2; done\ntrain $A\n",
	"environ":                            "train --n ${SLURM_NNODES:-1} --r \"$RANK\" --u $USER_NAME x\n",
	"a function":                         "f() { train --bs $1; }\nf ${1}\n",
	"chosen":                             "case $1 in a) B=1;; b) B=2;; *) B=3;; esac\ntrain $B\n",
	"required":                           "case \"$1\" in a) B=1;; b) B=2;; *) exit 1;; esac\ntrain $B\n",
	"lists":                              "A=(--x)\nif [ -f x ]; then A+=(--y); fi\ntrain \"${A[@]}\"\n",
}

// TestSourcedFiles reads variables from a file that the script sources.
func TestSourcedFiles(t *testing.T) {
	for _, name := range []string{"env.sh", "./env.sh", "$(dirname \"$0\")/env.sh", "\"$HERE\"/env.sh"} {
		script, err := Read("A=1\nsource "+name+"\ntrain $A $B\n", func(name string) (string, bool) {
			return "A=2\nB=$((A + 1))\n", strings.TrimPrefix(name, "./") == "env.sh"
		})
		if err != nil || !fits(script.Commands[len(script.Commands)-1].Words, []string{"train", "2", "3"}) {
			t.Errorf("%s: %v\n%s", name, err, shown(script))
		}
	}
	script, err := Read("A=1\nsource other.sh\ntrain $A\n", func(string) (string, bool) { return "", false })
	if err != nil || !fits(script.Commands[0].Words, []string{"train", "1"}) {
		t.Errorf("%v\n%s", err, shown(script))
	}
}

// TestSlurmVariables reads the numbers that Slurm sets.
func TestSlurmVariables(t *testing.T) {
	script, err := Read("#!/bin/bash\n#SBATCH --nodes=2 # machines\n#SBATCH --gres=gpu:a100:4\n#SBATCH -n 8\n\ntrain $SLURM_NNODES $SLURM_GPUS_ON_NODE ${SLURM_NTASKS}\n#SBATCH --cpus-per-task=3\ntrain $SLURM_CPUS_PER_TASK\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	if c := script.Commands[0]; !fits(c.Words, []string{"train", "2", "4", "8"}) || c.Words[1].Why() != "" {
		t.Error(shown(script))
	}
	if why := script.Commands[1].Words[1].Why(); why == "" {
		t.Errorf("a line below the first command counts: %s", shown(script))
	}
}

// TestBashAgreesOnGenerated compares generated scripts with bash: the same ones each time, or others with
// -rapid.seed=N -rapid.checks=N.
func TestBashAgreesOnGenerated(t *testing.T) {
	b := newBash(t)
	if seed := flag.Lookup("rapid.seed"); seed.Value.String() == "0" {
		if err := seed.Value.Set("1"); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		b.checkAgainst(t, scriptOf(t), false)
	})
}

// scriptOf returns a script with statements about a few variables.
func scriptOf(t *rapid.T) string {
	g := generator{t: t}
	var out strings.Builder
	for range rapid.IntRange(1, 8).Draw(t, "statements") {
		out.WriteString(g.statement(2) + "\n")
	}
	return out.String() + "train --end $A \"${L[@]}\" $B\n"
}

// generator generates scripts.
type generator struct{ t *rapid.T }

func (g generator) pick(name string, of ...string) string {
	return rapid.SampledFrom(of).Draw(g.t, name)
}

func (g generator) value() string {
	return g.pick("value", "4", "lora", "'a b'", "\"a $A\"", "$B", "${B:-7}", "$((${#A} + 2))", "\"$1\"", "${1:-x}", "$(expr 2 \\* 3)", "$(date)", "a${B}c", "${A%a*}", "\"${L[*]}\"", "")
}

func (g generator) condition() string {
	return g.pick("condition", "[ \"$A\" = 4 ]", "[[ $B == l* ]]", "[ -z \"$A\" ]", "[ -n \"$1\" ]", "[ -f x ]", "true", "false", "[ ${#L[@]} -gt 1 ]", "! [ \"$B\" = x ]", "[[ -z $A || $B == 4 ]]")
}

func (g generator) statement(depth int) string {
	kinds := []string{"assign", "append", "list", "command", "command"}
	if depth > 0 {
		kinds = append(kinds, "if", "for", "case", "while", "and", "function", "subshell")
	}
	body := func() string { return g.statement(depth - 1) }
	name := g.pick("name", "A", "B")
	switch g.pick("kind", kinds...) {
	case "assign":
		return name + "=" + g.value()
	case "append":
		return name + "+=" + g.value()
	case "list":
		return g.pick("list", "L=(", "L+=(") + g.value() + " " + g.value() + ")"
	case "if":
		return "if " + g.condition() + "; then\n" + body() + "\nelse\n" + body() + "\nfi"
	case "for":
		return "for " + name + " in " + g.value() + " " + g.value() + "; do\n" + body() + "\n" + g.pick("leave", "", "break", g.condition()+" && continue") + "\ntrain --in $A\ndone"
	case "case":
		return "case " + g.value() + " in 4|l*) " + body() + ";; *) " + body() + ";; esac"
	case "while":
		return "i=0; while [ $i -lt 2 ]; do i=$((i + 1)); " + body() + "; done"
	case "and":
		return g.condition() + g.pick("operator", " && ", " || ") + "{ " + body() + "; }"
	case "function":
		return "f() { " + body() + "; train --f \"$1\" $#; }; f " + g.value()
	case "subshell":
		return "( " + body() + " )"
	}
	return "train --a " + g.value() + " --b=" + g.value() + " " + g.pick("list", "${L[@]}", "\"${L[@]}\"", "\"$@\"", "${L[0]}")
}
