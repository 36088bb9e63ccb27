# Writes the trees that CPython parses from files, in the format of dump_test.go. The paths
# are read from standard input, one per line. For each file: its path and a word ("tree", "bad"
# or "skip"), then its statements, one per line, then an empty line. Strings that may contain
# named characters are written as <named>.
import ast, io, sys, tokenize, unicodedata, warnings

OPS = {
    "Add": "+", "Sub": "-", "Mult": "*", "MatMult": "@", "Div": "/", "Mod": "%", "Pow": "**",
    "LShift": "<<", "RShift": ">>", "BitOr": "|", "BitXor": "^", "BitAnd": "&", "FloorDiv": "//",
    "Invert": "~", "Not": "not", "UAdd": "+", "USub": "-", "And": "and", "Or": "or",
    "Eq": "==", "NotEq": "!=", "Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=", "Is": "is",
    "IsNot": "is not", "In": "in", "NotIn": "not in",
}
KINDS = {"ListComp": "list", "SetComp": "set", "DictComp": "dict", "GeneratorExp": "generator"}
WORD = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
BYTES = [chr(c) if c in WORD else "%%%02x" % c for c in range(256)]


def op(node):
    return OPS[type(node).__name__]


def number(value):
    if type(value) is complex:
        value = value.imag
    if type(value) is int and -(2**63) <= value < 2**63:
        return str(value)
    try:
        text = "%.17g" % value
    except OverflowError:
        text = "inf"
    return text.replace("inf", "+Inf")


