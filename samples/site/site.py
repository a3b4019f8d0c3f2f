"""Builds the documentation site, and fails when it is not whole.

Usage: site.py ROOT OUTPUT VERSION STYLES-AND-PICTURES... Doxygen reads the public headers and the pages of the tree, and
gradients.py makes a page of the headers' formulas. *.css are style sheets, the others are what samples have drawn:
NAME.svg and NAME.html of the sample NAME, for the gallery. The site is OUTPUT/html. It fails for

  - a public type, enumeration or function without a comment (members of a commented type may explain themselves),
  - a reference that Doxygen does not resolve, or a command or tag that it does not know; its other warnings, which depend
    on its version, are printed only,
  - an op with a gradient of which no comment says anything,
  - a link to a page or an anchor that is not there,
  - a character that the page shows as its entity, such as &lt;.

It says how large the site is.
"""
import html
import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

import gradients
import headers

# Each page of the tree, the name of its page in the site, and the title that the menu shows.
PAGES = {
    "README.md": ("index", "reel"),
    "samples/README.md": ("guide", "Guide"),
    "samples/cookbook.md": ("cookbook", "Cookbook"),
    "samples/python.md": ("python", "From Python"),
    "samples/names.md": ("names", "Names elsewhere"),
    "lib/README.md": ("internals", "Inside the library"),
    "lib/HACKING.md": ("hacking", "Hacking"),
    "bench/README.md": ("benchmarks", "Benchmarks"),
    "test/README.md": ("tests", "Tests"),
    "test/rules.md": ("rules", "Rules of tapes"),
    "test/peers.md": ("peers", "Who else has the ops"),
}
# Of every cell and row, though no style names it; links to the lists of members; rows of a blank; pages' tooltips of links; blanks
# at the end of cells; types that are the default; comments.
USELESS = [re.compile(pattern) for pattern in (
    r' class="markdownTable(?:BodyNone|RowOdd|RowEven)"', r'<a href="[^"]*-members\.html">List of all members</a>',
    r'<tr class="separator[^>]*>.*?</tr>\n?', r'(?<=<tr class="mem(?:item|desc):)[^"]+', r' title="[^"]*"(?=>)',
    r'(?<="memItemLeft") align="right" valign="top"', r'(?<="memItemRight") valign="bottom"',
    r'<div class="ttc".*?</div></div>\n?', r"(?<=\n) +(?=<t[dr])",
    r"\s+(?=</t[dhr]>)", r' type="text/(?:css|javascript)"', r'<meta http-equiv="X-UA[^>]*>\n?',
    r"<!--.*?-->\n?", r"/\* @license.*?\*/\n?")]
HASH = re.compile(r"(?<![^\W_])(g?a[0-9a-f]{11})[0-9a-f]{21}\b")  # the anchor of a function, abbreviated
FOUND = re.compile(r"'\.\./([^']*)'")  # an address in an index of the search
ENTRY = re.compile(r"^  \['\w+',\['(\w+)',(.*)$", re.MULTILINE)  # a name in it, and what it has
SHOWN_ENTITY = re.compile(r"&amp;(?:#x?\w+|lt|gt|amp|quot);")
WORD = re.compile(r'<a class="el" href="([^"]*#ga\w+)">(\w+)</a>')
LOGO = re.compile(r'<img class="footer" src="doxygen.svg"[^>]*>')
SECOND_NAME = re.compile(r'(<a id="([^"]*)") name="\2"')
# Entries of the tree that the pages of the headers have, too.
UNGROUPED = re.compile(r'^    \[ "[^"]*", "group__\w+\.html#\w+", (?:null|\[\n(?:      .*\n)*    \]) \],?\n', re.MULTILINE)
# Tabs that the search and the pages of the headers replace, and pages that are written without a tab all the same.
HIDDEN_TABS = ("namespaces", "classindex", "hierarchy", "classmembers", "namespacemembers")
LISTS = ("hierarchy", "functions", "namespaces", "namespacemembers", "classes")
NAMESPACE = "/// \\namespace reel\n/// All public names. The pages of the headers describe them.\n\n"

FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
OP_TABLE = re.compile(r"(?<=<!-- op table: begin -->\n).*?(?=<!-- op table: end -->)", re.DOTALL)
OP_ROW = re.compile(r"^(\|(?! family|---)[^|]*\|)(.*)(?=\|$)", re.MULTILINE)
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
SPAN_WITH_HASH = re.compile(r"`([^`\n]*#[^`\n]*)`")  # Doxygen takes #name for a link, in code too
HEADING = re.compile(r"^(#+) (.*)$", re.MULTILINE)
# What is wrong with a comment, in the words of Doxygen 1.9.4 to 1.9.8. It also names members of a type that has a comment, which
# need none of their own.
FAULT = re.compile(r"is not documented|could not be resolved|unable to resolve|unknown command|unsupported|Unsupported|multiple use"
                   r"|unbalanced|end of (?:file|comment)|[Uu]nexpected|[Ii]llegal|does not exist")
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


