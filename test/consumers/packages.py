"""The files below subprojects/packagefiles by which others build reel: CMake's FetchContent, a Meson wrap, a vcpkg port, a Conan
recipe and Debian's packaging, which test/long packages builds; and the version that .github/CITATION.cff names. What they tell
Meson is told to it; the library is not compiled again but taken from the build folder, and Conan is played by a stub. vcpkg itself
does not run here; test/README.md says what was run by hand.

Usage: packages.py BUILD ROOT VERSION MESON
"""
import configparser
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import types

# In place of meson: sets up in earnest, compiles nothing, and installs the library of the build folder.
STUB = """#!/bin/sh
set -e
case $1 in
  setup) exec '{meson}' "$@" ;;
  compile) ninja -C "$3" -n >/dev/null ;;
  install) mkdir -p '{prefix}/lib' && cp -a '{build}'/lib/libreel.so* '{prefix}/lib/' && rm -rf '{prefix}'/lib/*.p ;;
esac
"""


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def install_tags(build):
    """The tags runtime and devel are those of the shared library: it can be installed where nothing else was compiled."""
    plan = json.loads((build / "meson-info/intro-install_plan.json").read_text())["targets"]
    tags = {pathlib.Path(path).name: row["tag"] for path, row in plan.items()}
    shared = [name for name in tags if name.startswith("libreel.so")]
    assert shared and all(tags[name] in ("runtime", "devel") for name in shared), f"tags of the shared library: {tags}"
    assert tags.get("libreel.a", "static") == "static", f"tag of the static library: {tags['libreel.a']}"


