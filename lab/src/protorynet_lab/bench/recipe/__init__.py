"""The page of the recipe: ours against the paper's procedure, ceilings and floor, goal by goal."""

from protorynet_lab.bench.recipe.writing import RECIPE, write_results

__all__ = ["RECIPE", "write_results"]
