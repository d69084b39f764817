"""What the options of one experiment are, where training and preparation read them."""

from collections.abc import Mapping
from typing import Any

Values = Mapping[str, Any]
