// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// x is the secret in these tests.
const x = "Zx9-Qw7_Lm5"

func TestWords(t *testing.T) {
	for _, c := range []struct{ words, want []string }{
		{[]string{"python", "train.py", "--hf_token", x}, []string{"python", "train.py", "--hf_token", "***"}},
		{[]string{"python", "train.py", "--hf_token=" + x + ",;&y"}, []string{"python", "train.py", "--hf_token=***"}},
		{[]string{"a", "--api-key", x, "--lr", "1e-4"}, []string{"a", "--api-key", "***", "--lr", "1e-4"}},
		{[]string{"a", "--password", "two words", "b"}, []string{"a", "--password", "***", "b"}},
		{[]string{"a", "-password", "12345"}, []string{"a", "-password", "***"}},
		{[]string{"WANDB_API_KEY=" + x, "python"}, []string{"WANDB_API_KEY=***", "python"}},
		{[]string{"env", "HF_TOKEN=" + x, "python"}, []string{"env", "HF_TOKEN=***", "python"}},
		{[]string{"python", "+trainer.hub_token=" + x, "++wandb.apiKey=" + x}, []string{"python", "+trainer.hub_token=***", "++wandb.apiKey=***"}},
		{[]string{"sh", "-c", "HF_TOKEN=" + x + " python t.py --secret " + x + " --lr 2"}, []string{"sh", "-c", "HF_TOKEN=*** python t.py --secret *** --lr 2"}},
		{[]string{"sh", "-c", "PGPASSWORD='a b' python t.py"}, []string{"sh", "-c", "PGPASSWORD='***' python t.py"}},
		{[]string{"a", "--header", "Authorization: Bearer " + x}, []string{"a", "--header", "Authorization: Bearer ***"}},
		{[]string{"a", "--x", `{"hf_token": "` + x + `", "n": 3}`}, []string{"a", "--x", `{"hf_token": "***", "n": 3}`}},
		{[]string{"a", "--url=https://me:" + x + "@host/p"}, []string{"a", "--url=https://me:***@host/p"}},
		{[]string{"a", "--private_key", "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----"}, []string{"a", "--private_key", "***"}},
		// A flag without a value, at the end or before another.
		{[]string{"python", "--use_auth_token", "train.py"}, []string{"python", "--use_auth_token", "train.py"}},
		{[]string{"a", "--token", "--x", "y", "--key"}, []string{"a", "--token", "--x", "y", "--key"}},
		// Names that only resemble secret ones.
		{
			[]string{"a", "--max_tokens", "512", "--num_key_value_heads=8", "--pad_token", "<pad>", "--eos-token=[SEP]", "--tokenizer", "gpt2", "--use_token", "true", "--token_dim={batch}"},
			[]string{"a", "--max_tokens", "512", "--num_key_value_heads=8", "--pad_token", "<pad>", "--eos-token=[SEP]", "--tokenizer", "gpt2", "--use_token", "true", "--token_dim={batch}"},
		},
	} {
		if diff := cmp.Diff(c.want, Words(c.words)); diff != "" {
			t.Errorf("%q (-want +got)\n%s", c.words, diff)
		}
	}
}

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"python t.py --hf_token " + x + " --out /a/b":            "python t.py --hf_token *** --out /a/b",
		"python t.py --hf_token=" + x + " x":                     "python t.py --hf_token=*** x",
		"t --token --api_key " + x:                               "t --token --api_key ***",
		"t --token " + x + " --password " + x + " --n 3":         "t --token *** --password *** --n 3",
		"login(token='" + x + "', n=3)":                          "login(token='***', n=3)",
		"https://h/p?token=" + x + "&n=3":                        "https://h/p?token=***&n=3",
		"postgresql+psycopg2://u:p@ss@h:5432/db":                 "postgresql+psycopg2://u:***@h:5432/db",
		"https://" + x + "@github.com/a/b":                       "https://***@github.com/a/b",
		"ssh://git@host/a and https://git@host and https://h:80": "ssh://git@host/a and https://git@host and https://h:80",
		"key AKIAIOSFODNN7EXAMPLE here":                          "key *** here",
		"pushing with hf_abcdefghijklmnopqrstuvwxyz failed":      "pushing with *** failed",
		`{"password": 12345, "token": null}`:                     `{"password": "***", "token": null}`,
		"{'api_key': '" + x + "'}":                               "{'api_key': '***'}",
		"hf_token: " + x:                                         "hf_token: ***",
		"client_secret:" + x:                                     "client_secret:***",
		// Text that people need in errors is kept.
		"KeyError: 'input_ids_of_the_batch'": "KeyError: 'input_ids_of_the_batch'",
		"unexpected token: identifier":       "unexpected token: identifier",
		"no such file: /home/me/keys/token":  "no such file: /home/me/keys/token",
		"":                                   "",
	} {
		if got := Text(text); got != want {
			t.Errorf("%q\nbecomes %q\nwant    %q", text, got, want)
		}
	}
}

