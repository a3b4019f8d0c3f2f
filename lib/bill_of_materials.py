"""Prints the bill of materials of libreel.so, SPDX 2.3 as JSON: what it is linked with, by the soname of each, and the libraries whose
headers are compiled into it. Versions are those that Meson found; of what it built from a wrap, the source and its
hash too. Its time is SOURCE_DATE_EPOCH, or now.

Usage: bill_of_materials.py ROOT BUILD LIBRARY READELF. `meson compile -C build sbom` writes build/lib/reel.spdx.json. Fails on a library it does not know.
"""
import configparser
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import time

LINKED = {  # soname without version: (dependency of Meson, licence)
    "libfmt": ("fmt", "MIT"),
    "libtbb": ("tbb", "Apache-2.0"),
    "libopenblas": ("openblas", "BSD-3-Clause"),
    "libsleef": ("sleef", "BSL-1.0"),
    "libz": ("zlib", "Zlib"),
}
TOOLCHAIN = {"libstdc++": "GPL-3.0-only WITH GCC-exception-3.1", "libgcc_s": "GPL-3.0-only WITH GCC-exception-3.1",
             "libm": "LGPL-2.1-or-later", "libc": "LGPL-2.1-or-later", "ld-linux-x86-64": "LGPL-2.1-or-later",
             "ld-linux-aarch64": "LGPL-2.1-or-later"}
HEADERS = {"xsimd": "BSD-3-Clause", "nlohmann_json": "MIT"}
WRAPS = {"tbb": "onetbb"}  # the wrap's name where it is another


def needed(library, readelf):
    dynamic = subprocess.run([readelf, "-d", library], capture_output=True, text=True, check=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic)


def source(root, name, built):
    """(address, checksums) of what was built from a wrap."""
    wrap = configparser.ConfigParser(interpolation=None)
    if name not in built or not wrap.read(root / "subprojects" / f"{WRAPS.get(name, name)}.wrap"):
        return "NOASSERTION", []
    return wrap["wrap-file"]["source_url"], [{"algorithm": "SHA256", "checksumValue": wrap["wrap-file"]["source_hash"]}]


def package(name, version, licence, soname=None, origin=("NOASSERTION", [])):
    address, checksums = origin
    result = {"name": name, "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name), "versionInfo": version,
              "downloadLocation": address, "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence,
              "copyrightText": "NOASSERTION"}
    if checksums:
        result["checksums"] = checksums
    if soname:
        result["packageFileName"] = soname
    return result


def introspect(what, build):
    return json.loads(subprocess.run(["meson", "introspect", what, build], capture_output=True, text=True, check=True).stdout)


def packages(root, build, library, readelf, built):
    """(package, how it gets into the library)"""
    versions = {dependency["name"]: dependency["version"] for dependency in introspect("--dependencies", build)}
    for soname in needed(library, readelf):
        stem = soname.split(".so")[0]
        if stem in LINKED:
            name, licence = LINKED[stem]
            yield package(name, versions[name], licence, soname, source(root, name, built)), "DYNAMIC_LINK"
        elif stem in TOOLCHAIN:
            yield package(stem, "NOASSERTION", TOOLCHAIN[stem], soname), "DYNAMIC_LINK"
        else:
            sys.exit(f"bill_of_materials.py: {library} needs {soname}, which is not listed here with its licence")
    for name in sorted(set(HEADERS) & set(versions)):
        yield package(name, versions[name], HEADERS[name], origin=source(root, name, built)), "STATIC_LINK"


def document(root, build, library, readelf):
    project = introspect("--projectinfo", build)
    version = project["version"]
    built = {name for each in project["subprojects"] for name in (each["name"], each["descriptive_name"].lower())}
    built |= {name for name, wrap in WRAPS.items() if wrap in built}
    reel = package("reel", version, "Apache-2.0", pathlib.Path(library).name)
    found = list(packages(root, build, library, readelf, built))
    created = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())), datetime.timezone.utc)
    relation = lambda kind, of: {"spdxElementId": "SPDXRef-reel", "relationshipType": kind, "relatedSpdxElement": of}
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"reel-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/reel-{version}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": [f"Tool: bill_of_materials.py-{version}"]},
        "packages": [reel] + [each for each, _ in found],
        "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-reel"}]
        + [relation(kind, each["SPDXID"]) for each, kind in found],
    }


if __name__ == "__main__":
    print(json.dumps(document(pathlib.Path(sys.argv[1]), *sys.argv[2:5]), indent=2))
