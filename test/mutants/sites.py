"""Mutants of C++ code: a tokenizer with bracket matching, the functions of a file, and the operators that change them.

It relies on the formatter: a binary operator has white space on both sides, a bracket of template arguments has none
before it. A mutant is a range of the text with a replacement; ranges are nested or apart, never crossing.
"""
import bisect
import dataclasses
import re

TOKEN = re.compile(
    r'(?P<skip>\s+|//[^\n]*|/\*.*?\*/|^[ \t]*#(?:[^\n\\]|\\.)*)'
    r'|(?P<string>(?:u8|[uUL])?R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|(?:u8|[uUL])?"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)+\')'
    r"|(?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)"
    r'|(?P<name>[A-Za-z_]\w*)'
    r'|(?P<mark_>\.\.\.|<=>|<<=|>>=|->\*|::|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)', re.S | re.M)
OPENERS = {"(": ")", "[": "]", "{": "}", "<": ">"}
PRECEDENCE = {"*": 10, "/": 10, "%": 10, "+": 9, "-": 9, "<<": 8, ">>": 8, "<=>": 7, "<": 7, "<=": 7, ">": 7, ">=": 7,
              "==": 6, "!=": 6, "&": 5, "^": 4, "|": 3, "&&": 2, "||": 1}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
BOUNDARY_WORDS = {"return", "throw", "else", "do", "case", "co_return", "co_yield", "delete", "new", "goto"}
# Their operands are constants of the compiler, or nothing that a derivative depends on.
UNTOUCHED_CALLS = {"sizeof", "decltype", "alignas", "alignof", "noexcept", "requires", "static_assert", "fail", "INFO",
                   "catch", "assert"}
CONSTANT_STATEMENTS = {"constexpr", "static_assert", "using", "typedef", "enum", "template", "static", "goto"}
# Calls whose operands may change places without a change of the result.
SYMMETRIC = {"add", "multiply", "maximum", "minimum", "hypot", "logical_and", "logical_or", "equal", "not_equal", "max",
             "min", "swap", "logaddexp", "promote", "is_same", "followed", "plus", "times", "both", "differ", "real_inner",
             "broadcast_shapes"}
RENAMED = {"subtract": ["add"], "add": ["subtract"], "less": ["less_equal"], "less_equal": ["less"],
           "greater": ["greater_equal"], "greater_equal": ["greater"], "equal": ["not_equal"], "not_equal": ["equal"],
           "maximum": ["minimum"], "minimum": ["maximum"], "logical_and": ["logical_or"],
           "logical_or": ["logical_and"], "sin": ["cos"], "cos": ["sin"], "sinh": ["cosh"], "cosh": ["sinh"],
           "tril": ["triu"], "triu": ["tril"], "any_of": ["all_of"], "all_of": ["any_of"], "none_of": ["any_of"]}
COMPARISONS = {"<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"], "==": ["!="], "!=": ["=="]}
OPERATORS = ("sign", "swap", "factor", "term", "axis", "comparison", "logic", "constant", "statement", "wanted",
             "call", "batch", "choice")


@dataclasses.dataclass
class Token:
    text: str
    kind: str
    start: int
    end: int
    before: bool = False  # white space on that side
    after: bool = False


@dataclasses.dataclass
class Function:
    name: str
    header: tuple  # token ranges [first, last)
    body: tuple


@dataclasses.dataclass
class Mutant:
    file: str
    function: str
    operator: str
    start: int
    end: int
    original: str
    mutated: str
    statement: bool = False
    line: int = 0
    part: str = ""
    nth: int = 0  # among the mutants of this file that read the same

    @property
    def change(self):
        return f"{squeezed(self.original)} -> {squeezed(self.mutated) or 'nothing'}"

    @property
    def key(self):
        return f"{self.file}: {self.function}: {self.change}" + (f" #{self.nth}" if self.nth else "")


def squeezed(text):
    return re.sub(r"\s+", " ", re.sub(r"//[^\n]*", "", text)).strip()


def tokenize(text):
    tokens = []
    at = 0
    while at < len(text):
        found = TOKEN.match(text, at)
        kind = found.lastgroup if found.lastgroup != "mark" else "string"
        if kind == "skip":
            if tokens:
                tokens[-1].after = True
        else:
            spaced = not tokens or tokens[-1].end != at
            word = found.group()
            if word == ">>" and not spaced:  # closes two lists of template arguments
                tokens += [Token(">", "mark_", at, at + 1), Token(">", "mark_", at + 1, at + 2)]
            else:
                tokens.append(Token(word, kind, at, found.end(), spaced))
        at = found.end()
    return tokens


