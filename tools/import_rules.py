"""Check who may import whom: `python -m tools.import_rules`, a part of `make lint`.

The rules are those of docs/architecture.md. Imports are read from the source, those inside of
functions and below `if TYPE_CHECKING` as well, so that nothing hides a circle. The names that the
adapter imports of the library, other than public ones, are listed in `tools/adapter_imports.txt`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = ROOT / "tools" / "adapter_imports.txt"
"""Names of the library that the adapter may import in addition to the public ones."""

LIBRARY = "hiveacid"
ADAPTER = "dbt.adapters.hiveacid"
INTEGRATION = "integration"

LAYERS = (
    ("transactions",),
    ("api",),
    ("arguments",),
    ("engine",),
    ("sql",),
    ("changes", "writer"),
    ("reader",),
    ("snapshots",),
    ("metastore", "jvm", "jars"),
    ("acid",),
    ("formatting", "spark_versions", "version"),
    ("errors",),
)
"""Packages and modules of the library, top layer first. Each may import the layers below it."""

FORBIDDEN = (
    (LIBRARY, "dbt", "the library must be importable without dbt"),
    (LIBRARY, "dbt_common", "the library must be importable without dbt"),
    (LIBRARY, "agate", "the library must be importable without dbt"),
    (f"{ADAPTER}.spark", f"{ADAPTER}.incremental", "spark must not depend on models"),
    (f"{ADAPTER}.spark", f"{ADAPTER}.targets", "spark must not depend on targets"),
    (f"{ADAPTER}.targets", f"{ADAPTER}.incremental", "targets must not depend on models"),
    (ADAPTER, f"{ADAPTER}.impl", "impl is the top of the adapter"),
)
"""Who must not import whom, and why. The adapter's package (`__init__`) may import `impl`."""


@dataclass(frozen=True, order=True)
class Import:
    """One module imports another one, at a line."""

    importer: str
    imported: str
    line: int


def main() -> int:
    """Print each breach; return 1 if there is any."""
    product = read_imports(ROOT, LIBRARY, ADAPTER, INTEGRATION)
    breaches = [*find_breaches(product), *find_taken(ROOT, read_allowed())]
    for breach in breaches:
        print(breach)
    if not breaches:
        print("Import rules kept.")
    return 1 if breaches else 0


def read_imports(root: Path, *packages: str) -> list[Import]:
    """Return the imports of all modules of packages below `root`, of the product by default."""
    paths = {
        module_name(path.relative_to(root)): path
        for package in packages or (LIBRARY, ADAPTER)
        for path in files_of(root, package)
    }
    return [
        found
        for module, path in paths.items()
        for found in imports_of(module, path.read_text(encoding="utf-8"), paths)
    ]


def files_of(root: Path, package: str) -> list[Path]:
    """Return the files of a package."""
    return sorted((root / package.replace(".", "/")).rglob("*.py"))


