"""What is said of figures and tables in `snakemake --report`."""

DISPLAYED = {
    f"{name}-{key}": (paper, display)
    for name, paper in PROJECT.papers.items()
    for kind in (paper.figures, paper.tables)
    for key, display in kind.items()
}
DISPLAYS = "|".join(DISPLAYED)


def category_of(wildcards):
    """In `snakemake --report`: the paper."""
    paper, _ = DISPLAYED[wildcards.display]
    return f"{paper.document}: {paper.title}"


def labels_of(kind):
    """What `snakemake --report` lists a figure or table by."""
    return lambda wildcards: {
        kind: DISPLAYED[wildcards.display][1].title,
        "place": DISPLAYED[wildcards.display][1].place,
    }


def said_of(what):
    """Title, place or caption of a figure or table, for its text in `snakemake --report`."""
    return lambda wildcards: getattr(DISPLAYED[wildcards.display][1], what).strip()
