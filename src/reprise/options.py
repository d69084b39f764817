"""The options of one experiment, as training and preparation read them."""

from collections.abc import Mapping
from typing import Any

Values = Mapping[str, Any]
