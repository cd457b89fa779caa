"""Tests that pytest runs, with the Python of the checkout's .venv."""

# Bazel's py_test would need a C++ toolchain, which Bazel fetches, and would
# pass over a test file that has no `__main__`. The test's directory holds
# links into the checkout, so the way to .venv is there to be read.
_RUNNER = """#!/bin/sh
checkout=$(dirname "$(readlink -f pyproject.toml)")
python=${{PYTHON:-$checkout/.venv/bin/python}}
if ! [ -x "$python" ]; then
  echo "The tests need $python, which is not there: run \\`make setup\\`."
  exit 1
fi
exec "$python" -B -m pytest -p no:cacheprovider -c pyproject.toml {file}
"""

def _pytest_test_impl(ctx):
    runner = ctx.actions.declare_file(ctx.label.name + ".sh")
    ctx.actions.write(
        runner,
        _RUNNER.format(file = ctx.file.src.short_path),
        is_executable = True,
    )
    runfiles = ctx.runfiles(files = [ctx.file.src, ctx.file._pyproject])
    for dep in ctx.attr.deps:
        runfiles = runfiles.merge(dep[DefaultInfo].default_runfiles)
    return [DefaultInfo(executable = runner, runfiles = runfiles)]

pytest_test = rule(
    doc = "Runs one test file with pytest.",
    implementation = _pytest_test_impl,
    test = True,
    attrs = {
        "src": attr.label(
            doc = "The test file.",
            allow_single_file = [".py"],
            mandatory = True,
        ),
        "deps": attr.label_list(
            doc = "What it imports.",
            providers = [PyInfo],
        ),
        "_pyproject": attr.label(
            default = "//:pyproject.toml",
            allow_single_file = True,
        ),
    },
)
