"""Doxygen's input filter for the headers: gives a comment to every name that it holds for.

A comment of the headers (/// lines) holds for all functions and types down to the next blank line or comment; Doxygen gives
it to the first one. The filter repeats it before each of the others, on the same line, so that line numbers stay.

Usage: filter.py FILE, prints the text.
"""
import pathlib
import re
import sys

COMMENT = re.compile(r"\s*///\s?(?!<)(.*)")
OTHER = re.compile(r"\s*(?:[}#]|//|(?:public|private|protected):|namespace\b)")
TYPE = re.compile(r"\s*(?:template\b.*\s)?(?:struct|class|enum|union)\b[^;]*$")
END = re.compile(r"[;}]\s*(?://.*)?$")


def depth_change(line):
    code = re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|//.*', "", line)
    return sum(code.count(c) for c in "({[") - sum(code.count(c) for c in ")}]")


def end_of_declaration(lines, start):
    depth, i = 0, start
    while i < len(lines):
        depth += depth_change(lines[i])
        i += 1
        if depth <= 0 and END.search(lines[i - 1]):
            break
    return i


def repeat_comments(lines):
    """The same lines, with the comments repeated."""
    result, i = [], 0
    while i < len(lines):
        comment = []
        while i < len(lines) and (match := COMMENT.match(lines[i])):
            comment.append(match[1])
            result.append(lines[i])
            i += 1
        first = True
        while comment and i < len(lines) and lines[i].strip() and not OTHER.match(lines[i]):
            end = end_of_declaration(lines, i)
            declaration = lines[i:end]
            is_type = any(TYPE.match(line) for line in declaration[:2])
            if not first and (is_type or "(" in "".join(declaration)) and "///<" not in "".join(declaration):
                declaration[0] = f"/** {' '.join(comment)} */ {declaration[0]}"
            result += declaration[:1] + repeat_comments(declaration[1:]) if is_type else declaration
            first, i = False, end
        if not comment:
            result.append(lines[i])
            i += 1
    return result


print("\n".join(repeat_comments(pathlib.Path(sys.argv[1]).read_text().split("\n"))))