// A setup in the store has no secrets, and is otherwise unchanged.
func TestTextKeepsSetups(t *testing.T) {
	const setup = `{"batch":2,"model":{"config":{"bos_token_id":1,"eos_token_id":[1,2],"model_type":"llama","num_key_value_heads":12,"pad_token_id":null}},"seq":512}`
	if got := Text(setup); got != setup {
		t.Errorf("it becomes %s", got)
	}
}

func TestKindOf(t *testing.T) {
	for name, want := range map[string]kind{
		"--hf_token": likely, "HF_TOKEN": likely, "hubToken": likely, "HFToken": likely, "hftoken": likely, "AWS_ACCESS_KEY_ID": certain, "AWS_SECRET_ACCESS_KEY": certain,
		"AWS_SESSION_TOKEN": likely, "--password": certain, "PGPASSWORD": certain, "MYSQL_PWD": likely, "DB_PASS": likely, "OPENAI_API_KEY": certain, "apiKey": certain, "APIKey": certain,
		"GOOGLE_APPLICATION_CREDENTIALS": certain, "private_key": certain, "BASIC_AUTH": likely, "ssh-key": likely,
		"PWD": none, "OLDPWD": none, "SSH_AUTH_SOCK": none, "--tokenizer": none, "TOKENIZERS_PARALLELISM": none, "monkey": none, "--batch": none, "bypass": none, "": none, "--": none,
	} {
		if got := kindOf(name); got != want {
			t.Errorf("%q is %v, want %v", name, got, want)
		}
	}
}

func TestValues(t *testing.T) {
	v := ValuesOf([]string{"A_KEY=abcdef-1", "python", "--hf_token", "tok-1234", "--api-key=short"}, []string{
		"DB_PASSWORD=hunter2!", "PATH=/usr/bin", "SSH_KEY=/home/me/.ssh/id", "MAX_TOKENS=123456", "PWD=/home/me/project", "HF_TOKEN=tok-1234-longer",
	})
	got := v.Hide("HTTPError: 401 for tok-1234-longer (tok-1234, hunter2!, abcdef-1) in /home/me/project, 123456 short")
	if want := "HTTPError: 401 for *** (***, ***, ***) in /home/me/project, 123456 short"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (Values{}).Hide("nothing known"); got != "nothing known" {
		t.Errorf("%q", got)
	}
}

// Redacting twice changes nothing more, JSON stays JSON, and a named secret never appears again, whatever its
// characters.
func FuzzText(f *testing.F) {
	for _, s := range []string{"--hf_token x", `{"password": 1}`, "https://a:b@c", "KEY='a", "token==a=b", "--key --key a", "a:b://c@d@e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := Text(text)
		if twice := Text(once); twice != once {
			t.Errorf("%q becomes %q, then %q", text, once, twice)
		}
		if json.Valid([]byte(text)) && !json.Valid([]byte(once)) {
			t.Errorf("%q becomes %q", text, once)
		}
		if secret := strings.TrimLeft(text, "-"); len(secret) >= shortest && !isScript(secret) && !strings.Contains("--password ***", secret) {
			if got := strings.Join(Words([]string{"--password", secret}), " "); strings.Contains(got, secret) {
				t.Errorf("%q is still in %q", secret, got)
			}
		}
	})
}

func BenchmarkText(b *testing.B) {
	text := "python /home/me/project/train.py --hf_token " + x + strings.Repeat(" --learning_rate 1e-4", 20)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Text(text)
	}
}
