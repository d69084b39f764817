"""From run records to what people read: figures, tables and the page of a tier.

Everything here reads the records, claims.json and the configuration; nothing trains. The same files give the same
bytes.
"""

import os

# Figures are written to files. A notebook exports a backend of its own to the programs that it starts.
os.environ["MPLBACKEND"] = "Agg"
