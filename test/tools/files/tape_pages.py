"""Opens pages of tapes in headless Chromium and looks at what their scripts drew: tape_pages.py PROGRAM.

PROGRAM FOLDER writes the pages. Exit status 77, skipped, without Chromium.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

KEYS = """<script>
const press = (e, key) => e.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
document.querySelector('#bytes button').click();
document.querySelector('td button').click();
press(document.querySelector('.chosen'), 'ArrowUp');
press(document.activeElement, 'ArrowRight');
document.title = document.activeElement.id;
const filter = document.querySelector('#filter');
filter.value = 'TANH [8, 16]';
filter.dispatchEvent(new Event('input'));
</script>"""
faults = []


def expect(what, found, wanted):
    if found != wanted:
        faults.append(f"{what}: {found}, wanted {wanted}")


def opened(browser, page, choice=""):
    """The page as its script left it: the SVG, the details, the rows of the table and everything."""
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-logging=stderr",
               f"--user-data-dir={page.parent / 'profile'}", "--dump-dom", page.as_uri() + choice]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    expect(f"{page.name}{choice}: messages", [line for line in run.stderr.splitlines() if "CONSOLE" in line], [])
    parts = [re.search(f"<{tag}[ >].*?</{tag}>", run.stdout, re.DOTALL) for tag in ("svg", "aside", "tbody")]
    if not all(parts):
        sys.exit(f"{page.name}{choice}: not drawn\n{run.stderr[-2000:]}")
    return *(part[0] for part in parts), run.stdout


def count(text, pattern):
    return len(re.findall(pattern, text))


def check_network(browser, page):
    graph, details, rows, whole = opened(browser, page)
    expect("nodes", (count(graph, 'class="node op'), count(graph, 'class="node source'), count(graph, 'class="node target')), (7, 3, 1))
    expect("edges", count(graph, "<path "), 10)
    expect("rows", count(rows, "<tr "), 11)
    expect("scripts", (count(whole, "<script"), "<title>Tape</title>" in whole), (2, True))
    expect("totals", bool(re.search(r">7 of 7 entries, kept [\d.]+ k?B, op time [\d.]+ \w+, rule time [\d.]+ \w+, 11 of 11 nodes listed<", whole)), True)
    expect("lines", count(rows, r">write_files\.cpp:\d+<"), 6)
    expect("details", "Choose a node" in details, True)
    levels = [float(y) for y in re.findall(r'translate\([-\d.]+ ([\d.]+)\)" tabindex="\S+" class="node op', graph)]
    expect("ops below their inputs", levels == sorted(set(levels)) and len(levels) == 7, True)
    graph, details, rows, _ = opened(browser, page, "#node=3&filter=add&sort=name&down")
    expect("chosen", re.findall(r'class="node op chosen', graph) + re.findall(r"<h2>(.*?)</h2>", details)[:1], ['class="node op chosen', "add 1"])
    expect("highlighted", (count(graph, ' near["\\s]'), count(graph, 'class="into"'), count(graph, 'class="out"')), (3, 2, 1))
    expect("inputs and readers", re.findall(r'<button type="button">(.*?)</button>', details), ["matmul 0", "b1", "tanh 2"])
    expect("filtered", (count(rows, "<tr "), count(graph, " other")), (1, 10))


def check_keys(browser, page):
    copy = page.with_name("keys.html")
    copy.write_text(page.read_text() + KEYS)
    graph, details, rows, whole = opened(browser, copy)
    expect("sorted by bytes", 'id="bytes" aria-sort="descending"' in whole, True)
    expect("arrow keys", re.findall("<title>(.*?)</title>", whole)[:1], ["n5"])
    expect("typed filter", (count(rows, "<tr "), "tanh" in rows), (1, True))


def main(program):
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not browser:
        print("Chromium is not installed")
        return 77
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        folder = pathlib.Path(folder)
        subprocess.run([program, folder], check=True)
        check_network(browser, folder / "network.html")
        check_keys(browser, folder / "network.html")
        graph, details, rows, whole = opened(browser, folder / "deep.html", "#node=3000")
        expect("a part of 5000 entries", (count(graph, 'class="node op'), count(graph, "earlier"), count(rows, "<tr ")), (301, 2, 300))
        expect("the part's nodes", "3001–3300 of 5001" in whole, True)
        graph, _, rows, _ = opened(browser, folder / "empty.html")
        expect("an empty tape", count(graph + rows, "<g |<tr "), 0)
    print("\n".join(faults) or "the pages are drawn as their tapes are")
    return bool(faults)


sys.exit(main(sys.argv[1]))