def linked_ops(text):
    """The text, in which each op of the op table is a link to its declaration, and the page of gradients follows the table."""
    link = lambda word: headers.link(word[1]) + word[0].removeprefix(word[1])
    row = lambda match: match[1] + re.sub(r"(\w+)[*']*", link, match[2])
    return OP_TABLE.sub(lambda table: OP_ROW.sub(row, table[0]) + "\n\\ref gradients lists what the gradient of each is.\n", text)


def page_of_site(root, source):
    """The Markdown of a page, with anchors and links as the site has them."""
    name, title = PAGES[source]

    def link(match):
        image, text, target = match.groups()
        if "://" in target:
            return match[0]
        if image:
            return f'<img src="{pathlib.PurePath(target).name}" alt="{html.escape(text)}"/>'
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
        code = lambda span: "<code>" + re.sub("#|--", r"\\\g<0>", html.escape(span[1], quote=False)) + "</code>"
        return SPAN_WITH_HASH.sub(code, LINK.sub(link, text))

    return outside_code(linked_ops((root / source).read_text()), for_doxygen)


def gallery(root, files):
    """The Markdown of the page with what the samples drew, in the order and with the words of the guide's table."""
    rows = re.findall(r"^\| `samples/(\w+)(?:\.cpp)?` \| ([^|]*) \|", (root / "samples/README.md").read_text(), re.MULTILINE)
    drawn = {}
    for file in files:
        drawn.setdefault(file.stem, []).append(file.name)
    if unknown := drawn.keys() - {name for name, _ in rows}:
        sys.exit(f"gallery: the table of samples/README.md has no {', '.join(sorted(unknown))}")
    text = "# Gallery {#gallery}\n\nWhat the samples draw, drawn when this site was made.\n"
    for name, words in rows:
        if name in drawn:
            what = html.escape(re.sub(r"; `--.*|`", "", words), quote=False)
            text += f"\n## {name} {{#gallery-{name}}}\n\n{what[0].upper()}{what[1:]}: `samples/run {name}`.\n"
        for file in sorted(drawn.get(name, [])):
            text += (f'\n<a href="{file}"><img src="{file}" alt="{what}"/></a>\n' if file.endswith(".svg")
                     else f'\n<a href="{file}">{file}</a>\n')
    return text


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
    links = {name: page.addresses - {"#nested-classes"} for name, page in pages.items()}
    links["the search"] = {address for file in site.glob("search/*.js") for address in FOUND.findall(file.read_text())}
    assert len(links["the search"]) > 1000, "the search finds hardly anything"
    for name, addresses in sorted(links.items()):
        for address in sorted(addresses):
            parts = urllib.parse.urlsplit(address)
            if parts.scheme or address.startswith("javascript:"):
                continue
            file = urllib.parse.unquote(parts.path) or name
            if not (site / file).exists():
                yield f"{name}: no page {file}"
            elif parts.fragment and file in pages and urllib.parse.unquote(parts.fragment) not in pages[file].anchors:
                yield f"{name}: no {parts.fragment} in {file}"


def mend_links(site):
    """Takes out links of words to functions of another name: Doxygen 1.9.8 makes thousands, such as of "const" to grad."""
    names = {address: name for file in site.glob("search/all_*.js") for name, found in ENTRY.findall(file.read_text())
             for address in FOUND.findall(found)}
    for page in site.glob("*.html"):
        whole = lambda address: page.name + address if address.startswith("#") else address
        right = lambda link: link[0] if names.get(whole(link[1]), link[2]) == link[2] else link[2]
        page.write_text(WORD.sub(right, page.read_text()))


def mend_search(site):
    """Lets the search lead to a page where Doxygen names an anchor that it has not written, as of friends."""
    anchors = {page.name: Links(page.read_text()).anchors for page in site.glob("*.html")}

    def address(match):
        page, _, anchor = match[1].partition("#")
        return match[0] if anchor in anchors.get(page, {anchor}) else f"'../{page}'"

    for file in site.glob("search/*.js"):
        file.write_text(FOUND.sub(address, file.read_text()))