def module_name(path: Path) -> str:
    """Return the dotted name of a module by its path."""
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def imports_of(module: str, source: str, modules: Mapping[str, object]) -> Iterator[Import]:
    """Yield the imports in a module's source; `modules` distinguishes modules from names."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(module, alias.name, node.lineno)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield Import(module, full if full in modules else node.module, node.lineno)


def find_breaches(imports: list[Import]) -> Iterator[str]:
    """Yield a line for each import that breaks a rule, and for each circle."""
    for found in sorted(set(imports)):
        reason = reason_against(found)
        if reason is not None:
            yield f"{found.importer}:{found.line} imports {found.imported}: {reason}"
    for circle in find_circles(imports):
        yield f"a circle of imports: {' -> '.join(circle)}"


def read_allowed() -> frozenset[tuple[str, str]]:
    """Return the modules and names that the adapter may take in addition to the public ones."""
    lines = ALLOWED.read_text(encoding="utf-8").splitlines()
    pairs = (line.split(":") for line in lines if not line.startswith("#"))
    return frozenset((module, name) for module, names in pairs for name in names.split())


def find_taken(root: Path, allowed: frozenset[tuple[str, str]]) -> Iterator[str]:
    """Yield a line for each name of the library that the adapter must not take, or does not take.

    Public names may be taken from the module that defines them. Others must be `allowed`.
    """
    public, file = public_names(root), ALLOWED.relative_to(ROOT)
    taken = set()
    for path in files_of(root, ADAPTER):
        for line, module, name in names_taken(path.read_text(encoding="utf-8")):
            where = f"{path.relative_to(root)}:{line}"
            if name is None:
                yield f"{where} imports {module} as a whole: name what it takes"
            elif name not in public and (module, name) not in allowed:
                yield f"{where} takes {module}.{name}, which is not in {file}"
            elif name not in public:
                taken.add((module, name))
    for module, name in sorted(allowed - taken):
        yield f"{file} has {module}.{name}, which is public or not imported: remove it"


def names_taken(source: str) -> Iterator[tuple[int, str, str | None]]:
    """Yield the line, the module and the name of each import of the library; None for a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                # `import hiveacid` itself gives public names.
                if is_in(alias.name, LIBRARY) and alias.name != LIBRARY:
                    yield node.lineno, alias.name, None
        elif isinstance(node, ast.ImportFrom) and node.module and is_in(node.module, LIBRARY):
            for alias in node.names:
                yield node.lineno, node.module, alias.name


def public_names(root: Path) -> frozenset[str]:
    """Return the names in the library's `__all__`; none where there is no library."""
    path = root / LIBRARY / "__init__.py"
    for node in ast.parse(path.read_text(encoding="utf-8")).body if path.exists() else ():
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return frozenset(ast.literal_eval(node.value))
    return frozenset()


def reason_against(found: Import) -> str | None:
    """Return why one import is not allowed; None if it is."""
    for importer, imported, reason in FORBIDDEN:
        is_package = found.importer == ADAPTER and imported == f"{ADAPTER}.impl"
        if is_in(found.importer, importer) and is_in(found.imported, imported) and not is_package:
            return reason
    above, below = layer_of(found.importer), layer_of(found.imported)
    if above is None or below is None or part_of(found.importer) == part_of(found.imported):
        return None
    if below <= above:
        return "it is not in a lower layer of the library"
    return None


def is_in(module: str, package: str) -> bool:
    """Return whether a module is a package or in it."""
    return module == package or module.startswith(f"{package}.")


def part_of(module: str) -> str | None:
    """Return the first part of a library module's name after the library's own."""
    parts = module.split(".")
    return parts[1] if parts[0] == LIBRARY and len(parts) > 1 else None


def layer_of(module: str) -> int | None:
    """Return the number of a library module's layer, 0 for the top; None outside all layers."""
    part = part_of(module)
    return next((i for i, parts in enumerate(LAYERS) if part in parts), None)


def find_circles(imports: list[Import]) -> Iterator[list[str]]:
    """Yield one circle of modules for each group of modules that import each other."""
    graph: dict[str, set[str]] = {}
    for found in imports:
        if found.importer != found.imported:
            graph.setdefault(found.importer, set()).add(found.imported)
    done: set[str] = set()
    for start in sorted(graph):
        if start not in done:
            circle = circle_through(start, graph)
            if circle is not None:
                yield circle
                done.update(circle)


def circle_through(start: str, graph: Mapping[str, set[str]]) -> list[str] | None:
    """Return a shortest path from a module back to itself; None if there is none."""
    ways = [[start]]
    seen: set[str] = set()
    while ways:
        longer = []
        for way in ways:
            for imported in sorted(graph.get(way[-1], ())):
                if imported == start:
                    return [*way, start]
                if imported not in seen:
                    seen.add(imported)
                    longer.append([*way, imported])
        ways = longer
    return None


if __name__ == "__main__":
    sys.exit(main())