class Code:
    """One file: tokens, matching brackets, functions."""

    def __init__(self, file, text):
        self.file, self.text = file, text
        self.tokens = tokenize(text)
        self.match, self.parent = self._brackets()
        self.lines = [i for i, c in enumerate(text) if c == "\n"]
        self.functions = []
        self._declarations(0, len(self.tokens))

    def _brackets(self):
        match, parent, stack = {}, [], []
        for i, t in enumerate(self.tokens):
            if t.text in ")]}":
                while stack and self.tokens[stack[-1]].text == "<":  # was a comparison after all
                    stack.pop()
                if stack:
                    match[i] = stack.pop()
                    match[match[i]] = i
            elif t.text == ">" and stack and self.tokens[stack[-1]].text == "<":
                match[i] = stack.pop()
                match[match[i]] = i
            parent.append(stack[-1] if stack else None)
            if t.text in "([{" or self._opens_template(i):
                stack.append(i)
        return match, parent

    def _opens_template(self, i):
        t = self.tokens[i]
        return t.text == "<" and i > 0 and (not t.before or self.tokens[i - 1].text == "template")

    def source(self, first, last):
        return self.text[self.tokens[first].start:self.tokens[last - 1].end] if last > first else ""

    def line(self, position):
        return bisect.bisect_left(self.lines, position) + 1

    def _top_level(self, first, last):
        """Indices of tokens in the range that are in no bracket of it."""
        i = first
        while i < last:
            yield i
            i = self.match[i] + 1 if self.match.get(i, -1) > i else i + 1

    def _declarations(self, first, last):
        header = i = first
        while i < last:
            word = self.tokens[i].text
            if word in (";", "}") or (word == ":" and self.tokens[i - 1].text in ("public", "private", "protected")):
                header = i + 1
            if word == "{" and i in self.match:
                close = self.match[i]
                top = list(self._top_level(header, i))
                words = [self.tokens[j].text for j in top]
                if not self.tokens[i].before:
                    i = close + 1
                    continue
                calls = "(" in words
                if "namespace" in words or "extern" in words or \
                        (not calls and any(w in words for w in ("struct", "class", "union"))):
                    self._declarations(i + 1, close)
                elif "enum" in words:
                    pass
                elif any(w == "=" and words[k - 1] != "operator" for k, w in enumerate(words)):
                    i = close + 1
                    continue
                elif calls:
                    opener = top[words.index("(")]
                    if words[:words.index("(")] and not {"constexpr", "consteval"} & set(words[:words.index("(")]):
                        self.functions.append(Function(self.tokens[opener - 1].text, (header, i), (i + 1, close)))
                header = close + 1
                i = close + 1
                continue
            i = self.match[i] + 1 if self.match.get(i, -1) > i else i + 1

    # ---- expressions

    def is_binary(self, i):
        t = self.tokens[i]
        return t.text in PRECEDENCE and t.before and t.after

    def _is_boundary(self, i):
        t = self.tokens[i]
        return t.text in (",", ";", "?", "...") or t.text in ASSIGNMENTS or t.text in BOUNDARY_WORDS or \
            (t.text == ":" and t.before) or (t.text == "->" and t.before)

    def left_of(self, i, precedence):
        j = i - 1
        while j >= 0:
            if j in self.match and self.match[j] < j:
                if self.tokens[j].text == "}" and self.tokens[j].after and j < i - 1 and self.tokens[j + 1].before and \
                        not self.is_binary(j + 1):
                    break
                j = self.match[j] - 1
            elif j in self.match or self._is_boundary(j) or \
                    (self.is_binary(j) and PRECEDENCE[self.tokens[j].text] < precedence):
                break
            else:
                j -= 1
        return j + 1

    def right_of(self, i, precedence, ternary=False):
        j = i + 1
        while j < len(self.tokens):
            if j in self.match and self.match[j] > j:
                j = self.match[j] + 1
            elif j in self.match or (self.is_binary(j) and PRECEDENCE[self.tokens[j].text] <= precedence):
                break
            elif self._is_boundary(j) and not (ternary and self.tokens[j].text in ("?", ":")):
                break
            else:
                j += 1
        return j

    def postfix_end(self, i):
        """The end of the primary expression that begins at token i, with its calls, subscripts and members."""
        while self.tokens[i].text in ("*", "&", "!", "-", "++", "--") and not self.tokens[i].after:
            i += 1
        if i in self.match and self.match[i] > i:
            j = self.match[i] + 1
        else:
            j = i + 1
        while j < len(self.tokens):
            t = self.tokens[j]
            if t.text in ("::", ".", "->") and not t.before:
                j += 2
            elif t.text in "([{<" and not t.before and self.match.get(j, -1) > j:
                j = self.match[j] + 1
            else:
                return j
        return j

    def chain_start(self, i):
        """The begin of the expression whose last name is token i: a.b, a::b, f(x).b."""
        while i > 1 and self.tokens[i - 1].text in ("::", ".", "->") and not self.tokens[i - 1].before:
            i -= 2
            while i in self.match and self.match[i] < i:
                i = self.match[i]
                if i > 0 and (self.tokens[i - 1].kind == "name" or self.tokens[i - 1].text in "])>") and \
                        not self.tokens[i].before:
                    i -= 1
                else:
                    break
        return i

    def arguments(self, opener):
        """Token ranges of the arguments of a call."""
        found, first = [], opener + 1
        for i in self._top_level(opener + 1, self.match[opener]):
            if self.tokens[i].text == ",":
                found.append((first, i))
                first = i + 1
        return found + [(first, self.match[opener])] if self.match[opener] > opener + 1 else []

    def untouched(self, first, last):
        """Token indices in the range whose value the compiler must know, or that only make an error message."""
        skip = set()
        for i in range(first, last):
            t = self.tokens[i]
            if t.text == "<" and i in self.match:
                skip.update(range(i, self.match[i] + 1))
            elif t.text in UNTOUCHED_CALLS or (t.text == "constexpr" and self.tokens[i - 1].text == "if"):
                j = i + 1
                if self.tokens[j].text == "<" and j in self.match:
                    j = self.match[j] + 1
                if self.tokens[j].text == "(":
                    skip.update(range(i, self.match[j] + 1))
            elif t.text in CONSTANT_STATEMENTS and self.tokens[i - 1].text in (";", "{", "}"):
                j = i
                while j < last and self.tokens[j].text != ";":
                    j = self.match[j] + 1 if self.match.get(j, -1) > j else j + 1
                skip.update(range(i, j))
        return skip


