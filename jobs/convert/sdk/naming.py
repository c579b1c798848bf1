"""Short names of expressions, for holes and for finding calls."""

import ast


def call_name(expression: ast.Call) -> str:
    """Return the last name of what is called: `CustomJob` of `aiplatform.CustomJob(...)`."""
    function = expression.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def shown(expression: ast.AST) -> str:
    """Return a short text for an expression, without braces."""
    if isinstance(expression, ast.FormattedValue):
        return shown(expression.value)
    if isinstance(expression, ast.Name):
        return expression.id
    if isinstance(expression, ast.Attribute):
        return f"{shown(expression.value)}.{expression.attr}"[-60:]
    if isinstance(expression, ast.Call):
        return f"{shown(expression.func)}()"
    if isinstance(expression, ast.Subscript) and isinstance(expression.slice, ast.Constant):
        key = str(expression.slice.value)[:60].replace("{", "").replace("}", "")
        return f"{shown(expression.value)}.{key}"[-60:] if isinstance(expression.slice.value, int) else key
    return type(expression).__name__.lower()
