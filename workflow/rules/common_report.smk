"""What the rules of the report take: files of the package, and how Snakemake's own report lists a display."""

import reprise


def source(name):
    """A file of the package: from the clone as it lies there, from elsewhere where it is installed."""
    path = Path(reprise.__file__).resolve().parent / name
    return str(
        path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    )


def sources(folder):
    return sorted(
        str(p)
        for p in Path(source(folder)).rglob("*")
        if p.suffix in {".py", ".j2", ".css", ".js", ".mplstyle"}
    )


def shown(name, key, kind, suffix):
    """A paper's figure or table as `snakemake --report` lists it: under its paper, with title and place."""
    paper = PLAN.project.papers[name]
    display = {**paper.figures, **paper.tables}[key]
    return report(
        f"{RESULTS}/{kind}s/{name}-{key}.{suffix}",
        caption="../report/display.rst",
        # Snakemake makes it the name of a link, which a colon would end.
        category=f"{paper.document} {paper.title}",
        subcategory=f"{kind.capitalize()}s",
        labels={kind: display.title, "place": display.place},
    )
