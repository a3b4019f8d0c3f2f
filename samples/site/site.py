"""Builds the documentation site, and fails when it is not whole.

Usage: site.py ROOT OUTPUT VERSION STYLES. Doxygen reads the public headers and the pages of the tree; STYLES are style
sheets. The site is OUTPUT/html. It fails for

  - a public type, enumeration or function without a comment (members of a commented type may explain themselves),
  - any other warning of Doxygen,
  - a link to a page or an anchor that is not there,
  - more than 5 MB.
"""
import html
import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

# Each page of the tree, the name of its page in the site, and the title that the menu shows.
PAGES = {
    "README.md": ("index", "reel"),
    "samples/README.md": ("guide", "Guide"),
    "samples/names.md": ("names", "Names elsewhere"),
    "lib/README.md": ("internals", "Inside the library"),
    "bench/README.md": ("benchmarks", "Benchmarks"),
    "test/README.md": ("tests", "Tests"),
    "test/rules.md": ("rules", "Rules of tapes"),
    "test/peers.md": ("peers", "Who else has the ops"),
}
MAX_BYTES = 5e6
MEMBERS_LINK = re.compile(r'<a href="[^"]*-members\.html">List of all members</a>')  # a page per class, of names alone
TABLE_CLASS = re.compile(r' class="markdownTable(?:BodyNone|RowOdd|RowEven)"')  # of every cell and row; no style names them
ROW_CLASS = re.compile(r' class="(memitem|memdesc|separator):[0-9a-f]+"')  # a number per row, which no style or script reads
# Alphabetical lists, which the search replaces: the names of their tabs and of their pages.
LISTS = {"hierarchy": "hierarchy", "classmembers": "functions", "namespacemembers": "namespacemembers"}

FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
SPAN_WITH_HASH = re.compile(r"`([^`\n]*#[^`\n]*)`")  # Doxygen takes #name for a link, in code too
HEADING = re.compile(r"^(#+) (.*)$", re.MULTILINE)
# Doxygen names these, which need no comment of their own: a member of a type that has one.
MEMBER = re.compile(r"warning: Member .* \((?:variable|function|typedef|enumeration|enumvalue|friend)\) of (?:struct|class) ")


def anchor(page, heading):
    """GitHub's anchor of a heading, made unique among all pages."""
    return page + "-" + re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def images(root, source):
    """The files that a page shows as pictures."""
    targets = [target for image, _, target in LINK.findall((root / source).read_text()) if image and "://" not in target]
    return [(root / source).parent / target for target in targets]


def outside_code(text, change):
    """The text with `change` applied to what is not in a fenced block."""
    result, end = [], 0
    for block in FENCE.finditer(text):
        result += [change(text[end:block.start()]), block[0]]
        end = block.end()
    return "".join(result) + change(text[end:])


def page_of_site(root, source):
    """The Markdown of a page, with anchors and links as the site has them."""
    name, title = PAGES[source]

    def link(match):
        image, text, target = match.groups()
        if "://" in target:
            return match[0]
        if image:
            return f'<img src="{target}" alt="{html.escape(text)}"/>'
        path, _, fragment = target.partition("#")
        file = ((root / source).parent / path).resolve().relative_to(root).as_posix() if path else source
        if file not in PAGES:
            return text
        other = PAGES[file][0]
        return f'<a href="{other}.html{"#" + anchor(other, fragment) if fragment else ""}">{text.strip("`")}</a>'

    def heading(match):
        marks, text = match.groups()
        if marks == "#":
            return f"# {title} {{#{name}}}" if name != "index" else f"# {title}"
        return f"{marks} {text} {{#{anchor(name, text)}}}"

    def for_doxygen(text):
        text = HEADING.sub(heading, re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL))
        code = lambda span: f"<code>{html.escape(span[1]).replace('#', '&#35;')}</code>"
        return SPAN_WITH_HASH.sub(code, LINK.sub(link, text))

    return outside_code((root / source).read_text(), for_doxygen)


class Links(html.parser.HTMLParser):
    """The anchors of a page, and the addresses that it links to."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.addresses = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for key, value in attributes:
            if key in ("id", "name"):
                self.anchors.add(value)
            elif key in ("href", "src") and value:
                self.addresses.add(value)


def dead_links(site):
    """The links that lead nowhere."""
    pages = {page.name: Links(page.read_text()) for page in site.glob("*.html")}
    for name, page in sorted(pages.items()):
        for address in sorted(page.addresses - {"#nested-classes"}):
            parts = urllib.parse.urlsplit(address)
            if parts.scheme or address.startswith("javascript:"):
                continue
            file = urllib.parse.unquote(parts.path) or name
            if not (site / file).exists():
                yield f"{name}: no page {file}"
            elif parts.fragment and file in pages and urllib.parse.unquote(parts.fragment) not in pages[file].anchors:
                yield f"{name}: no {parts.fragment} in {file}"


def build(root, output, version, styles):
    shutil.rmtree(output, ignore_errors=True)
    pages = output / "pages"
    pages.mkdir(parents=True)
    for source, (name, _) in PAGES.items():
        (pages / f"{name}.md").write_text(page_of_site(root, source))
    (pages / "reel.dox").write_text("/// \\namespace reel\n/// All public names.\n")
    subprocess.run(["doxygen", "-l", output / "layout.xml"], check=True)
    layout = (output / "layout.xml").read_text()
    for tab in LISTS:
        layout = re.sub(rf'(<tab type="{tab}" visible=)"[^"]*"', r'\1"no"', layout)
    (output / "layout.xml").write_text(layout)
    settings = (root / "samples/site/Doxyfile.in").read_text()
    values = {"root": root, "output": output, "pages": pages, "version": version, "styles": " ".join(styles)}
    (output / "Doxyfile").write_text(re.sub(r"@(\w+)@", lambda name: str(values[name[1]]), settings))
    subprocess.run(["doxygen", output / "Doxyfile"], check=True, cwd=root)
    site = output / "html"
    for source in PAGES:
        for image in images(root, source):
            shutil.copy(image, site)
    for name in LISTS.values():  # without a tab they are written all the same
        for page in site.glob(f"{name}*"):
            page.unlink()
    for page in site.glob("*-members.html"):
        page.unlink()
    for page in site.glob("*.html"):
        text = TABLE_CLASS.sub("", MEMBERS_LINK.sub("", ROW_CLASS.sub(r' class="\1:"', page.read_text())))
        page.write_text(text.replace(f'href="{page.name}#', 'href="#'))
    return site


def main(root, output, version, *styles):
    root, output = pathlib.Path(root).resolve(), pathlib.Path(output).resolve()
    site = build(root, output, version, styles)
    bad = [line for line in (output / "warnings.txt").read_text().splitlines() if line and not MEMBER.search(line)]
    bad += dead_links(site)
    size = sum(file.stat().st_size for file in site.rglob("*") if file.is_file())
    if size > MAX_BYTES:
        bad.append(f"the site takes {size / 1e6:.1f} MB, at most {MAX_BYTES / 1e6:.0f} are wanted")
    print("\n".join(bad) or f"{len(list(site.glob('*.html')))} pages, {size / 1e6:.1f} MB: {site}/index.html")
    return bool(bad)


sys.exit(main(*sys.argv[1:]))