class Operators:
    """Applies every operator in a range of tokens."""

    def __init__(self, code, function, first, last):
        self.code, self.function, self.first, self.last = code, function, first, last
        self.tokens, self.found = code.tokens, []
        self.skip = code.untouched(first, last)

    def add(self, operator, first, last, replacement, statement=False):
        if first < self.first or last > self.last or self.skip & {first, last - 1}:
            return
        code = self.code
        start, end = self.tokens[first].start, self.tokens[last - 1].end
        original = code.text[start:end]
        if squeezed(replacement) == squeezed(original) or original.startswith("{"):
            return
        self.found.append(Mutant(code.file, self.function, operator, start, end, original, replacement, statement,
                                 code.line(start)))

    def text(self, first, last):
        return self.code.source(first, last)

    def apply(self):
        for i in range(self.first, self.last):
            if i in self.skip:
                continue
            t = self.tokens[i]
            if self.code.is_binary(i):
                self.binary(i)
            elif t.text == "?" and t.before:
                self.choice(i)
            elif t.text in ("-", "!") and not t.after and not self.ends_operand(i - 1):
                end = self.code.postfix_end(i + 1)
                if t.text == "-":
                    self.add("sign", i, end, self.text(i + 1, end))
                else:
                    self.add("logic", i, end, f"bool({self.text(i + 1, end)})")
            elif t.text in ("+=", "-="):
                begin, end = self.code.left_of(i, 0), self.code.right_of(i, 0, True)
                other = "-=" if t.text == "+=" else "+="
                self.add("sign", begin, end, f"{self.text(begin, i)} {other} {self.text(i + 1, end)}")
            elif t.kind == "number":
                self.number(i)
            elif t.text in ("true", "false"):
                self.add("logic", i, i + 1, "false" if t.text == "true" else "true")
            elif t.kind == "name":
                self.name(i)
        self.statements()
        return self.found

    def ends_operand(self, i):
        t = self.tokens[i]
        return t.kind in ("number", "string") or t.text in ")]}" or \
            (t.kind == "name" and t.text not in BOUNDARY_WORDS) or (t.text == ">" and i in self.code.match)

    def binary(self, i):
        op = self.tokens[i].text
        begin, end = self.code.left_of(i, PRECEDENCE[op]), self.code.right_of(i, PRECEDENCE[op])
        if begin >= i or end <= i + 1 or self.tokens[begin].text == "{":
            return
        left, right = self.text(begin, i), self.text(i + 1, end)
        if '"' in left or '"' in right:
            return
        add = lambda operator, text: self.add(operator, begin, end, text)
        if op in "+-":
            add("sign", f"{left} {'-' if op == '+' else '+'} {right}")
            add("term", left)
            if op == "-":
                add("swap", f"{right} - ({left})")
            else:
                add("term", right)
        elif op in ("*", "/", "%"):
            add("factor", left)
            if op == "*":
                add("factor", right)
            else:
                add("swap", f"{right} {op} ({left})")
        elif op in COMPARISONS:
            for other in COMPARISONS[op]:
                add("comparison", f"{left} {other} {right}")
        elif op in ("&&", "||"):
            add("logic", f"({left}) {'||' if op == '&&' else '&&'} ({right})")
            add("logic", f"bool({left})")
            add("logic", f"bool({right})")

    def choice(self, i):
        depth, colon = 0, i + 1
        while colon < self.last:
            word = self.tokens[colon].text
            if self.code.match.get(colon, -1) > colon:
                colon = self.code.match[colon]
            elif word == "?":
                depth += 1
            elif word == ":" and self.tokens[colon].before:
                if depth == 0:
                    break
                depth -= 1
            colon += 1
        begin, end = self.code.left_of(i, 0), self.code.right_of(colon, 0, True)
        if begin < i and self.tokens[i + 1].text != "{" and self.tokens[colon + 1].text != "{":
            self.add("choice", begin, end,
                     f"({self.text(begin, i)}) ? ({self.text(colon + 1, end)}) : ({self.text(i + 1, colon)})")

    def number(self, i):
        word = self.tokens[i].text
        digits = re.match(r"[\d.]+", word).group()
        suffix = word[len(digits):]
        if word.startswith("0x") or "e" in suffix:
            return
        if "." in digits:
            self.add("constant", i, i + 1, f"{2 * float(digits)}{suffix}")
        elif self.selects(i):  # one of operands, results or saved values: only those that are there
            if digits == "1":
                self.add("constant", i, i + 1, "0")
        else:
            for other in {"0": ["1"], "1": ["2", "0"]}.get(digits, [str(int(digits) + 1)]):
                self.add("constant", i, i + 1, other + suffix)

    def selects(self, i):
        opener = self.tokens[i - 1].text
        return opener == "[" or (opener == "(" and self.tokens[i + 1].text == ")" and self.tokens[i - 2].text in (
            "saved", "wanted", "shape", "dtype", "output_shape", "output_dtype", "has_saved"))

    def name(self, i):
        t, following = self.tokens[i], self.tokens[i + 1]
        opener = i + 1
        if following.text == "<" and opener in self.code.match:
            opener = self.code.match[opener] + 1
        if self.tokens[opener].text == "(" and not self.tokens[opener].before:
            if not self.declares(self.code.chain_start(i)):
                self.call(i, opener)
        elif re.search(r"(^|_)axis$|^along$", t.text) and not self.declares(self.code.chain_start(i)):
            begin = self.code.chain_start(i)
            whole = self.text(begin, i + 1)
            if self.tokens[begin - 1].text in ("(", ",", "[", "{", "=") or self.code.is_binary(begin - 1):
                if self.tokens[i + 1].text not in ASSIGNMENTS and self.inside_call(i):
                    self.add("axis", begin, i + 1, f"({whole} != 0 ? {whole} - 1 : {whole} + 1)")

    def inside_call(self, i):
        opener = self.code.parent[i]
        return opener is not None and self.tokens[opener].text in "([{" and opener >= self.first

    def declares(self, begin):
        """Whether the name at `begin` is what a declaration declares."""
        before = self.tokens[begin - 1]
        opener = self.code.parent[begin]
        if opener is not None and self.tokens[opener].text == "[" and self.tokens[opener - 1].text in ("auto", "&"):
            return True  # a structured binding
        if before.kind == "name" and before.text not in BOUNDARY_WORDS and before.text != "not":
            return True
        return before.text in ("&", "*", "&&") and not before.before or \
            (before.text == ">" and begin - 1 in self.code.match and self.tokens[begin].before)

    def call(self, i, opener):
        name, begin, end = self.tokens[i].text, self.code.chain_start(i), self.code.match[opener] + 1
        if name in ("if", "for", "while", "switch", "return", "sizeof", "move", "forward", "static_cast", "get"):
            return
        arguments = self.code.arguments(opener)
        texts = [self.text(*a) for a in arguments]
        prefix = self.text(begin, i)
        if name == "batch_rank" and not arguments:
            self.add("batch", begin, end, "0")
        elif name == "batched" and self.tokens[i - 1].text == ".":
            self.add("batch", begin, end, texts[0])
        elif name == "wanted":
            self.add("wanted", begin, end, f"!{self.text(begin, end)}")
        elif self.tokens[i - 1].text not in (".", "->") and name[0].islower() and not self.is_statement(begin, end) and \
                not self.is_range(begin):
            for a in texts:
                if a not in ("r", "op", "name") and not re.match(r'["\[{]|-?\d', a):
                    self.add("call", begin, end, a)
                    break
        for other in RENAMED.get(name, []):
            self.add("call", begin, end, f"{prefix}{other}{self.text(i + 1, end)}")
        if name not in SYMMETRIC:
            for k in range(len(texts) - 1):
                pair = texts[k:k + 2]
                if pair[0] == pair[1] or any(a == "r" or re.match(r'["\[{]', a) for a in pair) or \
                        len({bool(re.match(r"-?[\d.]|true$|false$|!|.*axis$|axes$|reverse$|shape$", a)) for a in pair}) == 2:
                    continue
                swapped = texts[:k] + pair[::-1] + texts[k + 2:]
                self.add("swap", begin, end, f"{self.text(begin, opener)}({', '.join(swapped)})")

    def is_range(self, begin):
        """Whether a range-based for goes over what begins here: a conditional of a vector and a span would be a span of a
        vector that is gone."""
        opener = self.code.parent[begin]
        return self.tokens[begin - 1].text == ":" and opener is not None and self.tokens[opener - 1].text == "for"

    def is_statement(self, begin, end):
        before = self.tokens[begin - 1]
        return self.tokens[end].text == ";" and (before.text in (";", "{", "}", "else") or
                                                 (before.text == ")" and self.heads(begin - 1)))

    # ---- statements

    def statements(self):
        for i in range(self.first, self.last):
            previous = self.tokens[i - 1]
            if i in self.skip or not (i == self.first or previous.text in (";", "{", "}", "else") or
                                      (previous.text == ")" and self.heads(i - 1))):
                continue
            if self.code.parent[i] is not None and self.tokens[self.code.parent[i]].text != "{":
                continue  # the head of a loop
            if previous.text == "{" and not self.is_block(i - 1):
                continue
            if self.tokens[i].text == "if" and self.tokens[i + 1].text == "(":
                self.condition(i + 1)
            elif self.tokens[i].kind == "name" or self.tokens[i].text in ("++", "--"):
                self.statement(i)

    def heads(self, close):
        """Whether this bracket ends the head of an if or a loop."""
        before = self.code.match[close] - 1 if close in self.code.match else 0
        return self.tokens[before].text in ("if", "for", "while") or self.tokens[before].text == "constexpr"

    def is_block(self, opener):
        before = self.tokens[opener - 1]
        return self.tokens[opener].before and (before.text in (")", "else", "do", ";", "{", "}", "mutable", "noexcept",
                                                               "try", "]", "const", "override") or
                                               self.tokens[opener - 2].text == "->")

    def condition(self, opener):
        close = self.code.match[opener]
        first = opener + 1
        top = list(self.code._top_level(first, close))
        for i in top:
            if self.tokens[i].text == ";":
                first = i + 1
        # The negation of a comparison, a negation or a call of wanted() is there already.
        plain = [self.tokens[i].text for i in top if i >= first]
        if "=" in plain or plain[0] == "!" or plain[-2:] == ["wanted", "("] or \
                (("==" in plain or "!=" in plain) and not {"&&", "||"} & set(plain)):
            return
        if first < close:
            self.add("logic", first, close, f"!({self.text(first, close)})")

    def statement(self, i):
        end = i
        while end < self.last and self.tokens[end].text != ";":
            if self.code.match.get(end, -1) > end and self.tokens[end].text == "{" and self.is_block(end) and \
                    self.tokens[end - 1].text != "]" and self.heads_block(i, end):
                return
            end = self.code.match[end] + 1 if self.code.match.get(end, -1) > end else end + 1
        if end >= self.last:
            return
        words = [self.tokens[j].text for j in self.code._top_level(i, end)]
        if words[0] in ("continue", "break") or words == ["return"]:
            self.add("statement", i, end + 1, "", True)
            return
        if words[0] in BOUNDARY_WORDS | {"for", "while", "if", "switch", "const", "auto", "struct", "static",
                                         "constexpr", "using", "default", "fail", "static_cast", "try"}:
            return
        assigned = next((j for j in self.code._top_level(i, end) if self.tokens[j].text in ASSIGNMENTS), end)
        head = list(self.code._top_level(i, assigned))
        declares = any(self.tokens[a].kind == "name" and self.tokens[a + 1].kind == "name" for a in head[:-1]) or \
            any(self.tokens[a].text in ("&", "*", ">") and self.tokens[a + 1].kind == "name" and
                self.tokens[a + 1].before for a in head[:-1] if a + 1 < assigned) or \
            any(self.tokens[a].text == "<" and self.tokens[self.code.match[a] + 1].kind == "name" for a in head
                if a in self.code.match)
        if declares or (assigned == end and self.tokens[end - 1].text not in (")", "++", "--") and
                        self.tokens[i].text not in ("++", "--")):
            return
        if assigned == end and self.tokens[end - 1].text == ")":
            opener = self.code.match[end - 1]  # a declaration of the form `Type name(x);` has been left out above
            if self.tokens[opener - 1].kind != "name" and self.tokens[opener - 1].text not in (">", ")"):
                return
        self.add("statement", i, end + 1, "", True)

    def heads_block(self, i, opener):
        return self.tokens[i].text in ("for", "while", "if", "switch", "do", "else", "try")


