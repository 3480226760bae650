"""The estimates m^t, a phase for each estimator: ``estimate(model, rule, work, rate, random)``.

They state what the classes of `bsfw.estimators` do, in place, from the rows of the batch or the columns of the
coordinates; `rate` is Heavy Ball's r_t. A phase returns FULL_PASS if it needs the slopes of all samples in the table
and the full gradient in g, at x or at the previous point (`passes` makes them, on all cores), and FOLLOW, with nothing
done, if rows have so many entries in the support that margins are cheaper than lists; it goes on when called again.
"""
