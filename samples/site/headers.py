"""The pages of the public headers: each header is a group of Doxygen, described by the comment at its beginning."""
import pathlib
import re


def name(header):
    """What a program includes: reel/ops/shape.hpp."""
    return "reel" + header.as_posix().rpartition("include/reel")[2]


def group(header):
    return re.sub(r"\W", "_", name(header).removesuffix(".hpp"))


def title(header):
    return f"&lt;{name(header)}&gt;"


def link(function):
    """A link to its declaration."""
    return f'\\ref reel::{function} "{function}"'


def escaped(text):
    """A comment in which Doxygen sees no commands, tags and links."""
    text = re.sub(r"[#@\\]", r"\\\g<0>", text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))
    return re.sub(r"\b(?:Gradient|Linear)\b", r"%\g<0>", text)  # words, not the types of these names


def description(header):
    """The // lines that the header begins with, as Doxygen reads them."""
    lines = []
    for line in header.read_text().splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[2:].removeprefix(" "))
    text = escaped("\n".join(lines))
    text = re.sub(r"^([a-z]\w*(?:\([^)]*\))?):", r"<code>\1</code>:", text)  # Doxygen writes the first letter as a capital
    return text.replace("et al. ", "et al.&nbsp;")  # no end of a sentence


def page(folder):
    """The groups of all headers of a folder, for Doxygen."""
    text = ""
    for header in sorted(folder.rglob("*.hpp")):
        lines = [f"\\defgroup {group(header)} {title(header)}", ""] + description(header).splitlines()
        text += "/**\n" + "".join(f" * {line}".rstrip() + "\n" for line in lines) + " */\n\n"
    return text