def layout(text):
    """Doxygen's layout without what the search replaces, and with a page of each header that begins with its description."""
    for tab in HIDDEN_TABS:
        text = re.sub(rf'(<tab type="{tab}" visible=)"[^"]*"', r'\1"no"', text)
    for tab, title in {"pages": "Pages", "modules": "Headers", "topics": "Headers"}.items():
        text = re.sub(rf'(<tab type="{tab}" visible="yes" title=)""', rf'\1"{title}"', text)
    namespaces = re.search(r' *<tab type="namespaces".*?</tab>\n', text, re.DOTALL)[0]
    text = text.replace(namespaces, "").replace("  </navindex>", namespaces + "  </navindex>")
    namespace, group = (re.search(rf"<{part}>.*?</{part}>", text, re.DOTALL)[0] for part in ("namespace", "group"))
    names = re.sub(r"(<memberdecl>).*?(</memberdecl>)", r'\1<nestednamespaces visible="yes" title=""/>\2', namespace, flags=re.DOTALL)
    text = text.replace(namespace, names)
    detailed = '<detaileddescription title=""/>'
    described = group.replace(detailed, "").replace("<memberdecl>", detailed + "<memberdecl>", 1)
    return text.replace(group, described.replace('<briefdescription visible="yes"/>', '<briefdescription visible="no"/>'))


def one_index(site):
    """Leaves the search one index, of all names, and its menu one entry: the others repeat parts of it."""
    data = site / "search/searchdata.js"
    kinds = re.findall(r'^  [1-9]\d*: "([a-z]+)",?$', data.read_text(), re.MULTILINE)
    data.write_text(re.sub(r',\n  [1-9]\d*: "[^"]*"', "", data.read_text()))
    for kind in kinds:
        for file in site.glob(f"search/{kind}_*"):
            file.unlink()


def shorten(site):
    """Takes out what no reader sees, so that the site stays small."""
    one_index(site)
    for page in [*site.glob("*-members.html"), site / "doxygen.svg"]:
        page.unlink(missing_ok=True)
    for name in LISTS:
        for page in [*site.glob(f"{name}.html"), *site.glob(f"{name}_*.html")]:
            page.unlink()
    for file in [*site.glob("*.html"), *site.glob("*.js"), *site.glob("search/*.js")]:
        text = HASH.sub(r"\1", file.read_text())
        if file.suffix == ".html":
            for useless in USELESS:
                text = useless.sub("", text)
            text = LOGO.sub("Doxygen", text).replace("&amp;lt;reel/", "&lt;reel/").replace(".hpp&amp;gt;", ".hpp&gt;")
            text = SECOND_NAME.sub(r"\1", text).replace(f'href="{file.name}#', 'href="#').replace("&#160;", "\u00a0")
        elif file.name == "navtreedata.js":
            text = re.sub(r",(\s*\] \]\s*\];)", r"\1", UNGROUPED.sub("", text))
        file.write_text(text)


def build(root, output, version, styles, pictures):
    shutil.rmtree(output, ignore_errors=True)
    pages = output / "pages"
    pages.mkdir(parents=True)
    for source, (name, _) in PAGES.items():
        (pages / f"{name}.md").write_text(page_of_site(root, source))
    (pages / "reel.dox").write_text(NAMESPACE + headers.page(root / "include/reel"))
    (pages / "gradients.md").write_text(gradients.page(root / "include/reel", (root / "samples/README.md").read_text()))
    if pictures:
        (pages / "gallery.md").write_text(gallery(root, pictures))
    subprocess.run(["doxygen", "-l", output / "layout.xml"], check=True)
    (output / "layout.xml").write_text(layout((output / "layout.xml").read_text()))
    settings = (root / "samples/site/Doxyfile.in").read_text()
    values = {"root": root, "output": output, "pages": pages, "version": version, "styles": " ".join(styles)}
    (output / "Doxyfile").write_text(re.sub(r"@(\w+)@", lambda name: str(values[name[1]]), settings))
    subprocess.run(["doxygen", output / "Doxyfile"], check=True, cwd=root)
    site = output / "html"
    for picture in [*pictures, *(image for source in PAGES for image in images(root, source))]:
        shutil.copy(picture, site)
    shorten(site)
    mend_links(site)
    mend_search(site)
    return site


def main(root, output, version, *files):
    root, output = pathlib.Path(root).resolve(), pathlib.Path(output).resolve()
    styles = [str(pathlib.Path(file).resolve()) for file in files if file.endswith(".css")]
    site = build(root, output, version, styles, [pathlib.Path(file) for file in files if not file.endswith(".css")])
    warnings = [line for line in (output / "warnings.txt").read_text().splitlines() if line and not MEMBER.search(line)]
    bad = [line for line in warnings if FAULT.search(line)]
    print("".join(f"note: {line}\n" for line in warnings if line not in bad), end="")
    bad += [f"no header says what the gradient of {op} is"
            for op in gradients.unstated(root / "include/reel", (root / "samples/README.md").read_text())]
    bad += [f"{page.name}: shows {found}" for page in site.glob("*.html") for found in SHOWN_ENTITY.findall(page.read_text())]
    bad += dead_links(site)
    size = sum(file.stat().st_size for file in site.rglob("*") if file.is_file())
    print("\n".join(bad) or f"{len(list(site.glob('*.html')))} pages, {size / 1e6:.1f} MB: {site}/index.html")
    return bool(bad)


sys.exit(main(*sys.argv[1:]))
