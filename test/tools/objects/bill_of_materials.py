"""Fails when the bill of materials of the library lacks a field that SPDX 2.3 requires, refers to what it does not list, or does not
name exactly the libraries that the shared library needs.

Usage: bill_of_materials.py ROOT BUILD LIBRARY READELF.
"""
import json
import pathlib
import re
import subprocess
import sys

root, build, library, readelf = sys.argv[1:5]
script = pathlib.Path(root) / "lib/bill_of_materials.py"
bill = json.loads(subprocess.run([sys.executable, script, root, build, library, readelf], capture_output=True, text=True, check=True).stdout)
bad = [f"no {key}" for key in ("spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo") if not bill.get(key)]
created = bill["creationInfo"].get("created", "")
bad += [] if re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", created) else [f"made at '{created}'"]
bad += [] if all(re.match("Tool: .+-[0-9.]+$", name) for name in bill["creationInfo"].get("creators", [""])) else ["no creator with a version"]
listed = set()
for package in bill["packages"]:
    bad += [f"{package['name']}: no {key}" for key in ("SPDXID", "versionInfo", "downloadLocation", "licenseDeclared") if not package.get(key)]
    if not re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", package["SPDXID"]) or package["SPDXID"] in listed:
        bad.append(f"{package['name']}: {package['SPDXID']} is no identifier of its own")
    listed.add(package["SPDXID"])
for relation in bill["relationships"]:
    bad += [f"{end} is not listed" for end in (relation["spdxElementId"], relation["relatedSpdxElement"])
            if end not in listed | {"SPDXRef-DOCUMENT"}]
dynamic = subprocess.run([readelf, "-d", library], capture_output=True, text=True, check=True).stdout
needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic))
named = {package["packageFileName"] for package in bill["packages"] if "packageFileName" in package} - {pathlib.Path(library).name}
bad += [f"{name} is needed and not listed" for name in needed - named] + [f"{name} is listed and not needed" for name in named - needed]
print("\n".join(bad) or f"{len(bill['packages'])} packages, {len(needed)} of them linked")
sys.exit(bool(bad))
