"""What is said of figures and tables in `snakemake --report`."""


def shown(name, key, kind, suffix):
    """The file of a paper's figure or table, as `snakemake --report` lists it: under its paper, with title and place."""
    paper = PROJECT.papers[name]
    display = {**paper.figures, **paper.tables}[key]
    return report(
        f"{RESULTS}/{kind}s/{name}-{key}.{suffix}",
        caption="../report/display.rst",
        category=f"{paper.document}: {paper.title}",
        subcategory=f"{kind.capitalize()}s",
        labels={kind: display.title, "place": display.place},
    )
