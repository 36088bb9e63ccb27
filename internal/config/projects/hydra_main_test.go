// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"strings"
	"testing"
)

func TestHydraMain(t *testing.T) {
	for _, c := range []struct {
		name, text, command, want string
		isHydra                   bool
	}{
		{"as in the manual", `@hydra.main(version_base=None, config_path="conf", config_name="config")`, "", "src/conf/config.yaml", true},
		{"the Lightning template", "@hydra.main(\n    version_base=\"1.3\",\n    config_path='../configs', config_name='train.yaml',\n)", "", "configs/train.yaml", true},
		{"by place", `@hydra.main("conf", "config")`, "", "src/conf/config.yaml", true},
		{"beside the script", `@hydra.main(config_name="config", version_base="1.1")`, "", "src/config.yaml", true},
		{"no decorator", `hydra.main(config_path="conf", config_name="c")(train)()`, "", "src/conf/c.yaml", true},
		{"imported", "from hydra import main\n@main(config_path=\"conf\", config_name=\"c\")", "", "src/conf/c.yaml", true},
		{"flags", `@hydra.main(config_path="conf", config_name="c")`, "-cn other --config-path=../x", "x/other.yaml", true},
		{"absolute", `@hydra.main(config_path="/etc/conf", config_name="c")`, "", "/etc/conf/c.yaml", true},
		{"worked out", `@hydra.main(config_path=str(ROOT / "conf"), config_name="c")`, "", "", true},
		{"of a package", `@hydra.main(config_path="pkg://my.conf", config_name="c")`, "", "", true},
		{"structured", `@hydra.main(version_base=None, config_path=None)`, "", "", true},
		{"NeMo", `@hydra_runner(config_path="../conf/asr", config_name="ctc")`, "", "conf/asr/ctc.yaml", true},
		{"commented out", "# import hydra\n# @hydra.main(config_path=\"conf\", config_name=\"c\")", "", "", false},
		{"something else", "@main(config_path=\"conf\", config_name=\"c\")", "", "", false},
	} {
		got, is := HydraMain("src/train.py", []byte("import os\n"+c.text+"\ndef main(cfg): pass\n"), strings.Fields(c.command))
		if got != c.want || is != c.isHydra {
			t.Errorf("%s: %q, %v; want %q, %v", c.name, got, is, c.want, c.isHydra)
		}
	}
}