def nested(mutants):
    """Those whose ranges do not cross, and their number among mutants of one file that read the same."""
    mutants = sorted(mutants, key=lambda m: (m.start, -m.end, m.statement is False))
    kept, stack, seen = [], [], {}
    for m in mutants:
        while stack and stack[-1].end <= m.start:
            stack.pop()
        if stack and m.end > stack[-1].end:
            continue
        stack.append(m)
        text = m.key
        m.nth = seen[text] = seen.get(text, -1) + 1
        kept.append(m)
    return kept


def rendered(text, mutants, number_of):
    """The text with every mutant in it, chosen by `on(number)`; lines keep their numbers."""
    ranges = {}
    for m in mutants:
        ranges.setdefault((m.start, m.end, m.statement), []).append(m)
    order = sorted(ranges, key=lambda r: (r[0], -r[1], not r[2]))

    def flat(part):
        return re.sub(r"\s*\n\s*", " ", re.sub(r"//[^\n]*", "", part))

    def replacement(m):
        """A call's argument in its place has the call's type of number: else the original would be converted too."""
        changed, original = flat(m.mutated), flat(m.original)
        is_argument = m.operator == "call" and changed in original and not set("[{") & set(original)
        return f"reel_mutants::like<decltype({original})>({changed})" if is_argument else changed

    def between(begin, end, index):
        out, at = [], begin
        while index < len(order) and order[index][0] < end:
            first, last, statement = order[index]
            inner, following = between(first, last, index + 1) if index + 1 < len(order) else (text[first:last], index + 1)
            out.append(text[at:first])
            group = ranges[order[index]]
            if statement:
                out.append("{ if (!reel_mutants::on(%d)) " % number_of(group[0]) + inner + " }")
            else:
                arms = "".join(f"reel_mutants::on({number_of(m)}) ? ({replacement(m)}) : " for m in group)
                out.append(f"({arms}({inner}))")
            at, index = last, following
        out.append(text[at:end])
        return "".join(out), index

    return between(0, len(text), 0)[0]
