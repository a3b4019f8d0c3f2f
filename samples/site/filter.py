"""Doxygen's input filter for the headers: gives a comment to every name that it holds for, and a page to every header.

A comment of the headers (/// lines) holds for all functions and types down to the next blank line or comment; Doxygen gives
it to the first one. The filter repeats it before each of the others, on the same line, so that line numbers stay. The names
of a header become a group, which headers.py describes.

Usage: filter.py FILE, prints the text.
"""
import pathlib
import re
import sys

import headers

COMMENT = re.compile(r"\s*///\s?(?!<)(.*)")
NO_LINK = re.compile(r"\b(?:Gradients?(?=:| of | by | is )|Linear(?= in ))")  # words, not the types of these names
OTHER = re.compile(r"\s*(?:[}#]|//|(?:public|private|protected):|namespace\b)")
TYPE = re.compile(r"\s*(?:template\b.*\s)?(?:struct|class|enum|union)\b[^;]*$")
END = re.compile(r"[;}]\s*(?://.*)?$")
OPEN = re.compile(r"^namespace (?:REEL_API )?reel \{$")
CLOSE = re.compile(r"^\}  // namespace ")


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


def spelled_out(line):
    """The line, in whose comment words are no types and "et al." ends no summary."""
    code, slashes, comment = line.partition("///")
    return code + slashes + NO_LINK.sub(r"%\g<0>", comment).replace("et al. ", "et al.\\ ")


def grouped(lines, group):
    """The same lines, in which each namespace reel opens and closes the group."""
    inside = False
    for line in lines:
        if OPEN.match(line):
            inside = True
            line += f" /** \\addtogroup {group} */ /** @{{ */"
        elif inside and CLOSE.match(line):
            inside = False
            line = "/** @} */ " + line
        yield line


header = pathlib.Path(sys.argv[1])
text = [spelled_out(line) for line in header.read_text().split("\n")]
print("\n".join(grouped(repeat_comments(text), headers.group(header))))
