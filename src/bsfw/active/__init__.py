"""Frank-Wolfe on an active set: away, pairwise and blended pairwise steps, for the solver's one loop."""