def fetch_content(build, root, meson, work):
    if not shutil.which("cmake"):
        return print("cmake is not installed: FetchContent was not tried")
    stub, folder = work / "meson", work / "fetch"
    prefix = folder / "_deps/reel-build/installed"
    stub.write_text(STUB.format(meson=meson, prefix=prefix, build=build))
    stub.chmod(0o755)
    for sets in ("auto", "scalar"):  # options that change later count
        run("cmake", "-G", "Ninja", "-S", root / "test/consumers/fetch", "-B", folder, f"-DFETCHCONTENT_SOURCE_DIR_REEL={root}",
            f"-DREEL_MESON={stub}", f"-DREEL_MESON_OPTIONS=-Dinstruction_sets={sets}")
        run("cmake", "--build", folder)
    run(folder / "consumer", env={k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"})
    made = folder / "_deps/reel-build/build"
    port = (root / "subprojects/packagefiles/vcpkg/portfile.cmake").read_text()
    replaced = re.search(r'vcpkg_replace_string\("\$\{config\}" "([^"]+)"', port)[1]
    assert replaced in (made / "lib/cmake/reel-config.cmake").read_text(), f"reel-config.cmake has no {replaced}"
    inside = made / "meson-info"
    installed = json.loads((inside / "intro-installed.json").read_text()).values()
    assert str(prefix / "lib/libreel.so") in installed, "Meson installs the library elsewhere"
    options = {o["name"]: o["value"] for o in json.loads((inside / "intro-buildoptions.json").read_text())}
    assert options["instruction_sets"] == ["scalar"] and options["buildtype"] == "release", "options were lost"


def wrap(root, version, meson, work):
    text = (root / "subprojects/packagefiles/wrap/reel.wrap").read_text()
    parsed = configparser.ConfigParser(interpolation=None)
    parsed.read_string(text)
    assert parsed["wrap-git"]["revision"] == f"v{version}", "reel.wrap has another version"
    project = work / "wrap"
    (project / "subprojects").mkdir(parents=True)
    (project / "subprojects/reel").symlink_to(root)
    (project / "subprojects/reel.wrap").write_text(text.replace("@URL@", root.as_uri()))
    (project / "meson.build").write_text("project('consumer', 'cpp', default_options: 'cpp_std=c++20')\n"
                                         f"dependency('reel', version: '{version}')\n")
    arguments = ("--force-fallback-for=reel", "-Dreel:lapack=disabled")
    for kind in ("debug", "release"):  # users are told that Meson's own default is slow
        log = run(meson, "setup", project / kind, project, *arguments, f"-Dbuildtype={kind}")
        assert ("reel is compiled without optimisation" in log) == (kind == "debug"), log


def options_exist(root, names):
    known = re.findall(r"^option\('(\w+)'", (root / "meson_options.txt").read_text(), re.M)
    assert names and set(names) <= set(known), f"no option of Meson: {set(names) - set(known)}"


def needs(root):
    """The names of what the library is built with, as Meson has them."""
    return set(re.findall(r"^\w+ = dependency\('(\w+)'", (root / "meson.build").read_text(), re.M)) - {"eigen3"}


def vcpkg(root, version):
    port = root / "subprojects/packagefiles/vcpkg"
    manifest = json.loads((port / "vcpkg.json").read_text())
    assert manifest["version"] == version, "vcpkg.json has another version"
    features = manifest["features"]
    listed = [d for part in (manifest, *features.values()) for d in part["dependencies"]]
    assert {d.replace("-", "_") for d in listed if isinstance(d, str)} == needs(root), "vcpkg.json has other dependencies"
    options_exist(root, re.findall(r"-D(\w+)=", (port / "portfile.cmake").read_text()))


def conan(root, version, meson, work):
    options = {}

    class Recorder:
        """Stands for what the recipe calls; remembers the options it sets."""
        project_options = options

        def __init__(self, *_):
            pass

        def __getattr__(self, _):
            return lambda *_: None

    def copy(_, pattern, source, target, excludes=None):  # a star matches any number of folders
        source = pathlib.Path(source).resolve()
        top = pattern.split("/*")[0]
        (shutil.copytree if pattern.endswith("/*") else shutil.copy)(source / top, pathlib.Path(target) / top)

    required = []
    modules = {"conan": {"ConanFile": object}, "conan.tools": {}, "conan.tools.build": {"check_min_cppstd": lambda *_: None},
               "conan.errors": {"ConanInvalidConfiguration": RuntimeError},
               "conan.tools.files": {"copy": copy, "rmdir": lambda *_: None}, "conan.tools.gnu": {"PkgConfigDeps": Recorder},
               "conan.tools.layout": {"basic_layout": lambda *_: None},
               "conan.tools.meson": {"Meson": Recorder, "MesonToolchain": Recorder}}
    for name, members in modules.items():
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(members)
    folder = root / "subprojects/packagefiles/conan"
    scope = {}
    exec(compile((folder / "conanfile.py").read_text(), "conanfile.py", "exec"), scope)
    recipe = scope["ReelConan"]()
    assert recipe.version == version, "conanfile.py has another version"
    recipe.options, recipe.settings = types.SimpleNamespace(**recipe.default_options), types.SimpleNamespace(os="Linux")
    recipe.requires = recipe.tool_requires = lambda name: required.append(name.split("/")[0])
    recipe.cpp_info = Recorder()
    recipe.recipe_folder, recipe.package_folder, recipe.source_folder = str(folder), str(work), str(root)
    recipe.export_sources_folder = work / "exported"
    recipe.export_sources_folder.mkdir()
    for step in ("export_sources", "layout", "validate", "requirements", "build_requirements", "generate", "build",
                 "package_info"):
        getattr(recipe, step)()
    same = {"tbb": "onetbb"}
    required.remove("meson")
    assert set(required) == {same.get(n, n) for n in needs(root)}, f"conanfile.py requires {required}"
    options_exist(root, options)
    run(meson, "setup", work / "of_exported", recipe.export_sources_folder, *(f"-D{k}={v}" for k, v in options.items()))


def debian(root, version):
    folder = root / "subprojects/packagefiles/debian"
    series = ".".join(version.split(".")[:2 if version.startswith("0.") else 1])
    assert re.match(rf"reel \({re.escape(version)}-\d+\) ", (folder / "changelog").read_text()), "debian/changelog has another version"
    symbols = (folder / f"libreel{series}.symbols").read_text()
    assert f"libreel.so.{series} libreel{series} " in symbols and f" (symver)REEL_{series} {version}\n" in symbols, "symbols of another version"
    control = (folder / "control").read_text()
    assert f"Package: libreel{series}\n" in control and f"libreel{series} (= " in control, "debian/control has another series"
    listed = set(re.findall(r"[\w.-]+", re.search(r"Build-Depends:(.*?)\n\S", control, re.S)[1]))
    packages = {"fmt": "libfmt-dev", "tbb": "libtbb-dev", "xsimd": "libxsimd-dev", "openblas": "libopenblas-dev", "sleef": "libsleef-dev",
                "zlib": "zlib1g-dev", "nlohmann_json": "nlohmann-json3-dev"}
    assert set(packages) == needs(root) and set(packages.values()) <= listed, "debian/control has other dependencies"


def citation(root, version):
    assert f"\nversion: {version}\n" in (root / ".github/CITATION.cff").read_text(), "CITATION.cff has another version"


def main():
    build, root, version, meson = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4]
    for name in ("MESON_TESTTHREADS", "PKG_CONFIG_PATH"):
        os.environ.pop(name, None)
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        install_tags(build)
        vcpkg(root, version)
        debian(root, version)
        citation(root, version)
        conan(root, version, meson, work)
        wrap(root, version, meson, work)
        fetch_content(build, root, meson, work)


main()
