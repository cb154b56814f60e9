plot pareto @