class Dump:
    def __init__(self, source):
        self.lines = source.split("\n")
        self.has_named = "\\N{" in source
        self.unplaced = 0
        self.unnamed = 0

    def named(self, node):
        """Returns whether a literal may contain named characters, which we leave unresolved."""
        return self.has_named and any("\\N{" in l for l in self.lines[node.lineno - 1 : node.end_lineno])

    def quote(self, node):
        if self.unnamed or self.unplaced == 0 and self.named(node):
            return "<named>"
        data = node.value
        if type(data) is str:
            if not data.isascii():
                data = "".join(["\ufffd" if 0xD800 <= ord(c) < 0xE000 else c for c in data])
            data = data.encode()
        return '"' + "".join([BYTES[c] for c in data]) + '"'

    def open(self, node, *words):
        head = "(" + words[0]
        if self.unplaced == 0:
            head += "@%d:%d" % (node.lineno, node.col_offset + 1)
        return " ".join([head, *words[1:]])

    def node(self, node, words, *children):
        return self.open(node, *words) + self.exprs(children) + ")"

    def exprs(self, nodes):
        return "".join([" " + self.expr(n) for n in nodes])

    def list(self, nodes):
        return " [" + self.exprs(nodes) + "]"

    def body(self, nodes):
        return " {" + "".join([" " + self.stmt(n) for n in nodes]) + "}"

    def expr(self, x):
        if x is None:
            return "-"
        return getattr(self, "x_" + type(x).__name__)(x)

    def stmt(self, s):
        return getattr(self, "s_" + type(s).__name__)(s)

    def x_Name(self, x): return self.node(x, ["name", x.id])
    def x_Attribute(self, x): return self.node(x, ["attr", x.attr], x.value)
    def x_Subscript(self, x): return self.node(x, ["index"], x.value, x.slice)
    def x_Slice(self, x): return self.node(x, ["slice"], x.lower, x.upper, x.step)
    def x_UnaryOp(self, x): return self.node(x, ["unary", op(x.op)], x.operand)
    def x_BinOp(self, x): return self.node(x, ["binary", op(x.op)], x.left, x.right)
    def x_BoolOp(self, x): return self.node(x, ["bool", op(x.op)], *x.values)
    def x_IfExp(self, x): return self.node(x, ["cond"], x.test, x.body, x.orelse)
    def x_Tuple(self, x): return self.node(x, ["tuple"], *x.elts)
    def x_List(self, x): return self.node(x, ["list"], *x.elts)
    def x_Set(self, x): return self.node(x, ["set"], *x.elts)
    def x_Starred(self, x): return self.node(x, ["star"], x.value)
    def x_Await(self, x): return self.node(x, ["await"], x.value)
    def x_Yield(self, x): return self.node(x, ["yield", "false"], x.value)
    def x_YieldFrom(self, x): return self.node(x, ["yield", "true"], x.value)
    def x_NamedExpr(self, x): return self.node(x, ["walrus", x.target.id], x.value)
    def x_Dict(self, x): return self.open(x, "dict") + self.list(x.keys) + self.list(x.values) + ")"
    def x_Lambda(self, x): return self.open(x, "lambda") + self.params(x.args) + " " + self.expr(x.body) + ")"

    def x_Constant(self, x):
        v = x.value
        if isinstance(v, (str, bytes)):
            return self.node(x, ["str", self.quote(x)])
        if v is None or v is True or v is False or v is ...:
            return self.node(x, ["const", "..." if v is ... else str(v)])
        return self.node(x, ["num", number(v)])

    def x_JoinedStr(self, x):
        text = self.open(x, "fstr")
        unnamed = self.unplaced == 0 and self.named(x)
        self.unnamed += unnamed
        self.unplaced += 1
        for v in x.values:
            text += " " + self.expr(v.value if isinstance(v, ast.FormattedValue) else v)
        self.unplaced -= 1
        self.unnamed -= unnamed
        return text + ")"

    def x_Compare(self, x):
        return self.node(x, ["compare", ",".join([op(o) for o in x.ops])], x.left, *x.comparators)

    def x_Call(self, x):
        return self.open(x, "call") + " " + self.expr(x.func) + self.args(x.args, x.keywords) + ")"

    def comp(self, x):
        if isinstance(x, ast.DictComp):
            elt, value = x.key, x.value
        else:
            elt, value = x.elt, None
        text = self.open(x, "comp", KINDS[type(x).__name__]) + self.exprs([elt, value])
        for c in x.generators:
            text += self.exprs([c.target, c.iter]) + self.list(c.ifs)
        return text + ")"

    x_ListComp = x_SetComp = x_DictComp = x_GeneratorExp = comp

    def args(self, args, keywords):
        text = " ["
        for a in args:
            text += " *" + self.expr(a.value) if isinstance(a, ast.Starred) else " " + self.expr(a)
        for k in keywords:
            text += " " + ("**" if k.arg is None else k.arg) + "=" + self.expr(k.value)
        return text + "]"

    def params(self, a):
        text = " <"
        names = a.posonlyargs + a.args
        defaults = [None] * (len(names) - len(a.defaults)) + a.defaults
        for i, (p, default) in enumerate(zip(names, defaults)):
            text += self.param("", p, "", default)
            if i + 1 == len(a.posonlyargs):
                text += " /"
        if a.vararg:
            text += self.param("*", a.vararg, "", None)
        elif a.kwonlyargs:
            text += " *"
        for p, default in zip(a.kwonlyargs, a.kw_defaults):
            text += self.param("", p, "!", default)
        if a.kwarg:
            text += self.param("**", a.kwarg, "", None)
        return text + ">"

    def param(self, stars, p, mark, default):
        text = " " + stars + p.arg + mark
        if p.annotation is not None:
            text += ":" + self.expr(p.annotation)
        if default is not None:
            text += "=" + self.expr(default)
        return text

    def s_Expr(self, s): return self.node(s, ["expr"], s.value)
    def s_Assign(self, s): return self.open(s, "assign") + self.list(s.targets) + " " + self.expr(s.value) + ")"
    def s_AugAssign(self, s): return self.node(s, ["aug", op(s.op)], s.target, s.value)
    def s_AnnAssign(self, s): return self.node(s, ["ann"], s.target, s.annotation, s.value)
    def s_Return(self, s): return self.node(s, ["return"], s.value)
    def s_Delete(self, s): return self.node(s, ["del"], *s.targets)
    def s_Pass(self, s): return self.node(s, ["pass"])
    def s_Break(self, s): return self.node(s, ["break"])
    def s_Continue(self, s): return self.node(s, ["continue"])
    def s_Raise(self, s): return self.node(s, ["raise"], s.exc)
    def s_Assert(self, s): return self.node(s, ["assert"], s.test)
    def s_Import(self, s): return self.node(s, ["import", *self.aliases(s.names)])
    def s_ImportFrom(self, s): return self.node(s, ["from", s.module or "", str(s.level), *self.aliases(s.names)])
    def s_Global(self, s): return self.node(s, ["global", *s.names])
    def s_Nonlocal(self, s): return self.node(s, ["nonlocal", *s.names])
    def s_TypeAlias(self, s): return self.node(s, ["type", s.name.id], s.value)

    def aliases(self, names):
        return [n.name + ">" + (n.asname or "") for n in names]

    def s_If(self, s):
        return self.open(s, "if") + " " + self.expr(s.test) + self.body(s.body) + self.body(s.orelse) + ")"

    def s_While(self, s):
        return self.open(s, "while") + " " + self.expr(s.test) + self.body(s.body) + self.body(s.orelse) + ")"

    def s_For(self, s):
        return self.open(s, "for") + self.exprs([s.target, s.iter]) + self.body(s.body) + self.body(s.orelse) + ")"

    def s_With(self, s):
        text = self.open(s, "with")
        for i in s.items:
            text += self.exprs([i.context_expr, i.optional_vars])
        return text + self.body(s.body) + ")"

    def s_Try(self, s):
        text = self.open(s, "try") + self.body(s.body)
        for h in s.handlers:
            text += " except " + (h.name or "") + " " + self.expr(h.type) + self.body(h.body)
        return text + self.body(s.orelse) + self.body(s.finalbody) + ")"

    def s_FunctionDef(self, s):
        text = self.open(s, "def", s.name) + self.params(s.args)
        return text + self.list(s.decorator_list) + self.body(s.body) + ")"

    def s_ClassDef(self, s):
        text = self.open(s, "class", s.name) + self.args(s.bases, s.keywords)
        return text + self.list(s.decorator_list) + self.body(s.body) + ")"

    def s_Match(self, s):
        text = self.open(s, "match") + " " + self.expr(s.subject)
        for c in s.cases:
            text += " case " + self.pattern(c) + " " + self.expr(c.guard) + self.body(c.body)
        return text + ")"

    def pattern(self, c):
        p = c.pattern
        if isinstance(p, ast.MatchAs) and p.pattern is None:
            return ("true" if c.guard is None else "false") + " -"
        if isinstance(p, ast.MatchSingleton):
            return "false " + self.node(p, ["const", str(p.value)])
        if isinstance(p, ast.MatchValue) and isinstance(p.value, ast.Constant):
            return "false " + self.expr(p.value)
        return "false -"

    s_AsyncFor, s_AsyncWith, s_AsyncFunctionDef, s_TryStar = s_For, s_With, s_FunctionDef, s_Try


