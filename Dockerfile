# The quick tier and the page of all results: docker build -t reprise . && docker run --rm -v "$PWD/out:/out" reprise
# Untried: no container engine was at hand where this was written.
FROM python:3.11-slim
RUN apt-get update && apt-get install -y --no-install-recommends g++ git make && rm -rf /var/lib/apt/lists/*
WORKDIR /reprise
COPY . .
# The CPU build of torch: without a GPU nothing else is of use, and it is a tenth of the size.
ENV PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu
RUN make env TORCH="torch==2.13.0+cpu"
CMD ["sh", "-c", "make run TORCH='torch==2.13.0+cpu' && cp results/report.html /out/"]
