"""From run records to what people read. Their code is an input: changing a plot draws it again and trains nothing."""

COLLECTED = [
    f"{RESULTS}/{name}"
    for name in ("metrics.csv", "curves.csv.gz", "samples.jsonl", "metrics.json")
]
FIGURES = [
    f"{RESULTS}/figures/{name}-{figure}.{kind}"
    for name, paper in PROJECT.papers.items()
    for figure in paper.figures
    for kind in ("svg", "png", "pdf")
]
TABLES = [
    f"{RESULTS}/tables/{name}-{table}.{kind}"
    for name, paper in PROJECT.papers.items()
    for table in paper.tables
    for kind in ("csv", "md", "html")
]
CLAIMS = f"{RESULTS}/claims.json"
# Other tiers say which of the committed verdicts of the tier paper are not theirs; it is read, never made for that.
IN_FULL = sorted(Path("results/paper").glob("claims.json")) if TIER != "paper" else []
# What of the code their contents depend on (as in dvc.yaml). Training depends on some of it too, and is left alone.
JUDGING = [
    *sources("evidence"),
    *sources("evaluation"),
    "src/reprise/data/text/character_lines.py",
    *sources("catalogue"),
    "src/reprise/files.py",
    "src/reprise/units.py",
]
DRAWING = [
    *JUDGING,
    *sources("report"),
    "src/reprise/config/formula.py",
    *(
        f"src/reprise/data/{name}.py"
        for name in ("text/books", "synthetic/name_lengths", "synthetic/phrases")
    ),
]
# The page quotes the equations of the models' docstrings besides.
PAGE = [*DRAWING, *sources("models")]
# Titles, captions and reported numbers; the titles of datasets stand in config/config.yaml.
WORDING = [
    "config/config.yaml",
    *(f"config/papers/{name}.yaml" for name in PROJECT.papers),
]
REPORT = [*COLLECTED, CLAIMS, *FIGURES, *TABLES, f"{RESULTS}/report.html"]


rule collect:
    input:
        records=RECORDS,
        code=JUDGING,
    output:
        COLLECTED,
    log:
        f"logs/{TIER}/collect.log",
    benchmark:
        f"benchmarks/{TIER}/collect.tsv"
    conda:
        "../../envs/report.yaml"
    resources:
        **resources_of("report"),
    params:
        tier=TIER,
    message:
        "collecting the run records of the tier {params.tier}"
    shell:
        "PYTHONPATH=src python -m reprise collect --tier {params.tier} > {log} 2>&1"


rule claims:
    input:
        records=RECORDS,
        wording=WORDING,
        code=JUDGING,
    output:
        CLAIMS,
    log:
        f"logs/{TIER}/claims.log",
    benchmark:
        f"benchmarks/{TIER}/claims.tsv"
    conda:
        "../../envs/report.yaml"
    resources:
        **resources_of("report"),
    params:
        tier=TIER,
    message:
        "judging the claims from the run records of the tier {params.tier}"
    shell:
        "PYTHONPATH=src python -m reprise verify --tier {params.tier} > {log} 2>&1"


rule figure:
    input:
        COLLECTED,
        wording=WORDING,
        reference=sorted(str(p) for p in Path("config/reference").glob("*.csv")),
        code=DRAWING,
    output:
        report(
            f"{RESULTS}/figures/{{display}}.svg",
            caption="../report/display.rst",
            category=category_of,
            subcategory="Figures",
            labels=labels_of("figure"),
        ),
        multiext(f"{RESULTS}/figures/{{display}}", ".png", ".pdf"),
    log:
        f"logs/{TIER}/figures/{{display}}.log",
    benchmark:
        f"benchmarks/{TIER}/figures/{{display}}.tsv"
    wildcard_constraints:
        display=DISPLAYS,
    # Seconds each: on a cluster that is not worth a job, whose turn takes longer to come.
    localrule: True
    conda:
        "../../envs/report.yaml"
    resources:
        **resources_of("report"),
    params:
        tier=TIER,
        title=said_of("title"),
        place=said_of("place"),
        caption=said_of("caption"),
    message:
        "drawing {wildcards.display}"
    shell:
        "PYTHONPATH=src python -m reprise render --tier {params.tier} {wildcards.display} > {log} 2>&1"


rule table:
    input:
        COLLECTED,
        CLAIMS,
        IN_FULL,
        wording=WORDING,
        reference=sorted(str(p) for p in Path("config/reference").glob("*.csv")),
        code=DRAWING,
    output:
        report(
            f"{RESULTS}/tables/{{display}}.html",
            caption="../report/display.rst",
            category=category_of,
            subcategory="Tables",
            labels=labels_of("table"),
        ),
        multiext(f"{RESULTS}/tables/{{display}}", ".csv", ".md"),
    log:
        f"logs/{TIER}/tables/{{display}}.log",
    benchmark:
        f"benchmarks/{TIER}/tables/{{display}}.tsv"
    wildcard_constraints:
        display=DISPLAYS,
    # Seconds each: on a cluster that is not worth a job, whose turn takes longer to come.
    localrule: True
    conda:
        "../../envs/report.yaml"
    resources:
        **resources_of("report"),
    params:
        tier=TIER,
        title=said_of("title"),
        place=said_of("place"),
        caption=said_of("caption"),
    message:
        "writing the table {wildcards.display}"
    shell:
        "PYTHONPATH=src python -m reprise render --tier {params.tier} {wildcards.display} > {log} 2>&1"


rule page:
    input:
        COLLECTED,
        CLAIMS,
        IN_FULL,
        FIGURES,
        TABLES,
        wording=WORDING,
        code=PAGE,
    output:
        report(
            f"{RESULTS}/report.html",
            caption="../report/page.rst",
            category="Everything on one page",
            labels={"page": "claims, figures, tables, experiments"},
        ),
    log:
        f"logs/{TIER}/report.log",
    benchmark:
        f"benchmarks/{TIER}/report.tsv"
    conda:
        "../../envs/report.yaml"
    resources:
        **resources_of("report"),
    params:
        tier=TIER,
    message:
        "writing {output}"
    shell:
        "PYTHONPATH=src python -m reprise render --tier {params.tier} --report > {log} 2>&1"