def unreadable(data):
    """Returns whether a source has an encoding other than UTF-8, or names that CPython normalizes differently."""
    try:
        encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
        text = data.decode()
    except (SyntaxError, UnicodeDecodeError):
        return False
    if encoding not in ("utf-8", "utf-8-sig") and not data.isascii():
        return True
    return not data.isascii() and not unicodedata.is_normalized("NFKC", text) and odd_names(text)


def odd_names(text):
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return True
    return any(t.type == tokenize.NAME and not unicodedata.is_normalized("NFKC", t.string) for t in tokens)


def dump(path, out):
    with open(path, "rb") as f:
        data = f.read()
    if unreadable(data):
        out.write(path + "\nskip\n\n")
        return
    try:
        tree = ast.parse(data)
        d = Dump(data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n"))
        lines = [d.stmt(s) + "\n" for s in tree.body]
    except (SyntaxError, ValueError) as e:
        out.write(path + "\nbad %s\n\n" % str(e).replace("\n", " "))
        return
    except RecursionError:
        out.write(path + "\nskip\n\n")
        return
    out.write(path + "\ntree\n" + "".join(lines) + "\n")


if sys.version_info < (3, 9):
    sys.exit("Python 3.9 or newer is needed: older trees have other nodes")
warnings.simplefilter("ignore")
sys.setrecursionlimit(5000)
sys.stdout.reconfigure(encoding="utf-8", newline="\n")
for path in sys.stdin.read().splitlines():
    dump(path, sys.stdout)
    sys.stdout.flush()
