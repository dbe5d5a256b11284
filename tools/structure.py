"""Print the numbers of the code's structure: `python -m tools.structure [DIRECTORY]`.

DIRECTORY is another checkout to count, for a comparison with an earlier commit.
"""

from __future__ import annotations

import argparse
import ast
import io
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median

from tools.import_rules import (
    ADAPTER,
    LIBRARY,
    ROOT,
    Import,
    files_of,
    find_circles,
    names_taken,
    public_names,
    read_imports,
)

_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def main() -> None:
    """Count the checkout that the command line names, else this one."""
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("directory", nargs="?", type=Path, default=ROOT)
    root = parser.parse_args().directory
    for name, number in measure(root):
        print(f"{name:<46}{number:>10}")


def measure(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the name of each number of a checkout, and the number."""
    sources = {
        path: path.read_text(encoding="utf-8")
        for package in (LIBRARY, ADAPTER)
        for path in files_of(root, package)
    }
    lines = {path: source.count("\n") for path, source in sources.items()}
    modules = {path: n for path, n in lines.items() if path.name != "__init__.py"}
    largest = max(modules, key=lambda path: modules[path])
    imports = read_imports(root)
    adapter = {path: text for path, text in sources.items() if path.is_relative_to(root / "dbt")}
    yield "modules", f"{len(sources):,}"
    yield "modules without __init__", f"{len(modules):,}"
    yield "lines", f"{sum(lines.values()):,}"
    yield "lines of code alone", f"{sum(map(count_code_lines, sources.values())):,}"
    yield "median lines of a module without __init__", f"{median(modules.values()):g}"
    yield f"largest module, {largest.name}", f"{modules[largest]:,}"
    yield "modules imported by exactly one other", f"{count_imported_once(imports):,}"
    yield "circles of imports, those for types too", f"{len(list(find_circles(imports))):,}"
    yield "`Any` in annotations below dbt/", f"{sum(map(count_any, adapter.values())):,}"
    yield "public names of hiveacid", f"{len(public_names(root)):,}"
    yield "public members of Snapshot", f"{count_members(root, 'api.py', 'Snapshot'):,}"
    taken = {(m, name) for text in adapter.values() for _, m, name in names_taken(text)}
    hidden = [name for _, name in taken if name not in public_names(root)]
    yield "names of the library in the adapter", f"{len(taken):,}"
    yield "names among them that are not public", f"{len(hidden):,}"
    yield "modules of the library that they are from", f"{len({m for m, _ in taken}):,}"
    yield "definitions of hive_sql", f"{count_definitions(sources.values(), 'hive_sql'):,}"


def count_code_lines(source: str) -> int:
    """Count the lines with code: no blank lines, comments and docstrings."""
    docstrings = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    code = {
        line
        for token in tokens
        if token.type not in _NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(code - docstrings)


def count_imported_once(imports: Iterable[Import]) -> int:
    """Count the project's modules that one other module imports, and no more."""
    importers: dict[str, set[str]] = {}
    own = (f"{LIBRARY}.", f"{ADAPTER}.")
    for found in imports:
        if found.imported.startswith(own) and found.imported != found.importer:
            importers.setdefault(found.imported, set()).add(found.importer)
    return sum(len(found) == 1 for found in importers.values())


def count_any(source: str) -> int:
    """Count the uses of `Any` in a source, its import excluded."""
    return sum(
        isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(ast.parse(source))
    )


def count_members(root: Path, file: str, class_name: str) -> int:
    """Count the public methods and properties that a class of the library has of its own."""
    path = root / LIBRARY / file
    return sum(
        isinstance(member, ast.FunctionDef) and not member.name.startswith("_")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and node.name == class_name
        for member in node.body
    )


def count_definitions(sources: Iterable[str], name: str) -> int:
    """Count the functions and methods of a name."""
    return sum(
        isinstance(node, ast.FunctionDef) and node.name == name
        for source in sources
        for node in ast.walk(ast.parse(source))
    )


if __name__ == "__main__":
    main()
