# SPDX-License-Identifier: Apache-2.0
"""Reads configs, shell scripts and Python programs with ordinary libraries.

It shares no code with snug, because the judge compares snug's results with these.
"""
import ast
import json
import re
import shlex
import tomllib

import yaml


class Loader(yaml.SafeLoader):
    """A safe YAML loader that also accepts other programs' tags."""


def _tagged(loader, _suffix, node):
    if isinstance(node, yaml.ScalarNode):
        return loader.construct_scalar(node)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_mapping(node, deep=True)


Loader.add_multi_constructor("!", _tagged)
Loader.add_multi_constructor("tag:", _tagged)


def text_of(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def document(path):
    """Returns the mapping in a YAML, JSON or TOML file, or None."""
    text = text_of(path)
    try:
        if path.endswith(".toml"):
            return tomllib.loads(text)
        if path.endswith(".json"):
            return json.loads(text)
        docs = [d for d in yaml.load_all(text, Loader) if isinstance(d, dict)]
        return docs[0] if docs else None
    except (ValueError, yaml.YAMLError, RecursionError, TypeError, AttributeError):
        return None


def flat(doc, prefix=""):
    """Returns every value below a mapping, by its dotted path."""
    out = {}
    items = doc.items() if isinstance(doc, dict) else enumerate(doc)
    for key, value in items:
        path = f"{prefix}{key}"
        if isinstance(value, dict) or isinstance(value, list) and any(isinstance(x, dict) for x in value):
            out.update(flat(value, path + "."))
        else:
            out[path] = value
    return out


# Shell.

_COMMENT = re.compile(r"(^|\s)#(?![!{]).*$")
_ASSIGN = re.compile(r"^\s*(?:export\s+|local\s+|declare\s+(?:-\w+\s+)?|readonly\s+)?([A-Za-z_]\w*)(\+?=)(.*)$", re.S)
_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?")


def logical_lines(text):
    """Returns a script's lines with continuations joined, without comments and here-documents."""
    out, pending, end, depth = [], "", None, 0
    for raw in text.splitlines():
        if end:
            if raw.strip() == end:
                end = None
            continue
        line = raw.rstrip()
        if line.lstrip().startswith("#"):
            line = "\\" if pending.endswith(" ") and depth == 0 and pending else ""
            if not line:
                continue
        else:
            line = _COMMENT.sub("", line) if line.count('"') % 2 == 0 and line.count("'") % 2 == 0 else line
        if (m := _HEREDOC.search(line)) and "<<<" not in line:
            end = m.group(1)
        if line.endswith("\\"):
            pending += line[:-1] + " "
            continue
        pending += line
        if not _balanced(pending) and pending.count("\n") < 300:
            pending += "\n"
            continue
        out.append(pending)
        pending = ""
    if pending:
        out.append(pending)
    return out


def _balanced(line):
    """Returns whether quotes and array brackets are closed."""
    bare = re.sub(r"\\.", "", line)
    quoted = re.sub(r"'[^']*'", "", re.sub(r'"[^"]*"', "", bare))
    if '"' in quoted or "'" in quoted:
        return False
    m = _ASSIGN.match(quoted)
    return not (m and m.group(3).startswith("(") and not m.group(3).rstrip().endswith(")"))


_VAR = re.compile(r"\$\{(\w+)(?:\[[@*]\])?(?::?[-=]([^{}]*))?\}|\$(\w+)")


def expand(text, variables):
    """Replaces variables with their values or defaults; unknown ones are kept."""
    def one(m):
        name = m.group(1) or m.group(3)
        if name in variables:
            return variables[name]
        return m.group(2) if m.group(2) is not None else m.group(0)
    for _ in range(4):
        new = _VAR.sub(one, text)
        if new == text:
            break
        text = new[:200_000]
    return text


def _words(line):
    try:
        lex = shlex.shlex(line, posix=True, punctuation_chars=";|&()<>")
        lex.whitespace_split = True
        lex.commenters = ""
        return list(lex)
    except ValueError:
        return line.replace(";", " ; ").split()


def _unquote(value):
    value = value.strip()
    if value.startswith("(") and value.endswith(")"):
        return value[1:-1].strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" and value.count(value[0]) == 2:
        return value[1:-1]
    return value


_IF = re.compile(r"""^\s*(el)?if\s+\[\[?\s+["']?\$\{?(\w+)\}?["']?\s+(==?|!=)\s+["']?([\w./-]*)["']?\s+\]\]?\s*(?:;\s*then)?\s*$""")


class Branches:
    """Tells which lines of a script's if statements are executed, as far as they compare a variable with a word."""

    def __init__(self):
        self.stack = []  # for each open if: whether this branch is executed, and whether one before was; None if unknown

    def executed(self, line, variables):
        """Returns whether a line may be executed."""
        word = line.split()[0] if line.split() else ""
        m = _IF.match(line)
        if word == "if":
            self.stack.append([self._holds(m, variables) if m else None, False])
        elif word in ("elif", "else") and self.stack:
            now, before = self.stack[-1]
            before = True if now or before else None if now is None or before is None else False
            holds = True if word == "else" else self._holds(m, variables) if m else None
            self.stack[-1] = [False if before else holds if before is False else None if holds is not False else False, before]
        elif word.rstrip(";") == "fi" and self.stack:
            self.stack.pop()
        return not any(now is False for now, _ in self.stack)

    @staticmethod
    def _holds(m, variables):
        value = variables.get(m.group(2))
        if value is None or "$" in value or "`" in value:
            return None
        return (value == m.group(4)) == (m.group(3) != "!=")


def shell_commands(text):
    """Returns a script's simple commands as lists of words, with variables replaced, and the variables."""
    variables, out, branches = {}, [], Branches()
    for line in logical_lines(text):
        if not branches.executed(line, variables):
            continue
        m = _ASSIGN.match(line)
        if m and _only_assignment(m.group(3)):
            value = expand(_unquote(m.group(3)), variables)
            name = m.group(1)
            variables[name] = (variables.get(name, "") + " " + value).strip() if m.group(2) == "+=" else value
            continue
        out += _split(_words(expand(line, variables)))
    return out, variables


def _only_assignment(value):
    """Returns whether a line contains only this value."""
    value = value.strip()
    if value.startswith(("(", "$((", "$(", "`")):
        return True
    words = _words(value)
    return len(words) <= 1 or words[1] in (";", "&&", "#")


_NESTED = re.compile(r"\s*(?:\w+=\S+\s+)*(?:python3?|torchrun|accelerate|deepspeed|srun|cd|source|conda|\w+=)\b[^\n]*(?:\s|\n)")


def _split(words):
    """Returns simple commands, including those in a word that is itself a script (`bash -c "…"`)."""
    out, now = [], []
    for w in words:
        if len(w) > 40 and _NESTED.match(w) and w.count(" ") > 3:
            out += shell_commands(w)[0]
            continue
        if w and set(w) <= set(";|&()"):
            if now:
                out.append(now)
            now = []
        else:
            now.append(w)
    return out + [now] if now else out


_PROGRAM = re.compile(r"\.py$|=")


def flags(words):
    """Returns a command's flags: `--name value`, `--name=value`, `key=value`, and bare ones."""
    out, i = {}, 0
    while i < len(words):
        w = words[i]
        if w.startswith("--") and len(w) > 2 or re.match(r"^-[A-Za-z]{2,}", w):
            name, eq, value = w.lstrip("-").partition("=")
            if not eq:
                values = []
                while i + 1 < len(words) and not _is_flag(words[i + 1]) and not (values and _PROGRAM.search(words[i + 1])):
                    i += 1
                    values.append(words[i])
                value = " ".join(values) if values else True
            out[name.replace("-", "_")] = value
        elif m := re.match(r"^\+{0,2}([A-Za-z_][\w./@]*)=(.*)$", w, re.S):
            out[m.group(1)] = m.group(2)
        i += 1
    return out


def _is_flag(word):
    return bool(re.match(r"^--?[A-Za-z]", word))


# Python.

def tree_of(text):
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        cleaned = "\n".join("" if re.match(r"^\s*[!%]", x) else x for x in text.splitlines())
        try:
            return ast.parse(cleaned)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def called(node):
    """Returns the last name of the called function: C for `a.b.C(…)`."""
    f = node.func
    return f.attr if isinstance(f, ast.Attribute) else f.id if isinstance(f, ast.Name) else ""


def literal(node, names=None):
    """Returns the value of a constant expression or of a name bound to one, else None."""
    if isinstance(node, ast.Name) and names and node.id in names:
        return names[node.id]
    if isinstance(node, ast.Attribute):
        return node.attr
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        pass
    if isinstance(node, ast.BinOp):
        return _arithmetic(node, names)
    return None


def _arithmetic(node, names):
    a, b = literal(node.left, names), literal(node.right, names)
    if not isinstance(a, (int, float)) or not isinstance(b, (int, float)):
        return None
    try:
        if isinstance(node.op, ast.Mult):
            return a * b
        if isinstance(node.op, ast.FloorDiv):
            return a // b
        if isinstance(node.op, ast.Div):
            return a / b
        return {ast.Add: a + b, ast.Sub: a - b}.get(type(node.op))
    except ZeroDivisionError:
        return None


def constants(tree):
    """Returns the names that are assigned exactly one constant."""
    seen, many = {}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name, value = node.targets[0].id, node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            name, value = node.target.id, node.value
        else:
            continue
        v = literal(value)
        if v is None or name in seen and seen[name] != v:
            many.add(name)
        else:
            seen[name] = v
    return {k: v for k, v in seen.items() if k not in many}


def calls(tree):
    """Returns every call with its constant keywords: (name, {keyword: value}, positional values)."""
    names, out = constants(tree), []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            kw = {k.arg: literal(k.value, names) for k in node.keywords if k.arg}
            out.append((called(node), kw, [literal(a, names) for a in node.args]))
    return out
