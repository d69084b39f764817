"""Formulas in the configuration: arithmetic over named values, and nothing that a program could do besides."""

import ast
import math
import operator
import re
from collections.abc import Mapping
from fractions import Fraction

_FUNCTIONS = {"exp": math.exp, "log": math.log}
_OPERATIONS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
_LONGEST = 200
"""Characters of a formula; some have 80."""
_LARGEST = 1024
"""Binary digits of a power of whole numbers: no float is larger."""
_PRINTED = re.compile(r"(\d{1,3}(?:,\d{3}){1,9}|\d{1,30})(?:\.(\d{1,30}))? ?(k|K|M|%)?")
_SUFFIXES = {None: Fraction(1), "k": Fraction(1000), "K": Fraction(1000), "M": Fraction(10**6), "%": Fraction(1, 100)}


def read_printed(text: str) -> tuple[Fraction, Fraction] | None:
    """Read a printed number and the value of its last digit: "5.3M" is (5300000, 100000); None where it is no number.

    Zeros at the end of a whole number count as digits: "500" is to the unit.
    """
    match = _PRINTED.fullmatch(text)
    if not match:
        return None
    integer, decimals, suffix = match.groups()
    last = _SUFFIXES[suffix] / 10 ** len(decimals or "")
    return int(integer.replace(",", "") + (decimals or "")) * last, last


def find_names(formula: str) -> set[str]:
    """Return the names of values that a formula uses. Raises ValueError where it is no formula."""
    return {node.id for node in ast.walk(_parse(formula)) if isinstance(node, ast.Name)} - _FUNCTIONS.keys()


def evaluate(formula: str, values: Mapping[str, float]) -> float:
    """Compute the value of a formula such as "2 * H * V + exp(J)"; whole numbers stay exact.

    A formula has + - * / **, brackets, exp and log (natural).

    Raises:
        ValueError: It is no formula, or a name has no value. Or the result or a power is not finite or too large.
    """
    tree = _parse(formula)
    try:
        result = _evaluate_node(tree, values)
        is_finite = not isinstance(result, complex) and math.isfinite(result)
    except ArithmeticError as error:
        raise ValueError(str(error)) from None
    except TypeError:  # exp and log of a complex number, which a power of a negative one is
        raise ValueError("a negative number has no real power like that") from None
    if not is_finite:
        raise ValueError(f"{result} is no number to compare")
    return result


def _parse(formula: str) -> ast.expr:
    if len(formula) > _LONGEST:
        raise ValueError(f"a formula of {len(formula):,} characters is too long; write {_LONGEST} at most")
    try:
        return ast.parse(formula, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two of a formula nested too deeply
        raise ValueError(f"'{formula}' is not a formula") from None


def _evaluate_node(node: ast.expr, values: Mapping[str, float]) -> float:
    """Compute the value of a part of a formula, which is refused unless it is arithmetic."""
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.Name(id=name) if name in values:
            return values[name]
        case ast.Name(id=name):
            raise ValueError(f"'{name}' has no value")
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_evaluate_node(inner, values)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _compute_power(_evaluate_node(left, values), _evaluate_node(right, values))
        case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _OPERATIONS:
            return _OPERATIONS[type(operation)](_evaluate_node(left, values), _evaluate_node(right, values))
        case ast.Call(func=ast.Name(id=name), args=[inner], keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](_evaluate_node(inner, values))
    raise ValueError(f"'{ast.unparse(node)}' is not arithmetic")


def _compute_power(base: float, exponent: float) -> float:
    is_whole = isinstance(base, int) and isinstance(exponent, int)
    if is_whole and abs(exponent) * base.bit_length() > _LARGEST:
        raise ValueError("a power is too large to compute")
    return base**exponent
