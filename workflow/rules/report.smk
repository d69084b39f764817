"""From run records to what people read. Their code is an input: changing a plot draws it again and trains nothing."""

COLLECTED = [
    f"{RESULTS}/{name}"
    for name in ("metrics.csv", "curves.csv.gz", "samples.jsonl", "metrics.json")
]
FIGURES = [
    f"{RESULTS}/figures/{name}-{figure}.{kind}"
    for name, paper in PLAN.project.papers.items()
    for figure in paper.figures
    for kind in ("svg", "png", "pdf")
]
TABLES = [
    f"{RESULTS}/tables/{name}-{table}.{kind}"
    for name, paper in PLAN.project.papers.items()
    for table in paper.tables
    for kind in ("csv", "md", "html")
]
CLAIMS = f"{RESULTS}/claims.json"
# Other tiers say which of the committed verdicts of the tier paper are not theirs; it is read, never made for that.
IN_FULL = sorted(Path("results/paper").glob("claims.json")) if TIER != "paper" else []
# The code that their contents depend on, whole packages (as in dvc.yaml). Training is none of it.
JUDGING = [
    *(
        path
        for name in ("catalogue", "config", "data", "evaluation", "evidence", "records")
        for path in sources(name)
    ),
    source("files.py"),
    source("units.py"),
]
DRAWING = [*JUDGING, *sources("report")]
# The page quotes the equations of the models' docstrings besides.
PAGE = [*DRAWING, *sources("models")]
# Titles, captions and reported numbers; the titles of datasets stand in config/config.yaml.
WORDING = [
    "config/config.yaml",
    *(f"config/papers/{name}.yaml" for name in PLAN.project.papers),
]
REFERENCE = sorted(str(p) for p in Path("config/reference").glob("*.csv"))
# One page for all tiers, from what lies under results/.
REPORT = [*COLLECTED, CLAIMS, *FIGURES, *TABLES, "results/report.html"]


rule collect:
    input:
        records=PLAN.records,
        code=JUDGING,
    output:
        COLLECTED,
    log:
        f"logs/{TIER}/collect.log",
    benchmark:
        f"logs/benchmarks/{TIER}/collect.tsv"
    conda:
        "../../envs/report.yaml"
    resources:
        **resources_of("report"),
    params:
        tier=TIER,
    message:
        "collecting the run records of the tier {params.tier}"
    shell:
        "PYTHONPATH=src python -P -m reprise collect --tier {params.tier} > {log} 2>&1"


rule claims:
    input:
        records=PLAN.records,
        wording=WORDING,
        code=JUDGING,
    output:
        CLAIMS,
    log:
        f"logs/{TIER}/claims.log",
    benchmark:
        f"logs/benchmarks/{TIER}/claims.tsv"
    conda:
        "../../envs/report.yaml"
    resources:
        **resources_of("report"),
    params:
        tier=TIER,
    message:
        "judging the claims from the run records of the tier {params.tier}"
    shell:
        "PYTHONPATH=src python -P -m reprise verify --tier {params.tier} > {log} 2>&1"


# One job a paper: what takes long is to load what was collected, not to draw.
for name, paper in PLAN.project.papers.items():

    rule:
        name:
            f"displays_{name.replace('-', '_')}"
        input:
            COLLECTED,
            CLAIMS,
            IN_FULL,
            wording=WORDING,
            reference=REFERENCE,
            code=DRAWING,
        output:
            [shown(name, figure, "figure", "svg") for figure in paper.figures],
            [
                f"{RESULTS}/figures/{name}-{figure}.{kind}"
                for figure in paper.figures
                for kind in ("png", "pdf")
            ],
            [shown(name, table, "table", "html") for table in paper.tables],
            [
                f"{RESULTS}/tables/{name}-{table}.{kind}"
                for table in paper.tables
                for kind in ("csv", "md")
            ],
        log:
            f"logs/{TIER}/displays/{name}.log",
        benchmark:
            f"logs/benchmarks/{TIER}/displays/{name}.tsv"
        # Seconds: on a cluster that is not worth a job, whose turn takes longer to come.
        localrule: True
        conda:
            "../../envs/report.yaml"
        resources:
            **resources_of("report"),
        params:
            tier=TIER,
            title=paper.title,
            names=[f"{name}-{display}" for display in (*paper.figures, *paper.tables)],
        message:
            f"drawing the figures and writing the tables of {name}"
        shell:
            "PYTHONPATH=src python -P -m reprise render --tier {params.tier} {params.names} > {log} 2>&1"


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
            "results/report.html",
            caption="../report/page.rst",
            category="Everything on one page",
            labels={"page": "claims, figures, tables, experiments"},
        ),
    log:
        f"logs/{TIER}/report.log",
    benchmark:
        f"logs/benchmarks/{TIER}/report.tsv"
    conda:
        "../../envs/report.yaml"
    resources:
        **resources_of("report"),
    params:
        tier=TIER,
    message:
        "writing {output}"
    shell:
        "PYTHONPATH=src python -P -m reprise render --tier {params.tier} --report > {log} 2>&1"
